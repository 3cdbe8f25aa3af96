"""How a query line may go on: fields, then their values with how many answers or items have them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from quaver.core.number_format import short_name
from quaver.view.asked import Asked, Given
from quaver.view.query_language import quoted, unquoted, written
from quaver.view.query_terms import ABSENT, ANSWERED, FIELDS, IS_ANSWER, IS_ITEM, MARKS, own_fields
from quaver.view.viewed_study import ViewedStudy

_MOST = 12
_WORD = re.compile(r'(?:"(?:[^"\\]|\\.)*"?|[^\s()"])*$')
_TERM = re.compile(
    r'^-?(?P<field>"(?:[^"\\]|\\.)*"|[^":=<>!]+)(?P<op>!=|<=|>=|[:=<>])(?P<rest>.*)$', re.DOTALL
)

MEANINGS = {
    "label": "the label that was read",
    "status": "whether the answer has a label, and why not",
    "confidence": "how sure the model was, from 0 to 1",
    "answer": "a text in the answer",
    "thinking": "a text in the thinking",
    "length": "characters of the answer",
    "is": "right, wrong, flip, unlabelled, …",
    "no": "what is absent: label, gold, mark, …",
    "model": "the model that answered",
    "prompt": "the prompt that was sent",
    "decoding": "how the answer was drawn",
    "repeat": "which time it was asked, from 0",
    "item": "the item's id",
    "gold": "the item's gold label",
    "text": "a text in the item",
    "modal": "the item's most frequent label",
    "instability": "share of the item's labels that differ from the most frequent one",
    "agreement": "share of the item's labels that are the most frequent one",
    "accuracy": "share of the item's answers that are right",
    "labels": "how many labels the item got",
    "valid": "share of the item's answers with a label",
    "flipped": 'the label differs between A and B: flipped:"A~B"',
    "mark": "agree, disagree or unclear",
    "marked": "the label that somebody gave",
    "by": "who marked it",
    "note": "a text in a note",
    "evaluators": "differ: not all ways of reading the answer give this label",
}


class Option(NamedTuple):
    """One way to go on.

    Attributes:
        text: What takes the place of what is being typed.
        shown: What the page shows.
        means: What it means; None where that is plain.
        n: How many answers or items have it; None if that is not known.
    """

    text: str
    shown: str
    means: str | None = None
    n: int | None = None


def completions(study: ViewedStudy, given: Given) -> dict[str, Any]:
    """The ways to go on at a place in a query line."""
    line = given.asked.query
    at = len(line) if given.at is None else given.at
    word = _WORD.search(line[:at])
    start = word.start() if word else at
    typed = line[start:at]
    term = _TERM.match(typed)
    if term:
        start, options = _values(study, typed, term, start)
    else:
        minus = "-" if typed.startswith("-") else ""
        options = [one._replace(text=minus + one.text) for one in _fields(study, typed.removeprefix("-"))]
    return {"from": start, "to": at, "options": [_shown(one) for one in options[:_MOST]]}


def _shown(option: Option) -> dict[str, Any]:
    return {"text": option.text, "shown": option.shown, "means": option.means, "count": option.n}


def _fields(study: ViewedStudy, typed: str) -> list[Option]:
    wanted = typed.lower()
    names = study.terms(Asked()).fields() if study.index_or_none() else list(FIELDS)
    known = [Option(f"{written(name)}:", name, MEANINGS.get(name)) for name in names]
    first = [one for one in known if one.shown.lower().startswith(wanted)]
    return first or [one for one in known if wanted in one.shown.lower()]


def _values(study: ViewedStudy, typed: str, term: re.Match[str], start: int) -> tuple[int, list[Option]]:
    """The values of a field; of a list of values, the last one is being typed."""
    rest = term["rest"]
    comma = -1 if rest.startswith('"') else rest.rfind(",")
    wanted = unquoted(rest[comma + 1 :]).lower()
    place = start + term.start("rest") + comma + 1
    known = list(_known(study, unquoted(term["field"]).lower()))
    first = [one for one in known if one.shown.lower().startswith(wanted)]
    others = [one for one in known if wanted in one.shown.lower() and one not in first]
    return place, [one._replace(text=f"{quoted(one.text)} ") for one in (*first, *others)]


def _known(study: ViewedStudy, field: str) -> Iterator[Option]:
    index, design = study.index, study.index.design
    if field in ("label", "modal", "gold", "marked"):
        yield from _labels(study, field)
    elif field == "status":
        yield from (Option(name, name) for name in (*ANSWERED, "missing"))
    elif field == "is":
        yield from (Option(name, name) for name in (*IS_ANSWER, *IS_ITEM))
    elif field == "no":
        yield from (Option(name, name) for name in (*ABSENT, *own_fields(design)))
    elif field == "mark":
        yield from (Option(name, name) for name in MARKS)
    elif field == "evaluators":
        yield Option("differ", "differ")
    elif field in ("model", "decoding"):
        yield from (Option(n, n) for n in dict.fromkeys(getattr(one, field) for one in design.columns))
    elif field in ("prompt", "flipped"):
        for name in design.prompts:
            yield Option(name, short_name(name), name)
    elif field == "by":
        yield from (Option(name, name) for name in dict.fromkeys(one.who for one in study.book.marks()))
    else:
        for name, kind in own_fields(design).items():
            if name.lower() != field:
                continue
            if kind == "factor":
                levels = dict.fromkeys(one.factors[name] for one in design.variants if name in one.factors)
                yield from (Option(level, level) for level in levels)
            else:
                values = design.groups[name]
                counts = np.bincount(index.groups[name], minlength=len(values) + 1)
                yield from (
                    Option(v, v or '""', None, int(counts[at])) for at, v in enumerate(values, start=1)
                )


def _labels(study: ViewedStudy, field: str) -> Iterator[Option]:
    design = study.index.design
    codes = study.statistics(0).modal if field == "modal" else study.index.gold if field == "gold" else None
    counts = None if codes is None else np.bincount(codes, minlength=len(design.codes) + 1)
    for at, one in enumerate(design.labels.labels, start=1):
        means = one.name if one.name != one.code else None
        yield Option(one.code, one.code, means, None if counts is None else int(counts[at]))
