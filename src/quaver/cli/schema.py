"""``quaver schema``: the study file's JSON Schema, for editors."""

from __future__ import annotations

import json

from quaver.design.json_schema import json_schema


def command() -> None:
    """Print the JSON Schema of the study file."""
    print(json.dumps(json_schema(), indent=2))
