"""What helps to write a study file: its JSON Schema for an editor, and an example with every key."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any, Final, cast

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from quaver.core import registry
from quaver.core.replaced_file import replace_text
from quaver.design.spec import DecodingSpec, ModelSpec, StudySpec
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
    replace_text(schema, json.dumps(json_schema(), indent=2) + "\n")
    replace_text(path, MODELINE + text)


_HEAD = """\
# A Quaver study: one experiment on one set of items.
# Every key is here. One that stands behind a # has the default shown: remove the # to change it.
"""


def example_file() -> str:
    """YAML text of a study to start from, with every key; those that have a default are commented out."""
    return _HEAD + "\n".join(_lines(StudySpec, 0)) + "\n"


def _lines(model: type[BaseModel], depth: int) -> list[str]:
    lines: list[str] = []
    for name, field in model.model_fields.items():
        part = field.annotation
        if isinstance(part, type) and issubclass(part, BaseModel):
            lines += ["", f"{name}:"] if depth == 0 else [f"{name}:"]
            lines += _indented(_lines(part, depth + 1))
        elif name == "decoding":
            lines += ["", *_comment(field), f"{name}:", "  greedy:"]
            lines += _indented(_indented(_lines(DecodingSpec, depth + 1)))
        else:
            lines += [*([""] if depth == 0 else []), *_comment(field), *_value(name, field)]
    return lines


def _comment(field: FieldInfo) -> list[str]:
    return [f"# {line}" for line in textwrap.wrap(field.description or "", 90)]


def _value(name: str, field: FieldInfo) -> list[str]:
    if field.is_required():
        return [f"{name}: {_flow(field.examples[0])}"] if field.examples else [f"{name}: "]
    return [f"#{name}: {_flow(field.get_default(call_default_factory=True))}"]


def _indented(lines: list[str]) -> list[str]:
    return [f"  {line}" if line else line for line in lines]


def _flow(value: Any) -> str:
    """A value on one line, as JSON, which is valid YAML."""
    return json.dumps(_plain(value), ensure_ascii=False)


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        given = value.model_dump(exclude_unset=True)
        return given["use"] if set(given) == {"use"} else given
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    return value
