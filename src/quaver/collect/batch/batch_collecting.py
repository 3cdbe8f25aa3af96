"""The results of a batch become stored answers; what has no answer goes into the next batch."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from quaver._secrets import Keys, without_keys
from quaver.collect.store.batch_rows import BatchRow
from quaver.collect.store.receipt import Receipt, receipt
from quaver.collect.store.response_store import Store
from quaver.core.batch import BatchService, BatchState, Look, Problem, Unanswered
from quaver.core.meter import NO_TRAFFIC
from quaver.core.model import Answered
from quaver.core.records import Request, Response
from quaver.core.response_validation import printable, valid_response
from quaver.errors import ModelError

_GROUP = 500
"""Requests that are written together."""

MOST_TRIES: Final = 3
"""Batches in which a call may fail before its failure becomes its answer."""

_MOST_INCOMPLETE = 20
"""How often the results of a batch may be incomplete before the rest is given up."""

_CLOSED_AS: dict[str, BatchState] = {
    "done": "collected",
    "expired": "expired",
    "cancelled": "cancelled",
    "failed": "failed",
}


@dataclass(slots=True)
class Taken:
    """What came of looking at a batch.

    Attributes:
        closed: Whether it is over.
        fatal: The error that no other batch of this model would escape.
        queue: Whether the provider's queue is full.
    """

    closed: bool = False
    fatal: ModelError | None = None
    queue: bool = False


@dataclass(slots=True)
class _Group:
    """Settled requests that are not written yet."""

    answered: list[Answered] = field(default_factory=list)
    outcomes: dict[str, str] = field(default_factory=dict)


class BatchCollector:
    """Collects what the provider of one model has ready.

    Args:
        store: Where answers go.
        service: Speaks to the provider.
        stored: Called with each group of answers that was stored.
    """

    def __init__(
        self, store: Store, service: BatchService, stored: Callable[[Sequence[Answered]], None]
    ) -> None:
        self._store, self._service, self._stored = store, service, stored
        self._keys = Keys()

    def collect(self, row: BatchRow) -> Taken:
        """Look at a batch, and store its answers if it has ended.

        Raises:
            NotNow: Its provider does not answer properly now; nothing is lost.
            Gone: Its provider does not know it, or has deleted its results.
            ModelError: Its provider refuses to speak about it.
        """
        look = self._service.look(str(row.remote))
        ended = look.state != "running"
        changes: dict[str, Any] = {"done": look.done, "refused": look.refused}
        if not ended:
            changes["state"] = "partly done" if look.done + look.refused else "running"
        self._store.set_batch(row.id, looked=time.time(), expires=look.expires, **changes)
        return self._settle(row, look) if ended else Taken()

    def _settle(self, row: BatchRow, look: Look) -> Taken:
        taken = Taken()
        out, group = dict(self._store.batch_requests(row)), _Group()
        every = self._store.batch_outcomes(row)
        seen: set[str] = set()
        foreign = executed = 0
        for name, came in self._service.results(str(row.remote), look):
            foreign += name not in every
            if name not in every or name in seen:
                continue  # nobody asked for it, or it is there twice
            seen.add(name)
            if name in out:
                executed += self._one(row, name, out.pop(name), came, group, taken)
            else:
                executed += every[name] != "waited"
            if len(group.outcomes) >= _GROUP:
                self._write(row, group)
        if foreign and not seen and not self._service.is_named:
            return self._not_its_own(row)
        self._write(row, group)
        if out and executed < look.done + look.refused and row.incomplete < _MOST_INCOMPLETE:
            note = f"{executed:,} of {look.done + look.refused:,} results are there"
            self._store.set_batch(row.id, incomplete=row.incomplete + 1, note=note)
            return taken
        self._rest(row, look, out, taken)
        self._store.close_batch(row, _CLOSED_AS[look.state], self._note(look, foreign))
        taken.closed = True
        return taken

    def _one(
        self, row: BatchRow, name: str, request: Request, came: Any, group: _Group, taken: Taken
    ) -> bool:
        """Settle one request by what came back; whether the provider executed it."""
        found = self._service.read(request, came)
        if isinstance(found, Unanswered):
            taken.fatal = taken.fatal or found.fatal
            if found.traffic != NO_TRAFFIC:
                self._store.add_traffic(row.source, found.traffic)
            self._unanswered(name, request, found, group)
        else:
            group.answered.append((request, [valid_response(one) for one in found]))
            group.outcomes[name] = "answered"
        return not isinstance(found, Unanswered) or found.counts or found.fatal is not None

    def _unanswered(self, name: str, request: Request, found: Unanswered, group: _Group) -> None:
        """Leave a request to the next batch, unless it has failed too often."""
        tries = self._store.tries([request.calls[0].key]) if found.counts else {}
        if found.counts and 1 + sum(tries.values()) >= MOST_TRIES:
            why = f"no answer in {MOST_TRIES} batches: {printable(found.reason)}"
            failed = Response("", finish="error", error=why[:500])
            group.answered.append((request, [failed] * len(request.calls)))
            group.outcomes[name] = "answered"
        else:
            group.outcomes[name] = "tried" if found.counts else "waited"

    def _rest(self, row: BatchRow, look: Look, out: dict[str, Request], taken: Taken) -> None:
        """Settle the requests for which there is no result."""
        group = _Group()
        if look.state == "failed":
            taken.queue = any(one.queue for one in look.problems)
            taken.fatal = taken.fatal or next((one.fatal for one in look.problems if one.fatal), None)
            refused = self._refused_lines(row, look.problems)
            for name in refused.keys() & out.keys():
                error = Response("", finish="error", error=printable(refused[name])[:500])
                group.answered.append((out[name], [error] * len(out[name].calls)))
                group.outcomes[name] = "answered"
            if not (taken.queue or taken.fatal or refused):
                taken.fatal = ModelError(
                    "the provider did not accept a batch",
                    where=row.name,
                    found="; ".join(one.message for one in look.problems) or "no reason was given",
                    fix="nothing was asked and nothing was paid; correct the model's options and run again",
                )
        elif look.state == "done":
            for name, request in out.items():
                self._unanswered(name, request, Unanswered("the batch has no result for it"), group)
        self._write(row, group)

    def _refused_lines(self, row: BatchRow, problems: Sequence[Problem]) -> dict[str, str]:
        """By a request's id, why its line was refused."""
        lines = {one.line: one.message for one in problems if one.line is not None}
        if not lines:
            return {}
        names = enumerate(self._store.batch_outcomes(row), 1)
        return {name: f"the batch refused it: {lines[at]}" for at, name in names if at in lines}

    def _not_its_own(self, row: BatchRow) -> Taken:
        """A batch that was taken for this one is another: it has to be looked for again."""
        others = json.dumps([*row.not_its_own, row.remote])
        self._store.set_batch(row.id, remote=None, others=others, state="written", done=0, refused=0)
        return Taken()

    def _write(self, row: BatchRow, group: _Group) -> None:
        if not group.outcomes:
            return
        receipts = [self._receipt(row, one) for one in group.answered]
        self._store.settle_batch(row, receipts, group.outcomes)
        if group.answered:
            self._stored(group.answered)
        group.answered, group.outcomes = [], {}

    def _receipt(self, row: BatchRow, answered: Answered) -> Receipt:
        return receipt(answered, row.source, self._keys)

    @staticmethod
    def _note(look: Look, foreign: int) -> str | None:
        parts = [one.message for one in look.problems[:3]]
        parts += [f"{foreign:,} results belonged to no request of this batch"] * bool(foreign)
        return without_keys(printable("; ".join(parts)))[:500] or None
