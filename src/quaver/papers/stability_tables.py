"""Prompt stability by data set (Barrie, Palaiologou & Törnberg 2024): intra, inter, and their views."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quaver.core.records import Estimate
from quaver.core.rows import Estimates
from quaver.core.seeds import derive
from quaver.estimation.coded_columns import encode
from quaver.papers.published_table import (
    NOTHING,
    UNKNOWN,
    Answers,
    StoredAnswers,
    TableRows,
    Value,
    each_model,
)

BAR, NEAR, NARROW = 0.8, 0.01, 0.02
"""From here on the paper calls a prompt stable; how near to its last value it settles; a narrow interval."""

Floats = NDArray[np.float64]


def _balanced(
    one: StoredAnswers, frame: pl.DataFrame, across: str = "repeat", within: Sequence[str] = ()
) -> pl.DataFrame:
    """The annotations with a label, as many at each level of a column as the smallest has."""
    kept = frame.filter(pl.col("label").is_in(list(one.labels.codes)))
    if kept.is_empty():
        return kept
    named = (across, *within, "item", "label")
    others = [name for name in kept.columns if name not in named and not kept[name].dtype.is_nested()]
    # The draw must not depend on the order of the rows.
    keys = [encode(kept[name], name).codes for name in (*others[::-1], "item", across, *within[::-1])]
    draw = np.empty(kept.height)
    draw[np.lexsort(keys)] = np.random.default_rng(derive(one.study.spec.seed, "balance")).random(kept.height)
    level, least = [across, *within], pl.col("_size").min()
    marked = kept.with_columns(_place=pl.Series(draw), _size=pl.len().over(level))
    few = pl.col("_place").rank().over(level) <= (least.over(list(within)) if within else least)
    return marked.filter(few).drop("_place", "_size")


class Curve(NamedTuple):
    """Scores along repeats: places, values and the ends of their intervals."""

    places: Floats
    values: Floats
    lows: Floats
    highs: Floats


def of_repeats(curve: Curve) -> tuple[float | None, ...]:
    """The last score, its width, where it settles, where its interval narrows, the largest distance from it.

    >>> ends = np.array([0.1, 0.05, 0.01])
    >>> made = Curve(np.array([2.0, 3.0, 4.0]), np.array([0.7, 0.795, 0.8]), -ends, ends)
    >>> [None if one is None else round(one, 3) for one in of_repeats(made)]
    [0.8, 0.02, 3.0, 4.0, 0.1]
    """
    if curve.values.size < 2:
        return (None,) * 5
    last, widths = float(curve.values[-1]), curve.highs - curve.lows
    away = np.abs(curve.values - last)
    settled, narrow = (_from(curve.places, holds) for holds in (away <= NEAR, widths <= NARROW))
    return last, float(widths[-1]), settled, narrow, float(away.max())


def _from(places: Floats, holds: NDArray[np.bool_]) -> float | None:
    """The first place from which a condition holds to the end; None where it does not at the end."""
    fails = np.flatnonzero(~holds)
    first = int(fails[-1]) + 1 if fails.size else 0
    return float(places[first]) if first < holds.size else None


def intra_stability(answers: Answers) -> TableRows:
    """The same prompt again: the score, when it settles, neighbouring repeats, and Quaver's score."""
    rows = []
    for one, model in each_model(answers):
        steps = _curve(one.written, model, resample="rows")
        curve = _drawn_curve((k, step) for k, step in by_repeats(steps).items())
        final, width, settled, narrow, distance = of_repeats(curve)
        rows.append(
            (
                *(one.name, model, one.items, steps[-1].cell.get("repeats", "1")),
                *(steps[-1].value if final is None else final, _last_ends(curve), width),
                *(NOTHING if at is None else f"{at:g}" for at in (settled, narrow)),
                *(distance, *_neighbours(one.written, model), one.one("intra_pss", model, one.again)),
            )
        )
    return TableRows(rows)


def _curve(
    answers: StoredAnswers, model: str, measure: str = "intra_pss_cumulative", **options: Any
) -> Estimates:
    """A measure of one prompt's annotations."""
    return answers.take(measure, answers.of(model, answers.again), by=[], **options)


def _last_ends(curve: Curve) -> tuple[float | None, float | None]:
    if not curve.values.size or np.isnan(curve.lows[-1]):
        return None, None
    return float(curve.lows[-1]), float(curve.highs[-1])


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
    near = _drawn_curve(enumerate(_curve(answers, model, "intra_pss_adjacent", resample="rows")))
    values = near.values
    if values.size < 2:
        return float(values[0]) if values.size else None, *(None,) * 6
    low, high = np.percentile(values, [25, 75])
    spread = (values.mean(), values.std(ddof=1), high - low, values.min(), values.max())
    return tuple(map(float, (*spread, (values < BAR).mean(), (near.highs - near.lows).mean())))


def distance_column(answers: StoredAnswers) -> str | None:
    """What orders paraphrases: the temperature at which they were made, or the share of places changed."""
    for name in ("paraphrase_temperature", "strength"):
        column = answers.reworded.get_column(name, default=pl.Series([None]))
        if column.dtype.is_numeric() and column.drop_nulls().len():  # a group may have the name too
            return name
    return None


def _levels(
    answers: StoredAnswers, model: str, frame: pl.DataFrame | None = None, **options: Any
) -> dict[float, Estimate]:
    """The inter-prompt score at each temperature, in order."""
    column = distance_column(answers)
    frame = answers.of(model, answers.reworded) if frame is None else frame
    if column is None or frame.is_empty():
        return {}
    estimates = answers.take("inter_pss", frame, by=[column], **options)
    return dict(sorted((float(e.cell[column]), e) for e in estimates if e.cell.get(column)))


def inter_stability(answers: Answers) -> TableRows:
    """Other words: the mean over temperatures, the lowest score and where it is, and Quaver's score."""
    rows, found, ordered_by = [], [], set()
    for one, model in each_model(answers):
        ordered_by.add(distance_column(one))
        written = one.written
        drawn = _levels(written, model, resample="rows", estimand="fixed")
        each = {at: e for at, e in drawn.items() if e.value is not None}
        whole = written.points("inter_pss", written.of(model, written.reworded), by=[])[0]
        found.append((f"{one.name}, {model}", whole))
        row: list[Value] = [one.name, model, one.items, len(each)]
        if each:
            values = np.array([e.value for e in each.values()], float)
            at, worst = min(each.items(), key=lambda pair: (pair[1].value, pair[0]))
            row += [float(values.mean()), float(values.std(ddof=1)) if values.size > 1 else None]
            row += [worst.value, f"{at:g}", (worst.low, worst.high)]
            row += [float(values.max()), float(np.ptp(values)), float((values < BAR).mean())]
        else:
            row += [None] * 8
        rows.append([*row, whole.value, one.one("inter_pss", model, one.reworded)])
    what = "share of places changed" if ordered_by == {"strength"} else "temperature"
    return TableRows(rows, found, subject=what)


def _appendix(score: Estimate, repeats: int) -> Value:
    """The paper's interval: the score ± 1.96 · σ/√k, σ that of scores of resampled labels (appendix A)."""
    spread = score.details.get("sd_of_resamples")
    if score.value is None or spread is None:
        return None
    half = 1.96 * float(spread) / repeats**0.5
    return score.value - half, score.value + half


def by_repeat(answers: Answers) -> TableRows:
    """The score of the first k repeats of one prompt, for every k: the paper's figures 1, B.1 and B.2."""
    rows = []
    for one, model in each_model(answers):
        written, exact = one.written, one.exact
        order = sorted(written.of(model, written.again)["repeat"].unique())
        distinct = _distinct(written.of(model, written.again), "repeat")
        drawn = _curve(written, model, resample="rows")
        balanced = _balanced(one, exact.of(model, exact.again))
        others = (
            _curve(exact, model, resamples=0),
            exact.points("intra_pss_cumulative", balanced, by=[]),
            _curve(one, model),
        )
        filtered, even, read = map(by_repeats, others)
        for k, step in by_repeats(drawn).items():
            same = (each.get(k, UNKNOWN).value for each in (filtered, even))
            count = distinct.get(order[k - 1]) if order else None
            row = (one.name, model, k, step.value, _appendix(step, k), *same, read.get(k, UNKNOWN), count)
            rows.append(row)
    return TableRows(rows)


def by_repeats(steps: Estimates) -> Mapping[int, Estimate]:
    """The scores of the first repeats, by how many they are."""
    return {int(step.cell.get("repeats", 1)): step for step in steps}


def _distinct(frame: pl.DataFrame, column: str) -> dict[Any, int]:
    """How many different answers there are at each value of a column."""
    return dict(frame.group_by(column).agg(pl.col("label").n_unique()).rows())


def by_temperature(answers: Answers) -> TableRows:
    """The inter-prompt score at each temperature: the paper's figures 2, B.3 and B.4."""
    rows = []
    for one, model in each_model(answers):
        column = distance_column(one)
        if column is None:
            continue
        written, exact = one.written, one.exact
        reworded = written.of(model, written.reworded)
        distinct = _distinct(reworded, column)
        even = _balanced(one, exact.of(model, exact.reworded), column, ("model", "decoding", "repeat"))
        plain, balanced = (_levels(exact, model, frame, resamples=0) for frame in (None, even))
        others = [plain, balanced, _levels(one, model)]
        for at, estimate in _levels(written, model, resample="rows", estimand="fixed").items():
            filtered, drawn, read = (each.get(at, UNKNOWN) for each in others)
            package = _appendix(estimate, reworded["repeat"].n_unique())
            row = (one.name, model, f"{at:g}", estimate.value, package, filtered.value, drawn.value)
            rows.append((*row, read, distinct.get(at)))
    return TableRows(rows)


def views(answers: Answers) -> TableRows:
    """Original, filtered, and filtered-and-balanced annotations beside Quaver's reading, intra and inter."""
    rows, found = [], []
    for one, model in each_model(answers):
        estimates = []
        for measure, part in (("intra_pss", "again"), ("inter_pss", "reworded")):
            even = _balanced(one, one.exact.of(model, getattr(one.exact, part)))
            series = [(some, getattr(some, part)) for some in (one.written, one.exact, one)]
            series.insert(2, (one.exact, even))
            estimates += [some.one(measure, model, frame, resamples=0) for some, frame in series]
        found += [(f"{one.name}, {model}", estimate) for estimate in estimates]
        kept = one.of(model, one.exact.frame).height / one.of(model).height
        labelled = one.one("compliance", model, resamples=0).value
        rows.append((one.name, model, *(estimate.value for estimate in estimates), kept, labelled))
    return TableRows(rows, found)
