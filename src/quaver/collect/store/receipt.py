"""The answers to a request as the database stores them, and as a line of text that survives a kill."""

from __future__ import annotations

import time
import zlib
from collections.abc import Sequence
from operator import is_
from typing import Any, NamedTuple

from pydantic_core import from_json, to_json

from quaver._secrets import Keys
from quaver.collect.store.response_tables import row_of, written_prompt
from quaver.core.call_terms import request_terms
from quaver.core.model import Answered
from quaver.core.records import Call, constructor


class Receipt(NamedTuple):
    """The responses to one request, as the database stores them.

    Attributes:
        source: The number that ``Store.register`` returned for the engine.
        messages: The prompt, as JSON.
        seed: The seed of the first call.
        received: When the answer arrived, in seconds since 1970.
        terms: What was sent beside the prompt (``quaver.core.call_terms``).
        calls: The request's calls.
        rows: The values of ``tables.COLUMNS`` for each call.
    """

    source: int
    messages: str
    seed: int
    received: float
    terms: str
    calls: Sequence[Call]
    rows: Sequence[tuple[Any, ...]]

    @property
    def key(self) -> bytes:
        """The first call's key, unique within a run."""
        return self.calls[0].key


_RECEIPT = constructor(Receipt)


def receipt(answered: Answered, source: int, keys: Keys | None = None) -> Receipt:
    """Prepare an answer for storing.

    Args:
        answered: The request and its responses.
        source: The number that ``Store.register`` returned for its model.
        keys: API keys whose values must not be stored.

    Raises:
        ValueError: There is not one response per call.
    """
    return receipts([answered], source, keys)[0]


def receipts(group: Sequence[Answered], source: int, keys: Keys | None = None) -> list[Receipt]:
    """The same for answers that arrived together.

    Raises:
        ValueError: A request has not one response per call.
    """
    received, found = time.time(), []
    before: tuple[object, ...] = (None, None, None)
    terms = ""
    for request, responses in group:
        calls = request.calls
        if len(responses) != len(calls):
            raise ValueError(f"{len(responses)} responses to {len(calls)} calls")
        messages = written_prompt(request.prompt.messages)
        rows = [row_of(response, keys) for response in responses]
        same = (request.decoding, request.choices, request.schema)
        if not all(map(is_, same, before)):  # the same objects as the last request's, mostly
            before, terms = same, request_terms(request)
        found.append(_RECEIPT((source, messages, request.seed, received, terms, calls, rows)))
    return found


def line_of(document: Any) -> bytes:
    r"""A line of JSON behind its checksum, so that a cut or damaged line is recognised.

    >>> line_of(["a", 1])
    b'ba636a39 ["a",1]\n'
    """
    text = to_json(document, bytes_mode="hex", inf_nan_mode="constants")
    return b"%08x %b\n" % (zlib.crc32(text), text)


def text_of(line: bytes) -> Any:
    r"""The content of a line; None if it is incomplete.

    >>> text_of(b'ba636a39 ["a",1]\n'), text_of(b'9dfc81da ["a",2]\n'), text_of(b'9dfc81da ["a"')
    (['a', 1], None, None)
    """
    check, _, text = line.partition(b" ")
    if not line.endswith(b"\n") or check != b"%08x" % zlib.crc32(text[:-1]):
        return None
    return from_json(text)


def document_of(group: Sequence[Receipt]) -> tuple[list[str], list[tuple[Any, ...]]]:
    """What a line has about receipts: their terms, and the receipts with the places of their terms."""
    places = {terms: at for at, terms in enumerate(dict.fromkeys([one.terms for one in group]))}
    rest = [
        (source, messages, seed, received, places[under], [(*call,) for call in calls], rows)
        for source, messages, seed, received, under, calls, rows in group  # plain tuples are fastest to write
    ]
    return [*places], rest


def receipts_of(document: Any) -> list[Receipt]:
    """The receipts in the content of a line.

    Raises:
        ValueError: It has none.
        TypeError: It has none.
        IndexError: It has none.
    """
    terms, group = document
    return [_receipt((*head, terms[under], calls, rows)) for *head, under, calls, rows in group]


def _receipt(document: Any) -> Receipt:
    source, messages, seed, received, terms, calls, rows = document
    placed = [
        Call(bytes.fromhex(key), condition, item, repeat, parent and bytes.fromhex(parent))
        for key, condition, item, repeat, parent in calls
    ]
    if not placed or len(placed) != len(rows):
        raise ValueError("calls and rows do not belong together")
    return Receipt(source, messages, seed, received, terms, placed, [tuple(row) for row in rows])
