"""Groups of items whose outcomes go together: what they do to the variance of a contrast."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from quaver.errors import MeasureError
from quaver.estimation.arrangement import UnknownColumn
from quaver.estimation.bootstrap import Floats, Units


@dataclass(frozen=True, slots=True)
class ItemGroups:
    """Which group each item is in.

    Attributes:
        name: The groups' column; None where items are resampled.
        of: The group of each item that has one, both as text.
    """

    name: str | None = None
    of: Mapping[str, str] = field(default_factory=dict)

    def units(self, items: Sequence[str]) -> Units:
        """What is resampled of these items; an item without a group is its own.

        >>> ItemGroups("author", {"i": "x", "k": "x"}).units(["i", "j", "k"]).clusters.tolist()
        [0, 1, 0]
        """
        if self.name is None:
            return Units(len(items))
        keys = [(True, self.of[item]) if item in self.of else (False, item) for item in items]
        place = {key: at for at, key in enumerate(dict.fromkeys(keys))}
        return Units(len(items), np.array([place[key] for key in keys], np.int64), self.name)


def item_groups(frame: pl.DataFrame, group: str | None) -> ItemGroups:
    """The groups of a frame's items.

    Args:
        frame: With the column ``item``.
        group: The column that groups them; None: nothing does.

    Raises:
        UnknownColumn: There is no such column.
        MeasureError: An item is in two groups.
    """
    if group is None:
        return ItemGroups()
    if group not in frame.columns:
        raise UnknownColumn(group, frame.columns, where="group")
    pairs = frame.select(item=pl.col("item").cast(pl.String), group=pl.col(group).cast(pl.String))
    pairs = pairs.drop_nulls().unique()
    if (twice := pairs.filter(pl.col("item").is_duplicated())).height:
        raise MeasureError(
            f"an item with two values of group {group!r}",
            where="annotations",
            expected="one value in all rows of an item",
            found=f"item {sorted(twice['item'].to_list())[0]}",
        )
    return ItemGroups(group, dict(pairs.iter_rows()))


_NEARLY_ONE = 1e-8


class Groups:
    """Items in groups.

    Args:
        codes: The group of each item, whole numbers from 0.

    Attributes:
        codes: The same.
        count: How many groups there are.
        pairs: How many ordered pairs of items share a group.
    """

    def __init__(self, codes: NDArray[np.int64]) -> None:
        self.codes = np.unique(codes, return_inverse=True)[1].astype(np.int64)
        self.count = int(self.codes.max(initial=-1)) + 1
        sizes = np.bincount(self.codes, minlength=self.count)
        self.pairs = float((sizes * (sizes - 1.0)).sum())
        ones, at = np.ones(self.codes.size), np.arange(self.codes.size)
        self._indicator = sparse.csr_matrix((ones, (self.codes, at)), shape=(self.count, self.codes.size))

    def sums(self, values: Floats) -> Floats:
        """The sum over each group's items, shape (items, columns) -> (groups, columns)."""
        return np.asarray(self._indicator @ values)

    def products(self, values: Floats) -> Floats:
        """Σ v_i v_j over the pairs of different items that share a group, for each column.

        >>> Groups(np.array([0, 0, 1])).products(np.array([[2.0], [3.0], [5.0]]))
        array([12.])
        """
        return np.asarray((self.sums(values) ** 2).sum(0) - (values**2).sum(0))


def reduced_levers(basis: Floats, lever: Floats, groups: Groups | None) -> Floats:
    """Levers whose squared sums with residuals are unbiased where outcomes are independent and alike.

    The variance of Σ a_i y_i from the residuals e of a least-squares fit is Σ_g (Σ_{i in g} w_i e_i)² with
    w_g = (I − H_gg)^(−1/2) a_g: HC2 where each item is a group of its own, else CR2. Source: Bell & McCaffrey
    (2002), Survey Methodology 28, 169-181; Pustejovsky & Tipton (2018), Journal of Business & Economic
    Statistics 36, 672-683.

    Args:
        basis: Orthonormal columns that span those of the design, shape (items, columns).
        lever: a, shape (items,).
        groups: The groups; None where items are on their own.

    Of a mean of n items, w = a / √(1 − 1/n), and Σ w²e² = s²/n:

    >>> reduced_levers(np.full((4, 1), 0.5), np.full(4, 0.25), None).round(4).tolist()
    [0.2887, 0.2887, 0.2887, 0.2887]
    """
    if groups is None:
        left = 1.0 - (basis**2).sum(1)
        return np.asarray(np.where(left > _NEARLY_ONE, lever / np.sqrt(np.maximum(left, _NEARLY_ONE)), 0.0))
    size = basis.shape[1]
    grams = groups.sums((basis[:, :, None] * basis[:, None, :]).reshape(len(basis), -1))
    hats, turned = np.linalg.eigh(grams.reshape(-1, size, size))
    left = 1.0 - hats
    power = np.where(left > _NEARLY_ONE, 1 / np.sqrt(np.maximum(left, _NEARLY_ONE)), 0.0) - 1
    factor = np.where(hats > _NEARLY_ONE, power / np.maximum(hats, _NEARLY_ONE), 0.5)
    along = groups.sums(basis * lever[:, None])
    moved = np.einsum("gij,gj,gkj,gk->gi", turned, factor, turned, along)
    return np.asarray(lever + (basis * moved[groups.codes]).sum(1))


def variance_ratio(basis: Floats, lever: Floats, residuals: Floats, groups: Groups) -> Floats:
    """The variance of a contrast with items in groups over that with items on their own: CR2 / HC2.

    Args:
        basis: As in `reduced_levers`.
        lever: As there.
        residuals: Of the fit, shape (items, columns).
        groups: The groups.

    Returns:
        For each column; 1 where no residual differs from 0.
    """
    alone = ((reduced_levers(basis, lever, None)[:, None] * residuals) ** 2).sum(0)
    together = (groups.sums(reduced_levers(basis, lever, groups)[:, None] * residuals) ** 2).sum(0)
    return np.asarray(np.where(alone > 0, together / np.where(alone > 0, alone, 1.0), 1.0))
