"""A Ray whose workers are threads of this process: it has no other machines, but workers can be lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from tests.ray_module import Gone, Raised, ray_module


class _Actor:
    """A worker, whose methods run in threads."""

    def __init__(self, made: Any) -> None:
        self.made, self.lost = made, False
        self._threads = ThreadPoolExecutor(8)
        self._out: list[Future[Any]] = []

    def __getattr__(self, name: str) -> Any:
        def remote(*arguments: Any) -> Future[Any]:
            future: Future[Any] = Future()
            self._out.append(future)
            self._threads.submit(self._run, future, name, arguments)
            return future

        return SimpleNamespace(remote=remote)

    def _run(self, future: Future[Any], name: str, arguments: tuple[Any, ...]) -> None:
        try:
            value, error = getattr(self.made, name)(*arguments), None
        except BaseException as raised:
            value, error = None, Raised(raised)
        if not self.lost:
            future.set_exception(error) if error else future.set_result(value)

    def lose(self) -> None:
        """It is gone, and whatever it had."""
        self.lost = True
        self.made._asked = SimpleNamespace(get=_for_ever, get_nowait=_for_ever, put=lambda asked: None)
        for future in self._out:
            if not future.done():
                future.set_exception(Gone("the node died"))


def _for_ever(timeout: float | None = None) -> Any:
    raise SystemExit


class ThreadRay:
    """Stands in for the module.

    Args:
        processors: How many workers fit.
    """

    def __init__(self, processors: int) -> None:
        self.processors = processors
        self.actors: list[_Actor] = []

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Stand where Ray is."""
        with ray_module(
            cluster_resources=lambda: {"CPU": self.processors},
            remote=self._remote,
            kill=lambda actor, no_restart: actor.lose(),
            wait=_wait,
            get=lambda future: future.result(),
        ):
            yield

    def _remote(self, kind: type) -> Any:
        def start(*arguments: Any) -> _Actor:
            self.actors.append(_Actor(kind(*arguments)))
            return self.actors[-1]

        return SimpleNamespace(options=lambda **_: SimpleNamespace(remote=start))


def _wait(futures: Sequence[Future[Any]], num_returns: int, timeout: float) -> tuple[list[Any], list[Any]]:
    done, _ = wait(futures, timeout, FIRST_COMPLETED)
    found = [one for one in futures if one in done][:num_returns]
    return found, [one for one in futures if one not in found]
