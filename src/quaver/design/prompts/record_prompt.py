"""The prompt of a task with fields: it asks for one JSON object with a value for each of them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from quaver.core.label_values import Codebook, TaskField
from quaver.core.records import Numbers, Variant
from quaver.design.prompts.templates import literal

ASKS: Final = "Answer with a JSON object that has these fields, and with nothing else:\n{{ fields }}"
"""The postfix, where the study file has none of its own."""

_PLACE = re.compile(r"\{\{\s*(fields|schema)\s*\}\}")
PARTS: Final = ("system", "layout", "instruction", "postfix")
"""The parts of a prompt that may name the fields."""

_ROOM, _ROOM_FOR_FIELD, _ROOM_FOR_NUMBER = 32, 8, 16
"""Tokens for braces and spaces, of the object and of each field; and for a number."""


def asking_for_fields(prompt: Variant, codebook: Codebook, *, held: bool, longest: int) -> Variant:
    """A prompt that asks for a codebook's fields.

    ``{{ fields }}`` in any of its parts stands for the fields with their labels and definitions, and
    ``{{ schema }}`` for the JSON schema.

    Args:
        prompt: The prompt, without answers of its own.
        codebook: The fields.
        held: Whether the schema constrains the model.
        longest: The limit on answers, which is raised where the fields need more.
    """
    schema = json.dumps(schema_of_fields(codebook.fields), ensure_ascii=False)
    shown = {"fields": fields_in_words(codebook.fields), "schema": schema}
    parts: dict[str, Any] = {part: _filled(getattr(prompt, part), shown) for part in PARTS}
    room = max(longest, _ROOM + sum(map(_room, codebook.fields)))
    return replace(prompt, **parts, schema=schema if held else "", max_tokens=room)


def _filled(template: str, shown: Mapping[str, str]) -> str:
    return _PLACE.sub(lambda match: literal(shown[match[1]]), template)


def _room(field: TaskField) -> int:
    """Tokens that a field's name and value may take (a character is at most about a token)."""
    sizes = [len(label.name) for label in field.labels.labels]
    value = (
        sum(sizes) + _ROOM_FOR_FIELD * len(sizes) if field.several else max(sizes, default=_ROOM_FOR_NUMBER)
    )
    return _ROOM_FOR_FIELD + len(field.name) + value


def fields_in_words(fields: Sequence[TaskField]) -> str:
    """A line for each field with its labels, and one for each label that has a definition.

    >>> from quaver.core.records import Label, LabelSet
    >>> labels = LabelSet((Label("pos", "positive"), Label("neg", "negative", "Blames or complains.")))
    >>> print(fields_in_words([TaskField("tone", labels, "The tone of the text.")]))
    - "tone": The tone of the text. One of "positive", "negative".
      - "negative": Blames or complains.
    """
    lines = []
    for field in fields:
        about = [" ".join(field.definition.split()), _asked(field)]
        lines.append(f"- {json.dumps(field.name, ensure_ascii=False)}: {' '.join(filter(None, about))}")
        lines += [
            f"  - {json.dumps(label.name, ensure_ascii=False)}: {' '.join(label.definition.split())}"
            for label in field.labels.labels
            if label.definition.strip()
        ]
    return "\n".join(lines)


def _asked(field: TaskField) -> str:
    """What the value of a field may be, in words."""
    if isinstance(field.labels, Numbers):
        return (
            "A number of 0 or more, without a unit."
            if field.labels.level == "ratio"
            else "A number, without a unit."
        )
    names = ", ".join(json.dumps(label.name, ensure_ascii=False) for label in field.labels.labels)
    if field.several:
        return f"A list of those that apply, of {names}; [] if none does."
    return f"One of {names}."


def schema_of_fields(fields: Sequence[TaskField]) -> dict[str, Any]:
    """The JSON schema of answers with these fields."""
    return object_schema({field.name: _property(field) for field in fields})


def object_schema(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON schema of an object that has these properties, and no others."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _property(field: TaskField) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "string", "enum": [label.name for label in field.labels.labels]}
    if field.several:
        found = {"type": "array", "items": found, "maxItems": len(field.labels.labels)}
    elif isinstance(field.labels, Numbers):
        found = {"type": "number"}
    return found | ({"description": field.definition} if field.definition.strip() else {})
