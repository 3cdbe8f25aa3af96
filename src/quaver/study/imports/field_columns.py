"""Columns of a table that are variables of their own: each a label, a set of labels, a scale, or a number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any, Final, Literal

from quaver.core.label_decisions import Decision, LabelRules, label_line
from quaver.core.label_values import NO_LABELS, SEPARATOR, cell_labels, number_in
from quaver.core.labels import applies
from quaver.errors import QuaverError
from quaver.estimation.coded_columns import ordered
from quaver.study.imports.columns import MOST_LABELS, Table

_STEPS: Final = 11
"""A scale has no more steps, from 0 or 1 on, and every one that it has is a whole number."""

_LONGEST: Final = 40
"""Characters: a column whose cells are longer on average holds texts."""

Kind = Literal["label", "set", "scale", "number"]

_AS_WRITTEN: Final = LabelRules()


@dataclass(frozen=True, slots=True)
class FieldColumn:
    """A variable that a table has.

    Attributes:
        name: Its name.
        kind: What its values are.
        labels: Its labels, in order; none of a number.
        level: Its level of measurement.
        gold: What stands under ``gold``: the column, or the columns.
        also: Texts in its cells that a user says are a label, or none.
        drawn: How the texts with these labels were picked, where that is said.
    """

    name: str
    kind: Kind
    labels: tuple[str, ...]
    level: str
    gold: Any
    also: Mapping[str, str | None] = field(default_factory=dict)
    drawn: str | None = None

    @property
    def document(self) -> dict[str, Any]:
        """The field's entry in a study file."""
        document: dict[str, Any] = {"labels": list(self.labels)} if self.labels else {}
        document |= {"several": True} if self.kind == "set" else {}
        document |= {"level": self.level} if self.kind in ("scale", "number") else {}
        return document | {"gold": how_drawn(self.cells, self.drawn)}

    @property
    def cells(self) -> Any:
        """The entry for its labels: the column or columns, and the meaning of other texts."""
        cells = {"columns": self.gold} if isinstance(self.gold, dict) else self.gold
        if not self.also:
            return cells
        return {**(cells if isinstance(cells, dict) else {"column": cells}), "map": dict(self.also)}

    @property
    def why(self) -> str:
        """The kind of variable, in words."""
        if self.kind == "number":
            return f"a number ({self.level})"
        return f"a {self.kind}{' of' * (self.kind == 'set')} {label_line(self.labels)}"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that hold it."""
        return tuple(self.gold.values()) if isinstance(self.gold, dict) else (self.gold,)


def how_drawn(gold: Any, drawn: str | None) -> Any:
    """The value of ``gold``, with how the texts with these labels were picked.

    >>> how_drawn("label", None), how_drawn("label", "random")
    ('label', {'column': 'label', 'drawn': 'random'})
    """
    whole = gold if isinstance(gold, dict) else {"column": gold}
    return {**whole, "drawn": drawn} if drawn else gold


def named_fields(
    table: Table, names: Sequence[str], rules: LabelRules = _AS_WRITTEN
) -> tuple[FieldColumn, ...]:
    """The variables that are named: columns, or what the columns of a set begin with.

    Raises:
        QuaverError: A column holds no label, set, scale or number.
    """
    if not names:
        return ()
    wide = _wide(table, rules)
    fields = []
    for name in names:
        field = wide.get(name) or _field(table, table.take("fields", name), rules)
        if field is None:
            raise QuaverError(
                "this column is no variable that answers could have",
                where=f"{table.path.name}: {name}",
                expected=f"a number, or a label or several of {MOST_LABELS} different ones at most",
                found=", ".join(text[:30] for text in table.values(name)[:4]) or "lists, or empty cells",
            )
        fields.append(field)
    _take(table, fields)
    return tuple(fields)


def _take(table: Table, field_columns: Iterable[FieldColumn]) -> None:
    """Give the columns of variables their role, and say what each was taken for."""
    table.taken[:] = [decision for decision in table.taken if decision.role != "fields"]
    for field_column in field_columns:
        table.used.update(field_column.columns)
        table.taken.append(Decision("field", ", ".join(field_column.columns), field_column.why))


def _field(table: Table, name: str, rules: LabelRules) -> FieldColumn | None:
    """What a column is; None where it is no variable."""
    cells = [cell for row in table.rows if (cell := row.get(name)) not in (None, "") and cell == cell]
    if not cells or isinstance(cells[0], date):
        return None
    if any(isinstance(cell, list) for cell in cells):
        return _of_sets(name, cells)
    written = rules.read(table.counts(name))
    missing = {"", *written.missing}
    texts = [rules.same.get(text, text) for row in table.rows if (text := row.text(name)) not in missing]
    numbers = [number_in(text, "interval") for text in texts]
    if texts and all(number is not None for number in numbers):
        result = _of_numbers(name, sorted({float(number) for number in numbers if number is not None}))
    elif sum(map(len, texts)) > _LONGEST * len(texts):
        return None
    elif (result := _of_sets(name, texts)) is None:
        labels = tuple(ordered(rules.read(Counter(texts)).labels))
        fits = 1 < len(labels) <= min(MOST_LABELS, len(texts) // 2)
        result = FieldColumn(name, "label", labels, "nominal", name) if fits else None
    return result and replace(result, also=_also(result, rules))


def _also(field_column: FieldColumn, rules: LabelRules) -> dict[str, str | None]:
    """Texts that a user says are one of a field's labels, or none."""
    meant: dict[str, str] = {**rules.same, **{text: text for text in rules.label_is}}
    return dict.fromkeys(rules.unlabelled) | {
        text: to for text, to in meant.items() if to in field_column.labels
    }


def _of_numbers(name: str, values: Sequence[float]) -> FieldColumn | None:
    if len(values) < 2:
        return None
    whole = all(value.is_integer() for value in values)
    if whole and values[0] in (0, 1) and values[-1] < _STEPS and len(values) > 2:
        steps = range(int(values[0]), int(values[-1]) + 1)
        return FieldColumn(name, "scale", tuple(map(str, steps)), "ordinal", name)
    if len(values) == 2 and values == [0.0, 1.0]:
        return FieldColumn(name, "label", ("0", "1"), "nominal", name)
    return FieldColumn(name, "number", (), "ratio" if values[0] >= 0 else "interval", name)


def _of_sets(name: str, cells: Sequence[Any]) -> FieldColumn | None:
    """A column of sets: some cell holds several labels, of which there are few and each occurs again."""
    sets = list(map(cell_labels, cells))
    marked = any(SEPARATOR in cell or cell == NO_LABELS for cell in cells if isinstance(cell, str))
    counts = Counter(label for own in sets for label in own)
    few = 1 < len(counts) <= MOST_LABELS and counts.total() >= 2 * len(counts)
    if not few or max(map(len, sets)) < 2 or any(SEPARATOR in label for label in counts):
        return None
    if not marked and all(isinstance(cell, str) for cell in cells) and len({*cells}) <= len(counts):
        return None  # labels that have a comma in them
    return FieldColumn(name, "set", tuple(ordered(counts)), "nominal", name)


def _wide(table: Table, rules: LabelRules) -> dict[str, FieldColumn]:
    """Sets of which each label has a column with marks in its cells, by what these columns begin with."""
    stems: dict[str, dict[str, str]] = {}
    for name in table.free():
        cut = max(map(name.rfind, "_.:"))
        marks = [text for text in table.values(name) if text not in rules.unlabelled]
        if 0 < cut < len(name) - 1 and marks and all(applies(text) is not None for text in marks):
            stems.setdefault(name[:cut].strip(), {})[name[cut + 1 :].strip()] = name
    also = dict.fromkeys(rules.unlabelled)
    fields = {}
    for stem, columns in stems.items():
        if len(columns) > 1 and stem not in table.columns:
            fields[stem] = FieldColumn(stem, "set", tuple(columns), "nominal", columns, also)
    return fields
