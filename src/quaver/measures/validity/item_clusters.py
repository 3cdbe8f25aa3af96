"""Items that come in groups which a study does not declare, and what items with a property have in common."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
import polars as pl
import scipy
from numpy.typing import NDArray

from quaver.core.column_names import in_words
from quaver.core.records import Estimate
from quaver.core.seeds import derive
from quaver.estimation.cells import Frame, guarded
from quaver.estimation.coded_columns import Ints, frame_of
from quaver.estimation.intervals import adjusted
from quaver.estimation.jackknife import Floats

_METHOD = (
    "intraclass correlation by one-way analysis of variance, tested by permuting items, with Holm's "
    "correction over the columns"
)
_SOURCE = (
    "Donner (1986), International Statistical Review 54, 67-82; Kish (1965), Survey Sampling, section 5.4"
)

_FEWEST_GROUPS = 10
"""With fewer groups a column's values are categories: an interval over so few groups is hardly one."""

_REPEATED = 5
"""So many items at least must share a value with an earlier one."""

_CHANCE = 0.05
WIDER = 1.05
"""Groups that make an interval no wider than this factor are not worth a word."""

_TAIL = 0.025
_PERMUTATIONS = 999
_PERMUTED = 5000
"""Of more items, F's own distribution is exact enough."""

_TOGETHER = 111
"""So many permutations are tested at a time."""

_ENOUGH = 50
"""So many permutations beyond the data's F are enough (Besag & Clifford 1991, Biometrika 78, 301-304)."""

_LOOKED_AT = 0.3
"""Where the F tests alone say more than this, nothing is permuted."""


@guarded
def item_clusters(annotations: Frame, columns: Frame, *, seed: int = 0) -> list[Estimate]:
    """Whether the items of one author (day, thread, source …) are labelled more alike than others.

    For each column, ρ of the item-level quantity in which its values differ most: accuracy (the share of an
    item's answers that are its gold label), disagreement (the share that are not its modal label), and the
    share of the most frequent label. ρ = (F − 1) / (F − 1 + m₀), with F from one-way analysis of variance
    over the column's values and m₀ their size, (n − m) / (G − 1). Intervals that resample items are too
    narrow by √(1 + (m − 1) ρ), m = Σ nᵍ² / n being the mean size of the group that an item lies in. The p
    value is that of the largest F over the three, with items permuted; ``p_holm`` allows for the number of
    columns.
    Numbers are judged by what no straight line or curve explains: that age moves a label makes no groups
    of one age.

    Undefined, with the reason, where a column cannot group items: every item has another value, hardly any
    value occurs twice, fewer than 10 values, one value has most items.

    Returns:
        An estimate a column, with ``column`` in the cell. In its details: ``quantity``; ``effect``, the
        design effect; ``groups``; ``p``; ``p_holm``; ``clustered``, whether the groups are real (p_holm <
        0.05) and make intervals wider by 5% or more.

    Ten pairs of items, each pair labelled alike:

    >>> items, authors = list(range(20)), [at // 2 for at in range(20)]
    >>> frame = pl.DataFrame({"item": items, "label": ["ab"[author % 2] for author in authors]})
    >>> found = item_clusters(frame, pl.DataFrame({"item": items, "author": [f"a{at}" for at in authors]}))[0]
    >>> round(found.value, 3), round(found.details["effect"], 3), found.details["clustered"]
    (1.0, 2.0, True)
    """
    quantities = _quantities(frame_of(annotations))
    wanted = frame_of(columns).with_columns(pl.col("item").cast(pl.String))
    table = quantities.select("item").join(wanted, on="item", how="left", maintain_order="left").drop("item")
    estimates, seen = [], dict[bytes, str]()
    for name in table.columns:
        grouping = _grouping(table[name])
        if not isinstance(grouping, str):
            same = seen.setdefault(b"".join(part.tobytes() for part in grouping[:2]), name)
            grouping = grouping if same == name else f"the same groups as {same}"
        estimates.append(_estimate(name, grouping, quantities, derive(seed, "item_clusters", name)))
    clusters = []
    for estimate in adjusted(estimates):
        if estimate.value is not None:
            real = estimate.details["p_holm"] < _CHANCE and estimate.details["effect"] >= WIDER**2
            estimate = replace(estimate, details={**estimate.details, "clustered": bool(real)})
        clusters.append(estimate)
    return clusters


def _quantities(frame: pl.DataFrame) -> pl.DataFrame:
    """A row an item: its id, and the quantities that vary; null where there is none."""
    absent = [pl.lit(None, pl.String).alias(name) for name in ("gold",) if name not in frame.columns]
    rows = frame.with_columns(absent).select(pl.col("item", "label", "gold").cast(pl.String))
    label, gold = pl.col("label").drop_nulls(), pl.col("gold")
    usual = str(rows["label"].drop_nulls().mode().sort().first())
    right = (pl.col("label") == gold).fill_null(value=False)
    quantities = rows.group_by("item").agg(
        accuracy=pl.when(gold.is_not_null().any()).then(right.mean()),
        disagreement=pl.when(label.len() > 1).then(1 - label.unique_counts().max() / label.len()),
        share=(label == usual).mean(),
    )
    varying = [
        name for name in quantities.columns if name == "item" or quantities[name].drop_nulls().n_unique() > 1
    ]
    return quantities.sort("item").select(varying).rename({"share": f"share of {usual}"}, strict=False)


def _grouping(column: pl.Series) -> tuple[Ints, Ints, Floats | None] | str:
    """The rows with a value, each one's group, and its number where all are numbers; or why it has none."""
    text = column.cast(pl.String)
    text = text.set(text.str.strip_chars() == "", None)
    rows = np.flatnonzero(text.is_not_null().to_numpy()).astype(np.int64)
    series = text.drop_nulls()
    codes = series.rank("dense").to_numpy().astype(np.int64) - 1
    sizes = np.bincount(codes)
    if sizes.size == rows.size:
        return "every item has another value" if rows.size else "no item has a value"
    if sizes.size < _FEWEST_GROUPS:
        return f"{sizes.size} values: categories to compare (by), too few to be groups that are resampled"
    if sizes.max() > rows.size / 2:
        return "one value has more than half of the items"
    if rows.size - sizes.size < _REPEATED:
        return "hardly any value occurs twice"
    numbers = series.cast(pl.Float64, strict=False).to_numpy()
    return rows, codes, numbers if np.isfinite(numbers).all() else None


def _estimate(
    name: str, grouping: tuple[Ints, Ints, Floats | None] | str, quantities: pl.DataFrame, seed: int
) -> Estimate:
    """The estimate of one column; undefined where it groups no items."""
    blank = Estimate(
        measure="item_clusters",
        value=None,
        n=quantities.height,
        method=_METHOD,
        reference=_SOURCE,
        cell={"column": name},
    )
    if isinstance(grouping, str):
        return replace(blank, reason=grouping)
    rows, codes, numbers = grouping
    values = quantities.drop("item").cast(pl.Float64).fill_null(np.nan).to_numpy()[rows]
    if numbers is not None:
        for column in values.T:
            defined = np.isfinite(column)
            curve = np.polynomial.Polynomial.fit(numbers[defined], column[defined], 2)
            column[defined] -= curve(numbers[defined])
    (ratios,), of_items, of_groups = _ratios(values, codes, np.arange(rows.size)[None])
    if not np.isfinite(ratios).any():
        return replace(blank, reason="no quantity of the items varies")
    tails_beyond = scipy.special.fdtrc(of_groups[0] - 1, of_items - of_groups[0], ratios)
    best = int(np.nanargmin(tails_beyond))
    f, items, groups = ratios[best], int(of_items[best]), int(of_groups[0, best])
    sizes = np.bincount(codes[np.isfinite(values[:, best])])
    mean = float((sizes**2).sum()) / items  # of the group that an item lies in
    size = (items - mean) / (groups - 1)
    tails = scipy.special.fdtri(groups - 1, items - groups, np.array([1 - _TAIL, _TAIL]))
    rho, low, high = ((ratio - 1) / (ratio - 1 + size) for ratio in (f, *(f / np.maximum(tails, 1e-12))))
    return replace(
        blank,
        n=items,
        value=float(rho),
        low=float(min(low, rho)),
        high=float(max(high, rho)),
        details={
            "quantity": quantities.columns[1 + best],
            "effect": max(1.0, 1 + (mean - 1) * float(rho)),
            "groups": groups,
            "p": _p(values[:, np.isfinite(ratios)], codes, ratios, tails_beyond, seed),
        },
    )


def _ratios(values: Floats, groups: Ints, orders: Ints) -> tuple[Floats, Floats, Ints]:
    """F of one-way analysis of variance of each quantity, with items in some orders; NaN where none varies.

    Returns:
        F, shape (orders, quantities); how many items each quantity has; how many groups, shape as F.

    Two groups of two, F = 4 / (1 / 2):

    >>> _ratios(np.array([[1.0], [2], [3], [4]]), np.array([0, 0, 1, 1]), np.arange(4)[None])[0].tolist()
    [[8.0]]
    """
    defined = np.isfinite(values).astype(np.float64)
    own, items = np.nan_to_num(values), defined.sum(0)
    own = (own - own.sum(0) / np.maximum(items, 1)) * defined
    by_group = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[by_group], prepend=-1))
    sizes, sums = (np.add.reduceat(part[orders[:, by_group]], starts, 1) for part in (defined, own))
    among, whole = (sizes > 0).sum(1), (own**2).sum(0)
    between = (sums**2 / np.maximum(sizes, 1)).sum(1)
    inside = np.maximum(whole - between, 1e-9 * whole)  # groups that agree throughout have a finite F
    varies = (among >= 2) & (items > among) & (whole > 1e-12)
    with np.errstate(divide="ignore", invalid="ignore"):
        f = between / (among - 1) / (inside / (items - among))
    return np.where(varies, f, np.nan), items, among


def _p(values: Floats, groups: Ints, ratios: Floats, tails: Floats, seed: int) -> float:
    """Whether any quantity differs between groups more than by chance.

    The largest F, held against its distribution where items are shuffled over the groups, all quantities of
    an item together; where the F tests see nothing, or there are thousands of items, their smallest p times
    their number.
    """
    items, quantities = values.shape
    least = float(min(1.0, quantities * np.nanmin(tails)))
    if least > _LOOKED_AT or items > _PERMUTED:
        return least
    top, rng, beyond = np.nanmax(ratios) - 1e-9, np.random.default_rng(seed), 0
    for times in range(0, _PERMUTATIONS, _TOGETHER):
        orders = np.array([rng.permutation(items) for _ in range(_TOGETHER)])
        reached = beyond + np.cumsum(np.nan_to_num(_ratios(values, groups, orders)[0]).max(1) >= top)
        if (beyond := int(reached[-1])) >= _ENOUGH:
            return _ENOUGH / (times + 1 + int(np.argmax(reached == _ENOUGH)))
    return (1 + beyond) / (1 + _PERMUTATIONS)


Mask = NDArray[np.bool_]

LENGTH: Final = "text_words"
"""The column of how many words an item's text has."""

ROW: Final = "table_row"
"""The column of an item's place in the table."""

CHANGES: Final = "label_changes"
"""The column that says in words whether a prompt or a repeat changes an item's label."""

_LEVELS = 50
"""A column with more values has none that is looked at by itself."""

_FEWEST = 8
"""So many items, at least, have a value that is looked at, and so many have another."""

_TAILS = {"eighth": 1 / 8, "quarter": 1 / 4, "half": 1 / 2}
"""The longest and the shortest, the first and the last: so large a share of the items."""


class Trait(NamedTuple):
    """What some items have in common.

    Attributes:
        column: A column of the items, `LENGTH` or `ROW`.
        level: Its value, or in words which lengths or rows.
        items: Which items have it.
        inside: Of a trait that goes with a property, the share of the items with it that have the property.
        outside: That of the others.
        p: Of Fisher's exact test, two-sided, times the number of traits (Bonferroni).
    """

    column: str
    level: str
    items: Mask
    inside: float = 0.0
    outside: float = 0.0
    p: float = 1.0

    @property
    def words(self) -> str:
        """It in words, after "texts"."""
        measured = self.column in (LENGTH, ROW, CHANGES)
        return self.level if measured else f"whose {in_words(self.column)} is “{self.level}”"


def traits(items: pl.DataFrame) -> Iterator[Trait]:
    """Each trait that enough items have and enough have not.

    Args:
        items: A row an item, in the table's order, with its columns; `LENGTH` and `ROW` are numbers.

    >>> table = pl.DataFrame({"language": ["de"] * 9 + ["en"] * 9})
    >>> [trait.words for trait in traits(table)]
    ['whose language is “de”', 'whose language is “en”']
    """
    for column in items.columns:
        values = items[column]
        if column in (LENGTH, ROW):
            yield from _tails(column, values.to_numpy().astype(np.float64))
            continue
        levels = values.drop_nulls().cast(pl.String).unique().sort().to_list()
        if 1 < len(levels) <= _LEVELS:
            for level in levels:
                own = (values.cast(pl.String) == level).fill_null(value=False).to_numpy()
                if _is_enough(own):
                    yield Trait(column, level, own)


def _tails(column: str, values: NDArray[np.float64]) -> Iterator[Trait]:
    """The items with the largest and with the smallest values."""
    seen: list[Mask] = []
    for part, share in _TAILS.items():
        low, high = np.ceil(np.quantile(values, share)), np.floor(np.quantile(values, 1 - share))
        levels = f"in the last {part} of the table", f"in the first {part} of the table"
        if column == LENGTH:
            levels = f"with more than {high:,.0f} words", f"with fewer than {low:,.0f} words"
        for level, own in zip(levels, (values > high, values < low), strict=True):
            if _is_enough(own) and not any((own == other).all() for other in seen):
                seen.append(own)
                yield Trait(column, level, own)


def items_at(column: str, level: str, values: NDArray[np.float64]) -> Mask:
    """Which items have a length or a place that a trait names, perhaps one of another table.

    >>> items_at(LENGTH, "with more than 1,200 words", np.array([1200.0, 1201.0])).tolist()
    [False, True]
    """
    if column == LENGTH:
        bound = float(level.split()[-2].replace(",", ""))
        return values > bound if "more" in level else values < bound
    share = next(share for part, share in _TAILS.items() if f" {part} " in level)
    return values > np.quantile(values, 1 - share) if "last" in level else values < np.quantile(values, share)


def _is_enough(own: Mask) -> bool:
    return min(int(own.sum()), int((~own).sum())) >= _FEWEST


def fisher_exact(inside: int, of_inside: int, outside: int, of_outside: int) -> float:
    """The two-sided p-value of Fisher's exact test of two shares; ``scipy.stats`` takes a second to load.

    The sum of the probabilities of all tables with the same margins that are no likelier than this one.
    A lady who names 3 of 4 cups of tea of each kind proves little, p = 34/70:

    >>> round(fisher_exact(3, 4, 1, 4), 6)
    0.485714
    """
    having = inside + outside
    tables = np.arange(max(0, having - of_outside), min(having, of_inside) + 1)
    # log C(n, k), but for the factorials of the margins, which all tables share
    parts = (tables, of_inside - tables, having - tables, of_outside - having + tables)
    log = -sum(scipy.special.gammaln(part + 1.0) for part in parts)
    chances = np.exp(log - log.max())
    return float(chances[log <= log[inside - tables[0]] + 1e-7].sum() / chances.sum())


def associated(has: Mask, among: Mask, looked_at: Iterable[Trait], chance: float = 0.01) -> list[Trait]:
    """The traits that surely go with a property, the surest first.

    Args:
        has: Which items have the property.
        among: The items of which it is known.
        looked_at: The traits.
        chance: With which probability, at most, any trait is returned where none goes with the property.

    Of 20 texts the ten in one language are wrong:

    >>> wrong = np.arange(20) < 10
    >>> table = pl.DataFrame({"language": ["de"] * 10 + ["en"] * 10})
    >>> [(one.level, one.inside, one.outside) for one in associated(wrong, wrong | True, traits(table))]
    [('de', 1.0, 0.0), ('en', 0.0, 1.0)]
    """
    tested = [trait for trait in looked_at if _is_enough(trait.items[among])]
    traits = []
    for trait in tested:
        inside, outside = among & trait.items, among & ~trait.items
        both, other = int((has & inside).sum()), int((has & outside).sum())
        p = min(1.0, len(tested) * fisher_exact(both, int(inside.sum()), other, int(outside.sum())))
        if p < chance:
            shares = both / int(inside.sum()), other / int(outside.sum())
            traits.append(trait._replace(inside=shares[0], outside=shares[1], p=p))
    return sorted(traits, key=lambda association: association.p)
