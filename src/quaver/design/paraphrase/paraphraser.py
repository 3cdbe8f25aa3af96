"""The protocol of a paraphraser: an engine that rewords a prompt.

An engine fills a `Draft` with paraphrases: the draft knows the original, drops echoes and duplicates, and
names what it keeps. Engines that cost nothing (``surface``, ``format``, ``file``) fill a new draft every
time, and give the same paraphrases on every machine. Engines that ask a model (``llm``, ``pegasus``) get the
draft that the study keeps, and add what is missing.

Engines reword the instruction (``format``: the layout). The postfix never changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, Protocol, runtime_checkable

from quaver.design.paraphrase.paraphrase_draft import Draft, Paraphrase, PromptContext, ToAsk, Work
from quaver.errors import ModelError, SpecError

MOST = 1000
"""The most paraphrases at one temperature or strength."""

TEMPERATURE = "paraphrase_temperature"
"""The covariate for the temperature at which a paraphrase was made (``temperature`` is a decoding's)."""

CUT_OFF: Final = "cut_off"
"""The covariate of a paraphrase whose end is missing, where such paraphrases are kept."""

CutOff = Literal["drop", "keep"]
"""What becomes of a paraphrase that a model did not end within its limit."""


class Paraphraser(Protocol):
    """Rewords a prompt, registered under ``quaver.paraphrasers``.

    Its constructor takes the options beside its name in the study file, as keyword arguments with annotated
    types; constructing one is cheap.
    """

    factor: str
    """The column of the annotation frame for its paraphrases' names."""

    part: str
    """The part of the prompt that it rewords: ``instruction`` or ``layout``."""

    exact: bool
    """Whether case and spacing distinguish two of its paraphrases."""

    kept: bool
    """Whether its paraphrases cost something and are therefore made once and kept."""

    def asked(self) -> Mapping[str, Any]:
        """Everything but the number that decides its paraphrases; kept paraphrases are reused under it."""
        ...

    def reword(self, context: PromptContext, draft: Draft, work: Work) -> Sequence[Paraphrase]:
        """The paraphrases, without the original.

        Args:
            context: The prompt to reword, and the seed.
            draft: The paraphrases so far; the engine adds to it.
            work: The calls that it may make.

        Raises:
            SpecError: The original has too little that this engine can change.
            ModelError: A model gave too few paraphrases; the message says how many.
        """
        ...


@runtime_checkable
class Foreseen(Protocol):
    """A paraphraser that knows in advance how many paraphrases it will make."""

    def foreseen(self, original: str) -> Sequence[Paraphrase]:
        """Stand-ins for its paraphrases, with their future names, each about as long as the original."""
        ...

    def to_ask(self, draft: Draft) -> ToAsk | None:
        """The calls that completing a draft will take; None if it takes none."""
        ...


def stand_ins(original: str, temperatures: Sequence[float], k: int) -> list[Paraphrase]:
    """Stand-ins for ``k`` paraphrases at each temperature; no two of them begin alike."""
    groups = [(one, f"{one:g}") for one in temperatures]
    return [
        Paraphrase(f"t{group}-{n}", f"{group} {n} {original}", group, {TEMPERATURE: one})
        for one, group in groups
        for n in range(1, k + 1)
    ]


def check_count(name: str, value: int, most: int = MOST) -> None:
    """Check a number of paraphrases.

    Raises:
        SpecError: It is too low or too high.
    """
    if not 1 <= value <= most:
        raise SpecError(
            "this number of paraphrases is out of range",
            where=name,
            expected=f"1 to {most:,}",
            found=f"{value:,}",
        )


def too_few(draft: Draft, group: str, wanted: int, what: str, fix: str) -> ModelError:
    """The error of a model that gave too few paraphrases."""
    came, reasons = len(draft.of(group)), draft.dropped.get(group, {})
    dropped = ", ".join(f"{count} {why}" for why, count in sorted(reasons.items()))
    return ModelError(
        f"the model gave {came} of {wanted} paraphrases at {what}",
        expected=f"{wanted} that differ from the original and from each other",
        found=f"{draft.asked.get(group, 0)} answers" + (f", of which {dropped}" if dropped else ""),
        fix=fix,
    )
