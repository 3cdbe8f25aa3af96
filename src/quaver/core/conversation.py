"""Models that answer many requests at a time, on the event loop: servers and asynchronous functions.

A conversation is a model being asked: it is opened for a run, says when it takes another request, and answers
each by a coroutine. `converse` is the loop that asks; `answers_of` makes it an ordinary iterator.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from queue import SimpleQueue
from typing import Any, Protocol, runtime_checkable

from quaver.core.event_loop import started
from quaver.core.model import Answered
from quaver.core.records import Request, Response
from quaver.core.response_validation import failed_response, valid_responses

_PAUSE = 0.2
"""Seconds between two looks for requests that only answers bring about."""


class AnsweredInPart(Exception):
    """A model cannot be asked any more; some calls of a request were answered before.

    Args:
        error: Why.
        answered: These calls, each as a request of its own.
    """

    def __init__(self, error: BaseException, answered: Sequence[Answered]) -> None:
        super().__init__(str(error))
        self.error, self.answered = error, answered


class Conversation(Protocol):
    """A model that is being asked, on the event loop.

    Attributes:
        failed: Why nothing more may be asked; None as long as something may.
        wants: Whether it takes another request now.
        moved: Set when that may have changed.
    """

    moved: asyncio.Event

    @property
    def failed(self) -> BaseException | None: ...  # noqa: D102

    @property
    def wants(self) -> bool: ...  # noqa: D102

    def ask(self, request: Request) -> Coroutine[Any, Any, list[Response]]:
        """Answer a request, which counts from now on."""
        ...

    def no_more(self) -> None:
        """There are no more requests for now."""


@runtime_checkable
class Conversing(Protocol):
    """A model that answers on the event loop."""

    def conversation(self) -> AbstractAsyncContextManager[Conversation]:
        """Open the connection."""
        ...


class Converser:
    """Asks in a conversation until nothing is left.

    Args:
        model: Whom to ask.
        draw: The next request; None if there is none now.
        give: Receives answers, those that came on the same turn of the loop together.
        more: Whether requests may come although there is none now.
    """

    def __init__(
        self,
        model: Conversing,
        draw: Callable[[], Request | None],
        give: Callable[[list[Answered]], None],
        more: Callable[[], bool] = lambda: False,
    ) -> None:
        self._model, self._draw, self._give, self._more = model, draw, give, more
        self._asked = set[asyncio.Task[None]]()
        self._ready: list[Answered] = []
        self._error: BaseException | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._moved: asyncio.Event | None = None

    def wake(self) -> None:
        """Look for requests now; may be called from any thread."""
        if self._loop is not None and self._moved is not None:
            self._loop.call_soon_threadsafe(self._moved.set)

    async def converse(self) -> None:
        """Ask; a fault that no other request would escape is raised once all that was asked has come in."""
        loop = self._loop = asyncio.get_running_loop()
        try:
            async with self._model.conversation() as conversation:
                moved = self._moved = conversation.moved
                while self._ask_more(conversation, loop):
                    moved.clear()
                    with suppress(TimeoutError):
                        async with asyncio.timeout(None if self._asked else _PAUSE):
                            await moved.wait()
        except GeneratorExit:  # the loop is gone
            self._asked.clear()
            raise
        finally:
            for task in self._asked:
                task.cancel()
            if self._asked:
                await asyncio.gather(*self._asked, return_exceptions=True)
            self._hand_over()
        if self._error is not None:
            raise self._error

    def _ask_more(self, conversation: Conversation, loop: asyncio.AbstractEventLoop) -> bool:
        """Ask what may be asked now; whether there is anything to wait for."""
        self._error = self._error or conversation.failed
        while self._error is None and conversation.wants:
            request = self._draw()
            if request is None:
                conversation.no_more()
                return bool(self._asked) or self._more()
            task = loop.create_task(self._answered(request, conversation.ask(request)))
            self._asked.add(task)
            task.add_done_callback(self._landed)
        return bool(self._asked) or self._error is None

    async def _answered(self, request: Request, asked: Coroutine[Any, Any, list[Response]]) -> None:
        try:
            answered = [(request, valid_responses(request, await asked))]
        except AnsweredInPart as part:
            self._error = self._error or part.error
            answered = list(part.answered)
        if not self._ready:
            asyncio.get_running_loop().call_soon(self._hand_over)
        self._ready += answered

    def _landed(self, task: asyncio.Task[None]) -> None:
        self._asked.discard(task)
        if not task.cancelled() and (error := task.exception()):
            self._error = self._error or error
        if self._moved is not None:
            self._moved.set()

    def _hand_over(self) -> None:
        ready, self._ready = self._ready, []
        if ready:
            self._give(ready)


def answers_of(model: Conversing, requests: Iterable[Request]) -> Iterator[Answered]:
    """The answers to requests, as they arrive."""
    source, out = iter(requests), SimpleQueue[list[Answered] | None]()

    async def asked() -> None:
        try:
            await Converser(model, lambda: next(source, None), out.put).converse()
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
    """A conversation with a coroutine function.

    Args:
        answer: Answers a request.
        most: How many calls may be under way now.
        settled: Called with each answer; may raise what ends the conversation.
    """

    def __init__(
        self,
        answer: Callable[[Request], Coroutine[Any, Any, list[Response]]],
        most: Callable[[], int],
        settled: Callable[[Request, list[Response]], None],
    ) -> None:
        self._answer, self._most, self._settled = answer, most, settled
        self._calls = 0
        self.moved = asyncio.Event()
        self.failed: BaseException | None = None

    @classmethod
    @asynccontextmanager
    async def opened(cls, *arguments: Any) -> AsyncIterator[Coroutines]:
        """Nothing needs opening."""
        yield cls(*arguments)

    @property
    def wants(self) -> bool:
        """Whether fewer calls are under way than may be."""
        return self._calls < self._most()

    async def _asked(self, request: Request) -> list[Response]:
        try:
            responses = await self._answer(request)
        except Exception as error:
            responses = [failed_response(error)] * len(request.calls)
        finally:
            self._calls -= len(request.calls)
        try:
            self._settled(request, responses)
        except Exception as error:
            self.failed = self.failed or error
        return responses

    def ask(self, request: Request) -> Coroutine[Any, Any, list[Response]]:
        """Answer a request, which counts from now on."""
        self._calls += len(request.calls)
        return self._asked(request)

    def no_more(self) -> None:
        """Nothing waits for more."""
