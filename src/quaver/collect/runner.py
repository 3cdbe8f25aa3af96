"""Runs a study's requests: workers ask, one writer stores.

Each model has a worker thread that draws requests as fast as the model takes them; answers come
back through one bounded queue to the thread that called ``collect``, which alone writes the store, in
groups of at most 500 responses or half a second.
"""

from __future__ import annotations

import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import Empty, Queue
from typing import Literal

from quaver.collect.store import Store
from quaver.errors import QuaverError
from quaver.models import Answered, Model
from quaver.records import Request

__all__ = ["Outcome", "Progress", "collect"]

_GROUP = 500
_PAUSE = 0.5
_BUNDLE = 64
"""Responses that a fast worker passes on together, and the seconds that it holds them at most."""
_HOLD = 0.05
_QUEUE = 8
"""Bundles that wait to be written: when the disk is full, there must still be room for these."""


@dataclass(slots=True)
class Progress:
    """How far a run has come; times in seconds.

    Attributes:
        total: Calls of the whole study.
        before: Calls that were stored when the run began.
        done: Calls that this run stored.
        errors: How many of these are errors.
        started: When it began, by ``time.monotonic``.
        by_condition: Calls that this run stored, by the position of their condition.
    """

    total: int
    before: int
    done: int = 0
    errors: int = 0
    started: float = field(default_factory=time.monotonic)
    by_condition: Counter[int] = field(default_factory=Counter)

    @property
    def elapsed(self) -> float:
        """Since the run began."""
        return time.monotonic() - self.started

    @property
    def rate(self) -> float:
        """Calls a second in this run."""
        return self.done / self.elapsed if self.done else 0.0

    @property
    def left(self) -> float | None:
        """Seconds to go at this rate; None before the first answer."""
        return (self.total - self.before - self.done) / self.rate if self.done else None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended.

    Attributes:
        ended: ``finished``, or what stopped it before: ``interrupted``, ``calls``, ``seconds``,
            ``requests``.
        total: Calls of the whole study.
        before: Calls that were stored before.
        done: Calls that this run stored.
        errors: How many of these are errors.
        seconds: How long it took.
    """

    ended: Literal["finished", "interrupted", "calls", "seconds", "requests"]
    total: int
    before: int
    done: int
    errors: int
    seconds: float

    @property
    def missing(self) -> int:
        """Calls that are still to be asked."""
        return self.total - self.before - self.done


class _Tap:
    """Lets requests through until something says stop."""

    def __init__(self, calls: int | None, seconds: float | None) -> None:
        self.stopped: Literal["interrupted", "calls", "seconds"] | None = None
        self._left = calls
        self._until = time.monotonic() + seconds if seconds else None
        self._lock = threading.Lock()

    def through(self, requests: Iterator[Request]) -> Iterator[Request]:
        for request in requests:
            if not self._lets(len(request.calls)):
                return
            yield request

    def _lets(self, calls: int) -> bool:
        with self._lock:
            if self.stopped is None and self._until and time.monotonic() >= self._until:
                self.stopped = "seconds"
            if self.stopped is None and self._left is not None:
                if calls > self._left:
                    self.stopped = "calls"
                else:
                    self._left -= calls
            return self.stopped is None


class _Worker(threading.Thread):
    """Asks one model."""

    def __init__(self, name: str, model: Model, requests: Iterator[Request], answers: Queue[object]) -> None:
        super().__init__(name=f"quaver-{name}", daemon=True)
        self._model_name, self._model = name, model
        self._requests, self._answers = requests, answers
        self._held: list[Answered] = []
        self._holding = threading.Lock()

    def run(self) -> None:
        since, size = time.monotonic(), 0
        end: BaseException | None = None
        try:
            for answered in self._model.answer(self._requests):
                with self._holding:
                    self._held.append(answered)
                now, size = time.monotonic(), size + len(answered[1])
                if size >= _BUNDLE or now - since > _HOLD:
                    self._answers.put(self.hand_over())
                    since, size = now, 0
        except BaseException as error:  # carried to the thread that waits for it
            end = error
        self._answers.put(self.hand_over())
        self._answers.put(end)

    def hand_over(self) -> tuple[str, list[Answered]]:
        """The model's name and what it answered since the last time; from any thread."""
        with self._holding:
            held, self._held = self._held, []
        return self._model_name, held


def collect(
    requests: Mapping[str, Iterator[Request]],
    models: Mapping[str, Model],
    store: Store,
    progress: Progress,
    *,
    calls: int | None = None,
    seconds: float | None = None,
    watch: Callable[[Progress], None] = lambda _: None,
) -> Outcome:
    """Send requests until they are answered, and store what comes back.

    Args:
        requests: What is still to be asked, by model.
        models: The models, by the same names.
        store: Where responses go.
        progress: Kept up to date as responses are stored.
        calls: Stop before more than this many are sent.
        seconds: Send nothing more after this long.
        watch: Called after every group of responses that was stored, and twice a second.

    Returns:
        How it ended. After Ctrl-C what was in flight has been answered and stored.

    Raises:
        ModelError: A model is of no use; what the others answered is stored.
        StoreError: Responses cannot be written.
    """
    tap = _Tap(calls, seconds)
    answers: Queue[object] = Queue(maxsize=_QUEUE)
    sources = {
        name: store.register(name, models[name].identity(), models[name].provenance()) for name in requests
    }
    store.reserve()
    workers = [_Worker(name, models[name], tap.through(requests[name]), answers) for name in requests]
    writer = _Writer(store, progress, sources, watch)
    with _interrupts(tap):
        for worker in workers:
            worker.start()
        try:
            failure = _listen(answers, workers, writer, tap)
        finally:  # also after a second Ctrl-C: what came in is kept
            writer.flush()
    if failure or store.full:
        raise failure or store.full  # type: ignore[misc]
    return Outcome(
        tap.stopped or "finished",
        progress.total,
        progress.before,
        progress.done,
        progress.errors,
        progress.elapsed,
    )


@contextmanager
def _interrupts(tap: _Tap) -> Iterator[None]:
    """The first Ctrl-C lets what is in flight come in; a second one gives that up."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(signum: int, frame: object) -> None:
        if tap.stopped == "interrupted":
            raise KeyboardInterrupt
        tap.stopped = "interrupted"

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _listen(
    answers: Queue[object], workers: Sequence[_Worker], writer: _Writer, tap: _Tap
) -> Exception | None:
    """Take answers in until every worker has ended; the first failure, if there was one."""
    failure: Exception | None = None
    running = len(workers)
    while running:
        try:
            message = answers.get(timeout=max(0.01, writer.due - time.monotonic()))
        except Empty:
            message = ()
        if message is None:
            running -= 1
        elif isinstance(message, BaseException):
            running -= 1
            if not isinstance(message, Exception):
                raise message
            failure = failure or message
        elif message:
            writer.take(*message)  # type: ignore[misc]
        if writer.is_due():
            for worker in workers:  # a slow one may hold an answer while it works on the next
                writer.take(*worker.hand_over())
            try:
                writer.flush()
            except QuaverError as error:  # the answers stay with the writer for a last try
                failure, tap.stopped = failure or error, "interrupted"
                writer.wait()
        if writer.full:
            tap.stopped = "interrupted"
    return failure


class _Writer:
    """Gathers answers and writes them in groups."""

    def __init__(
        self, store: Store, progress: Progress, sources: Mapping[str, int], watch: Callable[[Progress], None]
    ) -> None:
        self._store, self._progress, self._sources, self._watch = store, progress, sources, watch
        self._group: list[tuple[Answered, int]] = []
        self._size = 0
        self.due = 0.0
        self.wait()

    @property
    def full(self) -> bool:
        return self._store.full is not None

    def take(self, model: str, answered: list[Answered]) -> None:
        source = self._sources[model]
        self._group += [(one, source) for one in answered]
        self._size += sum(len(responses) for _, responses in answered)

    def is_due(self) -> bool:
        return self._size >= _GROUP or time.monotonic() >= self.due

    def wait(self) -> None:
        self.due = time.monotonic() + _PAUSE

    def flush(self) -> None:
        if self._group:
            self._store.write(self._group)
            for (request, responses), _ in self._group:
                self._progress.done += len(responses)
                self._progress.errors += sum(response.finish == "error" for response in responses)
                self._progress.by_condition[request.calls[0].condition] += len(responses)
            self._group, self._size = [], 0
        self.wait()
        self._watch(self._progress)
