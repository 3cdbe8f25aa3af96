"""Sides whose labels hardly meet are not compared: the error shows both and proposes merges."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence, Set

import polars as pl

from quaver.core.label_decisions import label_line
from quaver.core.labels import number_of
from quaver.errors import QuaverError

_SHOWN = 8
"""Pairs of labels that an error shows; where more would have to be merged, it proposes no merges."""

_MOST_CODES = 30
"""Where there are more numbers than a codebook has codes, they are measurements."""


def check_sides(given: pl.DataFrame, where: str, option: str = "--labels") -> None:
    """Refuse to compare sides of which one has hardly any label of the others.

    Args:
        given: The labels: ``item``, ``side`` (a coder, a column) and ``label``.
        where: The file.
        option: That which gives the label set.

    Raises:
        QuaverError: They do not meet; it says what stands beside what, and which option merges them.
    """
    by_side = given.group_by("side", maintain_order=True).agg(pl.col("label").unique())
    own = {side: {*labels} for side, labels in by_side.rows()}
    having = Counter(label for labels in own.values() for label in labels)
    for side in own:
        if _do_meet(
            own[side], {written for written, number in having.items() if number > (written in own[side])}
        ):
            continue
        is_own = pl.col("side") == side
        pairs = given.filter(is_own).join(given.filter(~is_own), on="item")
        together = Counter[tuple[str, str]](pairs.select("label", "label_right").rows())
        left, right = ({pair[index] for pair in together} for index in (0, 1))
        if not _do_meet(left, right):
            others = "the others" if len(own) > 2 else next(other for other in own if other != side)
            raise _apart((side, others), (left, right), together.most_common(), where, option)


def _do_meet(left: Set[str], right: Set[str]) -> bool:
    """Whether half of the labels of the side that has fewer occur on the other; a side of one label does."""
    fewest = min(len(left), len(right))
    return fewest < 2 or 2 * len(left & right) >= fewest


def _apart(
    names: tuple[str, str],
    sides: tuple[set[str], set[str]],
    together: Sequence[tuple[tuple[str, str], int]],
    where: str,
    option: str,
) -> QuaverError:
    left, right = sides
    if len(left | right) > _MOST_CODES and all(number_of(text) is not None for text in left | right):
        return QuaverError(
            f"the labels of {names[0]} and of {names[1]} are numbers that hardly overlap",
            where=where,
            expected="labels of which half on one side, or more, occur on the other",
            found=f"{len(left):,} and {len(right):,} different numbers",
            fix='measure them as numbers: --level "interval", or --level "ratio" where zero means none',
        )
    merged: dict[str, str] = {}
    for (left_word, other), _ in together:
        if (
            left_word not in right
            and other not in left
            and other not in merged
            and left_word not in merged.values()
        ):
            merged[other] = left_word
    beside = [f"{left_word!r} beside {other!r} {n:,} times" for (left_word, other), n in together[:_SHOWN]]
    same = shlex.quote(",".join(f"{other}={left_word}" for other, left_word in merged.items()))
    merges = f"if they mean the same: --same {same}; if not, " if 0 < len(merged) <= _SHOWN else ""
    return QuaverError(
        f"the labels of {names[0]} and of {names[1]} hardly overlap",
        where=where,
        expected="half of the labels of one side, or more, among those of the other",
        found=f"{names[0]}: {label_line(sorted(left))}; {names[1]}: {label_line(sorted(right))}; "
        + ", ".join(beside)
        + ", …" * (len(together) > _SHOWN),
        fix=f"{merges}list all of them with {option}",
    )
