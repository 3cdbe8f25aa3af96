"""The results of a batch become stored answers; what has no answer goes into the next batch."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Final

from quaver._secrets import Keys, without_keys
from quaver.collect.run.feed import Feed
from quaver.collect.run.progress import Budget
from quaver.collect.store.batch_rows import BatchRow, StoredBatches
from quaver.collect.store.response_store import Store
from quaver.collect.store.spill import Receipt, receipt, receipts
from quaver.core.batch import BatchService, BatchState, Gone, Look, NotNow, Problem, Unanswered
from quaver.core.meter import NO_TRAFFIC
from quaver.core.model import Answered
from quaver.core.records import Request, Response
from quaver.core.response_validation import error_response, printable, valid_response
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
        self._store, self._batches = store, StoredBatches(store)
        self._service, self._stored = service, stored
        self._keys = Keys()

    def collect(self, row: BatchRow) -> Taken:
        """Look at a batch, and store its answers if it has ended."""
        look = self._service.look(str(row.remote))
        ended = look.state != "running"
        changes: dict[str, Any] = {"done": look.done, "refused": look.refused}
        if not ended:
            changes["state"] = "partly done" if look.done + look.refused else "running"
        self._batches.change(row.id, looked=time.time(), expires=look.expires, **changes)
        return self._settle(row, look) if ended else Taken()

    def _settle(self, row: BatchRow, look: Look) -> Taken:
        taken = Taken()
        out, group = dict(self._batches.requests(row)), _Group()
        every = self._batches.outcomes(row)
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
            self._batches.change(row.id, incomplete=row.incomplete + 1, note=note)
            return taken
        self._rest(row, look, out, taken)
        self._batches.close(row, _CLOSED_AS[look.state], self._note(look, foreign))
        taken.closed = True
        return taken

    def _one(
        self, row: BatchRow, name: str, request: Request, came: Any, group: _Group, taken: Taken
    ) -> bool:
        """Settle one request by what came back; whether the provider executed it."""
        responses = self._service.read(request, came)
        if isinstance(responses, Unanswered):
            taken.fatal = taken.fatal or responses.fatal
            if responses.traffic != NO_TRAFFIC:
                self._store.add_traffic(row.source, responses.traffic)
            self._unanswered(name, request, responses, group)
        else:
            group.answered.append((request, [valid_response(response) for response in responses]))
            group.outcomes[name] = "answered"
        return not isinstance(responses, Unanswered) or responses.counts or responses.fatal is not None

    def _unanswered(self, name: str, request: Request, found: Unanswered, group: _Group) -> None:
        """Leave a request to the next batch, unless it has failed too often."""
        tries = self._batches.tries([request.calls[0].key]) if found.counts else {}
        if found.counts and 1 + sum(tries.values()) >= MOST_TRIES:
            why = f"no answer in {MOST_TRIES} batches: {printable(found.reason)}"
            failed = error_response(why)
            group.answered.append((request, [failed] * len(request.calls)))
            group.outcomes[name] = "answered"
        else:
            group.outcomes[name] = "tried" if found.counts else "waited"

    def _rest(self, row: BatchRow, look: Look, out: dict[str, Request], taken: Taken) -> None:
        """Settle the requests for which there is no result."""
        group = _Group()
        if look.state == "failed":
            taken.queue = any(problem.queue for problem in look.problems)
            taken.fatal = taken.fatal or next(
                (problem.fatal for problem in look.problems if problem.fatal), None
            )
            refused = self._refused_lines(row, look.problems)
            for name in refused.keys() & out.keys():
                error = error_response(printable(refused[name]))
                group.answered.append((out[name], [error] * len(out[name].calls)))
                group.outcomes[name] = "answered"
            if not (taken.queue or taken.fatal or refused):
                taken.fatal = ModelError(
                    "the provider did not accept a batch",
                    where=row.name,
                    found="; ".join(problem.message for problem in look.problems) or "no reason was given",
                    fix="nothing was asked and nothing was paid; correct the model's options and run again",
                )
        elif look.state == "done":
            for name, request in out.items():
                self._unanswered(name, request, Unanswered("the batch has no result for it"), group)
        self._write(row, group)

    def _refused_lines(self, row: BatchRow, problems: Sequence[Problem]) -> dict[str, str]:
        """By a request's id, why its line was refused."""
        lines = {problem.line: problem.message for problem in problems if problem.line is not None}
        if not lines:
            return {}
        names = enumerate(self._batches.outcomes(row), 1)
        return {name: f"the batch refused it: {lines[index]}" for index, name in names if index in lines}

    def _not_its_own(self, row: BatchRow) -> Taken:
        """A batch that was taken for this one is another: it has to be looked for again."""
        others = json.dumps([*row.not_its_own, row.remote])
        self._batches.change(row.id, remote=None, others=others, state="written", done=0, refused=0)
        return Taken()

    def _write(self, row: BatchRow, group: _Group) -> None:
        if not group.outcomes:
            return
        self._batches.settle(row, receipts(group.answered, row.source, self._keys), group.outcomes)
        if group.answered:
            self._stored(group.answered)
        group.answered, group.outcomes = [], {}

    @staticmethod
    def _note(look: Look, foreign: int) -> str | None:
        parts = [problem.message for problem in look.problems[:3]]
        parts += [f"{foreign:,} results belonged to no request of this batch"] * bool(foreign)
        return without_keys(printable("; ".join(parts)))[:500] or None


SETTLES = 90.0
"""Seconds after which a start whose reply was lost has either arrived or will not any more."""

_CLOCKS_DIFFER = 600.0
"""Seconds by which a provider's clock may be behind."""


class BatchSender:
    """Hands the batches of one model to its provider.

    Args:
        store: Knows the steps that were taken.
        service: Speaks to the provider.
    """

    def __init__(self, store: Store, service: BatchService) -> None:
        self._batches, self._service = StoredBatches(store), service

    def send(self, row: BatchRow) -> BatchRow:
        """Take the steps that are left until a batch runs."""
        if self._service.uploads and row.upload is None:
            row = self._uploaded(row)
        alone = not any(other.model == row.model and other.sent for other in self._batches.rows())
        self._batches.change(row.id, sent=time.time(), alone=int(alone))
        try:
            remote = self._service.start(row.name, row.upload or "", lambda: self._lines(row))
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
        return self._runs(row, remote)

    def find(self, row: BatchRow) -> BatchRow:
        """Look for a batch whose start was not answered; it may be sent again if it comes back unsent."""
        known = {one.remote for one in self._batches.rows(open_only=False) if one.remote} | set(
            row.not_its_own
        )
        sent = row.sent or 0.0
        found = self._service.started(row.name, row.upload or "", sent - _CLOCKS_DIFFER, row.requests, known)
        if found:
            for other in found[1:] if self._service.is_named else ():  # nobody should pay for it twice
                self._service.cancel(other)
            return self._runs(row, found[0])
        if time.time() >= sent + SETTLES:
            self._batches.change(row.id, sent=None)
        return self._batches.row(row.id)

    def _uploaded(self, row: BatchRow) -> BatchRow:
        upload = self._service.uploaded(row.name) if row.uploading is not None else None
        if upload is None:
            self._batches.change(row.id, uploading=time.time())
            upload = self._service.upload(row.name, lambda: self._lines(row))
        self._batches.change(row.id, upload=upload, state="uploaded")
        return self._batches.row(row.id)

    def _runs(self, row: BatchRow, remote: str) -> BatchRow:
        self._batches.change(row.id, remote=remote, state="running", note=None)
        return self._batches.row(row.id)

    def _lines(self, row: BatchRow) -> Iterator[bytes]:
        return (self._service.line(name, request) + b"\n" for name, request in self._batches.requests(row))


_NOTHING = Response("")


@dataclass(slots=True)
class _Filling:
    """A batch that is being filled."""

    kind: str
    requests: list[tuple[str, Receipt]] = field(default_factory=list)
    size: int = 0
    prompt: float = 0.0
    completion: float = 0.0

    @property
    def calls(self) -> int:
        return sum(len(one.calls) for _, one in self.requests)


class BatchWriter:
    """Writes batches of one model to the store.

    Args:
        store: Where they go.
        model: The model's name in the study.
        source: The number under which its answers will be written.
        service: Says what fits into a batch.
        budget: Lets requests through.
        most: The most requests in a batch, where fewer are wanted than the provider takes.
    """

    def __init__(
        self,
        store: Store,
        model: str,
        source: int,
        service: BatchService,
        budget: Budget,
        most: int | None = None,
    ) -> None:
        self._store, self._batches = store, StoredBatches(store)
        self._model, self._source = model, source
        self._service, self._budget = service, budget
        self._most = min(service.limits.requests, most or service.limits.requests)
        self._filling: dict[str, _Filling] = {}

    def write(self, requests: Iterable[Request]) -> list[BatchRow]:
        """Write requests as batches, until the budget has no more room."""
        written: list[BatchRow] = []
        for request in Feed(self._budget, requests):
            self._budget.commit(request)
            for part in self._service.parts(request):
                written += self._add(part)
        for one in list(self._filling.values()):
            written.append(self._close(one))
        return written

    def _add(self, part: Request) -> list[BatchRow]:
        kind, name = self._service.kind_of(part), part.calls[0].key.hex()
        size = len(self._service.line(name, part)) + 1
        filling = self._filling.setdefault(kind, _Filling(kind))
        is_full = len(filling.requests) >= self._most or filling.size + size > self._service.limits.size
        closed = [self._close(filling)] if filling.requests and is_full else []
        filling = self._filling.setdefault(kind, _Filling(kind))
        prompt, completion = self._budget.expected(part)
        filling.requests.append((name, receipt((part, [_NOTHING] * len(part.calls)), self._source)))
        filling.size += size
        filling.prompt += prompt
        filling.completion += completion
        return closed

    def _close(self, filling: _Filling) -> BatchRow:
        del self._filling[filling.kind]
        now = time.time()
        number = len(self._batches.rows(open_only=False))
        first = filling.requests[0][1].key
        unique = blake2b(first + f"{now!r} {number}".encode(), digest_size=12).hexdigest()
        facts = {
            "name": f"quaver-{unique}",
            "model": self._model,
            "source": self._source,
            "service": self._service.kind,
            "state": "written",
            "study": self._store.noted("study"),
            "calls": filling.calls,
            "requests": len(filling.requests),
            "expected_prompt": filling.prompt,
            "expected_completion": filling.completion,
            "written": now,
            **dict.fromkeys(("done", "refused", "incomplete", "alone", "cancelling"), 0),
        }
        return self._batches.row(self._batches.add(facts, filling.requests))
