"""Deviations from the modal label, as tables that measures make and reports show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl


@dataclass(frozen=True, slots=True)
class Deviations:
    """The answers that deviate from their item's modal label, most deviations first.

    Attributes:
        answers: The answers counted: ``model``, ``decoding``, ``variant``, ``item``, ``gold``, ``label``
            (``no label`` where there is none), ``len``, ``mode`` (the item's modal label in this model and
            decoding) and ``other`` (how many of ``len`` deviate from it).
        items: A row an item: ``item``, ``gold``, ``mode`` (of all its answers), ``answers``, ``deviating``
            (how many deviate), ``share``, ``unlabelled``.
        variants: A row a variant: ``variant``, ``answers``, ``deviating``, ``share``.
        models: The same by model: ``model``.
        classes: The same by gold label: ``gold``; and ``items``, how many have it.
        pairs: For each two labels, how many answers have the second where the first is modal: ``mode``,
            ``label``, ``answers``.
        items_held: The share of the deviations in the worst fifth of the items; None where it means nothing.
        variants_held: The same of the variants.
        group: The column that groups the items; None: nothing does.
        groups: The group of each item that has one.
    """

    answers: pl.DataFrame
    items: pl.DataFrame
    variants: pl.DataFrame
    models: pl.DataFrame
    classes: pl.DataFrame
    pairs: pl.DataFrame
    items_held: float | None
    variants_held: float | None
    group: str | None = None
    groups: Mapping[str, str] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """How many answers deviate."""
        return int(self.items["deviating"].sum()) if self.items.height else 0
