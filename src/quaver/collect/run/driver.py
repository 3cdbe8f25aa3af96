"""The driver: asks a study's models on one event loop, and stores what they answer.

A model that answers on the event loop is asked there, any other in a thread of its own. Their answers go to
the spill at once, and through a bounded queue to the thread that called ``collect``, which alone writes to
the store, in groups (``writer``).
"""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from queue import Empty, Queue
from typing import Any

from quaver.collect.run.feed import Feed, Following
from quaver.collect.run.journal import Journal
from quaver.collect.run.model_answers import taken_in_groups
from quaver.collect.run.progress import Budget, Outcome, Progress
from quaver.collect.run.writer import AskedModel, Kept, Writer
from quaver.collect.store.response_store import Store
from quaver.core.conversation import Conversing, converse, in_thread, started
from quaver.core.meter import little_garbage
from quaver.core.model import Answered, Model
from quaver.core.records import Request
from quaver.errors import ModelError, QuaverError

__all__ = ["Outcome", "Progress", "collect"]

_BUNDLE, _BUNDLE_BYTES = 512, 2**17
"""Responses, and their bytes, that are passed on together; the seconds that they are held for more."""
_HOLD = 0.05
_QUEUE = 4
"""Bundles waiting to be written."""

_Message = tuple[str, list[Kept] | BaseException | None]
"""A model's name, and its answers; at its end what it raised, or None."""


class _Asker:
    """Asks one model, until nothing is left or the budget is used up."""

    def __init__(self, asked: AskedModel, budget: Budget, answers: Queue[_Message], writer: Writer) -> None:
        self.name = asked.name
        self._asked, self._budget, self._answers, self._writer = asked, budget, answers, writer
        self._held: list[Kept] = []
        self._size = self._weight = 0
        self._since = time.monotonic()
        self._holding = threading.Lock()

    async def ask(self) -> None:
        """Ask, and say at last how it ended."""
        model = self._asked.model
        end: BaseException | None = None
        try:
            if isinstance(model, Conversing):
                feed = self._asked.feed
                await converse(model, feed.next, self._take, lambda: feed.has_more)
            else:
                end = await in_thread(self._work, f"quaver-{self.name}")
        except BaseException as error:  # raised again in the thread that waits
            end = error
        self._answers.put(self.hand_over())
        self._answers.put((self.name, end))

    def _work(self) -> None:
        """Ask in a thread."""
        left = True
        while left:
            for group in taken_in_groups(self._asked.model, iter(self._asked.feed)):
                if group:
                    self._take(group)
            self._pass_on()
            left = self._asked.feed.wait()

    # ------------------------------------------------------------------ answers

    def _take(self, group: Sequence[Answered]) -> None:
        """Keep answers, and pass them on once they are many or the first has waited."""
        kept = self._writer.keep(self.name, group)
        self._budget.settle(kept.answered)
        with self._holding:
            self._held.append(kept)
        self._size, self._weight = self._size + kept.calls, self._weight + kept.weight
        late = time.monotonic() - self._since > _HOLD
        if late or self._size >= _BUNDLE or self._weight >= _BUNDLE_BYTES:
            self._pass_on()

    def _pass_on(self) -> None:
        self._answers.put(self.hand_over())
        self._since, self._size, self._weight = time.monotonic(), 0, 0

    def hand_over(self) -> tuple[str, list[Kept]]:
        """The model's name and its answers since the last call; thread-safe."""
        with self._holding:
            held, self._held = self._held, []
        return self.name, held


def collect(
    requests: Mapping[str, Iterator[Request]],
    models: Mapping[str, Model],
    store: Store,
    progress: Progress,
    *,
    budget: Budget | None = None,
    watch: Callable[[Progress], None] = lambda _: None,
    journal: Journal | None = None,
    following: Following | None = None,
    is_pilot: bool = False,
) -> Outcome:
    """Send requests until they are answered, and store the responses.

    A model that is given up is an error once the others have finished; in a pilot, ``progress`` has it alone.

    Returns:
        The outcome. After Ctrl-C, calls in flight have been answered and stored.
    """
    budget, journal = budget or Budget(), journal or Journal()
    asked: dict[str, AskedModel] = {}
    for name in requests:
        model = models[name]
        source = store.register(name, model.identity(), model.provenance())
        asked[name] = AskedModel(name, model, source, Feed(budget, requests[name], following))
    spill = store.spill()
    writer = Writer(store, spill, progress, asked, budget, watch, journal)
    failures = dict(progress.given_up)
    with _interrupts(budget), closing(spill), _metering(asked, budget), little_garbage():
        left = list(asked)
        while left:  # again, if the budget now has room for a request that it refused
            _ask([asked[name] for name in left], writer, budget, failures)
            left = [name for name, one in asked.items() if one.feed.is_refused and name not in failures]
    if failures and not (is_pilot and progress.given_up.keys() == failures.keys()):
        raise _failure(failures, progress)
    if spill.failed:
        with store.translated():
            raise spill.failed
    spent = budget.spent
    return progress.outcome(budget.stopped or "finished", spent.tokens, spent.money)


def _ask(
    models: Sequence[AskedModel],
    writer: Writer,
    budget: Budget,
    failures: dict[str, Exception],
) -> None:
    """Let models answer what the budget has room for; adds failures to ``failures``."""
    answers: Queue[_Message] = Queue(maxsize=_QUEUE)
    askers = [_Asker(model, budget, answers, writer) for model in models]

    async def every() -> None:
        await asyncio.gather(*(asker.ask() for asker in askers))

    asking = started(every())
    try:
        _listen(answers, askers, writer, budget, failures)
    finally:  # also after a second Ctrl-C
        asking.cancel()
        writer.flush()
    budget.give_up()


def _listen(
    answers: Queue[_Message],
    askers: Sequence[_Asker],
    writer: Writer,
    budget: Budget,
    failures: dict[str, Exception],
) -> None:
    """Receive answers until every model has ended."""
    running = len(askers)
    while running:
        name: str
        message: Any
        try:
            name, message = answers.get(timeout=max(0.01, writer.due - time.monotonic()))
        except Empty:
            name, message = "", []
        if isinstance(message, list):
            writer.take(name, message)
        else:
            running -= 1
            if isinstance(message, Exception):
                failures[name] = message
                writer.give_up(name, message)
            elif isinstance(message, BaseException):
                raise message
        if writer.is_due():
            for asker in askers:  # a slow model may hold an answer while it works on the next
                writer.take(*asker.hand_over())
            try:
                writer.flush()
            except QuaverError as error:  # the writer keeps the answers for a last try
                failures.setdefault("", error)
                budget.stop("interrupted")
                writer.wait()


def _failure(failures: Mapping[str, Exception], progress: Progress) -> Exception:
    """The first failure; a model's says which models were given up and how much is stored."""
    first = next(iter(failures.values()))
    if isinstance(first, ModelError):
        message = f"given up: {', '.join(name for name in failures if name)}"
        message += f"; {progress.before + progress.done:,} of {progress.total:,} calls are stored"
        first.fix = f"{first.fix}; {message}" if first.fix else message
    return first


@contextmanager
def _metering(asked: Mapping[str, AskedModel], budget: Budget) -> Iterator[None]:
    """Count replies that become no answer in the budget, as they arrive."""
    meters = [(name, model.meter) for name, model in asked.items() if model.meter]
    for name, meter in meters:
        meter.report_to(partial(budget.discard, name))
    try:
        yield
    finally:
        for _, meter in meters:
            meter.report_to(None)


@contextmanager
def _interrupts(budget: Budget) -> Iterator[None]:
    """The first Ctrl-C waits for calls in flight; a second one gives them up."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(signum: int, frame: object) -> None:
        if budget.stopped == "interrupted":
            raise KeyboardInterrupt
        budget.stop("interrupted")

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
