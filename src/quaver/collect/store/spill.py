"""Answers as they come: a receipt as a line of text that survives a kill, and the file of such lines."""

from __future__ import annotations

import json
import os
import threading
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from operator import is_
from pathlib import Path
from typing import Any, NamedTuple

from pydantic_core import from_json, to_json

from quaver._secrets import Keys
from quaver.collect.store.response_tables import COLUMNS, row_of, written_prompt
from quaver.core.calls import Call, Request, Response, constructor
from quaver.core.instrument import terms_with
from quaver.core.line_file import write_whole
from quaver.core.model import Answered
from quaver.core.replaced_file import put_in_place
from quaver.core.variant_display import request_terms
from quaver.errors import StoreError


class Receipt(NamedTuple):
    """The responses to one request, as the database stores them.

    Attributes:
        source: The number that ``Store.register`` returned for the engine.
        messages: The prompt, as JSON.
        seed: The seed of the first call.
        received: When the answer arrived, in seconds since 1970.
        terms: What was sent beside the prompt (``quaver.core.variant_display``).
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
    """Prepare an answer for storing."""
    return receipts([answered], source, keys)[0]


def receipts(group: Sequence[Answered], source: int, keys: Keys | None = None) -> list[Receipt]:
    """The receipts of answers that arrived together."""
    received, receipts = time.time(), []
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
        if not any(response.instrument for response in responses):
            receipts.append(_RECEIPT((source, messages, request.seed, received, terms, calls, rows)))
        else:
            receipts += _by_record(source, messages, received, terms, request, responses, rows)
    return receipts


def _by_record(
    source: int,
    messages: str,
    received: float,
    terms: str,
    request: Request,
    responses: Sequence[Response],
    rows: Sequence[tuple[Any, ...]],
) -> Iterator[Receipt]:
    """A receipt for each record of the instrument among a request's responses."""
    places: dict[str | None, list[int]] = {}
    for index, response in enumerate(responses):
        places.setdefault(response.instrument, []).append(index)
    for record, some in places.items():
        part = request.part(tuple(request.calls[index] for index in some))
        under = terms_with(terms, record)
        yield Receipt(
            source, messages, part.seed, received, under, part.calls, [rows[index] for index in some]
        )


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
    places = {terms: index for index, terms in enumerate(dict.fromkeys([request.terms for request in group]))}
    rest = [
        (source, messages, seed, received, places[under], [(*call,) for call in calls], rows)
        for source, messages, seed, received, under, calls, rows in group  # plain tuples are fastest to write
    ]
    return [*places], rest


def receipts_of(document: Any) -> list[Receipt]:
    """The receipts in the content of a line."""
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
    return Receipt(source, messages, seed, received, terms, placed, list(map(tuple, rows)))


_FORM = "quaver spill 2"

_LONG = 2**20
"""Size in bytes from which the file is rewritten without its stored lines."""


class Spill:
    """Keeps answers until the database has them; ``add`` is thread-safe.

    Args:
        path: The file; everything in it must already be in the database.
        facts: The content of the first line.

    Attributes:
        failed: Why an answer could not be written, and waits for the database in memory alone.
    """

    def __init__(self, path: Path, facts: Mapping[str, Any]) -> None:
        self._path = path
        self.failed: OSError | None = None
        self._head = line_of({"form": _FORM, "columns": COLUMNS.split(", "), **facts})
        self._adding = threading.Lock()
        self._lines: dict[bytes, bytes] = {}
        self._file: int | None = _opened(path)
        self._size = 0

    def add(self, group: Sequence[Receipt]) -> int:
        """Keep answers that have arrived together; without any room on the disk, in memory alone.

        What arrives after the file was closed, as after a second Ctrl-C, is given up: the number of a closed
        file may be another file's by then.

        Returns:
            Their size in bytes; 0 where they are given up.
        """
        line = line_of(document_of(group))
        with self._adding:
            if self._file is None:
                return 0
            self._lines[group[0].key] = line
            self._write(line if self._size else self._head + line)
        return len(line)

    def _write(self, lines: bytes) -> None:
        assert self._file is not None
        try:
            write_whole(self._file, lines, self._size)
            self._size += len(lines)
        except OSError as error:
            self.failed = error

    def forget(self, stored: Iterable[Sequence[Receipt]]) -> None:
        """Drop groups of answers that are in the database now."""
        with self._adding:
            if self._file is None:
                return
            for group in stored:
                self._lines.pop(group[0].key, None)
            with suppress(OSError):  # a line too many is harmless: it is not stored twice
                if not self._lines:
                    os.ftruncate(self._file, 0)
                    self._size = 0
                elif self._size > _LONG:
                    self._rewrite(self._file)

    def _rewrite(self, before: int) -> None:
        """Rewrite the file with the lines that are still needed; at any moment one file has them all."""
        part = self._path.with_name(self._path.name + ".part")
        lines = self._head + b"".join(self._lines.values())
        file = _opened(part)
        try:
            write_whole(file, lines, 0)
            put_in_place(part, self._path)
        except OSError:
            os.close(file)
            part.unlink(missing_ok=True)
            raise
        os.close(before)
        self._file, self._size = file, len(lines)

    def close(self) -> None:
        """Close the file; remove it if the database has everything, otherwise sync it to the disk."""
        with self._adding:
            if self._file is None:
                return
            with suppress(OSError):
                if self._lines:
                    os.fsync(self._file)
                else:
                    self._path.unlink(missing_ok=True)
            os.close(self._file)
            self._file = None


def _opened(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_TRUNC, 0o666)


class SpillFile:
    """The spill that a killed run left; read only.

    Args:
        path: The file, which may be missing.

    Attributes:
        study: The fingerprint of the study; None if there is nothing to read.
        sources: Model, identity, provenance and reused study, by the number that answers refer to.

    Raises:
        StoreError: The first line is of another version.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.study: str | None = None
        self.sources: dict[int, tuple[str, str, Any, str | None]] = {}
        first = next(self._documents(), None)
        if first is None:
            return
        try:
            if first["form"] != _FORM or first["columns"] != COLUMNS.split(", "):
                raise ValueError(f"the form {first['form']!r}")
            self.study = first["study"]
            self.sources = {n: (m, i, json.loads(facts), of) for n, m, i, facts, of in first["sources"]}
        except (ValueError, TypeError, KeyError) as error:
            raise StoreError(
                "the answers that a killed run left here cannot be read",
                where=str(path),
                expected=_FORM,
                found=str(error),
                fix="update Quaver, or move the file away: the next run asks for its answers again",
            ) from error

    def receipts(self) -> Iterator[Receipt]:
        """The answers in order of arrival; incomplete lines are skipped."""
        for document in self._documents():
            try:
                group = receipts_of(document)
            except (ValueError, TypeError, IndexError, KeyError):  # the first line, or not Quaver's
                continue
            yield from (receipt for receipt in group if receipt.source in self.sources)

    def _documents(self) -> Iterator[Any]:
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            for line in file:
                with suppress(ValueError):
                    if (document := text_of(line)) is not None:
                        yield document
