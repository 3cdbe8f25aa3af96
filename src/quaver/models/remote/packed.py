"""Requests and responses as bytes, on their way between the driver and its workers.

A frozen dataclass is slow to pickle and slow to make: both take Python code for every object. So a group is
pickled as rows of plain values, and objects are made by setting their slots.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any, Generic, TypeVar

from quaver.core.records import Request, Response

Record = TypeVar("Record", Request, Response)

Place = int | tuple[int, int, int]
"""A request's place in its group; for a part of it, also its first call and the number of its calls."""

PlacedAnswer = tuple[Place, Sequence[Response]]
"""A place, and the responses to what was asked there."""


class _Rows(Generic[Record]):
    """Turns records of a frozen dataclass with slots into rows of their values, and back."""

    def __init__(self, kind: type[Record]) -> None:
        names = [one.name for one in fields(kind)]
        self._kind: type[Record] = kind
        self.row = attrgetter(*names)
        self._setters = [getattr(kind, name).__set__ for name in names]

    def made(self, row: Sequence[Any]) -> Record:
        """The record with these values, which are a record's, so nothing of them is checked."""
        made: Record = object.__new__(self._kind)
        for put, value in zip(self._setters, row, strict=True):
            put(made, value)
        return made


_REQUESTS, _RESPONSES = _Rows(Request), _Rows(Response)


def packed_requests(requests: Iterable[Request]) -> bytes:
    """A group of requests.

    >>> from quaver.core.records import Call, Decoding, Message, Prompt
    >>> prompt = Prompt((Message("user", "?"),), "", "?")
    >>> one = Request("m", prompt, Decoding("a"), (), 1, (Call(b"k", 0, 0, 0),))
    >>> unpacked_requests(packed_requests([one])) == [one]
    True
    """
    return pickle.dumps([_REQUESTS.row(one) for one in requests], pickle.HIGHEST_PROTOCOL)


def unpacked_requests(packed: bytes) -> list[Request]:
    """What was packed."""
    return [_REQUESTS.made(row) for row in pickle.loads(packed)]


def packed_answers(answers: Iterable[PlacedAnswer]) -> bytes:
    """The answers to a group.

    >>> unpacked_answers(packed_answers([(0, [Response("yes")])])) == [(0, [Response("yes")])]
    True
    """
    rows = [(place, [_RESPONSES.row(one) for one in responses]) for place, responses in answers]
    return pickle.dumps(rows, pickle.HIGHEST_PROTOCOL)


def unpacked_answers(packed: bytes) -> list[tuple[Place, list[Response]]]:
    """What was packed."""
    return [(place, [_RESPONSES.made(row) for row in rows]) for place, rows in pickle.loads(packed)]
