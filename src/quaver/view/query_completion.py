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
    at = len(line) if given.at is None else given.at
    word = _WORD.search(line[:at])
    start = word.start() if word else at
    typed = line[start:at]
    if term := _TERM.match(typed):
        # Of a list of values, the last one is being typed.
        rest = term["rest"]
        comma = -1 if rest.startswith('"') else rest.rfind(",")
        start += term.start("rest") + comma + 1
        field = study.fields(Asked()).get(unquoted(term["field"]))
        options = _beginning(field.options if field else (), unquoted(rest[comma + 1 :]))
        found = [(f"{quoted(one.text)} ", one) for one in options]
    else:
        minus = "-" if typed.startswith("-") else ""
        names = study.fields(Asked()).names() if study.index_or_none() else FIELDS
        every = [Option(name, name, FIELDS.get(name)) for name in names]
        options = _beginning(every, typed.removeprefix("-"))
        found = [(f"{minus}{written(one.text)}:", one) for one in options]
    shown = [{"text": text, "shown": one.shown, "means": one.means, "count": one.n} for text, one in found]
    return {"from": start, "to": at, "options": shown[:_MOST]}


def _beginning(options: Any, typed: str) -> list[Option]:
    """The options that begin with what was typed, then those that contain it."""
    wanted = typed.lower()
    containing = [one for one in options if wanted in one.shown.lower()]
    return sorted(containing, key=lambda one: not one.shown.lower().startswith(wanted))
