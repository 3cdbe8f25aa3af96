"""The one writer of a run: answers go to the spill at once and to the store in groups."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence

from quaver._secrets import Keys
from quaver.collect.run.feed import Feed
from quaver.collect.run.journal import Journal
from quaver.collect.run.model_answers import taken_in_groups
from quaver.collect.run.progress import Budget, Progress
from quaver.collect.store.database import UNFIT
from quaver.collect.store.response_store import Store
from quaver.collect.store.response_tables import row_of
from quaver.collect.store.spill import Receipt, Spill, line_of, receipts
from quaver.core.calls import Response
from quaver.core.conversation import Conversing, converse, in_thread
from quaver.core.meter import NO_TRAFFIC, Meter, Metered
from quaver.core.model import Answered, Model
from quaver.core.response_validation import error_line, error_response

_GROUP, _GROUP_BYTES = 2500, 3 * 2**19
"""Responses, and their bytes, that are written together. Each touches a page of the index of keys, so that a
larger group takes less; only a fast model answers as many before the group is due."""
_SHORTEST, _LONGEST, _SHARE = 0.1, 0.5, 20.0
"""Seconds between two writes: the shortest, the longest, and in between a multiple of the last write's
duration.
Writing each answer alone would cost more than asking."""


Take = Callable[[Sequence[Answered]], object]


class AskedModel:
    """A model that is asked in a run: on the event loop where it answers there, else in a thread of its own.

    Args:
        name: Its name in the study.
        model: It.
        source: Its number in the store.
        feed: The requests that it can be sent, which learns what is stored.

    Attributes:
        meter: Counts replies that become no answer, if there can be any.
    """

    def __init__(self, name: str, model: Model, source: int, feed: Feed) -> None:
        self.name, self.source, self.feed = name, source, feed
        self._model = model
        self.meter: Meter | None = model.meter if isinstance(model, Metered) else None

    async def ask(self, take: Take) -> BaseException | None:
        """Ask until nothing is left or the budget is used up; returns what ended it earlier, if anything."""
        try:
            if isinstance(self._model, Conversing):
                await converse(self._model, self.feed.next, take, lambda: self.feed.has_more)
                return None
            return await in_thread(lambda: self._work(take), f"quaver-{self.name}")
        except BaseException as error:  # raised again in the thread that waits
            return error

    def _work(self, take: Take) -> None:
        left = True
        while left:
            for group in taken_in_groups(self._model, iter(self.feed)):
                if group:
                    take(group)
            left = self.feed.wait()


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
        self._changed, self._is_closed = threading.Condition(), False
        self._group: list[tuple[str, Sequence[Answered], Sequence[Receipt]]] = []
        self._ended: list[tuple[str, BaseException | None]] = []
        self._size = self._weight = 0
        self._took = 0.0
        self.put_off()

    # ---------------------------------------------------------------------- from any thread

    def keep(self, model: str, group: Sequence[Answered]) -> Sequence[Receipt]:
        """Keep answers, which survive a kill from now on; wait while the next group is full.

        A response that cannot be stored becomes an error, whose call can be asked again.

        Returns:
            What survives: nothing where it came after the run was given up.
        """
        source = self._asked[model].source
        try:
            made = receipts(group, source, self._keys)
            weight = self._spill.add(made)
        except UNFIT:
            group = [(request, list(map(self._fitting, responses))) for request, responses in group]
            made = receipts(group, source, self._keys)
            weight = self._spill.add(made)
        if self._spill.failed:
            self._budget.stop("interrupted")
        self._budget.settle(group)
        with self._changed:
            while self._is_full() and not self._is_closed:
                self._changed.wait()
            self._group.append((model, group, made))
            self._size += sum(len(receipt.calls) for receipt in made)
            self._weight += weight
            if self._is_full():
                self._changed.notify_all()
        return made if weight else ()

    def ended(self, model: str, error: BaseException | None) -> None:
        """A model has no more to answer, or has failed."""
        with self._changed:
            self._ended.append((model, error))
            self._changed.notify_all()

    def _fitting(self, response: Response) -> Response:
        try:
            line_of(row_of(response, self._keys))
        except UNFIT as error:
            return error_response(f"the answer cannot be stored: {error_line(error)}")
        return response

    def _is_full(self) -> bool:
        return self._size >= _GROUP or self._weight >= _GROUP_BYTES

    # ---------------------------------------------------------------------- from the writing thread

    def news(self) -> list[tuple[str, BaseException | None]]:
        """Wait until something is to be written or a model has ended; those that have, and why."""
        with self._changed:
            while not (self._ended or self.is_due()):
                self._changed.wait(max(0.01, self._due - time.monotonic()))
            ended, self._ended = self._ended, []
        return ended

    def give_up(self, model: str, error: Exception) -> None:
        """A model is given up."""
        self._progress.given_up[model] = error
        self._journal.line(f"{model} is given up: {error}")

    def is_due(self) -> bool:
        """Whether the group should be written now."""
        return self._is_full() or time.monotonic() >= self._due

    def put_off(self) -> None:
        """Set the time when the next group is due."""
        self._due = time.monotonic() + min(_LONGEST, max(_SHORTEST, _SHARE * self._took))

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
        with self._changed:
            group, self._group, self._size, self._weight = self._group, [], 0, 0
            self._changed.notify_all()
        if group:
            self._write(group)
        self.put_off()
        self._watch(self._progress)

    def _write(self, kept: Sequence[tuple[str, Sequence[Answered], Sequence[Receipt]]]) -> None:
        """Write what was kept; where that fails, it stays for another try."""
        began = time.monotonic()
        try:
            unfit = self._store.write([receipt for _, _, made in kept for receipt in made])
        except BaseException:
            with self._changed:
                self._group[:0] = kept
            raise
        self._spill.forget(made for _, _, made in kept)
        self._took = time.monotonic() - began
        written: list[Answered] = []
        for model, group, _ in kept:
            stored = [_as_stored(answer, unfit) for answer in group] if unfit else group
            self._asked[model].feed.stored(stored)
            written += stored
        self._progress.count(written)
        spent = self._budget.spent
        self._progress.tokens, self._progress.money = spent.tokens, spent.money
        self._journal.stored(
            [answer for answer in written if any(response.finish == "error" for response in answer[1])],
            self._progress,
        )

    def close(self) -> None:
        """Keep nobody waiting any more."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()


def _as_stored(answered: Answered, unfit: Mapping[bytes, Response]) -> Answered:
    """An answer, with the errors that were stored in place of some responses."""
    request, responses = answered
    return request, [
        unfit.get(call.key, response) for call, response in zip(request.calls, responses, strict=True)
    ]
