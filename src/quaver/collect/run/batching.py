"""A study's batches: collect what is ready, hand over what is left, and come back later.

A run visits every open batch, then writes and sends what no batch has yet. It need not wait: whatever it
leaves is in the store, and the next run goes on from there, on any machine that has the study's folder.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final

from quaver._secrets import Keys, without_keys
from quaver.collect.run.feed import Feed
from quaver.collect.run.journal import Journal
from quaver.collect.run.progress import Budget
from quaver.collect.store.batch_rows import Batch, StoredBatches
from quaver.collect.store.response_store import Store
from quaver.collect.store.spill import Receipt, receipt, receipts
from quaver.core.batch import BatchService, Gone, Look, NotNow, Unanswered
from quaver.core.calls import Request, Response
from quaver.core.meter import NO_TRAFFIC
from quaver.core.model import Answered
from quaver.core.response_validation import error_response, printable, valid_response
from quaver.errors import ModelError

FIRST_PAUSE, LONGEST_PAUSE = 15.0, 300.0
"""Seconds between two visits while a run waits: at first, and at most."""

_SETTLES, _CLOCKS_DIFFER = 90.0, 600.0
"""Seconds after which a start whose reply was lost has either arrived or will not any more, and by which a
provider's clock may be behind."""

_MOST_TRIES: Final = 3
"""Batches in which a call may fail before its failure becomes its answer."""

_MOST_INCOMPLETE, _GROUP = 20, 500
"""How often the results of a batch may be incomplete before the rest is given up; requests that are written
together."""

_UNSENT, _NOTHING = "cancelled before it was sent", Response("")


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
    def waiting(self) -> bool:
        """Whether there is a batch whose end is worth waiting for."""
        return any(
            batch.model not in self.failures and self._service(batch) is not None
            for batch in self._batches.rows()
        )

    def visit(self) -> None:
        """Take every open batch as far as it goes: find it, send it, collect it."""
        self.held.clear()
        for batch in self._batches.rows():
            self._guarded(batch, self._advance)

    def write(
        self, requests: Mapping[str, Iterator[Request]], sources: Mapping[str, int], budget: Budget
    ) -> None:
        """Write what no batch has yet, and send it."""
        for model, left in requests.items():
            if model in self.failures or model in self.held:
                continue
            known = {batch.id for batch in self._batches.rows()}
            self._write(model, sources[model], left, budget)
            for batch in [batch for batch in self._batches.rows() if batch.id not in known]:
                self._say(batch)
                if model not in self.held:
                    self._guarded(batch, self._advance)

    def cancel(self) -> None:
        """Ask the providers to end every open batch, and forget those that never started."""
        for batch in self._batches.rows():
            self._batches.change(batch, cancelling=1)
            if self._service(batch) is None or (batch.remote is None and batch.sent is None):
                self._close(batch, "cancelled", _UNSENT)
            elif batch.remote is not None:
                self._guarded(batch, lambda batch, service: service.cancel(batch.remote))

    # ------------------------------------------------------------------ write

    def _write(self, model: str, source: int, requests: Iterable[Request], budget: Budget) -> None:
        """Write requests as batches, one an endpoint at a time, until the budget has no more room."""
        service, filling = self._services[model], dict[str, list[Receipt]]()
        size, expected = dict[str, int](), dict[str, tuple[float, float]]()
        # Half of a batch that was too large to be queued or to be answered.
        sql = "SELECT min(requests) FROM batches WHERE model = ? AND closed IS NOT NULL AND alone = 2"
        smallest = self._store.value(sql, (model,))
        most = service.most_requests if smallest is None else max(1, int(smallest) // 2)

        def add(kind: str) -> None:
            self._add(model, source, service.kind, filling.pop(kind), expected.pop(kind))
            size.pop(kind)

        for request in Feed(budget, requests):
            budget.commit(request)
            for part in (request.part((call,)) for call in request.calls):
                kind, line = service.endpoint(part), service.line(part.calls[0].key.hex(), part)
                is_full = len(filling.get(kind, ())) >= most
                if is_full or size.get(kind, 0) + len(line) + 1 > service.most_bytes:
                    add(kind)
                filling.setdefault(kind, []).append(receipt((part, [_NOTHING]), source))
                size[kind] = size.get(kind, 0) + len(line) + 1
                read, written = expected.get(kind, (0.0, 0.0))
                more = budget.expected(part)
                expected[kind] = read + more[0], written + more[1]
        for kind in list(filling):
            add(kind)

    def _add(
        self,
        model: str,
        source: int,
        kind: str,
        requests: Sequence[Receipt],
        expected: tuple[float, float],
    ) -> None:
        now, number = time.time(), len(self._batches.rows(open_only=False))
        unique = blake2b(requests[0].key + f"{now!r} {number}".encode(), digest_size=12).hexdigest()
        facts: dict[str, Any] = {
            "name": f"quaver-{unique}",
            "model": model,
            "source": source,
            "service": kind,
            "state": "written",
            "study": self._store.noted("study"),
            **dict.fromkeys(("calls", "requests"), len(requests)),
            "expected_prompt": expected[0],
            "expected_completion": expected[1],
            "written": now,
            **dict.fromkeys(("done", "refused", "incomplete", "alone", "cancelling"), 0),
        }
        self._batches.add(facts, requests)

    # ------------------------------------------------------------------ find, send, collect

    def _advance(self, batch: Batch, service: BatchService) -> None:
        if batch.remote is None and batch.sent is not None:
            self._find(batch, service)
        if batch.remote is None and batch.sent is None:
            if batch.cancelling:
                self._close(batch, "cancelled", _UNSENT)
            elif batch.model not in self.held:
                self._send(batch, service)
                self._say(batch)
        if batch.remote is not None:
            self._collect(batch, service)

    def _send(self, batch: Batch, service: BatchService) -> None:
        """Take the steps that are left until a batch runs; the start is noted before it is sent."""

        def lines() -> Iterator[bytes]:
            return (service.line(name, request) + b"\n" for name, request in self._batches.requests(batch))

        if batch.upload is None:
            self._batches.change(batch, upload=service.upload(batch.name, lines), state="uploaded")
        alone = not any(other.model == batch.model and other.sent for other in self._batches.rows())
        self._batches.change(batch, sent=time.time(), alone=int(alone))
        try:
            remote = service.start(batch.name, batch.upload, lines)
        except Gone as gone:  # the uploaded lines have expired
            self._batches.change(batch, sent=None, upload=None, state="written")
            raise NotNow(str(gone)) from None
        except NotNow as fault:
            if not fault.unsure:
                refused = batch.refused + int(fault.limited and alone)
                self._batches.change(batch, sent=None, refused=refused)
            if batch.refused > 1 and batch.requests > 1:
                # Twice too much although nothing else is queued: its requests go into smaller ones.
                self._batches.change(batch, alone=2)
                self._batches.close(batch, "failed", fault.reason)
            raise
        except Exception:
            self._batches.change(batch, sent=None)
            raise
        self._batches.change(batch, remote=remote, state="running", note=None, refused=0)

    def _find(self, batch: Batch, service: BatchService) -> None:
        """Look for a batch whose start was not answered; it may be sent again if it did not arrive."""
        known = {batch.remote for batch in self._batches.rows(open_only=False) if batch.remote}
        started = service.started(batch.name, batch.sent - _CLOCKS_DIFFER, batch.requests, known)
        if started:
            self._batches.change(batch, remote=started[0], state="running", note=None, refused=0)
        elif time.time() >= batch.sent + _SETTLES:
            self._batches.change(batch, sent=None)

    def _collect(self, batch: Batch, service: BatchService) -> None:
        """Look at a batch, and store its answers if it has ended."""
        look, before = service.look(batch.remote), batch.state
        ended = look.state != "running"
        state = before if ended else "partly done" if look.done + look.refused else "running"
        facts = {"done": look.done, "refused": look.refused, "expires": look.expires, "state": state}
        self._batches.change(batch, looked=time.time(), **facts)
        if ended:
            self._settle(batch, service, look)
        elif state != before:
            self._say(batch)

    def _settle(self, batch: Batch, service: BatchService, look: Look) -> None:
        results = _Results(self._store, service, batch, self._stored)
        results.take(look)
        if results.fatal is not None:
            self.failures[batch.model] = results.fatal
        foreign = f"{results.foreign:,} results belonged to no request of this batch"
        words = "; ".join(filter(None, [look.words, foreign * bool(results.foreign)]))
        self._close(batch, look.state, without_keys(printable(words))[:500] or None)
        # A smaller one may be answered in time, or be taken.
        expired = look.state == "expired" and not look.done
        if batch.requests > 1 and (expired or (look.queue and batch.alone)):
            self._batches.change(batch, alone=2)
        elif look.queue:
            self.held[batch.model] = look.words or "the provider's queue is full"

    # ------------------------------------------------------------------ one batch

    def _close(self, batch: Batch, state: str, note: str | None) -> None:
        self._batches.close(batch, state, note)
        self._say(batch)

    def _say(self, batch: Batch) -> None:
        note = f": {batch.note}" if batch.note else ""
        self._journal.line(f"batch {batch.name} of {batch.model}, {batch.calls:,} calls: {batch.state}{note}")

    def _guarded(self, batch: Batch, step: Callable[[Batch, BatchService], None]) -> None:
        """Take a step; what goes wrong is of this model alone."""
        service = self._service(batch)
        if service is None or batch.model in self.failures:
            return
        try:
            step(batch, service)
        except NotNow as fault:
            self.held[batch.model] = fault.reason
            self._batches.change(batch, note=fault.reason)
        except Gone as gone:
            if batch.cancelling:
                self._close(batch, "cancelled", f"the provider no longer knows it: {gone}")
            else:
                self._fail(batch, _unknown(batch, str(gone)))
        except ModelError as error:
            self._fail(batch, error)

    def _fail(self, batch: Batch, error: ModelError) -> None:
        self.failures[batch.model] = error
        self._batches.change(batch, note=str(error.problem))

    def _service(self, batch: Batch) -> BatchService | None:
        """Who has a batch; None if the study's model of this name is another one now."""
        service = self._services.get(batch.model)
        sent_to = self._store.value("SELECT identity FROM sources WHERE id = ?", (batch.source,))
        is_same = sent_to is not None and sent_to == self._identities.get(batch.model)
        return service if is_same and service is not None and service.kind == batch.service else None


class _Results:
    """Settles the requests of a batch that has ended.

    Attributes:
        foreign: Results that belong to no request of the batch.
        fatal: The error that no other batch of this model would escape.
    """

    def __init__(
        self, store: Store, service: BatchService, batch: Batch, stored: Callable[[Sequence[Answered]], None]
    ) -> None:
        self._store, self._service, self._batch, self._stored = store, service, batch, stored
        self._batches, self._keys = StoredBatches(store), Keys()
        self._answered: list[Answered] = []
        self._outcomes: dict[str, str] = {}
        self.foreign = 0
        self.fatal: ModelError | None = None

    def take(self, look: Look) -> None:
        """Store what there is.

        Raises:
            NotNow: Results are missing that the provider says are there.
            Gone: The results are those of another batch.
        """
        batch, every = self._batch, self._batches.outcomes(self._batch)
        out, seen, executed = dict(self._batches.requests(batch)), set[str](), 0
        for name, came in self._service.results(batch.remote, look):
            self.foreign += name not in every
            if name not in every or name in seen:
                continue  # nobody asked for it, or it is there twice
            seen.add(name)
            executed += self._read(name, out.pop(name), came) if name in out else every[name] != "waited"
            if len(self._outcomes) >= _GROUP:
                self._write()
        self._write()
        if self.foreign and not seen:
            raise Gone("another batch was mistaken for it")
        there = look.done + look.refused
        if out and executed < there and batch.incomplete < _MOST_INCOMPLETE:
            self._batches.change(batch, incomplete=batch.incomplete + 1)
            raise NotNow(f"{executed:,} of {there:,} results are there")
        self.fatal = self.fatal or look.fatal
        if look.state == "failed":
            self._refused(look, out, list(every))
        elif look.state == "collected":
            for name, request in out.items():
                self._try_again(name, request, Unanswered("the batch has no result for it"))
        self._write()

    def _read(self, name: str, request: Request, came: Any) -> bool:
        """Settle one request by what came back; whether the provider executed it."""
        responses = self._service.read(request, came)
        if not isinstance(responses, Unanswered):
            self._answer(name, request, valid_response(responses[0]))
            return True
        self.fatal = self.fatal or responses.fatal
        if responses.traffic != NO_TRAFFIC:
            self._store.add_traffic(self._batch.source, responses.traffic)
        self._try_again(name, request, responses)
        return responses.counts or responses.fatal is not None

    def _answer(self, name: str, request: Request, response: Response) -> None:
        self._answered.append((request, [response]))
        self._outcomes[name] = "answered"

    def _try_again(self, name: str, request: Request, unanswered: Unanswered) -> None:
        """Leave a request to the next batch, unless it has failed too often."""
        if unanswered.counts and 1 + self._batches.tries(name) >= _MOST_TRIES:
            why = f"no answer in {_MOST_TRIES} batches: {printable(unanswered.reason)}"
            self._answer(name, request, error_response(why))
        else:
            self._outcomes[name] = "tried" if unanswered.counts else "waited"

    def _refused(self, look: Look, out: Mapping[str, Request], names: Sequence[str]) -> None:
        """A batch was not accepted: the lines at fault have errors, the others go into the next."""
        refused = {names[line - 1]: why for line, why in look.lines.items() if 0 < line <= len(names)}
        for name in refused.keys() & out.keys():
            why = printable(f"the batch refused it: {refused[name]}")
            self._answer(name, out[name], error_response(why))
        if not (look.queue or self.fatal or refused):
            self.fatal = ModelError(
                "the provider did not accept a batch",
                where=self._batch.name,
                found=look.words or "no reason was given",
                fix="nothing was asked and nothing was paid; correct the model's options and run again",
            )

    def _write(self) -> None:
        if self._outcomes:
            made = receipts(self._answered, self._batch.source, self._keys)
            self._batches.settle(self._batch, made, self._outcomes)
        if self._answered:
            self._stored(self._answered)
        self._answered, self._outcomes = [], {}


def _unknown(batch: Batch, reason: str) -> ModelError:
    return ModelError(
        "the provider does not know a batch that was sent to it",
        where=f"{batch.model}, batch {batch.remote}",
        found=reason,
        fix="set the key of the account that sent it; if the batch is gone for good, "
        "`quaver run STUDY --cancel-batches` gives it up, and its calls are asked (and paid) again",
    )
