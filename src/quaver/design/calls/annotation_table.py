"""Annotations that exist already, as an experiment that needs no asking: a table, column by column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from quaver.core.annotations import ANNOTATION_COLUMNS, FIELD
from quaver.core.calls import Response
from quaver.core.column_names import column_of
from quaver.core.label_decisions import outside_label_set
from quaver.core.label_values import NOTHING, Codebook
from quaver.core.labels import LabelCells
from quaver.core.meter import little_garbage
from quaver.core.records import Condition, Decoding, Item, LabelSet, Reading, Variant
from quaver.design.calls.experiment import Experiment
from quaver.design.factor_levels import ORIGINAL
from quaver.design.items.item_labels import gold_labels, majority, with_labels
from quaver.design.items.item_table import NEAR_DUPLICATES, with_near_duplicates
from quaver.design.items.table_files import Row, column_texts, read_rows
from quaver.design.prompts.templates import literal
from quaver.design.spec import IMPORTED, AnnotationsSpec, GoldSpec, StudySpec
from quaver.design.spec.study_file import Positions
from quaver.errors import ItemError, SpecError, UnknownName

_ROLES = ("item", "label", "raw", "thinking", "coder", "prompt", "original", "decoding", "repeat", "text")
"""The roles that one column plays."""

_SEVERAL = ("coders", "models", "confidence", "variant", "groups")
"""Those that several columns may play."""

_FIX = "add it to the labels, map it to one of them, or list it under unlabelled"
_YES = frozenset(("true", "yes", "1", "1.0"))
_MOST_REPEAT = 2**31
"""A frame numbers repeats in 32 bits; larger ones are dates or ids."""

_PLACE = ("item", "model", "variant", "decoding", "repeat")


@little_garbage()
def read_imported(spec: StudySpec, source: Positions) -> tuple[Experiment, pl.DataFrame, list[Response]]:
    """Read the table that a study's ``annotations`` name.

    A cell that is empty or holds one of ``unlabelled`` is an answer without a label. Where each coder has a
    column, an empty cell is no answer: that coder has not labelled the item. A column in which each item has
    one value in all its rows is a field of the item.

    Returns:
        Its items, variants and conditions; the annotation frame (`ANNOTATION_COLUMNS`, factors, groups),
        without labels where the table holds raw answers; and these, one for each row of the frame.
    """
    asked = spec.annotations
    assert asked is not None
    rows = _rows(asked, source)
    _check_columns(asked, rows[0], source)
    labels = spec.task.label_set()
    cells = _cells(asked, rows)
    variants = {variant.id: variant for variant in _variants(asked, cells, rows, labels, source)}
    golds = [field.gold for field in spec.task.fields.values() if field.gold]
    items = _items(asked, rows, labels, [name for gold in golds for name in gold.sources])
    if isinstance(labels, Codebook):
        items = with_labels(items, spec.items, spec, rows[0], source, ("annotations",))
    frames = []
    for field in labels.fields if isinstance(labels, Codebook) and asked.fields else (None,):
        if field is None:
            read = _readings(asked, cells, rows, labels)
        else:
            read = _readings_of(asked.fields[field.name], field.name, field.labels, cells, rows, source)
        frames.append(_frame(asked, cells, items, variants, read, field.name if field else ""))
    _check_places(frames[0], cells["row"].to_list(), rows)
    frame = pl.concat(frames)
    asks = frame.group_by("model", "variant", "decoding", maintain_order=True).agg(
        pl.col("repeat").n_unique()
    )
    conditions = [Condition(*row) for row in asks.cast({pl.Categorical: pl.String}).iter_rows()]
    decodings = {name: Decoding(name) for name in cells["decoding"].unique(maintain_order=True)}
    experiment = Experiment(labels, items, list(variants.values()), decodings, conditions)
    answers = [
        Response(_whole(row, asked.raw), thinking=_whole(row, asked.thinking) or None)
        for row in (rows if asked.raw is not None else ())
    ]
    return experiment, frame, answers


def _rows(asked: AnnotationsSpec, source: Positions) -> list[Row]:
    try:
        path, hint = source.home / asked.source, "`{name}: {value}` under annotations"
        how = {"sheet": asked.sheet, "quote": asked.quote, "hint": hint}
        rows = read_rows(path, asked.encoding, asked.separator, **how)  # type: ignore[arg-type]
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
    return rows


def played_columns(spec: AnnotationsSpec) -> list[tuple[str, str]]:
    """The columns of the table that play a role, each with it."""
    roles = [(role, getattr(spec, role)) for role in _ROLES]
    roles += [(role, name) for role in _SEVERAL for name in getattr(spec, role)]
    roles += [("fields", name) for field in spec.fields.values() for name in field.sources]
    roles.append(("gold", spec.gold and spec.gold.column))
    return [(role, name) for role, name in roles if name is not None]


def _check_columns(spec: AnnotationsSpec, first: Row, source: Positions) -> None:
    for role, name in played_columns(spec):
        if name == NEAR_DUPLICATES and role == "groups" and spec.text is not None:
            continue
        if name not in first:
            raise UnknownName("column", name, first, where=source.where("annotations", role))


def _cells(spec: AnnotationsSpec, rows: Sequence[Row]) -> pl.DataFrame:
    """A row for each cell that holds a label or could: its row, place and text, in the order of the table."""

    def texts(column: str | None, absent: str = "") -> list[str]:
        if column is None:
            return [absent] * len(rows)
        return [text or absent for text in column_texts(rows, column)]

    levels = [[f"{name}={text}" for text in texts(name, "none")] for name in spec.variant]
    frame = pl.DataFrame(
        {
            "row": range(len(rows)),
            "item": texts(spec.item) if spec.item else [str(index) for index in range(1, len(rows) + 1)],
            "model": texts(spec.coder, IMPORTED),
            "variant": [",".join(own) for own in zip(*levels, strict=True)]
            if levels
            else texts(None, ORIGINAL),
            "decoding": texts(spec.decoding, IMPORTED),
            "repeat": texts(spec.repeat),
            "text": texts(spec.label),
        },
        schema_overrides={"row": pl.UInt32},
    )
    if (frame["item"] == "").any():
        where = f"{rows[int((frame['item'] == '').arg_max() or 0)].where}: {spec.item}"
        raise ItemError("this row has no item", where=where, found="an empty cell")
    if len(spec.confidence) == 1:
        frame = frame.with_columns(confidence=_confidence(spec.confidence[0], rows))
    if spec.annotators:
        given = [
            frame.with_columns(model=pl.lit(annotator), text=pl.Series(texts(annotator)))
            for annotator in spec.annotators
        ]
        if len(spec.confidence) > 1:
            sure = [_confidence(name, rows) for name in spec.confidence]
            given = [frame.with_columns(confidence=own) for frame, own in zip(given, sure, strict=True)]
        frame = pl.concat(given).filter(pl.col("text") != "").sort("row", maintain_order=True)
    elif spec.repeats_in_order:
        frame = frame.with_columns(repeat=pl.int_range(pl.len()).over(_PLACE[:-1]).cast(pl.String))
    names = frame["repeat"].unique(maintain_order=True)
    numbers = names.cast(pl.Float64, strict=False)
    whole = (
        numbers.is_finite().fill_null(False) & (numbers.abs() < _MOST_REPEAT) & (numbers == numbers.floor())
    )
    own = whole.all() and numbers.n_unique() == names.len()
    numbers_of = numbers.cast(pl.Int32) if own else pl.Series(range(names.len()), dtype=pl.Int32)
    return frame.with_columns(pl.col("repeat").replace_strict(names, numbers_of, return_dtype=pl.Int32))


def _confidence(column: str, rows: Sequence[Row]) -> pl.Series:
    """How sure a model was in each row, from 0 to 1; null in an empty cell."""
    texts = column_texts(rows, column)
    confidences = pl.Series([text or None for text in texts], dtype=pl.String).cast(pl.Float64, strict=False)
    for row, text, value in zip(rows, texts, confidences, strict=True):
        if text and not (value is not None and 0 <= value <= 1):
            where = f"{row.where}: {column}"
            raise ItemError(
                "this is not a confidence", where=where, expected="0 to 1, or nothing", found=text[:80]
            )
    return confidences


def _variants(
    spec: AnnotationsSpec, cells: pl.DataFrame, rows: Sequence[Row], labels: LabelSet, source: Positions
) -> Iterator[Variant]:
    """The variants as far as the table shows them: how a prompt and the text were combined is not known."""
    factors = {name: column_of("factor", name) for name in spec.variant}
    said = [name for name in (spec.prompt, spec.original) if name is not None]
    seen = {"": cells["row"], " ": cells["variant"]}  # two names that no column of a table has
    for column in dict.fromkeys([*factors, *said]):
        seen[column] = pl.Series([text or "none" for text in column_texts(rows, column)])[cells["row"]]
    distinct = pl.DataFrame(seen).unique(pl.exclude(""), keep="first", maintain_order=True)
    firsts: dict[str, Row] = {}
    for index, name in distinct.select("", " ").iter_rows():
        first, row = firsts.setdefault(name, rows[index]), rows[index]
        if moved := next((column for column in said if row.text(column) != first.text(column)), None):
            raise ItemError(
                f"the variant {name!r} has two values of {moved!r}",
                where=row.where,
                expected="one prompt for each variant",
                found=f"another one at {first.where}",
                fix="under `variant`, list the columns that distinguish the prompts, or leave this out",
            )
        if first is not row:
            raise SpecError(
                "two combinations of levels have the same name",
                where=source.where("annotations", "variant"),
                fix="leave commas and equals signs out of the cells of these columns",
            )
    for name, first in firsts.items():
        levels = {factor: first.text(column) or "none" for column, factor in factors.items()}
        is_original = first.text(spec.original).casefold() in _YES
        yield Variant(
            id=name,
            factors=levels,
            system=literal(first.text(spec.prompt)),
            layout="{{ text }}",
            text=f"{{{{ item[{spec.text!r}] }}}}" if spec.text else "(the text was not imported)",
            instruction="",
            postfix="",
            answers={} if isinstance(labels, Codebook) else {code: code for code in labels.codes},
            covariates={} if spec.original is None else {ORIGINAL: is_original},
            origin={factor: {"family": IMPORTED} for factor in levels},
        )


def _frame(
    spec: AnnotationsSpec,
    cells: pl.DataFrame,
    items: Sequence[Item],
    variants: Mapping[str, Variant],
    read: Sequence[Reading],
    field: str,
) -> pl.DataFrame:
    """The annotation frame of a table, or of one of its fields: what each of the cells means."""
    golds = {item.id: item.golds.get(field) if field else item.gold for item in items}
    columns: dict[str, Any] = {
        **{name: cells[name] for name in _PLACE},
        "evaluator": [IMPORTED] * cells.height,
        "label": [annotation.label for annotation in read],
        "status": [annotation.status for annotation in read],
        "reason": [annotation.reason for annotation in read],
        "gold": [golds[item] for item in cells["item"]],
    }
    if "confidence" in cells:
        columns["confidence"] = cells["confidence"]
    extra: dict[str, Any] = {}
    for factor in next(iter(variants.values())).factors if variants else ():
        extra[factor] = [variants[name].factors[factor] for name in cells["variant"]]
    for group in (*(column_of("group", name) for name in spec.groups), *spec.people):
        groups = {item.id: item.groups[group] for item in items}
        extra[group] = [groups[item] for item in cells["item"]]
    if field:
        extra[FIELD] = [field] * cells.height
    kinds = {**ANNOTATION_COLUMNS, **dict.fromkeys(extra, pl.Categorical)}
    if spec.original is not None:
        extra[ORIGINAL] = [variants[name].covariates[ORIGINAL] for name in cells["variant"]]
        kinds[ORIGINAL] = pl.Boolean
    empty = [None] * cells.height
    return pl.DataFrame({name: columns.get(name, empty) for name in ANNOTATION_COLUMNS} | extra, schema=kinds)


def _check_places(frame: pl.DataFrame, at: Sequence[int], rows: Sequence[Row]) -> None:
    """Check that no two labels belong to the same call."""
    double = frame.select(_PLACE).is_duplicated()
    first: dict[tuple[Any, ...], Row] = {}
    for index in double.arg_true():
        place, row = frame[index].select(_PLACE).row(0), rows[at[index]]
        if first.setdefault(place, row) is not row:
            raise ItemError(
                f"two labels of item {place[0]!r} are in one place",
                where=row.where,
                expected="a column that distinguishes them",
                found=f"the same as at {first[place].where}",
                fix="name that column as repeat, variant, decoding or coder; of repeats, --twice repeat",
            )


def _readings(
    spec: AnnotationsSpec, cells: pl.DataFrame, rows: Sequence[Row], labels: LabelSet
) -> list[Reading]:
    """The meaning of every cell of a label."""
    if spec.raw is not None:
        return [NOTHING] * cells.height
    reader = LabelCells(labels.labels, spec.map, spec.unlabelled, labels.level)
    result = {text: reader.read(text) for text in cells["text"].unique(maintain_order=True)}
    if outside := [text for text, read in result.items() if read is None]:
        index, item, coder = cells.filter(text=outside[0]).select("row", "item", "model").row(0)
        where = f"{rows[index].where}: {spec.label or coder}"
        raise outside_label_set(f"the label of item {item!r}", where, outside, labels.codes, _FIX)
    return [result[text] or NOTHING for text in cells["text"]]


def _readings_of(
    gold: GoldSpec, name: str, labels: LabelSet, cells: pl.DataFrame, rows: Sequence[Row], source: Positions
) -> list[Reading]:
    """The meaning of every cell of a field's labels: a label, a set of them, or a number."""
    places = [Item(item, rows[index]) for index, item in cells.select("row", "item").iter_rows()]
    golds = gold_labels(places, gold, labels, rows[0], source, ("annotations", "fields", name))
    readings = []
    for item, label in zip(places, golds, strict=True):
        if label is not None:
            readings.append(Reading(label, "valid", None))
            continue
        given = [item.fields.get(column) for column in gold.sources]
        texts = [str(cell).strip()[:80] for cell in given if cell is not None]
        text = " ".join(filter(None, texts))
        readings.append(Reading(None, "no_label", text) if text else NOTHING)
    return readings


def _items(spec: AnnotationsSpec, rows: Sequence[Row], labels: LabelSet, golds: Sequence[str]) -> list[Item]:
    """The items, with the columns that do not vary within one; those of the fields' gold labels must not."""
    fixed_roles = ("item", "text", "groups", "gold")
    own = {name for role, name in played_columns(spec) if role not in fixed_roles}
    fixed = {name for name in (spec.gold and spec.gold.column, spec.text, *spec.groups, *golds) if name}
    steady = {name for name in rows[0] if name not in own} | fixed
    fields: dict[str, Row] = {}
    for number, row in enumerate(rows, 1):
        item = row.text(spec.item) if spec.item else str(number)
        known = fields.setdefault(item, row)
        moving = [name for name in steady if known.get(name) != row.get(name)] if known is not row else ()
        if wrong := next((name for name in moving if name in fixed), None):
            raise ItemError(
                f"the item {item!r} has two values of {wrong!r}",
                where=row.where,
                expected="one value in all rows of an item",
                found=f"{row.text(wrong)!r} and {known.text(wrong)!r}",
            )
        steady.difference_update(moving)
    if spec.text is not None and spec.item == "item":  # the name by which the text's template finds columns
        own.add("item")
    kept = [name for name in rows[0] if name in steady and name not in own]
    golds_read, people = _gold_labels(spec, fields, labels), _people(spec, fields, labels)
    items = []
    for item, row in fields.items():
        groups = {column_of("group", name): row.text(name) for name in spec.groups if name in row}
        given = people.get(item, {})
        gold = golds_read.get(item) if golds_read or not given else majority([*given.values()])
        items.append(Item(item, {name: row.get(name) for name in kept}, gold, {**groups, **given}))
    if spec.text is not None and NEAR_DUPLICATES in spec.groups and NEAR_DUPLICATES not in rows[0]:
        items = with_near_duplicates(items, [row.text(spec.text) for row in fields.values()])
    return items


def _people(spec: AnnotationsSpec, rows: Mapping[str, Row], labels: LabelSet) -> dict[str, dict[str, str]]:
    """What people gave each item, by the annotations' columns; empty where they gave none."""
    given: dict[str, dict[str, str]] = {item: {} for item in rows}
    for column, name in spec.people.items():
        alone = spec.model_copy(update={"gold": GoldSpec(column=name)})
        for item, label in _gold_labels(alone, rows, labels).items():
            given[item][column] = label or ""
    return given


def _gold_labels(spec: AnnotationsSpec, rows: Mapping[str, Row], labels: LabelSet) -> dict[str, str | None]:
    """The gold label of each item, from its first row."""
    if spec.gold is None or spec.gold.column is None:
        return {}
    column, codes, unlabelled = spec.gold.column, {**spec.map}, [*spec.unlabelled]
    for text, code in spec.gold.map.items():
        if code is None:
            unlabelled.append(text)
        else:
            codes[text] = code
    reader, golds = LabelCells(labels.labels, codes, unlabelled, labels.level), {}
    for item, row in rows.items():
        text = row.text(column)
        reading = reader.read(text)
        if reading is None:
            where = f"{row.where}: {column}"
            raise outside_label_set(f"the gold label of item {item!r}", where, [text], labels.codes, _FIX)
        golds[item] = reading.label
    return golds


def _whole(row: Row, column: str | None) -> str:
    """A cell with the white space around it: what a model wrote stays as it is."""
    value = None if column is None else row.get(column)
    return value if isinstance(value, str) else row.text(column)
