r"""The query line: what it may say, and where it is wrong.

::

    query   = { ["-"] (term | words) }
    term    = field op value {"," value}
    op      = ":" "=" "!=" "<" "<=" ">" ">="

All conditions must hold; of the values of one, any. A value, a field, and words may stand in double quotes,
with ``\"`` inside; ``*`` at the end of a value stands for whatever follows. Only the field ``no`` asks for
what is absent (``no:label``), so that no value is reserved: a label called ``none`` is ``label:none``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import polars as pl

from quaver.errors import QuaverError

_MOST_PARTS, _LONGEST = 500, 10_000
_QUOTED = r'"(?:[^"\\]|\\.)*"?'
_TERM = re.compile(
    rf"""\s*(?P<minus>-(?=[^\s]))?
    (?: (?P<field>{_QUOTED}|[^\s":=<>!,-][^\s":=<>!,]*)(?P<op>!=|<=|>=|[:=<>])
    | (?P<words>{_QUOTED}|[^\s"]+) )""",
    re.VERBOSE,
)
_VALUE = re.compile(rf'(?P<text>{_QUOTED}|[^\s,"]+)(?P<more>,?)')

Place = tuple[int, int]


class QueryError(QuaverError):
    """A query line that says nothing.

    Args:
        problem: What is wrong.
        at: The characters of the line.
        **parts: The further parts of a `QuaverError`.
    """

    def __init__(self, problem: str, at: Place, **parts: str | None) -> None:
        super().__init__(problem, where="query", **parts)
        self.at = at


class Value(NamedTuple):
    """A value of a term.

    Attributes:
        text: What it says, without quotes and without the ``*``.
        at: Where it stands.
        open: Whether ``*`` stands at its end.
    """

    text: str
    at: Place
    open: bool = False


class Term(NamedTuple):
    """A field compared with values, of which one must fit."""

    field: str
    op: str
    values: tuple[Value, ...]
    at: Place


def condition(line: str, of_term: Callable[[Term], pl.Expr], of_words: Callable[[Value], pl.Expr]) -> pl.Expr:
    """The query in a line as one expression; an empty line asks for everything.

    Args:
        line: What was typed.
        of_term: The expression of a field that is compared with values.
        of_words: The expression of a text that an item, or an answer to it, contains.
    """
    whole, parts, index = pl.lit(True), 0, 0
    while match := _TERM.match(line, index):
        if len(line) > _LONGEST or (parts := parts + 1) > _MOST_PARTS:
            most = f"{_LONGEST:,} characters and {_MOST_PARTS} conditions at most"
            raise QueryError("the query is too long", (0, len(line)), expected=most)
        index = match.end()
        if match["op"]:
            term, index = _term(line, match)
            holds = of_term(term)
        else:
            holds = of_words(_value(match["words"], match.span("words")))
        whole = ~holds & whole if match["minus"] else holds & whole
    return whole


def _term(line: str, match: re.Match[str]) -> tuple[Term, int]:
    """A term, and where it ends."""
    start, index, values, more = match.start("field"), match.end(), list[Value](), True
    while more and (value := _VALUE.match(line, index)):
        values.append(_value(value["text"], value.span("text"), may_be_open=True))
        index, more = value.end(), bool(value["more"])
    name = _value(match["field"], match.span("field")).text
    if not values:
        raise QueryError(f"nothing stands after {name}{match['op']}", (start, index), expected="a value")
    return Term(name, match["op"], tuple(values), (start, index)), index


def _value(text: str, at: Place, *, may_be_open: bool = False) -> Value:
    """A value as it was written, with or without quotes."""
    if not text.startswith('"'):
        is_open = may_be_open and text.endswith("*") and len(text) > 1
        return Value(text[:-1] if is_open else text, at, is_open)
    if len(text) < 2 or not text.endswith('"') or (text.endswith('\\"') and not text.endswith('\\\\"')):
        raise QueryError("a quotation is not closed", at, expected='"')
    return Value(re.sub(r"\\(.)", r"\1", text[1:-1]), at)


def quoted(text: str) -> str:
    r"""A value as it stands in a query.

    >>> quoted("neutral"), quoted('say "no"')
    ('neutral', '"say \\"no\\""')
    """
    return text if re.fullmatch(r"[\w./-]+", text) else _escaped(text)


def written(field: str) -> str:
    """A field as it stands in a query, before its operator or after ``no:``.

    >>> written("side"), written("-")
    ('side', '"-"')
    """
    return field if re.fullmatch(r"\w[\w.]*", field) else _escaped(field)


def _escaped(text: str) -> str:
    inside = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{inside}"'
