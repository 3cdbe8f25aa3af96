"""The one event loop on which models are asked, in a thread of its own.

A notebook's thread already runs a loop, and a client that was made on one loop cannot be used on another.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from functools import cache
from typing import Any, TypeVar

from quaver.core.response_validation import error_line

_T = TypeVar("_T")


def started(coroutine: Coroutine[Any, Any, _T]) -> Future[_T]:
    """Start a coroutine; its result, once it is there."""
    return asyncio.run_coroutine_threadsafe(_guarded(coroutine), _loop())


def finished(coroutine: Coroutine[Any, Any, _T]) -> _T:
    """The result of a coroutine."""
    future = started(coroutine)
    try:
        return future.result()
    finally:
        future.cancel()  # where whoever waited was interrupted


async def in_thread(work: Callable[[], None], name: str) -> BaseException | None:
    """Do work that blocks in a thread of its own; what it raised, if anything."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[BaseException | None] = loop.create_future()

    def settle(error: BaseException | None) -> None:
        if not done.done():
            done.set_result(error)

    def run() -> None:
        raised = None
        try:
            work()
        except BaseException as error:  # whoever waits decides
            raised = error
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(settle, raised)

    threading.Thread(target=run, name=name, daemon=True).start()
    return await done


async def _guarded(coroutine: Coroutine[Any, Any, _T]) -> _T:
    """The same, but an exit raised inside does not end the loop's thread."""
    try:
        return await coroutine
    except (KeyboardInterrupt, SystemExit) as error:
        raise RuntimeError(error_line(error)) from error


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="quaver-loop", daemon=True).start()
    return loop


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_loop.cache_clear)  # the thread stays with the parent
