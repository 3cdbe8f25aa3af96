"""Batches in the store: what is out at a provider, and what came of each request."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quaver.collect.store.response_store import Store
from quaver.collect.store.response_tables import BATCH_COLUMNS
from quaver.collect.store.spill import Receipt
from quaver.core.batch import BatchState
from quaver.core.records import Call, Message, Prompt, Request
from quaver.core.variant_display import decoding_of

_BATCHES = f"SELECT id, {BATCH_COLUMNS} FROM batches"


@dataclass(frozen=True, slots=True)
class BatchRow:
    """A batch as the store has it; times in seconds since 1970.

    Attributes:
        id: Its number in the store.
        name: Its name at the provider, found again by it.
        model: The model's name in the study.
        source: The number under which its answers are written.
        service: The provider's protocol.
        state: Where it stands.
        study: The fingerprint of the study for which it was written.
        calls: Its calls.
        requests: Its requests.
        expected_prompt: Prompt tokens that it is expected to take.
        expected_completion: Completion tokens that it is expected to take.
        written: When it was written.
        uploading: When its upload began; None before.
        upload: What the provider calls its lines.
        sent: When its start was sent; None before, and when the provider refused.
        remote: What the provider calls the batch.
        expires: When the provider gives up.
        done: Requests that the provider says are answered.
        refused: Requests that it says ended with an error.
        looked: When it was last looked at.
        closed: When its last request was settled; None while it is open.
        incomplete: How often its results were there but not all of them.
        alone: Whether no other batch of the model was open when it was sent.
        cancelling: Whether you asked for it to be cancelled.
        others: Batches at the provider that turned out to be others, as JSON.
        note: What the provider said of it last.
    """

    id: int
    name: str
    model: str
    source: int
    service: str
    state: BatchState
    study: str | None
    calls: int
    requests: int
    expected_prompt: float
    expected_completion: float
    written: float
    uploading: float | None
    upload: str | None
    sent: float | None
    remote: str | None
    expires: float | None
    done: int
    refused: int
    looked: float | None
    closed: float | None
    incomplete: int
    alone: int
    cancelling: int
    others: str | None
    note: str | None

    @property
    def not_its_own(self) -> list[str]:
        """Batches at the provider that turned out to be others."""
        return list(json.loads(self.others or "[]"))


class StoredBatches:
    """The batches in a store.

    Args:
        store: Where they are.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def add(self, facts: Mapping[str, Any], requests: Sequence[tuple[str, Receipt]]) -> int:
        """Write a batch with its requests, all or none; returns its number."""
        number = 0

        def write() -> None:
            nonlocal number
            names = ", ".join(facts)
            sql = f"INSERT INTO batches ({names}) VALUES ({', '.join('?' * len(facts))})"
            number = int(self._store.db.execute(sql, list(facts.values())).lastrowid or 0)
            self._store.insert_many(
                "INSERT INTO batch_requests (batch, id, position, messages, seed, terms) VALUES {rows}",
                (
                    (number, name, index, receipt.messages, receipt.seed, receipt.terms)
                    for index, (name, receipt) in enumerate(requests)
                ),
            )
            self._store.insert_many(
                "INSERT INTO batch_calls VALUES {rows}",
                ((number, name, *call) for name, receipt in requests for call in receipt.calls),
            )

        self._store.write_at_once(write)
        return number

    def change(self, number: int, **changes: Any) -> None:
        """Change columns of a batch."""
        sql = f"UPDATE batches SET {', '.join(f'{name} = ?' for name in changes)} WHERE id = ?"
        self._store.write_at_once(lambda: self._store.db.execute(sql, [*changes.values(), number]))

    def rows(self, *, open_only: bool = True) -> list[BatchRow]:
        """The batches, oldest first."""
        where = " WHERE closed IS NULL" if open_only else ""
        return [BatchRow(*row) for row in self._store.rows(f"{_BATCHES}{where} ORDER BY id")]

    def row(self, number: int) -> BatchRow:
        """One batch."""
        return BatchRow(*self._store.rows(f"{_BATCHES} WHERE id = ?", (number,))[0])

    def keys_out(self) -> set[bytes]:
        """The keys of the calls that are out in batches."""
        sql = """SELECT c.key FROM batches b JOIN batch_requests r ON r.batch = b.id AND r.outcome IS NULL
            JOIN batch_calls c ON c.batch = r.batch AND c.id = r.id WHERE b.closed IS NULL"""
        return {key for (key,) in self._store.rows(sql)}

    def calls_out(self) -> dict[str, int]:
        """How many calls are out in batches, by model."""
        sql = """SELECT b.model, count(*) FROM batches b
            JOIN batch_requests r ON r.batch = b.id AND r.outcome IS NULL
            JOIN batch_calls c ON c.batch = r.batch AND c.id = r.id WHERE b.closed IS NULL GROUP BY b.model"""
        return dict(self._store.rows(sql))

    def requests(self, row: BatchRow) -> Iterator[tuple[str, Request]]:
        """The requests of a batch that are out, by their ids, in the order in which they were written."""
        calls: dict[str, list[Call]] = {}
        sql = (
            "SELECT id, key, condition, item, repeat, parent FROM batch_calls WHERE batch = ? ORDER BY rowid"
        )
        for name, *call in self._store.rows(sql, (row.id,)):
            calls.setdefault(name, []).append(Call(*call))
        sql = """SELECT id, messages, seed, terms FROM batch_requests
            WHERE batch = ? AND outcome IS NULL ORDER BY position"""
        for name, messages, seed, terms in self._store.rows(sql, (row.id,)):
            prompt = Prompt(tuple(Message(*one) for one in json.loads(messages)), "", "")
            decoding, choices, schema = decoding_of(terms)
            yield name, Request(row.model, prompt, decoding, choices, seed, tuple(calls[name]), schema)

    def outcomes(self, row: BatchRow) -> dict[str, str | None]:
        """The outcomes of all requests of a batch by id, in the order in which they were written."""
        sql = "SELECT id, outcome FROM batch_requests WHERE batch = ? ORDER BY position"
        return dict(self._store.rows(sql, (row.id,)))

    def tries(self, keys: Sequence[bytes]) -> dict[bytes, int]:
        """How often each of some calls came back from a batch unanswered, where it did."""
        sql = f"""SELECT c.key, count(*) FROM batch_calls c JOIN batch_requests r ON r.batch = c.batch
            AND r.id = c.id AND r.outcome = 'tried'
            WHERE c.key IN ({",".join("?" * len(keys))}) GROUP BY 1"""
        return dict(self._store.rows(sql, keys))

    def settle(self, row: BatchRow, answered: Sequence[Receipt], outcomes: Mapping[str, str]) -> None:
        """Write answers of a batch together with the outcomes of its requests, all or none."""
        placed = row.study is not None and self._store.noted("study") == row.study

        def write(receipts: Sequence[Receipt]) -> None:
            self._store.insert(receipts, placed=placed)
            sql = "UPDATE batch_requests SET outcome = ? WHERE batch = ? AND id = ?"
            self._store.db.executemany(sql, [(outcome, row.id, name) for name, outcome in outcomes.items()])

        self._store.write_fitting(answered, write)

    def close(self, row: BatchRow, state: BatchState, note: str | None) -> None:
        """Close a batch: requests that are still out were not answered, and may be asked again."""

        def write() -> None:
            sql = "UPDATE batch_requests SET outcome = 'waited' WHERE batch = ? AND outcome IS NULL"
            self._store.db.execute(sql, (row.id,))
            self._store.db.execute("UPDATE batch_requests SET messages = '' WHERE batch = ?", (row.id,))
            sql = "UPDATE batches SET state = ?, note = ?, closed = ? WHERE id = ?"
            self._store.db.execute(sql, (state, note, time.time(), row.id))

        self._store.write_at_once(write)
