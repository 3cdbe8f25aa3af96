"""The one writer of a run: answers go to the spill at once and to the store in groups."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from quaver._secrets import Keys
from quaver.collect.run.feed import Feed
from quaver.collect.run.journal import Journal
from quaver.collect.run.progress import Budget, Progress
from quaver.collect.store.database import UNFIT
from quaver.collect.store.response_store import Store
from quaver.collect.store.response_tables import row_of
from quaver.collect.store.spill import Receipt, Spill, line_of, receipts
from quaver.core.meter import NO_TRAFFIC, Meter, Metered
from quaver.core.model import Answered, Model
from quaver.core.records import Response
from quaver.core.response_validation import error_line, error_response

_GROUP, _GROUP_BYTES = 5000, 2**21
"""Responses, and their bytes, that are written together. Each touches a page of the index of keys, so that a
larger group takes less; only a fast model answers as many before the group is due."""
_SHORTEST, _LONGEST, _SHARE = 0.1, 0.5, 20.0
"""Seconds between two writes: the shortest, the longest, and in between a multiple of the last write's
duration.
Writing each answer alone would cost more than asking."""


class Kept(NamedTuple):
    """Answers that arrived together and survive a kill.

    Attributes:
        answered: The requests and their responses.
        receipts: The same, as they are stored.
        calls: How many responses they are.
        weight: Their size in bytes.
    """

    answered: Sequence[Answered]
    receipts: Sequence[Receipt]
    calls: int
    weight: int


@dataclass(frozen=True, slots=True)
class AskedModel:
    """A model that is asked in a run.

    Attributes:
        name: Its name in the study.
        model: It.
        source: Its number in the store.
        feed: The requests that it can be sent, which learns what is stored.
    """

    name: str
    model: Model
    source: int
    feed: Feed

    @property
    def meter(self) -> Meter | None:
        """Counts replies that become no answer, if there can be any."""
        return self.model.meter if isinstance(self.model, Metered) else None


class Writer:
    """Gathers answers and writes them in groups.

    Args:
        store: Receives the groups.
        spill: Keeps answers until then.
        progress: Updated with every group.
        asked: The models, by name.
        budget: Knows what was spent.
        watch: Called after every group.
        journal: Records what happens.
    """

    def __init__(
        self,
        store: Store,
        spill: Spill,
        progress: Progress,
        asked: Mapping[str, AskedModel],
        budget: Budget,
        watch: Callable[[Progress], None],
        journal: Journal,
    ) -> None:
        self._store, self._spill, self._progress, self._asked = store, spill, progress, asked
        self._budget, self._watch, self._journal = budget, watch, journal
        self._keys = Keys()
        self._group: list[tuple[Kept, str]] = []
        self._size = self._weight = 0
        self._took = 0.0
        self.wait()

    def keep(self, model: str, group: Sequence[Answered]) -> Kept:
        """Add answers to the spill; thread-safe.

        A response that cannot be stored becomes an error, whose call can be asked again.
        """
        try:
            return self._kept(model, group)
        except UNFIT:
            fitting = [
                (request, [self._fitting(response) for response in responses]) for request, responses in group
            ]
            return self._kept(model, fitting)

    def _kept(self, model: str, group: Sequence[Answered]) -> Kept:
        made = receipts(group, self._asked[model].source, self._keys)
        calls = sum(len(responses) for _, responses in group)
        weight = self._spill.add(made)
        if self._spill.failed:
            self._budget.stop("interrupted")
        return Kept(group, made, calls, weight)

    def _fitting(self, response: Response) -> Response:
        try:
            line_of(row_of(response, self._keys))
        except UNFIT as error:
            return error_response(f"the answer cannot be stored: {error_line(error)}")
        return response

    def take(self, model: str, kept: Sequence[Kept]) -> None:
        """Add answers to the next group."""
        for one in kept:
            self._group.append((one, model))
            self._size += one.calls
            self._weight += one.weight

    def give_up(self, model: str, error: Exception) -> None:
        """A model is given up."""
        self._progress.given_up[model] = error
        self._journal.line(f"{model} is given up: {error}")

    def is_due(self) -> bool:
        """Whether the group should be written now."""
        return self._size >= _GROUP or self._weight >= _GROUP_BYTES or time.monotonic() >= self.due

    def wait(self) -> None:
        """Set the time when the next group is due."""
        self.due = time.monotonic() + min(_LONGEST, max(_SHORTEST, _SHARE * self._took))

    def flush(self) -> None:
        """Write the group."""
        for name, asked in self._asked.items():
            if asked.meter is None:
                continue
            for news in asked.meter.take_news():
                self._journal.line(f"{name}: {news}")
            self._progress.waits[name] = asked.meter.waits
            if (traffic := asked.meter.take()) != NO_TRAFFIC:
                self._store.add_traffic(asked.source, traffic)
        if self._group:
            began = time.monotonic()
            unfit = self._store.write([receipt for kept, _ in self._group for receipt in kept.receipts])
            self._spill.forget(kept.receipts for kept, _ in self._group)
            self._took = time.monotonic() - began
            stored, self._group, self._size, self._weight = self._group, [], 0, 0
            written: list[Answered] = []
            for kept, model in stored:
                group = [_as_stored(one, unfit) for one in kept.answered] if unfit else kept.answered
                self._asked[model].feed.stored(group)
                written += group
            self._progress.count(written)
            spent = self._budget.spent
            self._progress.tokens, self._progress.money = spent.tokens, spent.money
            self._journal.stored(_notable(written), self._progress)
        self.wait()
        self._watch(self._progress)


def _notable(group: Sequence[Answered]) -> list[Answered]:
    """The answers of which the journal has something to say: errors, and those that say who gave them."""
    result = []
    for answered in group:
        for response in answered[1]:
            if response.finish == "error" or response.served_model or response.fingerprint:
                result.append(answered)
                break
    return result


def _as_stored(answered: Answered, unfit: Mapping[bytes, Response]) -> Answered:
    """An answer, with the errors that were stored in place of some responses."""
    request, responses = answered
    return request, [
        unfit.get(call.key, response) for call, response in zip(request.calls, responses, strict=True)
    ]
