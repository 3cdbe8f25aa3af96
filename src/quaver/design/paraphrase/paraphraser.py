"""Engines that reword a prompt, one a file.

An engine fills a `Draft` with paraphrases: the draft knows the original, drops echoes and duplicates, and
names what it keeps. Engines that cost nothing (``surface``, ``format``, ``file``) fill a new one every
time, and give the same paraphrases on every machine. Engines that ask a model (``llm``, ``pegasus``) are
handed the draft that the study keeps, and add to it what is missing.

The instruction is what engines reword (``format``: the layout). The postfix is never touched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from quaver.design.paraphrase.paraphrase_draft import Draft, Paraphrase, ToAsk, Work
from quaver.design.paraphrase.prompt_context import PromptContext
from quaver.errors import ModelError, SpecError

__all__ = [
    "MOST",
    "TEMPERATURE",
    "Foreseen",
    "Paraphraser",
    "check_count",
    "stand_ins",
    "too_few",
]

MOST = 1000
"""Paraphrases at one temperature or strength."""

TEMPERATURE = "paraphrase_temperature"
"""The covariate with the temperature at which a paraphrase was made (``temperature`` is a decoding's)."""


class Paraphraser(Protocol):
    """Rewords a prompt, registered under ``quaver.paraphrasers``.

    Its constructor takes the options that stand beside its name in the study file, as keyword
    arguments with annotated types; making one is cheap.
    """

    factor: str
    """Column of the annotation frame that holds its paraphrases' names."""

    part: str
    """Which part of the prompt it rewords: ``instruction`` or ``layout``."""

    exact: bool
    """Whether case and spacing tell two of its paraphrases apart."""

    kept: bool
    """Whether its paraphrases cost something, and so are made once and kept."""

    def asked(self) -> Mapping[str, Any]:
        """What decides its paraphrases, apart from how many are wanted; what was kept under it is reused."""
        ...

    def reword(self, context: PromptContext, draft: Draft, work: Work) -> Sequence[Paraphrase]:
        """The paraphrases, without the original.

        Args:
            context: What there is to reword, and the seed.
            draft: What there is already; filled up.
            work: What may be spent.

        Raises:
            SpecError: The original has nothing that this engine can change, or too little.
            ModelError: A model gave fewer paraphrases than are wanted, and how many.
        """
        ...


@runtime_checkable
class Foreseen(Protocol):
    """A paraphraser of which it is known how many paraphrases it will make, before it has."""

    def foreseen(self, original: str) -> Sequence[Paraphrase]:
        """As many paraphrases, by the names that they will have, each about as long as the original."""
        ...

    def to_ask(self, draft: Draft) -> ToAsk | None:
        """What filling a draft up will ask of a model of Quaver's; None where it asks none."""
        ...


def stand_ins(original: str, temperatures: Sequence[float], k: int) -> list[Paraphrase]:
    """What `Foreseen` gives for ``k`` paraphrases at each temperature; no two of them begin alike."""
    groups = [(one, f"{one:g}") for one in temperatures]
    return [
        Paraphrase(f"t{group}-{n}", f"{group} {n} {original}", group, {TEMPERATURE: one})
        for one, group in groups
        for n in range(1, k + 1)
    ]


def check_count(name: str, value: int, most: int = MOST) -> None:
    """See to it that a number of paraphrases can be meant.

    Raises:
        SpecError: It cannot.
    """
    if not 1 <= value <= most:
        raise SpecError(
            "this number of paraphrases cannot be made",
            where=name,
            expected=f"1 to {most:,}",
            found=f"{value:,}",
        )


def too_few(draft: Draft, group: str, wanted: int, what: str, fix: str) -> ModelError:
    """The error of a model that gave fewer paraphrases than are wanted."""
    came, reasons = len(draft.of(group)), draft.dropped.get(group, {})
    told = ", ".join(f"{count} {why}" for why, count in sorted(reasons.items()))
    return ModelError(
        f"{came} of {wanted} paraphrases came at {what}",
        expected=f"{wanted} that differ from the original and from each other",
        found=f"{draft.asked.get(group, 0)} answers" + (f", of which {told}" if told else ""),
        fix=fix,
    )
