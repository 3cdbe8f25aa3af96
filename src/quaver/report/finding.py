"""The finding in plain words, with the numbers that carry it, for any study."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from quaver.records import Estimate
from quaver.report.numbers import number, percent_measure, points, printed, value_and_interval
from quaver.report.results import NO_LABEL, Results

__all__ = ["STABLE", "Finding", "finding", "strongest_factor"]

STABLE = 0.8
"""Krippendorff's customary bar: below it, conclusions from the labels are not safe."""

_CLEAR = 0.2
_SLIGHT = 0.1
_LISTED = 6


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found.

    Attributes:
        headline: One sentence, as HTML.
        sentences: What carries it, as HTML.
    """

    headline: Markup
    sentences: tuple[Markup, ...]

    def __str__(self) -> str:
        return "\n".join(part.striptags() for part in (self.headline, *self.sentences))


def finding(results: Results) -> Finding:
    """Say what was found.

    Args:
        results: The study.
    """
    moved = results.moved
    spans = {one.cell["factor"]: one for one in moved if one.measure == "label_range"}
    asked = {factor: one for factor, one in spans.items() if factor != "gold" and one.value is not None}
    sentences: list[Markup] = []
    given = {one.cell["label"] for one in moved if one.measure == "level_shares" and one.value}
    if results.annotations.is_empty():
        headline = Markup("There are no answers yet, so nothing could be measured.")
    elif given == {NO_LABEL}:
        headline = Markup("No label could be read from any answer, so nothing can be said of the labels.")
    elif len(given) == 1:
        said = Markup("Every answer has the same label, {}, whatever is asked about whichever item.")
        headline = said.format(_named(results, *given))
    elif asked:
        top = strongest_factor(moved) or ""
        headline = _headline(moved, top, spans)
        sentences += _moves(results, moved, top, asked)
    else:
        headline = Markup("One way of asking only: this study cannot say how much the labels depend on it.")
    sentences += _stability(results)
    sentences += _accuracy(results)
    sentences += _valid(results)
    return Finding(headline, tuple(sentences))


def strongest_factor(moved: Sequence[Estimate]) -> str | None:
    """The factor of the asking that moves a label's share most."""
    spans = [
        one
        for one in moved
        if one.measure == "label_range" and one.value is not None and one.cell["factor"] != "gold"
    ]
    return max(spans, key=lambda one: one.value or 0.0).cell["factor"] if spans else None


def _headline(moved: Sequence[Estimate], top: str, spans: dict[str, Estimate]) -> Markup:
    span = spans[top].value or 0.0
    items = _item_span(moved, spans[top].cell["label"])
    parts = {one.cell["factor"]: one.value for one in moved if one.measure == "variation"}
    if items is None:  # no gold: compare the parts of the variation instead
        own, other = parts.get(top) or 0.0, parts.get("item") or 0.0
    else:
        own, other = span, items
    if span < _SLIGHT:
        return Markup("How the question is asked hardly moves the labels.")
    if span >= _CLEAR and other < _SLIGHT:
        return Markup("The labels follow the {}, not the items.").format(top)
    if span >= _CLEAR and own >= 2 * other:
        return Markup("The labels follow the {} more than the items that they are meant to describe.").format(
            top
        )
    if own > other:
        return Markup("The labels depend more on the {} than on the items.").format(top)
    return Markup("The labels follow the items, but the {} moves them too.").format(top)


def _item_span(moved: Sequence[Estimate], label: str) -> float | None:
    """How far a label's share differs between items of different gold labels."""
    shares = [
        one.value
        for one in moved
        if one.measure == "level_shares"
        and one.cell["factor"] == "gold"
        and one.cell["label"] == label
        and one.value is not None
    ]
    return max(shares) - min(shares) if len(shares) > 1 else None


def _level_shares(moved: Sequence[Estimate], factor: str, label: str) -> list[Estimate]:
    """Of one label over a factor's levels, smallest first."""
    found = [
        one
        for one in moved
        if one.measure == "level_shares"
        and one.cell["factor"] == factor
        and one.cell["label"] == label
        and one.value is not None
    ]
    return sorted(found, key=lambda one: one.value or 0.0)


def _named(results: Results, label: str) -> Markup:
    return escape("no label") if label == NO_LABEL else Markup("“{}”").format(results.label_name(label))


def _moves(results: Results, moved: Sequence[Estimate], top: str, asked: dict[str, Estimate]) -> list[Markup]:
    label = asked[top].cell["label"]
    shares = _level_shares(moved, top, label)
    sentences = [_by_level(results, shares, top, label)]
    gold = _level_shares(moved, "gold", label)
    if len(gold) > 1:
        sentences.append(_by_gold(results, gold, label))
    elif parts := {one.cell["factor"]: one for one in moved if one.measure == "variation" and one.value}:
        sentences += _by_variation(parts, top)
    others = sorted((one for f, one in asked.items() if f != top), key=lambda one: -(one.value or 0.0))
    if others:
        told = [Markup("{} {}").format(one.cell["factor"], points(one.value or 0.0)) for one in others]
        said = Markup("The most that anything else moves a label’s share: {}.")
        sentences.append(said.format(Markup(", ").join(told)))
    return sentences


def _by_level(results: Results, shares: Sequence[Estimate], top: str, label: str) -> Markup:
    """The label's share at every level, or at the lowest and the highest of many."""
    told = [
        Markup("{} ({})").format(number(one.value or 0.0, percent=True), one.cell["level"]) for one in shares
    ]
    if len(told) > _LISTED:
        said = Markup("From one {} to another, the share of {} among all answers goes from {} to {}.")
        return said.format(top, _named(results, label), told[0], told[-1])
    said = Markup("By {}, the share of {} among all answers is {} and {}.")
    return said.format(top, _named(results, label), Markup(", ").join(told[:-1]), told[-1])


def _by_gold(results: Results, gold: Sequence[Estimate], label: str) -> Markup:
    own = [one for one in gold if one.cell["level"] == label]
    told = own + [one for one in reversed(gold) if one not in own][: 3 - len(own)]
    first, *others = [
        (number(one.value or 0.0, percent=True), _named(results, one.cell["level"])) for one in told
    ]
    rest = Markup(", ").join(Markup("{} for {}").format(*other) for other in others)
    return Markup("It is {} for items whose gold label is {} and {}.").format(*first, rest)


def _by_variation(parts: dict[str, Estimate], top: str) -> list[Markup]:
    if top not in parts or "item" not in parts:
        return []
    return [
        Markup(
            "Taken alone, the {} accounts for {} of the labels’ variation; which item it is, for {}."
        ).format(
            top,
            number(parts[top].value or 0.0, percent=True),
            number(parts["item"].value or 0.0, percent=True),
        )
    ]


def _span(estimates: Sequence[Estimate]) -> Markup:
    """One estimate with its interval, or the smallest and largest of several."""
    known = sorted((one for one in estimates if one.value is not None), key=lambda one: one.value or 0.0)
    if len(known) == 1:
        return value_and_interval(known[0])
    percent = percent_measure(known[0].measure)
    if printed(known[0].value or 0.0, percent) == printed(known[-1].value or 0.0, percent):
        return Markup("{} in each of {} conditions").format(
            number(known[0].value or 0.0, percent), len(known)
        )
    return Markup("{} to {} over {} conditions").format(
        number(known[0].value or 0.0, percent), number(known[-1].value or 0.0, percent), len(known)
    )


def _stability(results: Results) -> list[Markup]:
    told: list[Markup] = []
    for measure, words in (
        ("intra_pss", "Asked again in the same words, {} agrees with itself at α = {}."),
        ("inter_pss", "Asked in other ways, {} agrees with itself at α = {}."),
    ):
        known = [one for one in results.main(measure) if one.value is not None]
        if known:
            coarsest = min(len(one.cell) for one in known)
            who = "it" if told else "the model"
            told.append(Markup(words).format(who, _span([one for one in known if len(one.cell) == coarsest])))
    if not told:
        return []
    scale = Markup("Here 1 is perfect, 0 is chance, and below {} is not safe to build on.").format(STABLE)
    return [Markup(" ").join([*told, scale])]


def _accuracy(results: Results) -> list[Markup]:
    known = [one for one in results.main("accuracy") if one.value is not None]
    if not known:
        return []
    told = Markup("Accuracy is {}").format(_span(known))
    details = known[0].details
    majority, chance = details.get("majority"), details.get("chance")
    if isinstance(majority, float) and isinstance(chance, float):
        told += Markup("; always answering {} would be right in {}, guessing in {}").format(
            _named(results, str(details.get("majority_label", "the commonest label"))),
            number(majority, percent=True),
            number(chance, percent=True),
        )
    return [told + Markup(".")]


def _valid(results: Results) -> list[Markup]:
    known = [one for one in results.main("compliance") if one.value is not None]
    if not known or min(one.value or 0.0 for one in known) > 0.95:
        return []
    low, high = min(known, key=lambda one: one.value or 0.0), max(known, key=lambda one: one.value or 0.0)
    if low is high:
        return [Markup("A label could be read from {} of the answers.").format(value_and_interval(low))]
    return [
        Markup("A label could be read from {} to {} of a condition’s answers.").format(
            number(low.value or 0.0, percent=True), number(high.value or 0.0, percent=True)
        )
    ]
