"""The strata that items are drawn from: by groups, by the prompts' label, by whether the prompts disagree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from quaver.gold.prompt_labels import Predicted

PREDICTED: Final = "predicted"
DISAGREEMENT: Final = "disagreement"
OTHER: Final = "the rest"
"""The stratum of those that are too small to get two labels each."""

_FEWEST = 2


def strata_of(
    by: Sequence[str], predicted: Predicted, columns: Mapping[str, Sequence[str]], n: float
) -> list[str]:
    """The stratum of each item.

    Args:
        by: What tells strata apart: ``predicted``, ``disagreement``, or one of the columns.
        predicted: The prompts' labels.
        columns: The items' groups by column, each in the items' order.
        n: The sample's size. Strata that would get fewer than two labels are joined.

    >>> from quaver.gold.prompt_labels import predicted_labels
    >>> nothing = predicted_labels(None, ["1", "2", "3", "4"], ["a", "b"])
    >>> strata_of(["party"], nothing, {"party": ["D", "D", "R", "R"]}, 4)
    ['party=D', 'party=D', 'party=R', 'party=R']
    """
    known = {**columns}
    if PREDICTED in by:
        known[PREDICTED] = predicted.modal
    if DISAGREEMENT in by:
        known[DISAGREEMENT] = predicted.disagreement
    if not by:
        return ["all"] * len(predicted.items)
    parts = [[f"{name}={value}" for value in known[name]] for name in by]
    strata = [", ".join(row) for row in zip(*parts, strict=True)]
    sizes = Counter(strata)
    small = {name for name, size in sizes.items() if size * n < _FEWEST * len(strata)}
    return strata if len(small) < 2 else [OTHER if name in small else name for name in strata]
