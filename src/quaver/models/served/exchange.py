"""Calls that a server is being asked: sent at its pace, retried, judged where it rejects them."""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any

from quaver.core.calls import Request, Response
from quaver.core.meter import Meter
from quaver.core.response_validation import error_response, failed_response
from quaver.errors import ModelError, RateLimited
from quaver.models.served.pace import Health, Pace
from quaver.models.served.server_faults import Address, Passing, Refused

_REJECTED = 6
"""Prompts that are rejected without an answer in between, after which the server is at fault."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 8.0
_UNREACHED = 3
"""Tries to reach a server that has not answered once."""
_MOMENT = 1e-6
"""Seconds for which no timer is set: it may go off as much too early, and the next one would again."""

Send = Callable[[Request], Awaitable[Response]]
"""Sends a call once; raises ``Passing``, ``Refused`` or another ``ModelError``."""


class Exchange:
    """A conversation with a server, a call at a time.

    Args:
        send: Sends a call.
        pace: Decides when.
        address: The server, for errors.
        retries: How often a call is retried.
        patience: Seconds without an answer after which the server is given up.
        meter: Knows whether the budget has room for retrying a call that was billed, and says what the server
            asks to wait for.

    Attributes:
        failed: Why the server is given up; None as long as it is not.
        moved: Set when something was sent, came back, or was put off.
    """

    def __init__(
        self,
        send: Send,
        pace: Pace,
        address: Address,
        *,
        retries: int,
        patience: float,
        meter: Meter | None = None,
    ) -> None:
        self._send, self._pace, self._address, self._meter = send, pace, address, meter or Meter()
        self._retries, self._patience, self._health = retries, patience, Health(patience)
        # Rejected calls: their texts are at fault if others are answered, before or after; if all are
        # rejected alike, the server is.
        self._rejected: list[tuple[Request, Refused, asyncio.Future[None]]] = []
        self._asked = self._waiting = self._resting = 0
        self._is_all = False
        self._turn, self.moved, self._given_up = asyncio.Lock(), asyncio.Event(), asyncio.Event()
        self.failed: BaseException | None = None

    @property
    def wants(self) -> bool:
        """Whether another call could be sent soon; where the server may be down, whether none is there."""
        window = self._pace.window
        is_well = self.failed is None and not (self._health.ill and self._asked)
        return is_well and self._waiting + self._pace.in_flight < window and self._asked < 2 * window + 8

    def no_more(self) -> None:
        """There are no more calls for now, so that what was rejected must be settled without them."""
        self._is_all = True
        self._settle_the_last()

    def ask(self, request: Request) -> Coroutine[Any, Any, Response]:
        """Answer a call, which counts from now on."""
        self._asked += 1
        self._waiting += 1
        self._is_all = False
        return self._answer(request)

    async def _answer(self, request: Request) -> Response:
        """Send a call until it is answered or has failed for good."""
        tries, billed = 0, False
        try:
            while True:
                sent = await self._taken_turn()
                if billed and not self._meter.has_room:
                    self._pace.failed(sent, busy=False)
                    return error_response("the budget has no room for another try")
                began = time.perf_counter()
                try:
                    response = await self._send(request)
                except Passing as fault:
                    was_ill = self._health.ill
                    self._passed(sent, fault, id(request))
                    # A rate limit, or a failure of the whole server, is not the call's own failure.
                    tries += not (fault.limited or was_ill)
                    billed = billed or fault.billed
                    if tries > self._retries:
                        return error_response(f"{fault.reason} ({tries} tries)")
                    await self._rest(_backoff(tries) if fault.wait is None else fault.wait)
                except BaseException as error:
                    self._pace.failed(sent, busy=False)
                    if isinstance(error, Refused):
                        return await self._judged(request, error)
                    if isinstance(error, ModelError):
                        raise self._give_up(error) from None
                    if isinstance(error, Exception):  # an unforeseen fault of this call
                        return failed_response(error)
                    raise  # it was cancelled
                else:
                    self._pace.answered(sent)
                    self._health.well()
                    self._meter.waits = ""
                    self._blame_texts()
                    raw = {**(response.raw or {}), "tries": tries + 1} if tries else response.raw
                    return response._replace(latency=time.perf_counter() - began, raw=raw)
                finally:
                    self.moved.set()
                    self._settle_the_last()
        finally:
            self._asked -= 1

    async def _taken_turn(self) -> float:
        """Wait until a call may be sent, first come, first served."""
        try:
            async with self._turn:
                while self.failed is None and (wait := self._wait()) > _MOMENT:
                    self.moved.clear()
                    with suppress(TimeoutError):
                        async with asyncio.timeout(None if math.isinf(wait) else wait):
                            await self.moved.wait()
                if self.failed is not None:
                    raise self.failed
                return self._pace.sent()
        finally:
            self._waiting -= 1

    def _wait(self) -> float:
        """Seconds until something may be sent: one call at a time while the server may be down."""
        return math.inf if self._health.ill and self._pace.in_flight else self._pace.wait()

    async def _rest(self, seconds: float) -> None:
        """Wait before the next try, while others are sent."""
        self._resting += 1
        self.moved.set()
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._given_up.wait()
        finally:
            self._resting -= 1
            self._waiting += 1

    # ------------------------------------------------------------------ failing

    def _passed(self, sent: float, fault: Passing, call: int) -> None:
        """Note a fault that another try may not meet; give the server up if there is to be none."""
        self._meter.waits = fault.reason
        if fault.limited:
            self._pace.refused(sent, fault.wait)
        else:
            self._pace.failed(sent, busy=fault.busy, wait=fault.wait)
        if pause := self._health.failed(call, limited=fault.limited):
            self._pace.hold(pause)
        if fault.unreached and not self._health.answered_once:
            is_hopeless = self._health.failures >= _UNREACHED
        else:
            is_hopeless = self._health.hopeless or (fault.wait or 0.0) > self._patience
        if not is_hopeless:
            return
        if not fault.limited:
            raise self._give_up(self._address.silent(fault))
        limited = RateLimited(
            "the server keeps asking for fewer calls",
            where=self._address.url,
            found=fault.reason + (f"; it asks for a pause of {fault.wait:,.0f} s" if fault.wait else ""),
            fix="run again later; the run continues where it stopped",
        )
        raise self._give_up(limited)

    def _give_up(self, error: BaseException) -> BaseException:
        """Send nothing more; calls in flight may still be answered."""
        self.failed = self.failed or error
        self._given_up.set()
        self.moved.set()
        self._release_rejected()
        return error

    # ------------------------------------------------------------------ rejected calls

    async def _judged(self, request: Request, fault: Refused) -> Response:
        """Keep a rejected call until it is clear whether its text or the server is at fault."""
        if self.failed is not None:
            raise self.failed
        settled = asyncio.get_running_loop().create_future()
        self._rejected.append((request, fault, settled))
        items = {request.calls[0].item for request, _, _ in self._rejected}
        prompts = {request.prompt.messages for request, _, _ in self._rejected}
        alone = self._health.answered_once and len(items) == 1
        if not fault.may_be_the_texts or (len(prompts) >= _REJECTED and not alone):
            self._give_up(fault.error)
        self.moved.set()
        self._settle_the_last()
        await settled
        if self.failed is not None:
            raise self.failed
        return fault.response

    def _blame_texts(self) -> None:
        """Settle what was rejected while others are answered."""
        if self.failed is None:
            self._release_rejected()

    def _release_rejected(self) -> None:
        rejected, self._rejected = self._rejected, []
        for _, _, settled in rejected:
            if not settled.done():
                settled.set_result(None)

    def _settle_the_last(self) -> None:
        """Settle what was rejected when nothing else is left to come."""
        busy = self._waiting or self._resting or self._pace.in_flight or not self._is_all
        if not self._rejected or busy:
            return
        if self._health.answered_once:
            self._blame_texts()
        else:
            self._give_up(self._rejected[0][1].error)


def _backoff(tries: int) -> float:
    """Seconds before the next try: exponential, with jitter."""
    return random.uniform(0.5, 1.0) * min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0 ** max(0, tries - 1))
