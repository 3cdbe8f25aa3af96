"""What stands behind prompt stability scores: answers as written, subsamples, models, poor prompts, costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations

from quaver.core.annotations import rows_with
from quaver.core.records import Estimate, Variant
from quaver.estimation.bootstrap import Resampling
from quaver.estimation.paired_differences import paired_differences
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
from quaver.papers.stability_tables import BAR, distance_column
from quaver.report.tables.study_tables import Cost
from quaver.study.sources.prices import COMPARED, known_price


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
                one.one("intra_pss", model, one.again, missing=one.unlabelled, keep=["draws"])
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
