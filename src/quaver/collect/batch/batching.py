"""A study's batches: collect what is ready, hand over what is left, and come back later.

A run visits every open batch, then writes and sends what no batch has yet. It need not wait: whatever it
leaves is in the store, and the next run goes on from there, on any machine that has the study's folder.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from quaver.collect.batch.batch_collecting import SETTLES, BatchCollector, BatchSender, BatchWriter, Taken
from quaver.collect.run.journal import Journal
from quaver.collect.run.progress import Budget
from quaver.collect.store.batch_rows import BatchRow, StoredBatches
from quaver.collect.store.response_store import Store
from quaver.core.batch import BatchService, Gone, NotNow
from quaver.core.model import Answered
from quaver.core.records import Request
from quaver.errors import ModelError

FIRST_PAUSE, LONGEST_PAUSE = 15.0, 300.0
"""Seconds between two visits while a run waits: at first, and at most."""


class Batching:
    """The batches of a study, open and new.

    Args:
        store: Knows what is out.
        services: By model, who takes its batches.
        identities: By model, what it serves: a batch that was sent to another is left alone.
        stored: Called with each group of answers that was stored.
        journal: Records what happens.

    Attributes:
        failures: Models whose provider takes no more, with the reason.
        held: Models whose provider takes no more for now, with the reason.
    """

    def __init__(
        self,
        store: Store,
        services: Mapping[str, BatchService],
        identities: Mapping[str, str],
        stored: Callable[[Sequence[Answered]], None],
        journal: Journal,
    ) -> None:
        self._store, self._batches = store, StoredBatches(store)
        self._services, self._identities = services, identities
        self._stored, self._journal = stored, journal
        self.failures: dict[str, ModelError] = {}
        self.held: dict[str, str] = {}

    @property
    def open(self) -> list[BatchRow]:
        """The batches that are not over."""
        return self._batches.rows()

    @property
    def waiting(self) -> bool:
        """Whether there is a batch whose end is worth waiting for."""
        return any(
            row.model not in self.failures and row.service != "file" and self._service(row) is not None
            for row in self.open
        )

    def visit(self) -> None:
        """Take every open batch as far as it goes: find it, send it, collect it."""
        self.held.clear()
        for row in self.open:
            service = self._service(row)
            if service is not None and row.model not in self.failures:
                self._guarded(row, service, self._advance)

    def write(
        self,
        requests: Mapping[str, Iterator[Request]],
        sources: Mapping[str, int],
        budget: Budget,
    ) -> None:
        """Write what no batch has yet, and send it."""
        for model, left in requests.items():
            service = self._services[model]
            if model in self.failures or model in self.held:
                continue
            writer = BatchWriter(self._store, model, sources[model], service, budget, self._most(model))
            for row in writer.write(left):
                self._say(row)
                if model not in self.held and model not in self.failures:
                    self._guarded(row, service, self._advance)

    def settle_doubts(self) -> bool:
        """Wait until it is clear which starts arrived whose reply was lost, and start again what did not.

        Returns:
            Whether there were any, so that batches were visited once more.
        """
        doubtful = [row.sent for row in self.open if row.remote is None and row.sent is not None]
        if doubtful:
            time.sleep(max(0.0, max(doubtful) + SETTLES - time.time()))
            self.visit()
        return bool(doubtful)

    def wait(self, pause: float) -> float:
        """Wait before the next visit; returns the pause after that."""
        time.sleep(pause)
        return min(LONGEST_PAUSE, pause * 1.5)

    def cancel(self) -> None:
        """Ask the providers to end every open batch, and forget those that never started."""
        for row in self.open:
            self._batches.change(row.id, cancelling=1)
            service = self._service(row)
            if service is None or (row.remote is None and row.sent is None):
                self._close(row, "cancelled", "cancelled before it was sent")
            elif row.remote is not None:
                self._guarded(row, service, self._cancelled)

    # ------------------------------------------------------------------ one batch

    def _advance(self, row: BatchRow, service: BatchService) -> None:
        sender = BatchSender(self._store, service)
        if row.remote is None and row.sent is not None:
            row = sender.find(row)
        if row.remote is None and row.sent is None:
            if row.cancelling:
                self._close(row, "cancelled", "cancelled before it was sent")
            elif row.model not in self.held:
                row = sender.send(row)
                self._say(row)
        if row.remote is not None:
            self._collect(row, service)

    def _collect(self, row: BatchRow, service: BatchService) -> None:
        try:
            taken = BatchCollector(self._store, service, self._stored).collect(row)
        except Gone as gone:
            if not row.cancelling:
                raise _unknown(row, str(gone)) from None
            self._close(row, "cancelled", f"the provider does not know it any more: {gone}")
            return
        self._note(row, taken)

    def _cancelled(self, row: BatchRow, service: BatchService) -> None:
        try:
            service.cancel(str(row.remote))
        except Gone as gone:
            self._close(row, "cancelled", f"the provider does not know it any more: {gone}")

    def _note(self, row: BatchRow, taken: Taken) -> None:
        now = self._batches.row(row.id)
        if now.state != row.state or taken.closed:
            self._say(now)
        if now.state == "expired" and taken.closed and not now.done and row.requests > 1:
            self._batches.change(row.id, alone=2)
        if taken.queue:
            if row.alone and row.requests > 1:
                self._batches.change(row.id, alone=2)  # a smaller one may be taken
            else:
                self.held[row.model] = now.note or "the provider's queue is full"
        if taken.fatal is not None:
            self.failures[row.model] = taken.fatal

    def _close(self, row: BatchRow, state: str, note: str) -> None:
        self._batches.close(row, state, note)  # type: ignore[arg-type]
        self._say(self._batches.row(row.id))

    def _say(self, row: BatchRow) -> None:
        note = f": {row.note}" if row.note else ""
        self._journal.line(f"batch {row.name} of {row.model}, {row.calls:,} calls: {row.state}{note}")

    def _guarded(
        self, row: BatchRow, service: BatchService, step: Callable[[BatchRow, BatchService], None]
    ) -> None:
        try:
            step(row, service)
        except NotNow as fault:
            self.held[row.model] = fault.reason
            self._batches.change(row.id, note=fault.reason)
        except ModelError as error:
            self.failures[row.model] = error
            self._batches.change(row.id, note=str(error.problem))

    def _service(self, row: BatchRow) -> BatchService | None:
        """Who has a batch; None if the study's model of this name is another one now."""
        service = self._services.get(row.model)
        if service is None or service.kind != row.service:
            return None
        sent_to = self._store.rows("SELECT identity FROM sources WHERE id = ?", (row.source,))
        return service if sent_to and sent_to[0][0] == self._identities.get(row.model) else None

    def _most(self, model: str) -> int | None:
        """The most requests in a batch: half of one that was too large to be queued or to be answered."""
        sql = "SELECT min(requests) FROM batches WHERE model = ? AND closed IS NOT NULL AND alone = 2"
        smallest = self._store.rows(sql, (model,))[0][0]
        return None if smallest is None else max(1, int(smallest) // 2)


def _unknown(row: BatchRow, reason: str) -> ModelError:
    return ModelError(
        "the provider does not know a batch that was sent to it",
        where=f"{row.model}, batch {row.remote}",
        found=reason,
        fix="set the key of the account that sent it; if the batch is gone for good, "
        "`quaver run --cancel-batches` gives it up, and its calls are asked (and paid) again",
    )
