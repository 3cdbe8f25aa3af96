"""Annotations that exist already, as an experiment that needs no asking: a table, column by column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import polars as pl

from quaver.design.experiment import Experiment
from quaver.design.spec import IMPORTED, AnnotationsSpec, StudySpec
from quaver.design.study_file import Source
from quaver.design.tables import Row, read_rows
from quaver.design.variants import ORIGINAL
from quaver.errors import ItemError, SpecError, UnknownName, nearest
from quaver.records import ANNOTATION_COLUMNS, Condition, Decoding, Item, LabelSet, Variant

__all__ = ["Imported", "read_imported"]


@dataclass(frozen=True, slots=True)
class Imported:
    """What a table of annotations comes to.

    Attributes:
        experiment: Its items, variants and conditions.
        frame: The annotation frame (`records.ANNOTATION_COLUMNS`, factors, groups).
    """

    experiment: Experiment
    frame: pl.DataFrame


class _Given(NamedTuple):
    """One cell of the table that holds, or might hold, a label."""

    row: Row
    item: str
    coder: str
    factors: tuple[str, ...]
    decoding: str
    repeat: str
    label: str


def read_imported(spec: StudySpec, source: Source) -> Imported:
    """Read the table that a study's ``annotations`` name.

    A cell that is empty, or holds one of ``unlabelled``, is an answer without a label; of a table with a
    column a coder, it is no answer: that coder has not labelled this item. A column of which every item
    has one value in all its rows is a field of the item.

    Args:
        spec: The study.
        source: Where its parts stand.

    Raises:
        ItemError: The table cannot be read, has a label outside the set, or two labels in one place.
        UnknownName: A column does not exist.
    """
    asked = spec.annotations
    assert asked is not None
    rows = read_rows(source.home / asked.source, asked.encoding, asked.separator)
    if not rows:
        raise ItemError(
            "there are no annotations",
            where=source.where("annotations", "source"),
            expected="a header and rows",
            found=f"no row in {asked.source}",
        )
    _check_columns(asked, rows[0], source)
    labels = spec.task.label_set()
    given = list(_given(asked, rows))
    items = _items(asked, rows, labels)
    variants = {levels: _variant(asked.variant, levels, labels, asked.text) for levels in _levels(given)}
    if len({variant.id for variant in variants.values()}) < len(variants):
        raise SpecError(
            "two combinations of levels have the same name",
            where=source.where("annotations", "variant"),
            fix="leave commas and equals signs out of the cells of these columns",
        )
    frame = _frame(asked, given, items, variants, labels)
    decodings = {name: Decoding(name) for name in dict.fromkeys(one.decoding for one in given)}
    asks = (
        frame.group_by("model", "variant", "decoding", maintain_order=True)
        .agg(pl.col("repeat").n_unique())
        .with_columns(pl.col("model", "variant", "decoding").cast(pl.String))
    )
    conditions = [Condition(*row) for row in asks.iter_rows()]
    experiment = Experiment(labels, list(items.values()), list(variants.values()), decodings, conditions)
    return Imported(experiment, frame)


def _check_columns(asked: AnnotationsSpec, first: Row, source: Source) -> None:
    told: list[tuple[str, str | None]] = [
        *((role, getattr(asked, role)) for role in ("item", "label", "coder", "decoding", "repeat", "text")),
        *(("coders", name) for name in asked.coders),
        *(("variant", name) for name in asked.variant),
        *(("groups", name) for name in asked.groups),
        ("gold", asked.gold.column if asked.gold else None),
    ]
    for role, name in told:
        where = source.where("annotations", role)
        if name is not None and name not in first:
            raise UnknownName("column", name, first, where=where)
        if role in ("variant", "groups") and name in ANNOTATION_COLUMNS:
            if role == "variant" and name == "variant":
                continue
            raise SpecError(
                f"{name!r} is a column of every annotation frame",
                where=where,
                fix="rename it in the file",
            )


def _cell(row: Mapping[str, Any], column: str | None, absent: str = "") -> str:
    value = None if column is None else row.get(column)
    return absent if value is None else str(value).strip()


def _given(asked: AnnotationsSpec, rows: Sequence[Row]) -> Iterator[_Given]:
    for number, row in enumerate(rows, start=1):
        item = str(number) if asked.item is None else _cell(row, asked.item)
        if not item:
            raise ItemError("this row has no item", where=f"{row.where}: {asked.item}", found="an empty cell")
        levels = tuple(_cell(row, name) or "none" for name in asked.variant)
        drawn = _cell(row, asked.decoding) or IMPORTED
        repeat = _cell(row, asked.repeat)
        if asked.label is not None:
            coder = _cell(row, asked.coder) or IMPORTED
            yield _Given(row, item, coder, levels, drawn, repeat, _cell(row, asked.label))
        for name in asked.coders:
            if label := _cell(row, name):
                yield _Given(row, item, name, levels, drawn, repeat, label)


def _levels(given: Sequence[_Given]) -> list[tuple[str, ...]]:
    return list(dict.fromkeys(one.factors for one in given))


def _variant(columns: Sequence[str], levels: tuple[str, ...], labels: LabelSet, text: str | None) -> Variant:
    factors = dict(zip(columns, levels, strict=True))
    if "variant" in factors:  # the frame's own column holds it
        factors = {("prompt" if name == "variant" else name): level for name, level in factors.items()}
    return Variant(
        id=",".join(f"{name}={level}" for name, level in factors.items()) or ORIGINAL,
        factors=factors,
        system="",
        layout="{{ text }}",
        text=f"{{{{ item[{text!r}] }}}}" if text else "(the text was not imported)",
        instruction="",
        postfix="",
        answers={code: code for code in labels.codes},
        origin={name: {"family": IMPORTED} for name in factors},
    )


def _items(asked: AnnotationsSpec, rows: Sequence[Row], labels: LabelSet) -> dict[str, Item]:
    own = {asked.label, asked.coder, asked.decoding, asked.repeat, *asked.coders, *asked.variant}
    fields: dict[str, dict[str, Any]] = {}
    moving: set[str] = set()
    for number, row in enumerate(rows, start=1):
        item = str(number) if asked.item is None else _cell(row, asked.item)
        known = fields.setdefault(item, dict(row))
        moving.update(name for name, value in row.items() if known.get(name) != value)
        for name in (asked.gold.column if asked.gold else None, asked.text, *asked.groups):
            if name in moving:
                raise ItemError(
                    f"the item {item!r} has two values of {name!r}",
                    where=row.where,
                    expected="one value in all rows of an item",
                    found=f"{_cell(row, name)!r} and {_cell(known, name)!r}",
                )
    kept = [name for name in rows[0] if name not in moving and name not in own]
    return {
        item: Item(
            item,
            {name: values.get(name) for name in kept},
            _gold(asked, values, labels, item),
            {name: _cell(values, name) for name in asked.groups},
        )
        for item, values in fields.items()
    }


def _gold(asked: AnnotationsSpec, values: Mapping[str, Any], labels: LabelSet, item: str) -> str | None:
    if asked.gold is None or not (found := _cell(values, asked.gold.column)):
        return None
    label = asked.gold.map.get(found, asked.map.get(found, found))
    if label in asked.unlabelled:
        return None
    if label not in labels.codes:
        raise _outside(f"the gold label of item {item!r}", asked.gold.column, found, labels)
    return label


def _outside(what: str, where: str, found: str, labels: LabelSet) -> ItemError:
    guess = nearest(found, labels.codes)
    return ItemError(
        f"{what} is outside the label set",
        where=where,
        expected=f"one of {', '.join(labels.codes)}",
        found=found,
        fix=(f"did you mean {guess!r}? Else " if guess else "")
        + "add it to the labels, map it to one of them, or name it as unlabelled",
    )


def _frame(
    asked: AnnotationsSpec,
    given: Sequence[_Given],
    items: Mapping[str, Item],
    variants: Mapping[tuple[str, ...], Variant],
    labels: LabelSet,
) -> pl.DataFrame:
    repeats = _repeats(given)
    seen: dict[tuple[Any, ...], str] = {}
    read: list[tuple[str | None, str, str | None]] = []
    for one in given:
        place = (one.item, one.coder, one.factors, one.decoding, one.repeat)
        if place in seen:
            raise ItemError(
                f"two labels of item {one.item!r} stand in one place",
                where=one.row.where,
                expected="a column that tells them apart",
                found=f"the same as at {seen[place]}",
                fix="name that column as repeat, variant, decoding or coder",
            )
        seen[place] = one.row.where
        read.append(_read(one, asked, labels))
    columns: dict[str, list[Any]] = {
        "model": [one.coder for one in given],
        "variant": [variants[one.factors].id for one in given],
        "decoding": [one.decoding for one in given],
        "item": [one.item for one in given],
        "repeat": [repeats[one.repeat] for one in given],
        "evaluator": [IMPORTED] * len(given),
        "label": [label for label, _, _ in read],
        "status": [status for _, status, _ in read],
        "reason": [reason for _, _, reason in read],
        "gold": [items[one.item].gold for one in given],
    }
    extra: dict[str, list[str]] = {}
    for factor in next(iter(variants.values())).factors if variants else ():
        extra[factor] = [variants[one.factors].factors[factor] for one in given]
    for group in asked.groups:
        extra[group] = [items[one.item].groups[group] for one in given]
    empty = [None] * len(given)
    data = {name: columns.get(name, empty) for name in ANNOTATION_COLUMNS} | extra
    return pl.DataFrame(data, schema={**ANNOTATION_COLUMNS, **dict.fromkeys(extra, pl.Categorical)})


def _read(one: _Given, asked: AnnotationsSpec, labels: LabelSet) -> tuple[str | None, str, str | None]:
    """Label, status and reason."""
    if not one.label:
        return None, "empty", "an empty cell"
    label = asked.map.get(one.label, one.label)
    if label in labels.codes:
        return label, "valid", None
    if one.label in asked.unlabelled:
        return None, "no_label", one.label
    column = asked.label or one.coder
    raise _outside(f"the label of item {one.item!r}", f"{one.row.where}: {column}", one.label, labels)


def _repeats(given: Sequence[_Given]) -> dict[str, int]:
    """Numbers of the repeats: their own where they are whole numbers, else in order of appearance."""
    names = list(dict.fromkeys(one.repeat for one in given))
    try:
        numbers = {name: int(float(name)) for name in names if name}
        if len(set(numbers.values())) == len(numbers) and all(float(n) == numbers[n] for n in numbers):
            return {"": 0, **numbers} if "" not in names or len(names) == 1 else _in_order(names)
    except (ValueError, OverflowError):
        pass
    return _in_order(names)


def _in_order(names: Sequence[str]) -> dict[str, int]:
    return {name: number for number, name in enumerate(names)}
