"""Quaver's own charts: shares of labels, calibration, and conclusions under every prompt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from quaver.core.records import Estimate
from quaver.core.rows import defined, of_measures, ranked
from quaver.report.charts.chart import (
    BARS,
    MOST_ROWS,
    MOST_SERIES,
    Figure,
    cell_name,
    cut,
    first_and_last,
    spoken,
)
from quaver.report.charts.forms import curve, mark, plane
from quaver.report.charts.scores import score_chart
from quaver.report.charts.specification import Row
from quaver.report.estimate_index import NO_LABEL, Results, varying
from quaver.report.findings.key_results import corrected_conclusions, in_true_labels
from quaver.report.page_words import in_words, printed, slug

_MOST_LABELS, _MOST_CURVES = 6, 9
_SHOWN_LEVELS = 12
"""Of more levels of a factor, half as many of the lowest and of the highest are drawn."""
_VERDICTS = ("holds", "reverses", "not distinguishable")
_MAJORITY = "conclusion_majority"
_SHARES: dict[str, Any] = {"percent": True, "domain": (0.0, 1.0)}
"""How shares of answers are drawn."""


def label_shares(results: Results) -> Iterator[Figure]:
    """How often each label is given under each prompt, and what each factor does to one of the shares.

    Both stand among what moves the labels.
    """
    yield from _shares(results)
    yield from _factors(results)


def _shares(results: Results) -> Iterator[Figure]:
    """The shares of the labels prompt by prompt, a panel a label and a colour a model."""
    every = [estimate for estimate in defined(results.main("label_shares")) if "variant" in estimate.cell]
    shown = shares_shown(results)
    if not shown:
        return
    title = "How often each label is given"
    if results.grouping_factor and len({estimate.cell["variant"] for estimate in shown}) > 1:
        title += f", by {in_words(results.grouping_factor)}"
    labels = {estimate.cell.get("label", "") for estimate in shown}
    references = [
        (value, f"gold {printed(value, percent=True)}", label)
        for label, value in results.gold_shares.items()
        if label in labels
    ]
    whole = "all answers" if NO_LABEL in labels else "the answers with a label"
    gold = " Dashed: the share among the gold labels." if references else ""
    look = {**_SHARES, "axis": "share of answers", "references": references}
    yield Figure(
        draw=partial(score_chart, shown, results, panel="label", **look),
        estimates=shown,
        measure="label_shares",
        section="factors",
        title=title,
        subtitle=f"Share of each label among {whole} to a prompt. {BARS}{gold}"
        + cut(
            len(shown),
            len(every),
            "shares",
            "of the most frequent labels and the first models",
        ),
        covers=("label_shares",),
        place=10,
    )


def shares_shown(results: Results) -> list[Estimate]:
    """The label shares of each prompt that are drawn, from the first evaluator's labels.

    Labels beyond six are left to the CSV: those that are most frequent somewhere are kept. So are models that
    have no colour, and prompts for which there is no room.
    """
    every = [estimate for estimate in defined(results.main("label_shares")) if "variant" in estimate.cell]
    frequent = dict.fromkeys(estimate.cell.get("label", "") for estimate in reversed(ranked(every)))
    labels = list(frequent)[:_MOST_LABELS]
    models = results.models[:MOST_SERIES]
    asked = dict.fromkeys(estimate.cell["variant"] for estimate in results.in_order(every))
    variants = list(asked)[: MOST_ROWS // max(1, len(models))]
    return [
        estimate
        for estimate in every
        if estimate.cell.get("label", "") in labels
        and estimate.cell["variant"] in variants
        and estimate.cell.get("model") in (None, *models)
    ]


def _factors(results: Results) -> Iterator[Figure]:
    """What each factor does to the share of the label that moves most."""
    spans = of_measures(defined(results.moved), "label_range")
    spans = [estimate for estimate in spans if estimate.cell["factor"] != "gold"] or spans
    if not spans:
        return
    label = ranked(spans)[-1].cell["label"]
    levels = [
        estimate for estimate in of_measures(results.moved, "level_shares") if estimate.cell["label"] == label
    ]
    drawn: list[Estimate] = []
    known = dict.fromkeys(estimate.cell["factor"] for estimate in levels)
    for factor in sorted(known, key=lambda factor: factor == "gold"):
        own = ranked(estimate for estimate in levels if estimate.cell["factor"] == factor)
        drawn += first_and_last(own, _SHOWN_LEVELS)
    of = "no label" if label == NO_LABEL else f"“{results.label_name(label)}”"
    left_out = " Of many levels, the lowest and the highest are drawn." if len(drawn) < len(levels) else ""
    moved = (
        f"{in_words(span.cell['factor'])}, by {printed(span.number, percent=True)}" for span in ranked(spans)
    )
    yield Figure(
        draw=partial(score_chart, drawn, results, as_given=True, axis="share of answers", **_SHARES),
        estimates=[*levels, *spans],
        name="factors",
        measure="level_shares",
        section="factors",
        title=f"How far each factor moves the share of {of}",
        subtitle="The share of all answers, with or without a label, at each level, averaged over everything "
        f"else. {BARS}{left_out}",
        alternative=f"{'; '.join(moved)}.",
        covers=("level_shares", "label_range"),
        place=8,
    )


def reliability(results: Results) -> Iterator[Figure]:
    """How often answers are right by their confidence: a point for each bin, a panel for each cell."""
    estimates = [
        estimate for estimate in results.in_order(results.of("ece")) if estimate.details.get("curve")
    ]
    if len(estimates) > _MOST_CURVES:
        estimates = of_measures(results.audit, "ece") or estimates
    estimates = [estimate for estimate in defined(estimates) if estimate.details.get("curve")]
    if not estimates:
        return
    columns = varying(estimates)
    rows: list[Row] = []
    for estimate in estimates[:_MOST_CURVES]:
        heading = f"{cell_name(estimate, columns, results, '')} · ECE {printed(estimate.number)}"
        most = max(part["n"] for part in estimate.details["curve"])
        for part in estimate.details["curve"]:
            point = {"panel": heading.removeprefix(" · "), "x": part["confidence"], "y": part["right"]}
            ends = {"low": part["right_low"], "high": part["right_high"]}
            rows.append({**point, **ends, "size": round(14 + 70 * part["n"] / most, 1)})
    perfect = [(None, "dashed: perfect calibration", None)]
    look: dict[str, Any] = {"x_ends": (0, 1), "y_ends": (0, 1), "percent": "xy", "references": perfect}
    yield Figure(
        draw=partial(plane, rows, "confidence", "share correct", **look),
        estimates=estimates,
        measure="reliability",
        section="accuracy",
        title="How often answers are correct, by their confidence",
        subtitle=f"A point for each bin of confidence, the larger the more answers it holds. {BARS} Below "
        "the dashed line the model is overconfident. ECE: the expected calibration error, which chance alone "
        "keeps above 0; its interval, in the table, is of the true error. The bins’ numbers are among the "
        "details in estimates.csv." + cut(min(_MOST_CURVES, len(estimates)), len(estimates), "cells"),
        alternative=f"Expected calibration error: {spoken(estimates, results)}",
        place=60,
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
            section="conclusions",
            title=f"{name}: {single[0].details['effect']}, in these labels under every prompt variant",
            subtitle=f"{said}{lines} Below: the choices behind each estimate.",
            alternative=said,
            covers=("conclusion*",),
            place=10,
        )


def _specifications(estimates: Sequence[Estimate], results: Results) -> list[Row]:
    """One conclusion's estimates from the least to the largest, what each was made with, and its lines."""
    known = [estimate for estimate in defined(estimates) if "verdict" in estimate.details]
    drawn = ranked(of_measures(known, "conclusion", _MAJORITY))
    rows: list[Row] = []
    made: dict[str, dict[str, list[int]]] = {}
    for place, estimate in enumerate(drawn):
        verdict = estimate.details["verdict"]
        point = mark(estimate, results, **_at(place, estimate))
        rows.append(point | {"about": f"{point['about']}; {verdict}"})
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
    for true in [
        estimate for estimate in of_measures(known, "conclusion_corrected") if estimate.low is not None
    ][:1]:
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
