"""Reliability (Karmakar & Chatterjee 2026): token and stated confidence, spread, size, repairs, readiness."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, groupby
from operator import itemgetter
from typing import Any

import numpy as np
import polars as pl

from quaver.core.annotations import rows_with
from quaver.core.records import Estimate
from quaver.core.rows import by_level, grouped
from quaver.estimation.coded_columns import Unmeasurable
from quaver.estimation.measure_input import beside
from quaver.measures.calibration.calibration_error import reliability_curve
from quaver.papers.paper_answers import (
    NOTHING,
    UNKNOWN,
    Answers,
    StoredAnswers,
    average,
    each_model,
    per_model,
)
from quaver.papers.published_table import Value

_TOKEN, _STATED = "logprob", "verbal_confidence"
_THRESHOLDS = (0.70, 0.75, 0.80, 0.85, 0.90)
"""Parse rates that the table `thresholds` sets beside each other."""
_ENOUGH = 0.8
"""The parse rate that a cell needs."""
SPREAD = ("paraphrase", "moved", "examples", "bare")
"""The four perturbations that the paper takes together: its five but the one that asks for reasoning."""
_BASELINE = "paraphrase"
_FACTOR = "perturbation"
Rows = Iterator[Sequence[Value]]


def evaluators(answers: StoredAnswers, use: str) -> list[str]:
    """The study's evaluators of a rule, by name; of token confidence, only the normalised."""
    of_rule = [evaluator for evaluator in answers.study.spec.evaluators if evaluator.use == use]
    return [evaluator.title for evaluator in of_rule if evaluator.options.get("normalised", True)]


def by_evaluator(answers: StoredAnswers, name: str, model: str) -> pl.DataFrame:
    """One model's annotations by an evaluator."""
    return answers.of(model, rows_with(answers.every, "evaluator", name))


def prompts(answers: StoredAnswers, frame: pl.DataFrame) -> list[tuple[str, str]]:
    """The prompts that have answers: their ids, and what the tables call them."""
    answered = set(frame["variant"].cast(pl.String).unique())
    variants = [variant for variant in answers.variants if variant.id in answered]
    return [(variant.id, " | ".join(variant.factors.values()) or variant.id) for variant in variants]


def of_paper(frame: pl.DataFrame) -> pl.DataFrame:
    """The annotations of the paper's four prompts; all where there are none."""
    if _FACTOR not in frame.columns:
        return frame
    four = pl.col(_FACTOR).cast(pl.String).is_in(SPREAD)
    if not frame.select(four.any()).item():  # a factor or a group of this name that is another
        return frame
    return frame.filter(four)


def _token_cells(answers: Answers) -> Iterator[tuple[StoredAnswers, str, str, pl.DataFrame]]:
    """Each data set, model and prompt with token confidence: data set, model, prompt, annotations."""
    for study, model in each_model(answers):
        for name in evaluators(study, _TOKEN)[:1]:
            frame = by_evaluator(study, name, model)
            for variant, shown in prompts(study, frame):
                yield study, model, shown, rows_with(frame, "variant", variant)


def token_ece(answers: Answers) -> Rows:
    """ECE of token confidence, raw and normalised over the labels, with how many labels were seen."""
    for study, model, shown, frame in _token_cells(answers):
        shift = study.points("ece_shift", frame, by=[])[0]
        normalised = study.take("ece", frame, by=[])[0]
        seen, mass = (frame[f"{of}_coverage"].drop_nulls() for of in ("label", "mass"))
        shares = (average(seen), average(seen >= 1), average(mass) if seen.len() else None)
        yield study.name, model, shown, shift.n, shift.details.get("ece_raw"), normalised, shift, *shares


def ece_shifts(answers: Answers) -> Rows:
    """How far normalising moves ECE, by prompt, over data sets and models: the paper's table 4."""
    cells: list[tuple[str, float]] = []
    for study, _, shown, frame in _token_cells(answers):
        value = study.points("ece_shift", frame, by=[])[0].value
        if value is not None:
            cells.append((shown, abs(value)))
    parts = grouped(cells, itemgetter(0))
    if cells:
        parts["all cells"] = [*chain.from_iterable(parts.values())]
    for shown, some in parts.items():
        values = np.array([shift for _, shift in some])
        drawn = values[np.random.default_rng(42).integers(0, values.size, (2000, values.size))].mean(1)
        low, high = np.percentile(drawn, [2.5, 97.5]).tolist()
        beyond = (average(values > bar) for bar in (0.05, 0.2))
        middle, most = float(np.median(values)), float(values.max())
        yield shown, values.size, average(values), (low, high), middle, most, *beyond


def coverage(answers: Answers) -> Rows:
    """In how many cells and answers all labels were among the likeliest tokens: the paper's table 5."""
    for name, cells in groupby(_token_cells(answers), lambda cell: cell[0].name):
        covered = [frame["label_coverage"].drop_nulls() >= 1 for *_, frame in cells]
        covered = [cell for cell in covered if cell.len()]
        if covered:
            full = sum(cell.sum() >= 0.999 * cell.len() for cell in covered)
            yield name, f"{full} / {len(covered)}", average(pl.concat(covered))


def with_token(answers: StoredAnswers, model: str, name: str) -> pl.DataFrame:
    """A model's stated confidences, each beside its token confidence where there is one.

    As in the paper, an answer from which no label was read is wrong: it has one that is not the gold label.
    """
    frame = by_evaluator(answers, name, model)
    token = evaluators(answers, _TOKEN)
    if token:
        with suppress(Unmeasurable):
            frame = beside(answers.of(model, answers.every), (name, token[0]))
    first, second = answers.labels.codes[:2]
    gold = pl.col("gold").cast(pl.String)
    another = pl.when(gold == first).then(pl.lit(second)).otherwise(pl.lit(first))
    wrong = pl.when(gold.is_not_null()).then(another)
    return frame.with_columns(pl.col("label").cast(pl.String).fill_null(wrong))


def _stated(
    answers: StoredAnswers, model: str, threshold: float, *, paper: bool = False, **options: Any
) -> Iterator[tuple[str, str, dict[str, Estimate]]]:
    """The verbal calibration of each prompt, or of the paper's four: phrasing, prompt, and numbers."""
    for name in evaluators(answers, _STATED):
        frame = with_token(answers, model, name)
        for variant, shown in prompts(answers, of_paper(frame) if paper else frame):
            own = rows_with(frame, "variant", variant)
            yield name, shown, _calibration(answers, own, threshold, **options)


def _calibration(
    answers: StoredAnswers, frame: pl.DataFrame, threshold: float, **options: Any
) -> dict[str, Estimate]:
    """Parse rate, ECE, and what is less accuracy and less token confidence, by kind."""
    estimates = answers.take("verbal_calibration", frame, by=[], threshold=threshold, **options)
    return {e.measure.removeprefix("verbal_calibration_"): e for e in estimates}


@per_model
def verbal(study: StoredAnswers, model: str) -> Rows:
    """Stated confidence by prompt and phrasing: parse rate, ECE, less accuracy, less token confidence."""
    for name, shown, made in _stated(study, model, _ENOUGH):
        n = made["ece"].details.get("answers", NOTHING)
        each = (made.get(kind, UNKNOWN) for kind in ("ece", "minus_accuracy", "ece_gap", "minus_token"))
        yield shown, name, made["parse_rate"], n, *each


def kept_prompts(answers: StoredAnswers, model: str, name: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A model's stated confidences: under the paper's four prompts, and under those with enough of them."""
    frame = of_paper(with_token(answers, model, name))
    parsed = pl.col("confidence").is_not_null().mean().over("variant")
    return frame, frame.filter(parsed >= _ENOUGH)


@per_model
def pooled(study: StoredAnswers, model: str) -> Rows:
    """Accuracy and both calibration errors of each model over its prompts together (the paper's table 2)."""
    for name in evaluators(study, _STATED):
        frame, own = kept_prompts(study, model, name)
        made = _calibration(study, own, 0.0)
        gap, error = made.get("ece_gap", UNKNOWN), made.get("ece", UNKNOWN)
        counts = (some["variant"].n_unique() for some in (own, frame))
        right = study.points("accuracy", frame, by=[])[0]
        n, token = error.details.get("answers", NOTHING), gap.details.get("ece_token")
        yield name, *counts, n, right, token, error, gap


def _values_of_stated(answers: StoredAnswers, model: str, threshold: float, *, paper: bool) -> pl.DataFrame:
    """The numbers of `_stated` without intervals, a row a cell."""
    kinds = ("parse_rate", "ece", "minus_accuracy", "minus_token", "ece_gap")
    rows: list[dict[str, Any]] = []
    for name, shown, made in _stated(answers, model, threshold, paper=paper, resamples=0):
        values = {kind: estimate.value for kind, estimate in made.items()}
        rows.append({"phrasing": name, "prompt": shown, **values})
    schema = {"phrasing": pl.String, "prompt": pl.String} | dict.fromkeys(kinds, pl.Float64)
    return pl.DataFrame(rows, schema=schema)


@per_model
def thresholds(study: StoredAnswers, model: str) -> Rows:
    """What other parse-rate thresholds would keep, and find."""
    cells = _values_of_stated(study, model, 0.0, paper=True)
    for (name,), own in cells.group_by("phrasing", maintain_order=True):
        for threshold in _THRESHOLDS:
            kept = own.filter(pl.col("parse_rate").fill_null(0.0) >= threshold)
            over = kept["minus_accuracy"]
            counts = (over.count(), own.height)
            means = (average(kept["ece"]), average(over), average(over > 0))
            yield name, f"{threshold:.2f}", *counts, *means


@per_model
def phrasings(study: StoredAnswers, model: str) -> Rows:
    """Both phrasings of the question how sure the model is, cell by cell."""
    names = evaluators(study, _STATED)[:2]
    if len(names) < 2:
        return
    cells = _values_of_stated(study, model, 0.0, paper=False)
    first, second = (cells.filter(phrasing=name) for name in names)
    both = first.join(second, on="prompt", how="left", suffix=" second", maintain_order="left")
    numbers: list[pl.Expr] = []
    for kind in ("parse_rate", "ece", "minus_accuracy"):
        before, after = pl.col(kind), pl.col(f"{kind} second")
        numbers += [before, after, (after - before).alias(f"{kind} less")]
    words = {True: "yes", False: "no", None: NOTHING}
    same_side = (before * after > 0).alias("same side")
    for prompt, same, *values in both.select("prompt", same_side, *numbers).iter_rows():
        yield prompt, ", ".join(names), words[same], *values


@per_model
def phrasing_means(study: StoredAnswers, model: str) -> Rows:
    """Signed overconfidence of each model by phrasing, over the cells kept: the paper's table 9."""
    cells = _values_of_stated(study, model, _ENOUGH, paper=True)
    for (name,), own in cells.group_by("phrasing", maintain_order=True):
        kept = own.drop_nulls("ece")
        means = (average(kept[kind]) for kind in ("minus_accuracy", "minus_token", "ece_gap"))
        yield name, kept.height, *means


def sizes(answers: StoredAnswers) -> Mapping[str, float]:
    """The models' sizes, as the study file gives them to `spread`."""
    asked = (spec.options.get("sizes") for spec in answers.study.spec.measures if spec.use == "spread")
    return {str(name): float(size) for name, size in (next(filter(None, asked), None) or {}).items()}


@per_model
def spreads(study: StoredAnswers, model: str) -> Rows:
    """Accuracy under each prompt, its mean, and the spread without and with the reasoning prompt."""
    mine = study.of(model)
    each = by_level(study.points("accuracy", mine, by=["variant"]), "variant")
    named = {name: each.get(variant, UNKNOWN).value for variant, name in prompts(study, study.frame)}
    paper = study.points("spread", of_paper(mine), by=[])[0]
    whole = study.take("spread", mine, by=[])[0]
    mean = average(estimate.value for estimate in each.values())
    yield sizes(study).get(model), named, mean, paper, whole, *map(whole.details.get, ("floor", "p"))


def size_and_spread(answers: Answers) -> Rows:
    """Spearman's correlation of the models' spreads with their sizes, by data set."""
    for answer in answers:
        for which, frame in (("paper", of_paper(answer.frame)), ("all prompts", answer.frame)):
            for estimate in answer.take("spread", frame, by=["model"], sizes=sizes(answer) or None):
                if estimate.measure == "spread_size_correlation":
                    both = map(estimate.details.get, ("p", "p_t"))
                    yield answer.name, which, estimate.n, estimate, *both


def readers(answers: StoredAnswers) -> list[str]:
    """The evaluators that read a label from the answer, or from a repair of it; the suspect rule first."""
    rules = sorted(answers.study.spec.evaluators, key=lambda evaluator: evaluator.use != "first_character")
    return [evaluator.title for evaluator in rules if evaluator.use not in (_TOKEN, _STATED)]


@per_model
def repairs(study: StoredAnswers, model: str) -> Rows:
    """Accuracy under each rule of reading, what a repair recovers, and each prompt's paired drop."""
    suspect, *others = readers(study)
    frames = {name: by_evaluator(study, name, model) for name in (suspect, *others)}
    base = frames[suspect]
    against = next((v.id for v in study.variants if v.factors.get(_FACTOR) == _BASELINE), None)
    differences = study.take("differences", base, by=[], between="variant", reference=against)
    drops = by_level(differences, "variant")
    each = by_level(study.points("accuracy", of_paper(base), by=["variant"]), "variant")
    four = average(estimate.value for estimate in each.values())
    for variant, shown in prompts(study, base):
        right, closed = dict[str, Estimate](), dict[str, float | None]()
        for name, frame in frames.items():
            right[name] = study.points("accuracy", rows_with(frame, "variant", variant), by=[])[0]
        rest = average(estimate.value for other, estimate in each.items() if other != variant)
        first = right[suspect].value
        failed = (four or 0.0) - (first or 0.0) >= 0.01  # else there is nothing to recover
        for name in others:
            closed[name] = _recovered(first, right[name].value, rest) if failed else None
        yield shown, four, right, drops.get(variant, UNKNOWN), closed


def _recovered(first: float | None, repaired: float | None, others: float | None) -> float | None:
    """The share of a prompt's gap to the other prompts that another rule of reading closes."""
    if first is None or repaired is None or others is None or others - first <= 1e-9:
        return None
    return (repaired - first) / (others - first)


def reliability(frame: pl.DataFrame) -> Sequence[Mapping[str, float]]:
    """The reliability curve of some annotations with a confidence and a gold label."""
    kept = frame.drop_nulls(["confidence", "gold"])
    if kept.is_empty():
        return ()
    right = kept["label"].cast(pl.String).eq_missing(kept["gold"].cast(pl.String)).cast(pl.Float64)
    return reliability_curve(kept["confidence"].to_numpy(), right.to_numpy())
