"""Batches in the store: what is out at a provider, and what came of each request."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from quaver.collect.store.response_store import Store
from quaver.collect.store.spill import Receipt
from quaver.core.calls import Call, Message, Prompt, Request
from quaver.core.media import noted_medium
from quaver.core.variant_display import decoding_of

Batch = SimpleNamespace
"""A row of ``batches``, with an attribute for each column; times in seconds since 1970.

``state`` is ``written`` here, ``uploaded``, but not started, ``running`` or ``partly done``, and at last
``collected``, ``expired``, ``cancelled`` or ``failed``. ``sent`` is when its start was sent, None before and
when the provider refused; ``remote`` what the provider calls it. ``alone`` is 1 where no other batch of the
model was out when it was sent, and 2 where that was too much even so.
"""

_OUT = """SELECT c.key, b.model FROM batches b JOIN batch_requests r ON r.batch = b.id AND r.outcome IS NULL
    JOIN batch_calls c ON c.batch = r.batch AND c.id = r.id WHERE b.closed IS NULL"""


class StoredBatches:
    """The batches in a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def add(self, facts: Mapping[str, Any], requests: Sequence[Receipt]) -> None:
        """Write a batch with its requests, all or none; a request's id is its call's key."""
        store, names = self._store, [receipt.key.hex() for receipt in requests]

        def write() -> None:
            sql = f"INSERT INTO batches ({', '.join(facts)}) VALUES ({', '.join('?' * len(facts))})"
            number = int(store.db.execute(sql, list(facts.values())).lastrowid or 0)
            store.insert_many(
                "INSERT INTO batch_requests (batch, id, position, messages, seed, terms) VALUES {rows}",
                (
                    (number, name, index, request.messages, request.seed, request.terms)
                    for index, (name, request) in enumerate(zip(names, requests, strict=True))
                ),
            )
            calls = [(number, name, *request.calls[0]) for name, request in zip(names, requests, strict=True)]
            store.insert_many("INSERT INTO batch_calls VALUES {rows}", calls)

        store.write_at_once(write)

    def change(self, batch: Batch, **changes: Any) -> None:
        """Change columns of a batch, here and in the store."""
        sql = f"UPDATE batches SET {', '.join(f'{name} = ?' for name in changes)} WHERE id = ?"
        self._store.write_at_once(lambda: self._store.db.execute(sql, [*changes.values(), batch.id]))
        vars(batch).update(changes)

    def rows(self, *, open_only: bool = True) -> list[Batch]:
        """The batches, oldest first."""
        where = " WHERE closed IS NULL" if open_only else ""
        with self._store.translated():
            rows = self._store.db.execute(f"SELECT * FROM batches{where} ORDER BY id")
            names = [column[0] for column in rows.description]
            return [Batch(**dict(zip(names, row, strict=True))) for row in rows]

    def out(self) -> dict[bytes, str]:
        """The keys of the calls that are out, with their models."""
        return dict(self._store.rows(_OUT))

    def requests(self, batch: Batch) -> Iterator[tuple[str, Request]]:
        """The requests of a batch that are out, by their ids, in the order in which they were written."""
        sql = """SELECT r.id, r.messages, r.seed, r.terms, c.key, c.condition, c.item, c.repeat, c.parent
            FROM batch_requests r JOIN batch_calls c ON c.batch = r.batch AND c.id = r.id
            WHERE r.batch = ? AND r.outcome IS NULL ORDER BY r.position"""
        kept = self._store.path.with_name("media.db")
        for name, messages, seed, terms, *call in self._store.rows(sql, (batch.id,)):
            said = tuple(Message(*message) for message in json.loads(messages))
            media = [noted_medium(content, kept) for role, content in said if role == "media"]
            prompt = Prompt(said, "", "", tuple(media))
            decoding, choices, schema = decoding_of(terms)
            yield name, Request(batch.model, prompt, decoding, choices, seed, (Call(*call),), schema)

    def outcomes(self, batch: Batch) -> dict[str, str | None]:
        """The outcomes of all requests of a batch by id, in the order in which they were written."""
        sql = "SELECT id, outcome FROM batch_requests WHERE batch = ? ORDER BY position"
        return dict(self._store.rows(sql, (batch.id,)))

    def tries(self, name: str) -> int:
        """How often a request came back from a batch unanswered."""
        return int(
            self._store.value(
                "SELECT count(*) FROM batch_requests WHERE outcome = 'tried' AND id = ?", (name,)
            )
        )

    def settle(self, batch: Batch, answered: Sequence[Receipt], outcomes: Mapping[str, str]) -> None:
        """Write answers of a batch together with the outcomes of its requests, all or none."""
        placed = batch.study is not None and self._store.noted("study") == batch.study

        def write(receipts: Sequence[Receipt]) -> None:
            self._store.insert(receipts, placed=placed)
            sql = "UPDATE batch_requests SET outcome = ? WHERE batch = ? AND id = ?"
            self._store.db.executemany(sql, [(outcome, batch.id, name) for name, outcome in outcomes.items()])

        self._store.write_fitting(answered, write)

    def close(self, batch: Batch, state: str, note: str | None) -> None:
        """Close a batch: requests that are still out were not answered, and may be asked again."""

        def write() -> None:
            sql = """UPDATE batch_requests SET outcome = ifnull(outcome, 'waited'), messages = ''
                WHERE batch = ?"""
            self._store.db.execute(sql, (batch.id,))
            sql = "UPDATE batches SET state = ?, note = ?, closed = ? WHERE id = ?"
            self._store.db.execute(sql, (state, note, time.time(), batch.id))

        self._store.write_at_once(write)
        vars(batch).update(state=state, note=note)
