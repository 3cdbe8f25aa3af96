"""The study file's JSON Schema: an editor accepts what Quaver accepts."""

from __future__ import annotations

from typing import Any, cast

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from quaver.design.spec import StudySpec


class _Forms(GenerateJsonSchema):
    """Allows the short forms: a bare name for a part, a number for a text, nothing for all defaults."""

    def str_schema(self, schema: core_schema.StringSchema) -> JsonSchemaValue:
        return super().str_schema(schema) | {"type": ["string", "number"]}

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        part, whole = cast(Any, schema["cls"]), super().model_schema(schema)
        short = ["string", "number"] if part.bare else []
        if not whole.get("required"):
            short.append("null")
        return {"anyOf": [whole, {"type": short}]} if short else whole


def json_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a study file."""
    schema = StudySpec.model_json_schema(schema_generator=_Forms)
    needed = schema["required"]
    # A study of imported annotations needs these instead of items, prompt and models.
    schema["required"] = ["task"]
    schema["anyOf"] = [{"required": needed}, {"required": ["annotations"]}]
    return schema
