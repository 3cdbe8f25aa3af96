"""What a model's answers say about whether it has changed since the first occasion."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from math import nan
from typing import Any, Final, Literal

from quaver.collect.run.progress import Price
from quaver.sequential.drift_evidence import LastingChange, Records
from quaver.watch.occasions import Canary, CanaryAnswer

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


def reached(occasion: Occasion, thresholds: Mapping[Aspect, float]) -> list[Aspect]:
    """The aspects with as much evidence as an alarm takes."""
    return [name for name, evidence in occasion.evidence.items() if evidence >= thresholds[name]]


class Drift:
    """One model's answers, taken in occasion by occasion.

    Args:
        canary: The canary.
        models: How many models are watched; they share the watch's error.
    """

    def __init__(self, canary: Canary, models: int = 1) -> None:
        self._canary, self._models = canary, models
        size = len(canary.pool)
        self._change = LastingChange(size)
        self._records = {name: Records(size, two_sided=name not in _ONE_SIDED) for name in _RECORDS}
        self._reference: dict[int, CanaryAnswer] = {}
        self._configurations: set[str] = set()

    def thresholds(self) -> dict[Aspect, float]:
        """The evidence at which each aspect raises the alarm."""
        error = self._canary.options.error / self._models
        return {name: 1 / (error * share) for name, share in SHARES.items()}

    def take_in(self, number: int, answers: Sequence[CanaryAnswer], price: Price | None) -> Occasion:
        """Take in an occasion."""
        found = Occasion(number, len(answers))
        by_prompt: dict[int, list[CanaryAnswer]] = {}
        for one in answers:
            by_prompt.setdefault(one.prompt, []).append(one)
        fresh = {prompt for prompt in by_prompt if prompt not in self._reference}
        for prompt, some in by_prompt.items():
            self._reference.setdefault(prompt, some[0])
            found.labels[some[0].label] += 1
            found.pairs.append((self._reference[prompt].label, some[0].label))
            self._note(prompt, some, found)
        self._learn({prompt: by_prompt[prompt] for prompt in fresh}, price)
        if number:
            self._bet({prompt: some for prompt, some in by_prompt.items() if prompt not in fresh}, price)
        found.evidence = {name: float(one.evidence) for name, one in self._records.items()}
        found.evidence["labels"] = float(self._change.evidence)
        found.served = self._new_configurations(answers, first=number == 0)
        return found

    def unclear(self, answers: Sequence[CanaryAnswer]) -> list[int]:
        """The prompts whose answers on an occasion are all other than the first one, the steadiest first."""
        own: dict[int, list[bool]] = {}
        for one in answers:
            if one.prompt in self._reference:
                own.setdefault(one.prompt, []).append(self._differs(one))
        wavered = self._change.wavered
        return sorted((prompt for prompt, differ in own.items() if all(differ)), key=lambda at: wavered[at])

    def _learn(self, fresh: Mapping[int, Sequence[CanaryAnswer]], price: Price | None) -> None:
        """Take in prompts that have no answers yet."""
        others = [sum(map(self._differs, some)) for some in fresh.values()]
        self._change.learn(list(fresh), others, [len(some) - 1 for some in fresh.values()])
        for prompts, answers in _rounds(fresh):
            for name, records in self._records.items():
                records.learn(prompts, self._values(name, answers, price))

    def _bet(self, known: Mapping[int, Sequence[CanaryAnswer]], price: Price | None) -> None:
        """Bet on the answers of a look; what many prompts show rests on each one's first answer alone."""
        for at, (prompts, answers) in enumerate(_rounds(known)):
            self._change.answer(prompts, [self._differs(one) for one in answers])
            for name, records in self._records.items() if at == 0 else ():
                records.look(prompts, self._values(name, answers, price))

    def _differs(self, one: CanaryAnswer) -> bool:
        return one.label != self._reference[one.prompt].label

    def _note(self, prompt: int, answers: Sequence[CanaryAnswer], found: Occasion) -> None:
        """Note a prompt with another answer than at first."""
        others = [one for one in answers if self._differs(one)]
        if others:
            item, variant, _ = self._canary.pool[prompt]
            before, again = self._reference[prompt].label, (len(others), len(answers))
            found.changes.append(Change(item, variant, before, others[0].label, again))

    def _values(self, name: Aspect, answers: Sequence[CanaryAnswer], price: Price | None) -> list[float]:
        values = [self._value(name, one, price) for one in answers]
        return [nan if value is None else value for value in values]

    def _value(self, name: Aspect, one: CanaryAnswer, price: Price | None) -> float | None:
        reference = self._reference[one.prompt]
        if name == "answers":
            return float(self._differs(one))
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


def _rounds(
    by_prompt: Mapping[int, Sequence[CanaryAnswer]],
) -> Iterator[tuple[list[int], list[CanaryAnswer]]]:
    """Every prompt's first answer, then the second answers of those with two, and so on."""
    for at in count():
        some = {prompt: answers[at] for prompt, answers in by_prompt.items() if at < len(answers)}
        if not some:
            return
        yield list(some), list(some.values())
