"""Annotations that exist already, as an experiment that needs no asking: a table, column by column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import polars as pl

from quaver.core.annotations import ANNOTATION_COLUMNS, FIELD
from quaver.core.column_names import column_of
from quaver.core.label_decisions import outside_label_set
from quaver.core.label_values import Codebook, TaskField
from quaver.core.labels import CellLabel, LabelCells
from quaver.core.meter import little_garbage
from quaver.core.records import Condition, Decoding, Item, LabelSet, Response, Variant
from quaver.design.calls.experiment import Experiment
from quaver.design.factor_levels import ORIGINAL
from quaver.design.items.item_labels import gold_labels, with_labels
from quaver.design.items.near_duplicates import NEAR_DUPLICATES, with_near_duplicates
from quaver.design.items.table_files import read_rows
from quaver.design.items.text_lines import Row, column_texts
from quaver.design.prompts.templates import literal
from quaver.design.spec import IMPORTED, AnnotationsSpec, GoldSpec, StudySpec
from quaver.design.spec.study_file import Positions
from quaver.errors import ItemError, SpecError, UnknownName


class LabelRows(NamedTuple):
    """The cells of a table that hold a label, or could: what the table says of each, column by column."""

    row: Sequence[int]
    item: list[str]
    coder: list[str]
    factors: list[tuple[str, ...]]
    decoding: list[str]
    repeat: list[str]
    label: list[str]


def label_rows(spec: AnnotationsSpec, rows: Sequence[Row]) -> LabelRows:
    """Every cell of a label, in the order of the table."""
    factors: list[tuple[str, ...]] = [()] * len(rows)
    if spec.variant:
        shared: dict[tuple[str, ...], tuple[str, ...]] = {}
        columns = [_column(rows, name, "none") for name in spec.variant]
        factors = [shared.setdefault(levels, levels) for levels in zip(*columns, strict=True)]
    items, repeats = item_ids(spec, rows), _column(rows, spec.repeat)
    drawn = _column(rows, spec.decoding, IMPORTED)
    if not spec.coders:
        coders = _column(rows, spec.coder, IMPORTED)
        labels = _column(rows, spec.label)
        if spec.repeats_in_order:
            repeats = _in_turn(zip(items, coders, factors, drawn, strict=True))
        return LabelRows(range(len(rows)), items, coders, factors, drawn, repeats, labels)
    cells = [
        (index, items[index], name, factors[index], drawn[index], repeats[index], label)
        for index, row in enumerate(rows)
        for name in spec.coders
        if (label := row.text(name))
    ]
    return LabelRows(*map(list, zip(*cells, strict=True))) if cells else LabelRows([], [], [], [], [], [], [])


def item_ids(spec: AnnotationsSpec, rows: Sequence[Row]) -> list[str]:
    """Each row's item; without a column of items, each row is an item."""
    if spec.item is None:
        return [str(number) for number in range(1, len(rows) + 1)]
    result = _column(rows, spec.item)
    if "" in result:
        where = f"{rows[result.index('')].where}: {spec.item}"
        raise ItemError("this row has no item", where=where, found="an empty cell")
    return result


def _column(rows: Sequence[Row], column: str | None, absent: str = "") -> list[str]:
    if column is None:
        return [absent] * len(rows)
    return [text or absent for text in column_texts(rows, column)]


def _in_turn(places: Iterable[tuple[Any, ...]]) -> list[str]:
    """For each row, how many rows before it are in the same place."""
    seen: Counter[tuple[Any, ...]] = Counter()
    result = []
    for position in places:
        result.append(str(seen[position]))
        seen[position] += 1
    return result


FIX = "add it to the labels, map it to one of them, or list it under unlabelled"
"""What to do about a label outside the set."""


def imported_frame(
    spec: AnnotationsSpec,
    cells: LabelRows,
    rows: Sequence[Row],
    items: Mapping[str, Item],
    variants: Mapping[tuple[str, ...], Variant],
    read: Sequence[CellLabel],
    field: str = "",
) -> pl.DataFrame:
    """The annotation frame of a table, or of one of its fields.

    Args:
        spec: What its columns are.
        cells: Its cells of labels.
        rows: Its rows.
        items: Its items, by their ids.
        variants: Its variants, by their levels.
        read: What each of the cells means.
        field: The field.
    """
    repeats = _repeats(cells.repeat)
    columns: dict[str, list[Any]] = {
        "model": cells.coder,
        "variant": [variants[levels].id for levels in cells.factors],
        "decoding": cells.decoding,
        "item": cells.item,
        "repeat": [repeats[name] for name in cells.repeat],
        "evaluator": [IMPORTED] * len(cells.label),
        "label": [one.label for one in read],
        "status": [one.status for one in read],
        "reason": [one.reason for one in read],
        "gold": [items[item].golds.get(field) if field else items[item].gold for item in cells.item],
    }
    extra: dict[str, list[Any]] = {}
    for factor in next(iter(variants.values())).factors if variants else ():
        extra[factor] = [variants[levels].factors[factor] for levels in cells.factors]
    for group in (column_of("group", name) for name in spec.groups):
        extra[group] = [items[item].groups[group] for item in cells.item]
    if field:
        extra[FIELD] = [field] * len(cells.label)
    kinds = {**ANNOTATION_COLUMNS, **dict.fromkeys(extra, pl.Categorical)}
    if spec.original is not None:
        extra[ORIGINAL] = [variants[levels].covariates[ORIGINAL] for levels in cells.factors]
        kinds[ORIGINAL] = pl.Boolean
    empty = [None] * len(cells.label)
    data = {name: columns.get(name, empty) for name in ANNOTATION_COLUMNS} | extra
    frame = pl.DataFrame(data, schema=kinds)
    _check_places(frame, cells, rows)
    return frame


def _check_places(frame: pl.DataFrame, cells: LabelRows, rows: Sequence[Row]) -> None:
    """Check that no two labels belong to the same call."""
    double = frame.select("item", "model", "variant", "decoding", "repeat").is_duplicated()
    if not double.any():
        return
    seen: dict[tuple[Any, ...], Row] = {}
    for at, row, *place, _ in zip(range(len(cells.label)), *cells, strict=True):
        if double[at] and seen.setdefault(tuple(place), rows[row]) is not rows[row]:
            raise ItemError(
                f"two labels of item {cells.item[at]!r} are in one place",
                where=rows[row].where,
                expected="a column that distinguishes them",
                found=f"the same as at {seen[tuple(place)].where}",
                fix="name that column as repeat, variant, decoding or coder",
            )


def _readings(
    spec: AnnotationsSpec, cells: LabelRows, rows: Sequence[Row], labels: LabelSet
) -> list[CellLabel]:
    """The meaning of every cell of a label."""
    if spec.raw is not None:
        return [_EMPTY] * len(cells.label)
    reader = LabelCells(labels.labels, spec.map, spec.unlabelled, labels.level)
    result: dict[str, CellLabel] = {}
    outside: dict[str, int] = {}
    for index, written in enumerate(cells.label):
        if written in result or written in outside:
            continue
        if read := reader.read(written):
            result[written] = read
        else:
            outside[written] = index
    if outside:
        written, index = next(iter(outside.items()))
        where = f"{rows[cells.row[index]].where}: {spec.label or cells.coder[index]}"
        raise outside_label_set(
            f"the label of item {cells.item[index]!r}", where, [*outside], labels.codes, FIX
        )
    return [result[written] for written in cells.label]


_EMPTY = CellLabel(None, "empty", "an empty cell")


def _readings_of(
    field: TaskField, gold: GoldSpec, cells: LabelRows, rows: Sequence[Row], source: Positions
) -> list[CellLabel]:
    """The meaning of every cell of a field's labels: a label, a set of them, or a number."""
    places = [Item(item, rows[row]) for row, item in zip(cells.row, cells.item, strict=True)]
    loc = ("annotations", "fields", field.name)
    found = gold_labels(places, gold, field.labels, rows[0], source, loc, loc, several=field.several)
    result = []
    for label, row in zip(found, cells.row, strict=True):
        text = " ".join(one for name in gold.sources if (one := _shown(rows[row].get(name))))
        unlabelled = CellLabel(None, "no_label", text) if text else _EMPTY
        result.append(unlabelled if label is None else CellLabel(label, "valid", None))
    return result


def _shown(cell: Any) -> str:
    """A cell in a reason."""
    return "" if cell is None else str(cell).strip()[:80]


_MOST_REPEAT = 2**31
"""A frame numbers repeats in 32 bits; larger ones are dates or ids."""


def _repeats(repeats: Sequence[str]) -> dict[str, int]:
    """The number of each repeat: its own where all are whole numbers, otherwise by first appearance."""
    names = list(dict.fromkeys(repeats))
    try:
        numbers = {name: int(float(name)) for name in names if name}
        whole = all(float(name) == number and abs(number) < _MOST_REPEAT for name, number in numbers.items())
        if whole and len(set(numbers.values())) == len(numbers):
            return {"": 0, **numbers} if "" not in names or len(names) == 1 else _in_order(names)
    except (ValueError, OverflowError):
        pass
    return _in_order(names)


def _in_order(names: Sequence[str]) -> dict[str, int]:
    return {name: number for number, name in enumerate(names)}


ROLES = ("item", "label", "raw", "thinking", "coder", "prompt", "original", "decoding", "repeat", "text")
"""The roles that one column plays."""

_YES = frozenset(("true", "yes", "1", "1.0"))


@dataclass(frozen=True, slots=True)
class Imported:
    """What a table of annotations resolves to.

    Attributes:
        experiment: Its items, variants and conditions.
        frame: The annotation frame (`ANNOTATION_COLUMNS`, factors, groups); without labels where the table
            holds raw answers.
        answers: The raw answers, where the table has some: one for each row of the frame.
    """

    experiment: Experiment
    frame: pl.DataFrame
    answers: Sequence[Response] = ()


@little_garbage()
def read_imported(spec: StudySpec, source: Positions) -> Imported:
    """Read the table that a study's ``annotations`` name.

    A cell that is empty or holds one of ``unlabelled`` is an answer without a label. Where each coder has a
    column, an empty cell is no answer: that coder has not labelled the item. A column in which each item has
    one value in all its rows is a field of the item.
    """
    asked = spec.annotations
    assert asked is not None
    hint = "`{name}: {value}` under annotations"
    try:
        path = source.home / asked.source
        sheet, quote = asked.sheet, asked.quote
        rows = read_rows(path, asked.encoding, asked.separator, sheet=sheet, quote=quote, hint=hint)
    except SpecError as error:
        error.where = source.where("annotations", "sheet")
        raise
    if not rows:
        raise ItemError(
            "there are no annotations",
            where=source.where("annotations", "source"),
            expected="a header and rows",
            found=f"no row in {asked.source}",
        )
    _check_columns(asked, rows[0], source)
    labels = spec.task.label_set()
    cells = label_rows(asked, rows)
    golds = [field.gold for field in spec.task.fields.values() if field.gold]
    items = _items(asked, rows, labels, [name for gold in golds for name in gold.sources])
    prompts = _prompts(asked, cells, rows)
    variants = {
        levels: _variant(asked, levels, labels, *prompts[levels]) for levels in dict.fromkeys(cells.factors)
    }
    if len({variant.id for variant in variants.values()}) < len(variants):
        raise SpecError(
            "two combinations of levels have the same name",
            where=source.where("annotations", "variant"),
            fix="leave commas and equals signs out of the cells of these columns",
        )
    if isinstance(labels, Codebook):
        golden = with_labels([*items.values()], spec.items, spec, rows[0], source, ("annotations",))
        items = {item.id: item for item in golden}
    if isinstance(labels, Codebook) and asked.fields:
        frames = []
        for field in labels.fields:
            read = _readings_of(field, asked.fields[field.name], cells, rows, source)
            frames.append(imported_frame(asked, cells, rows, items, variants, read, field.name))
        frame = pl.concat(frames)
    else:
        read = _readings(asked, cells, rows, labels)
        frame = imported_frame(asked, cells, rows, items, variants, read)
    decodings = {name: Decoding(name) for name in dict.fromkeys(cells.decoding)}
    asks = (
        frame.group_by("model", "variant", "decoding", maintain_order=True)
        .agg(pl.col("repeat").n_unique())
        .with_columns(pl.col("model", "variant", "decoding").cast(pl.String))
    )
    conditions = [Condition(*row) for row in asks.iter_rows()]
    experiment = Experiment(labels, list(items.values()), list(variants.values()), decodings, conditions)
    return Imported(experiment, frame, _answers(asked, rows) if asked.raw is not None else ())


def _check_columns(spec: AnnotationsSpec, first: Row, source: Positions) -> None:
    columns: list[tuple[str, str | None]] = [
        *((role, getattr(spec, role)) for role in ROLES),
        *(("coders", name) for name in spec.coders),
        *(("variant", name) for name in spec.variant),
        *(("groups", name) for name in spec.groups),
        ("gold", spec.gold.column if spec.gold else None),
        *(("fields", name) for one in spec.fields.values() for name in one.sources),
    ]
    for role, name in columns:
        where = source.where("annotations", role)
        if name == NEAR_DUPLICATES and role == "groups" and spec.text is not None:
            continue
        if name is not None and name not in first:
            raise UnknownName("column", name, first, where=where)


def _prompts(
    spec: AnnotationsSpec, cells: LabelRows, rows: Sequence[Row]
) -> dict[tuple[str, ...], tuple[str, bool | None]]:
    """Each variant's prompt, and whether it is the original, by its levels."""
    if spec.prompt is None and spec.original is None:
        return dict.fromkeys(cells.factors, ("", None))
    found: dict[tuple[str, ...], tuple[str, str, Row]] = {}
    for levels, index in zip(cells.factors, cells.row, strict=True):
        row = rows[index]
        own = row.text(spec.prompt), row.text(spec.original)
        *known, first = found.setdefault(levels, (*own, row))
        for column, one, other in zip((spec.prompt, spec.original), known, own, strict=True):
            if one != other:
                raise ItemError(
                    f"the variant {', '.join(levels) or ORIGINAL!r} has two values of {column!r}",
                    where=row.where,
                    expected="one prompt for each variant",
                    found=f"another one at {first.where}",
                    fix="under `variant`, list the columns that distinguish the prompts, or leave this out",
                )
    originals = spec.original is not None
    return {
        levels: (prompt, mark.casefold() in _YES if originals else None)
        for levels, (prompt, mark, _) in found.items()
    }


def _variant(
    spec: AnnotationsSpec, levels: tuple[str, ...], labels: LabelSet, prompt: str, original: bool | None
) -> Variant:
    """A variant as far as the table shows it: how its prompt and the text were combined is not known."""
    text = spec.text
    factors = dict(zip(spec.variant, levels, strict=True))
    return Variant(
        id=",".join(f"{name}={level}" for name, level in factors.items()) or ORIGINAL,
        factors={column_of("factor", name): level for name, level in factors.items()},
        system=literal(prompt),
        layout="{{ text }}",
        text=f"{{{{ item[{text!r}] }}}}" if text else "(the text was not imported)",
        instruction="",
        postfix="",
        answers={} if isinstance(labels, Codebook) else {code: code for code in labels.codes},
        covariates={} if original is None else {ORIGINAL: original},
        origin={column_of("factor", name): {"family": IMPORTED} for name in factors},
    )


def _items(
    spec: AnnotationsSpec, rows: Sequence[Row], labels: LabelSet, golds: Sequence[str]
) -> dict[str, Item]:
    """The items, with what is the same in all rows of each; so must be the columns of the fields' golds."""
    own = {getattr(spec, role) for role in ROLES if role not in ("item", "text")}
    own |= {*spec.coders, *spec.variant, *(name for one in spec.fields.values() for name in one.sources)}
    fixed = {name for name in (spec.gold and spec.gold.column, spec.text, *spec.groups, *golds) if name}
    steady = {name for name in rows[0] if name not in own} | fixed
    fields: dict[str, Row] = {}
    for item, row in zip(item_ids(spec, rows), rows, strict=True):
        known = fields.setdefault(item, row)
        moving = [name for name in steady if known.get(name) != row.get(name)] if known is not row else ()
        for name in moving:
            if name in fixed:
                raise ItemError(
                    f"the item {item!r} has two values of {name!r}",
                    where=row.where,
                    expected="one value in all rows of an item",
                    found=f"{row.text(name)!r} and {known.text(name)!r}",
                )
        steady.difference_update(moving)
    if spec.text is not None and spec.item == "item":  # the name by which the text's template finds columns
        own.add("item")
    kept = [name for name in rows[0] if name in steady and name not in own]
    items = [
        Item(
            item,
            {name: values.get(name) for name in kept},
            _gold(spec, values, labels, item),
            {column_of("group", name): values.text(name) for name in spec.groups if name in values},
        )
        for item, values in fields.items()
    ]
    if spec.text is not None and NEAR_DUPLICATES in spec.groups and NEAR_DUPLICATES not in rows[0]:
        items = with_near_duplicates(items, [one.text(spec.text) for one in fields.values()])
    return {item.id: item for item in items}


def _gold(spec: AnnotationsSpec, values: Row, labels: LabelSet, item: str) -> str | None:
    if spec.gold is None:
        return None
    known = {text: code for text, code in spec.gold.map.items() if code is not None}
    nothing = [text for text, code in spec.gold.map.items() if code is None]
    reader = LabelCells(labels.labels, {**spec.map, **known}, [*spec.unlabelled, *nothing], labels.level)
    found = values.text(spec.gold.column)
    read = reader.read(found)
    if read is None:
        where = f"{values.where}: {spec.gold.column}"
        raise outside_label_set(f"the gold label of item {item!r}", where, [found], labels.codes, FIX)
    return read.label


def _answers(spec: AnnotationsSpec, rows: Sequence[Row]) -> list[Response]:
    """The raw answers, as the table holds them."""
    thinking = spec.thinking
    return [
        Response(_whole(row, spec.raw), thinking=(_whole(row, thinking) or None) if thinking else None)
        for row in rows
    ]


def _whole(row: Row, column: str | None) -> str:
    """A cell with the white space around it: what a model wrote stays as it is."""
    value = None if column is None else row.get(column)
    return value if isinstance(value, str) else row.text(column)
