"""Requests and responses as bytes, on their way between the driver and its workers.

A named tuple is slower to pickle and to make than a plain one: both take Python code for every object. So a
group is pickled column by column, a column of one and the same value as that value, and records are made of
the columns as tuples are.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, repeat
from typing import Any

from quaver.core.records import Call, Decoding, Message, Prompt, Request, Response, Token, constructor

Place = int | tuple[int, int, int]
"""A request's place in its group; for a part of it, also its first call and the number of its calls."""

PlacedAnswer = tuple[Place, Sequence[Response]]
"""A place, and the responses to what was asked there."""

_CALL, _MESSAGE, _PROMPT = constructor(Call), constructor(Message), constructor(Prompt)
_REQUEST, _RESPONSE, _TOKEN = constructor(Request), constructor(Response), constructor(Token)
_TOKENS = Response._fields.index("tokens")

_Columns = tuple[int, list[tuple[bool, Any]]]
"""How many rows there are, and for each column, whether it has the same value in all of them."""


def packed_requests(requests: Sequence[Request]) -> bytes:
    """A group of requests.

    >>> from quaver.core.records import Call, Decoding, Message, Prompt
    >>> prompt = Prompt((Message("user", "?"),), "", "?")
    >>> one = Request("m", prompt, Decoding("a"), (), 1, (Call(b"k", 0, 0, 0),))
    >>> unpacked_requests(packed_requests([one])) == [one]
    True
    """
    if not requests:
        return pickle.dumps(None)
    model, prompts, decoding, choices, seeds, calls, schema = zip(*requests, strict=True)
    messages, texts, questions = zip(*prompts, strict=True)
    about = _columns((model, decoding, choices, seeds, schema, texts, questions), len(requests))
    return pickle.dumps((about, _parts(messages), _parts(calls)), pickle.HIGHEST_PROTOCOL)


def unpacked_requests(packed: bytes) -> list[Request]:
    """What was packed."""
    if (found := pickle.loads(packed)) is None:
        return []
    about, messages, calls = found
    model, decoding, choices, seeds, schema, texts, questions = _values(about)
    prompts = map(_PROMPT, zip(_rows(messages, _MESSAGE), texts, questions, strict=True))
    columns = (model, prompts, decoding, choices, seeds, _rows(calls, _CALL), schema)
    return list(map(_REQUEST, zip(*columns, strict=True)))


def packed_answers(answers: Sequence[PlacedAnswer]) -> bytes:
    """The answers to a group.

    >>> answers = [(0, [Response("yes")]), (1, [Response("no", error="why"), Response("yes")])]
    >>> unpacked_answers(packed_answers(answers)) == answers
    True
    """
    places, responses = zip(*answers, strict=True)
    sizes = list(map(len, responses))
    columns = [*zip(*chain.from_iterable(responses), strict=True)]
    if any(columns[_TOKENS]):
        columns[_TOKENS] = tuple([*map(tuple, tokens)] for tokens in columns[_TOKENS])
    return pickle.dumps((places, sizes, _columns(columns, sum(sizes))), pickle.HIGHEST_PROTOCOL)


def unpacked_answers(packed: bytes) -> list[tuple[Place, list[Response]]]:
    """What was packed."""
    places, sizes, (rows, columns) = pickle.loads(packed)
    if not columns[_TOKENS][0]:
        columns[_TOKENS] = False, [tuple(map(_TOKEN, tokens)) for tokens in columns[_TOKENS][1]]
    responses = map(_RESPONSE, zip(*_values((rows, columns)), strict=True))
    if rows == len(sizes):
        return [(place, [response]) for place, response in zip(places, responses, strict=True)]
    return [(place, [*islice(responses, size)]) for place, size in zip(places, sizes, strict=True)]


def _columns(columns: Iterable[Sequence[Any]], rows: int) -> _Columns:
    return rows, [(same, values[0] if same else values) for values in columns for same in (_is_same(values),)]


def _is_same(values: Sequence[Any]) -> bool:
    """Whether all are one value, of a kind where what is equal is the same (1, 1.0 and True are not)."""
    first = values[0]
    return (first == () or isinstance(first, str | Decoding | None)) and values.count(first) == len(values)


def _values(columns: _Columns) -> Iterator[Iterable[Any]]:
    rows, stored = columns
    return (repeat(values, rows) if same else values for same, values in stored)


def _parts(tuples: Sequence[tuple[Any, ...]]) -> tuple[list[int], _Columns]:
    """The calls or messages of all requests below each other, and how many each request has."""
    sizes = list(map(len, tuples))
    return sizes, _columns(zip(*chain.from_iterable(tuples), strict=True), sum(sizes))


def _rows(parts: tuple[list[int], _Columns], made: Any) -> Iterable[tuple[Any, ...]]:
    sizes, columns = parts
    records = map(made, zip(*_values(columns), strict=True))
    if sizes.count(sizes[0]) == len(sizes):
        return zip(*[records] * sizes[0], strict=True) if sizes[0] else repeat((), len(sizes))
    return (tuple(islice(records, size)) for size in sizes)
