"""Engines that reword a prompt, one a file.

An engine fills a `Draft` with wordings: the draft knows the original, drops echoes and duplicates, and
names what it keeps. Engines that cost nothing (``surface``, ``format``, ``file``) fill a new one every
time, and give the same wordings on every machine. Engines that ask a model (``llm``, ``pegasus``) are
handed the draft that the study keeps, and add to it what is missing.

The instruction is what engines reword (``format``: the layout). The postfix is never touched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, runtime_checkable

from quaver.design.variants import Ground
from quaver.errors import ModelError, SpecError
from quaver.records import Decoding, Prompt, Response

__all__ = [
    "MOST",
    "TEMPERATURE",
    "Draft",
    "Foreseen",
    "Paraphraser",
    "ToAsk",
    "Wording",
    "Work",
    "check_count",
    "stand_ins",
    "too_few",
]

MOST = 1000
"""Wordings at one temperature or strength."""

TEMPERATURE = "paraphrase_temperature"
"""The covariate that holds the temperature at which a wording was made (``temperature`` is a decoding's)."""


@dataclass(frozen=True, slots=True)
class Wording:
    """One wording.

    Attributes:
        name: The level that it becomes, the same in every run: ``t0.5-3``.
        text: A template: what it says instead of the original.
        group: The temperature or strength, as text, at which it was made; empty where there is none.
        covariates: What the annotations say of it: the temperature, the strength.
        origin: How it was made, for the lock file: seed, kinds of edits, point of the grammar.
    """

    name: str
    text: str
    group: str = ""
    covariates: Mapping[str, str | float | bool] = field(default_factory=dict)
    origin: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Draft:
    """The wordings of one original, as they come in.

    Attributes:
        original: The template that is reworded.
        exact: Whether case, spacing and the final stop tell two wordings apart.
        wordings: What was kept.
        asked: How many answers were drawn, by group.
        dropped: How many of them were no wording, by group and why.
    """

    original: str
    exact: bool = False
    wordings: list[Wording] = field(default_factory=list)
    asked: dict[str, int] = field(default_factory=dict)
    dropped: dict[str, dict[str, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._forms = {self._form(one.text) for one in self.wordings}

    def of(self, group: str) -> list[Wording]:
        """The wordings of a group, in the order in which they came."""
        return [one for one in self.wordings if one.group == group]

    def offer(
        self,
        text: str,
        name: Callable[[int], str],
        group: str = "",
        covariates: Mapping[str, str | float | bool] | None = None,
        origin: Mapping[str, Any] | None = None,
    ) -> bool:
        """Keep a wording, unless it is empty, an echo of the original or there already.

        Args:
            text: The wording.
            name: What the n-th of its group is called, from 1.
            group: Where it belongs.
            covariates: See `Wording`.
            origin: See `Wording`.

        Returns:
            Whether it was kept.
        """
        why = self._refusal(text)
        if why:
            self.drop(group, why)
            return False
        number = len(self.of(group)) + 1
        self.wordings.append(Wording(name(number), text, group, covariates or {}, origin or {}))
        self._forms.add(self._form(text))
        return True

    def drop(self, group: str, why: str) -> None:
        """Count an answer that is no wording."""
        reasons = self.dropped.setdefault(group, {})
        reasons[why] = reasons.get(why, 0) + 1

    def _refusal(self, text: str) -> str | None:
        form = self._form(text)
        if not form.strip():
            return "empty"
        if form == self._form(self.original):
            return "echo"
        return "duplicate" if form in self._forms else None

    def _form(self, text: str) -> str:
        return text if self.exact else re.sub(r"[\W_]+", " ", text).strip().casefold()


class Work(Protocol):
    """What an engine may spend: the study hands it in, and keeps the draft whatever happens."""

    def begin(self, what: str) -> None:
        """Be told, before anything is spent, what is about to be made.

        Raises:
            SpecError: Nothing may be made now; the message says which command does.
        """
        ...

    def ask(
        self, model: str | Mapping[str, Any], prompt: Prompt, decoding: Decoding, seed: int, count: int
    ) -> list[Response]:
        """Ask a model of the study (by name), or one given beside it, the same thing ``count`` times.

        Raises:
            UnknownName: The study has no model of that name.
            ModelError: The model is of no use.
        """
        ...


class Paraphraser(Protocol):
    """Rewords a prompt, registered under ``quaver.paraphrasers``.

    Its constructor takes the options that stand beside its name in the study file, as keyword
    arguments with annotated types; making one is cheap.
    """

    factor: str
    """Column of the annotation frame that holds its wordings' names."""

    part: str
    """Which part of the prompt it rewords: ``instruction`` or ``layout``."""

    exact: bool
    """Whether case and spacing tell two of its wordings apart."""

    kept: bool
    """Whether its wordings cost something, and so are made once and kept."""

    def asked(self) -> Mapping[str, Any]:
        """What decides its wordings, apart from how many are wanted; what was kept under it is used again."""
        ...

    def reword(self, ground: Ground, draft: Draft, work: Work) -> Sequence[Wording]:
        """The wordings, without the original.

        Args:
            ground: What there is to reword, and the seed.
            draft: What there is already; filled up.
            work: What may be spent.

        Raises:
            SpecError: The original has nothing that this engine can change, or too little.
            ModelError: A model gave fewer wordings than are wanted, and how many.
        """
        ...


class ToAsk(NamedTuple):
    """What is left to be asked of a model for wordings, if each of its answers is one.

    Attributes:
        model: One of the study's, by name, or one given beside these.
        calls: How often, at least.
        characters: Of the prompt of each.
        answer_tokens: Of the answer to each, at most.
    """

    model: str | Mapping[str, Any]
    calls: int
    characters: int
    answer_tokens: int


@runtime_checkable
class Foreseen(Protocol):
    """A paraphraser of which it is known how many wordings it will make, before it has."""

    def foreseen(self, original: str) -> Sequence[Wording]:
        """As many wordings, by the names that they will have, each about as long as the original."""
        ...

    def to_ask(self, draft: Draft) -> ToAsk | None:
        """What filling a draft up will ask of a model of Quaver's; None where it asks none."""
        ...


def stand_ins(original: str, temperatures: Sequence[float], k: int) -> list[Wording]:
    """What `Foreseen` gives for ``k`` wordings at each temperature; no two of them begin alike."""
    groups = [(one, f"{one:g}") for one in temperatures]
    return [
        Wording(f"t{group}-{n}", f"{group} {n} {original}", group, {TEMPERATURE: one})
        for one, group in groups
        for n in range(1, k + 1)
    ]


def check_count(name: str, value: int, most: int = MOST) -> None:
    """See to it that a number of wordings can be meant.

    Raises:
        SpecError: It cannot.
    """
    if not 1 <= value <= most:
        raise SpecError(
            "this number of wordings cannot be made",
            where=name,
            expected=f"1 to {most:,}",
            found=f"{value:,}",
        )


def too_few(draft: Draft, group: str, wanted: int, what: str, fix: str) -> ModelError:
    """The error of a model that gave fewer wordings than are wanted."""
    came, reasons = len(draft.of(group)), draft.dropped.get(group, {})
    told = ", ".join(f"{count} {why}" for why, count in sorted(reasons.items()))
    return ModelError(
        f"{came} of {wanted} wordings came at {what}",
        expected=f"{wanted} that differ from the original and from each other",
        found=f"{draft.asked.get(group, 0)} answers" + (f", of which {told}" if told else ""),
        fix=fix,
    )
