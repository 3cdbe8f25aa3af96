"""What a watch raises the alarm for, the message that says so, and the table over time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log10
from pathlib import Path
from typing import Any

from quaver.agreement import krippendorff_alpha
from quaver.core.number_format import count
from quaver.core.replaced_file import replace_text
from quaver.report.page.watch_page import Point, WatchedModel, WatchPage
from quaver.watch.drift import SHARES, Aspect, Occasion, reached
from quaver.watch.occasions import Canary

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
            lines = [f"{alarm.model}: {alarm.words} (since {alarm.since})." for alarm in self.alarms]
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
            "alarms": [alarm.document() for alarm in self.alarms],
            "models": [{"model": model.model} | model.occasions[-1].document() for model in self.models],
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
    for one, occasion in zip(asked, occasions, strict=True):
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
    result = []
    if now["identities"].get(model) != first["identities"].get(model):
        result.append(("identity", f"another model is asked: {now['identities'].get(model)}"))
    if occasion.served:
        named = ", another ".join(map(_plain, occasion.served[:3]))
        result.append(("configuration", f"the server names another {named}"))
    return result


def _plain(text: str) -> str:
    """Words of a server, a model or an item that mean nothing to a chat tool: no mention, link or markup."""
    return re.sub(r"[^\w .,;:!?'/+-]|//", "?", text)[:_LONGEST]


def _examples(occasion: Occasion) -> str:
    some = [
        f"{_plain(change.item)}: {_plain(change.before)} → {_plain(change.after)}"
        for change in occasion.changes[:3]
    ]
    more = len(occasion.changes) - len(some)
    return f" ({'; '.join(some)}{f' and {more} more' if more > 0 else ''})" if some else ""


PAGE = "watch.html"

_MOST_CHANGES = 500


def write_page(looked: Looked, canary: Canary) -> None:
    """Write the page into the watch's folder."""
    page = WatchPage(
        looked.study,
        looked.text.splitlines(),
        [_shown(time) for time in looked.times],
        [_watched(model, looked.times, canary) for model in looked.models],
        list(_how(canary)),
    )
    text = page.html()
    replace_text(looked.folder / PAGE, text)


def _watched(model: ModelLook, times: Sequence[str], canary: Canary) -> WatchedModel:
    changes = [
        (
            _shown(times[index]),
            change.item,
            change.variant,
            change.before,
            change.after,
            f"{change.again[0]} of {change.again[1]}",
        )
        for index, occasion in enumerate(model.occasions)
        for change in occasion.changes
    ]
    error = canary.options.error
    return WatchedModel(
        model.model,
        [(_shown(alarm.since), alarm.words) for alarm in model.alarms],
        [
            Point(index, name, log10(max(1e-6, value * error * SHARES[name])))
            for index, occasion in enumerate(model.occasions)
            for name, value in occasion.evidence.items()
        ],
        [
            Point(index, label, occasion.labels[label] / occasion.labels.total())
            for index, occasion in enumerate(model.occasions)
            for label in sorted({label for other in model.occasions for label in other.labels})
            if occasion.labels.total()
        ],
        list(_agreement(model)),
        changes[-_MOST_CHANGES:],
    )


def _agreement(model: ModelLook) -> Iterator[Point]:
    """Alpha between each look's labels and the first ones, where labels vary at all."""
    for index, occasion in enumerate(model.occasions):
        value = krippendorff_alpha(list(occasion.pairs)).value if index and len(occasion.pairs) > 1 else None
        if value is not None:
            yield Point(index, "alpha", float(value))


def _how(canary: Canary) -> Iterator[str]:
    options = canary.options
    asked = (
        f"a look asks {count(len(canary.parts[0]), 'prompt')}, and {count(len(canary.parts), 'look')} ask all"
    )
    yield (
        f"The canary is {count(len(canary.pool), 'prompt')} of the study, drawn at random and locked. "
        f"On the first occasion each was asked {options.first} times; {asked}. Up to {options.confirmed} "
        "prompts whose last answer was another one are asked again at the next look."
    )
    yield (
        "Each line of evidence is an e-process with one bet a look: while looks are exchangeable, "
        f"any of them reaches the level of an alarm in at most {options.error:.1%} of all watches, however "
        "long they go on. The answers of one look may depend on each other; those of the first occasion "
        "are taken to vary from one time of asking to the next as looks do, but for a shift common to them."
    )


def _shown(time: str) -> str:
    return time.replace("T", " ").partition("+")[0]
