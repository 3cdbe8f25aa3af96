"""A study's batches: collect what is ready, hand over what is left, and come back later.

A run visits every open batch, then writes and sends what no batch has yet. It need not wait: whatever it
leaves is in the store, and the next run goes on from there, on any machine that has the study's folder.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from quaver._secrets import without_keys
from quaver.collect.batch.batch_results import BatchResults
from quaver.collect.run.feed import Feed
from quaver.collect.run.journal import Journal
from quaver.collect.run.progress import Budget
from quaver.collect.store.batch_rows import BatchRow, StoredBatches
from quaver.collect.store.response_store import Store
from quaver.collect.store.spill import Receipt, receipt
from quaver.core.batch import BatchService, BatchState, Gone, Look, NotNow
from quaver.core.model import Answered
from quaver.core.records import Request, Response
from quaver.core.response_validation import printable
from quaver.errors import ModelError

FIRST_PAUSE, LONGEST_PAUSE = 15.0, 300.0
"""Seconds between two visits while a run waits: at first, and at most."""

_SETTLES = 90.0
"""Seconds after which a start whose reply was lost has either arrived or will not any more."""

_CLOCKS_DIFFER = 600.0
"""Seconds by which a provider's clock may be behind."""

_CLOSED_AS: Mapping[str, BatchState] = {
    "done": "collected",
    "expired": "expired",
    "cancelled": "cancelled",
    "failed": "failed",
}
_UNSENT = "cancelled before it was sent"
_NOTHING = Response("")


@dataclass(slots=True)
class _Filling:
    """A batch that is being filled."""

    requests: list[tuple[str, Receipt]] = field(default_factory=list)
    size: int = 0
    prompt: float = 0.0
    completion: float = 0.0


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
        return any(row.model not in self.failures and self._service(row) is not None for row in self.open)

    def visit(self) -> None:
        """Take every open batch as far as it goes: find it, send it, collect it."""
        self.held.clear()
        for row in self.open:
            self._guarded(row, self._advance)

    def write(
        self, requests: Mapping[str, Iterator[Request]], sources: Mapping[str, int], budget: Budget
    ) -> None:
        """Write what no batch has yet, and send it."""
        for model, left in requests.items():
            if model in self.failures or model in self.held:
                continue
            for row in self._written(model, sources[model], left, budget):
                self._say(row)
                if model not in self.held:
                    self._guarded(row, self._advance)

    def settle_doubts(self) -> bool:
        """Wait until it is clear which starts arrived whose reply was lost, and start again what did not.

        Returns:
            Whether there were any, so that batches were visited once more.
        """
        doubtful = [row.sent for row in self.open if row.remote is None and row.sent is not None]
        if doubtful:
            time.sleep(max(0.0, max(doubtful) + _SETTLES - time.time()))
            self.visit()
        return bool(doubtful)

    def cancel(self) -> None:
        """Ask the providers to end every open batch, and forget those that never started."""
        for row in self.open:
            self._batches.change(row.id, cancelling=1)
            if self._service(row) is None or (row.remote is None and row.sent is None):
                self._close(row, "cancelled", _UNSENT)
            elif row.remote is not None:
                self._guarded(row, lambda row, service: service.cancel(str(row.remote)))

    # ------------------------------------------------------------------ write

    def _written(
        self, model: str, source: int, requests: Iterable[Request], budget: Budget
    ) -> list[BatchRow]:
        """Write requests as batches, until the budget has no more room."""
        service, fillings, rows = self._services[model], dict[str, _Filling](), list[BatchRow]()
        # Half of a batch that was too large to be queued or to be answered.
        sql = "SELECT min(requests) FROM batches WHERE model = ? AND closed IS NOT NULL AND alone = 2"
        smallest = self._store.value(sql, (model,))
        most = service.limits.requests if smallest is None else max(1, int(smallest) // 2)
        for request in Feed(budget, requests):
            budget.commit(request)
            for part in service.parts(request):
                kind, name = service.kind_of(part), part.calls[0].key.hex()
                size = len(service.line(name, part)) + 1
                one = fillings.setdefault(kind, _Filling())
                is_full = len(one.requests) >= most or one.size + size > service.limits.size
                if one.requests and is_full:
                    rows.append(self._added(model, source, service.kind, one))
                    one = fillings[kind] = _Filling()
                prompt, completion = budget.expected(part)
                one.requests.append((name, receipt((part, [_NOTHING] * len(part.calls)), source)))
                one.size += size
                one.prompt += prompt
                one.completion += completion
        return rows + [self._added(model, source, service.kind, one) for one in fillings.values()]

    def _added(self, model: str, source: int, kind: str, filling: _Filling) -> BatchRow:
        now, number = time.time(), len(self._batches.rows(open_only=False))
        first = filling.requests[0][1].key
        unique = blake2b(first + f"{now!r} {number}".encode(), digest_size=12).hexdigest()
        facts: dict[str, Any] = {
            "name": f"quaver-{unique}",
            "model": model,
            "source": source,
            "service": kind,
            "state": "written",
            "study": self._store.noted("study"),
            "calls": sum(len(one.calls) for _, one in filling.requests),
            "requests": len(filling.requests),
            "expected_prompt": filling.prompt,
            "expected_completion": filling.completion,
            "written": now,
            **dict.fromkeys(("done", "refused", "incomplete", "alone", "cancelling"), 0),
        }
        return self._batches.row(self._batches.add(facts, filling.requests))

    # ------------------------------------------------------------------ find, send, collect

    def _advance(self, row: BatchRow, service: BatchService) -> None:
        if row.remote is None and row.sent is not None:
            row = self._found(row, service)
        if row.remote is None and row.sent is None:
            if row.cancelling:
                self._close(row, "cancelled", _UNSENT)
            elif row.model not in self.held:
                row = self._sent(row, service)
                self._say(row)
        if row.remote is not None:
            self._collect(row, service)

    def _sent(self, row: BatchRow, service: BatchService) -> BatchRow:
        """Take the steps that are left until a batch runs; each is noted before it is taken."""

        def lines() -> Iterator[bytes]:
            return (service.line(name, request) + b"\n" for name, request in self._batches.requests(row))

        if service.uploads and row.upload is None:
            upload = service.uploaded(row.name) if row.uploading is not None else None
            if upload is None:
                self._batches.change(row.id, uploading=time.time())
                upload = service.upload(row.name, lines)
            row = self._changed(row, upload=upload, state="uploaded")
        alone = not any(other.model == row.model and other.sent for other in self.open)
        self._batches.change(row.id, sent=time.time(), alone=int(alone))
        try:
            remote = service.start(row.name, row.upload or "", lines)
        except Gone as gone:  # the uploaded lines have expired
            self._batches.change(row.id, sent=None, upload=None, uploading=None, state="written")
            raise NotNow(str(gone)) from None
        except NotNow as fault:
            if not fault.unsure:
                self._batches.change(row.id, sent=None, refused=row.refused + int(fault.limited and alone))
            if fault.limited and alone and row.refused and row.requests > 1:
                # Twice too much although nothing else is queued: its requests go into smaller ones.
                self._batches.change(row.id, alone=2)
                self._batches.close(row, "failed", fault.reason)
            raise
        except Exception:
            self._batches.change(row.id, sent=None)
            raise
        return self._changed(row, remote=remote, state="running", note=None)

    def _found(self, row: BatchRow, service: BatchService) -> BatchRow:
        """Look for a batch whose start was not answered; it may be sent again if it comes back unsent."""
        known = {one.remote for one in self._batches.rows(open_only=False) if one.remote}
        known |= set(row.not_its_own)
        sent = row.sent or 0.0
        found = service.started(row.name, row.upload or "", sent - _CLOCKS_DIFFER, row.requests, known)
        if found:
            for other in found[1:] if service.is_named else ():  # nobody should pay for it twice
                service.cancel(other)
            return self._changed(row, remote=found[0], state="running", note=None)
        return self._changed(row, sent=None) if time.time() >= sent + _SETTLES else row

    def _collect(self, row: BatchRow, service: BatchService) -> None:
        """Look at a batch, and store its answers if it has ended."""
        look = service.look(str(row.remote))
        ended = look.state != "running"
        state = row.state if ended else "partly done" if look.done + look.refused else "running"
        facts = {"done": look.done, "refused": look.refused, "expires": look.expires, "state": state}
        before, row = row, self._changed(row, looked=time.time(), **facts)
        if ended:
            self._settle(row, service, look)
        elif row.state != before.state:
            self._say(row)

    def _settle(self, row: BatchRow, service: BatchService, look: Look) -> None:
        results = BatchResults(self._store, service, row, self._stored)
        how = results.settle(look)
        if results.fatal is not None:
            self.failures[row.model] = results.fatal
        if how == "another":  # it was taken for this one, which has to be looked for again
            others = json.dumps([*row.not_its_own, row.remote])
            self._changed(row, remote=None, others=others, state="written", done=0, refused=0)
        if how != "over":
            return
        parts = [problem.message for problem in look.problems[:3]]
        parts += [f"{results.foreign:,} results belonged to no request of this batch"] * bool(results.foreign)
        self._close(row, _CLOSED_AS[look.state], without_keys(printable("; ".join(parts)))[:500] or None)
        # A smaller one may be answered in time, or be taken.
        expired = look.state == "expired" and not look.done
        if row.requests > 1 and (expired or (results.queue and row.alone)):
            self._batches.change(row.id, alone=2)
        elif results.queue:
            self.held[row.model] = parts[0] if parts else "the provider's queue is full"

    # ------------------------------------------------------------------ one batch

    def _changed(self, row: BatchRow, **changes: Any) -> BatchRow:
        self._batches.change(row.id, **changes)
        return self._batches.row(row.id)

    def _close(self, row: BatchRow, state: BatchState, note: str | None) -> None:
        self._batches.close(row, state, note)
        self._say(self._batches.row(row.id))

    def _say(self, row: BatchRow) -> None:
        note = f": {row.note}" if row.note else ""
        self._journal.line(f"batch {row.name} of {row.model}, {row.calls:,} calls: {row.state}{note}")

    def _guarded(self, row: BatchRow, step: Callable[[BatchRow, BatchService], None]) -> None:
        """Take a step; what goes wrong is of this model alone."""
        service = self._service(row)
        if service is None or row.model in self.failures:
            return
        try:
            step(row, service)
        except NotNow as fault:
            self.held[row.model] = fault.reason
            self._batches.change(row.id, note=fault.reason)
        except Gone as gone:
            if row.cancelling or self._batches.row(row.id).cancelling:
                self._close(row, "cancelled", f"the provider does not know it any more: {gone}")
            else:
                self._fail(row, _unknown(row, str(gone)))
        except ModelError as error:
            self._fail(row, error)

    def _fail(self, row: BatchRow, error: ModelError) -> None:
        self.failures[row.model] = error
        self._batches.change(row.id, note=str(error.problem))

    def _service(self, row: BatchRow) -> BatchService | None:
        """Who has a batch; None if the study's model of this name is another one now."""
        service = self._services.get(row.model)
        if service is None or service.kind != row.service:
            return None
        sent_to = self._store.value("SELECT identity FROM sources WHERE id = ?", (row.source,))
        return service if sent_to is not None and sent_to == self._identities.get(row.model) else None


def _unknown(row: BatchRow, reason: str) -> ModelError:
    return ModelError(
        "the provider does not know a batch that was sent to it",
        where=f"{row.model}, batch {row.remote}",
        found=reason,
        fix="set the key of the account that sent it; if the batch is gone for good, "
        "`quaver run --cancel-batches` gives it up, and its calls are asked (and paid) again",
    )
