"""Which items people label: what the prompts' labels say about each, strata, and the draw."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Final, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quaver.core.annotations import ANNOTATION_COLUMNS, GOLD_COLUMNS, rows_with
from quaver.errors import ItemError, UnknownName

Floats = NDArray[np.float64]


def permanent_numbers(seed: int, items: Iterable[str], purpose: str = "draw") -> Floats:
    """A number between 0 and 1 for each item: uniform, independent of the others, the same in every round.

    The first 53 bits of BLAKE2b (8 bytes) of ``seed``, ``purpose`` and the item's id, joined by U+001F, plus
    one half, over 2^53. Anyone can compute it again, in any language.

    >>> permanent_numbers(7, ["a", "b"]).round(3).tolist()
    [0.582, 0.847]
    """
    start = blake2b(f"{seed}\x1f{purpose}\x1f".encode(), digest_size=8)
    numbers = []
    for item in items:
        digest = start.copy()
        digest.update(item.encode("utf-8", "surrogatepass"))
        numbers.append(int.from_bytes(digest.digest(), "big") >> 11)
    return (np.array(numbers, dtype=np.float64) + 0.5) / 2.0**53


def allocated(worth: Floats, least: Floats, most: Floats, total: float) -> Floats:
    """Shares of a total in proportion to ``worth``, each within its limits.

    ``x = min(most, max(least, λ · worth))``, with λ such that the shares add up to ``total``. Where the
    limits do not allow that sum, the nearest sum that they allow.

    >>> allocated(np.array([1.0, 3.0]), np.zeros(2), np.array([9.0, 5.0]), 8).round(9).tolist()
    [3.0, 5.0]
    """
    if total <= least.sum():
        return least.copy()
    if total >= most.sum():
        return most.copy()
    worth = np.maximum(worth, 1e-12 * max(float(worth.max()), 1.0))  # nothing is worth nothing at all
    low, high = 0.0, float((most / worth).max())
    while low < (middle := (low + high) / 2) < high and high - low > 1e-15 * high:
        if np.clip(middle * worth, least, most).sum() < total:
            low = middle
        else:
            high = middle
    sizes: Floats = np.clip(high * worth, least, most)
    free = (sizes > least) & (sizes < most)
    if free.any():  # the last digits of the sum
        sizes[free] *= 1 + (total - sizes.sum()) / sizes[free].sum()
    return np.clip(sizes, least, most)


def whole(shares: Floats, most: Floats) -> Floats:
    """Shares as whole numbers with the same sum: rounded down, the largest remainders up.

    >>> whole(np.array([1.6, 2.7, 0.7]), np.array([5.0, 5.0, 5.0])).tolist()
    [1.0, 3.0, 1.0]
    """
    sizes = np.floor(shares + 1e-9)
    lacking = round(float(shares.sum() - sizes.sum()))
    remainder = np.where(sizes < most, shares - sizes, -1.0)
    sizes[np.argsort(-remainder, kind="stable")[: max(lacking, 0)]] += 1
    return np.minimum(sizes, most)


Design = Literal["simple", "stratified"]
"""``simple``: every item is as likely. ``stratified``: a fixed number from each stratum."""

STRATA: Final[Mapping[Design, list[str]]] = {"simple": [], "stratified": ["predicted", "disagreement"]}
"""What tells the strata of a design apart."""

DRAW_COLUMNS: Final = {
    "item": pl.String,
    "probability": pl.Float64,
    "drawn": pl.Boolean,
    "stratum": pl.String,
    "round": pl.Int32,
}
"""A draw: a row for each item of the population. ``probability`` is that of being in the sample after all
rounds; ``round`` is the one that drew the item, null where none did, 0 where it came as part of a random
sample that a study declares."""

FLOOR: Final = 0.25
"""No probability is below this share of the mean one, so that no weight exceeds four times the mean."""

FEWEST: Final = 2
"""Fewest items of a stratum: of one, its variance cannot be estimated."""

HOW: Final = (
    "u(item) is the first 53 bits of BLAKE2b (8 bytes) of seed, 'draw' and the item's id, joined by U+001F, "
    "plus one half, over 2^53. The items of a stratum with the smallest u are drawn, as many as probability "
    "times the stratum's size. probability is that of being in the sample after all rounds. Items of round 0 "
    "came with the study as a random sample: they are drawn first, whatever their u."
)
"""How items are drawn, for whoever draws them again."""


def first_draw(items: Sequence[str], strata: Sequence[str] | None = None) -> pl.DataFrame:
    """A population of which nothing is drawn yet."""
    frame = pl.DataFrame({"item": items, "stratum": strata or ["all"] * len(items)})
    columns = {"probability": 0.0, "drawn": False, "round": None}
    frame = frame.with_columns(pl.lit(value).alias(name) for name, value in columns.items())
    return frame.select(list(DRAW_COLUMNS)).cast(DRAW_COLUMNS)  # type: ignore[arg-type]


def joined(before: pl.DataFrame, items: Sequence[str], strata: Sequence[str], number: int) -> pl.DataFrame:
    """A draw with the items that joined the population since.

    What was drawn keeps its stratum, also if it would fall into another one now. Items that joined are strata
    of their own, since rounds before could not have drawn them.
    """
    new = first_draw(items, strata).join(before, on="item", how="anti", maintain_order="left")
    if before.is_empty():
        return new
    own = pl.concat_str("stratum", pl.lit(f"; since round {number}"))
    return pl.concat([before, new.with_columns(stratum=own)])


def probabilities(before: pl.DataFrame, n: float, worth: Floats | None = None) -> Floats:
    """Each item's probability of being in a sample of a size, after what was drawn before.

    ``n_h / N_h`` in its stratum, which gets labels in proportion to its size times the root mean square of
    its items' worth (Neyman 1934), as far as limits allow: no probability is below `FLOOR` times the mean
    one, or below that of an earlier round.
    """
    square = np.ones(before.height) if worth is None else worth**2
    strata = (
        before.select("stratum", "drawn", square=pl.Series(square))
        .group_by("stratum")
        .agg(size=pl.len(), had=pl.col("drawn").sum(), square=pl.col("square").mean())
        .sort("stratum")
    )
    size, had, square = (strata[name].to_numpy().astype(float) for name in ("size", "had", "square"))
    least = np.minimum(size, np.maximum(FEWEST, np.ceil(FLOOR * n * size / size.sum() - 1e-9)))
    counts = whole(allocated(size * np.sqrt(square), np.maximum(least, had), size, n), size)
    shares = strata.select("stratum", share=pl.Series(counts / size))
    result: Floats = before.join(shares, on="stratum", how="left", maintain_order="left")["share"].to_numpy()
    return result


def drawn(
    before: pl.DataFrame, n: float, seed: int, *, number: int = 1, worth: Floats | None = None
) -> pl.DataFrame:
    """Draw a sample, or let one grow.

    The items of a stratum with the smallest permanent numbers are in it, as many as their probability says;
    simple sampling has one stratum. A later round keeps what was drawn, and the probability that it records
    is that of being in the sample after all rounds: the sample is the one that would have been drawn at once.

    Returns:
        The draw.
    """
    frame = before.with_columns(probability=pl.Series(probabilities(before, n, worth), dtype=pl.Float64))
    frame = frame.with_columns(drawn=in_sample(frame, seed))
    rounds = pl.when("drawn").then(pl.col("round").fill_null(number))
    return frame.with_columns(round=rounds).select(list(DRAW_COLUMNS)).cast(DRAW_COLUMNS)  # type: ignore[arg-type]


def declared_draw(
    items: Sequence[str], gold: Collection[str], chances: Sequence[float | None] | None = None
) -> pl.DataFrame:
    """The draw of labels that came with their items, as others drew them.

    Args:
        items: The population.
        gold: The items with a gold label.
        chances: Each item's probability of having one, None outside the sampled population; if left out, each
            was as likely as any other.

    >>> declared_draw(["a", "b"], ["b"]).select("item", "probability", "drawn").rows()
    [('a', 0.5, False), ('b', 0.5, True)]
    """
    frame = first_draw(items).with_columns(drawn=pl.col("item").is_in([*gold]))
    alike = pl.col("drawn").mean()
    chance = alike if chances is None else pl.Series(chances, dtype=pl.Float64)
    frame = frame.with_columns(probability=chance)
    of_sample = pl.col("drawn") & pl.col("probability").is_not_null()
    return frame.with_columns(drawn=of_sample, round=pl.when(of_sample).then(1)).cast(DRAW_COLUMNS)  # type: ignore[arg-type]


def chance_of(fields: Mapping[str, object], column: str, item: str) -> float | None:
    """An item's probability of being drawn, as its table has it; None of an empty cell.

    Raises:
        ItemError: It is no probability, or there is no such column.
    """
    if column not in fields:
        raise UnknownName("column", column, fields, where="gold: probability")
    cell = fields[column]
    if cell is None or not str(cell).strip():
        return None
    try:
        chance = float(str(cell))
    except ValueError:
        chance = 0.0
    if not 0 < chance <= 1:
        raise ItemError(
            f"the probability of drawing item {item} is none",
            where=f"gold: probability: {column}",
            expected="a number above 0, at most 1; nothing where the item could not be drawn",
            found=str(cell)[:80],
        )
    return chance


def in_sample(draw: pl.DataFrame, seed: int) -> pl.Series:
    """Which items of a population the seed and the probabilities draw; `drawn` says how."""
    number = pl.Series(permanent_numbers(seed, draw["item"]))
    frame = draw.with_columns(number=pl.when(pl.col("round") == 0).then(0.0).otherwise(number))
    rank = pl.struct("number", "item").rank("ordinal").over("stratum")
    count = (pl.col("probability") * pl.len().over("stratum")).round()
    return frame.select(rank <= count).to_series()


_INDEPENDENT = 4
"""Prompts of one model err together: however many there are, they count as at most this many."""

SPLIT = 0.75
"""An item's prompts are split where fewer than this share of its answers give the most frequent label."""


def label_probabilities(shares: Floats, answers: Floats) -> Floats:
    """The probability of each label of each item: the shares of its answers, drawn towards equal ones.

    ``p = (m · share + 1 / L) / (m + 1)`` with ``m`` answers (4 at most) and ``L`` labels, so that
    a label on which eight prompts agree still counts as wrong at times.
    """
    weight = np.minimum(answers, _INDEPENDENT)[:, None]
    probabilities: Floats = (weight * shares + 1 / shares.shape[1]) / (weight + 1)
    return probabilities


def doubt_about(probabilities: Floats) -> Floats:
    """For each item, the standard deviation that is expected of its residual, over all labels."""
    doubt: Floats = np.sqrt(np.maximum(1 - (probabilities**2).sum(1), 0.0))
    return doubt


def predicted_labels(
    annotations: pl.DataFrame | None,
    items: Sequence[str],
    labels: Sequence[str],
) -> tuple[Floats, Floats]:
    """Count the labels that the prompts of a study gave to each item.

    Returns:
        The share of an item's valid answers that give each label, shape (items, labels), 0 in all where it
        has none; and how many answers an item has a label from.
    """
    counts = np.zeros((len(items), len(labels)))
    if annotations is not None and annotations.height:
        first = annotations["evaluator"].cast(pl.String)[0]
        counted = (
            rows_with(annotations, "evaluator", first)
            .drop_nulls("label")
            .group_by(pl.col("item").cast(pl.String), pl.col("label").cast(pl.String))
            .len()
        )
        rows = pl.DataFrame({"item": list(items)}, schema={"item": pl.String}).with_row_index("row")
        columns = pl.DataFrame({"label": list(labels)}, schema={"label": pl.String}).with_row_index("column")
        there = counted.join(rows, on="item").join(columns, on="label")
        counts[there["row"].to_numpy(), there["column"].to_numpy()] = there["len"].to_numpy()
    answers: Floats = counts.sum(1)
    return counts / np.maximum(answers, 1)[:, None], answers


_Z: Final = 1.959963984540054


def expected_width(p: Floats, chances: Floats) -> float:
    """How wide the widest 95% interval of a label's corrected share is expected to be, from end to end.

    The variance of an estimate is ``Σ (1 / π_i − 1) e_i² / N² + s² / N``: that of the difference estimator
    (Särndal, Swensson & Wretman 1992, ch. 6) for the drawn items, and that of the items themselves as a
    sample of texts like these; ``e_i² = p_i (1 − p_i)`` where the prompts' labels give a label the
    probability ``p_i``.
    """
    size = chances.size
    mean = p.mean(0)
    weight = 1 / np.maximum(chances, 1e-300) - 1
    variance = (weight[:, None] * p * (1 - p)).sum(0) / size**2 + mean * (1 - mean) / size
    return float(2 * _Z * np.sqrt(variance.max()))


def with_gold(
    annotations: pl.DataFrame,
    known: Mapping[str, str | None],
    draw: pl.DataFrame,
    gold: Mapping[str, str],
    apart: Mapping[str, str],
) -> pl.DataFrame:
    """Annotations with the gold labels and the draw that a study has now.

    A drawn item's gold label is the one that its coders settled on, and null until they have, whatever other
    label it came with: a label that was there because the item is easy, or hard, is no part of the sample.
    """
    labels = [(item, apart.get(item, label), gold.get(item)) for item, label in known.items()]
    items = pl.DataFrame(labels, dict.fromkeys(("item", "own", "coded"), pl.String), orient="row")
    items = items.join(
        draw.rename(lambda name: name if name == "item" else f"gold_{name}"), on="item", how="left"
    )
    label = pl.when(pl.col("gold_drawn").fill_null(False)).then("coded").otherwise("own")
    columns = items.with_columns(gold=label).select(
        "item", *(pl.col(name).cast(ANNOTATION_COLUMNS[name]) for name in GOLD_COLUMNS)
    )
    order, kind = annotations.columns, annotations.schema["item"]
    bare = annotations.drop(GOLD_COLUMNS, strict=False).with_columns(pl.col("item").cast(pl.String))
    joined = bare.join(columns, on="item", how="left", maintain_order="left")
    more = [name for name in GOLD_COLUMNS if name not in order]
    return joined.with_columns(pl.col("item").cast(kind)).select([*order, *more])


OTHER: Final = "the rest"
"""The stratum of those that are too small to get two labels each."""


def strata_of(labels: Sequence[str], shares: Floats, n: float) -> list[str]:
    """The stratum of each item in a sample of about a size: the models' label, and whether they agree on it.

    >>> strata_of(["a", "b"], np.array([[0.8, 0.2], [0.0, 0.0]]), 4)
    ['predicted=a, disagreement=agreed', 'predicted=no label, disagreement=split']
    """
    names, most = np.array([*labels, "no label"], dtype=object), shares.max(1, initial=0.0)
    modal = names[np.where(most > 0, shares.argmax(1), -1)]
    split = np.where(most >= SPLIT, "agreed", "split")
    strata = [f"predicted={label}, disagreement={how}" for label, how in zip(modal, split, strict=True)]
    sizes = Counter(strata)
    small = {name: OTHER for name, size in sizes.items() if size * n < FEWEST * len(strata)}
    return strata if len(small) < 2 else [small.get(name, name) for name in strata]
