"""What runs in a worker: one model, asked one group of requests after the other."""

from __future__ import annotations

import pickle
import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from importlib.metadata import version
from itertools import chain, count, repeat
from typing import Any, NamedTuple

from quaver.collect.run.model_answers import taken_in_groups
from quaver.core.conversation import Converser, Conversing
from quaver.core.event_loop import finished
from quaver.core.meter import NO_TRAFFIC, Metered, Traffic, little_garbage
from quaver.core.model import Answered, Grouped, Model, Needs, Placed, Probed, Spread
from quaver.core.records import (
    Condition,
    Request,
    Response,
)
from quaver.errors import ModelError

Place = int | tuple[int, int, int]
"""A request's place in its group; for a part of it, also its first call and the number of its calls."""

PlacedAnswer = tuple[Place, Sequence[Response]]
"""A place, and the responses to what was asked there."""


def packed_requests(requests: Sequence[Request]) -> bytes:
    """A group of requests."""
    return pickle.dumps(list(requests), pickle.HIGHEST_PROTOCOL)


def unpacked_requests(packed: bytes) -> list[Request]:
    """What was packed."""
    found: list[Request] = pickle.loads(packed)
    return found


def packed_answers(answers: Sequence[PlacedAnswer]) -> bytes:
    """The answers to a group."""
    return pickle.dumps(list(answers), pickle.HIGHEST_PROTOCOL)


def unpacked_answers(packed: bytes) -> list[tuple[Place, list[Response]]]:
    """What was packed."""
    found: list[tuple[Place, list[Response]]] = pickle.loads(packed)
    return found


_QUAVER = version("quaver")


class Setup(NamedTuple):
    """What a worker needs to know before it is asked anything.

    Attributes:
        make: Makes the model, not loaded yet.
        identity: What must be served; empty where another process cannot find it out.
        repeats: The most calls in a request.
        place: The conditions and the items' ids, for a model that must know them.
        needs: What the study needs of a server.
        found: What the driver found out about that server.
        share: This worker's share of the rate that the study gives; 0 for no rate.
        version: The driver's Quaver: it takes a worker's answers as checked.
    """

    make: Callable[[], Model]
    identity: str = ""
    repeats: int = 1
    place: tuple[Sequence[Condition], Sequence[str]] | None = None
    needs: Needs | None = None
    found: Any = None
    share: float = 0.0
    version: str = _QUAVER


class Came(NamedTuple):
    """What a worker has answered since it was last looked at.

    Attributes:
        answers: For each group, its number, its packed answers, and whether these were its last.
        traffic: The traffic that became no answer.
        held: How many requests the model works on at a time.
        hungry: Whether it would have worked on more.
    """

    answers: list[tuple[int, bytes, bool]]
    traffic: Traffic
    held: int
    hungry: bool


class _Group:
    """The answers to a group of requests."""

    def __init__(self, size: int, full: threading.Event) -> None:
        self.answers: list[PlacedAnswer] = []
        self.left, self._full = size, full

    def add(self, place: Place, responses: list[Response]) -> None:
        self.answers.append((place, responses))
        self.left -= isinstance(place, int)
        if not self.left:
            self._full.set()


_Asked = tuple[Request, Any, int]
"""A request, its group, and its place there."""
_LOOK = 0.5
"""Seconds between two looks whether the model has failed."""
_HUNGRY = 0.05
"""Seconds for which a model that works on several requests waits for another, before it is out of work."""


class RemoteWorker:
    """A model in a process of its own. It stores nothing and decides nothing.

    Groups may be sent before earlier ones have ended: the model draws from all of them, so that it is never
    without work between two groups. Answers are handed over as they arrive.
    """

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._model: Model | None = None
        self._asked: queue.SimpleQueue[Iterator[_Asked]] = queue.SimpleQueue()
        self._next: Iterator[_Asked] = iter(())
        self._failed: BaseException | None = None
        self._starting, self._adding = threading.Lock(), threading.Lock()
        self._some, self._full = threading.Event(), threading.Event()
        self._groups: dict[int, _Group] = {}
        self._places: dict[int, _Asked] = {}
        self._most = 0
        self._hungry = self._is_fast = False
        self._converser: Converser | None = None

    def ready(self) -> None:
        """Make the model, which can be asked then."""
        with self._starting:
            if self._model is None:
                self._model = self.make()
                self._is_fast = isinstance(self._model, Grouped)
                threading.Thread(target=self._work, args=(self._model,), daemon=True).start()

    def make(self) -> Model:
        """Make the model."""
        return _made(self._setup)

    def take(self, number: int, packed: bytes) -> None:
        """Ask a group of packed requests."""
        requests = unpacked_requests(packed)
        group = self._groups[number] = _Group(len(requests), self._full)
        self.ask(requests, group)

    def collect(self, held: float) -> Came:
        """What has been answered, as soon as a group is over or some answers have waited long enough."""
        while self._failed is None and not self._some.wait(_LOOK):
            pass
        if self._failed is None:
            self._full.wait(held)
        with self._adding:
            self._some.clear()
            self._full.clear()
            most, self._most = max(self._most, len(self._places)), 0
            hungry, self._hungry = self._hungry, False
            answers = [*self._handed_over()]
        if self._failed is not None and not answers:
            raise self._failed
        traffic = self._model.meter.take() if isinstance(self._model, Metered) else NO_TRAFFIC
        return Came(answers, traffic, most, hungry)

    def _handed_over(self) -> Iterator[tuple[int, bytes, bool]]:
        for number, group in list(self._groups.items()):
            if not group.left:
                del self._groups[number]
            if group.answers:
                answers, group.answers = group.answers, []
                yield number, packed_answers(answers), not group.left

    def ask(self, requests: Sequence[Request], group: Any) -> None:
        """Have requests answered, and each answer added to the group."""
        self._asked.put(zip(requests, repeat(group), count()))
        if self._converser is not None:
            self._converser.wake()

    def _work(self, model: Model) -> None:
        """Ask the model whatever groups bring."""
        try:
            with little_garbage():
                if isinstance(model, Conversing):
                    self._converser = Converser(model, self._drawn_now, self._give, lambda: True)
                    finished(self._converser.converse())
                while True:
                    self._next = self._left()
                    for answers in taken_in_groups(model, self._drawn()):
                        self._give(answers)
        except BaseException as error:  # raised again for whoever waits
            self._fail(error)

    def _give(self, answers: Sequence[Answered]) -> None:
        with self._adding:
            self._add(answers)
        self._some.set()

    def _drawn_now(self) -> Request | None:
        """The next request, if there is one."""
        while (asked := next(self._next, None)) is None:
            try:
                self._next = self._asked.get_nowait()
            except queue.Empty:
                self._hungry = True
                return None
        self._places[id(asked[0])] = asked
        return asked[0]

    def _left(self) -> Iterator[_Asked]:
        """What the model has left of a group, else the next group as soon as there is one."""
        first = next(self._next, None)
        return self._asked.get() if first is None else chain([first], self._next)

    def _drawn(self) -> Iterator[Request]:
        """Requests as the model takes them in."""
        places, more = self._places, True
        while more:
            for one in self._next:
                places[id(one[0])] = one
                yield one[0]
            more = self._more()

    def _add(self, answers: Sequence[Answered]) -> None:
        self._most = max(self._most, len(self._places))
        for request, responses in answers:
            if (whole := self._places.pop(id(request), None)) is not None:
                _, group, index = whole
                group.add(index, responses)
            else:
                _add_part(self._places.values(), request, responses)

    def _more(self) -> bool:
        """Go on to the next group; False if there is none now, so that the model ends what it works on.

        A model that works on several requests at a time would be without work until then. So it waits for a
        moment, and the driver hears that it has room for more.
        """
        with suppress(queue.Empty):
            self._next = self._asked.get_nowait()
            return True
        if self._is_fast or not self._places:
            return False
        self._hungry = True
        self._some.set()
        self._full.set()
        with suppress(queue.Empty):
            self._next = self._asked.get(timeout=_HUNGRY)
            return True
        return False

    def _fail(self, error: BaseException) -> None:
        """The model cannot be asked any more."""
        self._failed = error
        self._some.set()


def _add_part(asked: Iterable[_Asked], part: Request, responses: list[Response]) -> None:
    """Add the answers to a part of a request, which a model gives before it fails."""
    for whole, group, index in list(asked):
        if part.calls[0] in whole.calls:
            group.add((index, whole.calls.index(part.calls[0]), len(part.calls)), responses)


def _made(setup: Setup) -> Model:
    if setup.version != _QUAVER:
        raise ModelError(
            "a Ray worker has another version of Quaver than the driver",
            where="run.on: ray",
            expected=setup.version,
            found=_QUAVER,
            fix="install the same version on every node",
        )
    model = setup.make()
    if setup.identity and model.identity() != setup.identity:
        raise ModelError(
            "a Ray worker has another model than the driver",
            where="run.on: ray",
            expected=setup.identity,
            found=model.identity(),
            fix="put the same weights and the same versions on every node",
        )
    if setup.place is not None and isinstance(model, Placed):
        model.place(*setup.place)
    model.prepare(setup.repeats)
    if setup.share and isinstance(model, Spread):
        model.keep_share(setup.share)
    if setup.found is not None and isinstance(model, Spread):
        model.found = setup.found
    elif setup.needs is not None and isinstance(model, Probed):
        model.probe(setup.needs)
    return model
