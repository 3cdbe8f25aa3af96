"""What a run may spend: calls, tokens, money and time, with what is in flight reserved.

A request is let through where what was spent, what the requests in flight are expected to take and what it
is expected to take itself stay under every cap; when its answer is in, what it really took replaces what
was expected. So a cap is overshot by no more than the error of the expectation for what is in flight.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Literal, NamedTuple

from quaver.collect.store.response_tables import written_prompt
from quaver.core.meter import TOKENS_A_CHARACTER, Traffic
from quaver.core.records import Request, Response

__all__ = ["Budget", "Gate", "Price", "Spent", "Stop", "written"]

Stop = Literal["interrupted", "calls", "seconds", "tokens", "money"]
"""What ends a run before everything is asked."""

_TOKENS_A_MESSAGE = 8
"""What a chat template puts around a message."""

_ENOUGH = 20
"""Answers after which their length is expected to go on as it was; before, the longest is expected."""


@dataclass(frozen=True, slots=True)
class Price:
    """What a model costs, in US dollars a million tokens.

    Attributes:
        input: Tokens of a prompt.
        output: Tokens that are written, thinking included.
        cached: Tokens of a prompt that the server had read before.

    >>> Price(input=1.0, output=4.0, cached=0.1).of(prompt=1_000_000, cached=500_000, completion=250_000)
    1.55
    """

    input: float
    output: float
    cached: float

    def of(self, prompt: float, cached: float, completion: float) -> float:
        """What so many tokens cost; ``cached`` are among those of the ``prompt``."""
        fresh = prompt - cached
        return (fresh * self.input + cached * self.cached + completion * self.output) / 1e6


_FREE = Price(0.0, 0.0, 0.0)


class Spent(NamedTuple):
    """What was spent: calls, tokens read and written, US dollars."""

    calls: int = 0
    tokens: float = 0.0
    money: float = 0.0


_NOTHING = Spent()


class Budget:
    """Lets requests through as long as there is room for them.

    Args:
        calls: Most calls; None for as many as there are.
        tokens: Most tokens, read and written.
        money: Most US dollars.
        seconds: Nothing is let through after this long.
        spent: What counts against the caps already.
        prices: By model; one that is not named costs nothing.

    Attributes:
        stopped: What closed it; None while it is open.
    """

    def __init__(
        self,
        *,
        calls: int | None = None,
        tokens: float | None = None,
        money: float | None = None,
        seconds: float | None = None,
        spent: Spent = _NOTHING,
        prices: Mapping[str, Price] | None = None,
    ) -> None:
        self.stopped: Stop | None = None
        self._calls, self._tokens, self._money = calls, tokens, money
        self._reckons = tokens is not None or money is not None
        self._until = None if seconds is None else time.monotonic() + seconds
        self._prices = dict(prices or {})
        self._sent = spent.calls
        self._spent_tokens, self._spent_money = spent.tokens, spent.money
        self._reserved: dict[bytes, Spent] = {}
        self._reserved_tokens = self._reserved_money = 0.0
        self._expected: dict[tuple[str, int], _Expected] = {}
        self._lock = threading.Lock()

    @property
    def spent(self) -> Spent:
        """What was spent: calls that were let through, and what the answers that are in took."""
        return Spent(self._sent, self._spent_tokens, self._spent_money)

    def stop(self, why: Stop) -> None:
        """Let nothing more through."""
        self.stopped = why

    def lets(self, request: Request) -> bool:
        """Reserve what a request is expected to take; False where there is no room for it now.

        Where there would be none either when all that is in flight is in, the budget is closed.
        """
        with self._lock:
            if self.stopped is None and self._until is not None and time.monotonic() >= self._until:
                self.stopped = "seconds"
            if self.stopped is not None:
                return False
            calls = len(request.calls)
            if self._calls is not None and self._sent + calls > self._calls:
                self.stopped = "calls"
                return False
            if self._reckons and not self._reserves(request):
                return False
            self._sent += calls
            return True

    def settle(self, request: Request, responses: Sequence[Response]) -> None:
        """Put what a request took in the place of what was expected of it."""
        with self._lock:
            if self._reckons:
                reserved = self._reserved.pop(request.calls[0].key, _NOTHING)
                self._reserved_tokens -= reserved.tokens
                self._reserved_money -= reserved.money
            tokens, money = self._took(request, responses)
            self._spent_tokens += tokens
            self._spent_money += money

    def discard(self, model: str, traffic: Traffic) -> bool:
        """Count what replies took that became no answer.

        Args:
            model: Whose they were.
            traffic: What passed.

        Returns:
            Whether there is room for another try.
        """
        with self._lock:
            prompt, completion = traffic.prompt_tokens, traffic.completion_tokens
            if self._reckons:
                prompt += traffic.reckoned_prompt
                completion += traffic.reckoned_completion
            price = self._prices.get(model, _FREE)
            self._spent_tokens += prompt + completion
            self._spent_money += price.of(prompt, traffic.cached_tokens, completion)
            spent_all = self._tokens is not None and self._spent_tokens >= self._tokens
            return not spent_all and (self._money is None or self._spent_money < self._money)

    def give_up(self) -> None:
        """Forget what is in flight: nobody is left who could answer it."""
        with self._lock:
            self._reserved.clear()
            self._reserved_tokens = self._reserved_money = 0.0

    def _reserves(self, request: Request) -> bool:
        calls, expected = len(request.calls), self._expectation(request)
        prompt, completion = calls * expected.prompt(request), calls * expected.completion
        price = self._prices.get(request.model, _FREE)
        tokens, money = prompt + completion, price.of(prompt, 0, completion)
        short: Stop | None = None
        if self._tokens is not None and self._spent_tokens + self._reserved_tokens + tokens > self._tokens:
            short = "tokens"
        elif self._money is not None and self._spent_money + self._reserved_money + money > self._money:
            short = "money" if money else None  # what costs nothing always finds room
        if short is None:
            self._reserved[request.calls[0].key] = Spent(calls, tokens, money)
            self._reserved_tokens += tokens
            self._reserved_money += money
        elif not self._reserved:
            self.stopped = short
        return short is None

    def _took(self, request: Request, responses: Sequence[Response]) -> tuple[float, float]:
        """Tokens and money."""
        prompt = completion = 0.0
        cached = 0
        for one in responses:
            if one.prompt_tokens is None and one.completion_tokens is None:
                # What failed is not charged; what says nothing is.
                if self._reckons and one.finish != "error":
                    prompt += len(written_prompt(request.prompt.messages)) * TOKENS_A_CHARACTER
                    completion += (len(one.text) + len(one.thinking or "")) * TOKENS_A_CHARACTER
                continue
            new = written(one, len(responses))
            prompt += one.prompt_tokens or 0
            cached += one.cached_tokens or 0
            completion += new
            if self._reckons:
                self._expectation(request).learn(request, one.prompt_tokens or 0, new)
        if not (prompt or completion):
            return 0.0, 0.0
        money = self._prices.get(request.model, _FREE).of(prompt, cached, completion)
        return prompt + completion, money

    def _expectation(self, request: Request) -> _Expected:
        kind = (request.model, request.decoding.max_tokens)
        if kind not in self._expected:
            self._expected[kind] = _Expected(request.decoding.max_tokens)
        return self._expected[kind]


class _Expected:
    """What answers of at most some length are expected to take, from those that came in."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._n = 0
        self._sum = self._squares = 0.0
        self._characters = self._read = 0

    def learn(self, request: Request, read: int, written: float) -> None:
        self._n += 1
        self._sum += written
        self._squares += written * written
        self._characters += _characters(request)
        self._read += read

    def prompt(self, request: Request) -> float:
        if self._n >= _ENOUGH and self._read:
            return _characters(request) * self._read / self._characters
        return _characters(request) * TOKENS_A_CHARACTER + _TOKENS_A_MESSAGE * len(request.prompt.messages)

    @property
    def completion(self) -> float:
        """Two standard deviations above the mean, and never more than is allowed."""
        if self._n < _ENOUGH:
            return self._longest
        mean = self._sum / self._n
        return min(self._longest, mean + 2 * sqrt(max(0.0, self._squares / self._n - mean * mean)))


def written(response: Response, together: int) -> float:
    """Tokens that a response took to write; its share, where the server counts what it drew together.

    Args:
        response: The response.
        together: How many the request had.
    """
    if response.completion_tokens is not None:
        return response.completion_tokens
    raw = response.raw or {}
    return float(raw.get("completion_tokens_of_request") or 0) / int(
        raw.get("answers_of_request") or together
    )


def _characters(request: Request) -> int:
    return 1 + sum(len(message.content) for message in request.prompt.messages)


class Gate:
    """A model's requests, one after the other, as far as the budget has room.

    Args:
        budget: Asked for every request.
        requests: What is still to be sent.
    """

    def __init__(self, budget: Budget, requests: Iterable[Request]) -> None:
        self._budget, self._requests = budget, iter(requests)
        self._held: Request | None = None

    @property
    def waits(self) -> bool:
        """Whether a request was turned away that may find room when more has come in."""
        return self._held is not None and self._budget.stopped is None

    def __iter__(self) -> Iterator[Request]:
        if self._held is not None:
            if not self._budget.lets(self._held):
                return
            held, self._held = self._held, None
            yield held
        for request in self._requests:
            if not self._budget.lets(request):
                self._held = request
                return
            yield request
