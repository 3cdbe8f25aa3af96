"""The first screen: what to do with the labels, why, and what the study was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup, escape

from quaver.core.number_format import percent
from quaver.report.estimate_index import Results
from quaver.report.findings.finding import STOPPED, Finding
from quaver.report.findings.recommendation import Reason, Recommendation, Recommended
from quaver.report.findings.verdict_card import card
from quaver.report.findings.verdicts import Issue
from quaver.report.page.method import departures

_BADGES: Final[Mapping[Recommended, tuple[str, str, str]]] = {
    "use": ("good", "✓", "Use these labels"),
    "use except for": ("good", "✓", "Use, with exceptions"),
    "use one prompt only": ("good", "✓", "Use with this prompt"),
    "do not use": ("bad", "✕", "Do not use"),
    "cannot tell": ("open", "?", "Cannot tell yet"),
}

_MOST_BADGES = 6
"""Of more models, the first ones have a badge."""


@dataclass(frozen=True, slots=True)
class Badge:
    """A recommendation as it stands on the card.

    Attributes:
        tone: ``good``, ``bad`` or ``open``: its colour.
        sign: What stands before the words, for those who see no colour.
        words: What is recommended.
        model: For which model; empty if there is one only.
        prompt: The prompt that is recommended, if it is one.
    """

    tone: str
    sign: str
    words: str
    model: str
    prompt: str


@dataclass(frozen=True, slots=True)
class FirstScreen:
    """What stands on the first screen, beside its chart.

    Attributes:
        verdict: What to do with the labels and why, in one sentence.
        badges: A recommendation for each model.
        lines: Sentences, each with the question that it answers.
        alarms: What is seriously wrong with the answers, a clause each; this comes first.
        stopped: Whether that is so bad that nothing else can be judged.
        facts: What was studied, when and for how much, by name.
        apart: Where the study departs from what was planned, or is less than what was asked.
    """

    verdict: str
    badges: tuple[Badge, ...]
    lines: tuple[tuple[str, Markup], ...]
    alarms: tuple[str, ...]
    stopped: bool
    facts: tuple[tuple[str, str], ...]
    apart: tuple[str, ...]


def first_screen(results: Results, found: Finding) -> FirstScreen:
    """The first screen of a study.

    Args:
        results: The study.
        found: What it found.
    """
    known = card(results)
    serious = [one for one in found.quality.issues if one.severity != "note"]
    said = {(one.model, _SAID.get(one.reason)) for one in known.recommendations}
    alarms = [one for one in serious if (one.model, one.kind) not in said]
    lines = [
        ("What was found", _found(found, known.verdict)),
        ("What moves the labels", escape(known.moves)),
        ("What to do next", escape(known.next_step)),
    ]
    several = len(known.recommendations) > 1
    return FirstScreen(
        verdict=known.headline,
        badges=tuple(_badge(results, one, several) for one in known.recommendations[:_MOST_BADGES]),
        lines=tuple((question, line) for question, line in lines if line),
        alarms=tuple(_alarm(one, len(found.quality.models) > 1) for one in alarms),
        stopped={one.model for one in serious if one.severity == "stop"} >= {*found.quality.models} != set(),
        facts=known.facts,
        apart=tuple(departures(results.lock)),
    )


_ALARMS: Final[Mapping[str, str]] = {
    "failed_calls": "of the calls failed",
    "unlabelled_answers": "of the answers have no label",
    "truncated_answers": "of the answers were cut off at max_tokens",
}


_SAID: Final[Mapping[Reason, str]] = {
    "unreadable": "unlabelled_answers",
    "cut off": "unlabelled_answers",
    "failed": "failed_calls",
}
"""Why not to use labels, and the alarm that says nothing else."""


def _found(found: Finding, verdict: str) -> Markup:
    """What one model's labels turned out to be, where that is news, and what the recommendation rests on."""
    (one, *others) = found.verdicts
    known = found.headline.striptags().rstrip(".") in verdict
    if others or known or one.kind in STOPPED or one.kind.startswith("steady"):
        return escape(verdict)
    return Markup("{} {}").format(found.headline, verdict)


def _alarm(one: Issue, several: bool) -> str:
    of = f" (“{one.model}”)" if several else ""
    return f"{percent(one.estimate.value or 0.0)} {_ALARMS[one.kind]}{of}"


def _badge(results: Results, one: Recommendation, several: bool) -> Badge:
    prompt = results.variant_name(one.prompt) if one.prompt else ""
    return Badge(*_BADGES[one.kind], one.model if several else "", prompt)
