"""The options of a round of a gold sample, which ``quaver gold`` and ``study.gold`` share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, TypedDict

from quaver.core.options import Option


class GoldOptions(TypedDict, total=False):
    """A round of a gold sample.

    Attributes:
        n: Items in the whole sample. Those of earlier rounds are among them.
        design: simple or stratified; stratified where models have labelled the items. That of the first round
            in later ones.
        coders: The coders' names, separated by commas. Those of the round before, or one, if left out.
        overlap: The share of items that every coder labels; 0.2 by default.
    """

    n: Annotated[int | None, Option(least=1, flags=("--n", "-n"))]
    design: Literal["simple", "stratified"] | None
    coders: Sequence[str] | None
    overlap: Annotated[float | None, Option(least=0, most=1)]
