"""A table of texts: its columns as they were recognised, its labels, and the rows that are asked about."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import cast

from quaver.core.label_decisions import Decision, LabelRules, label_line, outside_label_set
from quaver.core.labels import TOLD_APART, LabelCells, folded, indistinct_labels, shown
from quaver.core.number_format import count
from quaver.design.items.table_files import Row
from quaver.errors import ItemError, QuaverError
from quaver.estimation.coded_columns import ordered
from quaver.study.checking.check_options import CheckOptions
from quaver.study.imports.columns import (
    COLUMNS,
    FEW_LABELS,
    MOST_LABELS,
    Table,
    check_label_set,
    id_by_values,
    id_column,
    label_columns,
    text_column,
)
from quaver.study.imports.field_columns import FieldColumn, named_fields
from quaver.study.imports.import_options import label_rules

_NAMED = ("text", "id", "group", "gold", "compare", "coders")
"""The options that name columns, each for one thing alone."""

_SHOWN = {"text": "text", "item": "id", "id": "id", "gold": "true label"}
"""What roles are called where they need no explanation, in the order in which they are shown."""


@dataclass(frozen=True, slots=True)
class TextTable:
    """What a table of texts holds.

    Attributes:
        rows: How many rows are asked about: those with a text that no prompt shows as an example.
        text: The column of texts.
        item: That of ids; None where the rows are numbered.
        gold: That of true labels.
        coders: Those of coders beside it.
        group: That of texts that belong together, where one is named.
        compare: Those whose groups of texts are compared.
        few: Columns that nothing was decided about, with few values.
        repeating: Others of these, whose values occur twice or more on average.
        labels: The label set; none where there are fields.
        also: Other texts in the column of true labels, each with its label; None for those for no label.
        counts: How often each label is the true one, of rows that are asked about.
        known: How many of these rows people labelled.
        taken: What was decided, and why.
        fields: Columns that are variables of their own, in place of true labels of one.
        examples: Texts that each prompt shows, each with its true label.
        left: The texts of rows that hold one of these, as they stand there; such rows are not asked about.
        blank: How many rows have no text; they are not asked about either.
    """

    rows: int
    text: str
    item: str | None
    gold: str | None = None
    coders: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    also: dict[str, str | None] = field(default_factory=dict)
    fields: tuple[FieldColumn, ...] = ()
    group: str | None = None
    compare: tuple[str, ...] = ()
    few: tuple[str, ...] = ()
    repeating: tuple[str, ...] = ()
    taken: tuple[Decision, ...] = ()
    counts: Counter[str] = field(default_factory=Counter)
    known: int = 0
    examples: tuple[tuple[str, str], ...] = ()
    left: tuple[str, ...] = ()
    blank: int = 0

    def true_label(self, row: Row) -> str:
        """A row's true label, or that of most of its coders; empty where there is none."""
        cells = [row.text(name) for name in ((self.gold,) if self.gold else self.coders)]
        votes = Counter(label for cell in cells if (label := self.also.get(cell, cell)))
        (first, most), second = [*votes.most_common(2), ("", 0), ("", 0)][:2]
        return first if most > second[1] else ""


def read_text_table(table: Table, given: CheckOptions) -> TextTable:
    """Say what each column of a table is, as named or as recognised.

    Raises:
        QuaverError: No column is recognised as that of the texts, or of the labels.
        ItemError: No row has a text.
    """
    given = cast(CheckOptions, table.naming(given, ("id", "fields", *COLUMNS)))
    labels, gold, coders = tuple(given.get("labels", ())), given.get("gold"), list(given.get("coders", ()))
    _take_named(table, given)
    text, item = given.get("text") or text_column(table), given.get("id")
    if item and not table.identifies(item):
        raise QuaverError(
            "this column does not identify the rows",
            where=f"{table.path.name}: --id",
            expected="another value in each row, and no empty cell",
            found=item,
            fix="leave it out to number the rows",
        )
    item = item or id_column(table)
    rules = label_rules(given, ())
    fields = named_fields(table, given.get("fields", ()), rules)
    found = TextTable(len(table.rows), text, item, fields=fields)
    if not fields:
        found = _with_labels(table, found, gold, coders, replace(rules, labels=labels))
    if item is None:
        why = "no column was recognised" + "; --id names it" * ("id" in given)
        found = replace(found, item=id_by_values(table, why))
    few, repeating = _undecided(table)
    group = given.get("group")
    first = [one for role in _SHOWN for one in table.taken if one.role == role]
    decided = (*first, *(one for one in table.taken if one.role not in _SHOWN))
    found = replace(
        found,
        group=group,
        compare=tuple(given.get("compare", ())),
        few=few,
        repeating=() if group else repeating,
        taken=tuple(replace(one, role=_SHOWN.get(one.role, one.role)) for one in decided),
    )
    return _asked(table, _with_examples(table, found, given.get("examples", ())))


def _take_named(table: Table, given: CheckOptions) -> None:
    """Give the columns that are named their roles, each one."""
    named = list[tuple[str, str]]()
    for role in _NAMED:
        value = given.get(role) or ()
        named += [(role, str(name)) for name in ((value,) if isinstance(value, str) else value)]  # type: ignore[attr-defined]
    if twice := [name for name, n in Counter(name for _, name in named).items() if n > 1]:
        raise QuaverError(
            "this column is named twice",
            where=table.path.name,
            expected="a column of its own for the texts, the true labels and each coder",
            found=twice[0],
        )
    table.ignore(given.get("ignore", ()))
    for role, name in named:
        table.take(role, name)


def _asked(table: Table, found: TextTable) -> TextTable:
    """What a table holds in the rows that are asked about: those with a text that no prompt shows."""
    texts = [row for row in table.rows if row.text(found.text)]
    if not texts:
        raise ItemError(
            "no row has a text",
            where=f"{table.path.name}: {found.text}",
            expected="a text to label",
            found="empty cells",
        )
    left = {*found.left}
    rows = [row for row in texts if row.text(found.text) not in left]
    counts = Counter(label for row in rows if found.gold and (label := found.true_label(row)))
    if found.fields:
        columns = [name for one in found.fields for name in one.columns]
        known = sum(any(row.get(name) not in (None, "") for name in columns) for row in rows)
    else:
        none = [text for text, label in found.also.items() if label is None]
        cells = LabelCells(found.labels, unlabelled=none)
        known = counts.total() or sum(any(cells.label(row.text(n)) for n in found.coders) for row in rows)
    return replace(found, rows=len(rows), blank=len(table.rows) - len(texts), counts=counts, known=known)


def _with_examples(table: Table, found: TextTable, ids: Sequence[str]) -> TextTable:
    """A table of which some rows are examples in the prompt, which leaves the others to be asked about."""
    if not ids:
        return found
    if found.fields:
        raise QuaverError(
            "examples have one label each, and this table has several variables",
            where="--examples",
            found=", ".join(one.name for one in found.fields),
            fix="put examples into the definitions of the fields, in the study file",
        )
    labelled = dict(labelled_texts(table, found))
    for one in ids:
        if one not in labelled:
            raise ItemError(
                "no row with a true label has this id",
                where=f"{table.path.name}: --examples",
                expected=f"values of {found.item}" if found.item else "numbers of rows, from 1",
                found=one,
            )
    examples = tuple(labelled[one] for one in dict.fromkeys(ids))
    forms = {plain_text(text) for text, _ in examples}
    texts = dict.fromkeys(row.text(found.text) for row in table.rows)
    return replace(found, examples=examples, left=tuple(text for text in texts if plain_text(text) in forms))


def labelled_texts(table: Table, found: TextTable) -> Iterator[tuple[str, tuple[str, str]]]:
    """The id of each row with a true label, its text and that label."""
    for number, row in enumerate(table.rows, 1):
        if label := found.true_label(row):
            yield row.text(found.item) if found.item else str(number), (row.text(found.text), label)


def plain_text(text: str) -> str:
    """A text without what makes no difference to a reader."""
    return " ".join(text.casefold().split())


def _with_labels(
    table: Table, found: TextTable, gold: str | None, coders: list[str], rules: LabelRules
) -> TextTable:
    """A table of one variable, with its labels, the true ones, and its coders."""
    gold = gold or _gold(table, rules.labels)
    if not (gold or coders):
        coders = label_columns(table, rules.labels) or _few_labelled(table)
    labels, also = _labels(table, gold, coders, rules)
    cells = LabelCells(labels, unlabelled=rules.unlabelled)
    if not coders:
        coders = [
            table.take("coders", name, "recognised: its values are the labels")
            for name in table.free()
            if any(map(cells.label, values := table.values(name))) and all(map(cells.read, values))
        ]
    if gold is None and len(coders) == 1:
        gold, coders = coders[0], []
        table.taken[:] = [
            replace(one, role="gold") if (one.role, one.column) == ("coders", gold) else one
            for one in table.taken
        ]
    elif gold is None and coders:
        why = "the label of most coders counts as the true one"
        table.taken.append(Decision("gold", "(most coders)", why))
    return replace(found, gold=gold, coders=tuple(coders), labels=labels, also=also)


def _few_labelled(table: Table) -> list[str]:
    """The only column with few values in some of the rows, where nothing else says what the labels are.

    People label some of the texts; a value in every row may be a party or a country as well.
    """
    most = min(FEW_LABELS, len(table.rows) // 3)
    few = [
        name
        for name in table.free()
        if 1 < len(table.values(name)) <= most and any(row.get(name) in (None, "") for row in table.rows)
    ]
    if len(few) != 1 or table.free("gold") or table.free("label"):
        return []
    why = (
        "recognised: the only one with few values, in some rows; --gold names another, --ignore leaves it out"
    )
    return [table.take("coders", few[0], why)]


def _undecided(table: Table) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns that play no role: those with few values, and those whose values repeat."""
    rows = len(table.rows)
    free = [name for name in table.free() if not isinstance(table.rows[0].get(name), date)]
    sizes = {name: size for name in free if (size := len(table.values(name))) > 1}
    few = tuple(name for name, size in sizes.items() if size <= min(MOST_LABELS, rows // 2))
    return few, tuple(name for name, size in sizes.items() if name not in few and size <= rows / 2)


def _gold(table: Table, labels: Sequence[str]) -> str | None:
    """The column that is called as true labels are, where it holds few values, or those of the label set."""
    codes = {*map(folded, labels)}

    def fits(name: str) -> bool:
        values = table.values(name)
        few = (1 if codes else 2) <= len(values) <= MOST_LABELS
        return few and (not codes or bool(codes & {*map(folded, values)}))

    return table.find("gold", fits=fits) or table.find("gold", "label", fits)


def _labels(
    table: Table, gold: str | None, coders: Sequence[str], rules: LabelRules
) -> tuple[tuple[str, ...], dict[str, str | None]]:
    """The label set, and what else stands in the table for one of its labels, or for none."""
    given = rules.labels
    counts = Counter[str]()
    for column in (*([gold] if gold else ()), *coders):
        counts.update({value: table.counts(column)[value] for value in table.values(column)})
    written = rules.read(counts)
    labels = tuple(given or ordered(written.labels))
    if not labels:
        raise _no_labels(table)
    most = len(labels) if given else min(MOST_LABELS, max(FEW_LABELS, len(table.rows) // 2))
    where = (
        f"{table.path.name}: {gold or ', '.join(coders)}" if (gold or coders) and not given else "--labels"
    )
    expected = f"two labels or more, at most {most} unless you list them"
    fix = 'list them with --labels "one, another", or name the right column with --gold'
    beside = "".join(f"; {one.column}: {one.why}" for one in written.decisions if one.role == "missing")
    check_label_set(labels, most, where, (expected, expected), (fix, fix), beside)
    if alike := indistinct_labels(labels):
        raise QuaverError(
            f"{shown(alike[0])} and {shown(alike[1])} cannot be told apart in an answer",
            where=where,
            expected=TOLD_APART,
            fix="list each label once: cells that write it differently count as it",
        )
    if gold and (outside := [text for text in table.values(gold) if text in written.outside]):
        row = next(row for row in table.rows if row.text(gold) == outside[0])
        text = shlex.quote(outside[0])
        fix = (
            f"add it to --labels, say which label it is (--same {text}=LABEL) or that it is none "
            f"(--unlabelled {text}), or name the right column with --gold"
        )
        raise outside_label_set("the true label", f"{row.where}: {gold}", outside, labels, fix)
    table.taken.append(Decision("labels", label_line(labels), "named" if given else "all that occur"))
    table.taken += written.decisions
    return labels, {**written.also, **dict.fromkeys(written.missing)}


def _no_labels(table: Table) -> QuaverError:
    """The error where nothing says what the labels are; or a column called as theirs are has one alone."""
    for name in (*table.free("gold"), *table.free("label")):
        if len(values := table.values(name)) == 1:
            return QuaverError(
                "this column has one label only",
                where=f"{table.path.name}: {name}",
                expected="two labels or more to choose from",
                found=f"{values[0][:40]!r} in {count(table.counts(name)[values[0]], 'row')}",
                fix=f'name the others too: --labels "{label_line(values)}, another"',
            )
    fix = (
        'list them with --labels "one, another", or name the column of true labels: --gold COLUMN; or, of '
        "several variables, their columns: --fields one,another"
    )
    return table.unclear("there are no labels", fix, "the labels to choose from")
