"""Two frames of annotations made alike, and the items whose labels differ between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from quaver.core.label_values import labels_in, occurring_numbers, occurring_sets, set_of, single_labels
from quaver.core.number_format import ARROW
from quaver.core.records import OF_SETS, LabelSet, Numbers
from quaver.errors import MeasureError
from quaver.study.analysis.study_measures import measurable
from quaver.study.session import Study

CELLS = ("model", "decoding", "variant", "evaluator")
"""Columns whose levels both sides must share."""

ANSWERED = ("label", "status", "reason", "gold")
"""Columns that hold what was found, not under which condition."""

ITEMS_ALIKE = {
    "expected": "items of the same id and the same fields",
    "fix": "give the items ids of their own with items.id",
}
"""What two sides need to have items in common."""


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
    """A study's annotations, their categories as texts."""
    frame = measurable(study.source).with_columns(pl.col(pl.Categorical).cast(pl.String))
    if frame.is_empty():
        raise MeasureError(
            "there are no annotations",
            where=str(study.folder),
            fix="`quaver run` asks what has not been asked yet",
        )
    return frame


def made_alike(
    before: pl.DataFrame, after: pl.DataFrame, left_out: list[str], by: str | None = None
) -> Sides:
    """Give both sides the same levels: those that both have, or each side's only one.

    What only one side has goes to ``left_out``, in words. Within one study, ``by`` is the compared column.
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
            expected = "the same names on both sides, or a single one on each"
            same = (
                "the same --prompts and --instruction" if name == "variant" else f"a {name} of the same name"
            )
            fix = f"give both sides {same}; `quaver compare STUDY --by {name}` compares within one study"
            raise nothing_in_common(name, *levels, expected=expected, fix=fix)
        left_out += _on_one_side(name, *levels)
        before, after = (frame.filter(pl.col(name).is_in(both)) for frame in (before, after))
    keys = tuple(name for name in CELLS if name in names)
    return Sides(before, after, tuple(compared), keys)


def labels_in_common(before: Study, after: Study, left_out: list[str]) -> None:
    """Check that two studies share labels, and add those that only one has to what is left out.

    Of sets these are the labels that stand alone; of numbers there are none to share.
    """
    both = [study.experiment.labels for study in (before, after)]
    if all(isinstance(labels, Numbers) for labels in both):
        return
    sets = all(labels.level in OF_SETS for labels in both)
    codes = [[one.code for one in single_labels(labels)] if sets else labels.codes for labels in both]
    if not set(codes[0]) & set(codes[1]):
        fix = "give one study the codes of the other; a label's name may be another one"
        raise nothing_in_common("label", *codes, expected="the same label set on both sides", fix=fix)
    left_out += _on_one_side("label", *codes)


def occurring_on_both(
    before: Study, after: Study, frames: Sequence[pl.DataFrame]
) -> tuple[list[pl.DataFrame], LabelSet | None]:
    """What both sides are measured by where a study knows only the labels that occur in it: numbers and sets.

    Returns:
        The annotations, sets with their labels in the first study's order; and the label set with what occurs
        on either side, None where labels are neither numbers nor sets on both.
    """
    labels, other = before.experiment.labels, after.experiment.labels
    if isinstance(labels, Numbers) and isinstance(other, Numbers):
        return list(frames), occurring_numbers(_given(frames), labels.level)
    if labels.level not in OF_SETS or other.level not in OF_SETS:
        return list(frames), None
    alone = single_labels(labels)
    codes = [label.code for label in alone]
    ordered = {one: set_of(labels_in(one), codes) for one in _given(frames) if {*labels_in(one)} <= {*codes}}
    named = [[name for name in ("label", "gold") if name in frame.columns] for frame in frames]
    frames = [
        frame.with_columns(pl.col(names).replace(ordered)) for frame, names in zip(frames, named, strict=True)
    ]
    return frames, occurring_sets(_given(frames), alone, labels.level)


def _given(frames: Sequence[pl.DataFrame]) -> set[str]:
    """The labels and gold labels that occur."""
    columns = [frame[name] for frame in frames for name in ("label", "gold") if name in frame.columns]
    return {label for column in columns for label in column.drop_nulls().unique()}


def _on_one_side(what: str, before: Sequence[str], after: Sequence[str]) -> list[str]:
    """What only one side has, in words."""
    result = []
    for side, some, others in (("before", before, after), ("after", after, before)):
        if only := [one for one in some if one not in others]:
            result.append(f"{what} {', '.join(only[:5])}{', …' * (len(only) > 5)}: only {side}")
    return result


def nothing_in_common(
    what: str, before: Sequence[str], after: Sequence[str], *, expected: str, fix: str
) -> MeasureError:
    """The error where two sides share no names of a kind."""
    return MeasureError(
        f"the two have no {what} in common",
        where="compare",
        expected=expected,
        found=f"{', '.join(before[:5])}; and {', '.join(after[:5])}",
        fix=fix,
    )


def known_on_both(sides: Sides, *labels: LabelSet) -> None:
    """Refuse gold labels that one side's label set lacks, as those of a class that was renamed.

    Without them the items of that class would count on neither side, and what is lost there would pass.
    """
    gold = {*sides.before["gold"].drop_nulls().unique()} if "gold" in sides.before.columns else set[str]()
    if strange := sorted(label for label in gold if any(label not in one.codes for one in labels)):
        raise MeasureError(
            "a class that only one of the studies knows",
            where="compare",
            expected="gold labels that stand in both label sets",
            found=", ".join(strange[:5]),
            fix="give the class the same code in both studies; its name may be another one",
        )


def changed_items(before: Study, after: Study) -> frozenset[str]:
    """Items that share an id, and differ in a field that both sides know, but for what people labelled."""
    if before.experiment.items_hash == after.experiment.items_hash:
        return frozenset()
    known = {item.id: item.fields for item in before.experiment.items}
    judged = {name for study in (before, after) for name in _of_people(study)}
    return frozenset(
        item.id
        for item in after.experiment.items
        if item.id in known
        and any(
            str(known[item.id][name]) != str(value)
            for name, value in item.fields.items()
            if name in known[item.id] and name not in judged
        )
    )


def _of_people(study: Study) -> list[str]:
    """The columns of gold labels and of coders."""
    items = study.spec.items
    return [*items.coders, *([items.gold.column] if items.gold and items.gold.column else [])]


def by_one_gold(sides: Sides) -> tuple[Sides, list[str]]:
    """Both sides with the gold labels of the second, and a note where these are others than the first's."""
    if not all("gold" in frame.columns for frame in (sides.before, sides.after)):
        return sides, []
    newer = sides.after.group_by("item").agg(pl.col("gold").first().alias("newer"))
    before = sides.before.join(newer, on="item", how="left", maintain_order="left")
    changed = before.filter(pl.col("gold").ne_missing(pl.col("newer")))["item"].n_unique()
    if not changed or before["newer"].null_count() == before.height:
        return sides, []
    before = before.with_columns(pl.col("newer").alias("gold")).drop("newer")
    note = f"{changed:,} gold label{'s' * (changed > 1)} changed since: both sides are judged by today's."
    return replace(sides, before=before), [note]


def in_common(sides: Sides, changed: frozenset[str], left_out: list[str], which: str) -> tuple[Sides, int]:
    """The items that both sides have, cell by cell, and how many they are."""
    keys = [*sides.keys, "item"]
    frames = [frame.filter(~pl.col("item").is_in(list(changed))) for frame in (sides.before, sides.after)]
    here = [set(frame["item"].unique().to_list()) for frame in (sides.before, sides.after)]
    both = here[0] & here[1]
    if not both - changed:
        error = nothing_in_common("items", *map(sorted, here), **ITEMS_ALIKE)
        error.found = f"{len(both)} items of the same id and other fields" if both else error.found
        raise error
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
            fix="finish both studies",
        )
    return replace(sides, before=kept[0], after=kept[1]), len(both - changed)


class Changes:
    """In how many items the labels of two sides differ, by cell: of each set of columns counted once."""

    def __init__(self, sides: Sides) -> None:
        self._sides = sides
        self._found: dict[tuple[str, ...], dict[tuple[str, ...], int]] = {}

    def within(self, by: Sequence[str]) -> Callable[[Mapping[str, str]], int]:
        """The count, of a cell of a measure that is taken by some columns.

        A conclusion's cell names variants beside those columns; one that is about all of a column's levels
        together lacks the column.
        """
        named = {*by, *self._sides.keys}

        def changed(cell: Mapping[str, str]) -> int:
            names = tuple(name for name in cell if name in named)
            if names not in self._found:
                self._found[names] = _counted_changes(self._sides, names)
            return self._found[names].get(tuple(cell[name] for name in names), 0)

        return changed


def _counted_changes(sides: Sides, by: Sequence[str]) -> dict[tuple[str, ...], int]:
    keys = [*by, "item"]
    marked = [
        frame.group_by(keys).agg(pl.col("label").fill_null("").sort().alias("labels"))
        for frame in (sides.before, sides.after)
    ]
    both = marked[0].join(marked[1], on=keys, suffix="_after", nulls_equal=True)
    moved = both.filter(pl.col("labels") != pl.col("labels_after"))
    counted = moved.group_by(pl.lit(0), *by).len().drop("literal").iter_rows()
    # A factor that does not apply has no level, which is "" in a cell.
    return {tuple("" if level is None else str(level) for level in row[:-1]): row[-1] for row in counted}


def flips_of(sides: Sides) -> pl.DataFrame:
    """The items whose modal label differs, in every cell, and whether that is a gain or a loss."""
    shown = [name for name in sides.compared if name not in sides.keys]
    flipped = modal_labels(sides, shown).filter(pl.col("before").ne_missing(pl.col("after")))
    gold = pl.col("gold") if "gold" in sides.before.columns else pl.lit(None, pl.String).alias("gold")
    change = (
        pl.when(pl.col("gold").is_null())
        .then(None)
        .when(pl.col("after").eq_missing(pl.col("gold")))
        .then(pl.lit("gain"))
        .when(pl.col("before").eq_missing(pl.col("gold")))
        .then(pl.lit("loss"))
    )
    return (
        flipped.join(
            sides.before.group_by("item").agg(gold.first()), on="item", how="left", maintain_order="left"
        )
        .with_columns(change.alias("change"))
        .select("item", *sides.keys, *shown, "before", "after", "gold", "change")
    )


def modal_labels(sides: Sides, shown: Sequence[str] = ()) -> pl.DataFrame:
    """Each item's modal label ``before`` and ``after``, in every cell."""
    keys = [*sides.keys, *shown, "item"]
    after = _modal(sides.after, keys, "after")
    return _modal(sides.before, keys, "before").join(after, on=keys, maintain_order="left")


def _modal(frame: pl.DataFrame, keys: Sequence[str], name: str) -> pl.DataFrame:
    """Each item's modal label in each cell, the first in the alphabet of several; null without any."""
    counted = (
        frame.group_by([*keys, "label"], maintain_order=True)
        .len()
        .with_columns(pl.col("label").is_not_null().alias("labelled"))
        .sort(["labelled", "len", "label"], descending=[True, True, False], maintain_order=True)
    )
    return counted.group_by(keys, maintain_order=True).agg(pl.col("label").first().alias(name)).sort(keys)
