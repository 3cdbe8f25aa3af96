"""Prompt stability by data set (Barrie, Palaiologou & Törnberg 2024): scores, views, models, costs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from quaver.core.annotations import rows_with
from quaver.core.records import Estimate
from quaver.core.rows import Estimates, by_level, defined
from quaver.core.seeds import derive
from quaver.estimation.coded_columns import encode
from quaver.estimation.estimands import in_every_group
from quaver.estimation.jackknife import Resampling
from quaver.estimation.paired_differences import paired_differences
from quaver.measures.stability.prompt_stability import CONDITION, WITHIN_REPEAT
from quaver.measures.stability.stability_curves import SHARES
from quaver.papers.paper_answers import NOTHING, UNKNOWN, Answers, StoredAnswers, each_model, per_model
from quaver.papers.published_table import Value, number
from quaver.promptstability.stability_scores import (
    COLUMNS,
    Score,
    summaries_of_repeats,
    summary_of_temperatures,
)
from quaver.report.tables.study_tables import paid_model
from quaver.study.sources.prices import COMPARED, known_price

BAR, NEAR, NARROW = 0.8, 0.01, 0.02
"""From here on the paper calls a prompt stable; how near to its last value it settles; a narrow interval."""

_UNDEFINED = math.nan
Rows = Iterator[Sequence[Value]]


def _scores(estimates: Mapping[Any, Estimate]) -> dict[Any, Score]:
    """The defined scores as the promptstability package has them."""
    mean, lower, upper = COLUMNS["ka_mean"], COLUMNS["ka_lower"], COLUMNS["ka_upper"]
    scores = {}
    for place, estimate in estimates.items():
        if estimate.value is not None:
            low, high = estimate.interval or (_UNDEFINED, _UNDEFINED)
            scores[place] = {mean: estimate.value, lower: low, upper: high}
    return scores


@per_model
def intra_stability(study: StoredAnswers, model: str) -> Rows:
    """The same prompt again: the score, when it settles, neighbouring repeats, and Quaver's score."""
    steps = by_repeats(_curve(study.written, model, resample="rows"))
    pairs = _curve(study.written, model, "intra_pss_adjacent", resample="rows")
    first, near = _scores(steps), _scores(dict(enumerate(pairs)))
    summary = summaries_of_repeats({"cumulative_alpha": first, "adjacent_alpha": near}, BAR, NEAR, NARROW)
    score, low, high, width, settled, precise, deviation = summary["cumulative_alpha"].values()
    neighbours = [*summary["adjacent_alpha"].values()]
    if len(first) < 2:
        width = settled = precise = deviation = _UNDEFINED
    if len(near) < 2:
        neighbours[1:] = [_UNDEFINED] * 6
    late = min(first, default=2) - 2  # alpha of the first repeats may be undefined
    places = (NOTHING if k != k else f"{k + late:g}" for k in (settled, precise))
    head = (study.items, str(max(steps)))
    quaver = study.one("intra_pss", model, study.again)
    yield *head, score, (low, high), width, *places, deviation, *neighbours, quaver


def _balanced(
    answers: StoredAnswers, frame: pl.DataFrame, across: str = "repeat", within: Sequence[str] = ()
) -> pl.DataFrame:
    """The annotations with a label, as many of each level as that with the fewest, drawn part by part."""
    kept = frame.filter(pl.col("label").is_in(list(answers.labels.codes)))
    if kept.is_empty():
        return kept
    parts = [name for name in within if name in kept.columns and name != across]
    named = (across, *parts, "item", "label")
    others = [name for name in kept.columns if name not in named and not kept[name].dtype.is_nested()]
    # The draw must not depend on the order of the rows.
    keys = [encode(kept[name], name).codes for name in (*others[::-1], "item", across, *parts[::-1])]
    draw = np.empty(kept.height)
    seed = derive(answers.study.spec.seed, "balance")
    draw[np.lexsort(keys)] = np.random.default_rng(seed).random(kept.height)
    sized = kept.with_columns(_draw=pl.Series(draw), _size=pl.len().over(*parts, across))
    least = pl.col("_size").min().over(parts) if parts else pl.col("_size").min()
    return sized.filter(pl.col("_draw").rank().over(*parts, across) <= least).drop("_draw", "_size")


def _curve(
    answers: StoredAnswers, model: str, measure: str = "intra_pss_cumulative", **options: Any
) -> Estimates:
    """A measure of one prompt's annotations."""
    return answers.take(measure, answers.of(model, answers.again), by=[], **options)


def by_repeats(steps: Estimates) -> Mapping[int, Estimate]:
    """The scores of the first repeats, by how many they are."""
    return {int(step.cell.get("repeats", 1)): step for step in steps}


def distance_column(answers: StoredAnswers) -> str | None:
    """What orders paraphrases: the temperature at which they were made, or the share of places changed."""
    for name in ("paraphrase_temperature", "strength"):
        column = answers.reworded.get_column(name, default=pl.Series([None]))
        if column.dtype.is_numeric() and column.drop_nulls().len():  # a group may have the name too
            return name
    return None


def _levels(
    answers: StoredAnswers, model: str, *, even: bool = False, **options: Any
) -> dict[float, Estimate]:
    """The inter-prompt score at each temperature, in order; of as many annotations at each, if even."""
    column = distance_column(answers)
    frame = answers.of(model, answers.reworded)
    if even and column is not None:
        frame = _balanced(answers, in_every_group(frame, [column]), column, WITHIN_REPEAT)
    if column is None or frame.is_empty():
        return {}
    estimates = answers.take("inter_pss", frame, by=[column], **options)
    return dict(sorted((float(e.cell[column]), e) for e in estimates if e.cell.get(column)))


@per_model
def inter_stability(study: StoredAnswers, model: str) -> Rows:
    """Other words: the mean over temperatures, the lowest score and where it is, and Quaver's score."""
    written = study.written
    drawn = _levels(written, model, resample="rows", estimand="fixed")
    scores = _scores(drawn)
    summary = summary_of_temperatures(scores, BAR)
    mean, deviation, least, place, *rest = summary.values()
    if len(scores) < 2:
        deviation = _UNDEFINED
    lowest = drawn.get(place, UNKNOWN)
    head = (study.items, len(scores))
    numbers = (mean, deviation, least, f"{place:g}" if scores else None, (lowest.low, lowest.high), *rest)
    whole = written.points("inter_pss", written.of(model, written.reworded), by=[])[0]
    yield *head, *numbers, whole, study.one("inter_pss", model, study.reworded)


def _series(
    drawn: Mapping[Any, Estimate],
    others: Sequence[Mapping[Any, Estimate]],
    repeats: Mapping[Any, int],
    distinct: Mapping[Any, int],
) -> Rows:
    """A row a place: the paper's three series, Quaver's score, and how many different answers there are.

    The first series has the interval of the paper's appendix A: the score ± 1.96 · σ/√k, σ that of the scores
    of resampled labels, of k repeats.
    """
    for place, step in drawn.items():
        spread = step.details.get("sd_of_resamples")
        ends: Value = None
        if step.value is not None and spread is not None:
            half = 1.96 * float(spread) / repeats[place] ** 0.5
            ends = step.value - half, step.value + half
        series = (each.get(place, UNKNOWN) for each in others)
        yield f"{place:g}", step, ends, *series, distinct.get(place)


@per_model
def by_repeat(study: StoredAnswers, model: str) -> Rows:
    """The score of the first k repeats of one prompt, for every k: the paper's figures 1, B.1 and B.2."""
    written, exact = study.written, study.exact
    again = written.of(model, written.again)
    counts = _distinct(again, "repeat")
    balanced = _balanced(exact, exact.of(model, exact.again))
    curves = (
        _curve(exact, model, resamples=0),
        exact.points("intra_pss_cumulative", balanced, by=[]),
        _curve(study, model),
    )
    drawn = {1: UNKNOWN} | dict(by_repeats(_curve(written, model, resample="rows")))
    distinct = {k: counts[repeat] for k, repeat in enumerate(sorted(counts), start=1)}
    repeats = {k: k for k in drawn}
    yield from _series(drawn, [*map(by_repeats, curves)], repeats, distinct)


def _distinct(frame: pl.DataFrame, column: str) -> dict[Any, int]:
    """How many different answers there are at each value of a column."""
    return dict(frame.group_by(column).agg(pl.col("label").n_unique()).rows())


@per_model
def by_temperature(study: StoredAnswers, model: str) -> Rows:
    """The inter-prompt score at each temperature: the paper's figures 2, B.3 and B.4."""
    column = distance_column(study)
    if column is None:
        return
    written, exact = study.written, study.exact
    reworded = written.of(model, written.reworded)
    even = _levels(exact, model, even=True, resamples=0)
    others = [_levels(exact, model, resamples=0), even, _levels(study, model)]
    drawn = _levels(written, model, resample="rows", estimand="fixed")
    repeats = dict.fromkeys(drawn, reworded["repeat"].n_unique())
    yield from _series(drawn, others, repeats, _distinct(reworded, column))


@per_model
def views(study: StoredAnswers, model: str) -> Rows:
    """Original, filtered, and filtered-and-balanced annotations beside Quaver's reading, intra and inter."""
    parts = (("intra_pss", "again", CONDITION), ("inter_pss", "reworded", WITHIN_REPEAT))
    scores: list[Value] = []
    for measure, part, within in parts:
        even = _balanced(study.exact, study.of(model, getattr(study.exact, part)), within=within)
        balanced = study.exact.points(measure, even, by=[])[0]
        original, filtered, quaver = (
            some.one(measure, model, getattr(some, part), resamples=0)
            for some in (study.written, study.exact, study)
        )
        scores += [original, filtered, balanced, quaver]
    kept = study.of(model, study.exact.frame).height / study.of(model).height
    yield *scores, kept, study.one("compliance", model, resamples=0)


def subsamples(answers: Answers) -> Rows:
    """The mean score over subsamples of the items: intra, inter, and inter at each temperature."""
    for data, model in each_model(answers):
        study = replace(data.exact, intervals=True)  # the scores themselves are those of draws
        parts = [("intra", "", study.again), ("inter", "", study.reworded)]
        if ordered := distance_column(study):
            parts.append(("inter", ordered, study.reworded))
        for kind, column, some in parts:
            by = [column] if column else []
            estimates = study.take(f"{kind}_pss_subsamples", study.of(model, some), by=by)
            for estimate in sorted(estimates, key=lambda estimate: float(estimate.cell.get(column) or 0)):
                place = f"{float(estimate.cell[column]):g}" if estimate.cell.get(column) else ""
                if place or not column:
                    head = (estimate.cell.get("share", NOTHING), study.name, model, kind, place or "all")
                    yield *head, estimate, (estimate.low, estimate.high)


def between_models(answers: Answers) -> Rows:
    """Each pair of models: α between them, each one's stability, and the difference."""
    for answer in answers:
        for pair in combinations(answer.models, 2):
            both = rows_with(answer.again, "model", pair)
            between = answer.take("inter_model", both, by=[], missing=answer.unlabelled)[0]
            first, second = (
                answer.one("intra_pss", model, answer.again, missing=answer.unlabelled, keep_draws=True)
                for model in pair
            )
            differences = paired_differences([second], [first], Resampling(seed=answer.study.spec.seed))
            less = next(iter(differences), UNKNOWN)
            yield answer.name, *pair, between, first, second, less, less.details.get("p")


def poor_prompts(answers: Answers) -> Sequence[Sequence[Value]]:
    """The paraphrases that agree least with the original prompt, with their text."""
    rows: list[Any] = []
    for study, model in each_model(answers):
        prompts = {variant.id: variant for variant in study.variants}
        mine = study.of(model, study.reworded)
        agreements = study.take("original_agreement", mine, by=[], missing=study.unlabelled)
        for name, estimate in by_level(defined(agreements), "variant").items():
            if name in prompts and estimate.number < BAR:
                variant, known = prompts[name], prompts[name].covariates
                place = known.get("paraphrase_temperature", known.get("strength", NOTHING))
                shown = place if place == NOTHING else f"{float(place):g}"
                cut = "yes" if known.get("cut_off") else ""
                rows.append((study.name, model, shown, variant.instruction, cut, estimate))
    return sorted(rows, key=lambda row: row[-1].value)


def _money(answers: StoredAnswers, cost: Mapping[str, Any]) -> tuple[float | None, ...]:
    """What the tokens read cost, those written, and both."""
    price, money = answers.study.source.prices.get(cost["model"]), cost["money"]
    if money is None or price is None:
        return (None, None, money)
    read = price.of(cost["prompt_tokens"], cost["cached_tokens"], 0)
    whole = price.of(cost["prompt_tokens"], cost["cached_tokens"], cost["completion_tokens"])
    share = read / whole if whole else 0.0  # a batch costs less of both alike
    return (money * share, money * (1 - share), money)


_COUNTS = ("calls", "prompt_tokens", "completion_tokens")


def _spent(answers: Answers) -> tuple[list[tuple[Any, ...]], tuple[float, ...]]:
    """Data set, model, calls, tokens and money of each, and the sums; NaN where a part is not known."""
    rows: list[tuple[Any, ...]] = []
    for answer in answers:
        for cost in answer.costs().to_dicts():
            numbers = (*map(cost.get, _COUNTS), *_money(answer, cost))
            known = (_UNDEFINED if number is None else number for number in numbers)
            rows.append((answer.name, paid_model(cost), *known))
    return rows, tuple(map(sum, [*zip(*rows, strict=True)][2:])) or (0.0,) * 6


def costs(answers: Answers) -> Rows:
    """Calls, tokens and money of each data set and model, and of all."""
    rows, total = _spent(answers)
    if len(rows) > 1:
        rows.append(("all", NOTHING, *total))
    for name, model, calls, read, written, *money in rows:
        yield name, model, calls, read, written, read / calls if calls else None, *money


def cost_shares(answers: Answers) -> Rows:
    """What a part of the items would have cost: the paper's table 5."""
    rows, total = _spent(answers)
    for name, model, calls, _, _, *money in rows:
        yield name, model, *money, *(share * calls for share in SHARES)
    yield "all, in US dollars", "", *total[3:], *(number(share * total[-1], "2") for share in SHARES)


def other_prices(answers: Answers) -> Rows:
    """What the same tokens would cost with other models: the paper's table C.1."""
    _, read, written, *_ = _spent(answers)[1]
    for name in COMPARED:
        price = known_price(name)
        if price is not None:
            each = (price.of(1_000_000, 0, 0), price.of(0, 0, 1_000_000))
            money = (each[0] * read / 1e6, each[1] * written / 1e6)
            yield name, *each, *money, sum(money)
