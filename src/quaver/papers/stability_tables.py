"""Prompt stability by data set (Barrie, Palaiologou & Törnberg 2024): intra, inter, and their views."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from quaver.core.records import Estimate
from quaver.core.rows import Estimates
from quaver.estimation.answer_views import View, view
from quaver.estimation.cells import OUTPUT
from quaver.papers.published_table import (
    KEYS,
    NOTHING,
    UNKNOWN,
    Answers,
    StoredAnswers,
    TableRows,
    Value,
    each_model,
)
from quaver.study.imports.stability_summary import Curve, of_neighbours, of_repeats

BAR = 0.8
"""From here on the paper calls a prompt stable."""


def intra_stability(answers: Answers) -> TableRows:
    """The same prompt again: the score, its interval, when it settles, and neighbouring repeats."""
    rows, found = [], []
    for one, model in each_model(answers):
        last = _of(one, model, "intra_pss_cumulative")[-1]
        found.append((f"{one.name}, {model}", last))
        packaged = _package_curve(one, model)
        final, width, settled, narrow, distance = tuple(of_repeats(packaged).values()) or (None,) * 5
        rows.append(
            (
                *(one.name, model, one.items, last.cell.get("repeats", "1")),
                last.value if final is None else final,
                *(_last_ends(packaged), width, (last.low, last.high)),
                *(NOTHING if at is None else f"{at:g}" for at in (settled, narrow)),
                *(distance, *_neighbours(one, model)),
            )
        )
    return TableRows(rows, found)


def _of(answers: StoredAnswers, model: str, measure: str, **options: Any) -> Estimates:
    return _again(answers, answers.of(model, answers.again), measure, **options)


def _again(answers: StoredAnswers, frame: pl.DataFrame, measure: str, **options: Any) -> Estimates:
    """A measure of one prompt's annotations, as the paper counts answers without a label."""
    return answers.take(measure, frame, by=[], **{"missing": answers.unlabelled, **options})


def _last_ends(curve: Curve) -> tuple[float | None, float | None]:
    if not curve.values.size or np.isnan(curve.lows[-1]):
        return None, None
    return float(curve.lows[-1]), float(curve.highs[-1])


def _package_curve(answers: StoredAnswers, model: str) -> Curve:
    """The scores of the first k repeats, with the package's intervals."""
    steps = _of(answers, model, "intra_pss_cumulative", resample="rows")
    return _drawn_curve((int(step.cell.get("repeats", 1)), step) for step in steps)


def _drawn_curve(steps: Iterable[tuple[int, Estimate]]) -> Curve:
    points = [
        (
            index,
            step.value,
            np.nan if step.low is None else step.low,
            np.nan if step.high is None else step.high,
        )
        for index, step in steps
        if step.value is not None
    ]
    return Curve(*np.array(points, float).reshape(-1, 4).T)


def _neighbours(answers: StoredAnswers, model: str) -> tuple[Value, ...]:
    """Mean, SD, interquartile range, ends, share below the bar and mean width of neighbouring repeats."""
    near = _drawn_curve(enumerate(_of(answers, model, "intra_pss_adjacent", resample="rows")))
    numbers = of_neighbours(near).values()
    return tuple(numbers) or (float(near.values[0]) if near.values.size else None, *(None,) * 6)


def distance_column(answers: StoredAnswers) -> str | None:
    """What orders paraphrases: the temperature at which they were made, or the share of places changed."""
    for name in ("paraphrase_temperature", "strength"):
        column = answers.reworded.get_column(name, default=pl.Series([None]))
        if column.dtype.is_numeric() and column.drop_nulls().len():  # a group may have the name too
            return name
    return None


def _levels(
    answers: StoredAnswers, model: str, some: pl.DataFrame | None = None, **options: Any
) -> list[tuple[float, Estimate]]:
    """The inter-prompt score at each temperature, in order; of all reworded prompts, or of some."""
    column = distance_column(answers)
    frame = answers.of(model, answers.reworded) if some is None else some
    if column is None or frame.is_empty():
        return []
    estimates = answers.take("inter_pss", frame, by=[column], **{"missing": answers.unlabelled, **options})
    known = [(float(e.cell[column]), e) for e in estimates if e.cell.get(column)]
    return sorted(known, key=lambda pair: pair[0])


def inter_stability(answers: Answers) -> TableRows:
    """Other words: the mean over temperatures, the lowest score and where it is."""
    rows, found, ordered_by = [], [], set()
    for one, model in each_model(answers):
        ordered_by.add(distance_column(one))
        each = [(at, e) for at, e in _levels(one, model) if e.value is not None]
        whole = one.one("inter_pss", model, one.reworded, missing=one.unlabelled)
        found.append((f"{one.name}, {model}", whole))
        row: list[Value] = [one.name, model, one.items, len(each)]
        if each:
            values = np.array([e.value for _, e in each], float)
            at, worst = min(each, key=lambda pair: (pair[1].value, pair[0]))
            row += [float(values.mean()), float(values.std(ddof=1)) if values.size > 1 else None]
            row += [worst.value, f"{at:g}", _package_interval(one, model, at), (worst.low, worst.high)]
            row += [float(values.max()), float(np.ptp(values)), float((values < BAR).mean())]
        else:
            row += [None] * 9
        rows.append([*row, whole.value])
    what = "share of places changed" if ordered_by == {"strength"} else "temperature"
    return TableRows(rows, found, subject=what)


def _package_interval(answers: StoredAnswers, model: str, at: float) -> tuple[float | None, float | None]:
    """The package's interval at one temperature."""
    column = distance_column(answers)
    there = pl.col(column or "").cast(pl.Float64) == at
    frame = answers.of(model, answers.reworded).filter(there | pl.col(column or "").is_null())
    for level, estimate in _levels(answers, model, frame, resample="rows", estimand="fixed"):
        if level == at:
            return estimate.low, estimate.high
    return None, None


def _appendix(score: float | None, rows: Estimate, repeats: int) -> Value:
    """The paper's interval: the score ± 1.96 · σ/√k, σ that of scores of resampled labels (appendix A)."""
    spread = rows.details.get("sd_of_resamples")
    if score is None or spread is None:
        return None
    half = 1.96 * float(spread) / repeats**0.5
    return score - half, score + half


def by_repeat(answers: Answers) -> TableRows:
    """The score of the first k repeats of one prompt, for every k: the paper's figures 1, B.1 and B.2."""
    rows = []
    for one, model in each_model(answers):
        mine = one.of(model, one.again)
        views = [view(mine, kind, labels=one.labels, seed=one.study.spec.seed) for kind in _KINDS]
        kept = [by_repeats(_curve(one, frame, missing="drop", resamples=0)) for frame in views]
        distinct = dict(distinct_answers(one, mine, "repeat"))
        order = sorted(mine["repeat"].unique())
        drawn = by_repeats(_curve(one, mine, resample="rows"))
        for k, step in by_repeats(_curve(one, mine)).items():
            package = _appendix(step.value, drawn.get(k, UNKNOWN), k)
            same = (each.get(k, UNKNOWN).value for each in kept)
            count = distinct.get(order[k - 1])
            rows.append((one.name, model, k, step.value, package, (step.low, step.high), *same, count))
    return TableRows(rows)


_KINDS: tuple[View, ...] = ("filtered", "balanced")


def _curve(answers: StoredAnswers, frame: pl.DataFrame, **options: Any) -> Estimates:
    return _again(answers, frame, "intra_pss_cumulative", **options)


def by_repeats(steps: Estimates) -> Mapping[int, Estimate]:
    """The scores of the first repeats, by how many they are."""
    return {int(step.cell.get("repeats", 1)): step for step in steps}


def distinct_answers(answers: StoredAnswers, frame: pl.DataFrame, column: str) -> list[tuple[Any, int]]:
    """How many different answers there are, as they were written, at each value of a column."""
    keys = [name for name in KEYS if name in frame.columns]
    written = frame.join(answers.raw.select(*keys, OUTPUT), on=keys, how="inner", nulls_equal=True)
    return written.group_by(column).agg(pl.col(OUTPUT).str.strip_chars().n_unique()).rows()


def by_temperature(answers: Answers) -> TableRows:
    """The inter-prompt score at each temperature: the paper's figures 2, B.3 and B.4."""
    rows = []
    for one, model in each_model(answers):
        column = distance_column(one)
        if column is None:
            continue
        reworded = one.of(model, one.reworded)
        repeats = reworded["repeat"].n_unique()
        drawn = dict(_levels(one, model, resample="rows", estimand="fixed"))
        filtered = dict(_levels(one, model, missing="drop", view="filtered", resamples=0))
        balanced = dict(_levels(one, model, missing="drop", view="balanced", across=column, resamples=0))
        distinct = dict(distinct_answers(one, reworded, column))
        for at, estimate in _levels(one, model):
            package = _appendix(estimate.value, drawn.get(at, UNKNOWN), repeats)
            same = (each.get(at, UNKNOWN).value for each in (filtered, balanced))
            row = (one.name, model, f"{at:g}", estimate.value, package, (estimate.low, estimate.high))
            rows.append((*row, *same, distinct.get(at)))
    return TableRows(rows)


_VIEWS: Sequence[tuple[str, dict[str, Any]]] = (
    ("original", {}),
    ("filtered", {"missing": "drop", "view": "filtered"}),
    ("balanced", {"missing": "drop", "view": "balanced"}),
)


def views(answers: Answers) -> TableRows:
    """Original, filtered, and filtered-and-balanced annotations, intra and inter."""
    rows, found = [], []
    for one, model in each_model(answers):
        estimates = [
            one.one(measure, model, frame, **{"missing": one.unlabelled, "resamples": 0, **options})
            for measure, frame in (("intra_pss", one.again), ("inter_pss", one.reworded))
            for _, options in _VIEWS
        ]
        found += [(f"{one.name}, {model}", estimate) for estimate in estimates]
        estimates.append(one.one("compliance", model, resamples=0))
        rows.append((one.name, model, *(estimate.value for estimate in estimates)))
    return TableRows(rows, found)
