"""Prompt stability by data set (Barrie, Palaiologou & Törnberg 2024): scores, views, models, costs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from quaver.core.annotations import rows_with
from quaver.core.records import Estimate, Variant
from quaver.core.rows import Estimates
from quaver.core.seeds import derive
from quaver.estimation.coded_columns import encode
from quaver.estimation.estimands import in_every_group
from quaver.estimation.jackknife import Resampling
from quaver.estimation.paired_differences import paired_differences
from quaver.measures.stability.prompt_stability import CONDITION, WITHIN_REPEAT
from quaver.measures.stability.stability_curves import SHARES
from quaver.papers.published_table import (
    NOTHING,
    UNKNOWN,
    Answers,
    StoredAnswers,
    TableRows,
    Value,
    each_model,
    number,
)
from quaver.promptstability.score_summaries import summaries_of_repeats, summary_of_temperatures
from quaver.promptstability.stability_scores import COLUMNS, Score
from quaver.report.tables.study_tables import Cost
from quaver.study.sources.prices import COMPARED, known_price

BAR, NEAR, NARROW = 0.8, 0.01, 0.02
"""From here on the paper calls a prompt stable; how near to its last value it settles; a narrow interval."""

_UNDEFINED = math.nan


def _score(estimate: Estimate) -> Score:
    """A defined score as the promptstability package has it."""
    ends = (estimate.value, estimate.low, estimate.high)
    names = (COLUMNS[f"ka_{end}"] for end in ("mean", "lower", "upper"))
    return {name: _UNDEFINED if end is None else end for name, end in zip(names, ends, strict=True)}


def intra_stability(answers: Answers) -> TableRows:
    """The same prompt again: the score, when it settles, neighbouring repeats, and Quaver's score."""
    rows: list[Sequence[Value]] = []
    for one, model in each_model(answers):
        steps = _curve(one.written, model, resample="rows")
        pairs = _curve(one.written, model, "intra_pss_adjacent", resample="rows")
        first = {k: _score(step) for k, step in by_repeats(steps).items() if step.value is not None}
        near = {k: _score(pair) for k, pair in enumerate(pairs) if pair.value is not None}
        summary = summaries_of_repeats({"cumulative_alpha": first, "adjacent_alpha": near}, BAR, NEAR, NARROW)
        whole, neighbours = ([*each.values()] for each in summary.values())
        if len(first) < 2:
            whole[3:] = [_UNDEFINED] * 4
        if len(near) < 2:
            neighbours[1:] = [_UNDEFINED] * 6
        late = min(first, default=2) - 2  # alpha of the first repeats may be undefined
        settled, narrow = (NOTHING if k != k else f"{k + late:g}" for k in whole[4:6])
        repeats = steps[-1].cell.get("repeats", "1")
        head = (one.name, model, one.items, repeats, whole[0], (whole[1], whole[2]), whole[3])
        quaver = one.one("intra_pss", model, one.again)
        rows.append((*head, settled, narrow, whole[6], *neighbours, quaver))
    return TableRows(rows)


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
    size = pl.len().over(*parts, across)
    sized = kept.with_columns(_draw=pl.Series(draw), _size=size)
    least = pl.col("_size").min().over(parts) if parts else pl.col("_size").min()
    return sized.filter(pl.col("_draw").rank().over(*parts, across) <= least).drop("_draw", "_size")


def _curve(
    answers: StoredAnswers, model: str, measure: str = "intra_pss_cumulative", **options: Any
) -> Estimates:
    """A measure of one prompt's annotations."""
    return answers.take(measure, answers.of(model, answers.again), by=[], **options)


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
        summary = summary_of_temperatures({at: _score(e) for at, e in each.items()}, BAR)
        mean, spread, least, at, *rest = summary.values()
        lowest = each.get(at, UNKNOWN)
        spread = spread if len(each) > 1 else _UNDEFINED
        numbers = (mean, spread, least, f"{at:g}" if each else None, (lowest.low, lowest.high), *rest)
        quaver = one.one("inter_pss", model, one.reworded)
        rows.append((one.name, model, one.items, len(each), *numbers, whole.value, quaver))
    what = "share of places changed" if ordered_by == {"strength"} else "temperature"
    return TableRows(rows, found, subject=what)


def _appendix(score: Estimate, repeats: int) -> Value:
    """The paper's interval: the score ± 1.96 · σ/√k, σ that of scores of resampled labels (appendix A)."""
    spread = score.details.get("sd_of_resamples")
    if score.value is None or spread is None:
        return None
    half = 1.96 * float(spread) / repeats**0.5
    return score.value - half, score.value + half


def _series(
    head: Sequence[Value],
    drawn: Mapping[Any, Estimate],
    others: Sequence[Mapping[Any, Estimate]],
    repeats: Mapping[Any, int],
    distinct: Mapping[Any, int],
) -> Iterator[Sequence[Value]]:
    """A row a place: the paper's three series, Quaver's score, and how many different answers there are."""
    for place, step in drawn.items():
        filtered, balanced, read = (each.get(place, UNKNOWN) for each in others)
        package = _appendix(step, repeats[place])
        shown = f"{place:g}" if isinstance(place, float) else place
        row = (*head, shown, step.value, package, filtered.value, balanced.value, read, distinct.get(place))
        yield row


def by_repeat(answers: Answers) -> TableRows:
    """The score of the first k repeats of one prompt, for every k: the paper's figures 1, B.1 and B.2."""
    rows: list[Sequence[Value]] = []
    for one, model in each_model(answers):
        written, exact = one.written, one.exact
        again = written.of(model, written.again)
        known = dict(enumerate(sorted(again["repeat"].unique()), start=1))
        counts = _distinct(again, "repeat")
        balanced = _balanced(exact, exact.of(model, exact.again))
        others = (
            _curve(exact, model, resamples=0),
            exact.points("intra_pss_cumulative", balanced, by=[]),
            _curve(one, model),
        )
        drawn = by_repeats(_curve(written, model, resample="rows"))
        distinct = {k: counts[repeat] for k, repeat in known.items()}
        repeats = {k: k for k in drawn}
        rows += _series((one.name, model), drawn, [*map(by_repeats, others)], repeats, distinct)
    return TableRows(rows)


def by_repeats(steps: Estimates) -> Mapping[int, Estimate]:
    """The scores of the first repeats, by how many they are."""
    return {int(step.cell.get("repeats", 1)): step for step in steps}


def _distinct(frame: pl.DataFrame, column: str) -> dict[Any, int]:
    """How many different answers there are at each value of a column."""
    return dict(frame.group_by(column).agg(pl.col("label").n_unique()).rows())


def by_temperature(answers: Answers) -> TableRows:
    """The inter-prompt score at each temperature: the paper's figures 2, B.3 and B.4."""
    rows: list[Sequence[Value]] = []
    for one, model in each_model(answers):
        column = distance_column(one)
        if column is None:
            continue
        written, exact = one.written, one.exact
        reworded = written.of(model, written.reworded)
        even = _levels(exact, model, even=True, resamples=0)
        others = [_levels(exact, model, resamples=0), even, _levels(one, model)]
        drawn = _levels(written, model, resample="rows", estimand="fixed")
        repeats = dict.fromkeys(drawn, reworded["repeat"].n_unique())
        rows += _series((one.name, model), drawn, others, repeats, _distinct(reworded, column))
    return TableRows(rows)


def views(answers: Answers) -> TableRows:
    """Original, filtered, and filtered-and-balanced annotations beside Quaver's reading, intra and inter."""
    rows, found = [], []
    for one, model in each_model(answers):
        estimates = []
        for measure, part, within in (
            ("intra_pss", "again", CONDITION),
            ("inter_pss", "reworded", WITHIN_REPEAT),
        ):
            series = [(some, getattr(some, part)) for some in (one.written, one.exact, one)]
            even = _balanced(one.exact, one.of(model, getattr(one.exact, part)), within=within)
            series.insert(2, (one.exact, even))
            estimates += [some.one(measure, model, frame, resamples=0) for some, frame in series]
        found += [(f"{one.name}, {model}", estimate) for estimate in estimates]
        kept = one.of(model, one.exact.frame).height / one.of(model).height
        labelled = one.one("compliance", model, resamples=0).value
        rows.append((one.name, model, *(estimate.value for estimate in estimates), kept, labelled))
    return TableRows(rows, found)


def raw_answers_table(answers: Answers) -> TableRows:
    """α of the answers as they were written, beside α of the labels read from them."""
    rows: list[Sequence[Value]] = []
    for one, model in each_model(answers):
        views = ((one.written, "drop"), (one, one.unlabelled))
        each = [view.one("intra_pss", model, view.again, missing=missing) for view, missing in views]
        distinct = (view.of(model, view.again)["label"].drop_nulls().n_unique() for view, _ in views)
        rows.append((one.name, model, *each, *distinct))
    return TableRows(rows)


def subsamples(answers: Answers) -> TableRows:
    """The mean score over subsamples of the items: intra, inter, and inter at each temperature."""
    rows, found = [], []
    for data, model in each_model(answers):
        one = data.exact
        asked = {("intra", ""): one.again, ("inter", ""): one.reworded}
        if ordered := distance_column(one):
            asked["inter", ordered] = one.reworded
        for (kind, column), some in asked.items():
            by = [column] if column else []
            frame = one.of(model, some)
            drawn = replace(one, intervals="all")  # the scores themselves are those of draws
            estimates = drawn.take(f"{kind}_pss_subsamples", frame, by=by)
            for estimate in sorted(estimates, key=partial(_at, column)):
                found.append((f"{one.name}, {model}, {kind}", estimate))
                if "share" in estimate.cell and (estimate.cell.get(column) or not column):
                    at = f"{_at(column, estimate):g}" if column else _ALL
                    head = (estimate.cell["share"], one.name, model, kind, at)
                    rows.append((*head, estimate.value, (estimate.low, estimate.high)))
    return TableRows(rows, found)


_ALL = "all"
"""How the rows say that they are about every temperature."""


def _at(column: str, estimate: Estimate) -> float:
    """The temperature that an estimate is about."""
    return float(estimate.cell.get(column) or 0.0)


def between_models(answers: Answers) -> TableRows:
    """Each pair of models: α between them, each one's stability, and the difference."""
    rows, found = [], []
    for one in answers:
        for first, second in combinations(one.models, 2):
            both = rows_with(one.again, "model", [first, second])
            between = one.take("inter_model", both, by=[], missing=one.unlabelled)[0]
            estimates = [
                one.one("intra_pss", model, one.again, missing=one.unlabelled, keep_draws=True)
                for model in (first, second)
            ]
            less = next(
                iter(paired_differences(estimates[1:], estimates[:1], Resampling(seed=one.study.spec.seed))),
                UNKNOWN,
            )
            found.append((one.name, between))
            rows.append((one.name, first, second, between, *estimates, less, less.details.get("p")))
    return TableRows(rows, found)


def poor_prompts(answers: Answers) -> TableRows:
    """The paraphrases that agree least with the original prompt, with their text."""
    rows: list[tuple[float, Sequence[Value]]] = []
    for one, model in each_model(answers):
        mine = one.of(model, one.reworded)
        prompts = {variant.id: variant for variant in one.variants}
        for estimate in one.take("original_agreement", mine, by=[], missing=one.unlabelled):
            variant = prompts.get(estimate.cell.get("variant", ""))
            if variant is None or estimate.value is None or estimate.value >= BAR:
                continue
            cut = "yes" if variant.covariates.get("cut_off") else ""
            rows.append(
                (estimate.value, (one.name, model, _heat(variant), variant.instruction, cut, estimate))
            )
    rows.sort(key=lambda row: row[0])
    return TableRows([row for _, row in rows])


def _heat(variant: Variant) -> str:
    at = variant.covariates.get("paraphrase_temperature", variant.covariates.get("strength"))
    return NOTHING if at is None else f"{float(at):g}"


def _parts(answers: StoredAnswers, cost: Cost) -> tuple[float | None, ...]:
    """What the tokens read cost, those written, and both."""
    price = answers.study.source.prices.get(cost.model)
    if cost.money is None or price is None:
        return (None, None, cost.money)
    read = price.of(cost.prompt_tokens, cost.cached_tokens, 0)
    whole = price.of(cost.prompt_tokens, cost.cached_tokens, cost.completion_tokens)
    share = read / whole if whole else 0.0  # a batch costs less of both alike
    return (cost.money * share, cost.money * (1 - share), cost.money)


def costs(answers: Answers) -> TableRows:
    """Calls, tokens and money of each data set and model, and of all."""
    every = [(one.name, cost, _parts(one, cost)) for one in answers for cost in one.costs()]
    sums = [(name, cost.name, [cost], [parts]) for name, cost, parts in every]
    if len(every) > 1:
        sums.append(("all", NOTHING, [cost for _, cost, _ in every], [parts for *_, parts in every]))
    rows = []
    for name, model, some, parts in sums:
        calls, read, written = (
            float(sum(getattr(cost, of) for cost in some))
            for of in ("calls", "prompt_tokens", "completion_tokens")
        )
        each = read / calls if calls else None
        rows.append((name, model, calls, read, written, each, *map(_sum, zip(*parts, strict=True))))
    return TableRows(rows)


def _sum(parts: Sequence[float | None]) -> float | None:
    """A sum, where every part of it is known."""
    return None if None in parts else sum(part for part in parts if part is not None)


def cost_shares(answers: Answers) -> TableRows:
    """What a part of the items would have cost: the paper's table 5."""
    every = [(one.name, cost, _parts(one, cost)) for one in answers for cost in one.costs()]
    rows: list[Sequence[Value]] = [
        (name, cost.name, *money, *(share * cost.calls for share in SHARES)) for name, cost, money in every
    ]
    totals = [_sum(parts) for parts in zip(*(money for *_, money in every), strict=True)]
    dollars = [None if totals[2] is None else share * totals[2] for share in SHARES]
    rows.append(("all, in US dollars", "", *totals, *(number(part, "2") for part in dollars)))
    return TableRows(rows)


def other_prices(answers: Answers) -> TableRows:
    """What the same tokens would cost with other models: the paper's table C.1."""
    costs = [cost for one in answers for cost in one.costs()]
    read, written = sum(c.prompt_tokens for c in costs), sum(c.completion_tokens for c in costs)
    rows = []
    for name in COMPARED:
        price = known_price(name)
        if price is not None:
            each = (price.of(1_000_000, 0, 0), price.of(0, 0, 1_000_000))
            money = (each[0] * read / 1e6, each[1] * written / 1e6)
            rows.append((name, *each, *money, sum(money)))
    return TableRows(rows)
