"""How sure a model is (Karmakar & Chatterjee 2026): token confidence, stated confidence, and both beside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import polars as pl

from quaver.core.annotations import rows_with
from quaver.core.records import Estimate
from quaver.errors import QuaverError
from quaver.estimation.measure_input import beside
from quaver.papers.published_table import (
    NOTHING,
    UNKNOWN,
    Answers,
    StoredAnswers,
    TableRows,
    Value,
    each_model,
)

_TOKEN, _STATED = "logprob", "verbal_confidence"
_THRESHOLDS = (0.70, 0.75, 0.80, 0.85, 0.90)
"""Parse rates that the table `thresholds` sets beside each other."""


def evaluators(answers: StoredAnswers, use: str, *, normalised: bool | None = None) -> list[str]:
    """The study's evaluators of a rule, by name; of token confidence, only the raw or the normalised."""
    return [
        evaluator.title
        for evaluator in answers.study.spec.evaluators
        if evaluator.use == use
        and (normalised is None or evaluator.options.get("normalised", True) is normalised)
    ]


def by_evaluator(answers: StoredAnswers, name: str, model: str) -> pl.DataFrame:
    """One model's annotations by an evaluator."""
    return answers.of(model, rows_with(answers.every, "evaluator", name))


def prompts(answers: StoredAnswers, frame: pl.DataFrame) -> list[tuple[str, str]]:
    """The prompts that have answers: their ids, and what the tables call them."""
    answered = set(frame["variant"].cast(pl.String).unique())
    return [
        (variant.id, " | ".join(variant.factors.values()) or variant.id)
        for variant in answers.variants
        if variant.id in answered
    ]


SPREAD = ("paraphrase", "moved", "examples", "bare")
"""The four perturbations that the paper takes together: its five but the one that asks for reasoning."""
_BASELINE = "paraphrase"
_FACTOR = "perturbation"


def of_paper(frame: pl.DataFrame, *more: str) -> pl.DataFrame:
    """The annotations of the paper's four prompts and of further variants; all where there are none."""
    if _FACTOR not in frame.columns:
        return frame
    four = pl.col(_FACTOR).cast(pl.String).is_in(SPREAD)
    if not frame.select(four.any()).item():  # a factor or a group of this name that is another
        return frame
    return frame.filter(four | pl.col("variant").cast(pl.String).is_in(more))


def baseline(answers: StoredAnswers) -> str | None:
    """The prompt that the paper's drops are against, by its id."""
    return next((v.id for v in answers.variants if v.factors.get(_FACTOR) == _BASELINE), None)


def token_ece(answers: Answers) -> TableRows:
    """ECE of token confidence, raw and normalised over the labels, with how many labels were seen."""
    rows, found = [], []
    for one, model in each_model(answers):
        for name in evaluators(one, _TOKEN, normalised=True):
            frame = by_evaluator(one, name, model)
            for variant, shown in prompts(one, frame):
                own = rows_with(frame, "variant", variant)
                shift = one.points("ece_shift", own, by=[])[0]
                normal = one.take("ece", own, by=[])[0]
                both = (shift.details.get(f"ece_{kind}") for kind in ("raw", "normalised"))
                found.append((f"{one.name}, {model}, {shown}", shift))
                row = (one.name, model, shown, shift.n, *both, (normal.low, normal.high), shift.value)
                rows.append((*row, *_coverage(own)))
    return TableRows(rows, found)


def _coverage(frame: pl.DataFrame) -> Sequence[float | None]:
    """The mean share of labels seen, the share of answers with all of them, and their mean probability."""
    seen, mass = (frame[f"{of}_coverage"].drop_nulls().to_numpy() for of in ("label", "mass"))
    return average(seen), average(seen >= 1), average(mass) if seen.size else None


def average(values: Any) -> float | None:
    """The mean of the values that there are."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


_ENOUGH = 0.8
"""The parse rate that a cell needs."""

_KINDS = ("ece", "minus_accuracy", "ece_gap", "minus_token")


def stated(
    answers: StoredAnswers, model: str, name: str, variant: str, threshold: float, **options: Any
) -> dict[str, Estimate]:
    """The verbal calibration of one cell, beside its token confidence where there is one."""
    frame = rows_with(with_token(answers, model, name), "variant", variant)
    estimates = answers.take("verbal_calibration", frame, by=[], threshold=threshold, **options)
    return {e.measure.removeprefix("verbal_calibration_"): e for e in estimates}


def with_token(answers: StoredAnswers, model: str, name: str) -> pl.DataFrame:
    """A model's stated confidences, each beside its token confidence where there is one.

    As in the paper, an answer from which no label was read is wrong: it has one that is not the gold label.
    """
    frame = by_evaluator(answers, name, model)
    token = evaluators(answers, _TOKEN, normalised=True)
    if token:
        with suppress(QuaverError):
            frame = beside(answers.of(model, answers.every), (name, token[0]))
    first, second = answers.labels.codes[:2]
    gold = pl.col("gold").cast(pl.String)
    wrong = pl.when(gold.is_not_null()).then(
        pl.when(gold == first).then(pl.lit(second)).otherwise(pl.lit(first))
    )
    return frame.with_columns(pl.col("label").cast(pl.String).fill_null(wrong))


def each_stated(answers: StoredAnswers, model: str) -> list[tuple[str, str, str]]:
    """The cells of stated confidence: evaluator, prompt, and what the tables call it."""
    return [
        (name, variant, shown)
        for name in evaluators(answers, _STATED)
        for variant, shown in prompts(answers, by_evaluator(answers, name, model))
    ]


def verbal(answers: Answers) -> TableRows:
    """Stated confidence by prompt and phrasing: parse rate, ECE, less accuracy, less token confidence."""
    rows = []
    for one, model in each_model(answers):
        for name, variant, shown in each_stated(one, model):
            made = stated(one, model, name, variant, _ENOUGH)
            n = made["ece"].details.get("answers", NOTHING)
            each = (made.get(kind, UNKNOWN) for kind in _KINDS)
            rows.append((one.name, model, shown, name, made["parse_rate"], n, *each))
    return TableRows(rows)


def kept_prompts(answers: StoredAnswers, model: str, name: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A model's stated confidences: under the paper's four prompts, and under those with enough of them."""
    frame = of_paper(with_token(answers, model, name))
    parsed = pl.col("confidence").is_not_null().mean().over("variant")
    return frame, frame.filter(parsed >= _ENOUGH)


def pooled(answers: Answers) -> TableRows:
    """Accuracy and both calibration errors of each model over its prompts together (the paper's table 2)."""
    rows = []
    for one, model in each_model(answers):
        for name in evaluators(one, _STATED):
            frame, own = kept_prompts(one, model, name)
            right = one.points("accuracy", frame, by=[])[0].value
            estimates = one.take("verbal_calibration", own, by=[], threshold=0.0)
            by_kind = {e.measure.removeprefix("verbal_calibration_"): e for e in estimates}
            gap, error = (by_kind.get(kind, UNKNOWN) for kind in ("ece_gap", "ece"))
            counts = (some["variant"].n_unique() for some in (own, frame))
            n, token = error.details.get("answers", NOTHING), gap.details.get("ece_token")
            rows.append((one.name, model, name, *counts, n, right, token, error.value, gap))
    return TableRows(rows)


Made = Sequence[Mapping[str, Estimate]]
"""The numbers of some cells, by their kind."""


def _four(answers: StoredAnswers, model: str, threshold: float) -> Iterator[tuple[str, Made]]:
    """The calibration under each of the paper's four prompts, by phrasing."""
    cells = [cell for cell in each_stated(answers, model) if one_of_four(answers, cell[1])]
    for name in dict.fromkeys(cell[0] for cell in cells):
        own = [variant for of, variant, _ in cells if of == name]
        yield name, [stated(answers, model, name, variant, threshold, resamples=0) for variant in own]


def _values(cells: Made, kind: str) -> list[float | None]:
    """One kind of number of each cell."""
    return [cell.get(kind, UNKNOWN).value for cell in cells]


def thresholds(answers: Answers) -> TableRows:
    """What other parse-rate thresholds would keep, and find."""
    rows = []
    for one, model in each_model(answers):
        for name, each in _four(one, model, 0.0):
            for threshold in _THRESHOLDS:
                made = [e for e in each if (e["parse_rate"].value or 0) >= threshold]
                known = [value for value in _values(made, "minus_accuracy") if value is not None]
                means = (average(_values(made, "ece")), average(known), average([v > 0 for v in known]))
                rows.append((one.name, model, name, f"{threshold:.2f}", len(known), len(each), *means))
    return TableRows(rows)


def phrasings(answers: Answers) -> TableRows:
    """Both phrasings of the question how sure the model is, cell by cell."""
    rows = []
    for one, model in each_model(answers):
        names = evaluators(one, _STATED)
        if len(names) < 2:
            continue
        for variant, shown in prompts(one, by_evaluator(one, names[0], model)):
            both = [stated(one, model, name, variant, 0.0, resamples=0) for name in names[:2]]
            row: list[Value] = [one.name, model, shown, ", ".join(names[:2])]
            for kind in ("parse_rate", "ece", "minus_accuracy"):
                first, second = _values(both, kind)
                row += [first, second, None if first is None or second is None else second - first]
            signs = {float(np.sign(value)) for value in (first, second) if value is not None}
            same = NOTHING if row[-1] is None else "yes" if len(signs) == 1 and 0.0 not in signs else "no"
            rows.append((*row, same))
    return TableRows(rows)


def _token_cells(answers: Answers) -> Iterator[tuple[StoredAnswers, str, pl.DataFrame]]:
    """Each data set, model and prompt with token confidence: data set, prompt, annotations."""
    for one, model in each_model(answers):
        for name in evaluators(one, _TOKEN, normalised=True)[:1]:
            frame = by_evaluator(one, name, model)
            for variant, shown in prompts(one, frame):
                yield one, shown, rows_with(frame, "variant", variant)


def ece_shifts(answers: Answers) -> TableRows:
    """How far normalising moves ECE, by prompt, over data sets and models: the paper's table 4."""
    shifts: dict[str, list[float]] = {}
    for one, shown, frame in _token_cells(answers):
        value = one.points("ece_shift", frame, by=[])[0].value
        if value is not None:
            shifts.setdefault(shown, []).append(abs(value))
    if shifts:
        shifts["all cells"] = [value for some in shifts.values() for value in some]
    rows = []
    for shown, some in shifts.items():
        values = np.array(some)
        drawn = values[np.random.default_rng(42).integers(0, values.size, (2000, values.size))].mean(1)
        low, high = (float(end) for end in np.percentile(drawn, [2.5, 97.5]))
        beyond = (average(values > bar) for bar in (0.05, 0.2))
        middle, most = float(np.median(values)), float(values.max())
        rows.append((shown, values.size, average(values), (low, high), middle, most, *beyond))
    return TableRows(rows)


_FULL = 0.999


def coverage(answers: Answers) -> TableRows:
    """In how many cells and answers all labels were among the likeliest tokens: the paper's table 5."""
    seen: dict[str, list[Any]] = {}
    for one, _, frame in _token_cells(answers):
        found = frame["label_coverage"].drop_nulls().to_numpy() >= 1
        if found.size:
            seen.setdefault(one.name, []).append(found)
    rows = []
    for name, some in seen.items():
        full = sum(cell.mean() >= _FULL for cell in some)
        rows.append((name, f"{full} / {len(some)}", average(np.concatenate(some))))
    return TableRows(rows)


def phrasing_means(answers: Answers) -> TableRows:
    """Signed overconfidence of each model by phrasing, over the cells kept: the paper's table 9."""
    rows = []
    for one, model in each_model(answers):
        for name, made in _four(one, model, _ENOUGH):
            kept = [each for each in made if each.get("ece", UNKNOWN).value is not None]
            means = (average(_values(kept, kind)) for kind in ("minus_accuracy", "minus_token", "ece_gap"))
            rows.append((one.name, model, name, len(kept), *means))
    return TableRows(rows)


def one_of_four(answers: StoredAnswers, variant: str) -> bool:
    """Whether a prompt is one of the paper's four; each is where the study has none of them."""
    own = {v.id: v.factors.get(_FACTOR) for v in answers.variants}
    return own.get(variant) in SPREAD or not any(name in SPREAD for name in own.values())
