"""Two frames of annotations made alike: the same levels and the same items on both sides."""

from __future__ import annotations

from dataclasses import dataclass, replace

import polars as pl

from quaver.core.level_names import ARROW
from quaver.errors import MeasureError
from quaver.study.analysis.study_estimates import measurable
from quaver.study.session import Study

CELLS = ("model", "decoding", "variant", "evaluator")
"""Columns whose levels both sides must share."""

ANSWERED = ("label", "status", "reason", "gold")
"""Columns that hold what was found, not under which condition."""


@dataclass(frozen=True, slots=True)
class Sides:
    """Two frames, made alike: the columns in which they differ on purpose hold ``before → after``.

    Attributes:
        before: The annotations of one side.
        after: Those of the other.
        compared: The columns in which they differ on purpose.
        keys: The columns whose levels make a cell.
    """

    before: pl.DataFrame
    after: pl.DataFrame
    compared: tuple[str, ...]
    keys: tuple[str, ...]


def strings_of(study: Study) -> pl.DataFrame:
    """A study's annotations, their categories as texts.

    Raises:
        MeasureError: There are none.
    """
    frame = measurable(study.source).with_columns(pl.col(pl.Categorical).cast(pl.String))
    if frame.is_empty():
        raise MeasureError(
            "there are no annotations", where=str(study.folder), fix="quaver run asks what was not asked yet"
        )
    return frame


def made_alike(
    before: pl.DataFrame, after: pl.DataFrame, left_out: list[str], by: str | None = None
) -> Sides:
    """Give both sides the same levels: those that both have, or each side's only one.

    Raises:
        MeasureError: The two have no level of a column in common.
    """
    compared = []
    names = [name for name in before.columns if before[name].dtype == pl.String and name in after.columns]
    for name in (name for name in names if name not in ("item", *ANSWERED)):
        levels = [frame[name].drop_nulls().unique(maintain_order=True).to_list() for frame in (before, after)]
        if levels[0] == levels[1]:
            continue
        if len(levels[0]) == len(levels[1]) == 1:
            pair = pl.lit(f"{levels[0][0]}{ARROW}{levels[1][0]}").alias(name)
            before, after = before.with_columns(pair), after.with_columns(pair)
            if name == by or (by is None and name in CELLS):
                compared.append(name)
            continue
        if name not in CELLS:
            continue
        both = [level for level in levels[0] if level in levels[1]]
        if not both:
            raise MeasureError(
                f"the two have no {name} in common",
                where="compare",
                expected="the same names on both sides, or a single one on each",
                found=f"{', '.join(levels[0][:5])}; and {', '.join(levels[1][:5])}",
                fix=f"rename one side's {name}, or compare within one study: --by {name}",
            )
        for side, some in zip(("before", "after"), levels, strict=True):
            only = [level for level in some if level not in both]
            if only:
                left_out.append(f"{name} {', '.join(only[:5])}{', …' * (len(only) > 5)}: only {side}")
        before, after = (frame.filter(pl.col(name).is_in(both)) for frame in (before, after))
    keys = tuple(name for name in CELLS if name in names)
    return Sides(before, after, tuple(compared), keys)


def labels_in_common(before: Study, after: Study, left_out: list[str]) -> None:
    """See to it that two studies label with the same codes, and tell those that one of them lacks.

    Args:
        before: One side.
        after: The other.
        left_out: Gets the labels that only one side has, in words.

    Raises:
        MeasureError: They have no label in common.
    """
    codes = [study.experiment.labels.codes for study in (before, after)]
    if not set(codes[0]) & set(codes[1]):
        raise MeasureError(
            "the two have no label in common",
            where="compare",
            expected="the same label set on both sides",
            found=f"{', '.join(codes[0][:5])}; and {', '.join(codes[1][:5])}",
            fix="give one study the codes of the other; a label's name may be another one",
        )
    for side, some, others in (("before", *codes), ("after", *reversed(codes))):
        if only := [code for code in some if code not in others]:
            left_out.append(f"label {', '.join(only[:5])}{', …' * (len(only) > 5)}: only {side}")


def changed_items(before: Study, after: Study) -> frozenset[str]:
    """Items that share an id, and differ in a field that both sides know."""
    known = {item.id: item.fields for item in before.experiment.items}
    return frozenset(
        item.id
        for item in after.experiment.items
        if item.id in known
        and any(
            str(known[item.id][name]) != str(value)
            for name, value in item.fields.items()
            if name in known[item.id]
        )
    )


def in_common(sides: Sides, changed: frozenset[str], left_out: list[str], which: str) -> tuple[Sides, int]:
    """The items that both sides have, cell by cell, and how many they are.

    Raises:
        MeasureError: They have none.
    """
    keys = [*sides.keys, "item"]
    frames = [frame.filter(~pl.col("item").is_in(list(changed))) for frame in (sides.before, sides.after)]
    here = [set(frame["item"].unique().to_list()) for frame in (sides.before, sides.after)]
    both = here[0] & here[1]
    if not both - changed:
        raise MeasureError(
            "the two have no items in common",
            where="compare",
            expected="items of the same id and the same fields",
            found=f"{len(both)} items of the same id and other fields"
            if both
            else f"{', '.join(sorted(here[0])[:3])}, …; and {', '.join(sorted(here[1])[:3])}, …",
            fix="give the items ids of their own with items.id",
        )
    for side, items in zip(("before", "after"), here, strict=True):
        if items - both:
            left_out.append(f"{which}{len(items - both):,} items: only {side}")
    if both & changed:
        left_out.append(f"{which}{len(both & changed):,} items: the same id, and other fields")
    first, second = frames
    kept = (
        first.join(second.select(keys).unique(), on=keys, how="semi", maintain_order="left"),
        second.join(first.select(keys).unique(), on=keys, how="semi", maintain_order="left"),
    )
    if kept[0].is_empty():
        raise MeasureError(
            "no item was answered in the same cell on both sides",
            where="compare",
            expected=f"the same items for the same {', '.join(sides.keys)}",
            found=f"{len(both):,} items in common, none of them in a common cell",
            fix="run both studies to their end",
        )
    return replace(sides, before=kept[0], after=kept[1]), len(both - changed)
