"""Items drawn into the gold sample with known probabilities, in rounds that grow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

import numpy as np
import polars as pl

from quaver.gold.allocation import allocated, whole
from quaver.gold.permanent_numbers import Floats, permanent_numbers

Design = Literal["simple", "stratified", "poisson"]
"""``simple``: every item is as likely. ``stratified``: a fixed number from each stratum. ``poisson``: each
item by itself, with a probability of its own."""

DRAW_COLUMNS: Final = {
    "item": pl.String,
    "probability": pl.Float64,
    "drawn": pl.Boolean,
    "stratum": pl.String,
    "round": pl.Int32,
}
"""A draw: a row for each item of the population. ``probability`` is that of being in the sample after all
rounds; ``round`` is the one that drew the item, null where none did."""

FLOOR: Final = 0.25
"""No probability is below this share of the mean one, so that no weight exceeds four times the mean."""

_FEWEST = 2
"""Fewest items of a stratum: of one, its variance cannot be estimated."""


def first_draw(items: Sequence[str], strata: Sequence[str] | None = None) -> pl.DataFrame:
    """A population of which nothing is drawn yet.

    Args:
        items: The ids.
        strata: The stratum of each; all in one if left out.
    """
    return pl.DataFrame(
        {
            "item": list(items),
            "probability": [0.0] * len(items),
            "drawn": [False] * len(items),
            "stratum": ["all"] * len(items) if strata is None else list(strata),
            "round": [None] * len(items),
        },
        schema=DRAW_COLUMNS,
    )


def joined(before: pl.DataFrame, items: Sequence[str], strata: Sequence[str], number: int) -> pl.DataFrame:
    """A draw with the items that joined the population since.

    What was drawn keeps its stratum, also if it would fall into another one now. Items that joined are strata
    of their own, since rounds before could not have drawn them.

    Args:
        before: The draw until now.
        items: The ids of today's population.
        strata: Their strata.
        number: The round that comes.
    """
    known = set(before["item"])
    new = [
        (item, f"{stratum}; since round {number}")
        for item, stratum in zip(items, strata, strict=True)
        if item not in known
    ]
    if not new:
        return before
    return pl.concat([before, first_draw([one[0] for one in new], [one[1] for one in new])])


def stratified_draw(
    before: pl.DataFrame, n: int, seed: int, number: int = 1, worth: Floats | None = None
) -> pl.DataFrame:
    """Draw a fixed number from each stratum, without replacement: simple sampling where there is one stratum.

    The items of a stratum with the smallest permanent numbers are in the sample. An item's probability is
    ``n_h / N_h``, also after several rounds: a round moves ``n_h`` up and never looks at a gold label.

    Args:
        before: The draw until now, or ``first_draw``.
        n: The size of the whole sample, with what was drawn before. Where strata need more, it is larger.
        seed: The sample's seed, the same in all rounds.
        number: The round's number.
        worth: For each item, how far a label of it is expected to narrow the interval (the standard deviation
            of its residual). A stratum gets labels in proportion to its size times the root mean square of
            these (Neyman 1934); without them, in proportion to its size.

    Returns:
        The draw.
    """
    frame = before.with_columns(
        number=permanent_numbers(seed, before["item"]),
        worth=np.ones(before.height) if worth is None else worth,
    )
    strata = (
        frame.group_by("stratum")
        .agg(
            size=pl.len(), had=pl.col("drawn").sum(), worth=(pl.col("worth").pow(2).mean().sqrt() * pl.len())
        )
        .sort("stratum")
    )
    size, had = (strata[name].to_numpy().astype(float) for name in ("size", "had"))
    least = np.minimum(size, np.maximum(_FEWEST, np.ceil(FLOOR * n * size / size.sum() - 1e-9)))
    least = np.maximum(least, had)
    counts = whole(allocated(strata["worth"].to_numpy(), least, size, n), size)
    taken = strata.select("stratum", "size", wanted=pl.Series(counts))
    rank = pl.struct("number", "item").rank("ordinal").over("stratum")
    drawn = frame.join(taken, on="stratum", how="left", maintain_order="left").with_columns(rank=rank)
    return drawn.select(
        "item",
        probability=pl.col("wanted") / pl.col("size"),
        drawn=pl.col("rank") <= pl.col("wanted"),
        stratum="stratum",
        round=pl.when(pl.col("rank") <= pl.col("wanted")).then(pl.col("round").fill_null(number)),
    ).cast(DRAW_COLUMNS)  # type: ignore[arg-type]


def poisson_draw(
    before: pl.DataFrame, n: float, seed: int, number: int = 1, worth: Floats | None = None
) -> pl.DataFrame:
    """Draw each item by itself, with a probability of its own: the sample's size is random, ``n`` its mean.

    An item is in the sample if its permanent number is at most its probability. The probability of a later
    round is never below that of an earlier one, so that it is the item's probability over all rounds.

    Args:
        before: The draw until now, or ``first_draw``.
        n: The expected size of the whole sample.
        seed: The sample's seed, the same in all rounds.
        number: The round's number.
        worth: What the probabilities are in proportion to, as far as their limits allow: the standard
            deviation that is expected of each item's residual.

    Returns:
        The draw.
    """
    floor = np.full(before.height, min(1.0, FLOOR * n / before.height))
    least = np.maximum(floor, before["probability"].to_numpy())
    size = np.ones(before.height) if worth is None else worth
    probability = allocated(size, least, np.ones(before.height), n)
    drawn = permanent_numbers(seed, before["item"]) <= probability
    known = before["round"].to_list()
    rounds = [(old or number) if here else None for old, here in zip(known, drawn, strict=True)]
    return before.with_columns(
        probability=pl.Series(probability),
        drawn=pl.Series(drawn),
        round=pl.Series(rounds, dtype=pl.Int32),
    )
