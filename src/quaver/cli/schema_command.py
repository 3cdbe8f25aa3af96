"""``quaver schema``: the JSON Schema of the study file, for editors."""

from __future__ import annotations

import json


def command() -> None:
    """Print the study file's JSON Schema, which editors read.

    Examples:
      quaver schema > study.schema.json
    """
    from quaver.design.spec.json_schema import json_schema

    print(json.dumps(json_schema(), indent=2))
