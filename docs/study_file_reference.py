"""The reference page of the study file: every key with its default, from the schema that editors use."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from quaver.design.spec.json_schema import json_schema

Schema = Mapping[str, Any]

_INTRO = """# Study file

A study file is YAML. `quaver init study.yaml` writes one to start from. It puts the schema
beside it, so that your editor completes keys and shows errors while you type. A file needs `task`, and
either `items`, `prompt` and `models`, or `annotations`.
"""

_SEE = {
    "variants": ("Vary a prompt", "variants.md"),
    "models": ("Ask a model over HTTP", "models.md"),
    "evaluators": ("Evaluators", "evaluators.md"),
    "measures": ("Every measure", "measures/index.md"),
    "conclusions": ("Check a conclusion", "conclusions.md"),
    "budget": ("Set a budget", "collecting.md#set-a-budget"),
    "reuse": ("Reuse answers", "collecting.md#reuse-answers-of-other-studies"),
    "annotations": ("Use labels that you already have", "import.md"),
}
"""The page that says more of a key."""

_LONGEST = 60
"""The longest default that a table shows, in characters."""


def page() -> str:
    """A section for each key at the top level, with a table of the keys below it."""
    schema = json_schema()
    parts: Schema = schema["$defs"]
    lines = [_INTRO]
    for key, field in schema["properties"].items():
        lines += [f"## {key}", "", _cell(field.get("description", "")), ""]
        if key in _SEE:
            title, link = _SEE[key]
            lines += [f"More: [{title}](../{link}).", ""]
        if (below := _below(field, parts)) is not None:
            lines += [*_table(below, parts), ""]
        elif shown := _default(field):
            lines += [f"Default: {shown}", ""]
    return "\n".join(lines)


def _table(part: Schema, parts: Schema) -> Iterator[str]:
    required = set(part.get("required", ()))
    yield "| key | default | what it is |"
    yield "| --- | --- | --- |"
    for name, field in part["properties"].items():
        shown = "required" if name in required else _default(field)
        about = _cell(field.get("description", "")) + _names(field) + _keys(field, parts)
        yield f"| `{name}` | {shown} | {about} |"


def _names(field: Schema) -> str:
    """The registered names that a key may have."""
    choices = [one for one in (field, *field.get("anyOf", ())) if "enum" in one and not one.get("deprecated")]
    names = [name for one in choices for name in one["enum"]]
    return f" One of: {', '.join(f'`{name}`' for name in names)}." if names else ""


def _keys(field: Schema, parts: Schema) -> str:
    """The keys of a part within a part."""
    below = _below(field, parts)
    if below is None:
        return ""
    return f" Its keys: {', '.join(f'`{name}`' for name in below['properties'])}."


def _below(field: Schema, parts: Schema) -> Schema | None:
    """The part of the file that a key holds: itself, in a list, or by name."""
    if "properties" in field:
        return field
    if reference := field.get("$ref"):
        return _below(parts[str(reference).rpartition("/")[2]], parts)
    inside = [*field.get("anyOf", ()), field.get("items"), field.get("additionalProperties")]
    found = (_below(one, parts) for one in inside if isinstance(one, Mapping))
    return next((one for one in found if one is not None), None)


def _default(field: Schema) -> str:
    value = field.get("default")
    if value in (None, [], {}, ""):
        return ""
    shown = json.dumps(value, ensure_ascii=False)
    return f"`{_cell(shown)}`" if len(shown) <= _LONGEST else ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
