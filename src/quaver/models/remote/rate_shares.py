"""Shares of a given rate, dealt to workers on machines that have no memory in common.

Each has an equal share. When workers come and go, shares are dealt again: a larger one is only given
when those that become smaller are in force, so that together they never allow more than the rate.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass

_ROUNDING = 1e-9


@dataclass
class _Share:
    """A worker's share.

    Attributes:
        given: What it was given last; 0 if nothing.
        most: The most that may be in force.
        pending: It has not confirmed what it was given.
    """

    given: float = 0.0
    most: float = 0.0
    pending: bool = False


class RateShares:
    """What share of the rate each worker has.

    >>> shares = RateShares()
    >>> shares.join("a")
    >>> list(shares.due())
    [('a', 1.0, 0.0)]
    >>> shares.confirm("a")
    >>> shares.join("b")
    >>> list(shares.due())  # "b" has to wait
    [('a', 0.5, 0.0)]
    >>> shares.confirm("a")
    >>> list(shares.due())
    [('b', 0.5, 0.5)]
    """

    def __init__(self) -> None:
        self._of: dict[Hashable, _Share] = {}

    def __contains__(self, worker: Hashable) -> bool:
        return worker in self._of

    def has(self, worker: Hashable) -> bool:
        """Whether a worker has a share."""
        return self._of[worker].given > 0

    def join(self, worker: Hashable) -> None:
        """A worker has come."""
        self._of[worker] = _Share()

    def leave(self, worker: Hashable) -> None:
        """A worker has gone."""
        self._of.pop(worker, None)

    def confirm(self, worker: Hashable) -> None:
        """What a worker was given is in force."""
        if (share := self._of.get(worker)) is not None:
            share.pending, share.most = False, share.given

    def due(self) -> Iterator[tuple[Hashable, float, float]]:
        """Whom to give what now: a worker, its share, and after what part of its interval it may begin.

        Workers that begin together would otherwise all send at the same moment.
        """
        count = len(self._of)
        for worker, share in self._of.items():
            if share.pending or abs(share.given - 1 / count) < _ROUNDING:
                continue
            others = sum(one.most for one in self._of.values()) - share.most
            if share.given < 1 / count and others + 1 / count > 1 + _ROUNDING:
                continue
            begin = 0.0 if share.given else 1 - 1 / count
            share.given, share.pending = 1 / count, True
            share.most = max(share.most, share.given)
            yield worker, share.given, begin
