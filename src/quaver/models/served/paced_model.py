"""What all clients of servers do alike: keep a pace, and share it with other processes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from quaver.models._defaults import Defaults
from quaver.models.served.pace import Pace
from quaver.models.served.shared_pace import SharedLimits, SharedPace


class PacedModel(Defaults):
    """A client of a server, which may be one of several processes.

    Attributes:
        found: What a probe found out about the server.
    """

    found: Any = None
    _processes: int
    _concurrency: int | None
    _rates: dict[str, Any]
    _new_pace: Callable[[], Pace]
    _pace: Pace

    def _keep_pace(
        self,
        processes: int,
        concurrency: int | None,
        requests_per_minute: float | None,
        tokens_per_minute: float | None,
    ) -> None:
        """Take up the study's limits."""
        self._processes, self._concurrency = processes, concurrency
        self._rates = {"requests_per_minute": requests_per_minute, "tokens_per_minute": tokens_per_minute}
        self._new_pace = partial(Pace, concurrency=concurrency, **self._rates)
        self._pace = self._new_pace()

    def clients(self, processes: int | None) -> int:
        """From how many processes to ask: each sends at least one call at a time."""
        wanted = processes or self._processes
        return min(wanted, self._concurrency or wanted)

    @property
    def at_once(self) -> int:
        """How many calls may be in flight now, in this process."""
        return self._pace.window

    @property
    def is_rated(self) -> bool:
        """Whether the study limits the rate."""
        return any(self._rates.values())

    def keep_share(self, share: float, begin: float) -> None:
        """Keep to a share of the study's rate."""
        rates = {name: rate and rate * share for name, rate in self._rates.items()}
        self._new_pace = partial(Pace, concurrency=self._concurrency, **rates)
        self._pace.limit(**rates, begin=begin)

    def share(self, index: int, processes: int, limits: Path) -> None:
        """Be one of several clients: with a share of the calls in flight, within one rate."""
        each = self._concurrency and self._concurrency // processes + (index < self._concurrency % processes)
        self._new_pace = partial(SharedPace, SharedLimits(limits), concurrency=each, **self._rates)
        self._pace = self._new_pace()

    def close(self) -> None:
        """Forget what was learnt about the server's limits; no connection stays open between runs."""
        self._pace = self._new_pace()
