"""What items with a property have in common that others have not: a column's value, a length, a place.

The property may be that an item's labels are wrong, that another prompt changes them, that no answer labels
it, or that a person did. Each trait is tested by itself, exactly, and the tests are one family.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import numpy as np
import polars as pl
import scipy
from numpy.typing import NDArray

from quaver.core.column_names import in_words

Mask = NDArray[np.bool_]

LENGTH: Final = "text_words"
"""The column of how many words an item's text has."""

ROW: Final = "table_row"
"""The column of an item's place in the table."""

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
    """

    column: str
    level: str
    items: Mask

    @property
    def words(self) -> str:
        """It in words, after "texts"."""
        measured = self.column in (LENGTH, ROW)
        return self.level if measured else f"whose {in_words(self.column)} is “{self.level}”"


class Association(NamedTuple):
    """A trait that surely goes with a property.

    Attributes:
        trait: Which.
        inside: The share of the items with the trait that have the property.
        outside: That of the others.
        p: Of Fisher's exact test, two-sided, times the number of traits (Bonferroni).
    """

    trait: Trait
    inside: float
    outside: float
    p: float


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
        for level in levels:
            own = in_tail(level, values)
            if _is_enough(own) and not any((own == other).all() for other in seen):
                seen.append(own)
                yield Trait(column, level, own)


def in_tail(level: str, values: NDArray[np.float64]) -> Mask:
    """Which items have so many words, or stand there in a table of which these are the rows.

    >>> in_tail("with more than 3 words", np.array([2.0, 3.0, 4.0])).tolist()
    [False, False, True]
    >>> in_tail("in the first half of the table", np.array([1.0, 2.0, 3.0, 4.0])).tolist()
    [True, True, False, False]
    """
    words = level.split()
    is_upper = words[1] == "more" or words[2] == "last"
    if words[0] == "with":
        end = float(words[3].replace(",", ""))
    else:
        share = _TAILS[words[3]]
        end = float(
            np.floor(np.quantile(values, 1 - share)) if is_upper else np.ceil(np.quantile(values, share))
        )
    return values > end if is_upper else values < end


def _is_enough(own: Mask) -> bool:
    return min(int(own.sum()), int((~own).sum())) >= _FEWEST


def associated(has: Mask, among: Mask, looked_at: Iterable[Trait], chance: float = 0.01) -> list[Association]:
    """The traits that surely go with a property, the surest first.

    Args:
        has: Which items have the property.
        among: The items of which it is known.
        looked_at: The traits.
        chance: With which probability, at most, any trait is returned where none goes with the property.

    Of 20 texts the ten in one language are wrong:

    >>> wrong = np.arange(20) < 10
    >>> table = pl.DataFrame({"language": ["de"] * 10 + ["en"] * 10})
    >>> [(one.trait.level, one.inside, one.outside) for one in associated(wrong, wrong | True, traits(table))]
    [('de', 1.0, 0.0), ('en', 0.0, 1.0)]
    """
    tested = [trait for trait in looked_at if _is_enough(trait.items[among])]
    found = []
    for trait in tested:
        inside, outside = among & trait.items, among & ~trait.items
        both, other = int((has & inside).sum()), int((has & outside).sum())
        table = [[both, int(inside.sum()) - both], [other, int(outside.sum()) - other]]
        p = min(1.0, len(tested) * float(scipy.stats.fisher_exact(table)[1]))
        if p < chance:
            found.append(Association(trait, both / int(inside.sum()), other / int(outside.sum()), p))
    return sorted(found, key=lambda one: one.p)
