"""The JSON Schema of a study file, for an editor."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, Final, cast, get_args

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from quaver.core import registry
from quaver.core.replaced_file import replace_text
from quaver.design.spec import ModelSpec, StudySpec
from quaver.errors import SpecError

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
    """The names of a kind of plug-in, those of other packages too."""
    return {"enum": registry.names(kind)}


def json_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a study file, with the names of all plug-ins that are installed."""
    schema = StudySpec.model_json_schema(schema_generator=_Forms)
    needed = schema["required"]
    # A study of imported annotations needs these instead of items, prompt and models.
    schema["required"] = ["task"]
    schema["anyOf"] = [{"required": needed}, {"required": ["annotations"]}]
    task = schema["$defs"]["TaskSpec"]
    for part in task.get("anyOf", [task]):
        if part.pop("required", None):  # a task has labels or fields
            part["anyOf"] = [{"required": ["labels"]}, {"required": ["fields"]}]
    schema["properties"]["small"]["propertyNames"] = {"enum": list(schema["properties"])}
    return {"$schema": _DIALECT, "$id": SCHEMA_ID, **schema}


@cache
def _text_with(*_names: tuple[str, ...]) -> str:
    """The schema as a file, made once for the plug-ins that are installed."""
    return json.dumps(json_schema(), indent=2) + "\n"


SCHEMA_FILE: Final = "study.schema.json"
MODELINE: Final = f"# yaml-language-server: $schema={SCHEMA_FILE}\n"
"""What the YAML language server reads, in VS Code, JetBrains' IDEs, Neovim, Emacs and Helix."""


def write_with_schema(path: Path, text: str) -> None:
    """Write a study file that begins with its modeline, and the schema beside it.

    Args:
        path: The study file; its folder is made.
        text: The study.

    Raises:
        SpecError: Another file has the schema's name.
    """
    schema = path.parent / SCHEMA_FILE
    if schema.exists() and f'"{SCHEMA_ID}"' not in schema.read_text(encoding="utf-8", errors="replace"):
        raise SpecError(
            "another file has the name of the study file's schema",
            where=str(schema),
            fix="rename it, or write the study into another folder",
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_text(schema, _text_with(*(tuple(registry.names(kind)) for kind in get_args(registry.Kind))))
    replace_text(path, MODELINE + text)
