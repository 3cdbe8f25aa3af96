"""Sides whose labels hardly meet are not compared: the error shows both and proposes merges."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable

from quaver.core.label_decisions import label_line
from quaver.core.labels import number_of
from quaver.errors import QuaverError

_SHOWN = 8
"""Pairs of labels that an error shows; where more would have to be merged, it proposes no merges."""

_MOST_CODES = 30
"""Where there are more numbers than a codebook has codes, they are measurements."""


def do_meet(left: Iterable[str], right: Iterable[str]) -> bool:
    """Whether half of the labels of the side that has fewer occur on the other; a side of one label does.

    >>> do_meet(["pos", "neg", "neutral"], ["positive", "negative", "neutral"]), do_meet("abc", "ab")
    (False, True)
    """
    one, other = {*left}, {*right}
    fewest = min(len(one), len(other))
    return fewest < 2 or 2 * len(one & other) >= fewest


def check_meeting(
    names: tuple[str, str], together: Counter[tuple[str, str]], where: str, option: str = "--labels"
) -> None:
    """Refuse to compare two sides whose labels hardly meet.

    Args:
        names: What the sides are called.
        together: How often a label of the first side stands beside one of the second.
        where: The file.
        option: That which gives the label set.

    Raises:
        QuaverError: They do not meet; it says what stands beside what, and which option merges them.
    """
    left, right = ({pair[side] for pair in together} for side in (0, 1))
    if do_meet(left, right):
        return
    if len(left | right) > _MOST_CODES and all(number_of(text) is not None for text in left | right):
        raise QuaverError(
            f"the labels of {names[0]} and of {names[1]} are numbers that hardly meet",
            where=where,
            expected="labels of which half on one side, or more, occur on the other",
            found=f"{len(left):,} and {len(right):,} different numbers",
            fix='measure them as numbers: --level "interval", or --level "ratio" where zero means none',
        )
    merged: dict[str, str] = {}
    for (one, other), _ in together.most_common():
        if one not in right and other not in left and other not in merged and one not in merged.values():
            merged[other] = one
    beside = [f"{one!r} beside {other!r} {n:,} times" for (one, other), n in together.most_common(_SHOWN)]
    same = shlex.quote(",".join(f"{other}={one}" for other, one in merged.items()))
    merges = f"if they mean the same: --same {same}; if not, " if 0 < len(merged) <= _SHOWN else ""
    raise QuaverError(
        f"the labels of {names[0]} and of {names[1]} hardly meet",
        where=where,
        expected="half of the labels of one side, or more, among those of the other",
        found=f"{names[0]}: {label_line(sorted(left))}; {names[1]}: {label_line(sorted(right))}; "
        + ", ".join(beside)
        + ", …" * (len(together) > _SHOWN),
        fix=f"{merges}list all of them with {option}",
    )
