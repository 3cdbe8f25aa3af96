"""The finding in plain words, with the numbers that carry it, for any study."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from quaver.records import Estimate
from quaver.report.carrying import STABLE, carrying, named, readiness_headline, readiness_sentences
from quaver.report.numbers import number, points
from quaver.report.results import NO_LABEL, Results

__all__ = ["STABLE", "Finding", "finding", "strongest_factor"]

_CLEAR = 0.2
_SLIGHT = 0.1
_LISTED = 6
_GOLDS = 2
_MANY = 10
"""Items; with fewer, a finding says that it may be chance."""


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
        headline = said.format(named(results, *given))
    elif asked:
        top = strongest_factor(moved) or ""
        headline = _headline(moved, top, spans)
        if (n := spans[top].n) < _MANY:
            only = "one item was" if n == 1 else f"{n} items were"
            said = Markup("Only {} labelled: what holds here may be chance.")
            sentences.append(said.format(only))
        sentences += _moves(results, moved, top, asked)
    else:
        headline = Markup("One way of asking only: this study cannot say how much the labels depend on it.")
    if ready := readiness_headline(results):
        headline, sentences = ready, [*readiness_sentences(results), headline, *sentences]
    return Finding(headline, (*sentences, *carrying(results)))


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
    items = None if items is None else max(0.0, items)
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
    """A label's share among the items that have it as gold label, less that among the others.

    Of a label that no item has, how far its share differs between the gold labels.
    """
    shares = {one.cell["level"]: one.value or 0.0 for one in _level_shares(moved, "gold", label)}
    if len(shares) < 2:
        return None
    others = [value for gold, value in shares.items() if gold != label]
    if label not in shares:
        return max(others) - min(others)
    return shares[label] - sum(others) / len(others)


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
    sentences += _unlabelled(results, moved, asked)
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
    of = Markup("of {} among all answers").format(named(results, label))
    if label == NO_LABEL:
        of = Markup("of answers without a label")
    if len(told) > _LISTED:
        said = Markup("From one {} to another, the share {} goes from {} to {}.")
        return said.format(top, of, told[0], told[-1])
    said = Markup("By {}, the share {} is {} and {}.")
    return said.format(top, of, Markup(", ").join(told[:-1]), told[-1])


def _by_gold(results: Results, gold: Sequence[Estimate], label: str) -> Markup:
    """A label's share among the items that have it as gold label first, then among the others."""
    own = [one for one in gold if one.cell["level"] == label]
    told = own + [one for one in reversed(gold) if one not in own]
    first, *others = [
        (number(one.value or 0.0, percent=True), named(results, one.cell["level"])) for one in told
    ]
    if len(others) > _GOLDS:
        rest = Markup("{} ({}) to {} ({}) for the others").format(*others[-1], *others[0])
    else:
        rest = Markup(", ").join(Markup("{} for {}").format(*other) for other in others)
    return Markup("It is {} for items whose gold label is {} and {}.").format(*first, rest)


def _unlabelled(results: Results, moved: Sequence[Estimate], asked: dict[str, Estimate]) -> list[Markup]:
    """What moves the share of answers without a label most, where it moves it by a tenth or more."""
    shares = {factor: _level_shares(moved, factor, NO_LABEL) for factor in asked}
    spans = {f: (some[-1].value or 0.0) - (some[0].value or 0.0) for f, some in shares.items() if some}
    top = max(spans, key=lambda factor: spans[factor], default="")
    return [_by_level(results, shares[top], top, NO_LABEL)] if top and spans[top] >= _SLIGHT else []


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
