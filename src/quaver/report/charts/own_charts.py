"""Quaver's own charts: shares of labels, calibration, and conclusions under every prompt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any

from quaver.core.records import Estimate
from quaver.core.rows import at_levels, defined, grouped, having, levels_in, of_measures, ranked
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
from quaver.report.charts.forms import plane
from quaver.report.charts.scores import score_chart
from quaver.report.charts.specification import Row
from quaver.report.estimate_index import NO_LABEL, Results, varying
from quaver.report.findings.key_results import corrected_conclusions, in_true_labels
from quaver.report.page_words import in_words, printed, slug

_MOST_LABELS, _MOST_CURVES = 6, 9
_SHOWN_LEVELS = 12
"""Of more levels of a factor, half as many of the lowest and of the highest are drawn."""
_VERDICTS = ("holds", "reverses", "not distinguishable")
_TRUTHS = {"conclusion_corrected": "corrected by gold labels", "conclusion_gold": "gold labels alone"}
"""Of the estimates about the true labels, what they rest on."""
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
    every, shown = _of_prompts(results), shares_shown(results)
    if not shown:
        return
    title = "How often each label is given"
    if results.grouping_factor and len(levels_in(shown, "variant")) > 1:
        title += f", by {in_words(results.grouping_factor)}"
    labels, references = levels_in(shown, "label"), []
    for label, value in results.gold_shares.items():
        if label in labels:
            references.append((value, f"gold {printed(value, percent=True)}", label))
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
        + cut(len(shown), len(every), "shares", "of the most frequent labels and the first models"),
        covers=("label_shares",),
        place=10,
    )


def shares_shown(results: Results) -> list[Estimate]:
    """The label shares of each prompt that are drawn, from the first evaluator's labels.

    Labels beyond six are left to the CSV: those that are most frequent somewhere are kept. So are models that
    have no colour, and prompts for which there is no room.
    """
    every, models = _of_prompts(results), results.models[:MOST_SERIES]
    labels = levels_in(reversed(ranked(every)), "label")[:_MOST_LABELS]
    variants = levels_in(results.in_order(every), "variant")[: MOST_ROWS // max(1, len(models))]
    return at_levels(every, label=labels, variant=variants, model=(None, *models))


def _of_prompts(results: Results) -> list[Estimate]:
    """Every share of a label under a prompt."""
    return having(defined(results.main("label_shares")), "variant")


def _factors(results: Results) -> Iterator[Figure]:
    """What each factor does to the share of the label that moves most."""
    spans = of_measures(defined(results.moved), "label_range")
    spans = [estimate for estimate in spans if estimate.cell["factor"] != "gold"] or spans
    if not spans:
        return
    label = ranked(spans)[-1].cell["label"]
    levels = at_levels(of_measures(results.moved, "level_shares"), label=label)
    drawn: list[Estimate] = []
    for factor in sorted(levels_in(levels, "factor"), key=lambda factor: factor == "gold"):
        drawn += first_and_last(ranked(at_levels(levels, factor=factor)), _SHOWN_LEVELS)
    of = "no label" if label == NO_LABEL else f"“{results.label_name(label)}”"
    left_out = " Of many levels, the lowest and the highest are drawn." if len(drawn) < len(levels) else ""
    moved = []
    for span in ranked(spans):
        moved.append(f"{in_words(span.cell['factor'])}, by {printed(span.number, percent=True)}")
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
    estimates = _with_curve(results.in_order(results.of("ece")))
    if len(estimates) > _MOST_CURVES:
        estimates = _with_curve(of_measures(results.audit, "ece") or estimates)
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


def _with_curve(estimates: list[Estimate]) -> list[Estimate]:
    return [estimate for estimate in defined(estimates) if estimate.details.get("curve")]


def conclusions(results: Results) -> Iterator[Figure]:
    """Each conclusion under every prompt, model, decoding and evaluator."""
    estimates = [estimate for estimate in results.estimates if estimate.measure.startswith("conclusion")]
    for name, about in grouped(estimates, lambda estimate: estimate.cell.get("conclusion", "")).items():
        single = [estimate for estimate in of_measures(about, "conclusion") if "verdict" in estimate.details]
        known = ranked(defined(single))
        if not known:
            continue
        drawn = known if len(known) <= MOST_ROWS else first_and_last(known, MOST_ROWS)
        verdicts = Counter(estimate.details["verdict"] for estimate in single)
        counts = ", ".join(f"{verdict} under {verdicts[verdict]}" for verdict in _VERDICTS)
        left_out = cut(len(drawn), len(known), "specifications", "the lowest and the highest")
        summary = f"Of {len(single)} specifications: {counts}, in these labels. {BARS}{left_out}"
        if true := corrected_conclusions(about).get(name):
            summary = f"The claim {in_true_labels(true)}. {summary}"
        references = [(estimate.details["threshold"], "", None) for estimate in drawn[:1]]
        for truth in defined(of_measures(about, "conclusion_corrected", "conclusion_gold"))[:1]:
            references.append((truth.number, f"dashed: {_TRUTHS[truth.measure]}", None))
        yield Figure(
            draw=partial(score_chart, drawn, results, as_given=True, axis="estimate", references=references),
            estimates=about,
            name=f"conclusion-{slug(name)}",
            measure="conclusion",
            section="conclusions",
            title=f"{name}: {drawn[0].details['effect']}, in these labels under every prompt variant",
            subtitle=summary,
            alternative=summary,
            covers=("conclusion*",),
            place=10,
        )
