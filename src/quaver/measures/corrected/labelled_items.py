"""Items with all their labels and a designed sample of gold labels, read from annotations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quaver.correction.regressions import GoldSample
from quaver.errors import MeasureError
from quaver.estimation.arrangement import UnknownColumn
from quaver.estimation.bootstrap import Floats
from quaver.estimation.encoding import Codes, Ints, combine, encode, encode_labels
from quaver.estimation.means import quotient
from quaver.estimation.measure_input import MeasureInput

ASKED = ("model", "decoding", "evaluator", "variant")
"""The roles whose combinations label an item: each is a predictor of the true label."""

TOGETHER = (*ASKED, "text")
"""What a study does not take apart by itself: an item has one true label, whatever was asked about it."""

_SAMPLED = frozenset({"gold", "gold_drawn", "gold_probability"})
"""The columns of a gold sample."""

_FEWEST_OF_A_STRATUM = 2


@dataclass(frozen=True)
class LabelledItems:
    """The items of one population: their labels, and what is known of their gold labels.

    Attributes:
        where: The population, by column.
        names: The items' ids.
        labels: The names of labels.
        gold: Each item's gold label as a code, -1 where it was not drawn or has none.
        probability: Of being drawn.
        strata: See `GoldSample`.
        clusters: See there.
        unit: What is independent: ``"item"`` or the group's column.
        raters: What each predictor is, by column.
        excluded: What was left out, counted.
        item: The item of each annotation.
        rater: Its predictor.
        label: Its label's code, -1 for none.
        confidence: How sure the model was of it, NaN where that is not known; None of a frame without it.
    """

    where: Mapping[str, str]
    names: pl.Series
    labels: tuple[str, ...]
    gold: Ints
    probability: Floats
    strata: Ints | None
    clusters: Ints | None
    unit: str
    raters: tuple[dict[str, str], ...]
    excluded: Mapping[str, int]
    item: Ints
    rater: Ints
    label: Ints
    confidence: Floats | None

    def sample(
        self,
        matrix: Floats,
        outcome: Floats,
        kept: NDArray[np.bool_] | None = None,
        weights: Floats | None = None,
    ) -> GoldSample:
        """The sample that a regression is of."""
        rows = slice(None) if kept is None else kept
        clusters = None if self.clusters is None else np.unique(self.clusters[rows], return_inverse=True)[1]
        strata = self.strata
        if strata is not None:
            strata = _with_gold(strata[rows], np.asarray(np.isfinite(outcome[rows]).all(1)))
        own = np.ones(len(self.gold)) if weights is None else weights
        return GoldSample(matrix[rows], outcome[rows], self.probability[rows], own[rows], clusters, strata)

    @cached_property
    def _places(self) -> tuple[Ints, bool]:
        """Each annotation's place in a table of items × predictors; whether each has one of its own."""
        positions = self.item * len(self.raters) + self.rater
        taken = np.zeros(len(self.gold) * len(self.raters), bool)
        taken[positions] = True
        return positions, int(taken.sum()) == positions.size

    def table(self, values: Floats, some: NDArray[np.bool_]) -> Floats:
        """The mean of annotations over repeats, shape (items, predictors); NaN where there is none."""
        shape = (len(self.gold), len(self.raters))
        positions, alone = self._places
        if alone:
            result = np.full(shape, np.nan)
            result.ravel()[positions] = np.where(some, values, np.nan)
            return result
        total = np.bincount(positions[some], values[some], minlength=shape[0] * shape[1])
        count = np.bincount(positions[some], minlength=shape[0] * shape[1])
        return quotient(total, count).reshape(shape)

    def valued(self, numbers: Floats) -> Floats:
        """Each predictor's outcome of each item, NaN where it gave no label."""
        return self.table(numbers[np.maximum(self.label, 0)], self.label >= 0)

    def probable(self, numbers: Floats) -> Floats | None:
        """How probable each predictor holds it that the outcome is 1; None without confidences.

        An answer's confidence is the probability of its own label; the other labels share the rest.
        """
        if self.confidence is None or set(np.unique(numbers)) - {0.0, 1.0}:
            return None
        own = numbers[np.maximum(self.label, 0)]
        others = max(len(self.labels) - 1, 1)
        rest = (numbers.sum() - own) / others
        values = self.confidence * own + (1 - self.confidence) * rest
        return self.table(np.nan_to_num(values), (self.label >= 0) & np.isfinite(self.confidence))


def filled(table: Floats) -> Floats:
    """A table of predictions without gaps: where a predictor says nothing, what it says on average."""
    if not np.isnan(table).any():
        return table
    known = np.isfinite(table)
    mean = np.where(known, table, 0.0).sum(0) / np.maximum(known.sum(0), 1)
    return np.where(known, table, mean)


def designed(frame: pl.DataFrame) -> bool:
    """Whether annotations hold a designed gold sample of which some labels are there."""
    if not set(frame.columns) >= _SAMPLED:
        return False
    return bool(frame.select((pl.col("gold_drawn") & pl.col("gold").is_not_null()).any()).item())


def populations_apart(data: MeasureInput) -> Iterator[LabelledItems]:
    """The items of each population, with the labels of each part that ``by`` makes of how they were asked.

    There are none where nothing was drawn. A column in ``by`` that belongs to items makes populations. One of
    how they were asked (``model``, ``variant``, a factor) makes parts, in which others' labels play no role.
    """
    gathered = data.gathered
    if not set(gathered.columns) >= _SAMPLED:
        _sampled(pl.DataFrame(schema=gathered.schema))
    for argument, named in (("by", data.by), ("group", [data.group] if data.group else [])):
        for name in named:
            if name not in gathered.columns:
                raise UnknownColumn(name, gathered.columns, where=argument)
    if not gathered["gold_drawn"].any():
        return
    item, names = item_codes(data.frame[data.column("item") or "item"])
    first = _first_rows(item, len(names))
    apart = [name for name in data.by if not _of_items(data.frame, name, item, first)]
    if not apart:
        yield from populations(data, apart=True)
        return
    own = tuple(name for name in data.by if name not in apart)
    for key, part in data.frame.partition_by(apart, as_dict=True, maintain_order=True).items():
        place = {name: str(value) for name, value in zip(apart, key, strict=True)}
        for found in populations(replace(data.of(part), by=own), apart=True):
            yield replace(found, where={**place, **found.where})


def populations(
    data: MeasureInput, asked: Sequence[str] = ASKED, *, apart: bool = False
) -> Iterator[LabelledItems]:
    """The items of each population: the columns in ``by`` that are the items', not of how they were asked."""
    frame = data.frame
    _sampled(frame)
    item, names = item_codes(frame[data.column("item") or "item"])
    first = _first_rows(item, len(names))
    own = [name for name in data.by if name not in ASKED and _of_items(frame, name, item, first)]
    parts = combine([(name, encode(frame[name].gather(first), name)) for name in own], len(names))
    raters = _raters(data, asked)
    if apart:
        _each_in_its_place(data, item, raters)
    for index, where in enumerate(parts.values or ({},)):
        inside = parts.codes == index if own else np.ones(len(names), bool)
        yield _population(data, where, inside, item, names, first, raters)


def _drawn(frame: pl.DataFrame) -> bool:
    return bool(frame["gold_drawn"].any())


def _sampled(frame: pl.DataFrame) -> None:
    there = set(frame.columns) >= _SAMPLED
    if not there or not (frame.is_empty() or _drawn(frame)):
        raise MeasureError(
            "there is no gold sample that was drawn by design",
            where="annotations",
            expected="the columns gold, gold_drawn and gold_probability, with gold labels of drawn items",
            found="no item was drawn" if there else "no such columns",
            fix="draw one: `quaver gold STUDY --n 200`",
        )


def _first_rows(item: Ints, items: int) -> Ints:
    """The first row of each item."""
    first = np.full(items, -1, np.int64)
    first[item[::-1]] = np.arange(len(item))[::-1]
    return first


def _each_in_its_place(data: MeasureInput, item: Ints, raters: Codes) -> None:
    positions = item * max(len(raters.values), 1) + (raters.codes if raters.values else 0)
    if len(np.unique(positions)) == positions.size:
        return
    repeat = data.column("repeat")
    if repeat is not None:
        repeats = encode(data.frame[repeat], repeat)
        positions = positions * (len(repeats.values) + 1) + repeats.codes + 1
    if (more := positions.size - len(np.unique(positions))) > 0:
        raise MeasureError(
            "several annotations in one place",
            where="annotations",
            expected=f"one for each item{''.join(f' and {one}' for one in (*ASKED, 'repeat'))}",
            found=f"{more} too many",
        )


def item_codes(column: pl.Series) -> tuple[Ints, pl.Series]:
    """Each row's item as a number from 0 in the order of ids, and the ids."""
    if not isinstance(column.dtype, (pl.Categorical, pl.Enum)):
        column = column.cast(pl.String).cast(pl.Categorical)
    codes = column.to_physical().to_numpy().astype(np.int64)
    row = np.full(int(codes.max(initial=-1)) + 1, -1, np.int64)
    row[codes] = np.arange(codes.size)
    there = np.flatnonzero(row >= 0)
    names = column.gather(row[there]).cast(pl.String)
    # By id, so that nothing drawn for items depends on the order of rows.
    order = names.arg_sort().to_numpy()
    positions = np.full(row.size, -1, np.int64)
    positions[there[order]] = np.arange(order.size)
    return positions[codes], names.gather(order)


def _of_items(frame: pl.DataFrame, name: str, item: Ints, first: Ints) -> bool:
    """Whether a column has one value in all rows of an item."""
    codes = encode(frame[name], name).codes
    return bool((codes == codes[first][item]).all())


def _raters(data: MeasureInput, asked: Sequence[str]) -> Codes:
    """Each row's predictor."""
    frame, names = data.frame, []
    for role in asked:
        column = data.column(role)
        if column is not None:
            names.append(column)
    return combine([(name, encode(frame[name], name)) for name in names], frame.height)


def _population(
    data: MeasureInput,
    where: Mapping[str, str],
    inside: NDArray[np.bool_],
    item: Ints,
    names: pl.Series,
    first: Ints,
    raters: Codes,
) -> LabelledItems:
    frame = data.frame
    probability = frame["gold_probability"].gather(first).cast(pl.Float64).to_numpy()
    sampled = inside & np.isfinite(probability) & (probability > 0)
    labels, label, gold = _labels(data, first)
    drawn = frame["gold_drawn"].gather(first).fill_null(value=False).to_numpy()
    true = np.where(drawn, gold, -1)[sampled]
    excluded = {
        "not in the sampled population": int((inside & ~sampled).sum()),
        "gold label outside the sample": int((inside & ~drawn & (gold >= 0)).sum()),
        "drawn, without a gold label yet": int((drawn[sampled] & (true < 0)).sum()),
    }
    kept: slice | NDArray[np.bool_] = slice(None) if sampled.all() else sampled[item]
    positions = np.cumsum(sampled) - 1
    confidence = data.numbers("confidence")
    if confidence is not None and not np.isfinite(confidence).any():
        confidence = None
    groups = None
    if data.group is not None:
        groups = _groups(frame[data.group].gather(first), data.group)[sampled]
        groups = np.unique(groups, return_inverse=True)[1].astype(np.int64)
    return LabelledItems(
        where=dict(where),
        names=names if sampled.all() else names.filter(pl.Series(sampled)),
        labels=labels,
        gold=true,
        probability=probability[sampled],
        strata=_strata(frame, first[sampled], probability[sampled]),
        clusters=groups,
        unit=data.group or "item",
        raters=raters.values or ({},),
        excluded={name: count for name, count in excluded.items() if count},
        item=positions[item[kept]],
        rater=raters.codes[kept] if raters.values else np.zeros(item[kept].size, np.int64),
        label=label[kept],
        confidence=None if confidence is None else confidence[kept],
    )


def label_names(data: MeasureInput) -> tuple[str, ...]:
    """The label set's codes in its order; without a label set, those that occur, sorted."""
    if data.labels:
        return tuple(data.labels.codes)
    columns = [data.column("label") or "label", *({"gold"} & set(data.gathered.columns))]
    return tuple(
        sorted({code for name in columns for code in encode_labels(data.gathered[name], name).values})
    )


def _labels(data: MeasureInput, first: Ints) -> tuple[tuple[str, ...], Ints, Ints]:
    """The labels' names, each row's label, and each item's gold label, as codes among them."""
    frame = data.frame
    given = encode_labels(frame[data.column("label") or "label"], "label")
    true = encode_labels(frame["gold"].gather(first), "gold")
    names = data.labels.codes if data.labels else tuple(sorted({*given.values, *true.values}))
    place = {name: index for index, name in enumerate(names)}

    def recoded(values: Sequence[str], codes: Ints) -> Ints:
        return np.array([*(place.get(value, -1) for value in values), -1], np.int64)[codes]

    return names, recoded(given.values, given.codes), recoded(true.values, true.codes)


def _groups(column: pl.Series, name: str) -> Ints:
    codes = encode(column, name).codes
    alone = codes.max(initial=0) + 1 + np.arange(codes.size)
    return np.where(codes < 0, alone, codes)


def _strata(frame: pl.DataFrame, rows: Ints, probability: Floats) -> Ints | None:
    """The strata of which fixed numbers were drawn; None of one, and where items were drawn by themselves."""
    if "gold_stratum" not in frame.columns:
        return None
    codes = encode(frame["gold_stratum"].gather(rows), "gold_stratum").codes
    if not codes.size or codes.min() < 0 or codes.max() == 0:
        return None
    size = int(codes.max()) + 1
    low, high = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(low, codes, probability)
    np.maximum.at(high, codes, probability)
    return codes if bool((high - low < 1e-9).all()) else None


def _with_gold(strata: Ints, gold: NDArray[np.bool_]) -> Ints:
    """Strata from 0 without gaps; those with too few gold items to show a spread are one together."""
    counts = np.bincount(strata[gold], minlength=int(strata.max(initial=0)) + 1)
    small = counts[strata] < _FEWEST_OF_A_STRATUM
    return np.unique(np.where(small, -1, strata), return_inverse=True)[1].astype(np.int64)
