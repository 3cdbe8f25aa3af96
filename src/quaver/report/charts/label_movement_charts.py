"""How often each label is given, prompt by prompt, and how far each factor moves it: the finding's charts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from quaver.core.records import Estimate
from quaver.report.charts.chart import chart
from quaver.report.charts.figure import BARS, Figure, spoken
from quaver.report.charts.level_shifts import level_chart
from quaver.report.charts.share_shifts import label_share_chart, levels_shown, not_drawn, shares_shown
from quaver.report.estimate_index import NO_LABEL, Results
from quaver.report.page_numbers import printed
from quaver.report.plain_text import slug

__all__ = ["label_shares"]

_MOST_MODELS = 8
_SPOKEN_LEVELS = 8


@chart(
    title="How often each label is given",
    section="finding",
    measures=("label_shares", "level_shares", "label_range"),
    place=10,
    trends=False,
)
def label_shares(results: Results) -> Iterator[Figure]:
    """The shares of a model's labels, a figure a model, and what each factor does to one of them.

    The first of them stands beside the finding, the others among what moves the labels.
    """
    levels = levels_shown(results, results.moved)  # over all models
    models = [""] if levels else results.models[:_MOST_MODELS] or [""]
    first = True
    for at, model in enumerate(models):
        shown = levels or shares_shown(results, results.grouping_factor, model)
        if shown:
            yield _shares(results, levels, shown, model, first=at == 0)
            first = False
    yield from _levels(results, first)


def _shares(
    results: Results, levels: Sequence[Estimate], shown: Sequence[Estimate], model: str, first: bool
) -> Figure:
    factor = results.grouping_factor
    several = levels or len({one.cell["variant"] for one in shown}) > 1
    title = "How often each label is given" + (f", by {factor}" if factor and several else "")
    title += f" (model {model})" if len(results.models) > 1 and not levels else ""
    gold = " Dashed: the share among the gold labels." if results.gold_shares else ""
    every = any(one.cell.get("label") == NO_LABEL for one in shown)
    whole = "all answers" if every else "the answers with a label"
    values = spoken(shown, results) if levels else _spoken_shares(results, shown, factor)
    return Figure(
        draw=partial(label_share_chart, results, levels, factor=factor, model=model),
        estimates=shown,
        name="finding" if first else f"label-shares-{slug(model)}",
        section="finding" if first else "factors",
        title=title,
        subtitle=f"Share of each label among {whole} to a prompt. {BARS}{gold}"
        + not_drawn(results, model, levels),
        alternative=values,
        covers=("label_shares",),
    )


def _levels(results: Results, first: bool) -> Iterator[Figure]:
    """What each factor does to the share of one label."""
    moved = results.moved
    spans = [one for one in moved if one.measure == "label_range" and one.value is not None]
    spans = [one for one in spans if one.cell["factor"] != "gold"] or spans
    if not spans:
        return
    top = max(spans, key=lambda one: one.value or 0.0)
    label = top.cell["label"]
    name = "no label" if label == NO_LABEL else f"“{results.label_name(label)}”"
    title = f"How far each factor moves the share of {name}"
    shown = [one for one in moved if one.measure == "level_shares" and one.cell["label"] == label]
    ranges = [f"{one.cell['factor']}, by {printed(one.value or 0.0, percent=True)}" for one in spans]
    yield Figure(
        draw=partial(level_chart, results, moved, label),
        estimates=[*shown, *(one for one in moved if one.measure in ("label_range", "variation"))],
        name="factors",
        section="finding" if first else "factors",
        measure="level_shares",
        title=title,
        subtitle="A dot for each level: the share of all answers, with or without a label, averaged over "
        "everything else, on its 95% interval. The lowest and the highest are named.",
        alternative=f"{'; '.join(ranges)}.",
        covers=("level_shares", "label_range", "variation"),
    )


def _spoken_shares(results: Results, shown: Sequence[Estimate], factor: str | None) -> str:
    """For each level of the factor, the range of each label's share."""
    levels = results.factors.get(factor or "", [])
    if not levels or len(levels) > _SPOKEN_LEVELS:
        return spoken(shown, results)
    said = []
    for level in levels:
        spans: dict[str, list[float]] = {}
        for one in shown:
            if results.factor_levels.get(one.cell["variant"], {}).get(factor or "") == level:
                spans.setdefault(one.cell.get("label", ""), []).append(one.value or 0.0)
        parts = [f"{results.label_name(label)} {_range(values)}" for label, values in spans.items()]
        said.append(f"{factor} {level}: {', '.join(parts)}")
    return "; ".join(said) + "."


def _range(values: Sequence[float]) -> str:
    return " to ".join(dict.fromkeys(printed(end, percent=True) for end in (min(values), max(values))))
