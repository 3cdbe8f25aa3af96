"""What a study keeps of its paraphrases between commands: ``paraphrase_file`` implements it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from quaver.core.records import Decoding, Prompt, Response
from quaver.design.factors.prompt_edits import Edit
from quaver.design.paraphrase.meaning import By, compare
from quaver.design.paraphrase.paraphrase_draft import Draft, Paraphrase, ToAsk, Work
from quaver.errors import SpecError

__all__ = ["NOTHING_KEPT", "Keeper", "NoWork", "NotMade"]


class Keeper(Protocol):
    """Keeps what was paid for and what a person wrote."""

    @property
    def stands_in(self) -> bool:
        """Whether a plan is all that is wanted: something as long stands in for what has not been made."""
        ...

    def foresee(self, left: ToAsk) -> None:
        """Take note, for that plan, of what making it will ask of a model."""
        ...

    @property
    def edits(self) -> Sequence[Edit]:
        """Edits by hand, in the order in which they were made."""
        ...

    def paraphrases(
        self, asked: Mapping[str, Any], blank: Draft, fill: Callable[[Draft, Work], Sequence[Paraphrase]]
    ) -> Sequence[Paraphrase]:
        """The paraphrases that were asked for: those that are kept, and what ``fill`` adds to them.

        Args:
            asked: What decides them; two that ask for the same share what is kept.
            blank: The draft to start from where nothing is kept.
            fill: Fills a draft up and returns what is wanted of it.
        """
        ...

    def similarities(self, by: By, original: str, paraphrases: Sequence[str]) -> tuple[str, list[float]]:
        """Similarities of paraphrases to their original, as `meaning.compare` gives them."""
        ...


class NotMade(SpecError):
    """Paraphrases that cost something are wanted, have not been made, and may not be made now."""


class NoWork:
    """Nothing may be spent; ``refused`` tells whether something was to be."""

    refused = False

    def begin(self, what: str) -> None:
        """Refuse."""
        self.refused = True
        raise NotMade(
            "paraphrases that a model makes have not been made yet",
            expected=what,
            found="none",
            fix="`quaver variants STUDY` makes them, and so does run",
        )

    def ask(
        self, model: str | Mapping[str, Any], prompt: Prompt, decoding: Decoding, seed: int, count: int
    ) -> list[Response]:
        """Refuse."""
        self.begin(f"{count} answers of a model")
        return []


class _NothingKept:
    """No folder: whatever costs nothing is made anew, and nothing else."""

    edits: Sequence[Edit] = ()
    stands_in = False

    def foresee(self, left: ToAsk) -> None:
        """Nobody plans with it."""

    def paraphrases(
        self, asked: Mapping[str, Any], blank: Draft, fill: Callable[[Draft, Work], Sequence[Paraphrase]]
    ) -> Sequence[Paraphrase]:
        return fill(blank, NoWork())

    def similarities(self, by: By, original: str, paraphrases: Sequence[str]) -> tuple[str, list[float]]:
        return compare(by, original, paraphrases)


NOTHING_KEPT: Keeper = _NothingKept()
