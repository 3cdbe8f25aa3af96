"""calls -> stored responses: asked once, kept raw, never lost."""
