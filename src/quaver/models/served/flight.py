"""Calls in flight: drawn, sent, retried, and handed over once their request is complete.

Three threads take part. One draws requests, since drawing may wait for an answer in flight; one runs the
event loop that sends; the third, which iterates over the generator, receives complete requests.
"""

from __future__ import annotations

import asyncio
import math
import random
import threading
import time
from asyncio import AbstractEventLoop
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

from quaver.core.meter import Meter
from quaver.core.model import Answered
from quaver.core.records import Request, Response
from quaver.core.response_validation import error_response, failed_response
from quaver.errors import ModelError, RateLimited
from quaver.models.served.pace import Health, Pace, Sent
from quaver.models.served.parts import Part, Rejected
from quaver.models.served.rate import Limits
from quaver.models.served.server_faults import Address, Passing, Refused


@dataclass(frozen=True, slots=True)
class Landed:
    """What came back for a part.

    Attributes:
        responses: One for each call.
        limits: What the server says is left of its limits.
    """

    responses: list[Response]
    limits: Limits | None = None

    @property
    def tokens(self) -> int | None:
        """The tokens that the part took; None where the server does not count them."""
        first = self.responses[0]
        written = [response.completion_tokens for response in self.responses]
        if len(self.responses) > 1 and first.raw:
            written = [first.raw.get("completion_tokens_of_request")]
        if first.prompt_tokens is None or None in written:
            return None
        return first.prompt_tokens + sum(tokens or 0 for tokens in written)


Send = Callable[[Any, Part], Awaitable[Landed]]
"""Sends a part over a connection, once; raises ``Passing`` or a ``ModelError``."""


class Drawer(threading.Thread):
    """Draws as many requests as are wanted, and hands them to an event loop.

    Args:
        requests: The requests; drawing one may block.
        loop: The event loop.
        drawn: Called on the loop with the requests drawn since the last call.
        ended: Called on the loop when there are no more, with the exception that drawing raised, if any.
    """

    def __init__(
        self,
        requests: Iterable[Request],
        loop: AbstractEventLoop,
        drawn: Callable[[list[Request]], None],
        ended: Callable[[BaseException | None], None],
    ) -> None:
        super().__init__(name="quaver-drawer", daemon=True)
        self._requests, self._loop, self._drawn, self._ended = requests, loop, drawn, ended
        self._wanted: SimpleQueue[int] = SimpleQueue()
        self._left = 0
        self._stopped = False
        self._ready: deque[Request] = deque()
        self._is_scheduled = False

    def want(self, requests: int) -> None:
        """Draw this many more."""
        self._wanted.put(requests)

    def stop(self) -> None:
        """Draw no more."""
        self._stopped = True
        self._wanted.put(1)

    def run(self) -> None:
        """Draw until there are no more."""
        error: BaseException | None = None
        with suppress(RuntimeError):  # the loop has ended
            try:
                requests = iter(self._requests)
                while self._is_wanted():
                    self._draw(next(requests))
                return
            except StopIteration:
                pass
            except BaseException as raised:  # raised again where the answers are read
                error = raised
            self._loop.call_soon_threadsafe(self._ended, error)

    def _is_wanted(self) -> bool:
        if not self._left:
            self._left = self._wanted.get()
        self._left -= 1
        return not self._stopped

    def _draw(self, request: Request) -> None:
        self._ready.append(request)
        if not self._is_scheduled:  # waking the loop for each would cost more than sending
            self._is_scheduled = True
            self._loop.call_soon_threadsafe(self._hand_over)

    def _hand_over(self) -> None:
        """On the loop."""
        self._is_scheduled = False  # later requests schedule this again
        self._drawn([self._ready.popleft() for _ in range(len(self._ready))])


_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 8.0
_UNREACHED = 3
"""Tries to reach a server that has not answered once."""
_MOMENT = 1e-6
"""Seconds for which no timer is set: it may go off as much too early, and the next one would again."""


class Flight:
    """Sends requests concurrently, on an event loop in its own thread.

    Args:
        send: Sends a part over a connection.
        pace: Decides when to send.
        address: The server, for errors.
        shared: Whether a request's calls are sent together.
        retries: How often a call is retried.
        patience: Seconds without an answer after which the server is given up.
        meter: Knows whether the budget has room for retrying a call that was billed, and says what the server
            asks to wait for.
    """

    def __init__(
        self,
        send: Send,
        pace: Pace,
        address: Address,
        *,
        shared: bool,
        retries: int,
        patience: float,
        meter: Meter | None = None,
    ) -> None:
        self._meter = meter or Meter()
        self._rejected = Rejected()
        self._send, self._pace, self._address = send, pace, address
        self._shared, self._retries = shared, retries
        self._health, self._patience = Health(patience), patience
        self._waiting: deque[Part] = deque()
        self._resting: set[asyncio.TimerHandle] = set()
        self._flying: set[asyncio.Task[None]] = set()
        self._unfinished = 0
        self._asked_for = 0
        self._draws = self._ended = False
        self._error: BaseException | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._started = threading.Event()
        self._begun: dict[int, list[Part]] = {}
        self._ready: list[Answered] = []
        self._out: SimpleQueue[list[Answered] | None] = SimpleQueue()
        self._completed = self._taken = 0  # each is counted by one thread

    def answers(self, requests: Iterable[Request], connected: Callable[[], Any]) -> Iterator[Answered]:
        """The answers, as they arrive."""
        thread = threading.Thread(
            target=self._in_thread, args=(requests, connected), name="quaver-flight", daemon=True
        )
        thread.start()
        self._started.wait()
        try:
            while (batch := self._out.get()) is not None:
                for answered in batch:
                    yield answered
                    self._taken += 1
                self._call(self._draw)
        finally:
            self._call(self._stop)
            thread.join(timeout=10)
        if self._error is not None:
            raise self._error

    # ------------------------------------------------------------------ the loop's thread

    def _in_thread(self, requests: Iterable[Request], connected: Callable[[], Any]) -> None:
        try:
            asyncio.run(self._fly(requests, connected))
        except BaseException as error:  # raised again where the answers are read
            self._error = self._error or error
        self._started.set()
        self._ready += self._answered_in_part()
        if self._ready:
            self._out.put(self._ready)
        self._out.put(None)

    async def _fly(self, requests: Iterable[Request], connected: Callable[[], Any]) -> None:
        self._loop = asyncio.get_running_loop()
        self._done = asyncio.Event()
        self._started.set()
        self._drawer = Drawer(requests, self._loop, self._drawn, self._no_more)
        self._drawer.start()
        try:
            async with connected() as self._connection:
                self._draw()
                await self._done.wait()
                for task in self._flying:
                    task.cancel()
                await asyncio.gather(*self._flying, return_exceptions=True)
        finally:
            self._drawer.stop()
            for timer in self._resting:
                timer.cancel()

    def _stop(self) -> None:
        self._ended = True
        self._done.set()

    def _call(self, what: Callable[[], None]) -> None:
        """Run something on the loop, if it is still running."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(what)

    # ------------------------------------------------------------------ drawing

    def _draw(self) -> None:
        """Draw requests on the loop's next turn: once for all answers that have come by then."""
        if not self._draws:
            self._draws = True
            self._loop.call_soon(self._draw_now)

    def _draw_now(self) -> None:
        """Draw as many requests as can be sent soon."""
        self._draws = False
        if self._ended or self._error or self._health.ill:
            return
        free = self._pace.window - self._pace.in_flight - len(self._waiting) - self._asked_for
        room = 2 * self._pace.window + 8 - self._unfinished - self._asked_for
        room -= self._completed - self._taken
        wanted = min(free, room)
        if wanted > 0:
            self._asked_for += wanted
            self._drawer.want(wanted)

    def _drawn(self, requests: list[Request]) -> None:
        self._asked_for -= len(requests)
        self._unfinished += len(requests)
        for request in requests:
            calls = len(request.calls)
            step = calls if self._shared else 1
            parts = [Part(request, first, min(step, calls - first)) for first in range(0, calls, step)]
            for part in parts:
                part.whole = parts
            self._waiting.extend(parts)
        self._pump()

    def _no_more(self, error: BaseException | None) -> None:
        self._ended, self._asked_for = True, 0
        if error is not None:
            self._give_up(error)
        self._finish()

    # ------------------------------------------------------------------ sending

    def _pump(self) -> None:
        """Send what may be sent now, and schedule the rest."""
        while self._waiting and self._error is None and not self._done.is_set():
            if self._health.ill and self._flying:
                break  # one call at a time, to see whether the server is back
            wait = self._pace.wait()
            if wait > _MOMENT:
                if wait < math.inf and self._timer is None:
                    self._timer = self._loop.call_later(wait, self._pump_later)
                break
            part = self._waiting.popleft()
            if self._is_unpaid(part):
                self._fail(part, "the budget has no room for another try")
                continue
            task = self._loop.create_task(self._try(part, self._pace.sent(part.tokens)))
            self._flying.add(task)
            task.add_done_callback(self._landed)
        self._draw()
        self._finish()

    def _pump_later(self) -> None:
        self._timer = None
        self._pump()

    def _landed(self, task: asyncio.Task[None]) -> None:
        self._flying.discard(task)
        if not task.cancelled() and (error := task.exception()):
            self._give_up(error)
        self._pump()

    async def _try(self, part: Part, sent: Sent) -> None:
        started = time.perf_counter()
        try:
            landed = await self._send(self._connection, part)
        except Passing as fault:
            self._fault(part, sent, fault)
        except Refused as fault:
            self._pace.failed(sent, busy=False)
            self._reject(part, fault)
        except ModelError as error:
            self._pace.failed(sent, busy=False)
            self._give_up(error)
        except Exception as error:  # an unforeseen fault of this call
            self._pace.failed(sent, busy=False)
            part.responses = [failed_response(error)] * part.n
            self._complete(part)
        except BaseException:  # it was cancelled
            self._pace.failed(sent, busy=False)
            raise
        else:
            seconds = time.perf_counter() - started
            self._pace.answered(sent, landed.tokens, landed.limits)
            self._health.well()
            self._meter.waits = ""
            part.finish(landed.responses, seconds)
            self._complete(part)
            self._blame_texts()

    def _complete(self, part: Part) -> None:
        if all(one.responses for one in part.whole):
            self._begun.pop(id(part.whole), None)
            self._unfinished -= 1
            self._completed += 1
            if not self._ready:
                self._loop.call_soon(self._hand_over)
            self._ready.append((part.request, [r for one in part.whole for r in one.responses]))
        else:
            self._begun[id(part.whole)] = part.whole

    def _answered_in_part(self) -> Iterator[Answered]:
        """Calls that were answered, of requests whose other calls no longer will be."""
        for whole in self._begun.values():
            for part in whole:
                if part.responses:
                    calls = part.request.calls[part.first : part.first + part.n]
                    yield part.request.part(calls), part.responses

    def _hand_over(self) -> None:
        ready, self._ready = self._ready, []
        if ready:
            self._out.put(ready)

    # ------------------------------------------------------------------ failing

    def _reject(self, part: Part, fault: Refused) -> None:
        """Keep a rejected part until it is clear why, with those of its repeats that would be, too."""
        for one in [one for one in part.whole if one is part or one in self._waiting]:
            self._rejected.add(one, fault)
            with suppress(ValueError):
                self._waiting.remove(one)
        if self._rejected.are_the_servers_fault(fault, self._health.answered_once):
            self._give_up(fault.error)

    def _blame_texts(self) -> None:
        """Settle the parts that were rejected while others are answered: their texts are at fault."""
        if self._error is None:
            for part, fault in self._rejected.taken():
                part.responses = [fault.response] * part.n
                self._complete(part)

    def _fault(self, part: Part, sent: Sent, fault: Passing) -> None:
        self._meter.waits = fault.reason
        if fault.limited:
            self._pace.refused(sent, fault.wait)
        else:
            self._pace.failed(sent, busy=fault.busy, wait=fault.wait)
        was_ill = self._health.ill
        if pause := self._health.failed(id(part), limited=fault.limited):
            self._pace.hold(pause)
        if self._is_hopeless(fault):
            self._give_up(self._hopeless(fault))
            return
        # A rate limit, or a failure of the whole server, is not the call's own failure.
        part.tries += not (fault.limited or was_ill)
        part.billed = part.billed or fault.billed
        if part.tries > self._retries or self._is_unpaid(part):
            self._fail(part, f"{fault.reason} ({part.tries} tries)")
            return
        self._rest(part, _backoff(part.tries) if fault.wait is None else fault.wait)

    def _fail(self, part: Part, error: str) -> None:
        part.responses = [error_response(error)] * part.n
        self._complete(part)

    def _is_unpaid(self, part: Part) -> bool:
        """Whether it was billed without an answer, and the budget has no room for another try."""
        return part.billed and not self._meter.has_room

    def _rest(self, part: Part, seconds: float) -> None:
        def again() -> None:
            self._resting.discard(timer)
            self._waiting.appendleft(part)
            self._pump()

        timer = self._loop.call_later(seconds, again)
        self._resting.add(timer)

    def _is_hopeless(self, fault: Passing) -> bool:
        if fault.unreached and not self._health.answered_once:
            return self._health.failures >= _UNREACHED
        return self._health.hopeless or (fault.wait or 0.0) > self._patience

    def _hopeless(self, fault: Passing) -> ModelError:
        if not fault.limited:
            return self._address.silent(fault)
        return RateLimited(
            "the server keeps asking for fewer calls",
            where=self._address.url,
            found=fault.reason + (f"; it asks for a pause of {fault.wait:,.0f} s" if fault.wait else ""),
            fix="run again later; the run continues where it stopped",
        )

    def _give_up(self, error: BaseException) -> None:
        """Send nothing more; calls in flight may still be answered."""
        self._error = self._error or error
        self._waiting.clear()
        for timer in self._resting:
            timer.cancel()
        self._resting.clear()

    def _finish(self) -> None:
        if self._flying:
            return
        if self._rejected.parts and self._ended and self._unfinished == self._rejected.complete:
            if self._health.answered_once:
                self._blame_texts()
            else:
                self._give_up(self._rejected.parts[0][1].error)
        if self._error is not None or (self._ended and not self._unfinished):
            self._done.set()


def _backoff(tries: int) -> float:
    """Seconds before the next try: exponential, with jitter."""
    return random.uniform(0.5, 1.0) * min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0 ** max(0, tries - 1))
