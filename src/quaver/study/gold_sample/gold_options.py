"""The options of a round of a gold sample, which ``quaver gold`` and ``study.gold`` share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, TypedDict

from quaver.core.options import Option


class GoldOptions(TypedDict, total=False):
    """A round of a gold sample.

    Attributes:
        n: Items in the whole sample, those of earlier rounds among them.
        design: ``simple`` or ``stratified``; that of the first round in later ones. By default
            ``stratified`` by the models' labels where they have labelled the items, else ``simple``.
        coders: Their names; those of the round before, or one.
        overlap: The share of items that every coder labels; 0.2 by default.
    """

    n: Annotated[int | None, Option("Items in the whole sample.", least=1, flags=("--n", "-n"))]
    design: Annotated[
        Literal["simple", "stratified"] | None,
        Option("simple or stratified; stratified where models have labelled the items."),
    ]
    coders: Annotated[Sequence[str] | None, Option("The coders' names, separated by commas.")]
    overlap: Annotated[
        float | None, Option("The share of items that every coder labels; 0.2 by default.", least=0, most=1)
    ]
