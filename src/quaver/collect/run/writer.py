"""The one writer of a run: answers go to the spill at once and to the store in groups."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from quaver._secrets import Keys
from quaver.collect.run.budget import Budget
from quaver.collect.run.feed import Feed
from quaver.collect.run.journal import Journal
from quaver.collect.run.progress import Progress, kind_of
from quaver.collect.store.database import UNFIT
from quaver.collect.store.receipt import Receipt, line_of, receipts
from quaver.collect.store.response_store import Store
from quaver.collect.store.response_tables import row_of
from quaver.collect.store.spill import Spill
from quaver.core.meter import NO_TRAFFIC, Meter
from quaver.core.model import Answered
from quaver.core.records import Response
from quaver.core.response_validation import error_line

_GROUP, _GROUP_BYTES = 5000, 2**21
"""Responses, and their bytes, that are written together. Each touches a page of the index of keys, so that a
larger group takes less; only a fast model answers as many before the group is due."""
_SHORTEST, _LONGEST, _SHARE = 0.1, 0.5, 20.0
"""Seconds between two writes: the shortest, the longest, and in between a multiple of the last write's
duration.
Writing each answer alone would cost more than asking."""
_TAKES, _TOUCHES = 2.5, 6 * 2**10
"""Disk space that an answer needs: a multiple of its bytes, for spill and journal, and the pages that its row
touches."""


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


class Writer:
    """Gathers answers and writes them in groups.

    Args:
        store: Receives the groups.
        spill: Keeps answers until then.
        progress: Updated with every group.
        sources: The number of each model in the store.
        feeds: By model; each learns what is stored.
        budget: Knows what was spent.
        watch: Called after every group.
        journal: Records what happens.
        meters: By model; each counts replies that become no answer.
    """

    def __init__(
        self,
        store: Store,
        spill: Spill,
        progress: Progress,
        sources: Mapping[str, int],
        feeds: Mapping[str, Feed],
        budget: Budget,
        watch: Callable[[Progress], None],
        journal: Journal,
        meters: Mapping[str, Meter] = MappingProxyType({}),
    ) -> None:
        self._meters = meters
        self._store, self._spill = store, spill
        self._progress, self._sources, self._feeds = progress, sources, feeds
        self._budget, self._watch, self._journal = budget, watch, journal
        self._keys = Keys()
        self._group: list[tuple[Kept, str]] = []
        self._size = self._weight = 0
        self._took = 0.0
        self.wait()

    @property
    def full(self) -> bool:
        """Whether the disk is full, and nothing more should be asked."""
        return self._store.full is not None

    def keep(self, model: str, group: Sequence[Answered]) -> Kept:
        """Add answers to the spill; thread-safe.

        A response that cannot be stored becomes an error, whose call can be asked again.
        """
        try:
            return self._kept(model, group)
        except UNFIT:
            fitting = [(asked, [self._fitting(one) for one in responses]) for asked, responses in group]
            return self._kept(model, fitting)

    def _kept(self, model: str, group: Sequence[Answered]) -> Kept:
        source, keys = self._sources[model], self._keys
        made = receipts(group, source, keys)
        calls = sum(len(responses) for _, responses in group)
        return Kept(group, made, calls, self._spill.add(made))

    def _fitting(self, response: Response) -> Response:
        try:
            line_of(row_of(response, self._keys))
        except UNFIT as error:
            return Response("", finish="error", error=f"the answer cannot be stored: {error_line(error)}")
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
        self._journal.given_up(model, error)

    def is_due(self) -> bool:
        """Whether the group should be written now."""
        return self._size >= _GROUP or self._weight >= _GROUP_BYTES or time.monotonic() >= self.due

    def wait(self) -> None:
        """Set the time when the next group is due."""
        self.due = time.monotonic() + min(_LONGEST, max(_SHORTEST, _SHARE * self._took))

    def flush(self, in_flight: int = 0) -> None:
        """Write the group.

        Args:
            in_flight: Unanswered calls, for which disk space is set aside.

        Raises:
            StoreError: It could not be written; it stays here and in the spill for another try.
        """
        for model, meter in self._meters.items():
            if (traffic := meter.take()) != NO_TRAFFIC:
                self._store.add_traffic(self._sources[model], traffic)
        if self._group:
            began = time.monotonic()
            unfit = self._store.write([one for kept, _ in self._group for one in kept.receipts])
            self._spill.forget(kept.receipts for kept, _ in self._group)
            self._took = time.monotonic() - began
            stored, self._group, self._size, self._weight = self._group, [], 0, 0
            written: list[Answered] = []
            for kept, model in stored:
                group = [_as_stored(one, unfit) for one in kept.answered] if unfit else kept.answered
                self._feeds[model].stored(group)
                written += group
            self._count(written)
            self._journal.stored(_notable(written), self._progress)
            takes = in_flight * (_TAKES * self._spill.weight + _TOUCHES) + _TAKES * self._spill.largest
            self._store.reserve_at_least(int(takes))
        self.wait()
        self._watch(self._progress)

    def _count(self, group: Sequence[Answered]) -> None:
        progress = self._progress
        conditions = [request.calls[0].condition for request, responses in group for _ in responses]
        progress.done += len(conditions)
        progress.by_condition.update(conditions)
        for response in [one for _, responses in group for one in responses if one.finish == "error"]:
            progress.errors += 1
            progress.by_kind[kind_of(response.error)] += 1
        spent = self._budget.spent
        progress.tokens, progress.money = spent.tokens, spent.money


def _notable(group: Sequence[Answered]) -> list[Answered]:
    """The answers of which the journal has something to say: errors, and those that say who gave them."""
    found = []
    for answered in group:
        for one in answered[1]:
            if one.finish == "error" or one.served_model or one.fingerprint:
                found.append(answered)
                break
    return found


def _as_stored(answered: Answered, unfit: Mapping[bytes, Response]) -> Answered:
    """An answer, with the errors that were stored in place of some responses."""
    request, responses = answered
    return request, [unfit.get(call.key, one) for call, one in zip(request.calls, responses, strict=True)]
