"""The share of each label, prompt variant by prompt variant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from quaver.core.records import Estimate
from quaver.report.charts.forest import Forest, Mark, Reference, draw
from quaver.report.charts.mark_words import about
from quaver.report.estimate_index import NO_LABEL, Results
from quaver.report.page_numbers import printed

MOST_VARIANTS = 90
"""Of more variants than these, the levels of the factors are drawn."""

_MOST_LEVELS = 40
"""Of more levels of one factor than these, half as many of the lowest and of the highest are drawn."""

_MOST_LABELS = 6
_MOST_SERIES = 3


def shares_shown(results: Results, factor: str | None = None, model: str = "") -> list[Estimate]:
    """The estimates that the chart draws: label shares from the first evaluator.

    Of several decodings, the first three. Labels beyond six are left to the CSV: those that are most frequent
    somewhere are kept.

    Args:
        results: The study.
        factor: The factor whose levels group the rows.
        model: Only this model's; by default the study's first.
    """
    model = model or next(iter(results.models), "")
    known = [one for one in results.main("label_shares") if one.value is not None and "variant" in one.cell]
    decodings = results.decodings[:_MOST_SERIES]
    peaks: dict[str, float] = {}
    for one in known:
        label = one.cell.get("label", "")
        peaks[label] = max(peaks.get(label, 0.0), one.value or 0.0)
    kept = sorted(peaks, key=lambda label: -peaks[label])[:_MOST_LABELS]
    places = {name: at for at, name in enumerate(results.order("label"))}
    variants = {name: at for at, name in enumerate(results.order("variant"))}
    levels = {level: at for at, level in enumerate(results.factors.get(factor or "", ()))}

    def order(one: Estimate) -> tuple[int, int, int, int]:
        variant = one.cell["variant"]
        level = results.factor_levels.get(variant, {}).get(factor or "", "")
        decoding = one.cell.get("decoding", "")
        return (
            levels.get(level, 0),
            variants.get(variant, len(variants)),
            places.get(one.cell.get("label", ""), len(places)),
            decodings.index(decoding) if decoding in decodings else -1,
        )

    shown = [
        one
        for one in known
        if one.cell.get("model", model) == model
        and one.cell.get("decoding", "") in ("", *decodings)
        and one.cell.get("label", "") in kept
    ]
    return sorted(shown, key=order)


def levels_shown(results: Results, moved: Sequence[Estimate]) -> list[Estimate]:
    """The level shares that are drawn, over all models and decodings, where there are too many variants.

    Returns:
        Nothing where every variant can be drawn. Of a factor with very many levels those that lie lowest
        and highest in the share that it moves most.
    """
    variants = {one.cell["variant"] for one in shares_shown(results)}
    if len(variants) <= MOST_VARIANTS:
        return []
    moves = {one.cell["factor"]: one.cell["label"] for one in moved if one.measure == "label_range"}
    every = [one for one in moved if one.measure == "level_shares" and one.value is not None]
    shown: list[Estimate] = []
    for factor in results.factors:
        some = [one for one in every if one.cell["factor"] == factor]
        most = sorted(
            (one for one in some if one.cell["label"] == moves.get(factor)), key=lambda one: one.value or 0.0
        )
        half = _MOST_LEVELS // 2
        ends = most if len(most) <= _MOST_LEVELS else most[:half] + most[-half:]
        kept = {one.cell["level"] for one in ends}
        shown += [one for one in some if one.cell["level"] in kept]
    return shown


def not_drawn(results: Results, model: str, levels: Sequence[Estimate]) -> str:
    """What the chart leaves out, in a sentence with a space before it; nothing where it draws all."""
    every = [one for one in results.main("label_shares") if one.cell.get("model", model) == model]
    labels = {one.cell.get("label", "") for one in every if one.value is not None}
    parts = []
    if levels:
        parts.append(
            f"the factors’ levels over all models and decodings, not {len(results.variants)} variants"
        )
        half = _MOST_LEVELS // 2
        parts += [
            f"of {len(names)} levels of {factor} the {half} lowest and the {half} highest"
            for factor, names in results.factors.items()
            if len(names) > _MOST_LEVELS
        ]
    else:
        if len(labels) > _MOST_LABELS:
            parts.append(f"the {_MOST_LABELS} most frequent of {len(labels)} labels")
        if len(results.decodings) > _MOST_SERIES:
            parts.append(f"the first {_MOST_SERIES} of {len(results.decodings)} decodings")
    return f" Drawn are {' and '.join(parts)}." if parts else ""


def label_share_chart(
    results: Results,
    levels: Sequence[Estimate] = (),
    *,
    factor: str | None = None,
    model: str = "",
    width: int = 720,
) -> Any:
    """Share of each label by variant, with intervals, beside its share among the gold labels.

    Args:
        results: The study.
        levels: Level shares, which stand in for variants that are too many to draw.
        factor: The factor whose levels group the rows: the one that moves the labels most.
        model: Only this model's; by default the study's first.
        width: Of the whole, in pixels.

    Returns:
        An ``altair`` chart, or None where there are no label shares.
    """
    if levels:
        marks = [_level_mark(results, one) for one in levels]
    else:
        marks = [_mark(results, one, factor) for one in shares_shown(results, factor, model)]
    if not marks:
        return None
    order = [*results.order("label"), *(mark.panel for mark in marks)]
    labels = [label for label in dict.fromkeys(order) if any(mark.panel == label for mark in marks)]
    marks.sort(key=lambda mark: labels.index(mark.panel))
    gold = [
        Reference(share, f"gold {printed(share, percent=True)}", label)
        for label, share in results.gold_shares.items()
        if label in labels
    ]
    forest = Forest(
        marks,
        "share of answers",
        percent=True,
        domain=(0.0, 1.0),
        references=gold,
        colour="panel",
        names={label: results.label_name(label) for label in labels},
    )
    return draw(forest, width=width)


def _mark(results: Results, one: Estimate, factor: str | None) -> Mark:
    variant = one.cell["variant"]
    level = results.factor_levels.get(variant, {}).get(factor or "")
    alone = len(results.factors) < 2
    return Mark(
        one.value or 0.0,
        one.low,
        one.high,
        row=results.variant_name(variant, without=None if alone else factor),
        group=f"{factor}: {level}" if level is not None and not alone else "",
        panel=one.cell.get("label", NO_LABEL),
        series=one.cell.get("decoding", ""),
        about=about(one, results),
    )


def _level_mark(results: Results, one: Estimate) -> Mark:
    level, factor, label = (one.cell[name] for name in ("level", "factor", "label"))
    described = about(one, results)
    return Mark(one.value or 0.0, one.low, one.high, row=level, group=factor, panel=label, about=described)
