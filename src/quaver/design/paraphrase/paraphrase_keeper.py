"""What a study keeps of its paraphrases between commands; ``paraphrase_file`` implements it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from quaver.core.records import Decoding, Prompt, Response
from quaver.design.factors.prompt_edits import Edit
from quaver.design.paraphrase.meaning import By, compare
from quaver.design.paraphrase.paraphrase_draft import Draft, Paraphrase, ToAsk, Work
from quaver.errors import SpecError


class Keeper(Protocol):
    """Keeps paraphrases that cost something and edits by hand."""

    @property
    def stands_in(self) -> bool:
        """Whether this is only a plan, in which texts of similar length replace paraphrases not made yet."""
        ...

    def foresee(self, left: ToAsk) -> None:
        """Record, for that plan, the calls that making them will take."""
        ...

    @property
    def edits(self) -> Sequence[Edit]:
        """Edits by hand, in the order in which they were made."""
        ...

    def paraphrases(
        self, asked: Mapping[str, Any], blank: Draft, fill: Callable[[Draft, Work], Sequence[Paraphrase]]
    ) -> Sequence[Paraphrase]:
        """The requested paraphrases: those that are kept, and those that ``fill`` adds.

        Args:
            asked: What decides them; equal requests share what is kept.
            blank: The draft to start from if nothing is kept.
            fill: Completes a draft and returns the requested paraphrases.
        """
        ...

    def similarities(self, by: By, original: str, paraphrases: Sequence[str]) -> tuple[str, list[float]]:
        """Similarities of paraphrases to the original, as from `meaning.compare`."""
        ...


class NotMade(SpecError):
    """Paraphrases that cost something have not been made, and may not be made now."""


class NoWork:
    """Refuses all calls; ``refused`` says whether one was attempted."""

    refused = False

    def begin(self, what: str) -> None:
        """Refuse."""
        self.refused = True
        raise NotMade(
            "the model's paraphrases have not been made yet",
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
    """For a study without a folder: it makes again what costs nothing, and nothing else."""

    edits: Sequence[Edit] = ()
    stands_in = False

    def foresee(self, left: ToAsk) -> None:
        """Ignored: nothing is planned without a folder."""

    def paraphrases(
        self, asked: Mapping[str, Any], blank: Draft, fill: Callable[[Draft, Work], Sequence[Paraphrase]]
    ) -> Sequence[Paraphrase]:
        return fill(blank, NoWork())

    def similarities(self, by: By, original: str, paraphrases: Sequence[str]) -> tuple[str, list[float]]:
        return compare(by, original, paraphrases)


NOTHING_KEPT: Keeper = _NothingKept()
