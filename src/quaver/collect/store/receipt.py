"""What came back for a request, made ready to be stored, and as a line of text that survives a kill."""

from __future__ import annotations

import time
import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

from pydantic_core import from_json, to_json

from quaver._secrets import Keys
from quaver.collect.store.response_tables import row_of, written_prompt
from quaver.core.call_terms import request_terms
from quaver.core.model import Answered
from quaver.core.records import Call

__all__ = ["Receipt", "line_of", "receipt", "receipt_of", "text_of"]


class Receipt(NamedTuple):
    """The responses to one request, as the database takes them.

    Attributes:
        source: The number that ``Store.register`` gave for what answered.
        messages: The prompt, as JSON.
        seed: Of the first call.
        received: When the answer came, in seconds since 1970.
        terms: What was asked for beside the prompt (``quaver.core.call_terms``).
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
        """The first call's key, which no other receipt of a run has."""
        return self.calls[0].key


def receipt(answered: Answered, source: int, keys: Keys | None = None) -> Receipt:
    """Make an answer ready to be stored.

    Args:
        answered: The request and its responses.
        source: The number that ``Store.register`` gave for its model.
        keys: Those of which no value may be stored.

    Raises:
        ValueError: There is not one response a call.
    """
    request, responses = answered
    if len(responses) != len(request.calls):
        raise ValueError(f"{len(responses)} responses to {len(request.calls)} calls")
    messages = written_prompt(request.prompt.messages)
    rows = [row_of(response, keys) for response in responses]
    terms = request_terms(request)
    return Receipt(source, messages, request.seed, time.time(), terms, request.calls, rows)


def line_of(document: Any) -> bytes:
    r"""A line of JSON behind its own checksum: a line that was cut off or damaged is recognised.

    >>> line_of(["a", 1])
    b'ba636a39 ["a",1]\n'
    """
    text = to_json(document, bytes_mode="hex", inf_nan_mode="constants")
    return b"%08x %b\n" % (zlib.crc32(text), text)


def text_of(line: bytes) -> Any:
    r"""What stands in a line; None where it is not whole.

    >>> text_of(b'ba636a39 ["a",1]\n'), text_of(b'9dfc81da ["a",2]\n'), text_of(b'9dfc81da ["a"')
    (['a', 1], None, None)
    """
    check, _, text = line.partition(b" ")
    if not line.endswith(b"\n") or check != b"%08x" % zlib.crc32(text[:-1]):
        return None
    return from_json(text)


def receipt_of(document: Any) -> Receipt:
    """The receipt in what stood in a line.

    Raises:
        ValueError: It is no receipt.
        TypeError: It is no receipt.
    """
    source, messages, seed, received, terms, calls, rows = document
    placed = [
        Call(bytes.fromhex(key), condition, item, repeat, parent and bytes.fromhex(parent))
        for key, condition, item, repeat, parent in calls
    ]
    if not placed or len(placed) != len(rows):
        raise ValueError("calls and rows do not belong together")
    return Receipt(source, messages, seed, received, terms, placed, [tuple(row) for row in rows])
