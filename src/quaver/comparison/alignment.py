"""Two frames of annotations made alike, and the items whose labels differ between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import polars as pl

from quaver.core.label_values import labels_in, occurring_numbers, occurring_sets, set_of, single_labels
from quaver.core.number_format import ARROW
from quaver.core.records import OF_SETS, LabelSet
from quaver.errors import MeasureError
from quaver.study.analysis.study_measures import measurable
from quaver.study.session import Study
from quaver.study.sources.study_plugins import Measurement

CELLS = ("model", "decoding", "variant", "evaluator")
"""Columns whose levels both sides must share."""

ANSWERED = ("label", "status", "reason", "gold")
"""Columns that hold what was found, not under which condition."""

ITEMS_ALIKE = {
    "expected": "items of the same id and the same fields",
    "fix": "give the items ids of their own with items.id",
}
"""What two sides need to have items in common."""

_NO_LABELS: Final = LabelSet(())


@dataclass(frozen=True, slots=True)
class Pair:
    """Two frames, made alike: the columns in which they differ on purpose hold ``before → after``.

    Attributes:
        before: The annotations of one side.
        after: Those of the other.
        compared: The columns in which they differ on purpose.
        keys: The columns whose levels make a cell.
        asked: The measures that are taken of both.
        family: What users may lose by the change, in the annotations of the first evaluator.
        evaluator: The first evaluator.
        classes: The labels that both sides know, of sets each alone, of numbers none: their label set.
        place: What a difference's cell says besides, such as the field.
    """

    before: pl.DataFrame
    after: pl.DataFrame
    compared: tuple[str, ...]
    keys: tuple[str, ...]
    asked: Sequence[Measurement] = ()
    family: Sequence[Measurement] = ()
    evaluator: str = ""
    classes: LabelSet = _NO_LABELS
    place: Mapping[str, str] = field(default_factory=dict)

    @property
    def judged(self) -> Pair:
        """The annotations in which users may lose something: those of the first evaluator."""
        of_first = pl.col("evaluator") == self.evaluator
        return replace(self, before=self.before.filter(of_first), after=self.after.filter(of_first))


def strings_of(study: Study) -> pl.DataFrame:
    """A study's annotations, their categories as texts."""
    frame = measurable(study.source).with_columns(pl.col(pl.Categorical).cast(pl.String))
    if frame.is_empty():
        raise MeasureError(
            "there are no annotations",
            where=str(study.folder),
            fix="collect them first: `quaver run STUDY`",
        )
    return frame


def made_alike(before: pl.DataFrame, after: pl.DataFrame, left_out: list[str], by: str | None = None) -> Pair:
    """Give both sides the same levels: those that both have, or each side's only one.

    What only one side has goes to ``left_out``, in words. Within one study, ``by`` is the compared column.
    """
    compared = []
    shared = [name for name in before.select(pl.col(pl.String)).columns if name in after.columns]
    for name in shared:
        first, second = (
            frame[name].drop_nulls().unique(maintain_order=True).to_list() for frame in (before, after)
        )
        if first == second or name in ("item", *ANSWERED):
            continue
        if len(first) == len(second) == 1:
            change = pl.lit(f"{first[0]}{ARROW}{second[0]}").alias(name)
            before, after = before.with_columns(change), after.with_columns(change)
            if name == by or (by is None and name in CELLS):
                compared.append(name)
        elif name in CELLS:
            is_shared = pl.col(name).is_in([level for level in first if level in second])
            before, after = before.filter(is_shared), after.filter(is_shared)
            if before.is_empty():
                names = "the same --prompts and --instruction"
                fix = f"give both sides {names if name == 'variant' else f'a {name} of the same name'}; "
                fix += f"`quaver compare STUDY --by {name}` compares within one study"
                expected = "the same names on both sides, or a single one on each"
                raise nothing_in_common(name, first, second, expected, fix)
            left_out += _on_one_side(name, first, second)
    return Pair(before, after, tuple(compared), tuple(name for name in CELLS if name in shared))


def labels_in_common(before: Study, after: Study, left_out: list[str]) -> None:
    """Check that two studies share labels, and add those that only one has to what is left out.

    Of sets these are the labels that stand alone; of numbers there are none to share.
    """
    first, second = before.experiment.labels, after.experiment.labels
    if first.are_numbers and second.are_numbers:
        return
    codes, others = [*first.codes], [*second.codes]
    if first.level in OF_SETS and second.level in OF_SETS:
        codes, others = codes_alone(first), codes_alone(second)
    if set(codes).isdisjoint(others):
        fix = "give one study the codes of the other; a label's name may differ"
        raise nothing_in_common("label", codes, others, "the same label set on both sides", fix)
    left_out += _on_one_side("label", codes, others)


def codes_alone(labels: LabelSet) -> list[str]:
    """The codes of a label set's labels, of sets each alone."""
    return [label.code for label in single_labels(labels)]


def occurring_on_both(
    before: Study, after: Study, frames: Sequence[pl.DataFrame]
) -> tuple[list[pl.DataFrame], LabelSet | None]:
    """What both sides are measured by where a study knows only the labels that occur in it: numbers and sets.

    Returns:
        The annotations, sets with their labels in the first study's order; and the label set with what occurs
        on either side, None where labels are neither numbers nor sets on both.
    """
    labels, other = before.experiment.labels, after.experiment.labels
    if labels.are_numbers and other.are_numbers:
        return list(frames), occurring_numbers(_given(frames), labels.level)
    if labels.level not in OF_SETS or other.level not in OF_SETS:
        return list(frames), None
    alone, ordered = single_labels(labels), {}
    codes = codes_alone(labels)
    for written in _given(frames):
        if {*labels_in(written)} <= {*codes}:
            ordered[written] = set_of(labels_in(written), codes)
    frames = [frame.with_columns(_LABELS.replace(old=ordered)) for frame in frames]
    return frames, occurring_sets(_given(frames), alone, labels.level)


_LABELS: Final = pl.col("^(label|gold)$")


def _given(frames: Sequence[pl.DataFrame]) -> set[str]:
    """The labels and gold labels that occur."""
    columns = pl.concat([frame.select(_LABELS).unpivot() for frame in frames])
    return set(columns["value"].drop_nulls())


def _on_one_side(what: str, before: Sequence[str], after: Sequence[str]) -> list[str]:
    """What only one side has, in words."""
    result = []
    for side, some, others in (("before", before, after), ("after", after, before)):
        if only := [name for name in some if name not in others]:
            result.append(f"{what} {', '.join(only[:5])}{', …' * (len(only) > 5)}: only {side}")
    return result


def nothing_in_common(
    what: str, before: Sequence[str], after: Sequence[str], expected: str, fix: str
) -> MeasureError:
    """The error where two sides share no names of a kind."""
    return MeasureError(
        f"the two have no {what} in common",
        where="compare",
        expected=expected,
        found=f"{', '.join(before[:5])}; and {', '.join(after[:5])}",
        fix=fix,
    )


def check_classes(pair: Pair, *labels: LabelSet) -> None:
    """Refuse gold labels that one side's label set lacks, as those of a class that was renamed.

    Without them the items of that class would count on neither side, and what is lost there would pass.
    """
    if "gold" not in pair.before.columns:
        return
    known = set(labels[0].codes).intersection(*(label.codes for label in labels))
    if strange := sorted(set(pair.before["gold"].drop_nulls()) - known):
        raise MeasureError(
            "a class that only one of the studies has",
            where="compare",
            expected="gold labels that stand in both label sets",
            found=", ".join(strange[:5]),
            fix="give the class the same code in both studies; its name may differ",
        )


def changed_items(before: Study, after: Study) -> frozenset[str]:
    """Items that share an id, and differ in a field that both sides know, but for what people labelled."""
    if before.experiment.items_hash == after.experiment.items_hash:
        return frozenset()
    known = {item.id: item.fields for item in before.experiment.items}
    judged, changed = {*_of_people(before), *_of_people(after)}, set[str]()
    for item in after.experiment.items:
        fields = known.get(item.id, {})
        for name in fields.keys() & item.fields.keys() - judged:
            if str(fields[name]) != str(item.fields[name]):
                changed.add(item.id)
    return frozenset(changed)


def _of_people(study: Study) -> list[str]:
    """The columns of gold labels and of coders."""
    items = study.spec.items
    return [*items.coders, *([items.gold.column] if items.gold and items.gold.column else [])]


def by_one_gold(pair: Pair) -> tuple[Pair, list[str]]:
    """Both sides with the gold labels of the second, and a note where these are others than the first's."""
    if "gold" not in pair.before.columns or "gold" not in pair.after.columns:
        return pair, []
    newer = pair.after.group_by("item").agg(pl.col("gold").first().alias("newer"))
    before = pair.before.join(newer, on="item", how="left", maintain_order="left")
    changed = before.filter(pl.col("gold").ne_missing(pl.col("newer")))["item"].n_unique()
    if not changed or before["newer"].null_count() == before.height:
        return pair, []
    before = before.with_columns(pl.col("newer").alias("gold")).drop("newer")
    note = f"{changed:,} gold label{'s' * (changed > 1)} changed since: both sides use the current ones."
    return replace(pair, before=before), [note]


def in_common(
    pair: Pair, left_out: list[str], changed: Collection[str] = (), which: str = ""
) -> tuple[Pair, int]:
    """The items that both sides have, cell by cell, and how many they are; without those that changed."""
    first, second = set(pair.before["item"]), set(pair.after["item"])
    both = first & second
    same = both.difference(changed)
    if not same:
        error = nothing_in_common("items", sorted(first), sorted(second), **ITEMS_ALIKE)
        error.found = f"{len(both)} items of the same id and other fields" if both else error.found
        raise error
    for side, items in (("before", first), ("after", second)):
        if lone := items - both:
            left_out.append(f"{which}{len(lone):,} items: only {side}")
    if other := both - same:
        left_out.append(f"{which}{len(other):,} items: the same id, and other fields")
    keys = [*pair.keys, "item"]
    before, after = (frame.filter(pl.col("item").is_in(same)) for frame in (pair.before, pair.after))
    kept = before.join(after, on=keys, how="semi", maintain_order="left")
    if kept.is_empty():
        raise MeasureError(
            "no item was answered in the same cell on both sides",
            where="compare",
            expected=f"the same items for the same {', '.join(pair.keys)}",
            found=f"{len(both):,} items in common, none of them in a common cell",
            fix="finish both studies",
        )
    others = after.join(before, on=keys, how="semi", maintain_order="left")
    return replace(pair, before=kept, after=others), len(same)


class Changes:
    """In how many items the labels of two sides differ, by cell: of each set of columns counted once."""

    def __init__(self, pair: Pair) -> None:
        self._pair = pair
        self._found: dict[tuple[str, ...], dict[tuple[str, ...], int]] = {}

    def within(self, by: Sequence[str]) -> Callable[[Mapping[str, str]], int]:
        """The count, of a cell of a measure that is taken by some columns.

        A conclusion's cell names variants beside those columns; one that is about all of a column's levels
        together lacks the column.
        """
        named = {*by, *self._pair.keys}

        def changed(cell: Mapping[str, str]) -> int:
            names = tuple(name for name in cell if name in named)
            if names not in self._found:
                self._found[names] = _counted_changes(self._pair, names)
            return self._found[names].get(tuple(cell[name] for name in names), 0)

        return changed


def _counted_changes(pair: Pair, by: Sequence[str]) -> dict[tuple[str, ...], int]:
    keys = [*by, "item"]
    labels = pl.col("label").fill_null("").sort()
    before, after = (frame.group_by(keys).agg(labels) for frame in (pair.before, pair.after))
    both = before.join(after, on=keys, suffix="_after", nulls_equal=True)
    moved = both.filter(pl.col("label") != pl.col("label_after"))
    # A factor that does not apply has no level, which is "" in a cell.
    cells = moved.select("item", *(pl.col(name).cast(pl.String).fill_null("") for name in by))
    return Counter(row[1:] for row in cells.iter_rows())


def flips_of(pair: Pair) -> pl.DataFrame:
    """The items whose modal label differs, in every cell, and whether that is a gain or a loss."""
    shown = [name for name in pair.compared if name not in pair.keys]
    flipped = modal_labels(pair, shown).filter(pl.col("before").ne_missing(pl.col("after")))
    change = (
        pl.when(pl.col("gold").is_null())
        .then(None)
        .when(pl.col("after").eq_missing(pl.col("gold")))
        .then(pl.lit("gain"))
        .when(pl.col("before").eq_missing(pl.col("gold")))
        .then(pl.lit("loss"))
    )
    judged = with_gold(flipped, pair).with_columns(change=change)
    place = [pl.lit(value).alias(name) for name, value in pair.place.items()]
    return judged.select("item", *place, *pair.keys, *shown, "before", "after", "gold", "change")


def with_gold(items: pl.DataFrame, pair: Pair) -> pl.DataFrame:
    """Rows of items, each with its gold label, null where there is none."""
    gold = pl.col("gold") if "gold" in pair.before.columns else pl.lit(None, pl.String).alias("gold")
    golds = pair.before.group_by("item").agg(gold.first())
    return items.join(golds, on="item", how="left", maintain_order="left")


def modal_labels(pair: Pair, shown: Sequence[str] = ()) -> pl.DataFrame:
    """Each item's modal label ``before`` and ``after``, in every cell."""
    keys = [*pair.keys, *shown, "item"]
    after = _modal(pair.after, keys, "after")
    return _modal(pair.before, keys, "before").join(after, on=keys, maintain_order="left")


def _modal(frame: pl.DataFrame, keys: Sequence[str], name: str) -> pl.DataFrame:
    """Each item's modal label in each cell, the first in the alphabet of several; null without any."""
    modal = pl.col("label").drop_nulls().mode().sort().first()
    return frame.group_by(keys).agg(modal.alias(name)).sort(keys)
