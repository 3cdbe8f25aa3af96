"""What most models do alike."""

from __future__ import annotations

from collections.abc import Sequence

from quaver.core.records import Message


class Defaults:
    """A model that needs no preparation, counts no tokens and holds nothing open."""

    def prepare(self, repeats: int) -> None:
        """Nothing to prepare."""

    def count_tokens(self, prompts: Sequence[Sequence[Message]]) -> list[int] | None:
        """None: unknown before the model is asked."""
        return None

    def close(self) -> None:
        """Nothing to release."""
