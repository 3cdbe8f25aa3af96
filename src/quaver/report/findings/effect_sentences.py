"""Sentences on what a prompt's parts change: the largest effect, and whether it is clear of the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup, escape

from quaver.core.records import Estimate
from quaver.report.estimate_index import Results
from quaver.report.page_numbers import points

FEW = 3
"""As many estimates are reported one by one, each with its interval."""


def clear(one: Estimate) -> bool:
    """Whether the whole interval is on one side of 0; one that touches it is not.

    >>> clear(Estimate("d", -0.06, -0.17, 0.0)), clear(Estimate("d", -0.23, -0.33, -0.1))
    (False, True)
    """
    return one.low is not None and one.high is not None and (one.low > 0 or one.high < 0)


class Largest(NamedTuple):
    """Of several effects the one with the largest estimate, and what may be said of it.

    Attributes:
        top: It.
        clear: Whether its interval lies on one side of 0.
        next: The next largest, of another hypothesis; None where there is one only.
        separated: Whether the two intervals are apart, in size.
        others: Those that are clear of 0 where the largest is not, the largest first.
    """

    top: Estimate
    clear: bool
    next: Estimate | None
    separated: bool
    others: tuple[Estimate, ...]


def largest_effects(effects: Sequence[Estimate]) -> Largest | None:
    """The largest of some effects; None where there is none.

    Args:
        effects: Of one outcome and model. The two sides of one test count once.
    """
    known: dict[object, Estimate] = {}
    for one in effects:
        if one.value:
            known.setdefault(
                one.details.get("hypothesis", (one.cell.get("factor"), one.cell.get("level"))), one
            )
    ranked = sorted(known.values(), key=lambda one: -abs(one.value or 0.0))
    if not ranked:
        return None
    top, *rest = ranked
    second = rest[0] if rest else None
    apart = second is not None and clear(top) and _size(top)[0] > _size(second)[1]
    others = () if clear(top) else tuple(one for one in rest if clear(one))
    return Largest(top, clear(top), second, apart, others)


def _size(one: Estimate) -> tuple[float, float]:
    """The ends of the interval of an effect's size, whichever way it goes."""
    ends = sorted(abs(end) for end in (one.low, one.high) if end is not None)
    if len(ends) < 2:
        return 0.0, float("inf")
    return (ends[0] if clear(one) else 0.0), ends[1]


def effect_sentences(results: Results) -> list[Markup]:
    """The largest effect of a factor's level on accuracy, model by model; else on compliance."""
    for kind, what in (("accuracy", "accuracy"), ("compliance", "the share of answers with a label")):
        effects = results.main(f"factor_effects_{kind}_difference")
        models = list(dict.fromkeys(one.cell.get("model", "") for one in effects))[:FEW]
        sentences = []
        for model in models:
            found = largest_effects([one for one in effects if one.cell.get("model", "") == model])
            of = f" of “{model}”" if len(models) > 1 else ""
            sentences += [] if found is None else [_largest(found, f"{what}{of}")]
        if sentences:
            return sentences
    return []


def _largest(found: Largest, what: str) -> Markup:
    """The largest effect with its interval, and whether it is clear of zero and of the next largest."""
    top = found.top
    words = Markup("Of the prompt’s parts, {} makes the largest difference to {}: {} against {}")
    sentence = words.format(_part(top), what, points_of(top), _against(top))
    if not found.clear:
        sentence += Markup(", not clear of zero")
        if found.others:
            each = (Markup("{} ({})").format(_part(one), points_of(one)) for one in found.others[:FEW])
            sentence += Markup("; clear of zero: {}").format(Markup(", ").join(each))
    elif found.next is not None and not found.separated:
        sentence += Markup(", not clearly more than {} ({})").format(_part(found.next), points_of(found.next))
    return sentence + Markup(".")


def _against(one: Estimate) -> Markup:
    """The level that an effect is compared with, or the mean of the others."""
    level = str(one.details.get("against", "the mean of the others"))
    return escape(level) if level.startswith("the mean") else Markup("“{}”").format(level)


def _part(one: Estimate) -> Markup:
    return Markup("{} “{}”").format(one.cell["factor"], one.cell["level"])


def points_of(one: Estimate, *, plain: bool = False) -> Markup:
    """A difference of shares with its interval, in points; without its sign where the words have it."""
    ends = [one.value or 0.0, one.low or 0.0, one.high or 0.0]
    if plain:
        ends = [abs(end) for end in (ends if ends[0] > 0 else (ends[0], ends[2], ends[1]))]
    value, *bounds = (points(end) for end in ends)
    return Markup("{} [{} to {}]").format(value, *(bound.removesuffix(" points") for bound in bounds))
