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
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

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


@dataclass(frozen=True)
class Words:
    """A text that an item, or an answer to it, contains."""

    text: str
    at: Place


@dataclass(frozen=True)
class Both:
    """Parts that must all hold."""

    parts: tuple[Query, ...]


@dataclass(frozen=True)
class Either:
    """Parts of which one must hold."""

    parts: tuple[Query, ...]


@dataclass(frozen=True)
class Negated:
    """A part that must not hold."""

    part: Query


Query = Term | Words | Both | Either | Negated


def parsed(line: str) -> Query:
    """The query in a line; an empty line asks for everything.

    >>> parsed('label:pos,neg -"tax"').parts[1]
    Negated(part=Words(text='tax', at=(15, 20)))
    """
    if len(line) > _LONGEST:
        raise QueryError("the query is too long", (0, len(line)), expected=f"{_LONGEST:,} characters at most")
    tokens = list(_tokens(line))
    if len(tokens) > _MOST_PARTS:
        raise QueryError("the query has too many parts", (0, len(line)), expected=f"{_MOST_PARTS} at most")
    reader = _Reader(tokens, len(line))
    result = reader.either(0) if tokens else Both(())
    reader.end()
    return result


class _Token(NamedTuple):
    kind: str
    at: Place
    part: Term | Words | None = None


def _tokens(line: str) -> Iterator[_Token]:
    index = 0
    while match := _TOKEN.match(line, index):
        kind, start = match.lastgroup or "", match.start(match.lastgroup or 0)
        if kind == "op":
            term, index = _term(line, match)
            yield _Token("part", term.at, term)
            continue
        index = match.end()
        at = (start, index)
        if kind in ("open", "close", "minus"):
            yield _Token(kind, at)
        elif kind == "quoted":
            yield _Token("part", at, Words(_plain(match["quoted"], at), at))
        elif (word := match["word"]).lower() in ("and", "or", "not"):
            yield _Token(word.lower(), at)
        else:
            yield _Token("part", at, Words(word, at))


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
    def __init__(self, tokens: list[_Token], length: int) -> None:
        self._tokens, self._at, self._length = tokens, 0, length

    def _next(self) -> _Token:
        if self._at < len(self._tokens):
            return self._tokens[self._at]
        return _Token("end", (self._length, self._length))

    def _take(self, kind: str) -> bool:
        taken = self._next().kind == kind
        self._at += taken
        return taken

    def either(self, depth: int) -> Query:
        parts = [self._both(depth)]
        while self._take("or"):
            parts.append(self._both(depth))
        return parts[0] if len(parts) == 1 else Either(tuple(parts))

    def _both(self, depth: int) -> Query:
        parts = [self._not(depth)]
        while self._take("and") or self._next().kind in ("part", "open", "minus", "not"):
            parts.append(self._not(depth))
        return parts[0] if len(parts) == 1 else Both(tuple(parts))

    def _not(self, depth: int) -> Query:
        if depth > _MOST_NESTED:
            raise QueryError("the query is nested too deeply", self._next().at)
        if self._take("minus") or self._take("not"):
            return Negated(self._not(depth + 1))
        token = self._next()
        if self._take("open"):
            result = self.either(depth + 1)
            if not self._take("close"):
                raise QueryError("a bracket is not closed", (token.at[0], self._length), expected=")")
            return result
        if token.part is None:
            what = "the query ends here" if token.kind == "end" else f"{token.kind!r} stands here"
            raise QueryError("a condition is missing", token.at, expected="a condition", found=what)
        self._at += 1
        return token.part

    def end(self) -> None:
        if (token := self._next()).kind != "end":
            raise QueryError("a bracket was never opened", token.at, expected="( before it")


def quoted(text: str) -> str:
    r"""A value as it stands in a query.

    >>> quoted("neutral"), quoted('say "no"')
    ('neutral', '"say \\"no\\""')
    """
    if re.fullmatch(r"[\w./-]+", text):
        return text
    return f'"{_escaped(text)}"'


def unquoted(text: str) -> str:
    """A text as it was before it was quoted, also where its last quotation mark is yet to be typed."""
    return _ESCAPED.sub(r"\1", text[1:]).removesuffix('"') if text.startswith('"') else text


def written(field: str) -> str:
    """A field as it stands in a query, before its operator or after ``no:``.

    >>> written("side"), written("-")
    ('side', '"-"')
    """
    return field if re.fullmatch(r"\w[\w.]*", field) else f'"{_escaped(field)}"'


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
