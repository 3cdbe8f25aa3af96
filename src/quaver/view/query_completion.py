"""How a query line may go on: fields, then their values with how many items have them."""

from __future__ import annotations

import re
from typing import Any

from quaver.view.asked import Asked, Given
from quaver.view.query_fields import FIELDS, Option
from quaver.view.query_language import quoted, unquoted, written
from quaver.view.viewed_study import ViewedStudy

_MOST = 12
_WORD = re.compile(r'(?:"(?:[^"\\]|\\.)*"?|[^\s()"])*$')
_TERM = re.compile(
    r'^-?(?P<field>"(?:[^"\\]|\\.)*"|[^":=<>!]+)(?P<op>!=|<=|>=|[:=<>])(?P<rest>.*)$', re.DOTALL
)


def completions(study: ViewedStudy, given: Given) -> dict[str, Any]:
    """The ways to go on at a place in a query line."""
    line = given.asked.query
    index = len(line) if given.at is None else given.at
    word = _WORD.search(line[:index])
    start = word.start() if word else index
    typed = line[start:index]
    if term := _TERM.match(typed):
        # Of a list of values, the last one is being typed.
        rest = term["rest"]
        comma = -1 if rest.startswith('"') else rest.rfind(",")
        start += term.start("rest") + comma + 1
        fields = study.fields(Asked())
        name = fields.name_of(unquoted(term["field"]))
        options = _beginning(fields.options(name) if name else (), unquoted(rest[comma + 1 :]))
        found = [(f"{quoted(option.text)} ", option) for option in options]
    else:
        minus = "-" if typed.startswith("-") else ""
        names = study.fields(Asked()).names() if study.index_or_none() else FIELDS
        every = [Option(name, name, FIELDS.get(name)) for name in names]
        options = _beginning(every, typed.removeprefix("-"))
        found = [(f"{minus}{written(option.text)}:", option) for option in options]
    shown = [
        {"text": text, "shown": option.shown, "means": option.means, "count": option.n}
        for text, option in found
    ]
    return {"from": start, "to": index, "options": shown[:_MOST]}


def _beginning(options: Any, typed: str) -> list[Option]:
    """The options that begin with what was typed, then those that contain it."""
    wanted = typed.lower()
    containing = [option for option in options if wanted in option.shown.lower()]
    return sorted(containing, key=lambda option: not option.shown.lower().startswith(wanted))
