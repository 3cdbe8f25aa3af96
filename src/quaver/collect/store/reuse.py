"""Answers to the same calls that another study has stored are reused, repeat by repeat.

The same call has the same key: the same served model, decoding, prompt and repeat number. A reused answer
keeps its text, tokens, time and provenance, and is marked with its study. Answers that were asked, or may
have been asked, under terms that differ from their key are not reused.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import cached_property
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any

from quaver.collect.store.read_only import open_to_read
from quaver.collect.store.response_store import Store
from quaver.collect.store.response_tables import COLUMNS
from quaver.collect.store.responses import Adopted
from quaver.collect.store.unconstrained_answers import REST
from quaver.core.call_terms import request_terms
from quaver.core.records import Call, Request
from quaver.errors import StoreError

_CHUNK = 512
"""Requests whose keys are looked up together."""


def reuse(
    requests: Iterable[Request], store: Store, folders: Mapping[str, Path], *, own: bool = False
) -> Counter[str]:
    """Copy answers that other studies stored; their errors are not copied.

    Args:
        requests: The requests that this study has yet to send.
        store: The store that receives the answers.
        folders: The other studies' folders, by the name that marks their answers. The first that has an
            answer provides it.
        own: Whether they hold answers of this study, which then count as its own and not as reused.

    Returns:
        How many answers came from each.

    Raises:
        StoreError: A folder holds no answers, or their keys are of another version.
    """
    taken: Counter[str] = Counter()
    with ExitStack() as stack:
        others = {name: stack.enter_context(Elsewhere(folder)) for name, folder in folders.items()}
        _check_recipes(others, store)
        sources: dict[tuple[str | None, int, str], int] = {}
        unread = iter(requests)
        while chunk := list(islice(unread, _CHUNK)):
            wanted = {call.key: (request, call) for request in chunk for call in request.calls}
            for name, other in others.items():
                adopted = list(_adopted(None if own else name, other, wanted, store, sources))
                store.adopt(adopted)
                taken[name] += len(adopted)
    return +taken  # drops studies that gave none


def _check_recipes(others: Mapping[str, Elsewhere], store: Store) -> None:
    """Check that the same call has the same key in the other studies.

    Raises:
        StoreError: Another study made its keys by another recipe.
    """
    for name, other in others.items():
        if other.recipe != store.recipe:
            raise StoreError(
                "another study's answers have keys of another version of Quaver",
                where=name,
                expected=f"keys of recipe {store.recipe}",
                found=f"recipe {other.recipe}, by which none of its answers would match",
                fix="run `quaver status` on that study to update its keys, or update Quaver",
            )


def _adopted(
    name: str | None,
    other: Elsewhere,
    wanted: dict[bytes, tuple[Request, Call]],
    store: Store,
    sources: dict[tuple[str | None, int, str], int],
) -> Iterator[Adopted]:
    """The wanted answers that one study has; they are removed from ``wanted``."""
    found = {
        key: (source, seed, received, row)
        for key, source, seed, received, terms, row in other.find(wanted)
        if other.was_asked_so(key, terms, wanted[key][0])
    }
    for key in [key for key in wanted if key in found]:  # in the order of work
        request, call = wanted.pop(key)
        source, seed, received, row = found[key]
        mark = (name, source, request.model)
        if mark not in sources:
            identity, provenance = other.source(source)
            sources[mark] = store.register(request.model, identity, provenance, reused=name)
        yield Adopted(request, call, sources[mark], seed, received, row)


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
            known = {row[1] for row in self._db.execute("PRAGMA table_info(responses)")}
            self._knows_terms = "terms" in known
            recipe = self._db.execute("SELECT value FROM meta WHERE name = 'recipe'").fetchone()
            self.recipe = int(recipe[0]) if recipe else 1
            if not {"key", "text", "finish"} <= known:
                raise sqlite3.DatabaseError("it holds no responses")
        except sqlite3.Error as error:
            raise self._unreadable(error) from error
        self._columns = [name if name in known else "NULL" for name in COLUMNS.split(", ")]

    def __enter__(self) -> Elsewhere:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._db.close()

    def was_asked_so(self, key: bytes, terms: str | None, request: Request) -> bool:
        """Whether an answer was asked under the terms of a request, as far as the other study knows."""
        if terms is None and request.schema:
            return key in self._sent_whole
        return terms is None or terms == request_terms(request)

    @cached_property
    def _sent_whole(self) -> set[bytes]:
        """The keys of answers without stored terms whose request was sent whole."""
        unknown = "r.terms IS NULL" if self._knows_terms else "1"
        placed = f"SELECT r.key FROM responses r JOIN calls a ON a.response = r.id WHERE {unknown}"
        rest = REST.format(which=unknown)
        return {key for (key,) in self._rows(f"{placed} AND r.id NOT IN ({rest})", ())}

    def find(
        self, keys: Iterable[bytes]
    ) -> Iterator[tuple[bytes, int, int, float, str | None, tuple[Any, ...]]]:
        """For each key that has an answer: key, source, seed, time, terms, and column values."""
        asked = list(keys)
        terms = "(SELECT t.asked FROM terms t WHERE t.id = responses.terms)" if self._knows_terms else "NULL"
        for start in range(0, len(asked), 500):
            part = asked[start : start + 500]
            sql = (
                f"SELECT key, source, seed, received, {terms}, {', '.join(self._columns)} FROM responses "
                f"WHERE finish != 'error' AND key IN ({','.join('?' * len(part))})"
            )
            for key, source, seed, received, asked_so, *row in self._rows(sql, part):
                yield key, source, seed, received, asked_so, tuple(row)

    def source(self, number: int) -> tuple[str, dict[str, Any]]:
        """The identity and provenance of the engine that answered."""
        rows = self._rows("SELECT identity, provenance FROM sources WHERE id = ?", (number,))
        identity, provenance = rows[0] if rows else ("", "{}")
        return identity, json.loads(provenance)

    def _rows(self, sql: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
        try:
            with closing(self._db.execute(sql, parameters)) as found:
                return found.fetchall()
        except sqlite3.Error as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: sqlite3.Error) -> StoreError:
        problem = "another study's responses.db cannot be read"
        return StoreError(problem, where=str(self._path), found=str(error))
