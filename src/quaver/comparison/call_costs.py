"""What a call takes, as bounds may limit it: the length of its answer, and its price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import polars as pl

from quaver.collect.store.response_tables import WRITTEN
from quaver.comparison.alignment import Sides
from quaver.core.column_names import column_of
from quaver.core.records import Estimate
from quaver.estimation.bootstrap import Floats, Ratio, Resampling
from quaver.estimation.grouped_items import ItemGroups, item_groups
from quaver.estimation.intervals import Interval
from quaver.estimation.paired_differences import paired_differences
from quaver.estimation.statistic import Keep, Sampler, Statistic
from quaver.study.session import Study

COSTS: Final[Mapping[str, str]] = {
    "answer_length": "characters of an answer, in the mean",
    "price": "US dollars for 1,000 calls, without discounts for batches and cached prompts",
}
"""What a bound may name beside measures, of which less is better, and what it is."""

_KEYS: Final = ("model", "variant", "decoding", "item", "repeat")
_CALLS: Final = f"""
    SELECT c.condition, c.item, c.repeat, length(r.text), r.prompt_tokens, {WRITTEN}
    FROM calls c JOIN responses r ON r.id = c.response WHERE r.finish != 'error'"""


def with_costs(study: Study, frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """A study's annotations with what each call took, null where that is not known, but for follow-ups."""
    if not names:
        return frame
    experiment, prices = study.experiment, study.source.prices
    rows = []
    for index, item, repeat, length, prompt, completion in _stored(study):
        condition = experiment.conditions[index]
        price = prices.get(condition.model)
        paid = None
        if price is not None and prompt is not None and completion is not None:
            paid = 1000 * price.of(prompt, 0, completion)
        where = (condition.model, condition.variant, condition.decoding, experiment.items[item].id, repeat)
        if not condition.follow_up:
            rows.append((*where, None if study.source.withheld else float(length), paid))
    schema = {name: frame.schema.get(name, pl.String) for name in _KEYS}
    costs = {_column(name): pl.Float64() for name in COSTS}
    found = pl.DataFrame(rows, {**schema, **costs}, orient="row")
    return frame.drop(list(costs), strict=False).join(found, on=_KEYS, how="left", maintain_order="left")


def _stored(study: Study) -> list[tuple[int, int, int, int, int | None, float | None]]:
    """The calls with an answer; none where there are only labels."""
    if not (study.source.has_answers and study.source.files.responses.exists()):
        return []
    with study.source.answers() as store, store.reading() as reader:
        return list(reader.execute(_CALLS))


def _column(name: str) -> str:
    return f"{name} of a call"


def cost_differences(
    asked: Sequence[str], sides: Sides, group: str | None, resampling: Resampling
) -> list[Estimate]:
    """How much more or less the calls about an item take after than before, paired by item, in every cell."""
    units = item_groups(sides.before, group and column_of("group", group))
    keys = [key for key in dict.fromkeys((*sides.keys, *sides.compared)) if key not in ("evaluator", "item")]
    estimates = []
    for name in asked:
        mean = pl.col(_column(name)).mean()
        after = sides.after.group_by(*keys, "item").agg(mean.alias("took_after"))
        both = sides.before.group_by(*keys, "item").agg(mean.alias("took"))
        both = both.join(after, on=[*keys, "item"], nulls_equal=True).sort(*keys, "item")
        for key, items in both.partition_by(keys, as_dict=True, maintain_order=True).items():
            cell = dict(zip(keys, map(str, key), strict=True))
            estimates += _paired(name, cell, items.drop_nulls(["took", "took_after"]), units, resampling)
    return estimates


def _paired(
    name: str, cell: Mapping[str, str], items: pl.DataFrame, groups: ItemGroups, resampling: Resampling
) -> list[Estimate]:
    before, after = items["took"].to_numpy(), items["took_after"].to_numpy()
    units, keep = groups.units(items["item"].to_list()), frozenset[Keep](("draws",))
    sampler = Sampler(units, resampling, measure=name, where=cell, keep=keep)
    most = float(max(before.max(), after.max())) if len(items) else 0.0
    sides = [sampler.estimated(_mean(name, took, most)) for took in (before, after)]
    return paired_differences(sides[:1], sides[1:], resampling, lambda _: int((before != after).sum()))


def _mean(name: str, took: Floats, most: float) -> Statistic:
    """The mean over items; where nothing varies, further items may differ by the most that any took."""
    if not len(took):
        return Statistic(method=COSTS[name], reason="it is not known what the calls of both sides took")
    return Statistic(
        method=COSTS[name],
        under=Ratio(took[:, None], np.ones((len(took), 1))),
        spread=lambda value, share: Interval(max(0.0, value - share * most), value + share * most),
        moves=lambda share: Interval(-share * most, share * most),
    )
