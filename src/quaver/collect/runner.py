"""Runs a study's requests: workers ask, one writer stores.

Each model has a worker thread that draws requests as fast as the model takes them; answers come
back through one bounded queue to the thread that called ``collect``, which alone writes the store, in
groups of at most 500 responses or half a second.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from queue import Empty, Queue

from quaver.collect.budget import Budget, Gate
from quaver.collect.feed import Feed, Following
from quaver.collect.journal import Journal
from quaver.collect.progress import Outcome, Progress, kind_of
from quaver.collect.store import Store
from quaver.errors import ModelError, QuaverError
from quaver.models import Answered, Model
from quaver.records import Request

__all__ = ["Outcome", "Progress", "collect"]

_GROUP = 500
_SHORTEST, _LONGEST, _SHARE = 0.1, 0.5, 20.0
"""Seconds between two writes, at least and at most; times as long as the last one took, in between. What is
not written is lost to a kill, and to write each answer alone would cost more than to ask."""
_BUNDLE = 64
"""Responses that a fast worker passes on together, and the seconds that it holds them at most."""
_HOLD = 0.05
_QUEUE = 8
"""Bundles that wait to be written: when the disk is full, there must still be room for these."""


class _Worker(threading.Thread):
    """Asks one model."""

    def __init__(
        self, name: str, model: Model, feed: Feed, gate: Gate, budget: Budget, answers: Queue[object]
    ) -> None:
        super().__init__(name=f"quaver-{name}", daemon=True)
        self.model_name, self._model = name, model
        self._feed, self._gate, self._budget, self._answers = feed, gate, budget, answers
        self._held: list[Answered] = []
        self._holding = threading.Lock()

    def run(self) -> None:
        end: BaseException | None = None
        try:
            self._ask()
            while not self._gate.waits and self._feed.has_more(lambda: self._budget.stopped is not None):
                self._ask()
        except BaseException as error:  # carried to the thread that waits for it
            end = error
            self._answers.put(self.hand_over())
        self._answers.put((self.model_name, end))

    def _ask(self) -> None:
        """One round of requests."""
        since, size = time.monotonic(), 0
        for answered in self._model.answer(iter(self._gate)):
            self._budget.settle(*answered)
            with self._holding:
                self._held.append(answered)
            now, size = time.monotonic(), size + len(answered[1])
            if size >= _BUNDLE or now - since > _HOLD:
                self._answers.put(self.hand_over())
                since, size = now, 0
        self._answers.put(self.hand_over())

    def hand_over(self) -> tuple[str, list[Answered]]:
        """The model's name and what it answered since the last time; from any thread."""
        with self._holding:
            held, self._held = self._held, []
        return self.model_name, held


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
    """Send requests until they are answered, and store what comes back.

    Args:
        requests: What is still to be asked, by model.
        models: The models, by the same names.
        store: Where responses go.
        progress: Kept up to date as responses are stored. Models that it has as given up already are not
            among ``requests``.
        budget: What may be spent; everything, if left out.
        watch: Called after every group of responses that was stored, and twice a second.
        journal: Told what happens.
        following: The requests that follow from answers, asked as soon as these are stored.

    Returns:
        How it ended. After Ctrl-C what was in flight has been answered and stored.

    Raises:
        ModelError: A model is of no use; what the others answered is stored.
        StoreError: Responses cannot be written.
    """
    budget, journal = budget or Budget(), journal or Journal()
    sources = {
        name: store.register(name, models[name].identity(), models[name].provenance()) for name in requests
    }
    store.reserve()
    feeds = {name: Feed(requests[name], following) for name in requests}
    gates = {name: Gate(budget, feed) for name, feed in feeds.items()}
    writer = _Writer(store, progress, sources, feeds, budget, watch, journal)
    failures = dict(progress.given_up)
    with _interrupts(budget):
        asked = list(gates)
        while asked:  # again where the budget turned a request away that has room now
            workers = [(name, models[name], feeds[name], gates[name]) for name in asked]
            _ask(workers, writer, budget, failures)
            asked = [name for name, gate in gates.items() if gate.waits and name not in failures]
    if failures or store.full:
        raise _failure(failures, progress) or store.full  # type: ignore[misc]
    spent = budget.spent
    return Outcome(
        budget.stopped or "finished",
        progress.total,
        progress.before,
        progress.done,
        progress.errors,
        progress.elapsed,
        spent.tokens,
        spent.money,
    )


def _ask(
    asked: Sequence[tuple[str, Model, Feed, Gate]],
    writer: _Writer,
    budget: Budget,
    failures: dict[str, Exception],
) -> None:
    """Let some models answer what the budget has room for; what fails is added to ``failures``."""
    answers: Queue[object] = Queue(maxsize=_QUEUE)
    workers = [_Worker(*one, budget, answers) for one in asked]
    for worker in workers:
        worker.start()
    try:
        _listen(answers, workers, writer, budget, failures)
    finally:  # also after a second Ctrl-C: what came in is kept
        writer.flush()
    budget.give_up()


def _failure(failures: Mapping[str, Exception], progress: Progress) -> Exception | None:
    """The first failure; where it was a model's, with which were given up and what is stored."""
    first = next(iter(failures.values()), None)
    if isinstance(first, ModelError):
        told = f"given up: {', '.join(name for name in failures if name)}"
        told += f"; {progress.before + progress.done:,} of {progress.total:,} calls are stored"
        first.fix = f"{first.fix}; {told}" if first.fix else told
    return first


@contextmanager
def _interrupts(budget: Budget) -> Iterator[None]:
    """The first Ctrl-C lets what is in flight come in; a second one gives that up."""
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
    writer: _Writer,
    budget: Budget,
    failures: dict[str, Exception],
) -> None:
    """Take answers in until every worker has ended."""
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
            for worker in workers:  # a slow one may hold an answer while it works on the next
                writer.take(*worker.hand_over())
            try:
                writer.flush()
            except QuaverError as error:  # the answers stay with the writer for a last try
                failures.setdefault("", error)
                budget.stop("interrupted")
                writer.wait()
        if writer.full:
            budget.stop("interrupted")


class _Writer:
    """Gathers answers and writes them in groups."""

    def __init__(
        self,
        store: Store,
        progress: Progress,
        sources: Mapping[str, int],
        feeds: Mapping[str, Feed],
        budget: Budget,
        watch: Callable[[Progress], None],
        journal: Journal,
    ) -> None:
        self._store, self._progress, self._sources, self._feeds = store, progress, sources, feeds
        self._budget, self._watch, self._journal = budget, watch, journal
        self._group: list[tuple[Answered, str]] = []
        self._size = 0
        self._took = 0.0
        self.wait()

    @property
    def full(self) -> bool:
        return self._store.full is not None

    def take(self, model: str, answered: list[Answered]) -> None:
        if answered:
            self._group += [(one, model) for one in answered]
            self._size += sum(len(responses) for _, responses in answered)

    def give_up(self, model: str, error: Exception) -> None:
        self._progress.given_up[model] = error
        self._journal.given_up(model, error)

    def is_due(self) -> bool:
        return self._size >= _GROUP or time.monotonic() >= self.due

    def wait(self) -> None:
        self.due = time.monotonic() + min(_LONGEST, max(_SHORTEST, _SHARE * self._took))

    def flush(self) -> None:
        if self._group:
            began = time.monotonic()
            self._store.write([(one, self._sources[model]) for one, model in self._group])
            self._took = time.monotonic() - began
            stored, self._group, self._size = self._group, [], 0
            for answered, model in stored:
                self._feeds[model].stored(*answered)
            group = [answered for answered, _ in stored]
            self._count(group)
            self._journal.stored(group, self._progress)
        self.wait()
        self._watch(self._progress)

    def _count(self, group: Sequence[Answered]) -> None:
        progress = self._progress
        for request, responses in group:
            progress.done += len(responses)
            progress.by_condition[request.calls[0].condition] += len(responses)
            for response in responses:
                if response.finish == "error":
                    progress.errors += 1
                    progress.by_kind[kind_of(response.error)] += 1
        spent = self._budget.spent
        progress.tokens, progress.money = spent.tokens, spent.money
