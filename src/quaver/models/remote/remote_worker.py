"""What runs in a worker: one model, asked one group of requests after the other."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from quaver.collect.run.model_answers import taken
from quaver.core.meter import NO_TRAFFIC, Metered, Traffic
from quaver.core.model import Model, Needs, Placed, Probed, Spread
from quaver.core.records import Condition, Request, Response
from quaver.errors import ModelError
from quaver.models.remote.packed import Place, PlacedAnswer, packed_answers, unpacked_requests


class Setup(NamedTuple):
    """What a worker needs to know before it is asked anything.

    Attributes:
        make: Makes the model, not loaded yet.
        identity: What must be served; empty where another process cannot find it out.
        repeats: The most calls in a request.
        place: The conditions and the items' ids, for a model that must know them.
        needs: What the study needs of a server.
        found: What the driver found out about that server.
    """

    make: Callable[[], Model]
    identity: str = ""
    repeats: int = 1
    place: tuple[Sequence[Condition], Sequence[str]] | None = None
    needs: Needs | None = None
    found: Any = None


Returned = tuple[bytes, Traffic]
"""The packed responses to a group's requests by their places in it, and the traffic that became no answer."""


class _Group:
    """The answers to a group of requests."""

    def __init__(self, size: int) -> None:
        self.answers: list[PlacedAnswer] = []
        self._left, self.done = size, threading.Event()

    def add(self, place: Place, responses: list[Response]) -> None:
        self.answers.append((place, responses))
        self._left -= isinstance(place, int)
        if not self._left:
            self.done.set()


_Asked = tuple[Request, Any, int]
_LOOK = 0.5
"""Seconds between two looks whether the model has failed."""


class RemoteWorker:
    """A model in a process of its own. It stores nothing and decides nothing.

    Groups may be sent before earlier ones have ended: the model draws from all of them, so that it is never
    without work between two groups.
    """

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._model: Model | None = None
        self._asked: queue.SimpleQueue[_Asked] = queue.SimpleQueue()
        self._failed: BaseException | None = None
        self._starting = threading.Lock()

    def ready(self) -> bool:
        """Make the model; True once it can be asked.

        Raises:
            ModelError: It cannot be used here, or is not the driver's.
        """
        with self._starting:
            if self._model is None:
                self._model = self.make()
                threading.Thread(target=self._work, args=(self._model,), daemon=True).start()
        return True

    def make(self) -> Model:
        """Make the model.

        Raises:
            ModelError: It cannot be used here, or is not the driver's.
        """
        return _made(self._setup)

    def ask(self, requests: Sequence[Request], group: Any) -> None:
        """Have requests answered, and each answer added to the group."""
        for place, request in enumerate(requests):
            self._asked.put((request, group, place))

    def answer(self, packed: bytes) -> Returned:
        """Answer a group of packed requests.

        Raises:
            ModelError: The model cannot be used.
        """
        self.ready()
        requests = unpacked_requests(packed)
        group = _Group(len(requests))
        self.ask(requests, group)
        while not group.done.wait(_LOOK):
            if self._failed is not None and not group.done.is_set():
                raise self._failed
        traffic = self._model.meter.take() if isinstance(self._model, Metered) else NO_TRAFFIC
        return packed_answers(group.answers), traffic

    def _work(self, model: Model) -> None:
        """Ask the model whatever groups bring. It never waits for a request while it works on others."""
        places: dict[int, _Asked] = {}

        def drawn(first: _Asked) -> Iterator[Request]:
            asked: _Asked | None = first
            while asked is not None:
                request = asked[0]
                places[id(request)] = asked
                yield request
                asked = self._more()

        try:
            while True:
                for request, responses in taken(model, drawn(self._asked.get())):
                    if (whole := places.pop(id(request), None)) is not None:
                        _, group, place = whole
                        group.add(place, responses)
                    else:
                        _add_part(places.values(), request, responses)
        except BaseException as error:  # raised again for whoever waits
            self._fail(error)

    def _more(self) -> _Asked | None:
        """The next request; None if there is none now."""
        try:
            return self._asked.get_nowait()
        except queue.Empty:
            return None

    def _fail(self, error: BaseException) -> None:
        """The model cannot be asked any more."""
        self._failed = error


def _add_part(asked: Iterable[_Asked], part: Request, responses: list[Response]) -> None:
    """Add the answers to a part of a request, which a model gives before it fails."""
    for whole, group, place in asked:
        if part.calls[0] in whole.calls:
            group.add((place, whole.calls.index(part.calls[0]), len(part.calls)), responses)


def _made(setup: Setup) -> Model:
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
    if setup.found is not None and isinstance(model, Spread):
        model.found = setup.found
    elif setup.needs is not None and isinstance(model, Probed):
        model.probe(setup.needs)
    return model
