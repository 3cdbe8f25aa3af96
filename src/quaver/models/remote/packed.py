"""Requests and responses as bytes, on their way between the driver and its workers.

A named tuple is slower to pickle and to make than a plain one: both take Python code for every object. So a
group is pickled as rows of plain values, what its requests have in common once, and records are made of them
as tuples are.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any

from quaver.core.records import Call, Message, Prompt, Request, Response, constructor
from quaver.core.response_validation import is_bare

Place = int | tuple[int, int, int]
"""A request's place in its group; for a part of it, also its first call and the number of its calls."""

PlacedAnswer = tuple[Place, Sequence[Response]]
"""A place, and the responses to what was asked there."""

_CALL, _MESSAGE, _PROMPT = constructor(Call), constructor(Message), constructor(Prompt)
_REQUEST, _RESPONSE = constructor(Request), constructor(Response)
_COMMON = attrgetter("model", "decoding", "choices", "schema")
_LATENCY = Response._fields.index("latency")
_BEFORE, _AFTER = Response("")[1:_LATENCY], Response("")[_LATENCY + 1 :]


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
    prompts = map(_PROMPT, zip(map(_turns, messages), texts, questions, strict=True))
    columns = (model, prompts, decoding, choices, seeds, map(_calls, calls), schema)
    return list(map(_REQUEST, zip(*columns, strict=True)))


def _turns(rows: Iterable[Sequence[Any]]) -> tuple[Message, ...]:
    return tuple(map(_MESSAGE, rows))


def _calls(rows: Iterable[Sequence[Any]]) -> tuple[Call, ...]:
    return tuple(map(_CALL, rows))


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
            whole.append((place, [tuple(one) for one in responses]))
    return pickle.dumps((bare, whole), pickle.HIGHEST_PROTOCOL)


def unpacked_answers(packed: bytes) -> list[tuple[Place, list[Response]]]:
    """What was packed."""
    bare, whole = pickle.loads(packed)
    found: list[tuple[Place, list[Response]]] = [
        (place, [_RESPONSE((text, *_BEFORE, latency, *_AFTER))]) for place, text, latency in bare
    ]
    found += [(place, list(map(_RESPONSE, rows))) for place, rows in whole]
    return found
