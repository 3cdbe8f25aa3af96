"""The results of a batch become stored answers; what has no answer goes into the next batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from quaver._secrets import Keys
from quaver.collect.store.batch_rows import BatchRow, StoredBatches
from quaver.collect.store.response_store import Store
from quaver.collect.store.spill import receipts
from quaver.core.batch import BatchService, Look, Unanswered
from quaver.core.meter import NO_TRAFFIC
from quaver.core.model import Answered
from quaver.core.records import Request
from quaver.core.response_validation import error_response, printable, valid_response
from quaver.errors import ModelError

_GROUP = 500
"""Requests that are written together."""

MOST_TRIES: Final = 3
"""Batches in which a call may fail before its failure becomes its answer."""

_MOST_INCOMPLETE = 20
"""How often the results of a batch may be incomplete before the rest is given up."""


class BatchResults:
    """Settles the requests of a batch that has ended.

    Args:
        store: Where answers go.
        service: Speaks to the provider.
        row: The batch.
        stored: Called with each group of answers that was stored.

    Attributes:
        foreign: Results that belong to no request of the batch.
        queue: Whether the provider's queue is full.
        fatal: The error that no other batch of this model would escape.
    """

    def __init__(
        self, store: Store, service: BatchService, row: BatchRow, stored: Callable[[Sequence[Answered]], None]
    ) -> None:
        self._store, self._service, self._row, self._stored = store, service, row, stored
        self._batches, self._keys = StoredBatches(store), Keys()
        self._answered: list[Answered] = []
        self._outcomes: dict[str, str] = {}
        self.foreign, self.queue = 0, False
        self.fatal: ModelError | None = None

    def settle(self, look: Look) -> str:
        """Store what there is; whether the batch is then ``over``, ``incomplete``, or ``another``'s."""
        row, service = self._row, self._service
        every, out = self._batches.outcomes(row), dict(self._batches.requests(row))
        seen: set[str] = set()
        executed = 0
        for name, came in service.results(str(row.remote), look):
            self.foreign += name not in every
            if name not in every or name in seen:
                continue  # nobody asked for it, or it is there twice
            seen.add(name)
            executed += self._read(name, out.pop(name), came) if name in out else every[name] != "waited"
            if len(self._outcomes) >= _GROUP:
                self._write()
        if self.foreign and not seen and not service.is_named:
            return "another"
        self._write()
        there = look.done + look.refused
        if out and executed < there and row.incomplete < _MOST_INCOMPLETE:
            note = f"{executed:,} of {there:,} results are there"
            self._batches.change(row.id, incomplete=row.incomplete + 1, note=note)
            return "incomplete"
        if look.state == "failed":
            self._refused(look, out, list(every))
        elif look.state == "done":
            for name, request in out.items():
                self._try_again(name, request, Unanswered("the batch has no result for it"))
        self._write()
        return "over"

    def _read(self, name: str, request: Request, came: Any) -> bool:
        """Settle one request by what came back; whether the provider executed it."""
        responses = self._service.read(request, came)
        if not isinstance(responses, Unanswered):
            self._answer(name, request, [valid_response(response) for response in responses])
            return True
        self.fatal = self.fatal or responses.fatal
        if responses.traffic != NO_TRAFFIC:
            self._store.add_traffic(self._row.source, responses.traffic)
        self._try_again(name, request, responses)
        return responses.counts or responses.fatal is not None

    def _answer(self, name: str, request: Request, responses: list[Any]) -> None:
        self._answered.append((request, responses))
        self._outcomes[name] = "answered"

    def _fail(self, name: str, request: Request, why: str) -> None:
        self._answer(name, request, [error_response(why)] * len(request.calls))

    def _try_again(self, name: str, request: Request, found: Unanswered) -> None:
        """Leave a request to the next batch, unless it has failed too often."""
        tries = self._batches.tries([request.calls[0].key]) if found.counts else {}
        if found.counts and 1 + sum(tries.values()) >= MOST_TRIES:
            self._fail(name, request, f"no answer in {MOST_TRIES} batches: {printable(found.reason)}")
        else:
            self._outcomes[name] = "tried" if found.counts else "waited"

    def _refused(self, look: Look, out: Mapping[str, Request], names: Sequence[str]) -> None:
        """A batch was not accepted: the lines at fault have errors, the others go into the next."""
        self.queue = any(problem.queue for problem in look.problems)
        self.fatal = self.fatal or next((one.fatal for one in look.problems if one.fatal), None)
        lines = {one.line: one.message for one in look.problems if one.line is not None}
        refused = {name: lines[index] for index, name in enumerate(names, 1) if index in lines}
        for name in refused.keys() & out.keys():
            self._fail(name, out[name], printable(f"the batch refused it: {refused[name]}"))
        if not (self.queue or self.fatal or refused):
            self.fatal = ModelError(
                "the provider did not accept a batch",
                where=self._row.name,
                found="; ".join(problem.message for problem in look.problems) or "no reason was given",
                fix="nothing was asked and nothing was paid; correct the model's options and run again",
            )

    def _write(self) -> None:
        if self._outcomes:
            made = receipts(self._answered, self._row.source, self._keys)
            self._batches.settle(self._row, made, self._outcomes)
        if self._answered:
            self._stored(self._answered)
        self._answered, self._outcomes = [], {}
