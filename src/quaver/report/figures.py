"""Which figures a study gets: each a chart, its words, and the estimates behind it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from quaver.records import Estimate
from quaver.report.charts.distances import distance_chart, placed
from quaver.report.charts.levels import level_chart
from quaver.report.charts.scores import AXES, MOST_ROWS, accuracy_chart, score_chart, stability_chart
from quaver.report.charts.shares import label_share_chart, not_drawn, shares_shown
from quaver.report.charts.specifications import specification_chart
from quaver.report.finding import strongest_factor
from quaver.report.numbers import percent_measure, printed
from quaver.report.plain_text import slug
from quaver.report.results import NO_LABEL, Results, varying

__all__ = ["Figure", "figures"]

_BARS = "Lines are 95 % intervals."


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure.

    Attributes:
        name: Its file's name, without an ending.
        measure: The measure that it shows.
        section: Where in the report it stands.
        title: What it shows.
        subtitle: What the marks mean.
        draw: Makes the chart, given ``width``, ``title`` and ``subtitle``.
        estimates: The data behind it.
        alternative: What it shows, for those who do not see it.
    """

    name: str
    measure: str
    section: str
    title: str
    subtitle: str
    draw: Callable[..., Any]
    estimates: Sequence[Estimate]
    alternative: str


def figures(results: Results, moved: Sequence[Estimate]) -> list[Figure]:
    """The figures of a study: those of known measures, then one for each other measure.

    Args:
        results: The study.
        moved: What `movement` found in it.
    """
    factor = strongest_factor([one for one in moved if one.cell.get("factor") in results.factors])
    models = results.models[:_MOST_MODELS] or [""]
    found = [_shares(results, moved, factor, model, first=at == 0) for at, model in enumerate(models)]
    found.append(_levels(results, moved))
    for measure, section in _SECTIONS.items():
        if measure == "compliance":
            found.append(_valid(results, factor))
        elif measure in _CHARTS:
            found.append(_scores(results, measure, factor, section, _CHARTS[measure]))
    found += [_distances(results, measure) for measure in _BY_DISTANCE]
    found += _conclusions(results)
    others = [measure for measure in results.measures if measure not in (*_SECTIONS, "label_shares")]
    others = [measure for measure in others if not measure.startswith("conclusion")]
    found += [_scores(results, measure, factor, "more", score_chart) for measure in others]
    return _named_apart([figure for figure in found if figure])


_BY_DISTANCE = {
    "original_agreement": "agreement with the original wording (α)",
    "wording_stability": "Krippendorff’s α over repeats",
}
"""Measures of single wordings that are drawn against the wordings' distance from the original."""

_MOST_MODELS = 8
_SECTIONS = {
    "intra_pss": "stability",
    "inter_pss": "stability",
    "sensitivity": "sensitivity",
    "consistency": "sensitivity",
    "accuracy": "accuracy",
    "compliance": "answers",
}
_CHARTS: dict[str, Callable[..., Any]] = {
    "intra_pss": stability_chart,
    "inter_pss": stability_chart,
    "sensitivity": score_chart,
    "consistency": score_chart,
    "accuracy": accuracy_chart,
}


def _named_apart(some: list[Figure]) -> list[Figure]:
    seen: dict[str, int] = {}
    apart = []
    for one in some:
        seen[one.name] = seen.get(one.name, 0) + 1
        name = one.name if seen[one.name] == 1 else f"{one.name}-{seen[one.name]}"
        apart.append(replace(one, name=name))
    return apart


def _shares(
    results: Results, moved: Sequence[Estimate], factor: str | None, model: str, first: bool
) -> Figure | None:
    shown = shares_shown(results, factor, model)
    if not shown:
        return None
    several = len({one.cell["variant"] for one in shown}) > 1
    grouped = f", by {factor}" if factor else ""
    title = f"How often each label is given{grouped}" if several else "How often each label is given"
    title += f" (model {model})" if len(results.models) > 1 else ""
    gold = " Dashed: the share among the gold labels." if results.gold_shares else ""
    every = any(one.cell.get("label") == NO_LABEL for one in shown)
    whole = "all answers" if every else "the answers with a label"
    cut = not_drawn(results, model, moved)
    return Figure(
        "finding" if first else f"label-shares-{slug(model)}",
        "label_shares",
        "finding" if first else "factors",
        title,
        f"Share of each label among {whole} of a prompt. {_BARS}{gold}{cut}",
        lambda **how: label_share_chart(results, moved, factor=factor, model=model, **how),
        shown,
        f"{title}. {_spoken_shares(results, shown, factor)}",
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
        told = f"Of {len(single)} specifications: {', '.join(counts)}. {_BARS}"
        gold = " Dashed: the gold labels." if any(one.measure == "conclusion_gold" for one in some) else ""
        title = f"{name}: {single[0].details['effect']}, under every way of asking"
        found.append(
            Figure(
                f"conclusion-{slug(name)}",
                "conclusion",
                "conclusions",
                title,
                f"{told}{gold} Below: what each was made with.",
                lambda some=some, **how: specification_chart(some, results, **how),
                some,
                f"{title}. {told}",
            )
        )
    return found


def _distances(results: Results, measure: str) -> Figure | None:
    some = [one for one, _, _ in placed(results.main(measure), results)]
    if len({one.cell["variant"] for one in some}) < 3:
        return None
    name = measure.replace("_", " ")
    title = f"{_capital(name)} against the wordings’ distance from the original"
    methods = {
        str(level["meaning"]["by"])
        for variant in results.variants
        for level in variant.get("origin", {}).values()
        if "meaning" in level
    }
    return Figure(
        f"{slug(measure)}-by-distance",
        measure,
        "sensitivity",
        title,
        f"A dot for each wording, hollow where its meaning is in doubt. {_BARS} Distance: 1 − "
        f"{' or '.join(sorted(methods))}.",
        lambda **how: distance_chart(some, results, axis=_BY_DISTANCE[measure], **how),
        some,
        f"{title}. {_spoken(some, results)}",
    )


def _levels(results: Results, moved: Sequence[Estimate]) -> Figure | None:
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
        "factors",
        title,
        "A dot for each level, all else averaged; the named ones are the lowest and the highest.",
        lambda **how: level_chart(results, moved, label, **how),
        [*shown, *(one for one in moved if one.measure in ("label_range", "variation"))],
        f"{title}: {'; '.join(told)}.",
    )


def _scores(
    results: Results, measure: str, factor: str | None, section: str, draw: Callable[..., Any]
) -> Figure | None:
    some = results.main(measure)
    if not any(one.value is not None for one in some):
        return None
    title = _TITLES.get(measure, f"{measure.replace('_', ' ').capitalize()}, with intervals")
    many = sum(one.value is not None for one in some) > MOST_ROWS
    cut = f" The {MOST_ROWS // 2} lowest and {MOST_ROWS // 2} highest are drawn." if many else ""
    grouped = factor if any("variant" in one.cell for one in some) else None
    return Figure(
        slug(measure),
        measure,
        section,
        title,
        f"{_capital(AXES.get(measure, measure))}. {_BARS}{cut}",
        lambda **how: draw(some, results, factor=grouped, **how),
        some,
        f"{title}. {_spoken(some, results)}",
    )


def _valid(results: Results, factor: str | None) -> Figure | None:
    some = results.of("compliance")
    if not any(one.value is not None for one in some):
        return None
    title = "How many answers each evaluator could read"
    several = len({one.cell.get("evaluator") for one in some}) > 1
    panel = "evaluator" if several else None
    return Figure(
        "valid-rate",
        "compliance",
        "answers",
        title if several else _TITLES["compliance"],
        f"Share of answers from which a label was read. {_BARS}",
        lambda **how: score_chart(some, results, factor=factor, panel=panel, domain=(0.0, 1.0), **how),
        some,
        f"{title}. {_spoken(some, results)}",
    )


_TITLES = {
    "intra_pss": "The same prompt, asked again: intra-prompt stability",
    "inter_pss": "Another prompt, the same question: inter-prompt stability",
    "sensitivity": "How readily the label changes with the prompt: sensitivity",
    "consistency": "How alike items of one class are answered: consistency",
    "accuracy": "How often the label is the true one: accuracy, beside what guessing gives",
    "compliance": "How many answers could be read",
}


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _spoken(estimates: Sequence[Estimate], results: Results) -> str:
    """The lowest and highest value in words."""
    known = sorted((one for one in estimates if one.value is not None), key=lambda one: one.value or 0.0)
    percent = percent_measure(known[0].measure)
    columns = varying(known)

    def told(one: Estimate) -> str:
        cell = (one.cell.get(column, "all") for column in columns)
        names = [results.variant_name(v) if c == "variant" else v for c, v in zip(columns, cell, strict=True)]
        return printed(one.value or 0.0, percent) + (f" ({', '.join(names)})" if names else "")

    if len(known) == 1:
        return f"The value is {told(known[0])}."
    return f"{len(known)} values, from {told(known[0])} to {told(known[-1])}. The table has them all."


_SPOKEN_LEVELS = 8


def _spoken_shares(results: Results, shown: Sequence[Estimate], factor: str | None) -> str:
    """For each level of the factor, between what each label's share lies."""
    levels = results.factors.get(factor or "", [])
    if not levels or len(levels) > _SPOKEN_LEVELS:
        return _spoken(shown, results)
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
