"""Whether a task's fields are asked together or alone, and in which order: a factor of the prompt."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from quaver.core.label_values import ASKED, Codebook, TaskField
from quaver.core.records import Variant
from quaver.design.factors.prompt_edits import LevelOfFactor
from quaver.design.prompts.record_prompt import PARTS, fields_in_words, schema_of_fields
from quaver.design.prompts.templates import literal

_TOGETHER: Final = "together"


def levels_of_asking(codebook: Codebook, asked: Sequence[str]) -> dict[str, Sequence[LevelOfFactor]]:
    """The factor ``asked``: a level for the fields together, together in reverse, and each alone.

    Args:
        codebook: The fields.
        asked: ``together``, ``reversed`` and ``alone``, those that are wanted.

    Returns:
        No factor where the fields are asked together alone.
    """
    if tuple(asked) == (_TOGETHER,):
        return {}
    fields = codebook.fields
    ways: dict[str, dict[str, Sequence[TaskField]]] = {
        _TOGETHER: {_TOGETHER: fields},
        "reversed": {"together, reversed": fields[::-1]},
        "alone": {f"alone: {field.name}": (field,) for field in fields},
    }
    every = {name: some for way in asked for name, some in ways[way].items()}
    return {ASKED: [_level(name, fields, some) for name, some in every.items()]}


def _level(name: str, fields: Sequence[TaskField], some: Sequence[TaskField]) -> LevelOfFactor:
    origin: Mapping[str, Any] = {"family": ASKED, "fields": [field.name for field in some]}
    return LevelOfFactor(name, partial(_asking, fields, some), origin, turn=3)


def _asking(fields: Sequence[TaskField], some: Sequence[TaskField], variant: Variant) -> Variant:
    """A variant that asks for some of the fields, in their order, where it asked for all."""
    shown = {literal(write(fields)): literal(write(some)) for write in (fields_in_words, _schema)}
    parts: dict[str, Any] = {}
    for part in PARTS:
        parts[part] = getattr(variant, part)
        for before, after in shown.items():
            parts[part] = parts[part].replace(before, after)
    return replace(variant, **parts, schema=_schema(some) if variant.schema else "")


def _schema(fields: Sequence[TaskField]) -> str:
    return json.dumps(schema_of_fields(fields), ensure_ascii=False)
