"""Requests answered by coroutines, many at a time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import cache
from typing import Any, TypeVar

from quaver.core.model import Answered
from quaver.core.records import Request, Response
from quaver.core.response_validation import error_line

_T = TypeVar("_T")


def side_by_side(
    requests: Iterable[Request],
    answer: Callable[[Request], Coroutine[Any, Any, list[Response]]],
    most: Callable[[], int],
) -> Iterator[Answered]:
    """Answer requests concurrently, as many calls as are allowed then, in the order in which they finish."""
    unasked = iter(requests)
    pending: dict[Future[list[Response]], Request] = {}
    calls = 0
    try:
        while True:
            while calls < most() and (request := next(unasked, None)) is not None:
                pending[_started(answer(request))] = request
                calls += len(request.calls)
            if not pending:
                return
            for future in wait(pending, return_when=FIRST_COMPLETED).done:
                request = pending.pop(future)
                calls -= len(request.calls)
                yield request, future.result()
    finally:
        for future in pending:
            future.cancel()


def finished(coroutine: Coroutine[Any, Any, _T]) -> _T:
    """The result of a coroutine."""
    return _started(coroutine).result()


def _started(coroutine: Coroutine[Any, Any, _T]) -> Future[_T]:
    return asyncio.run_coroutine_threadsafe(_guarded(coroutine), _loop())


async def _guarded(coroutine: Coroutine[Any, Any, _T]) -> _T:
    """The same, but an exit raised inside does not end the loop's thread."""
    try:
        return await coroutine
    except (KeyboardInterrupt, SystemExit) as error:
        raise RuntimeError(error_line(error)) from error


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """The one event loop, in its own thread.

    A notebook's thread already runs a loop, and a client made on one loop cannot be used on another.
    """
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="quaver-loop", daemon=True).start()
    return loop
