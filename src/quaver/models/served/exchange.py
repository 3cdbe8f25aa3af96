"""Requests that a server is being asked: sent at its pace, retried, judged where it rejects them."""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from quaver.core.conversation import AnsweredInPart
from quaver.core.meter import Meter
from quaver.core.records import Request, Response
from quaver.core.response_validation import error_response, failed_response
from quaver.errors import ModelError, RateLimited
from quaver.models.served.pace import Health, Limits, Pace, Sent
from quaver.models.served.server_faults import Address, Passing, Refused

_CHARACTERS_A_TOKEN = 4
_REJECTED = 6
"""Requests that are rejected without an answer in between, after which the server is at fault."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 8.0
_UNREACHED = 3
"""Tries to reach a server that has not answered once."""
_MOMENT = 1e-6
"""Seconds for which no timer is set: it may go off as much too early, and the next one would again."""


@dataclass(frozen=True, slots=True)
class Landed:
    """What came back for a request.

    Attributes:
        responses: One for each call.
        limits: What the server says is left of its limits.
    """

    responses: list[Response]
    limits: Limits | None = None

    @property
    def tokens(self) -> int | None:
        """The tokens that it took; None where the server does not count them."""
        first = self.responses[0]
        written = [response.completion_tokens for response in self.responses]
        if len(self.responses) > 1 and first.raw:
            written = [first.raw.get("completion_tokens_of_request")]
        if first.prompt_tokens is None or None in written:
            return None
        return first.prompt_tokens + sum(tokens or 0 for tokens in written)


Send = Callable[[Request], Awaitable[Landed]]
"""Sends a request once; raises ``Passing``, ``Refused`` or another ``ModelError``."""


@dataclass(slots=True, eq=False)
class _Part:
    """Calls of a request that are sent together.

    Attributes:
        request: They, as a request of their own.
        rejected: What the server rejected of the whole request's parts.
        tries: How often sending it has failed.
        billed: Whether the server may have billed a failed try.
    """

    request: Request
    rejected: list[Refused]
    tries: int = 0
    billed: bool = False

    @property
    def tokens(self) -> int:
        """A rough upper bound of the tokens that it takes."""
        read = sum(len(content) for _, content in self.request.prompt.messages) // _CHARACTERS_A_TOKEN
        return read + len(self.request.calls) * self.request.decoding.max_tokens

    def finished(self, responses: list[Response], seconds: float) -> list[Response]:
        """Its responses, each with its share of the time and the number of tries."""
        tries = {"tries": self.tries + 1} if self.tries else {}
        return [
            response._replace(
                latency=seconds / len(responses),
                raw=dict(response.raw or {}) | tries if tries else response.raw,
            )
            for response in responses
        ]


class _Rejected(NamedTuple):
    """A part that was rejected, and what ends the wait for why.

    Its text is at fault if other requests are answered, before or after; if all are rejected alike, the
    server is.
    """

    part: _Part
    fault: Refused
    settled: asyncio.Future[None]


class Exchange:
    """A conversation with a server.

    Args:
        send: Sends a request.
        pace: Decides when.
        address: The server, for errors.
        together: Whether a request's calls are sent together.
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
        together: bool,
        retries: int,
        patience: float,
        meter: Meter | None = None,
    ) -> None:
        self._send, self._pace, self._address, self._meter = send, pace, address, meter or Meter()
        self._together, self._retries, self._patience = together, retries, patience
        self._health = Health(patience)
        self._rejected: list[_Rejected] = []
        self._requests = self._waiting = self._resting = 0
        self._is_all = False
        self._turn, self.moved, self._given_up = asyncio.Lock(), asyncio.Event(), asyncio.Event()
        self.failed: BaseException | None = None

    @property
    def wants(self) -> bool:
        """Whether another request could be sent soon; where the server may be down, whether none is there."""
        window = self._pace.window
        is_well = self.failed is None and not (self._health.ill and self._requests)
        return is_well and self._waiting + self._pace.in_flight < window and self._requests < 2 * window + 8

    def no_more(self) -> None:
        """There are no more requests for now, so that what was rejected must be settled without them."""
        self._is_all = True
        self._settle_the_last()

    def ask(self, request: Request) -> Coroutine[Any, Any, list[Response]]:
        """Answer a request, which counts from now on."""
        calls = [request] if self._together else [request.part((call,)) for call in request.calls]
        rejected: list[Refused] = []
        parts = [_Part(one, rejected) for one in calls]
        self._requests += 1
        self._waiting += len(parts)
        self._is_all = False
        return self._answers(parts)

    async def _answers(self, parts: list[_Part]) -> list[Response]:
        try:
            if len(parts) == 1:
                return await self._answer(parts[0])
            landed = await asyncio.gather(*map(self._answer, parts), return_exceptions=True)
        finally:
            self._requests -= 1
        if errors := [one for one in landed if isinstance(one, BaseException)]:
            pairs = zip(parts, landed, strict=True)
            raise AnsweredInPart(
                errors[0], [(part.request, one) for part, one in pairs if not isinstance(one, BaseException)]
            )
        return [response for one in landed if not isinstance(one, BaseException) for response in one]

    # ------------------------------------------------------------------ one part

    async def _answer(self, part: _Part) -> list[Response]:
        """Send a part until it is answered or has failed for good."""
        while True:
            sent = await self._taken_turn(part)
            if sent is None:
                return await self._judged(part, part.rejected[0])
            if part.billed and not self._meter.has_room:
                self._pace.failed(sent, busy=False)
                return [error_response("the budget has no room for another try")] * len(part.request.calls)
            began = time.perf_counter()
            try:
                landed = await self._send(part.request)
            except Passing as fault:
                if (error := self._passed(part, sent, fault)) is not None:
                    return [error] * len(part.request.calls)
                await self._rest(_backoff(part.tries) if fault.wait is None else fault.wait)
            except Refused as fault:
                self._pace.failed(sent, busy=False)
                return await self._judged(part, fault)
            except ModelError as error:
                self._pace.failed(sent, busy=False)
                raise self._give_up(error) from None
            except Exception as error:  # an unforeseen fault of this call
                self._pace.failed(sent, busy=False)
                return [failed_response(error)] * len(part.request.calls)
            except BaseException:  # it was cancelled
                self._pace.failed(sent, busy=False)
                raise
            else:
                self._pace.answered(sent, landed.tokens, landed.limits)
                self._health.well()
                self._meter.waits = ""
                self._blame_texts()
                return part.finished(landed.responses, time.perf_counter() - began)
            finally:
                self.moved.set()
                self._settle_the_last()

    async def _taken_turn(self, part: _Part) -> Sent | None:
        """Wait until a part may be sent, first come, first served; None if its repeats were rejected."""
        try:
            async with self._turn:
                while self.failed is None and not part.rejected and (wait := self._wait()) > _MOMENT:
                    self.moved.clear()
                    with suppress(TimeoutError):
                        async with asyncio.timeout(None if math.isinf(wait) else wait):
                            await self.moved.wait()
                if self.failed is not None:
                    raise self.failed
                return None if part.rejected else self._pace.sent(part.tokens)
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

    def _passed(self, part: _Part, sent: Sent, fault: Passing) -> Response | None:
        """Note a fault that another try may not meet; an error if there is to be none."""
        self._meter.waits = fault.reason
        if fault.limited:
            self._pace.refused(sent, fault.wait)
        else:
            self._pace.failed(sent, busy=fault.busy, wait=fault.wait)
        was_ill = self._health.ill
        if pause := self._health.failed(id(part), limited=fault.limited):
            self._pace.hold(pause)
        if self._is_hopeless(fault):
            raise self._give_up(self._hopeless(fault))
        # A rate limit, or a failure of the whole server, is not the call's own failure.
        part.tries += not (fault.limited or was_ill)
        part.billed = part.billed or fault.billed
        if part.tries > self._retries:
            return error_response(f"{fault.reason} ({part.tries} tries)")
        return None

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

    def _give_up(self, error: BaseException) -> BaseException:
        """Send nothing more; calls in flight may still be answered."""
        self.failed = self.failed or error
        self._given_up.set()
        self.moved.set()
        self._release_rejected()
        return error

    # ------------------------------------------------------------------ rejected requests

    async def _judged(self, part: _Part, fault: Refused) -> list[Response]:
        """Keep a rejected part until it is clear whether its text or the server is at fault."""
        part.rejected.append(fault)
        if self.failed is not None:
            raise self.failed
        settled = asyncio.get_running_loop().create_future()
        self._rejected.append(_Rejected(part, fault, settled))
        if self._is_the_servers(fault):
            self._give_up(fault.error)
        self.moved.set()
        self._settle_the_last()
        await settled
        if self.failed is not None:
            raise self.failed
        return [fault.response] * len(part.request.calls)

    def _is_the_servers(self, last: Refused) -> bool:
        """Whether the server is to be given up: for several texts, or for what is no text's fault."""
        items = {part.request.calls[0].item for part, _, _ in self._rejected}
        requests = {id(part.rejected) for part, _, _ in self._rejected}
        alone = self._health.answered_once and len(items) == 1
        return not last.may_be_the_texts or (len(requests) >= _REJECTED and not alone)

    def _blame_texts(self) -> None:
        """Settle what was rejected while others are answered."""
        if self.failed is None:
            self._release_rejected()

    def _release_rejected(self) -> None:
        rejected, self._rejected = self._rejected, []
        for one in rejected:
            if not one.settled.done():
                one.settled.set_result(None)

    def _settle_the_last(self) -> None:
        """Settle what was rejected when nothing else is left to come."""
        busy = self._waiting or self._resting or self._pace.in_flight or not self._is_all
        if not self._rejected or busy:
            return
        if self._health.answered_once:
            self._blame_texts()
        else:
            self._give_up(self._rejected[0].fault.error)


def _backoff(tries: int) -> float:
    """Seconds before the next try: exponential, with jitter."""
    return random.uniform(0.5, 1.0) * min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0 ** max(0, tries - 1))
