"""Models that answer many calls at a time, on the event loop: servers and asynchronous functions.

A conversation is a model being asked: it is opened for a run, says when it takes another call, and answers
each by a coroutine. `converse` is the loop that asks; `answers_of` makes it an ordinary iterator.

There is one event loop, in a thread of its own: a notebook has one already, and a client that was
made on one loop cannot be used on another.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, suppress
from functools import cache
from queue import SimpleQueue
from typing import Any, Protocol, TypeVar, runtime_checkable

from quaver.core.calls import Request, Response
from quaver.core.model import Answered
from quaver.core.response_validation import FailedItems, error_line, failed_response, valid_response

_PAUSE = 0.2
"""Seconds between two looks for requests that only answers bring about."""


class Conversation(Protocol):
    """A model that is being asked, on the event loop.

    Attributes:
        failed: Why nothing more may be asked; None as long as something may.
        wants: Whether it takes another call now.
        moved: Set when that may have changed.
    """

    moved: asyncio.Event

    @property
    def failed(self) -> BaseException | None: ...  # noqa: D102

    @property
    def wants(self) -> bool: ...  # noqa: D102

    def ask(self, request: Request) -> Coroutine[Any, Any, Response]:
        """Answer a request of one call, which counts from now on."""
        ...

    def no_more(self) -> None:
        """There are no more calls for now."""


@runtime_checkable
class Conversing(Protocol):
    """A model that answers on the event loop."""

    def conversation(self) -> AbstractAsyncContextManager[Conversation]:
        """Open the connection."""
        ...


async def converse(
    model: Conversing,
    draw: Callable[[], Request | None],
    give: Callable[[Sequence[Answered]], object],
    more: Callable[[], bool] = lambda: False,
) -> None:
    """Ask until nothing is left; a fault that no other call would escape is raised once all have come in.

    Args:
        model: Whom to ask.
        draw: The next request; None if there is none now.
        give: Receives answers, those that came on the same turn of the loop together.
        more: Whether requests may come although there is none now.
    """
    asking = _Asking(draw, give, more)
    try:
        async with model.conversation() as conversation:
            while asking.ask_more(conversation):
                conversation.moved.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(None if asking.asked else _PAUSE):
                        await conversation.moved.wait()
    except GeneratorExit:  # the loop is gone
        asking.asked.clear()
        raise
    finally:
        for task in asking.asked:
            task.cancel()
        if asking.asked:
            await asyncio.gather(*asking.asked, return_exceptions=True)
        asking.hand_over()
    if asking.errors:
        raise asking.errors[0]


class _Asking:
    """The requests that a conversation is being asked, and their answers.

    Attributes:
        asked: Those under way.
        errors: What their calls raised.
    """

    def __init__(
        self,
        draw: Callable[[], Request | None],
        give: Callable[[Sequence[Answered]], object],
        more: Callable[[], bool],
    ) -> None:
        self._draw, self._give, self._more = draw, give, more
        self._loop = asyncio.get_running_loop()
        self._ready: list[Answered] = []
        self.asked: set[asyncio.Task[None]] = set()
        self.errors: list[BaseException] = []

    def ask_more(self, conversation: Conversation) -> bool:
        """Ask what may be asked now; whether there is anything to wait for."""
        failed = conversation.failed or (self.errors and self.errors[0])
        while not failed and conversation.wants:
            if (request := self._draw()) is None:
                conversation.no_more()
                return bool(self.asked) or self._more()
            parts = [request.part((call,)) for call in request.calls] if len(request.calls) > 1 else [request]
            calls = list(map(conversation.ask, parts))
            task = self._loop.create_task(self._answered(request, calls))
            self.asked.add(task)
            task.add_done_callback(self.asked.discard)
            task.add_done_callback(lambda _: conversation.moved.set())
        if conversation.failed and not self.errors:
            self.errors.append(conversation.failed)
        return bool(self.asked) or not failed

    async def _answered(self, request: Request, calls: list[Coroutine[Any, Any, Response]]) -> None:
        landed = await asyncio.gather(*calls, return_exceptions=True)
        good = []
        for call, answer in zip(request.calls, landed, strict=True):
            if isinstance(answer, BaseException):
                self.errors.append(answer)
            else:
                good.append((call, valid_response(answer)))
        if good and not self._ready:
            self._loop.call_soon(self.hand_over)
        if len(good) == len(calls):
            self._ready.append((request, [response for _, response in good]))
        else:
            self._ready.extend((request.part((call,)), [response]) for call, response in good)

    def hand_over(self) -> None:
        """Give the answers that have come."""
        if self._ready:
            some, self._ready = self._ready, []
            self._give(some)


def answers_of(model: Conversing, requests: Iterable[Request]) -> Iterator[Answered]:
    """The answers to requests, as they arrive."""
    source, out = iter(requests), SimpleQueue[Sequence[Answered] | None]()

    async def asked() -> None:
        try:
            await converse(model, lambda: next(source, None), out.put)
        finally:
            out.put(None)

    future = started(asked())
    try:
        while (group := out.get()) is not None:
            yield from group
        future.result()
    finally:
        future.cancel()


class Coroutines:
    """A conversation with a coroutine function, so many calls at a time.

    Args:
        answer: Answers a call.
        most: How many may be under way.
        failed: Counts items that fail in a row, which end the conversation.
    """

    def __init__(
        self, answer: Callable[[Request], Coroutine[Any, Any, Response]], most: int, failed: FailedItems
    ) -> None:
        self._answer, self._most, self._failed = answer, most, failed
        self._calls = 0
        self.moved = asyncio.Event()
        self.failed: BaseException | None = None

    @property
    def wants(self) -> bool:
        """Whether fewer calls are under way than may be."""
        return self._calls < min(self._most, max(1, self._failed.room))

    def no_more(self) -> None:
        """Nothing waits for more."""

    def ask(self, request: Request) -> Coroutine[Any, Any, Response]:
        """Answer a call, which counts from now on."""
        self._calls += 1
        return self._asked(request)

    async def _asked(self, request: Request) -> Response:
        try:
            response = await self._answer(request)
        except Exception as error:
            response = failed_response(error)
        finally:
            self._calls -= 1
        self._failed.note(request, response)
        try:
            self._failed.check(response.error)
        except Exception as error:
            self.failed = self.failed or error
        return response


_T = TypeVar("_T")


def started(coroutine: Awaitable[_T]) -> Future[_T]:
    """Start a coroutine; its result, once it is there."""
    return asyncio.run_coroutine_threadsafe(_guarded(coroutine), _loop())


def finished(coroutine: Awaitable[_T]) -> _T:
    """The result of a coroutine."""
    future = started(coroutine)
    try:
        return future.result()
    finally:
        future.cancel()  # where whoever waited was interrupted


def one_by_one(values: AsyncGenerator[_T, None]) -> Iterator[_T]:
    """The values of an asynchronous generator, each once it is asked for."""
    try:
        with suppress(StopAsyncIteration):
            while True:
                yield finished(anext(values))
    finally:
        finished(values.aclose())


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


async def _guarded(coroutine: Awaitable[_T]) -> _T:
    """Run a coroutine whose exits do not end the loop's thread; what it returns."""
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
