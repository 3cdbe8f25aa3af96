"""Whether a shorter text keeps the content of a longer one: placeholders, labels, numbers, definitions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from quaver.core.records import LabelSet
from quaver.design.prompts.templates import names_in, render
from quaver.errors import SpecError

_COLUMN = re.compile(r"\bitem\s*(?:\.\s*(\w+)|\[\s*['\"](.+?)['\"]\s*\])")
_NUMBER = re.compile(r"\d+(?:[.,:/]\d+)*")
_WORD = re.compile(r"[^\W\d_]{4,}")


def missing_in(concise: str, standard: str, labels: LabelSet, answers: Mapping[str, str]) -> list[str]:
    """What a text lacks, compared with a longer one.

    Both are templates. Placeholders are compared as written; labels (their answers and names), numbers and
    definitions are compared in the rendered texts. A definition counts as kept if half of its words of four
    letters or more are.

    Returns:
        What is missing, in words; empty if nothing is.
    """
    found = [f"the placeholder {name}" for name in _placeholders(standard) - _placeholders(concise)]
    short, long = filled(concise, labels, answers), filled(standard, labels, answers)
    for label in labels.labels:
        for name in dict.fromkeys([answers[label.code], label.name]):
            if _names(long, name) and not _names(short, name):
                found.append(f"the label {name!r}")
    numbers = set(_NUMBER.findall(short))
    found += [f"the number {one}" for one in dict.fromkeys(_NUMBER.findall(long)) if one not in numbers]
    kept = set(_WORD.findall(short.casefold()))
    for label in labels.labels:
        words = set(_WORD.findall(label.definition.casefold()))
        defined = words and " ".join(label.definition.split()) in " ".join(long.split())
        if defined and len(words & kept) < len(words) / 2:
            found.append(f"the definition of {label.name!r}")
    return sorted(found)


def _placeholders(template: str) -> set[str]:
    columns = {f"item.{one or other}" for one, other in _COLUMN.findall(template)}
    return (set(names_in(template)) - {"labels", "answers", "item"}) | columns


def filled(template: str, labels: LabelSet, answers: Mapping[str, str]) -> str:
    """A template's text with every value of an item empty; the template itself if rendering fails."""
    values: dict[str, Any] = dict.fromkeys(names_in(template), "")
    values |= {
        "item": _Nothing(),
        "answers": [answers[code] for code in labels.codes],
        "labels": [
            {"code": one.code, "name": one.name, "definition": one.definition, "answer": answers[one.code]}
            for one in labels.labels
        ],
    }
    try:
        return render(template, values, where="")
    except SpecError:
        return template


class _Nothing(dict[str, str]):
    """An item whose columns are all empty."""

    def __contains__(self, _: object) -> bool:
        return True

    def __missing__(self, _: str) -> str:
        return ""


def _names(text: str, name: str) -> bool:
    return (
        re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, 0 if len(name) < 3 else re.IGNORECASE) is not None
    )
