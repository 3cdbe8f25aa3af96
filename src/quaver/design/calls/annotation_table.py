"""Annotations that exist already, as an experiment that needs no asking: a table, column by column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import polars as pl

from quaver.core.label_values import CellLabel, LabelCells
from quaver.core.records import ANNOTATION_COLUMNS, Condition, Decoding, Item, LabelSet, Response, Variant
from quaver.design.calls.experiment import Experiment
from quaver.design.factors.factor_level import ORIGINAL
from quaver.design.items.table_files import Row, read_rows
from quaver.design.prompts.templates import literal
from quaver.design.spec import IMPORTED, AnnotationsSpec, StudySpec
from quaver.design.spec.study_file import Source
from quaver.errors import ItemError, SpecError, UnknownName, nearest

__all__ = ["Imported", "read_imported"]

_MOST_NAMED, _MOST_LABELS, _LONGEST = 5, 30, 200
"""What an error names: cells outside the label set, labels of it, characters of a cell."""


_SINGLE = (
    *("item", "label", "raw", "thinking", "coder", "prompt", "original", "decoding", "repeat", "text"),
)
"""The roles that one column plays."""

_YES = frozenset(("true", "yes", "1", "1.0"))


@dataclass(frozen=True, slots=True)
class Imported:
    """What a table of annotations comes to.

    Attributes:
        experiment: Its items, variants and conditions.
        frame: The annotation frame (`records.ANNOTATION_COLUMNS`, factors, groups); of raw answers, without
            labels.
        answers: The raw answers, where there are some: one for each row of the frame.
    """

    experiment: Experiment
    frame: pl.DataFrame
    answers: Sequence[Response] = ()


class _Given(NamedTuple):
    """The cells of the table that hold, or might hold, a label: what is said of them, column by column."""

    row: Sequence[int]
    item: list[str]
    coder: list[str]
    factors: list[tuple[str, ...]]
    decoding: list[str]
    repeat: list[str]
    label: list[str]


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
    said = "`{name}: {value}` under annotations"
    rows = read_rows(source.home / asked.source, asked.encoding, asked.separator, setting=said)
    if not rows:
        raise ItemError(
            "there are no annotations",
            where=source.where("annotations", "source"),
            expected="a header and rows",
            found=f"no row in {asked.source}",
        )
    _check_columns(asked, rows[0], source)
    labels = spec.task.label_set()
    given = _given(asked, rows)
    items = _items(asked, rows, labels)
    prompts = _prompts(asked, given, rows)
    variants = {
        levels: _variant(asked, levels, labels, *prompts[levels]) for levels in dict.fromkeys(given.factors)
    }
    if len({variant.id for variant in variants.values()}) < len(variants):
        raise SpecError(
            "two combinations of levels have the same name",
            where=source.where("annotations", "variant"),
            fix="leave commas and equals signs out of the cells of these columns",
        )
    frame = _frame(asked, given, rows, items, variants, labels)
    decodings = {name: Decoding(name) for name in dict.fromkeys(given.decoding)}
    asks = (
        frame.group_by("model", "variant", "decoding", maintain_order=True)
        .agg(pl.col("repeat").n_unique())
        .with_columns(pl.col("model", "variant", "decoding").cast(pl.String))
    )
    conditions = [Condition(*row) for row in asks.iter_rows()]
    experiment = Experiment(labels, list(items.values()), list(variants.values()), decodings, conditions)
    return Imported(experiment, frame, _answers(asked, rows) if asked.raw is not None else ())


def _check_columns(asked: AnnotationsSpec, first: Row, source: Source) -> None:
    told: list[tuple[str, str | None]] = [
        *((role, getattr(asked, role)) for role in _SINGLE),
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


def _column(rows: Sequence[Row], column: str | None, absent: str = "") -> list[str]:
    if column is None:
        return [absent] * len(rows)
    return [row.text(column) or absent for row in rows]


def _ids(asked: AnnotationsSpec, rows: Sequence[Row]) -> list[str]:
    """Each row's item; without a column of items each row is one."""
    if asked.item is None:
        return [str(number) for number in range(1, len(rows) + 1)]
    found = _column(rows, asked.item)
    if "" in found:
        where = f"{rows[found.index('')].where}: {asked.item}"
        raise ItemError("this row has no item", where=where, found="an empty cell")
    return found


def _given(asked: AnnotationsSpec, rows: Sequence[Row]) -> _Given:
    factors: list[tuple[str, ...]] = [()] * len(rows)
    if asked.variant:
        shared: dict[tuple[str, ...], tuple[str, ...]] = {}
        columns = [_column(rows, name, "none") for name in asked.variant]
        factors = [shared.setdefault(levels, levels) for levels in zip(*columns, strict=True)]
    items, repeats = _ids(asked, rows), _column(rows, asked.repeat)
    drawn = _column(rows, asked.decoding, IMPORTED)
    if not asked.coders:
        coders = _column(rows, asked.coder, IMPORTED)
        labels = _column(rows, asked.label)
        if asked.repeats_in_order:
            repeats = _in_turn(zip(items, coders, factors, drawn, strict=True))
        return _Given(range(len(rows)), items, coders, factors, drawn, repeats, labels)
    there = [
        (at, name, label) for at, row in enumerate(rows) for name in asked.coders if (label := row.text(name))
    ]
    at = [one[0] for one in there]
    return _Given(
        at,
        [items[row] for row in at],
        [name for _, name, _ in there],
        [factors[row] for row in at],
        [drawn[row] for row in at],
        [repeats[row] for row in at],
        [label for _, _, label in there],
    )


def _in_turn(places: Iterable[tuple[Any, ...]]) -> list[str]:
    """Which of the rows in its place each row is, from 0."""
    seen: Counter[tuple[Any, ...]] = Counter()
    found = []
    for place in places:
        found.append(str(seen[place]))
        seen[place] += 1
    return found


def _prompts(
    asked: AnnotationsSpec, given: _Given, rows: Sequence[Row]
) -> dict[tuple[str, ...], tuple[str, bool | None]]:
    """Each variant's prompt, and whether it is the original, by its levels.

    Raises:
        ItemError: A variant has two prompts, or is the original and is not.
    """
    found: dict[tuple[str, ...], tuple[str, str, Row]] = {}
    for levels, at in zip(given.factors, given.row, strict=True):
        row = rows[at]
        told = row.text(asked.prompt), row.text(asked.original)
        *known, first = found.setdefault(levels, (*told, row))
        for column, one, other in zip((asked.prompt, asked.original), known, told, strict=True):
            if one != other:
                raise ItemError(
                    f"the variant {', '.join(levels) or ORIGINAL!r} has two values of {column!r}",
                    where=row.where,
                    expected="one prompt a variant",
                    found=f"another one than at {first.where}",
                    fix="name the columns that tell the prompts apart with `variant`, or leave this one out",
                )
    originals = asked.original is not None
    return {
        levels: (prompt, mark.casefold() in _YES if originals else None)
        for levels, (prompt, mark, _) in found.items()
    }


def _variant(
    asked: AnnotationsSpec, levels: tuple[str, ...], labels: LabelSet, prompt: str, original: bool | None
) -> Variant:
    """A variant as far as the table shows it. How its prompt and the text were put together is not known."""
    text = asked.text
    factors = dict(zip(asked.variant, levels, strict=True))
    if "variant" in factors:  # the frame's own column holds it
        factors = {("prompt" if name == "variant" else name): level for name, level in factors.items()}
    return Variant(
        id=",".join(f"{name}={level}" for name, level in factors.items()) or ORIGINAL,
        factors=factors,
        system=literal(prompt),
        layout="{{ text }}",
        text=f"{{{{ item[{text!r}] }}}}" if text else "(the text was not imported)",
        instruction="",
        postfix="",
        answers={code: code for code in labels.codes},
        covariates={} if original is None else {ORIGINAL: original},
        origin={name: {"family": IMPORTED} for name in factors},
    )


def _items(asked: AnnotationsSpec, rows: Sequence[Row], labels: LabelSet) -> dict[str, Item]:
    own = {getattr(asked, role) for role in _SINGLE if role not in ("item", "text")}
    own |= {*asked.coders, *asked.variant}
    fixed = {name for name in (asked.gold and asked.gold.column, asked.text, *asked.groups) if name}
    steady = {name for name in rows[0] if name not in own} | fixed
    fields: dict[str, Row] = {}
    for item, row in zip(_ids(asked, rows), rows, strict=True):
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
    kept = [name for name in rows[0] if name in steady and name not in own]
    return {
        item: Item(
            item,
            {name: values.get(name) for name in kept},
            _gold(asked, values, labels, item),
            {name: values.text(name) for name in asked.groups},
        )
        for item, values in fields.items()
    }


def _gold(asked: AnnotationsSpec, values: Row, labels: LabelSet, item: str) -> str | None:
    if asked.gold is None:
        return None
    cells = LabelCells(labels.codes, {**asked.map, **asked.gold.map}, asked.unlabelled)
    found = values.text(asked.gold.column)
    read = cells.read(found)
    if read is None:
        where = f"{values.where}: {asked.gold.column}"
        raise _outside(f"the gold label of item {item!r}", where, found, labels)
    return read.label


def _outside(what: str, where: str, found: str, labels: LabelSet, every: Sequence[str] = ()) -> ItemError:
    """The first of the labels that are outside the set; the others are counted, and some of them named."""
    guess = nearest(found, labels.codes)
    others = [repr(one) for one in every if one != found]
    named = ", ".join(others[:_MOST_NAMED]) + (", …" if len(others) > _MOST_NAMED else "")
    more = f"; {len(others)} other{'s' * (len(others) != 1)} in the file: {named}" if others else ""
    return ItemError(
        f"{what} is outside the label set",
        where=where,
        expected=f"one of {', '.join(labels.codes[:_MOST_LABELS])}"
        + ", …" * (len(labels.codes) > _MOST_LABELS),
        found=found[:_LONGEST] + more,
        fix=(f"did you mean {guess!r}? Else " if guess else "")
        + "add it to the labels, map it to one of them, or name it as unlabelled",
    )


def _frame(
    asked: AnnotationsSpec,
    given: _Given,
    rows: Sequence[Row],
    items: Mapping[str, Item],
    variants: Mapping[tuple[str, ...], Variant],
    labels: LabelSet,
) -> pl.DataFrame:
    repeats = _repeats(given.repeat)
    read = _readings(asked, given, rows, labels)
    columns: dict[str, list[Any]] = {
        "model": given.coder,
        "variant": [variants[levels].id for levels in given.factors],
        "decoding": given.decoding,
        "item": given.item,
        "repeat": [repeats[name] for name in given.repeat],
        "evaluator": [IMPORTED] * len(given.label),
        "label": [read[label].label for label in given.label],
        "status": [read[label].status for label in given.label],
        "reason": [read[label].reason for label in given.label],
        "gold": [items[item].gold for item in given.item],
    }
    extra: dict[str, list[Any]] = {}
    for factor in next(iter(variants.values())).factors if variants else ():
        extra[factor] = [variants[levels].factors[factor] for levels in given.factors]
    for group in asked.groups:
        extra[group] = [items[item].groups[group] for item in given.item]
    kinds = {**ANNOTATION_COLUMNS, **dict.fromkeys(extra, pl.Categorical)}
    if asked.original is not None:
        extra[ORIGINAL] = [variants[levels].covariates[ORIGINAL] for levels in given.factors]
        kinds[ORIGINAL] = pl.Boolean
    empty = [None] * len(given.label)
    data = {name: columns.get(name, empty) for name in ANNOTATION_COLUMNS} | extra
    frame = pl.DataFrame(data, schema=kinds)
    _check_places(frame, given, rows)
    return frame


def _check_places(frame: pl.DataFrame, given: _Given, rows: Sequence[Row]) -> None:
    """See to it that no two labels are said to be of the same asking."""
    double = frame.select("item", "model", "variant", "decoding", "repeat").is_duplicated()
    if not double.any():
        return
    seen: dict[tuple[Any, ...], Row] = {}
    for at, row, *place, _ in zip(range(len(given.label)), *given, strict=True):
        if double[at] and seen.setdefault(tuple(place), rows[row]) is not rows[row]:
            raise ItemError(
                f"two labels of item {given.item[at]!r} stand in one place",
                where=rows[row].where,
                expected="a column that tells them apart",
                found=f"the same as at {seen[tuple(place)].where}",
                fix="name that column as repeat, variant, decoding or coder",
            )


def _readings(
    asked: AnnotationsSpec, given: _Given, rows: Sequence[Row], labels: LabelSet
) -> dict[str, CellLabel]:
    """What everything means that the labels' cells hold."""
    cells = LabelCells(labels.codes, asked.map, asked.unlabelled)
    found: dict[str, CellLabel] = {}
    outside: dict[str, int] = {}
    for at, written in enumerate(given.label):
        if written in found or written in outside:
            continue
        if read := cells.read(written):
            found[written] = read
        else:
            outside[written] = at
    if outside:
        written, at = next(iter(outside.items()))
        where = f"{rows[given.row[at]].where}: {asked.label or given.coder[at]}"
        raise _outside(f"the label of item {given.item[at]!r}", where, written, labels, [*outside])
    return found


def _answers(asked: AnnotationsSpec, rows: Sequence[Row]) -> list[Response]:
    """The raw answers, as they stand in the table."""
    thinking = asked.thinking
    return [
        Response(_whole(row, asked.raw), thinking=(_whole(row, thinking) or None) if thinking else None)
        for row in rows
    ]


def _whole(row: Row, column: str | None) -> str:
    """A cell with the white space around it: what a model wrote is kept as it is."""
    value = None if column is None else row.get(column)
    return value if isinstance(value, str) else row.text(column)


def _repeats(repeats: Sequence[str]) -> dict[str, int]:
    """Numbers of the repeats: their own where they are whole numbers, else in order of appearance."""
    names = list(dict.fromkeys(repeats))
    try:
        numbers = {name: int(float(name)) for name in names if name}
        if len(set(numbers.values())) == len(numbers) and all(float(n) == numbers[n] for n in numbers):
            return {"": 0, **numbers} if "" not in names or len(names) == 1 else _in_order(names)
    except (ValueError, OverflowError):
        pass
    return _in_order(names)


def _in_order(names: Sequence[str]) -> dict[str, int]:
    return {name: number for number, name in enumerate(names)}
