"""The study file's JSON Schema: an editor accepts what Quaver accepts, and completes names and keys."""

from __future__ import annotations

from typing import Any, Final, cast

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from quaver.core import registry
from quaver.design.spec import ModelSpec, StudySpec
from quaver.design.spec.former_names import FORMER

SCHEMA_ID: Final = "urn:quaver:study"
"""What the schema is called; a file with this ``$id`` may be written again."""

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_ABOUT: Final[dict[str, str]] = {
    "engine": "What makes the paraphrases, for `use: paraphrases`.",
}
"""Descriptions of keys that are options of a plug-in."""


class _Forms(GenerateJsonSchema):
    """Allows the short forms: a bare name for a part, a number for a text, nothing for all defaults."""

    def str_schema(self, schema: core_schema.StringSchema) -> JsonSchemaValue:
        return super().str_schema(schema) | {"type": ["string", "number"]}

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        part, whole = cast(Any, schema["cls"]), super().model_schema(schema)
        for key, kind in part.names.items():
            about = whole["properties"].get(key, {"description": _ABOUT.get(key)})
            whole["properties"][key] = _named(kind) | {"description": about["description"]}
        short: list[JsonSchemaValue] = []
        if part.bare:
            short.append(_bare(part))
        if not whole.get("required"):
            short.append({"type": "null"})
        return {"anyOf": [whole, *short]} if short else whole


def _bare(part: Any) -> JsonSchemaValue:
    if part is ModelSpec:
        return {"type": "string", "examples": ["openai/gpt-5-mini", "ollama/llama3.2", "weights.gguf"]}
    return _named(part.names["use"]) if "use" in part.names else {"type": list(part.bare_types)}


def _named(kind: registry.Kind) -> JsonSchemaValue:
    """The names of a kind of plug-in, those of other packages too; former names are marked."""
    names = {"enum": registry.names(kind)}
    former = FORMER.get(kind)
    return {"anyOf": [names, {"enum": list(former), "deprecated": True}]} if former else names


def json_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a study file, with the names of all plug-ins that are installed."""
    schema = StudySpec.model_json_schema(schema_generator=_Forms)
    needed = schema["required"]
    # A study of imported annotations needs these instead of items, prompt and models.
    schema["required"] = ["task"]
    schema["anyOf"] = [{"required": needed}, {"required": ["annotations"]}]
    schema["properties"]["small"]["propertyNames"] = {"enum": list(schema["properties"])}
    return {"$schema": _DIALECT, "$id": SCHEMA_ID, **schema}
