"""What stands behind prompt stability scores: answers as written, subsamples, models, poor prompts, costs."""

from __future__ import annotations

from itertools import combinations

import polars as pl

from quaver.core.records import Estimate, Variant
from quaver.estimation.bootstrap import Resampling
from quaver.estimation.cells import OUTPUT
from quaver.estimation.paired_differences import paired_differences
from quaver.measures.stability.stability_curves import SHARES
from quaver.papers.published_table import (
    NOTHING,
    Answers,
    Cell,
    StoredAnswers,
    TableRows,
    decimal,
    each_model,
    with_interval,
)
from quaver.papers.stability_tables import BAR
from quaver.report.page.figure_data import Cost
from quaver.study.sources.prices import COMPARED, known_price


def raw_answers_table(answers: Answers) -> TableRows:
    """α of the answers as they were written, beside α of the labels read from them."""
    rows, found = [], []
    for one, model in each_model(answers):
        mine = one.of(model, one.raw)
        kept = mine.join(one.again, on=["decoding", "variant"], how="semi")
        written = kept.with_columns(pl.col(OUTPUT).str.strip_chars().alias("label"))
        plain = written.drop(OUTPUT, "status", strict=False)
        as_written = one.bare("intra_pss", plain)
        as_read = one.one("intra_pss", model, one.again, missing=one.unlabelled)
        distinct = plain["label"].drop_nulls().n_unique()
        labels = one.of(model, one.again)["label"].drop_nulls().n_unique()
        found += [(f"{one.name}, {model}", as_written), (f"{one.name}, {model}", as_read)]
        rows.append(
            (
                *(one.name, model, *with_interval(as_written)),
                *(*with_interval(as_read), str(distinct), str(labels)),
            )
        )
    return TableRows(rows, found)


def subsamples(answers: Answers) -> TableRows:
    """The mean score over subsamples of a few per cent of the items, intra and inter."""
    rows, found = [], []
    for one, model in each_model(answers):
        for kind, frame in (("intra", one.again), ("inter", one.reworded)):
            made = one.take(f"{kind}_pss_subsamples", one.of(model, frame), by=[], missing=one.unlabelled)
            found += [(f"{one.name}, {model}, {kind}", e) for e in made]
            rows += [
                (e.cell["share"], one.name, model, kind, *with_interval(e)) for e in made if "share" in e.cell
            ]
    return TableRows(sorted(rows, key=lambda row: float(row[0])), found)


def between_models(answers: Answers) -> TableRows:
    """Each pair of models: α between them, each one's stability, and the difference."""
    rows, found = [], []
    for one in answers:
        for first, second in combinations(one.models, 2):
            both = one.again.filter(pl.col("model").cast(pl.String).is_in([first, second]))
            between = one.take("inter_model", both, by=[], missing=one.unlabelled)[0]
            each = [
                one.one("intra_pss", model, one.again, missing=one.unlabelled, keep=["draws"])
                for model in (first, second)
            ]
            less = paired_differences(each[1:], each[:1], Resampling(seed=one.study.spec.seed))
            found.append((one.name, between))
            rows.append(
                (
                    *(one.name, first, second, *with_interval(between)),
                    *(cell for e in each for cell in with_interval(e)),
                    *_difference(less[0] if less else None),
                )
            )
    return TableRows(rows, found)


def _difference(less: Estimate | None) -> tuple[Cell, Cell, Cell]:
    if less is None:
        return NOTHING, NOTHING, NOTHING
    return *with_interval(less), decimal(less.details.get("p"))


def poor_prompts(answers: Answers) -> TableRows:
    """The paraphrases that agree least with the original prompt, with their text."""
    rows: list[tuple[float, tuple[Cell, ...]]] = []
    for one, model in each_model(answers):
        mine = one.of(model, one.reworded)
        prompts = {variant.id: variant for variant in one.variants}
        for made in one.take("original_agreement", mine, by=[], missing=one.unlabelled):
            variant = prompts.get(made.cell.get("variant", ""))
            if variant is None or made.value is None or made.value >= BAR:
                continue
            cells = (
                *(one.name, model, _heat(variant), variant.instruction, _cut(variant)),
                *with_interval(made),
            )
            rows.append((made.value, cells))
    rows.sort(key=lambda row: row[0])
    return TableRows([row for _, row in rows])


def _heat(variant: Variant) -> str:
    at = variant.covariates.get("paraphrase_temperature", variant.covariates.get("strength"))
    return NOTHING if at is None else f"{float(at):g}"


def _cut(variant: Variant) -> str:
    return "yes" if variant.covariates.get("cut_off") else ""


def _parts(one: StoredAnswers, cost: Cost) -> tuple[float | None, ...]:
    """What the tokens read cost, those written, and both."""
    price = one.study.source.prices.get(cost.model)
    if cost.money is None or price is None:
        return (None, None, cost.money)
    read = price.of(cost.prompt_tokens, cost.cached_tokens, 0)
    whole = price.of(cost.prompt_tokens, cost.cached_tokens, cost.completion_tokens)
    share = read / whole if whole else 0.0  # a batch costs less of both alike
    return (cost.money * share, cost.money * (1 - share), cost.money)


def costs(answers: Answers) -> TableRows:
    """Calls, tokens and money of each data set and model, and of all."""
    rows: list[tuple[Cell, ...]] = []
    every = [(one.name, cost, _parts(one, cost)) for one in answers for cost in one.costs()]
    sums = [(name, cost.model, [cost], [parts]) for name, cost, parts in every]
    if len(every) > 1:
        sums.append(("all", NOTHING, [cost for _, cost, _ in every], [parts for *_, parts in every]))
    for name, model, some, parts in sums:
        calls = sum(cost.calls for cost in some)
        read, written = sum(c.prompt_tokens for c in some), sum(c.completion_tokens for c in some)
        money = [None if None in each else sum(each) for each in zip(*parts, strict=True)]
        rows.append(
            (
                *(name, model, decimal(calls, 0), decimal(read, 0), decimal(written, 0)),
                decimal(read / calls if calls else None, 1),
                *(decimal(one, 2) for one in money),
            )
        )
    return TableRows(rows)


def cost_shares(answers: Answers) -> TableRows:
    """What a part of the items would have cost: the paper's table 5."""
    rows: list[tuple[Cell, ...]] = []
    totals: list[float | None] = [0.0] * 3
    for one in answers:
        for cost in one.costs():
            money = _parts(one, cost)
            totals = [None if a is None or b is None else a + b for a, b in zip(totals, money, strict=True)]
            calls = (decimal(share * cost.calls, 0) for share in SHARES)
            rows.append((one.name, cost.model, *(decimal(part, 2) for part in money), *calls))
    whole = totals[2]
    dollars = (decimal(None if whole is None else share * whole, 2) for share in SHARES)
    rows.append(("all, in US dollars", "", *(decimal(part, 2) for part in totals), *dollars))
    return TableRows(rows)


def other_prices(answers: Answers) -> TableRows:
    """What the same tokens would cost with other models: the paper's table C.1."""
    costs = [cost for one in answers for cost in one.costs()]
    read, written = sum(c.prompt_tokens for c in costs), sum(c.completion_tokens for c in costs)
    rows = []
    for name in COMPARED:
        price = known_price(name)
        if price is not None:
            each = [price.of(1_000_000, 0, 0), price.of(0, 0, 1_000_000)]
            money = [each[0] * read / 1e6, each[1] * written / 1e6]
            rows.append((name, *(decimal(part, 2) for part in (*each, *money, sum(money)))))
    return TableRows(rows)
