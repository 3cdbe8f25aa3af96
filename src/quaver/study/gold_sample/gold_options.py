"""The options of a gold sample's round, which ``quaver gold``, ``forecast`` and ``draw`` share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, TypedDict

from quaver.core.options import Option


class GoldOptions(TypedDict, total=False):
    """A round of a gold sample.

    Attributes:
        n: Items in the whole sample.
        more: Items beyond those that were drawn before.
        target: The width, from end to end, of the corrected 95% interval.
        of: The conclusion whose interval this is, by its name, or ``shares`` for the widest interval of a
            label's share. By default the study's first conclusion; without one, ``shares``.
        budget: What the labels of this round may cost.
        label_cost: What one label costs.
        design: ``simple``, ``stratified`` or ``poisson``; that of the first round in later ones. By
            default ``stratified`` where models have labelled the items, else ``simple``.
        by: What tells strata apart: columns of groups, ``predicted`` (the models' most frequent label),
            ``disagreement`` (whether less than three quarters of an item's answers give it). By default
            the last two.
        coders: Their names; those of the round before, or one.
        overlap: The share of items that every coder labels; 0.2 by default.
    """

    n: Annotated[int | None, Option("Items in the whole sample.", least=1, flags=("--n", "-n"))]
    more: Annotated[int | None, Option("Items beyond those drawn before.", least=1)]
    target: Annotated[float | None, Option("The width of the corrected 95% interval, end to end.", above=0)]
    of: Annotated[
        str | None,
        Option("Whose interval: a conclusion's name, or shares; by default the first conclusion."),
    ]
    budget: Annotated[float | None, Option("What this round's labels may cost; with --label-cost.", above=0)]
    label_cost: Annotated[float | None, Option("What one label costs.", above=0)]
    design: Annotated[
        Literal["simple", "stratified", "poisson"] | None,
        Option("simple, stratified or poisson; stratified where models have labelled the items."),
    ]
    by: Annotated[
        Sequence[str] | None,
        Option("Strata: columns of groups, predicted, disagreement; separated by commas."),
    ]
    coders: Annotated[Sequence[str] | None, Option("The coders' names, separated by commas.")]
    overlap: Annotated[
        float | None, Option("The share of items that every coder labels; 0.2 by default.", least=0, most=1)
    ]
