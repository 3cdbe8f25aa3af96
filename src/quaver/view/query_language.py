r"""The query line: what it may say, and where it is wrong.

::

    query   = and { "or" and }
    and     = not { ["and"] not }
    not     = ["-" | "not"] primary
    primary = "(" query ")" | term
    term    = field op value {"," value}  |  words
    op      = ":" "=" "!=" "<" "<=" ">" ">="

A value, and words, may stand in double quotes, with ``\"`` inside; ``*`` at the end of a value stands for
whatever follows. Only the field ``no`` asks for what is absent (``no:label``), so that no value is reserved:
a label called ``none`` is ``label:none``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import polars as pl

from quaver.errors import QuaverError

_MOST_PARTS = 500
_MOST_NESTED = 50
_LONGEST = 10_000

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<open>\() | (?P<close>\))
        | (?P<minus>-(?=[^\s)]))
        | (?P<field>"(?:[^"\\]|\\.)*"|[^\s()":=<>!,-][^\s()":=<>!,]*)(?P<op>!=|<=|>=|[:=<>])
        | (?P<quoted>"(?:[^"\\]|\\.)*"?)
        | (?P<word>[^\s()"]+)
    )""",
    re.VERBOSE,
)
_VALUE = re.compile(r'"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<bare>[^\s(),"]+)')
_ESCAPED = re.compile(r"\\(.)")

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


@dataclass(frozen=True)
class Term:
    """A field compared with values, of which one must fit."""

    field: str
    op: str
    values: tuple[Value, ...]
    at: Place


class _Token(NamedTuple):
    kind: str
    at: Place
    part: pl.Expr | None = None


def condition(line: str, of_term: Callable[[Term], pl.Expr], of_words: Callable[[Value], pl.Expr]) -> pl.Expr:
    """The query in a line as one expression; an empty line asks for everything.

    Args:
        line: What was typed.
        of_term: The expression of a field that is compared with values.
        of_words: The expression of a text that an item, or an answer to it, contains.
    """
    if len(line) > _LONGEST:
        raise QueryError("the query is too long", (0, len(line)), expected=f"{_LONGEST:,} characters at most")
    tokens = [*islice(_tokens(line, of_term, of_words), _MOST_PARTS + 1)]
    if len(tokens) > _MOST_PARTS:
        raise QueryError("the query has too many parts", (0, len(line)), expected=f"{_MOST_PARTS} at most")
    if not tokens:
        return pl.lit(True)
    reader = _Reader([*tokens, _Token("end", (len(line), len(line)))])
    whole = reader.either(0)
    if (token := reader.next).kind != "end":
        raise QueryError("a bracket was never opened", token.at, expected="( before it")
    return whole


def _tokens(
    line: str, of_term: Callable[[Term], pl.Expr], of_words: Callable[[Value], pl.Expr]
) -> Iterator[_Token]:
    index = 0
    while match := _TOKEN.match(line, index):
        kind, start = match.lastgroup or "", match.start(match.lastgroup or 0)
        if kind == "op":
            term, index = _term(line, match)
            yield _Token("part", term.at, of_term(term))
            continue
        index = match.end()
        at = (start, index)
        word = match["word"] or ""
        if kind in ("open", "close", "minus"):
            yield _Token(kind, at)
        elif word.lower() in ("and", "or", "not"):
            yield _Token(word.lower(), at)
        else:
            yield _Token("part", at, of_words(Value(word or _plain(match["quoted"], at), at)))


def _term(line: str, match: re.Match[str]) -> tuple[Term, int]:
    """A term, and where it ends."""
    start, index, values = match.start("field"), match.end(), []
    while value := _VALUE.match(line, index):
        at, quoted = value.span(), value["quoted"] is not None
        text = _ESCAPED.sub(r"\1", value["quoted"]) if quoted else value["bare"]
        is_open = text.endswith("*") and not quoted and len(text) > 1
        values.append(Value(text[:-1] if is_open else text, at, is_open))
        index = value.end()
        if line[index : index + 1] != ",":
            break
        index += 1
    name = match["field"]
    name = _plain(name, (start, match.end("field"))) if name.startswith('"') else name
    if not values:
        raise QueryError(f"nothing stands after {name}{match['op']}", (start, index), expected="a value")
    return Term(name, match["op"], tuple(values), (start, index)), index


def _plain(quoted: str, at: Place) -> str:
    if len(quoted) < 2 or not quoted.endswith('"'):
        raise QueryError("a quotation is not closed", at, expected='"')
    return _ESCAPED.sub(r"\1", quoted[1:-1])


class _Reader:
    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens, self._at = tokens, 0

    @property
    def next(self) -> _Token:
        return self._tokens[self._at]

    def _take(self, *kinds: str) -> bool:
        taken = self.next.kind in kinds
        self._at += taken
        return taken

    def either(self, depth: int) -> pl.Expr:
        whole = self._both(depth)
        while self._take("or"):
            whole |= self._both(depth)
        return whole

    def _both(self, depth: int) -> pl.Expr:
        whole = self._not(depth)
        while self._take("and") or self.next.kind in ("part", "open", "minus", "not"):
            whole &= self._not(depth)
        return whole

    def _not(self, depth: int) -> pl.Expr:
        token = self.next
        if depth > _MOST_NESTED:
            raise QueryError("the query is nested too deeply", token.at)
        if self._take("minus", "not"):
            return ~self._not(depth + 1)
        if self._take("open"):
            whole = self.either(depth + 1)
            if not self._take("close"):
                end = self._tokens[-1].at[1]
                raise QueryError("a bracket is not closed", (token.at[0], end), expected=")")
            return whole
        if token.part is None:
            what = "the query ends here" if token.kind == "end" else f"{token.kind!r} stands here"
            raise QueryError("a condition is missing", token.at, expected="a condition", found=what)
        self._at += 1
        return token.part


def quoted(text: str) -> str:
    r"""A value as it stands in a query.

    >>> quoted("neutral"), quoted('say "no"')
    ('neutral', '"say \\"no\\""')
    """
    if re.fullmatch(r"[\w./-]+", text):
        return text
    return f'"{_escaped(text)}"'


def written(field: str) -> str:
    """A field as it stands in a query, before its operator or after ``no:``.

    >>> written("side"), written("-")
    ('side', '"-"')
    """
    return field if re.fullmatch(r"\w[\w.]*", field) else f'"{_escaped(field)}"'


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
