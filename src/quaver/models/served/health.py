"""Whether a server as a whole is failing: it then gets a pause, and is given up in the end."""

from __future__ import annotations

import time
from collections.abc import Callable

_ILL = 10
"""Failures in a row, of at least ``_OF`` different calls, that are blamed on the server."""

_OF = 3
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0


class Health:
    """Counts failures in a row.

    Args:
        patience: Seconds without an answer after which the server is given up.
        clock: A monotonic clock, in seconds.

    Attributes:
        failures: The number of failures in a row.
        answered_once: Whether the server has ever answered.
    """

    def __init__(self, patience: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._patience, self._clock = patience, clock
        self.failures = 0
        self._calls: set[int] = set()
        self._since: float | None = None
        self._pause = _FIRST_PAUSE
        self.answered_once = False

    @property
    def ill(self) -> bool:
        """Whether the failures are the server's rather than single calls'."""
        return self.failures >= _ILL and len(self._calls) >= _OF

    @property
    def hopeless(self) -> bool:
        """Whether to give the server up."""
        return self._since is not None and self._clock() - self._since > self._patience

    def well(self) -> None:
        """An answer arrived."""
        self.failures, self._since, self._pause = 0, None, _FIRST_PAUSE
        self._calls.clear()
        self.answered_once = True

    def failed(self, call: int, *, limited: bool = False) -> float:
        """A call failed.

        Returns:
            Seconds for which to send nothing.
        """
        if self._since is None:
            self._since = self._clock()
        if limited:
            return 0.0
        self.failures += 1
        self._calls.add(call)
        if not self.ill:
            return 0.0
        pause = min(self._pause, self._patience / 20)
        self._pause = min(self._pause * 1.5, _LONGEST_PAUSE)
        return pause
