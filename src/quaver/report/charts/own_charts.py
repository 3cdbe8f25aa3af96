"""Quaver's own charts: prompts, shares of labels, calibration, and conclusions under every prompt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from quaver.core.number_format import span
from quaver.core.records import Estimate
from quaver.core.rows import Section, defined, of_measures, ranked
from quaver.report.charts.chart import BARS, Figure, cell_name, chart, cut, first_and_last, spoken
from quaver.report.charts.forms import curve, forest, mark, plane
from quaver.report.charts.specification import Row
from quaver.report.estimate_index import NO_LABEL, Results, varying
from quaver.report.findings.key_results import corrected_conclusions, in_true_labels
from quaver.report.page_words import in_words, printed, sentence, slug
from quaver.report.tables.table import amount, listed, share, tally, text

_MOST_PROMPTS, _MOST_VARIANTS, _MOST_LABELS, _MOST_MODELS, _MOST_CURVES = 20, 90, 6, 8, 9
_SHOWN_LEVELS = 12
"""Of more levels of a factor, half as many of the lowest and of the highest are drawn."""
_VERDICTS = ("holds", "reverses", "not distinguishable")
_MAJORITY = "conclusion_majority"
_share_rows = partial(forest, axis="share of answers", percent=True, domain=(0.0, 1.0))
"""What draws shares of labels."""


@chart(
    title="How far the label depends on the prompt",
    section="finding",
    measures=("deviation_share",),
    place=5,
)
def prompts(results: Results) -> Iterator[Figure]:
    """A row for each prompt, from the one that deviates least."""
    estimates = prompts_drawn(results)
    if not estimates:
        return
    variants = list(dict.fromkeys(estimate.cell["variant"] for estimate in estimates))
    kept = first_and_last(variants, _MOST_PROMPTS)
    rows = []
    for estimate in estimates:
        variant = estimate.cell["variant"]
        if variant in kept:
            where = {"row": results.variant_name(variant), "panel": estimate.cell.get("model", "")}
            rows.append(mark(estimate, results, **where))
    high = len(kept) * max(23.0, min(46.0, 280 / len(kept)))
    look: dict[str, Any] = {"percent": True, "domain": (0.0, 1.0), "order": results.models, "high": high}
    ends = f"the {_MOST_PROMPTS // 2} lowest and {_MOST_PROMPTS // 2} highest"
    yield Figure(
        draw=partial(forest, rows, "answers with another label", **look),
        estimates=estimates,
        subtitle="How often a prompt’s answer differs from the label that the same text gets most often, or "
        f"has no label. All on the left: the prompts agree. {BARS}"
        + cut(len(kept), len(variants), "prompts", ends),
    )


def prompts_drawn(results: Results) -> list[Estimate]:
    """Each model's estimates of single prompts, the lowest first; none where there is nothing to compare."""
    columns = ["model", "variant"] if len(results.models) > 1 else ["variant"]
    estimates = [estimate for estimate in results.anywhere("deviation_share") if [*estimate.cell] == columns]
    return ranked(estimates) if len(defined(estimates)) > 1 else []


@chart(
    title="How often each label is given",
    section="finding",
    measures=("label_shares", "level_shares", "label_range"),
    place=10,
)
def label_shares(results: Results) -> Iterator[Figure]:
    """The shares of each model's labels prompt by prompt, and what each factor does to one of them.

    They stand among what moves the labels; the first, where no two prompts can be compared, opens the report.
    """
    sections: list[Section] = ["factors"] if prompts_drawn(results) else ["finding"]
    for model in results.models[:_MOST_MODELS] or [""]:
        shown = shares_shown(results, model)
        if 0 < len({estimate.cell["variant"] for estimate in shown}) <= _MOST_VARIANTS:
            name = "finding" if len(sections) == 1 else f"label-shares-{slug(model)}"
            yield _shares(results, shown, model, name, sections[-1])
            sections.append("factors")
    yield from _factors(results, sections[-1])


def shares_shown(results: Results, model: str = "") -> list[Estimate]:
    """The label shares of each variant that are drawn, from the first evaluator's labels.

    Labels beyond six are left to the CSV: those that are most frequent somewhere are kept.
    """
    model = model or next(iter(results.models), "")
    every = [estimate for estimate in defined(results.main("label_shares")) if "variant" in estimate.cell]
    frequent = dict.fromkeys(estimate.cell.get("label", "") for estimate in reversed(ranked(every)))
    kept = list(frequent)[:_MOST_LABELS]
    shown = [
        estimate
        for estimate in results.in_order(every)
        if estimate.cell.get("model", model) == model and estimate.cell.get("label", "") in kept
    ]
    factor = results.grouping_factor or ""
    levels = results.factors.get(factor, [])
    places = {name: levels.index(of[factor]) for name, of in results.factor_levels.items() if factor in of}
    return sorted(shown, key=lambda estimate: places.get(estimate.cell["variant"], 0))


def _shares(results: Results, shown: Sequence[Estimate], model: str, name: str, section: Section) -> Figure:
    """The figure of one model."""
    title = "How often each label is given"
    if results.grouping_factor and len({estimate.cell["variant"] for estimate in shown}) > 1:
        title += f", by {in_words(results.grouping_factor)}"
    if len(results.models) > 1:
        title += f" (model {model})"
    drawn = {estimate.cell.get("label", "") for estimate in shown}
    labels = {estimate.cell.get("label", "") for estimate in results.main("label_shares")}
    whole = "all answers" if NO_LABEL in drawn else "the answers with a label"
    gold = " Dashed: the share among the gold labels." if results.gold_shares else ""
    left_out = cut(len(drawn), len(labels), "labels", "most frequent") if len(drawn) >= _MOST_LABELS else ""
    return Figure(
        draw=partial(share_forest, results, shown),
        estimates=shown,
        name=name,
        section=section,
        title=title,
        subtitle=f"Share of each label among {whole} to a prompt. {BARS}{gold}{left_out}",
        covers=("label_shares",),
    )


def share_forest(results: Results, shown: Sequence[Estimate], *, width: int = 720) -> Any:
    """The share of each label by variant, a panel a label, beside its share of the gold labels."""
    factor = results.grouping_factor if len(results.factors) > 1 else None
    rows: list[Row] = []
    for estimate in shown:
        variant = estimate.cell["variant"]
        level = results.factor_levels.get(variant, {}).get(factor or "")
        where = {
            "panel": estimate.cell.get("label", NO_LABEL),
            "group": "" if level is None else f"{in_words(factor or '')}: {level}",
            "row": results.variant_name(variant, without=factor),
            "series": estimate.cell.get("decoding", "") if len(results.decodings) > 1 else "",
        }
        rows.append(mark(estimate, results, **where))
    drawn = {row["panel"] for row in rows}
    references = [
        (value, f"gold {printed(value, percent=True)}", label)
        for label, value in results.gold_shares.items()
        if label in drawn
    ]
    order = results.order("label")
    names = {label: results.label_name(label) for label in drawn}
    return _share_rows(rows, references=references, order=order, names=names, width=width)


def _factors(results: Results, section: Section) -> Iterator[Figure]:
    """What each factor does to the share of the label that moves most."""
    spans = of_measures(defined(results.moved), "label_range")
    spans = [estimate for estimate in spans if estimate.cell["factor"] != "gold"] or spans
    if not spans:
        return
    label = ranked(spans)[-1].cell["label"]
    levels = [one for one in of_measures(results.moved, "level_shares") if one.cell["label"] == label]
    rows: list[Row] = []
    factors = dict.fromkeys(estimate.cell["factor"] for estimate in levels)
    for factor in sorted(factors, key=lambda factor: factor == "gold"):
        own = ranked(estimate for estimate in levels if estimate.cell["factor"] == factor)
        group = "items, by gold label" if factor == "gold" else in_words(factor)
        for estimate in first_and_last(own, _SHOWN_LEVELS):
            level = estimate.cell["level"]
            row = results.label_name(level) if factor == "gold" else level
            rows.append(mark(estimate, results, row=row, group=group))
    named = "no label" if label == NO_LABEL else f"“{results.label_name(label)}”"
    left_out = " Of many levels, the lowest and the highest are drawn." if len(rows) < len(levels) else ""
    moved = (
        f"{in_words(one.cell['factor'])}, by {printed(one.number, percent=True)}" for one in ranked(spans)
    )
    yield Figure(
        draw=partial(_share_rows, rows),
        estimates=[*levels, *spans],
        name="factors",
        section=section,
        measure="level_shares",
        title=f"How far each factor moves the share of {named}",
        subtitle="The share of all answers, with or without a label, at each level, averaged over everything "
        f"else. {BARS}{left_out}",
        alternative=f"{'; '.join(moved)}.",
        covers=("label_shares", "level_shares", "label_range"),
    )


@chart(
    title="How often answers are correct, by their confidence",
    section="accuracy",
    measures=("ece",),
    covers=(),
    place=60,
)
def reliability(results: Results) -> Iterator[Figure]:
    """A point for each bin of confidence, a panel for each cell."""
    estimates = [one for one in results.in_order(results.of("ece")) if one.details.get("curve")]
    if len(estimates) > _MOST_CURVES:
        estimates = of_measures(results.audit, "ece") or estimates
    estimates = [one for one in defined(estimates) if one.details.get("curve")]
    if not estimates:
        return
    columns = varying(estimates)
    rows: list[Row] = []
    bins: list[Row] = []
    for place, estimate in enumerate(estimates):
        name = cell_name(estimate, columns, results)
        most = max(part["n"] for part in estimate.details["curve"])
        heading = f"{name} · " * bool(columns) + f"ECE {printed(estimate.number)}"
        for part in estimate.details["curve"]:
            bins.append({**part, "of": name, "edges": span(part["low"], part["high"])})
            point = {"panel": heading, "x": part["confidence"], "y": part["right"]}
            ends = {"low": part["right_low"], "high": part["right_high"]}
            if place < _MOST_CURVES:
                rows.append({**point, **ends, "size": round(14 + 70 * part["n"] / most, 1)})
    perfect = [(None, "dashed: perfect calibration", None)]
    look: dict[str, Any] = {"x_ends": (0, 1), "y_ends": (0, 1), "percent": "xy", "references": perfect}
    heads = (
        *(text("of", "of"), text("bin", "edges"), amount("mean confidence", "confidence")),
        *(share("correct", "right"), share("from", "right_low"), share("to", "right_high")),
        tally("answers", "n"),
    )
    yield Figure(
        draw=partial(plane, rows, "confidence", "share correct", **look),
        estimates=estimates,
        measure="reliability",
        subtitle=f"A point for each bin of confidence, the larger the more answers it holds. {BARS} Below "
        "the dashed line the model is overconfident. ECE: the expected calibration error, which chance alone "
        "keeps above 0; its interval, in the table of estimates, is of the true error."
        + cut(min(_MOST_CURVES, len(estimates)), len(estimates), "cells"),
        alternative=f"Expected calibration error: {spoken(estimates, results)}",
        table=listed(bins, heads),
    )


@chart(
    title="What each conclusion rests on",
    section="conclusions",
    measures=("conclusion*",),
    place=10,
)
def conclusions(results: Results) -> Iterator[Figure]:
    """A specification curve for each conclusion."""
    estimates = [estimate for estimate in results.estimates if estimate.measure.startswith("conclusion")]
    for name in dict.fromkeys(estimate.cell.get("conclusion", "") for estimate in estimates):
        some = [estimate for estimate in estimates if estimate.cell.get("conclusion", "") == name]
        single = [estimate for estimate in of_measures(some, "conclusion") if "verdict" in estimate.details]
        if not defined(single):
            continue
        verdicts = [estimate.details["verdict"] for estimate in single]
        counts = ", ".join(f"{kind} under {verdicts.count(kind)}" for kind in _VERDICTS)
        said = f"Of {len(single)} specifications: {counts}, in these labels. {BARS}"
        if true := corrected_conclusions(some).get(name):
            said = f"The claim {in_true_labels(true)}. {said}"
        lines = " Dashed: the gold labels." if of_measures(some, "conclusion_gold") else ""
        if true is not None and true.low is not None:
            lines += " Band: the corrected estimate’s interval, which is about the true labels."
        yield Figure(
            draw=partial(curve, _specifications(some, results), _VERDICTS),
            estimates=some,
            name=f"conclusion-{slug(name)}",
            measure="conclusion",
            title=f"{name}: {single[0].details['effect']}, in these labels under every prompt variant",
            subtitle=f"{said}{lines} Below: the choices behind each estimate.",
            alternative=said,
        )


def _specifications(estimates: Sequence[Estimate], results: Results) -> list[Row]:
    """One conclusion's estimates from the least to the largest, what each was made with, and its lines."""
    known = [estimate for estimate in defined(estimates) if "verdict" in estimate.details]
    drawn = ranked(of_measures(known, "conclusion", _MAJORITY))
    rows: list[Row] = []
    made: dict[str, dict[str, list[int]]] = {}
    for place, estimate in enumerate(drawn):
        verdict = estimate.details["verdict"]
        low, high = estimate.interval or (estimate.value, estimate.value)
        about = f"{sentence(estimate, results)}; {verdict}"
        rows.append(
            {**_at(place, estimate), "value": estimate.value, "low": low, "high": high, "about": about}
        )
        for column, level in _choices(estimate, results).items():
            made.setdefault(column, {}).setdefault(level, []).append(place)
    for column, levels in made.items():
        if [*map(len, levels.values())] == [len(drawn)]:
            continue  # which all were made with
        known_levels = [level for level in results.order(column) if level in levels]
        for level in dict.fromkeys([*known_levels, *sorted(levels)]):
            choice = f"{in_words(column)}: {level}"
            rows += [{**_at(place, drawn[place]), "choice": choice} for place in levels[level]]
    rows += [{"level": estimate.details["threshold"], "wide": 1, "dash": False} for estimate in drawn[:1]]
    for gold in of_measures(known, "conclusion_gold")[:1]:
        rows.append({"level": gold.value, "wide": 1, "dash": True})
    for true in [one for one in of_measures(known, "conclusion_corrected") if one.low is not None][:1]:
        band = {"band_low": true.low, "band_high": true.high}
        rows.append({"level": true.value, "wide": 2, "dash": False, **band})
    return rows


def _at(place: int, estimate: Estimate) -> Row:
    return {"place": place, "series": estimate.details["verdict"]}


def _choices(estimate: Estimate, results: Results) -> dict[str, str]:
    """What a conclusion was drawn with: model, decoding, evaluator, and the levels of its prompt."""
    made = {name: estimate.cell[name] for name in ("model", "decoding", "evaluator") if name in estimate.cell}
    if estimate.measure == _MAJORITY:
        return {**made, "labels of": "the majority"}
    variant = estimate.cell.get("variant", "")
    return {**made, **results.factor_levels.get(variant, {"variant": variant} if variant else {})}
