"""Requests become batches: as many as fit into one, and no more than the budget has room for."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import blake2b

from quaver.collect.run.budget import Budget, Gate
from quaver.collect.store.batch_rows import BatchRow
from quaver.collect.store.receipt import Receipt, receipt
from quaver.collect.store.response_store import Store
from quaver.core.batch import BatchService
from quaver.core.records import Request, Response

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
        self._store, self._model, self._source = store, model, source
        self._service, self._budget = service, budget
        self._most = min(service.limits.requests, most or service.limits.requests)
        self._filling: dict[str, _Filling] = {}

    def write(self, requests: Iterable[Request]) -> list[BatchRow]:
        """Write requests as batches, until the budget has no more room.

        Raises:
            StoreError: They cannot be written.
        """
        written: list[BatchRow] = []
        for request in Gate(self._budget, requests):
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
        number = len(self._store.batches(open_only=False))
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
        return self._store.batch(self._store.add_batch(facts, filling.requests))
