"""The round after which a comparison ended whose second study was asked in rounds."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from quaver.core.number_format import count


@dataclass(frozen=True, slots=True)
class RoundAt:
    """The round after which a comparison ended.

    Attributes:
        number: From 1.
        rounds: How many were planned.
        asked: Items that were asked.
        items: Items that there are.
        clear: Whether the verdict ended it.
        tail: What its intervals leave out on either side.
        wider: How many times as wide they are as those of a comparison of all items at once.
    """

    number: int
    rounds: int
    asked: int
    items: int
    clear: bool
    tail: float
    wider: float

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    @property
    def sentence(self) -> str:
        """Why it ended, and what that cost, in words."""
        left = self.items - self.asked
        why = f"; the verdict is clear without the other {count(left, 'item')}" if left else ""
        return (
            f"Round {self.number} of {self.rounds}: {self.asked:,} of {count(self.items, 'item')} were asked"
            f"{why}. Its intervals are {self.wider:.2f} times as wide as those of a single look."
        )
