"""What a server is sent and sends back, beside the answers: replies that become none are billed, too."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import NamedTuple, Protocol, runtime_checkable

__all__ = ["NO_TRAFFIC", "TOKENS_A_CHARACTER", "Meter", "Metered", "Traffic", "told_usage"]

TOKENS_A_CHARACTER = 1 / 3
"""More than in English; what the model reports takes its place, and what reports nothing is reckoned so."""

_TOLD = {
    name: re.compile(rb'"%b"\s*:\s*(\d{1,12})\b' % name.encode())
    for name in ("prompt_tokens", "cached_tokens", "completion_tokens")
}


class Traffic(NamedTuple):
    """Requests and replies, and the tokens of replies that became no answer.

    Attributes:
        sent: Requests that were sent.
        received: Replies that came.
        discarded: Replies that became no answer: they could not be used, never came, or the server was tried
            with them.
        prompt_tokens: What the server says that it read for these.
        cached_tokens: How many of these it had read before.
        completion_tokens: What it says that it wrote.
        reckoned_prompt: The same of those for which it does not say so, by their length.
        reckoned_completion: Likewise.
    """

    sent: int = 0
    received: int = 0
    discarded: int = 0
    prompt_tokens: float = 0
    cached_tokens: float = 0
    completion_tokens: float = 0
    reckoned_prompt: float = 0
    reckoned_completion: float = 0

    def plus(self, other: Traffic) -> Traffic:
        """Both together."""
        return Traffic._make(one + more for one, more in zip(self, other, strict=True))


NO_TRAFFIC = Traffic()


@runtime_checkable
class Metered(Protocol):
    """A model whose replies do not all become answers, and that counts what these took."""

    meter: Meter


class Meter:
    """Counts what passes; may be used from any thread.

    Attributes:
        has_room: Whether the budget has room for more.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._untold = self._untaken = NO_TRAFFIC
        self._tell: Callable[[Traffic], bool] | None = None
        self.has_room = True

    def count(self, traffic: Traffic) -> None:
        """Add something up."""
        with self._lock:
            self._untaken = self._untaken.plus(traffic)
            self._untold = self._untold.plus(traffic)
            self._pass_on()

    def tell(self, whom: Callable[[Traffic], bool] | None) -> None:
        """Pass on at once whatever passes from now on, and what nobody was told of before.

        Args:
            whom: Is told, and says whether there is room for more; None for nobody.
        """
        with self._lock:
            self._tell, self.has_room = whom, True
            self._pass_on()

    def _pass_on(self) -> None:
        if self._tell is not None:
            self.has_room = self._tell(self._untold)
            self._untold = NO_TRAFFIC

    def take(self) -> Traffic:
        """What has passed since this was asked before."""
        with self._lock:
            taken, self._untaken = self._untaken, NO_TRAFFIC
        return taken


def told_usage(content: bytes) -> dict[str, int]:
    """The tokens that a reply names, also one that is cut off or no JSON.

    >>> told_usage(b'{"usage": {"prompt_tokens": 12, "completion_tokens": 3}, "choices": [{"mess')
    {'prompt_tokens': 12, 'completion_tokens': 3}
    """
    found = {name: pattern.search(content) for name, pattern in _TOLD.items()}
    return {name: int(match[1]) for name, match in found.items() if match}
