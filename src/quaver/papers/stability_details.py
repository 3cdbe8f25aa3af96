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
    PublishedTable,
    StoredAnswers,
    decimal,
    each_model,
    laid_out,
    reasons,
    with_interval,
)
from quaver.papers.stability_tables import BAR
from quaver.report.page.figure_data import Cost
from quaver.study.sources.prices import COMPARED, known_price


def raw_answers_table(answers: Answers) -> PublishedTable:
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
    return laid_out(
        "raw-answers",
        "Intra-prompt stability of the answers as they were written, and of the labels read from them.",
        "data set | model | raw α | raw 95% interval | label α | label 95% interval | distinct raw answers "
        "| distinct labels",
        rows,
        text=2,
        notes=[
            "raw: each answer, without white space around it, is a category of its own, as in the paper's "
            "analysis. "
            "Two spellings of one label then count as a disagreement; Quaver's scores read the label first.",
            *reasons(found),
        ],
    )


def subsamples(answers: Answers) -> PublishedTable:
    """The mean score over subsamples of a few per cent of the items, intra and inter."""
    rows, found = [], []
    for one, model in each_model(answers):
        for kind, frame in (("intra", one.again), ("inter", one.reworded)):
            made = one.take(f"{kind}_pss_subsamples", one.of(model, frame), by=[], missing=one.unlabelled)
            found += [(f"{one.name}, {model}, {kind}", e) for e in made]
            rows += [
                (e.cell["share"], one.name, model, kind, *with_interval(e)) for e in made if "share" in e.cell
            ]
    return laid_out(
        "subsamples",
        "Stability scores of subsamples of the items: the mean over subsamples.",
        "share of items | data set | model | prompts | mean PSS | middle 95%",
        sorted(rows, key=lambda row: float(row[0])),
        text=4,
        notes=[
            "Subsamples are drawn without replacement; middle 95%: between which most of them lie.",
            *reasons(found),
        ],
    )


def between_models(answers: Answers) -> PublishedTable:
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
    return laid_out(
        "models",
        "Agreement between models, and the difference of their intra-prompt stability.",
        "data set | first | second | inter-model α | 95% interval | first PSS | first 95% interval | second "
        "PSS | second 95% interval | difference | difference 95% interval | p",
        rows,
        text=3,
        notes=[
            "difference: first less second, with the interval and p value of the same items asked of both.",
            "" if rows else "There is one model only.",
            *reasons(found),
        ],
    )


def _difference(less: Estimate | None) -> tuple[Cell, Cell, Cell]:
    if less is None:
        return NOTHING, NOTHING, NOTHING
    return *with_interval(less), decimal(less.details.get("p"))


def poor_prompts(answers: Answers) -> PublishedTable:
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
    return laid_out(
        "poor-prompts",
        "Paraphrases whose labels agree with the original prompt's below 0.8, worst first.",
        ("data set", "model", "temperature", "prompt", "cut off", "α with the original", "95% interval"),
        [row for _, row in rows],
        text=5,
        notes=["" if rows else "No paraphrase is below 0.8."],
    )


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


def costs(answers: Answers) -> PublishedTable:
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
    return laid_out(
        "costs",
        "Size, tokens and cost by data set.",
        "data set | model | calls | tokens read | tokens written | tokens read per call | "
        "US dollars, read | US dollars, written | US dollars",
        rows,
        text=2,
        notes=[_PRICES],
    )


def cost_shares(answers: Answers) -> PublishedTable:
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
    return laid_out(
        "cost-shares",
        "Cost of each data set, and calls for a part of its items; in the last row, what they cost.",
        (
            *("data set", "model", "input cost", "output cost", "total cost"),
            *(f"{share:.0%}" for share in SHARES),
        ),
        rows,
        text=2,
        notes=["A part of the items costs that part of the calls and of the money. " + _PRICES],
    )


_PRICES = (
    "US dollars at the list prices of the day of the run; 0 is a model that runs on your machine, a dash a "
    "price that is not known."
)


def other_prices(answers: Answers) -> PublishedTable:
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
    return laid_out(
        "other-prices",
        "What the tokens of all data sets would cost with other models, in US dollars.",
        "model | input price | output price | input cost | output cost | total cost",
        rows,
        text=1,
        notes=[
            "Prices for a million tokens, by today's list; the tokens are as the models asked counted them."
        ],
    )
