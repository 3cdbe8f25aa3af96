"""The verdict on a study as a card: what to do with its labels, why, what moves them, what to do next."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from html import escape
from typing import Any

from quaver.core.number_format import enumeration
from quaver.core.records import Estimate
from quaver.core.rows import Rows
from quaver.report.estimate_index import Results
from quaver.report.findings.decision import recommendations
from quaver.report.findings.movement_words import movement
from quaver.report.findings.recommendation import NextStep, Recommendation, Recommended
from quaver.report.findings.verdict_words import (
    advice,
    best_of,
    gold_command,
    headline,
    limits,
    next_step,
    reasons,
    three_lines,
    unanswered,
)
from quaver.report.page_words import shortened

_NAMED = 3
"""As many models are named."""


@dataclass(frozen=True, slots=True)
class Card(Rows):
    """What a study comes down to; prints as three lines, and is a card in a notebook.

    Attributes:
        headline: What to do with the labels and why, in one sentence without intervals.
        recommendation: What to do with the labels, in a few words: "You can use these labels".
        verdict: Why, with its numbers, and what that does not vouch for.
        moves: What moves the labels, in one sentence.
        next_step: What to do next, in one sentence.
        lines: All of it in three sentences.
        recommendations: One for each model, typed, with the estimates that decided.
        command: What to type for the next step, after ``quaver``, where that depends on numbers; else empty.
        facts: What the study was: model, texts, prompts, calls, date, cost, as far as they are known.
    """

    headline: str
    recommendation: str
    verdict: str
    moves: str
    next_step: str
    lines: tuple[str, str, str]
    recommendations: tuple[Recommendation, ...]
    command: str
    facts: tuple[tuple[str, str], ...]

    @property
    def kind(self) -> Recommended:
        """The kind of the best recommendation: that of the model whose labels can best be used."""
        return best_of(self.recommendations).kind

    @property
    def step(self) -> NextStep:
        """What to do next, as a typed kind."""
        return best_of(self.recommendations).next_step

    @property
    def evidence(self) -> tuple[Estimate, ...]:
        """The estimates that decided, model by model."""
        return tuple(own for one in self.recommendations for own in one.evidence)

    def __str__(self) -> str:
        return "\n".join(self.lines)

    __repr__ = __str__

    def rows(self) -> list[dict[str, Any]]:
        """A row for each model: what to do with its labels, with which prompt, and what to do next."""
        return [
            {
                "model": one.model,
                "recommendation": one.kind,
                "prompt": one.prompt,
                "verdict": one.verdict.kind,
            }
            for one in self.recommendations
        ]

    def _repr_html_(self) -> str:
        lines = "".join(f"<p>{escape(line)}</p>" for line in (self.verdict, self.moves, self.next_step))
        facts = " · ".join(f"{escape(name)}: {escape(value)}" for name, value in self.facts)
        return f"<div><h3>{escape(self.recommendation)}</h3>{lines}<p><small>{facts}</small></p></div>"


def card(results: Results) -> Card:
    """The card of a study."""
    places = {model: at for at, model in enumerate(results.models)}
    found = sorted(
        recommendations([*results.audit, *results.estimates]),
        key=lambda one: places.get(one.model, len(places)),
    )
    if unanswered(results):  # the answers that are missing may be all that it takes
        found = [replace(one, next_step="run") if one.kind == "cannot tell" else one for one in found]
    return Card(
        headline(results, found),
        advice(found) + ".",
        " ".join(line for line in (reasons(results, found), limits(results, found)) if line),
        movement(results, found),
        next_step(results, found),
        three_lines(results, found),
        tuple(found),
        gold_command(results, best_of(found)),
        tuple(_facts(results)),
    )


def _facts(results: Results) -> Iterator[tuple[str, str]]:
    models, collected = results.models, results.lock.get("collection", {})
    if models:
        named = len(models) <= _NAMED
        yield (
            ("Model" if len(models) == 1 else "Models"),
            enumeration(shortened(name, 60) for name in models) if named else f"{len(models)}",
        )
    yield "Texts", f"{results.lock.get('items', {}).get('n', 0):,}"
    if results.variants:
        yield "Prompts", f"{len(results.variants):,}"
    calls = collected.get("answered")
    if calls is not None and not results.imported:
        total = collected.get("total", calls)
        yield "Calls", f"{calls:,}" if calls == total else f"{calls:,} of {total:,}"
    elif results.evaluators:
        yield "Labels", f"{results.annotations.height // len(results.evaluators):,}"
    if date := collected.get("date"):
        yield "Date", str(date)
    if collected.get("money") is not None:
        yield "Cost", f"${collected['money']:,.2f}" if collected["money"] else "free"
