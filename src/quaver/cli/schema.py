"""``quaver schema``: the study file's JSON Schema, for editors."""

from __future__ import annotations

import json

from quaver.design.spec import StudySpec


def command() -> None:
    """Print the JSON Schema of the study file."""
    print(json.dumps(StudySpec.model_json_schema(), indent=2))
