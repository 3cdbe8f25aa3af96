"""What single-prompt accuracy misses (Karmakar & Chatterjee 2026): spread, size, repairs, readiness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from quaver.core.annotations import rows_with
from quaver.measures.calibration.calibration_error import reliability_curve
from quaver.papers.confidence_tables import (
    average,
    baseline,
    by_evaluator,
    evaluators,
    of_paper,
    prompts,
)
from quaver.papers.published_table import (
    NOTHING,
    UNKNOWN,
    Answers,
    StoredAnswers,
    TableRows,
    each_model,
    number,
)


def sizes(answers: StoredAnswers) -> Mapping[str, float]:
    """The models' sizes, as the study file gives them to `spread`."""
    for spec in answers.study.spec.measures:
        if spec.use == "spread" and spec.options.get("sizes"):
            return {str(name): float(size) for name, size in spec.options["sizes"].items()}
    return {}


def spreads(answers: Answers) -> TableRows:
    """Accuracy under each prompt, its mean, and the spread without and with the reasoning prompt."""
    shown = list(dict.fromkeys(name for one in answers for _, name in prompts(one, one.frame)))
    rows = []
    for one, model in each_model(answers):
        mine = one.of(model)
        each = {e.cell.get("variant"): e.value for e in one.points("accuracy", mine, by=["variant"])}
        named = {name: each.get(variant) for variant, name in prompts(one, mine)}
        paper = one.points("spread", of_paper(mine), by=[])[0].value
        whole = one.take("spread", mine, by=[])[0]
        noise = (whole.details.get(name) for name in ("floor", "p"))
        accuracies = (*(named.get(name) for name in shown), average(each.values()))
        rows.append((one.name, model, sizes(one).get(model), *accuracies, paper, whole, *noise))
    return TableRows(rows, columns=shown)


def size_and_spread(answers: Answers) -> TableRows:
    """Spearman's correlation of the models' spreads with their sizes, by data set."""
    rows = []
    for one in answers:
        for which, frame in (("paper", of_paper(one.frame)), ("all prompts", one.frame)):
            for estimate in one.take("spread", frame, by=["model"], sizes=sizes(one) or None):
                if estimate.measure == "spread_size_correlation":
                    both = (estimate.details.get(name) for name in ("p", "p_t"))
                    rows.append((one.name, which, estimate.n, estimate, *both))
    return TableRows(rows)


def readers(answers: StoredAnswers) -> list[str]:
    """The evaluators that read a label from the answer, or from a repair of it."""
    apart = {*evaluators(answers, "logprob"), *evaluators(answers, "verbal_confidence")}
    return [evaluator.title for evaluator in answers.study.spec.evaluators if evaluator.title not in apart]


def repairs(answers: Answers) -> TableRows:
    """Accuracy under each rule of reading, what a repair recovers, and each prompt's paired drop."""
    suspects = [name for one in answers for name in evaluators(one, "first_character")[:1]]
    names = list(dict.fromkeys([*suspects, *(name for one in answers for name in readers(one))]))
    suspect = names[0] if names else ""
    rows = []
    for one, model in each_model(answers):
        first = (evaluators(one, "first_character") or readers(one))[0]
        frames = {name: by_evaluator(one, name, model) for name in readers(one)}
        base = frames[first]
        estimates = one.take("differences", base, by=[], between="variant", reference=baseline(one))
        drops = {e.cell.get("variant"): e for e in estimates}
        four = average(e.value for e in one.points("accuracy", of_paper(base), by=["variant"]))
        for variant, shown in prompts(one, base):
            right = {
                name: one.points("accuracy", rows_with(frame, "variant", variant), by=[])[0].value
                for name, frame in frames.items()
            }
            own = of_paper(one.of(model, one.every), variant)
            failed = (four or 0.0) - (right.get(first) or 0.0) >= _LEAST_GAP
            closed = (
                _recovered(one, own, (first, name), variant) if failed else None
                for name in names
                if name != first
            )
            accuracies = (right.get(name) for name in names)
            drop = drops.get(variant, UNKNOWN)
            rows.append(
                (one.name, model, shown, four, *accuracies, drop, *(number(share, "1%") for share in closed))
            )
    columns = [f"accuracy by {name}" for name in names] + ["paired drop", "95% interval"]
    columns += [f"recovered by {name}" for name in names if name != suspect]
    return TableRows(rows, columns=columns, subject=suspect)


_LEAST_GAP = 0.01
"""Where the suspect rule loses less than that, there is nothing to recover."""


def _recovered(
    answers: StoredAnswers, frame: pl.DataFrame, pair: tuple[str, str], variant: str
) -> float | None:
    """The share of a prompt's gap to the paper's four that the second rule of a pair closes."""
    both = rows_with(frame, "evaluator", pair)
    if both["evaluator"].n_unique() < 2:
        return None
    estimates = answers.points("recovered_share", both, by=[], first=pair[0], second=pair[1], variant=variant)
    return next((e.value for e in estimates if e.measure == "recovered_share"), None)


def readiness(answers: Answers) -> TableRows:
    """Each criterion with its threshold and verdict, without and with the reasoning prompt."""
    rows = []
    for one, model in each_model(answers):
        every = one.of(model, one.every)
        both = [one.take("readiness", frame, by=[], **_asked(one)) for frame in (of_paper(every), every)]
        for paper, whole in zip(*both, strict=True):
            criterion = whole.measure.removeprefix("readiness_")
            limit = whole.details.get("limit", "all criteria met" if criterion == "readiness" else "")
            first, second = (str(each.details.get("verdict", NOTHING)) for each in (paper, whole))
            rows.append((one.name, model, criterion, str(limit), paper, first, whole, second))
    return TableRows(rows)


def _asked(one: StoredAnswers) -> dict[str, object]:
    """The options of the study's own readiness."""
    for spec in one.study.spec.measures:
        if spec.use == "readiness":
            names = ("thresholds", "first", "second", "token", "stated")
            given = {name: spec.options[name] for name in names if name in spec.options}
            return {"first": readers(one)[0], **given}
    return {"first": readers(one)[0]}


def reliability(answers: StoredAnswers, frame: pl.DataFrame) -> Sequence[Mapping[str, float]]:
    """The reliability curve of some annotations with a confidence and a gold label."""
    kept = frame.filter(pl.col("confidence").is_not_null() & pl.col("gold").is_not_null())
    if kept.is_empty():
        return ()
    right = kept["label"].cast(pl.String).eq_missing(kept["gold"].cast(pl.String)).cast(pl.Float64)
    return reliability_curve(kept["confidence"].to_numpy(), right.to_numpy())
