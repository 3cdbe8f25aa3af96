"""The paraphrases of one original as they come in, and what an engine may spend on them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from quaver.core.records import Decoding, Prompt, Response

__all__ = ["Draft", "Paraphrase", "ToAsk", "Work"]


@dataclass(frozen=True, slots=True)
class Paraphrase:
    """One paraphrase.

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
    """The paraphrases of one original, as they come in.

    Attributes:
        original: The template that is reworded.
        exact: Whether case, spacing and the final stop tell two paraphrases apart.
        paraphrases: What was kept.
        asked: How many answers were drawn, by group.
        dropped: How many of them were no paraphrase, by group and why.
    """

    original: str
    exact: bool = False
    paraphrases: list[Paraphrase] = field(default_factory=list)
    asked: dict[str, int] = field(default_factory=dict)
    dropped: dict[str, dict[str, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._forms = {self._form(one.text) for one in self.paraphrases}

    def of(self, group: str) -> list[Paraphrase]:
        """The paraphrases of a group, in the order in which they came."""
        return [one for one in self.paraphrases if one.group == group]

    def offer(
        self,
        text: str,
        name: Callable[[int], str],
        group: str = "",
        covariates: Mapping[str, str | float | bool] | None = None,
        origin: Mapping[str, Any] | None = None,
    ) -> bool:
        """Keep a paraphrase, unless it is empty, an echo of the original or there already.

        Args:
            text: The paraphrase.
            name: What the n-th of its group is called, from 1.
            group: Where it belongs.
            covariates: See `Paraphrase`.
            origin: See `Paraphrase`.

        Returns:
            Whether it was kept.
        """
        why = self._refusal(text)
        if why:
            self.drop(group, why)
            return False
        number = len(self.of(group)) + 1
        self.paraphrases.append(Paraphrase(name(number), text, group, covariates or {}, origin or {}))
        self._forms.add(self._form(text))
        return True

    def drop(self, group: str, why: str) -> None:
        """Count an answer that is no paraphrase."""
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


class ToAsk(NamedTuple):
    """What is left to be asked of a model for paraphrases, if each of its answers is one.

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
