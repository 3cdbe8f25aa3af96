"""What a watch raises the alarm for, and the message that says so."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quaver.core.number_format import count
from quaver.watch.drift import Aspect, Occasion, reached

_WORDS: Mapping[Aspect, str] = {
    "labels": "a prompt's label has changed for good",
    "log-probabilities": "the log-probabilities of many prompts have moved",
    "answers": "the labels of several prompts have changed",
    "refusals": "prompts that were answered are refused",
    "lengths": "answers have another length",
    "prices": "the same prompts cost another amount",
}

_LONGEST = 60
"""Characters of an answer, an id or a served name that a message shows."""


@dataclass(frozen=True, slots=True)
class Alarm:
    """One reason for an alarm.

    Attributes:
        model: The model's name in the study.
        aspect: What has changed: an aspect of the answers, or ``identity``, ``configuration`` or ``price``.
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
class ModelLook:
    """What the looks so far found of one model.

    Attributes:
        model: The model's name in the study.
        occasions: What each look brought, the first one first.
        alarms: Every reason for an alarm so far.
    """

    model: str
    occasions: Sequence[Occasion]
    alarms: Sequence[Alarm]


@dataclass(frozen=True, slots=True)
class Looked:
    """What a look found.

    Attributes:
        study: The study's name.
        number: The look's, from 0, the first occasion.
        times: When each look was taken, up to this one.
        models: Of every model, what each look found.
        folder: Where it is kept.
    """

    study: str
    number: int
    times: Sequence[str]
    models: Sequence[ModelLook]
    folder: Path

    @property
    def alarms(self) -> list[Alarm]:
        """Every reason for an alarm so far."""
        return [alarm for model in self.models for alarm in model.alarms]

    @property
    def text(self) -> str:
        """What happened, in a line or a few."""
        if self.alarms:
            lines = [f"{one.model}: {one.words} (since {one.since})." for one in self.alarms]
            return "\n".join(
                [f"Alarm for {self.study}: the model may no longer be the one you measured.", *lines]
            )
        asked = sum(model.occasions[-1].answers for model in self.models)
        if self.number == 0:
            return f"{self.study}: the first occasion, {count(asked, 'answer')} to hold later looks against."
        return f"{self.study}: look {self.number}, {count(asked, 'answer')}, no sign of a change."

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
            "alarms": [one.document() for one in self.alarms],
            "models": [{"model": one.model} | one.occasions[-1].document() for one in self.models],
            "folder": str(self.folder),
        }


def alarms_of(
    model: str,
    asked: Sequence[Mapping[str, Any]],
    found: Sequence[Occasion],
    thresholds: Mapping[Aspect, float],
) -> list[Alarm]:
    """Every reason for an alarm about one model; one that was given stays, whatever comes later.

    Args:
        model: Its name in the study.
        asked: The occasions, with the model's identity and price on each.
        found: What each brought.
        thresholds: How much evidence each aspect takes.
    """
    alarms: dict[str, Alarm] = {}
    for one, occasion in zip(asked, found, strict=True):
        for aspect, words in _facts(model, asked[0], one, occasion):
            alarms.setdefault(aspect, Alarm(model, aspect, one["time"], occasion.number, words))
        for name in reached(occasion, thresholds):
            evidence = occasion.evidence[name]
            words = f"{_WORDS[name]}{_examples(occasion) if name in ('labels', 'answers') else ''}"
            alarm = Alarm(model, name, one["time"], occasion.number, words, evidence, thresholds[name])
            alarms.setdefault(name, alarm)
    return list(alarms.values())


def _facts(
    model: str, first: Mapping[str, Any], now: Mapping[str, Any], occasion: Occasion
) -> list[tuple[str, str]]:
    """What is not drawn from answers: it either is another than at first or is not."""
    found = []
    if now["identities"].get(model) != first["identities"].get(model):
        found.append(("identity", f"another model is asked: {now['identities'].get(model)}"))
    if now["prices"].get(model) != first["prices"].get(model):
        found.append(
            (
                "price",
                f"its price has changed from {first['prices'].get(model)} to {now['prices'].get(model)}",
            )
        )
    if occasion.served:
        named = ", another ".join(map(_plain, occasion.served[:3]))
        found.append(("configuration", f"the server names another {named}"))
    return found


def _plain(text: str) -> str:
    """Words of a server, a model or an item that mean nothing to a chat tool: no mention, link or markup."""
    return re.sub(r"[^\w .,;:!?'/+-]|//", "?", text)[:_LONGEST]


def _examples(occasion: Occasion) -> str:
    some = [f"{_plain(one.item)}: {_plain(one.before)} → {_plain(one.after)}" for one in occasion.changes[:3]]
    more = len(occasion.changes) - len(some)
    return f" ({'; '.join(some)}{f' and {more} more' if more > 0 else ''})" if some else ""
