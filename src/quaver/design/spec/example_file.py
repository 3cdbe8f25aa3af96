"""The study file with every key, which ``quaver init`` writes."""

from __future__ import annotations

import json
import textwrap
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from quaver.design.spec import DecodingSpec, StudySpec

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
