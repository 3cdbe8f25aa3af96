"""Prompt stability by data set (Barrie, Palaiologou & Törnberg 2024): intra, inter, and their views."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from quaver.core.records import Estimate
from quaver.papers.paper_answers import StoredAnswers
from quaver.papers.published_table import (
    NOTHING,
    Cell,
    PublishedTable,
    decimal,
    ends,
    interval_of,
    laid_out,
    percentage,
    reasons,
)
from quaver.papers.table_kind import Answers, each_model, present

BAR = 0.8
"""From here on the paper calls a prompt stable."""

_NA = (
    "As in the paper, an answer without a label is one more label. Quaver's default leaves it out: see the "
    "table "
    "stability-views."
)


def intra_stability(answers: Answers) -> PublishedTable:
    """The same prompt again: the score, its interval, when it settles, and neighbouring repeats."""
    rows, found = [], []
    for one, model in each_model(answers):
        curve = _of(one, model, "intra_pss_cumulative")
        last = curve[-1]
        running = last.details.get("running_mean_interval")
        near = np.array(present([step.value for step in _of(one, model, "intra_pss_adjacent")]))
        found.append((f"{one.name}, {model}", last))
        rows.append(
            (
                *(one.name, model, str(one.items), last.cell.get("repeats", "1")),
                decimal(last.value),
                decimal(None if running is None else running[1] - running[0]),
                interval_of(last),
                _settled(last),
                *_spread(near),
            )
        )
    return laid_out(
        "intra-stability",
        "Intra-prompt stability by data set: Krippendorff's α over all repeats of one prompt.",
        "data set | model | n | repeats | PSS | final width | 95% interval | repeats to settle | adjacent "
        "mean | adjacent SD | adjacent IQR | adjacent below 0.8",
        rows,
        text=2,
        notes=[
            "final width: of the paper's interval, mean ± 1.96 σ/√k over the scores of the first 2 … k "
            "repeats. These "
            "share their repeats, so the interval narrows whatever the data. 95% interval: Quaver's, which "
            "treats the "
            "items as a sample; quote this one.",
            "repeats to settle: the first k from which the score stays within 0.01 of its last value.",
            "adjacent: α of each repeat with the next one.",
            _NA,
            *reasons(found),
        ],
    )


def _of(one: StoredAnswers, model: str, measure: str) -> list[Estimate]:
    frame = one.of(model, one.again)
    return list(one.take(measure, frame, by=[], missing="category"))


def _settled(last: Estimate) -> str:
    at = last.details.get("settled")
    return NOTHING if at is None else str(at)


def _spread(values: np.ndarray) -> tuple[Cell, ...]:
    """Mean, SD, interquartile range and the share below the bar of some scores."""
    if not values.size:
        return (NOTHING,) * 4
    low, high = np.percentile(values, [25, 75])
    deviation = float(values.std(ddof=1)) if values.size > 1 else None
    return (
        decimal(float(values.mean())),
        decimal(deviation),
        decimal(float(high - low)),
        percentage(float((values < BAR).mean())),
    )


def distance_column(one: StoredAnswers) -> str | None:
    """What orders paraphrases: the temperature at which they were made, or the share of places changed."""
    for name in ("paraphrase_temperature", "strength"):
        if name in one.reworded.columns and one.reworded[name].drop_nulls().len():
            return name
    return None


def _levels(one: StoredAnswers, model: str, **options: str) -> list[tuple[float, Estimate]]:
    """The inter-prompt score at each temperature, in order."""
    column = distance_column(one)
    frame = one.of(model, one.reworded)
    if column is None or frame.is_empty():
        return []
    found = one.take("inter_pss", frame, by=[column], missing="category", **options)
    known = [(float(e.cell[column]), e) for e in found if e.cell.get(column)]
    return sorted(known, key=lambda pair: pair[0])


def inter_stability(answers: Answers) -> PublishedTable:
    """Other words: the mean over temperatures, the lowest score and where it is."""
    rows, found, ordered_by = [], [], set()
    for one, model in each_model(answers):
        ordered_by.add(distance_column(one))
        each = [(at, e) for at, e in _levels(one, model) if e.value is not None]
        whole = one.one("inter_pss", model, one.reworded, missing="category")
        found.append((f"{one.name}, {model}", whole))
        head = (one.name, model, str(one.items), str(len(each)))
        if not each:
            rows.append((*head, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, decimal(whole.value)))
            continue
        values = np.array([e.value for _, e in each], float)
        at, worst = min(each, key=lambda pair: (pair[1].value, pair[0]))
        rows.append(
            (
                *head,
                decimal(float(values.mean())),
                decimal(worst.value),
                f"{at:g}",
                ends(*_package_interval(one, model, at)),
                interval_of(worst),
                percentage(float((values < BAR).mean())),
                decimal(whole.value),
            )
        )
    what = "share of places changed" if ordered_by == {"strength"} else "temperature"
    return laid_out(
        "inter-stability",
        f"Inter-prompt stability by data set: Krippendorff's α over paraphrases, by {what}.",
        "data set | model | n | temperatures | mean PSS | minimum PSS | at temperature | package's interval "
        "| 95% interval | temperatures below 0.8 | all paraphrases",
        rows,
        text=2,
        notes=[
            "The original prompt is one of the set at each temperature. minimum PSS: the lowest of the "
            "temperatures, "
            "with its two intervals.",
            "package's interval: resamples single labels, as the promptstability package does, and is four "
            "to five "
            "times too narrow. 95% interval: Quaver's, for prompts like these.",
            "all paraphrases: α over the paraphrases of all temperatures together.",
            _NA,
            *reasons(found),
        ],
    )


def _package_interval(one: StoredAnswers, model: str, at: float) -> tuple[float | None, float | None]:
    for level, made in _levels(one, model, resample="rows", estimand="fixed"):
        if level == at:
            return made.low, made.high
    return None, None


def by_temperature(answers: Answers) -> PublishedTable:
    """The inter-prompt score at each temperature, a column for each data set and model."""
    curves = {(one.name, model): dict(_levels(one, model)) for one, model in each_model(answers)}
    levels = sorted({at for curve in curves.values() for at in curve})
    heads = [f"{name}, {model}{part}" for name, model in curves for part in ("", " 95% interval")]
    rows = [
        (f"{at:g}", *(cell for curve in curves.values() for cell in _point(curve.get(at)))) for at in levels
    ]
    return laid_out(
        "inter-by-temperature",
        "Inter-prompt stability by the temperature at which the paraphrases were made.",
        ("temperature", *heads),
        rows,
        text=1,
        notes=[_NA, "" if levels else "These paraphrases have no temperature."],
    )


def _point(one: Estimate | None) -> tuple[Cell, Cell]:
    return decimal(None if one is None else one.value), interval_of(one)


_VIEWS: Sequence[tuple[str, dict[str, str]]] = (
    ("original", {"missing": "category"}),
    ("filtered", {"missing": "drop", "view": "filtered"}),
    ("balanced", {"missing": "drop", "view": "balanced"}),
)


def views(answers: Answers) -> PublishedTable:
    """Original, filtered, and filtered-and-balanced annotations, intra and inter."""
    rows, found = [], []
    for one, model in each_model(answers):
        row: list[Cell] = [one.name, model]
        for measure, frame in (("intra_pss", one.again), ("inter_pss", one.reworded)):
            for _, options in _VIEWS:
                made = one.one(measure, model, frame, **options)
                found.append((f"{one.name}, {model}", made))
                row.append(decimal(made.value))
        rows.append((*row, percentage(one.one("compliance", model).value)))
    heads = [f"{kind} {view}" for kind in ("intra", "inter") for view, _ in _VIEWS]
    return laid_out(
        "stability-views",
        "Stability of original, filtered and balanced annotations.",
        ("data set", "model", *heads, "answers with a label"),
        rows,
        text=2,
        notes=[
            "original: an answer without a label is one more label. filtered: answers with a label alone. "
            "balanced: "
            "of these, as many from each repeat as the repeat with the fewest has, drawn with a seed.",
            "Quaver's default is filtered: α of the labels that can be used; the share of answers that have "
            "one "
            "stands beside it, so that neither hides the other.",
            *reasons(found),
        ],
    )
