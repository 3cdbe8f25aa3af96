"""Traffic with a server beyond the stored answers, and what a process does while it counts."""

from __future__ import annotations

import gc
import getpass
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import add
from typing import NamedTuple, Protocol, runtime_checkable

TOKENS_A_CHARACTER = 1 / 3
"""More than in English; used for estimates where the model reports no counts."""

_USAGE = {
    name: re.compile(rb'"%b"\s*:\s*(\d{1,12})\b' % name.encode())
    for name in ("prompt_tokens", "cached_tokens", "completion_tokens")
}


class Traffic(NamedTuple):
    """Requests and replies, and the tokens of the replies that became no answer.

    Attributes:
        sent: Requests sent.
        received: Replies received.
        discarded: Replies that became no answer: unusable, lost, or part of a probe.
        prompt_tokens: Tokens that the server reports as read for these.
        cached_tokens: How many of them it had read before.
        completion_tokens: Tokens that it reports as written.
        estimated_prompt: Tokens read where it reports none, estimated from the length.
        estimated_completion: Tokens written, likewise.
    """

    sent: int = 0
    received: int = 0
    discarded: int = 0
    prompt_tokens: float = 0
    cached_tokens: float = 0
    completion_tokens: float = 0
    estimated_prompt: float = 0
    estimated_completion: float = 0

    def plus(self, other: Traffic) -> Traffic:
        """The sum of both."""
        return Traffic._make(map(add, self, other))


NO_TRAFFIC = Traffic()


@runtime_checkable
class Metered(Protocol):
    """A model some of whose replies become no answer, and that counts their cost."""

    meter: Meter


class Meter:
    """Counts traffic; safe to use from any thread.

    Attributes:
        has_room: Whether the budget allows more.
        waits: What the server asks to wait for, in its words; empty where it does not.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._unreported = self._untaken = NO_TRAFFIC
        self._listener: Callable[[Traffic], bool] | None = None
        self.has_room = True
        self.waits = ""
        self._news: list[str] = []

    def tell(self, news: str) -> None:
        """Note something for whoever watches the run, such as a field that the server refused."""
        with self._lock:
            self._news.append(news)

    def take_news(self) -> list[str]:
        """What was noted since the last call of this method."""
        with self._lock:
            taken, self._news = self._news, []
        return taken

    def count(self, traffic: Traffic) -> None:
        """Add traffic."""
        with self._lock:
            self._untaken = self._untaken.plus(traffic)
            self._unreported = self._unreported.plus(traffic)
            self._report()

    def report_to(self, listener: Callable[[Traffic], bool] | None) -> None:
        """Report all traffic from now on, and what has not been reported yet."""
        with self._lock:
            self._listener, self.has_room = listener, True
            self._report()

    def _report(self) -> None:
        if self._listener is not None:
            self.has_room = self._listener(self._unreported)
            self._unreported = NO_TRAFFIC

    def take(self) -> Traffic:
        """The traffic since the last call of this method."""
        with self._lock:
            taken, self._untaken = self._untaken, NO_TRAFFIC
        return taken


def reported_usage(content: bytes) -> dict[str, int]:
    """The token counts in a reply, even if it is cut off or not JSON.

    >>> reported_usage(b'{"usage": {"prompt_tokens": 12, "completion_tokens": 3}, "choices": [{"mess')
    {'prompt_tokens': 12, 'completion_tokens': 3}
    """
    matches = {name: pattern.search(content) for name, pattern in _USAGE.items()}
    return {name: int(match[1]) for name, match in matches.items() if match}


def account_name() -> str:
    """The name of the account that Quaver runs in; empty where the system knows none."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container's user without a name
        return ""


_OBJECTS = 100_000
"""New objects after which Python looks for reference cycles: more than wait to be written in a run."""


@contextmanager
def little_garbage() -> Iterator[None]:
    """Have Python look for reference cycles seldom.

    Walking what is held again and again would take a third of a fast call's time, and of the time that items
    take to load.
    """
    before = gc.get_threshold()
    if not 0 < before[0] < _OBJECTS:  # switched off, or somebody else has done it
        yield
        return
    gc.set_threshold(_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
