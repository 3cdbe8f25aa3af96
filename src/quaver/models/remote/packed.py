"""Requests and responses as bytes, on their way between the driver and its workers.

A frozen dataclass is slow to pickle and slow to make, and so is a named tuple: both take Python code for
every object. So a group is pickled as rows of plain values, what its requests have in common once, and
objects are made slot by slot, a slot of all of them at a time.
"""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import fields
from functools import partial
from itertools import repeat
from operator import attrgetter
from typing import Any, Generic, TypeVar

from quaver.core.records import Call, Message, Prompt, Request, Response
from quaver.core.response_validation import is_bare

Record = TypeVar("Record", Request, Response)

Place = int | tuple[int, int, int]
"""A request's place in its group; for a part of it, also its first call and the number of its calls."""

PlacedAnswer = tuple[Place, Sequence[Response]]
"""A place, and the responses to what was asked there."""

_CALL, _MESSAGE, _PROMPT = (partial(tuple.__new__, kind) for kind in (Call, Message, Prompt))
_COMMON = attrgetter("model", "decoding", "choices", "schema")


class _Slots(Generic[Record]):
    """Makes records of a frozen dataclass with slots from their values, of which nothing is checked."""

    def __init__(self, kind: type[Record]) -> None:
        names = [one.name for one in fields(kind)]
        self._kind: type[Record] = kind
        self._setters = {name: getattr(kind, name).__set__ for name in names}
        self.row = attrgetter(*names)

    def made(self, count: int, **columns: Iterable[Any]) -> list[Record]:
        """So many records, with the values of each slot."""
        found: list[Record] = [object.__new__(self._kind) for _ in range(count)]
        for name, put in self._setters.items():
            deque(map(put, found, columns[name]), maxlen=0)
        return found

    def of_rows(self, rows: Sequence[Sequence[Any]]) -> list[Record]:
        """The records with these rows."""
        return self.made(len(rows), **dict(zip(self._setters, zip(*rows, strict=True), strict=True)))


_REQUESTS, _RESPONSES = _Slots(Request), _Slots(Response)
_SAME = {one.name: repeat(getattr(Response(""), one.name)) for one in fields(Response)}


def packed_requests(requests: Iterable[Request]) -> bytes:
    """A group of requests.

    >>> from quaver.core.records import Call, Decoding, Message, Prompt
    >>> prompt = Prompt((Message("user", "?"),), "", "?")
    >>> one = Request("m", prompt, Decoding("a"), (), 1, (Call(b"k", 0, 0, 0),))
    >>> unpacked_requests(packed_requests([one])) == [one]
    True
    """
    common: dict[tuple[int, ...], int] = {}
    terms: list[tuple[Any, ...]] = []
    rows = []
    for one in requests:
        shared = _COMMON(one)
        at = common.setdefault(tuple(map(id, shared)), len(terms))  # what is alike is nearly always the same
        if at == len(terms):
            terms.append(shared)
        messages, text, question = one.prompt
        rows.append((at, [*map(tuple, messages)], text, question, one.seed, [*map(tuple, one.calls)]))
    return pickle.dumps((terms, rows), pickle.HIGHEST_PROTOCOL)


def unpacked_requests(packed: bytes) -> list[Request]:
    """What was packed."""
    terms, rows = pickle.loads(packed)
    if not rows:
        return []
    at, messages, texts, questions, seeds, calls = zip(*rows, strict=True)
    model, decoding, choices, schema = zip(*map(terms.__getitem__, at), strict=True)
    turns = (tuple(map(_MESSAGE, some)) for some in messages)
    return _REQUESTS.made(
        len(rows),
        model=model,
        prompt=map(_PROMPT, zip(turns, texts, questions, strict=True)),
        decoding=decoding,
        choices=choices,
        seed=seeds,
        calls=(tuple(map(_CALL, some)) for some in calls),
        schema=schema,
    )


def packed_answers(answers: Iterable[PlacedAnswer]) -> bytes:
    """The answers to a group. Of a short answer with nothing beside it, only its text and time are sent.

    >>> answers = [(0, [Response("yes")]), (1, [Response("no", error="why"), Response("yes")])]
    >>> unpacked_answers(packed_answers(answers)) == answers
    True
    """
    bare: list[tuple[Place, str, float | None]] = []
    whole: list[tuple[Place, list[tuple[Any, ...]]]] = []
    for place, responses in answers:
        if len(responses) == 1 and is_bare(response := responses[0]):
            bare.append((place, response.text, response.latency))
        else:
            whole.append((place, [_RESPONSES.row(one) for one in responses]))
    return pickle.dumps((bare, whole), pickle.HIGHEST_PROTOCOL)


def unpacked_answers(packed: bytes) -> list[tuple[Place, list[Response]]]:
    """What was packed."""
    bare, whole = pickle.loads(packed)
    found: list[tuple[Place, list[Response]]] = []
    if bare:
        places, texts, latencies = zip(*bare, strict=True)
        made = _RESPONSES.made(len(bare), **{**_SAME, "text": texts, "latency": latencies})
        found += [(place, [one]) for place, one in zip(places, made, strict=True)]
    found += [(place, _RESPONSES.of_rows(rows)) for place, rows in whole]
    return found
