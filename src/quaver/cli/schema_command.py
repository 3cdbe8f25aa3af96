"""``quaver schema``: the JSON Schema of the study file, for editors."""

from __future__ import annotations

import json


def command() -> None:
    """Print the JSON Schema of the study file."""
    from quaver.design.spec.json_schema import json_schema

    print(json.dumps(json_schema(), indent=2))
