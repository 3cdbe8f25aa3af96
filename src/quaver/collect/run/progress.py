"""The progress and the outcome of a run."""

from __future__ import annotations

import re
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

from quaver.core.number_format import duration

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
        """It in one line: calls, pace, tokens, money and the most frequent errors."""
        line = f"{self.before + self.done:,} of {self.total:,} calls"
        if self.done:
            line += f", {self.rate:,.1f} calls/s, {duration(self.left)} left"
        if self.tokens:
            line += f", {self.tokens:,.0f} tokens"
        if self.money:
            line += f", ${self.money:,.4f}"
        return line + "".join(f", {count:,} × {kind}" for kind, count in self.by_kind.most_common(3))

    def outcome(self, ended: Ended, tokens: float, money: float) -> Outcome:
        """How the run ended that got this far."""
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
