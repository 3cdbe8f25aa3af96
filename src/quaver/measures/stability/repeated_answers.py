"""Stability of repeated answers to one prompt: strict, by the modal label, and by entropy.

Each is a number for every item in every condition, and its mean over items, averaged over conditions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from quaver.estimation.cells import Missing
from quaver.estimation.coded_columns import Ints
from quaver.estimation.declaration import measure
from quaver.estimation.jackknife import Floats
from quaver.estimation.means import entropy, mean_defined, of_known, over_strata, quotient
from quaver.estimation.statistic import Cell, Statistic
from quaver.measures.stability.prompt_stability import CONDITION


@measure(raters=("repeat",), within=CONDITION, estimands=("fixed", "population"))
def strict_stability(cell: Cell) -> Iterator[Statistic]:
    """Strict stability: the share of items whose repeats all gave the same label.

    An item counts 0 where any repeat is blank (an answer without a label), or any two labels differ.
    Items with one repeat do not count, and labels outside the label set are blanks. Computed within each
    condition and averaged over those. ``by=["item"]`` gives each item's own. Undefined where no item has two
    repeats.

    Returns:
        An estimate for each cell; ``details["sd"]`` is the standard deviation over items.

    >>> import polars as pl
    >>> answers = ["a", "a", "a", "a", None, "b", "b", "b", "b"]
    >>> frame = pl.DataFrame({"item": [1, 1, 1, 2, 2, 2, 3, 3, 3], "repeat": [0, 1, 2] * 3, "label": answers})
    >>> round(strict_stability(frame)[0].value, 4)  # items 1 and 3 of three
    0.6667
    """
    asked = _asked(cell)
    own = np.where(asked >= 2, cell.counts().max(2, initial=0.0) == asked, np.nan)
    yield _over_items(cell, own, Statistic(method="share of items whose repeats are all the same label"))


@measure(
    missing=("category", "drop"), raters=("repeat",), within=CONDITION, estimands=("fixed", "population")
)
def mode_frequency(cell: Cell, *, missing: Missing) -> Iterator[Statistic]:
    """Mode frequency: how often an item's repeats gave its modal label.

    The mean over items of max_v n_v / Σ_v n_v, within each condition, averaged over those. Items with one
    repeat do not count, nor does an item that never got a label in a condition: a model that never answers
    is not stable. These are counted in ``excluded``. Undefined where no item has two repeats, one with a
    label.

    Args:
        missing: ``"category"``: a blank (an answer without a label, or with one outside the label set) is an
            answer of its own; ``"drop"``: it is left out.

    Returns:
        An estimate for each cell; ``details["sd"]`` is the standard deviation over items.

    >>> import polars as pl
    >>> answers = ["a", "a", "a", "a", None, "b", "b", "b", "b"]
    >>> frame = pl.DataFrame({"item": [1, 1, 1, 2, 2, 2, 3, 3, 3], "repeat": [0, 1, 2] * 3, "label": answers})
    >>> round(mode_frequency(frame)[0].value, 4)  # (1 + 1/3 + 1) / 3
    0.7778
    """
    counts = cell.counts()
    own = np.where(_answered(cell), quotient(counts.max(2, initial=0.0), counts.sum(2)), np.nan)
    statistic = Statistic(
        method=f"share of an item's repeats that gave its modal label ({_blanks(missing)})",
        excluded=cell.counted if missing == "drop" else {},
    )
    yield _over_items(cell, own, statistic)


@measure(
    missing=("category", "drop"), raters=("repeat",), within=CONDITION, estimands=("fixed", "population")
)
def answer_entropy(cell: Cell, *, missing: Missing) -> Iterator[Statistic]:
    """Answer entropy: the entropy of an item's repeated answers, in bits.

    The mean over items of −Σ_v p_v log2 p_v, with p_v = n_v / Σ_v n_v, within each condition, averaged over
    those; 0 where all repeats agree. Items with one repeat do not count, nor does an item that never got a
    label in a condition (counted in ``excluded``). It grows with the number of repeats: compare only where
    that is equal. Undefined where no item has two repeats, one with a label.

    Args:
        missing: ``"category"``: a blank (an answer without a label, or with one outside the label set) is an
            answer of its own; ``"drop"``: it is left out.

    Returns:
        An estimate for each cell; ``details["sd"]`` is the standard deviation over items.

    >>> import polars as pl
    >>> answers = ["a", "a", "a", "a", None, "b", "b", "b", "b"]
    >>> frame = pl.DataFrame({"item": [1, 1, 1, 2, 2, 2, 3, 3, 3], "repeat": [0, 1, 2] * 3, "label": answers})
    >>> round(answer_entropy(frame)[0].value, 4)  # (0 + log2 3 + 0) / 3
    0.5283
    """
    counts = cell.counts()
    own = np.where(_answered(cell), entropy(counts) / np.log(2), np.nan)
    statistic = Statistic(
        method=f"mean entropy of an item's repeated answers in bits ({_blanks(missing)})",
        excluded=cell.counted if missing == "drop" else {},
    )
    kinds = len(cell.labels) + (missing == "drop")  # a blank is one more
    most = float(np.log2(max(2, min(kinds, len(cell.raters)))))
    yield _over_items(cell, own, statistic, most)


def _over_items(cell: Cell, own: Floats, statistic: Statistic, highest: float = 1.0) -> Statistic:
    """The mean over items, averaged over conditions, of numbers from 0 to ``highest``."""
    defined = np.isfinite(own)
    item = mean_defined(own)
    never = int(((_asked(cell) >= 2) & ~defined).sum())
    statistic = replace(
        statistic,
        excluded={**statistic.excluded, "item that never got a label": never},
        n=defined.any(1),
        details={"repeats": len(cell.raters), "conditions": len(cell.strata)},
    )
    if not defined.any():
        few = len(cell.raters) < 2
        why = "fewer than two repeats" if few else "no item was answered in two repeats"
        why = "no answer has a label" if never else why
        return replace(statistic, reason=why if cell.items else "no annotations")
    sd = float(np.nanstd(item, ddof=1)) if np.isfinite(item).sum() > 1 else None
    return replace(
        statistic,
        under=over_strata(of_known(own)),
        ends=(0.0, highest),
        details={**statistic.details, "sd": sd},
    )


def _blanks(missing: Missing) -> str:
    return "blanks a category" if missing == "category" else "blanks left out"


def _asked(cell: Cell) -> Ints:
    """How many answers each item got in each condition, with a label or without."""
    return np.asarray(((cell.codes >= 0) | cell.unanswered).sum(2))


def _answered(cell: Cell) -> NDArray[np.bool_]:
    """Where an item got a label from one repeat at least, of two or more; shape (items, conditions)."""
    return (_asked(cell) >= 2) & ((cell.codes >= 0) & ~cell.unanswered).any(2)
