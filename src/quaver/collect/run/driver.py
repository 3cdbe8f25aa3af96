"""The driver: asks a study's models on one event loop, and stores what they answer.

A model that answers on the event loop is asked there, any other in a thread of its own. Their answers go to
the spill at once, and the thread that called ``collect``, which alone writes to the store, writes them in
groups (``writer``).
"""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial

from quaver.collect.run.feed import Feed, Following
from quaver.collect.run.journal import Journal
from quaver.collect.run.progress import Budget, Outcome, Progress
from quaver.collect.run.writer import AskedModel, Writer
from quaver.collect.store.response_store import Store
from quaver.core.calls import Request
from quaver.core.conversation import started
from quaver.core.meter import little_garbage
from quaver.core.model import Model
from quaver.errors import ModelError, QuaverError

__all__ = ["Outcome", "Progress", "collect"]

_IN_FLIGHT = 1.5
"""Seconds for which an interrupted run waits for the calls in flight."""


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
        The outcome. After Ctrl-C, calls in flight that were answered within 1.5 seconds are stored.
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
    stopping = _interrupts(budget, progress, watch)
    with stopping as is_over, closing(spill), closing(writer), _metering(asked, budget), little_garbage():
        left = list(asked)
        while left:  # again, if the budget now has room for a request that it refused
            _ask([asked[name] for name in left], writer, budget, failures, is_over)
            left = [name for name, model in asked.items() if model.feed.is_refused and name not in failures]
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
    is_over: Callable[[], bool],
) -> None:
    """Let models answer what the budget has room for; adds failures to ``failures``.

    Raises:
        KeyboardInterrupt: It was interrupted, and calls in flight have been waited for long enough.
    """

    async def one(model: AskedModel) -> None:
        writer.ended(model.name, await model.ask(partial(writer.keep, model.name)))

    async def every() -> None:
        await asyncio.gather(*map(one, models))

    asking = started(every())
    try:
        for _ in _listened(len(models), writer, budget, failures):
            if is_over():
                raise KeyboardInterrupt
    finally:  # also after a second Ctrl-C
        asking.cancel()
        writer.flush()
    budget.give_up()


def _listened(running: int, writer: Writer, budget: Budget, failures: dict[str, Exception]) -> Iterator[None]:
    """Write what arrives until every model has ended; gives the turn back after each group."""
    while running:
        for name, end in writer.news():
            running -= 1
            if isinstance(end, Exception):
                failures[name] = end
                writer.give_up(name, end)
            elif end is not None:
                raise end
        try:
            if writer.is_due():
                writer.flush()
        except QuaverError as error:  # the writer keeps the answers for a last try
            failures.setdefault("", error)
            budget.stop("interrupted")
            writer.put_off()
        yield


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
def _interrupts(
    budget: Budget, progress: Progress, watch: Callable[[Progress], None]
) -> Iterator[Callable[[], bool]]:
    """The first Ctrl-C waits for calls in flight; a second one gives them up.

    Yields:
        Whether they have been waited for long enough after the first.
    """
    pressed: list[float] = []

    def is_over() -> bool:
        return bool(pressed) and time.monotonic() - pressed[0] >= _IN_FLIGHT

    def handle(signum: int, frame: object) -> None:
        if budget.stopped == "interrupted":
            raise KeyboardInterrupt
        budget.stop("interrupted")
        pressed.append(time.monotonic())
        progress.stopping = True
        watch(progress)

    if threading.current_thread() is not threading.main_thread():
        yield is_over
        return
    before = signal.signal(signal.SIGINT, handle)
    try:
        yield is_over
    finally:
        signal.signal(signal.SIGINT, before)
