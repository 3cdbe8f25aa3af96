"""Which figures a study gets: each a chart, its words, and the estimates behind it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

from quaver.core.records import Estimate
from quaver.report.charts.accuracy_spread import spread_figure
from quaver.report.charts.against_accuracy import against_accuracy_figures
from quaver.report.charts.calibration_shift import calibration_shift_figure
from quaver.report.charts.distribution_charts import distribution_figures
from quaver.report.charts.distribution_shifts import shift_figure
from quaver.report.charts.effect_charts import effect_figures
from quaver.report.charts.figure import BARS, Figure, spoken
from quaver.report.charts.histograms import histogram_figure
from quaver.report.charts.label_stacks import label_stack_figure
from quaver.report.charts.level_shifts import level_chart
from quaver.report.charts.matrices import matrix_figure
from quaver.report.charts.mixed_model_terms import mixed_figure
from quaver.report.charts.paraphrase_distances import distance_figures
from quaver.report.charts.parse_rates import parse_rate_figure
from quaver.report.charts.predictors import predictor_figure
from quaver.report.charts.readiness_profile import readiness_figure
from quaver.report.charts.reliability_diagram import reliability_figure
from quaver.report.charts.repeat_curves import repeats_figure
from quaver.report.charts.scores import MOST_ROWS, accuracy_chart, score_chart, stability_chart
from quaver.report.charts.share_shifts import label_share_chart, levels_shown, not_drawn, shares_shown
from quaver.report.charts.specification_curve import specification_chart
from quaver.report.charts.trend import trend_figures
from quaver.report.charts.variance_shares import variance_figure
from quaver.report.estimate_index import NO_LABEL, Results
from quaver.report.findings.finding import strongest_factor
from quaver.report.measure_words import presentation_of, section_of
from quaver.report.page_numbers import printed
from quaver.report.plain_text import slug

__all__ = ["figures"]


def figures(results: Results) -> list[Figure]:
    """The figures of a study: those of known measures, then one for each other measure.

    Args:
        results: The study.
    """
    moved = results.moved
    factor = strongest_factor([one for one in moved if one.cell.get("factor") in results.factors])
    models = results.models[:_MOST_MODELS] or [""]
    if levels := levels_shown(results, moved):
        models = models[:1]  # they are over all of them
    found = [_shares(results, levels, factor, model, first=at == 0) for at, model in enumerate(models)]
    found.append(_levels(results, moved, first=not any(found)))
    trends = trend_figures(results)
    along = {id(one) for trend in trends for one in trend.estimates}
    for measure, draw in _CHARTS.items():
        found.append(_scores(results, measure, factor, draw, without=along))
    found += [*trends, *(figure for family in _FAMILIES for figure in family(results))]
    found.append(_valid(results, factor))
    found += _conclusions(results)
    drawn = {name for figure in found if figure for name in (figure.measure, *figure.also)}
    known = {*drawn, *_CHARTS, "label_shares", "compliance"}
    others = [measure for measure in results.measures if measure not in known]
    others = [measure for measure in others if presentation_of(measure).drawn != "table"]
    others = [measure for measure in others if not measure.startswith("conclusion")]
    found += [_scores(results, measure, factor, score_chart) for measure in others]
    made = [figure for figure in found if figure]
    return _named_apart(sorted(made, key=lambda one: _place(one.measure)))


def _place(measure: str) -> int:
    """Where among the figures of its section one of a measure stands: intra before inter, then the rest."""
    known = (at for at, family in enumerate(("intra_pss", "inter_pss")) if measure.startswith(family))
    return next(known, 2 if section_of(measure) == "stability" else 0)


_MOST_MODELS = 8
_CHARTS: dict[str, Callable[..., Any]] = {
    "intra_pss": stability_chart,
    "inter_pss": stability_chart,
    "inter_model": stability_chart,
    "sensitivity": score_chart,
    "consistency": score_chart,
    "accuracy": accuracy_chart,
}


def _one(family: Callable[[Results], Figure | None]) -> Callable[[Results], list[Figure]]:
    def some(results: Results) -> list[Figure]:
        figure = family(results)
        return [] if figure is None else [figure]

    return some


_FAMILIES: tuple[Callable[[Results], list[Figure]], ...] = (
    _one(readiness_figure),
    _one(label_stack_figure),
    _one(repeats_figure),
    distance_figures,
    distribution_figures,
    _one(predictor_figure),
    _one(matrix_figure),
    _one(histogram_figure),
    _one(reliability_figure),
    _one(calibration_shift_figure),
    _one(parse_rate_figure),
    _one(spread_figure),
    against_accuracy_figures,
    effect_figures,
    _one(mixed_figure),
    _one(shift_figure),
    _one(variance_figure),
)
"""What draws more than a measure's values one by one; each gives nothing where there is nothing to draw."""


def _named_apart(some: list[Figure]) -> list[Figure]:
    seen: dict[str, int] = {}
    apart = []
    for one in some:
        seen[one.name] = seen.get(one.name, 0) + 1
        name = one.name if seen[one.name] == 1 else f"{one.name}-{seen[one.name]}"
        apart.append(replace(one, name=name))
    return apart


def _shares(
    results: Results, levels: Sequence[Estimate], factor: str | None, model: str, first: bool
) -> Figure | None:
    shown = levels or shares_shown(results, factor, model)
    if not shown:
        return None
    several = levels or len({one.cell["variant"] for one in shown}) > 1
    grouped = f", by {factor}" if factor else ""
    title = f"How often each label is given{grouped}" if several else "How often each label is given"
    title += f" (model {model})" if len(results.models) > 1 and not levels else ""
    gold = " Dashed: the share among the gold labels." if results.gold_shares else ""
    every = any(one.cell.get("label") == NO_LABEL for one in shown)
    whole = "all answers" if every else "the answers with a label"
    cut = not_drawn(results, model, levels)
    return Figure(
        "finding" if first else f"label-shares-{slug(model)}",
        "label_shares",
        "finding" if first else "factors",
        title,
        f"Share of each label among {whole} of a prompt. {BARS}{gold}{cut}",
        lambda **how: label_share_chart(results, levels, factor=factor, model=model, **how),
        shown,
        f"{title}. {spoken(shown, results) if levels else _spoken_shares(results, shown, factor)}",
    )


def _conclusions(results: Results) -> list[Figure | None]:
    """A specification curve for each conclusion."""
    every = [one for one in results.estimates if one.measure.startswith("conclusion")]
    found: list[Figure | None] = []
    for name in dict.fromkeys(one.cell.get("conclusion", "") for one in every):
        some = [one for one in every if one.cell.get("conclusion", "") == name]
        single = [one for one in some if one.measure == "conclusion"]
        if not any(one.value is not None for one in single):
            continue
        verdicts = [one.details["verdict"] for one in single]
        counts = [f"{v} under {verdicts.count(v)}" for v in ("holds", "reverses", "not distinguishable")]
        marks = "Circle: holds; diamond: reverses; square: not distinguishable."
        told = f"Of {len(single)} specifications: {', '.join(counts)}. {BARS}"
        gold = " Dashed: the gold labels." if any(one.measure == "conclusion_gold" for one in some) else ""
        title = f"{name}: {single[0].details['effect']}, under every prompt variant"
        found.append(
            Figure(
                f"conclusion-{slug(name)}",
                "conclusion",
                "conclusions",
                title,
                f"{told} {marks}{gold} Below: what each was made with.",
                lambda some=some, **how: specification_chart(some, results, **how),
                some,
                f"{title}. {told}",
            )
        )
    return found


def _levels(results: Results, moved: Sequence[Estimate], first: bool) -> Figure | None:
    """What each factor does to one label's share; beside the finding where nothing else is."""
    spans = [one for one in moved if one.measure == "label_range" and one.value is not None]
    spans = [one for one in spans if one.cell["factor"] != "gold"] or spans
    if not spans:
        return None
    top = max(spans, key=lambda one: one.value or 0.0)
    label = top.cell["label"]
    name = "no label" if label == NO_LABEL else f"“{results.label_name(label)}”"
    title = f"How far each factor moves the share of {name}"
    shown = [one for one in moved if one.measure == "level_shares" and one.cell["label"] == label]
    told = [f"{one.cell['factor']}, by {printed(one.value or 0.0, percent=True)}" for one in spans]
    return Figure(
        "factors",
        "level_shares",
        "finding" if first else "factors",
        title,
        "A dot for each level: the share of all answers, with or without a label, all else averaged, on its "
        "95% interval; lowest and highest are named.",
        lambda **how: level_chart(results, moved, label, **how),
        [*shown, *(one for one in moved if one.measure in ("label_range", "variation"))],
        f"{title}: {'; '.join(told)}.",
    )


def _scores(
    results: Results,
    measure: str,
    factor: str | None,
    draw: Callable[..., Any],
    without: Collection[int] = (),
) -> Figure | None:
    some = [one for one in results.main(measure) if id(one) not in without]
    if not any(one.value is not None for one in some):
        return None
    shown = presentation_of(measure)
    title = shown.title
    many = sum(one.value is not None for one in some) > MOST_ROWS
    cut = f" The {MOST_ROWS // 2} lowest and {MOST_ROWS // 2} highest are drawn." if many else ""
    zero = "" if shown.null is None else f" Dashed: {shown.null:g}."
    grouped = factor if any("variant" in one.cell for one in some) else None
    return Figure(
        slug(measure),
        measure,
        shown.section,
        title,
        f"{_capital(shown.axis)}. {BARS}{zero}{cut}",
        lambda **how: draw(some, results, factor=grouped, **how),
        some,
        f"{title}. {spoken(some, results)}",
        closer=shown.drawn == "closer",
    )


def _valid(results: Results, factor: str | None) -> Figure | None:
    some = results.of("compliance")
    if not any(one.value is not None for one in some):
        return None
    title = "How many answers each evaluator gives a label"
    several = len({one.cell.get("evaluator") for one in some}) > 1
    panel = "evaluator" if several else None
    return Figure(
        "valid-rate",
        "compliance",
        "answers",
        title if several else presentation_of("compliance").title,
        f"Share of answers from which a label was read. {BARS}",
        lambda **how: score_chart(some, results, factor=factor, panel=panel, domain=(0.0, 1.0), **how),
        some,
        f"{title}. {spoken(some, results)}",
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


_SPOKEN_LEVELS = 8


def _spoken_shares(results: Results, shown: Sequence[Estimate], factor: str | None) -> str:
    """For each level of the factor, between what each label's share lies."""
    levels = results.factors.get(factor or "", [])
    if not levels or len(levels) > _SPOKEN_LEVELS:
        return spoken(shown, results)
    told = []
    for level in levels:
        spans: dict[str, list[float]] = {}
        for one in shown:
            if results.factor_levels.get(one.cell["variant"], {}).get(factor or "") == level:
                spans.setdefault(one.cell.get("label", ""), []).append(one.value or 0.0)
        parts = [
            f"{results.label_name(label)} {_between(min(values), max(values))}"
            for label, values in spans.items()
        ]
        told.append(f"{factor} {level}: {', '.join(parts)}")
    return "; ".join(told) + "."


def _between(low: float, high: float) -> str:
    ends = [printed(low, percent=True), printed(high, percent=True)]
    return " to ".join(dict.fromkeys(ends))
