"""Answers to the same calls that another study has stored are reused, repeat by repeat.

The same call has the same key: the same served model, decoding, prompt and repeat number. A reused answer
keeps its text, tokens, time and provenance, and is marked with its study. Answers that were asked, or may
have been asked, under terms that differ from their key are not reused.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any

from quaver.collect.store.database import is_without_tables
from quaver.collect.store.read_only import open_to_read
from quaver.collect.store.response_store import Store
from quaver.collect.store.response_tables import SUMMED, checksum, facts_of, written_prompt
from quaver.collect.store.spill import Receipt
from quaver.collect.store.store_lock import REPAIR
from quaver.core.calls import Call, Request
from quaver.core.instrument import asked_in
from quaver.core.variant_display import request_terms
from quaver.errors import StoreError

_CHUNK = 512
"""Requests whose keys are looked up together."""


def reuse(requests: Iterable[Request], store: Store, folders: Mapping[str, Path]) -> Counter[str]:
    """Copy answers that other studies stored; their errors are not copied.

    Returns:
        How many answers came from each.
    """
    taken: Counter[str] = Counter()
    with ExitStack() as stack:
        others = {name: stack.enter_context(Elsewhere(folder)) for name, folder in folders.items()}
        sources: dict[tuple[str, int, str], int] = {}
        unread = iter(requests)
        while chunk := list(islice(unread, _CHUNK)):
            wanted = {call.key: (request, call) for request in chunk for call in request.calls}
            for name, other in others.items():
                adopted = list(_adopted(name, other, wanted, store, sources))
                store.write(adopted)
                taken[name] += len(adopted)
    return +taken  # drops studies that gave none


def _adopted(
    name: str,
    other: Elsewhere,
    wanted: dict[bytes, tuple[Request, Call]],
    store: Store,
    sources: dict[tuple[str, int, str], int],
) -> Iterator[Receipt]:
    """The wanted answers that one study has; they are removed from ``wanted``."""
    stored = {
        key: (source, seed, received, terms, row)
        for key, source, seed, received, terms, row in other.find(wanted)
        if terms and asked_in(terms) == request_terms(wanted[key][0])
    }
    for key in [key for key in wanted if key in stored]:  # in the order of work
        request, call = wanted.pop(key)
        source, seed, received, terms, row = stored[key]
        mark = (name, source, request.model)
        if mark not in sources:
            identity, provenance = other.source(source)
            sources[mark] = store.register(request.model, identity, provenance, reused=name)
        messages = written_prompt(request.prompt.messages)
        yield Receipt(sources[mark], messages, seed, received, terms, [call], [row])


class Elsewhere:
    """Another study's stored responses, never written.

    Args:
        folder: The study's folder.

    Raises:
        StoreError: The folder has none.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / "responses.db"
        if not self._path.is_file():
            raise StoreError(
                "there is no study to take answers from",
                where=str(folder),
                expected="a study's folder, with responses.db in it",
                found="no such folder" if not folder.exists() else "no responses.db",
                fix="name the folder of a study that has been run, or remove it from `reuse`",
            )
        try:
            self._db = open_to_read(self._path)
            is_new = is_without_tables(self._db, self._path)
        except sqlite3.Error as error:
            raise self._unreadable(error) from error
        self._is_new = is_new

    def __enter__(self) -> Elsewhere:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._db.close()

    def find(
        self, keys: Iterable[bytes]
    ) -> Iterator[tuple[bytes, int, int, float, str | None, tuple[Any, ...]]]:
        """For each key that has a whole answer: key, source, seed, time, terms, and column values.

        An answer whose checksum does not hold, or that SQLite cannot read, is none.
        """
        asked = [] if self._is_new else list(keys)
        parts = [asked[start : start + 500] for start in range(0, len(asked), 500)]
        while parts:
            part = parts.pop(0)
            sql = (
                f"SELECT key, source, checksum, (SELECT t.asked FROM terms t WHERE t.id = r.terms), {SUMMED} "
                f"FROM responses r WHERE finish != 'error' AND key IN ({','.join('?' * len(part))})"
            )
            try:
                rows = self._db.execute(sql, part).fetchall()
            except sqlite3.Error as error:
                if getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_CORRUPT:
                    raise self._unreadable(error) from error
                middle = len(part) // 2
                parts = [half for half in (part[:middle], part[middle:]) if middle] + parts
                continue
            for key, source, kept, terms, seed, received, *row in rows:
                if kept == checksum(seed, received, *row):
                    yield key, source, seed, received, terms, tuple(row)

    def source(self, number: int) -> tuple[str, dict[str, Any]]:
        """The identity and provenance of the engine that answered."""
        with suppress(sqlite3.Error):  # its page may be damaged
            sql = "SELECT identity, provenance FROM sources WHERE id = ?"
            for identity, provenance in self._db.execute(sql, (number,)):
                return identity, facts_of(provenance)
        return "", {}

    def _unreadable(self, error: object) -> StoreError:
        problem = "another study's responses.db cannot be read"
        return StoreError(problem, where=str(self._path), found=str(error), fix=REPAIR)
