"""What a model's answers say about whether it has changed since the first occasion."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from quaver.collect.run.budget import Price
from quaver.sequential.drift_evidence import Records, SteadyAnswers
from quaver.watch.canary import Canary
from quaver.watch.occasions import CanaryAnswer

Aspect = Literal["labels", "log-probabilities", "answers", "refusals", "lengths", "prices"]

SHARES: Final[Mapping[Aspect, float]] = {
    "labels": 0.4,
    "log-probabilities": 0.3,
    "answers": 0.1,
    "refusals": 0.05,
    "lengths": 0.075,
    "prices": 0.075,
}
"""What each aspect may spend of the watch's error: a prompt whose label has changed for good; probabilities,
labels, refusals, lengths and costs of many prompts."""

_RECORDS: Final[tuple[Aspect, ...]] = ("log-probabilities", "answers", "refusals", "lengths", "prices")
_ONE_SIDED = ("answers", "refusals")


@dataclass(frozen=True, slots=True)
class Change:
    """A prompt with another answer than at first.

    Attributes:
        item: The item's id.
        variant: The variant's.
        before: What it was answered at first.
        after: What it was answered now.
        again: How many of the answers on this occasion were not the first one, and how many there were.
    """

    item: str
    variant: str
    before: str
    after: str
    again: tuple[int, int]


@dataclass(slots=True)
class Occasion:
    """What one occasion brought, of one model.

    Attributes:
        number: From 0, the first.
        answers: How many there are.
        evidence: Of each aspect, after this occasion.
        labels: How often each label was given, of the prompts' first answers.
        changes: The prompts with another answer than at first.
        served: Names of the served model and fingerprints of its configuration that were not there at first.
        pairs: Each prompt's first label, and its label now.
    """

    number: int
    answers: int = 0
    evidence: dict[Aspect, float] = field(default_factory=dict)
    labels: Counter[str] = field(default_factory=Counter)
    changes: list[Change] = field(default_factory=list)
    served: list[str] = field(default_factory=list)
    pairs: list[tuple[str, str]] = field(default_factory=list)

    def document(self) -> dict[str, Any]:
        """For JSON."""
        changes = [
            {"item": one.item, "prompt": one.variant, "before": one.before, "after": one.after}
            | {"differing": one.again[0], "answers": one.again[1]}
            for one in self.changes
        ]
        return {
            "occasion": self.number,
            "answers": self.answers,
            "evidence": {name: float(f"{value:.6g}") for name, value in self.evidence.items()},
            "labels": dict(self.labels),
            "changes": changes,
            "new_configurations": self.served,
        }


class Drift:
    """One model's answers, taken in occasion by occasion.

    Args:
        canary: The canary.
    """

    def __init__(self, canary: Canary) -> None:
        self._canary = canary
        self._steady = SteadyAnswers(len(canary.pool))
        self._records = {name: Records(two_sided=name not in _ONE_SIDED) for name in _RECORDS}
        self._reference: dict[int, CanaryAnswer] = {}
        self._configurations: set[str] = set()

    def thresholds(self) -> dict[Aspect, float]:
        """The evidence at which each aspect raises the alarm."""
        return {name: 1 / (self._canary.options.error * share) for name, share in SHARES.items()}

    def take_in(self, number: int, answers: Sequence[CanaryAnswer], price: Price | None) -> Occasion:
        """Take in an occasion.

        Args:
            number: From 0, the first, on which nothing is bet.
            answers: The model's answers on it, by number and prompt.
            price: What tokens cost then.
        """
        found = Occasion(number, len(answers))
        by_prompt: dict[int, list[CanaryAnswer]] = {}
        for one in answers:
            by_prompt.setdefault(one.prompt, []).append(one)
        fresh = {prompt for prompt in by_prompt if prompt not in self._reference}
        for prompt, some in by_prompt.items():
            self._reference.setdefault(prompt, some[0])
            found.labels[some[0].label] += 1
            found.pairs.append((self._reference[prompt].label, some[0].label))
            self._visit(prompt, some[1:] if prompt in fresh else some, found)
        regular = [one for one in answers if one.number == 0 or one.prompt in fresh]
        for name, records in self._records.items():
            for one in regular if number == 0 else [one for one in regular if one.prompt in fresh]:
                value = self._value(name, one, price)
                records.learn(str(one.prompt), [] if value is None else [value])
            if number:
                values = {
                    str(one.prompt): self._value(name, one, price)
                    for one in regular
                    if one.prompt not in fresh
                }
                records.look({prompt: value for prompt, value in values.items() if value is not None})
            found.evidence[name] = records.evidence
        found.evidence["labels"] = self._steady.evidence
        found.served = self._new_configurations(answers, first=number == 0)
        return found

    def differing(self, answers: Sequence[CanaryAnswer]) -> list[int]:
        """The prompts whose answers are not the first one, each of them."""
        own: dict[int, list[bool]] = {}
        for one in answers:
            if one.prompt in self._reference:
                own.setdefault(one.prompt, []).append(one.label != self._reference[one.prompt].label)
        return [prompt for prompt, differ in own.items() if all(differ)]

    def _visit(self, prompt: int, answers: Sequence[CanaryAnswer], found: Occasion) -> None:
        reference = self._reference[prompt]
        others = [one for one in answers if one.label != reference.label]
        if answers:
            self._steady.visit(str(prompt), len(others), len(answers))
        if others:
            item, variant, _ = self._canary.pool[prompt]
            again = (len(others), len(answers))
            found.changes.append(Change(item, variant, reference.label, others[0].label, again))

    def _value(self, name: Aspect, one: CanaryAnswer, price: Price | None) -> float | None:
        reference = self._reference[one.prompt]
        if name == "answers":
            return float(one.label != reference.label)
        if name == "refusals":
            return float(one.refused)
        if name == "lengths":
            return one.length
        if name == "prices":
            return one.cost(price)
        return one.logprob(reference.response.tokens[0].text) if reference.response.tokens else None

    def _new_configurations(self, answers: Sequence[CanaryAnswer], *, first: bool) -> list[str]:
        served = {
            f"{kind} {value}"
            for one in answers
            for kind, value in (
                ("model", one.response.served_model),
                ("fingerprint", one.response.fingerprint),
            )
            if value
        }
        kinds = {one.partition(" ")[0] for one in self._configurations}
        new = sorted(one for one in served - self._configurations if one.partition(" ")[0] in kinds)
        if first or not self._configurations:
            self._configurations |= served
            return []
        return new
