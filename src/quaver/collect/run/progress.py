"""How far a run is, and what it may spend: calls, tokens, money and time.

A request may be sent if the spending so far, the expected cost of requests in flight and its own expected
cost stay under every cap. When its answer arrives, the actual cost replaces the expected one. A cap is
therefore overshot by at most the error of the expectation for what is in flight.
"""

from __future__ import annotations

import re
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import Final, Literal, NamedTuple

from quaver.collect.store.response_tables import written_prompt
from quaver.core.calls import Request, Response
from quaver.core.meter import TOKENS_A_CHARACTER, Traffic
from quaver.core.model import Answered
from quaver.core.number_format import duration

Stop = Literal["interrupted", "calls", "seconds", "tokens", "money"]
"""What ends a run before everything is asked."""

_TOKENS_A_MESSAGE = 8
"""Tokens that a chat template adds to a message."""

_ENOUGH = 20
"""Answers after which the expected length follows theirs; before, it is the longest allowed."""


@dataclass(frozen=True, slots=True)
class Price:
    """A model's price, in US dollars per million tokens.

    Attributes:
        input: Prompt tokens.
        output: Completion tokens, thinking included.
        cached: Prompt tokens that the server had in its cache.
        batch: The price of the same tokens in a batch, where it is known; half otherwise.

    >>> Price(input=1.0, output=4.0, cached=0.1).of(prompt=1_000_000, cached=500_000, completion=250_000)
    1.55
    """

    input: float
    output: float
    cached: float
    batch: Price | None = None

    @property
    def in_batch(self) -> Price:
        """The price in a batch: the published one, or else half, which is what providers charge."""
        return self.batch or Price(self.input / 2, self.output / 2, self.cached / 2)

    def of(self, prompt: float, cached: float, completion: float) -> float:
        """The cost of tokens; ``cached`` ones are part of ``prompt``."""
        fresh = prompt - cached
        return (fresh * self.input + cached * self.cached + completion * self.output) / 1e6


_FREE = Price(0.0, 0.0, 0.0)


class Spent(NamedTuple):
    """What was spent: calls, tokens (prompt and completion), US dollars."""

    calls: int = 0
    tokens: float = 0.0
    money: float = 0.0

    def plus(self, other: Spent, sign: int = 1) -> Spent:
        """The sum of both, or the difference."""
        calls, tokens, money = other
        return Spent(self.calls + sign * calls, self.tokens + sign * tokens, self.money + sign * money)


_NOTHING = Spent()


class Budget:
    """Admits requests while there is room for them.

    Args:
        calls: Maximum number of calls; None for no limit.
        tokens: Maximum number of tokens, prompt and completion.
        money: Maximum of US dollars.
        seconds: Admit nothing after this time.
        spent: What already counts against the caps.
        prices: Prices by model; models without one cost nothing.

    Attributes:
        stopped: The cap that closed it; None while it is open.
        spent: What was spent: the calls that were admitted (where there is no cap, that were answered), and
            the cost of the answers that arrived.
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
        self.spent = spent
        self._calls, self._tokens, self._money = calls, tokens, money
        self._estimates = tokens is not None or money is not None
        self._until = None if seconds is None else time.monotonic() + seconds
        self._has_caps = self._estimates or calls is not None or seconds is not None
        self._prices = dict(prices or {})
        self._reserved: dict[bytes, Spent] = {}
        self._in_flight = _NOTHING
        self._expected: dict[tuple[str, int], _Expected] = defaultdict(_Expected)
        self._lock = threading.Lock()

    def stop(self, why: Stop) -> None:
        """Admit nothing more."""
        self.stopped = why

    def lets(self, request: Request) -> bool:
        """Reserve a request's expected cost; False if there is no room for it now.

        The budget is closed if there would be no room even without anything in flight.
        """
        if not self._has_caps:
            return self.stopped is None
        with self._lock:
            if self.stopped is None:
                self.stopped = self._short_of(request)
            if self.stopped is not None or not self._reserves(request):
                return False
            self.spent = self.spent.plus(Spent(len(request.calls)))
            return True

    def _short_of(self, request: Request) -> Stop | None:
        """The cap on time or calls that leaves no room."""
        if self._until is not None and time.monotonic() >= self._until:
            return "seconds"
        return (
            "calls"
            if self._calls is not None and self.spent.calls + len(request.calls) > self._calls
            else None
        )

    def _reserves(self, request: Request) -> bool:
        """Reserve the tokens and the money, where there is room for them."""
        if not self._estimates:
            return True
        wanted = self._cost(request.model, *self.expected(request))
        after = self.spent.plus(self._in_flight).plus(wanted)
        short: Stop | None = None
        if self._tokens is not None and after.tokens > self._tokens:
            short = "tokens"
        elif self._money is not None and wanted.money and after.money > self._money:
            short = "money"  # a free request always has room
        if short is None:
            self._reserved[request.calls[0].key] = wanted
            self._in_flight = self._in_flight.plus(wanted)
        elif not self._reserved:
            self.stopped = short
        return short is None

    def settle(self, answered: Iterable[Answered]) -> None:
        """Replace the expected cost of requests by their actual cost."""
        with self._lock:
            for request, responses in answered:
                calls = 0 if self._has_caps else len(responses)
                self._release(request)
                self.spent = self.spent.plus(self._took(request, responses)._replace(calls=calls))

    def expected(self, request: Request) -> tuple[float, float]:
        """The prompt and completion tokens that a request is expected to take."""
        calls, longest = len(request.calls), request.decoding.max_tokens
        expected = self._expected[request.model, longest]
        return calls * expected.prompt(request), calls * expected.completion(longest)

    def commit(self, request: Request) -> None:
        """Count a request's expected cost as spent, since its answers will come long after this run."""
        with self._lock:
            self._release(request)
            self.spent = self.spent.plus(self._cost(request.model, *self.expected(request)))

    def discard(self, model: str, traffic: Traffic) -> bool:
        """Count the cost of replies that became no answer.

        Returns:
            Whether there is room for another try.
        """
        with self._lock:
            prompt, completion = traffic.prompt_tokens, traffic.completion_tokens
            if self._estimates:
                prompt += traffic.estimated_prompt
                completion += traffic.estimated_completion
            self.spent = self.spent.plus(self._cost(model, prompt, completion, traffic.cached_tokens))
            caps = ((self._tokens, self.spent.tokens), (self._money, self.spent.money))
            return all(cap is None or has < cap for cap, has in caps)

    def give_up(self) -> None:
        """Forget what is in flight, since it will not be answered."""
        with self._lock:
            self._reserved.clear()
            self._in_flight = _NOTHING

    def _release(self, request: Request) -> None:
        self._in_flight = self._in_flight.plus(self._reserved.pop(request.calls[0].key, _NOTHING), -1)

    def _cost(self, model: str, prompt: float, completion: float, cached: float = 0) -> Spent:
        price = self._prices.get(model)
        return Spent(0, prompt + completion, price.of(prompt, cached, completion) if price else 0.0)

    def _took(self, request: Request, responses: Sequence[Response]) -> Spent:
        """What answers took; failures are free, and answers without counts are estimated."""
        prompt = completion = cached = 0.0
        for response in responses:
            if response.prompt_tokens is not None or response.completion_tokens is not None:
                new = written(response, len(responses))
                prompt += response.prompt_tokens or 0
                cached += response.cached_tokens or 0
                completion += new
                if self._estimates:
                    expected = self._expected[request.model, request.decoding.max_tokens]
                    expected.learn(request, response.prompt_tokens or 0, new)
            elif self._estimates and response.finish != "error":
                prompt += len(written_prompt(request.prompt.messages)) * TOKENS_A_CHARACTER
                completion += (len(response.text) + len(response.thinking or "")) * TOKENS_A_CHARACTER
        return self._cost(request.model, prompt, completion, cached) if prompt or completion else _NOTHING


class _Expected:
    """The expected tokens of answers with some maximum length, learnt from those that arrived."""

    def __init__(self) -> None:
        self._n = self._characters = self._read = 0
        self._most = self._sum = self._squares = 0.0

    def learn(self, request: Request, read: int, written: float) -> None:
        self._n += 1
        self._most = max(self._most, written)
        self._sum += written
        self._squares += written * written
        self._characters += _characters(request)
        self._read += read

    def prompt(self, request: Request) -> float:
        if self._n >= _ENOUGH and self._read:
            return _characters(request) * self._read / self._characters
        return _characters(request) * TOKENS_A_CHARACTER + _TOKENS_A_MESSAGE * len(request.prompt.messages)

    def completion(self, longest: float) -> float:
        """Two standard deviations above the mean, at most the maximum length, or the longest that came.

        An answer may be longer than its maximum by what a model thinks before it.
        """
        longest = max(longest, self._most)
        if self._n < _ENOUGH:
            return longest
        mean = self._sum / self._n
        return min(longest, mean + 2 * sqrt(max(0.0, self._squares / self._n - mean * mean)))


def written(response: Response, together: int) -> float:
    """The completion tokens of a response; its share, if the server counts those of a request together."""
    if response.completion_tokens is not None:
        return response.completion_tokens
    raw = response.raw or {}
    return float(raw.get("completion_tokens_of_request") or 0) / int(
        raw.get("answers_of_request") or together
    )


def _characters(request: Request) -> int:
    return 1 + sum(len(message.content) for message in request.prompt.messages)


_LONGEST_KIND = 60

Ended = Literal[
    "finished", "interrupted", "calls", "seconds", "tokens", "money", "requests", "narrow", "clear", "batches"
]
"""What ends a run."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended.

    Attributes:
        ended: ``finished``, or what stopped it: ``interrupted``, ``calls``, ``seconds``, ``tokens``,
            ``money``, ``requests``; ``narrow`` or ``clear`` if the interval is as narrow as requested, or
            clear of the value requested; ``batches`` if the rest is out in batches.
        total: Calls of the whole study.
        before: Calls that were stored before the run.
        done: Calls that this run stored.
        errors: How many of these are errors.
        seconds: The run's duration.
        tokens: Prompt and completion tokens in all runs of the study.
        money: US dollars spent in all runs of the study.
        reused: Answers that this run took from other studies.

    >>> Outcome("finished", total=10, before=4, done=6, errors=1, seconds=2.0)
    <finished: 6 answers collected (1 with an error), 10 of 10 are stored>
    """

    ended: Ended
    total: int
    before: int
    done: int
    errors: int
    seconds: float
    tokens: float = 0.0
    money: float = 0.0
    reused: int = 0

    @property
    def missing(self) -> int:
        """Calls that are still to be asked."""
        return self.total - self.before - self.reused - self.done

    def __repr__(self) -> str:
        stored = f"{self.total - self.missing:,} of {self.total:,} are stored"
        failed = f" ({self.errors:,} with an error)" if self.errors else ""
        return f"<{self.ended}: {self.done:,} answers collected{failed}, {stored}>"


@dataclass(slots=True)
class Progress:
    """The progress of a run; times in seconds.

    Attributes:
        total: Calls of the whole study.
        before: Calls that were stored when the run began.
        done: Calls that this run stored.
        errors: How many of these are errors.
        started: When it began, by ``time.monotonic``.
        by_condition: Calls that this run stored, by position of the condition.
        by_kind: Errors that this run stored, by kind.
        tokens: Prompt and completion tokens in all runs of the study.
        money: US dollars spent in all runs of the study.
        given_up: Models that were given up in this run, with the reason; the others continue.
        stopping: Whether the run was interrupted, and waits for the calls in flight.
        waits: What each model's server asks to wait for, in its words; empty where it does not.
    """

    total: int
    before: int
    done: int = 0
    errors: int = 0
    started: float = field(default_factory=lambda: time.monotonic())
    by_condition: Counter[int] = field(default_factory=Counter)
    by_kind: Counter[str] = field(default_factory=Counter)
    tokens: float = 0.0
    money: float = 0.0
    given_up: dict[str, Exception] = field(default_factory=dict)
    waits: dict[str, str] = field(default_factory=dict)
    stopping: bool = False

    def count(self, group: Iterable[Answered]) -> None:
        """Count answers that were stored."""
        for request, responses in group:
            self.done += len(responses)
            self.by_condition[request.calls[0].condition] += len(responses)
            for response in responses:
                if response.finish == "error":
                    self.errors += 1
                    self.by_kind[kind_of(response.error)] += 1

    @property
    def elapsed(self) -> float:
        """Since the run began."""
        return time.monotonic() - self.started

    @property
    def rate(self) -> float:
        """Calls a second in this run."""
        return self.done / self.elapsed if self.elapsed > 0 else 0.0

    @property
    def left(self) -> float | None:
        """Remaining seconds at this rate; None before the first answer."""
        return (self.total - self.before - self.done) / self.rate if self.done else None

    def __str__(self) -> str:
        """Calls, pace, tokens, money, the most frequent errors, and what servers ask to wait for."""
        line = f"{self.before + self.done:,} of {self.total:,} calls"
        if self.done:
            line += f", {self.rate:,.1f} calls/s" + (f", {duration(self.left)} left" if self.left else "")
        if self.tokens:
            line += f", {self.tokens:,.0f} tokens"
        if self.money:
            line += f", ${self.money:,.4f}"
        line += "".join(f", {count:,} × {kind}" for kind, count in self.by_kind.most_common(3))
        return line + "".join(f"; {model} waits: {words}" for model, words in self.waits.items() if words)

    def outcome(self, ended: Ended, tokens: float, money: float) -> Outcome:
        """The outcome of a run that got this far."""
        seconds = self.elapsed
        return Outcome(ended, self.total, self.before, self.done, self.errors, seconds, tokens, money)


def kind_of(error: str | None) -> str:
    """The kind of an error: its beginning, without details that vary.

    >>> kind_of("HTTP 503: upstream gone (request 8f3a)"), kind_of("prompt of 4123 tokens is too long")
    ('HTTP 503', 'prompt of # tokens is too long')
    """
    head = (error or "unknown").strip().split("\n")[0].partition(": ")[0]
    head = re.sub(r"(?<!HTTP )\b\d[\d.,]*\b", "#", head)
    return head[:_LONGEST_KIND] or "unknown"


_AGAIN: Final = "ask again for what failed"
_TO_DO: Final = (
    (r"HTTP 429", "ask again later, or with fewer calls at once: the server takes no more"),
    (r"HTTP 5|no answer within|Connect|Read|Remote", f"check that the server is running, then {_AGAIN}"),
    (r"context overflow|prompt of #", "shorten these texts, or take a model with a larger context"),
    (
        r"the reply|the request was refused|refused by the provider",
        f"read what the server says in its log; {_AGAIN}",
    ),
    (r"the function returned|\w*(Error|Exception)$", f"fix the function or the program, then {_AGAIN}"),
)
"""What to do about errors, by the beginning of their kind."""


def to_do_about(kind: str) -> str:
    """What a user can do about the errors of a kind.

    >>> to_do_about("context overflow")
    'shorten these texts, or take a model with a larger context'
    >>> to_do_about("something else")
    'ask again for what failed'
    """
    return next((text for pattern, text in _TO_DO if re.match(pattern, kind)), _AGAIN)
