"""Runs a study's requests: workers ask, one writer stores.

Each model has a worker thread that draws requests as fast as the model takes them. Answers return through a
bounded queue to the thread that called ``collect``, which alone writes to the store, in groups (``writer``).
Every answer goes to the spill first.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from queue import Empty, Queue

from quaver.collect.run.ledger import Feed, Following
from quaver.collect.run.model_answers import taken_in_groups
from quaver.collect.run.progress import Budget, Gate, Outcome, Progress
from quaver.collect.run.writer import AskedModel, Journal, Kept, Writer
from quaver.collect.store.response_store import Store
from quaver.core.meter import little_garbage
from quaver.core.model import Model
from quaver.core.records import Request
from quaver.errors import ModelError, QuaverError

__all__ = ["Outcome", "Progress", "collect"]

_BUNDLE, _BUNDLE_BYTES = 512, 2**17
"""Responses, and their bytes, that a fast worker passes on together; the seconds that it holds them."""
_HOLD = 0.05
_QUEUE = 4
"""Bundles waiting to be written."""


class _Worker(threading.Thread):
    """Asks one model."""

    def __init__(self, model: AskedModel, budget: Budget, answers: Queue[object], writer: Writer) -> None:
        super().__init__(name=f"quaver-{model.name}", daemon=True)
        self._asked, self._budget, self._answers, self._writer = model, budget, answers, writer
        self._held: list[Kept] = []
        self._holding = threading.Lock()

    def run(self) -> None:
        end: BaseException | None = None
        try:
            self._ask()
            while not self._asked.gate.waits and self._asked.feed.has_more(
                lambda: self._budget.stopped is not None
            ):
                self._ask()
        except BaseException as error:  # raised again in the thread that waits
            end = error
            self._answers.put(self.hand_over())
        self._answers.put((self._asked.name, end))

    def _ask(self) -> None:
        """One round of requests."""
        since, size, weight = time.monotonic(), 0, 0
        for group in taken_in_groups(self._asked.model, iter(self._asked.gate)):
            if not group:
                continue
            kept = self._writer.keep(self._asked.name, group)
            self._budget.settle(kept.answered)
            with self._holding:
                self._held.append(kept)
            now, size, weight = time.monotonic(), size + kept.calls, weight + kept.weight
            if size >= _BUNDLE or weight >= _BUNDLE_BYTES or now - since > _HOLD:
                self._answers.put(self.hand_over())
                since, size, weight = now, 0, 0
        self._answers.put(self.hand_over())

    def hand_over(self) -> tuple[str, list[Kept]]:
        """The model's name and its answers since the last call; thread-safe."""
        with self._holding:
            held, self._held = self._held, []
        return self._asked.name, held


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
) -> Outcome:
    """Send requests until they are answered, and store the responses.

    Returns:
        The outcome. After Ctrl-C, calls in flight have been answered and stored.
    """
    budget, journal = budget or Budget(), journal or Journal()
    asked: dict[str, AskedModel] = {}
    for name in requests:
        model = models[name]
        source = store.register(name, model.identity(), model.provenance())
        feed = Feed(requests[name], following)
        asked[name] = AskedModel(name, model, source, feed, Gate(budget, feed))
    spill = store.spill()
    writer = Writer(store, spill, progress, asked, budget, watch, journal)
    failures = dict(progress.given_up)
    with _interrupts(budget), closing(spill), _metering(asked, budget), little_garbage():
        left = list(asked)
        while left:  # again, if the budget now has room for a request that it refused
            _ask([asked[name] for name in left], writer, budget, failures)
            left = [name for name, one in asked.items() if one.gate.waits and name not in failures]
    if failures:
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
    answers: Queue[object] = Queue(maxsize=_QUEUE)
    workers = [_Worker(model, budget, answers, writer) for model in models]
    for worker in workers:
        worker.start()
    try:
        _listen(answers, workers, writer, budget, failures)
    finally:  # also after a second Ctrl-C
        writer.flush()
    budget.give_up()


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


def _listen(
    answers: Queue[object],
    workers: Sequence[_Worker],
    writer: Writer,
    budget: Budget,
    failures: dict[str, Exception],
) -> None:
    """Receive answers until every worker has ended."""
    running = len(workers)
    while running:
        name: str
        message: object
        try:
            name, message = answers.get(timeout=max(0.01, writer.due - time.monotonic()))  # type: ignore[misc]
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
            for worker in workers:  # a slow worker may hold an answer while it works on the next
                writer.take(*worker.hand_over())
            try:
                writer.flush()
            except QuaverError as error:  # the writer keeps the answers for a last try
                failures.setdefault("", error)
                budget.stop("interrupted")
                writer.wait()
