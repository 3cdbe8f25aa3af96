"""What a model's answers say about whether it has changed since the first occasion, and the alarm."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import nan
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from quaver.core.calls import Response
from quaver.core.number_format import count
from quaver.watch.drift_evidence import Floats, Moved, lasting_difference
from quaver.watch.occasions import Canary, CanaryAnswer

Aspect = Literal["labels", "log-probabilities", "answers", "refusals"]

SHARES: Final[Mapping[bool, Mapping[Aspect, float]]] = {
    True: {"labels": 0.2, "log-probabilities": 0.4, "answers": 0.4},
    False: {"labels": 0.2, "answers": 0.5, "refusals": 0.3},
}
"""What each aspect may spend of the watch's error, with log-probabilities and without: a prompt whose label
has changed for good; probabilities, labels and refusals of many prompts. The one token that is asked for with
log-probabilities shows no refusal."""

_MOVED: Final[tuple[Aspect, ...]] = ("log-probabilities", "answers", "refusals")
_ONE_SIDED = ("answers", "refusals")


@dataclass(slots=True)
class Occasion:
    """What one occasion brought, of one model.

    Attributes:
        number: From 0, the first.
        answers: How many there are.
        evidence: Of each aspect, after this occasion.
        labels: How often each label was given, of the prompts' first answers.
        changes: The prompts with another answer than at first: ``item``, ``prompt``, what was answered
            ``before`` and ``after``, and how many of its ``answers`` so far were ``differing``.
        served: Names of the served model and fingerprints of its configuration that were not there at first.
    """

    number: int
    answers: int = 0
    evidence: dict[Aspect, float] = field(default_factory=dict)
    labels: Counter[str] = field(default_factory=Counter)
    changes: list[dict[str, Any]] = field(default_factory=list)
    served: list[str] = field(default_factory=list)

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "occasion": self.number,
            "answers": self.answers,
            "evidence": {name: float(f"{value:.6g}") for name, value in self.evidence.items()},
            "labels": dict(self.labels),
            "changes": self.changes,
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
        self._labels = np.ones(len(canary.pool))
        self._moved: dict[Aspect, Moved] = {}
        self._shares = SHARES[False]
        self._reference: dict[int, CanaryAnswer] = {}
        self._differing: dict[int, list[bool]] = {}
        self._first: dict[int, int] = {}
        self._configurations: set[tuple[str, str]] = set()

    def thresholds(self) -> dict[Aspect, float]:
        """The evidence at which each aspect raises the alarm, from the first occasion on."""
        error = self._canary.options.error / self._models
        return {name: 1 / (error * share) for name, share in self._shares.items()}

    def take_in(self, number: int, answers: Sequence[CanaryAnswer]) -> Occasion:
        """Take in an occasion, of which a prompt's first answer counts; all of them on the first one."""
        occasion = Occasion(number, len(answers))
        rows: dict[int, dict[int, CanaryAnswer]] = defaultdict(dict)
        for answer in answers:
            rows[answer.number][answer.prompt] = answer
        here = rows[0]
        for row in rows.values() if number == 0 else [here]:
            for answer in row.values():
                self._compare(answer)
        asked = [here[prompt] for prompt in self._canary.asked_at(number) if prompt in here]
        for answer in asked:
            occasion.labels[answer.label] += 1
        occasion.changes = [self._change(here[prompt]) for prompt in here if self._differing[prompt][-1]]
        if number == 0:
            self._learn(list(map(rows.__getitem__, range(self._canary.options.first))))
        else:
            for name, moved in self._moved.items():
                moved.look([answer.prompt for answer in asked], self._values(name, asked))
        occasion.evidence = {name: moved.evidence for name, moved in self._moved.items()}
        occasion.evidence["labels"] = float(self._labels.mean())
        occasion.served = self._new_configurations(answers, first=number == 0)
        return occasion

    def suspects(self) -> list[int]:
        """The prompts whose last answer was another one than at first, the steadiest first."""
        last = [prompt for prompt, differ in self._differing.items() if differ[-1]]
        return sorted(last, key=lambda prompt: sum(self._differing[prompt]) / len(self._differing[prompt]))

    def _compare(self, answer: CanaryAnswer) -> None:
        """Hold an answer against its prompt's first one."""
        if answer.prompt not in self._reference:
            self._reference[answer.prompt], self._differing[answer.prompt] = answer, [False]
            self._first[answer.prompt] = 1
            return
        differing = self._differing[answer.prompt]
        differing.append(self._differs(answer))
        if answer.occasion == 0:
            self._first[answer.prompt] = len(differing)
        else:
            others = self._first[answer.prompt] - 1
            self._labels[answer.prompt] = lasting_difference(differing[1:], others)

    def _learn(self, rows: Sequence[Mapping[int, CanaryAnswer]]) -> None:
        """Take in the first occasion's answers, row by row."""
        self._shares = SHARES[any(answer.response.tokens for row in rows for answer in row.values())]
        for name in (name for name in _MOVED if name in self._shares):
            values = np.full((len(rows), len(self._canary.pool)), nan)
            for index, row in enumerate(rows):
                values[index, list(row)] = self._values(name, list(row.values()))
            self._moved[name] = Moved(
                values,
                self._canary.parts,
                centred=name not in _ONE_SIDED,
                reference=name == "answers",
            )

    def _differs(self, answer: CanaryAnswer) -> bool:
        return answer.label != self._reference[answer.prompt].label

    def _change(self, answer: CanaryAnswer) -> dict[str, Any]:
        """What a prompt with another answer than at first was answered."""
        item, variant, _ = self._canary.pool[answer.prompt]
        differ = self._differing[answer.prompt]
        said = {"before": self._reference[answer.prompt].label, "after": answer.label}
        return {"item": item, "prompt": variant, **said, "differing": sum(differ), "answers": len(differ)}

    def _values(self, name: Aspect, answers: Sequence[CanaryAnswer]) -> Floats:
        """What an aspect is measured by, an answer each; NaN where an answer says nothing of it."""
        if name == "answers":
            return np.array(list(map(self._differs, answers)), float)
        if name == "refusals":
            return np.array([answer.refused for answer in answers], float)
        values = np.full(len(answers), nan)
        for index, answer in enumerate(answers):
            if first := self._reference[answer.prompt].response.tokens[:1]:
                values[index] = answer.logprob(first[0].text)
        return values

    def _new_configurations(self, answers: Sequence[CanaryAnswer], *, first: bool) -> list[str]:
        named = set[tuple[str, str]]()
        for answer in answers:
            for kind, value in _served(answer.response):
                if value:
                    named.add((kind, value))
        if first or not self._configurations:
            self._configurations |= named
            return []
        kinds = dict(self._configurations)
        new = sorted(named - self._configurations)
        return [f"{kind} {value}" for kind, value in new if kind in kinds]


def _served(response: Response) -> Iterator[tuple[str, str | None]]:
    """What a response says of the model that answered."""
    yield "model", response.served_model
    yield "fingerprint", response.fingerprint


_WORDS: Mapping[Aspect, str] = {
    "labels": "a prompt's label has changed for good",
    "log-probabilities": "the log-probabilities of many prompts have moved",
    "answers": "the labels of several prompts have changed",
    "refusals": "prompts that were answered are refused",
}

_LONGEST = 60
"""Characters of an answer, an id or a served name that a message shows."""


@dataclass(frozen=True, slots=True)
class Alarm:
    """One reason for an alarm.

    Attributes:
        model: The model's name in the study.
        aspect: What has changed: an aspect of the answers, or ``identity`` or ``configuration``.
        since: When it was first seen.
        occasion: The look that saw it first.
        words: What has changed, in words.
        evidence: How much evidence there is; None where it is a fact.
        threshold: How much it takes.
    """

    model: str
    aspect: str
    since: str
    occasion: int
    words: str
    evidence: float | None = None
    threshold: float | None = None

    def document(self) -> dict[str, Any]:
        """For JSON."""
        evidence = None if self.evidence is None else float(f"{self.evidence:.6g}")
        facts = {"model": self.model, "aspect": self.aspect, "since": self.since, "look": self.occasion}
        return facts | {"words": self.words, "evidence": evidence, "threshold": self.threshold}


@dataclass(frozen=True, slots=True)
class Looked:
    """What a look found.

    Attributes:
        study: The study's name.
        times: When each look was taken, up to this one.
        occasions: Of every model, by its name in the study, what each look brought, the first one first.
        alarms: Every reason for an alarm so far.
        folder: Where it is kept.
    """

    study: str
    times: Sequence[str]
    occasions: Mapping[str, Sequence[Occasion]]
    alarms: Sequence[Alarm]
    folder: Path

    @property
    def number(self) -> int:
        """The look's, from 0, the first occasion."""
        return len(self.times) - 1

    @property
    def text(self) -> str:
        """The look in a line, or a few lines for an alarm."""
        if self.alarms:
            lines = [f"Alarm for {self.study}: the model may no longer be the one you measured."]
            lines += [f"{alarm.model}: {alarm.words} (since {alarm.since})." for alarm in self.alarms]
            return "\n".join(lines)
        asked = count(sum(looks[-1].answers for looks in self.occasions.values()), "answer")
        if self.number == 0:
            return f"{self.study}: the first look, {asked}, with which later looks are compared."
        return f"{self.study}: look {self.number}, {asked}, no sign of a change."

    def document(self) -> dict[str, Any]:
        """It as a message for a webhook; ``text`` alone says what matters."""
        event = "alarm" if self.alarms else "first" if self.number == 0 else "quiet"
        return {
            "event": f"quaver.watch.{event}",
            "text": self.text,
            "study": self.study,
            "look": self.number,
            "time": self.times[-1],
            "since": self.times[0],
            "alarm": bool(self.alarms),
            "alarms": [alarm.document() for alarm in self.alarms],
            "models": [{"model": name} | looks[-1].document() for name, looks in self.occasions.items()],
            "folder": str(self.folder),
        }


def alarms_of(
    model: str,
    asked: Sequence[Mapping[str, Any]],
    occasions: Sequence[Occasion],
    thresholds: Mapping[Aspect, float],
) -> list[Alarm]:
    """Every reason for an alarm about one model; one that was given stays, whatever comes later."""
    alarms: dict[str, Alarm] = {}
    first = asked[0]["identities"].get(model)
    for look, occasion in zip(asked, occasions, strict=True):
        since, number = look["time"], occasion.number
        if (identity := look["identities"].get(model)) != first:
            alarms.setdefault(
                "identity", Alarm(model, "identity", since, number, f"another model is asked: {identity}")
            )
        if occasion.served:
            named = ", another ".join(map(_plain, occasion.served[:3]))
            words = f"the server names another {named}"
            alarms.setdefault("configuration", Alarm(model, "configuration", since, number, words))
        for name in reached(occasion, thresholds):
            words = f"{_WORDS[name]}{_examples(occasion) if name in ('labels', 'answers') else ''}"
            evidence = occasion.evidence[name]
            alarms.setdefault(name, Alarm(model, name, since, number, words, evidence, thresholds[name]))
    return list(alarms.values())


def _plain(text: str) -> str:
    """Words of a server, a model or an item that mean nothing to a chat tool: no mention, link or markup."""
    return re.sub(r"[^\w .,;:!?'/+-]|//", "?", text)[:_LONGEST]


def _examples(occasion: Occasion) -> str:
    examples, more = [], len(occasion.changes) - 3
    for change in occasion.changes[:3]:
        item, before, after = map(_plain, (change["item"], change["before"], change["after"]))
        examples.append(f"{item}: {before} → {after}")
    return f" ({'; '.join(examples)}{f' and {more} more' if more > 0 else ''})" if examples else ""
