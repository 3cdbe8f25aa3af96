"""A table of texts: its columns as they were recognised, its labels, and the rows that are asked about."""

from __future__ import annotations

import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from quaver.core.label_decisions import EMPTY, Decision, LabelRules, in_quotes, label_line, outside_label_set
from quaver.core.labels import MISSING, TOLD_APART, LabelCells, folded, indistinct_labels, shown
from quaver.core.number_format import count
from quaver.design.items.table_files import Row
from quaver.errors import ItemError, QuaverError
from quaver.study.checking.check_options import CheckOptions
from quaver.study.imports.columns import (
    FEW_LABELS,
    MOST_LABELS,
    Table,
    are_numbers,
    hand_label_columns,
    id_column,
    label_columns,
    picture_column,
    read_labels,
    set_models_aside,
    text_column,
)
from quaver.study.imports.field_columns import FieldColumn, named_fields
from quaver.study.imports.import_options import label_rules

_NAMED = ("text", "id", "gold", "group", "title", "images", "compare", "coders")
"""The options that name columns, each for one thing alone."""

_SHOWN = {"text": "text", "title": "title", "item": "id", "id": "id", "gold": "gold label"}
"""What roles are called where they need no explanation, in the order in which they are shown."""

_DATE = re.compile(r"(\d{4}([-/])\d\d?\2\d\d?|\d\d?([./-])\d\d?\3\d{2,4})([ T].*)?")
"""A day, with or without a time."""

_GARBLED = re.compile("\ufffd|Ã[\u0080-\u00bf]|â€")
"""What UTF-8 becomes where it is read as something else."""


@dataclass(slots=True)
class TextTable:
    """What a table of texts holds.

    Attributes:
        rows: How many rows are asked about: those with a text, or with a picture.
        text: The column of texts; empty where pictures are labelled alone.
        item: That of ids; None where the rows are numbered.
        gold: That of gold labels.
        coders: Those of coders beside it.
        labels: The label set; none where there are fields.
        also: Other texts in the column of gold labels, each with its label; None for those for no label.
        fields: Columns that are variables of their own, in place of gold labels of one.
        group: The column of texts that belong together, where one is named.
        title: That of titles, which stand above the texts.
        images: That of pictures.
        compare: Those whose groups of texts are compared.
        few: Columns that nothing was decided about, with few values.
        repeating: Others of these, whose values occur twice or more on average.
        taken: What was decided, and why.
        counts: How often each label is the true one, of rows that are asked about.
        known: How many of these rows people labelled.
        blank: How many rows have no text, or no picture, and are not asked about.
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
    title: str | None = None
    images: str | None = None
    compare: tuple[str, ...] = ()
    few: tuple[str, ...] = ()
    repeating: tuple[str, ...] = ()
    taken: tuple[Decision, ...] = ()
    counts: Counter[str] = field(default_factory=Counter)
    known: int = 0
    blank: int = 0

    @property
    def labelled(self) -> str:
        """The column of what is labelled."""
        return self.images or self.text

    @property
    def noun(self) -> str:
        """What a row is to label."""
        return "picture" if self.images else "text"


def read_text_table(table: Table, given: CheckOptions) -> TextTable:
    """Say what each column of a table is, as named or as recognised.

    Raises:
        QuaverError: No column is recognised as that of the texts, or of the labels.
        ItemError: No row has a text.
    """
    named = table.take_named(given, dict(zip(_NAMED, _NAMED, strict=True)))
    text, item, gold, group, title, images = (next(iter(named.get(role, ())), None) for role in _NAMED[:6])
    images = images or (None if text else picture_column(table))
    if not (text or images):
        text, most = text_column(table), len(table.rows) / 2
        title = title or table.find("title", fits=lambda name: len(table.values(name)) > most)
    if item and not table.identifies(item):
        raise QuaverError(
            "this column does not identify the rows",
            where=f"{table.path.name}: --id",
            expected="another value in each row, and no empty cell",
            found=item,
            fix="leave it out to number the rows",
        )
    rules = label_rules(given, ())
    fields = named_fields(table, given.get("fields", ()), rules)
    drawn = given.get("hand_labels")
    text_table = TextTable(
        len(table.rows),
        text or "",
        item,
        images=images,
        fields=tuple(replace(field, drawn=drawn) for field in fields),
    )
    try:
        if not text_table.fields:
            text_table.gold, text_table.coders = gold, tuple(named.get("coders", ()))
            _find_labels(table, text_table, replace(rules, labels=tuple(given.get("labels", ()))))
    finally:  # who is still to say what the labels are sees the ids
        text_table.item = item or id_column(table, "; --id names it" * ("id" in given))
    text_table.group, text_table.title, text_table.compare = group, title, tuple(named.get("compare", ()))
    # Find the columns that play no role: those with few values, and those whose values repeat
    rows = len(table.rows)
    sizes = {name: len(table.values(name)) for name in table.free()}
    sizes = {name: n for name, n in sizes.items() if n > 1 and not _holds_dates(table, name)}
    text_table.few = tuple(name for name, n in sizes.items() if n <= min(MOST_LABELS, rows // 2))
    if text_table.group is None:
        text_table.repeating = tuple(
            name for name, n in sizes.items() if name not in text_table.few and n <= rows / 2
        )
    order = [*_SHOWN]
    decided = sorted(
        table.taken, key=lambda decision: order.index(decision.role) if decision.role in order else len(order)
    )
    text_table.taken = tuple(
        replace(decision, role=_SHOWN.get(decision.role, decision.role)) for decision in decided
    )
    _count_rows(table, text_table)
    return text_table


def _holds_dates(table: Table, name: str) -> bool:
    """Whether each filled cell of a column is a date, which neither groups texts nor compares them."""
    return isinstance(table.rows[0].get(name), date) or all(map(_DATE.fullmatch, table.values(name)))


def _find_labels(table: Table, text_table: TextTable, rules: LabelRules) -> None:
    """Find the labels of a table of one variable, the true ones, and its coders."""
    set_models_aside(table)
    gold, coders = text_table.gold or _gold(table, rules.labels), list(text_table.coders)
    if not (gold or coders or rules.labels):
        coders = hand_label_columns(table, rules)
    elif not (gold or coders):
        coders = label_columns(table, rules.labels, rules.unlabelled)
    _read_labels(table, text_table, gold, coders, rules)
    if gold and not coders:
        numbers = are_numbers(text_table.labels)
        coders = [] if numbers else label_columns(table, text_table.labels, rules.unlabelled)
    elif len(coders) == 1 and not gold:
        (why,) = [decision.why for decision in table.taken if decision.column == coders[0]]
        gold, coders = table.take("gold", coders[0], why), []
    elif coders and not gold:
        why = "the label of most coders counts as the gold label"
        table.taken.append(Decision("gold", "(most coders)", why))
    text_table.gold, text_table.coders = gold, tuple(coders)


def _gold(table: Table, labels: Sequence[str]) -> str | None:
    """The column that is called as gold labels are, where it holds few values, or those of the label set."""
    codes = {*map(folded, labels)}

    def fits(name: str) -> bool:
        values = table.values(name)
        if codes and codes.isdisjoint(map(folded, values)):
            return False
        return (1 if codes else 2) <= len(values) <= MOST_LABELS

    gold = table.find("gold", fits=fits)
    if gold or table.called("by_hand"):
        return gold
    return table.find("gold", "label", fits)


def _read_labels(
    table: Table, text_table: TextTable, gold: str | None, coders: Sequence[str], rules: LabelRules
) -> None:
    """Read the label set, and what else stands in the table for one of its labels, or for none."""
    columns = [gold, *coders] if gold else list(coders)
    if not (rules.labels or any(map(table.values, columns))):
        raise _no_labels(table)
    most = min(MOST_LABELS, max(FEW_LABELS, len(table.rows) // 2))
    where = "--labels" if rules.labels else f"{table.path.name}: {gold or ', '.join(coders)}"
    written = read_labels(
        table,
        columns,
        rules,
        most,
        where=where,
        expected=f"two labels or more, at most {most} unless you list them",
        fix='list them with --labels "one, another", or name the right column with --gold',
    )
    labels = written.labels
    if alike := indistinct_labels(labels):
        raise QuaverError(
            f"{shown(alike[0])} and {shown(alike[1])} cannot be told apart in an answer",
            where=where,
            expected=TOLD_APART,
            fix="list each label once: cells that write it differently count as it",
        )
    outside = [text for text in table.values(gold) if text in written.outside] if gold else []
    if gold and outside:
        row = next(row for row in table.rows if row.text(gold) == outside[0])
        text = shlex.quote(outside[0])
        fix = (
            f"add it to --labels, say which label it is (--same {text}=LABEL) or that it is none "
            f"(--unlabelled {text}), or name the right column with --gold"
        )
        raise outside_label_set("the gold label", f"{row.where}: {gold}", outside, labels, fix)
    table.taken.append(Decision("labels", label_line(labels), "named" if rules.labels else "all that occur"))
    table.taken += [decision for decision in written.decisions if decision.column != EMPTY]
    text_table.labels, text_table.also = labels, {**written.also, **dict.fromkeys(written.missing)}


def _no_labels(table: Table) -> QuaverError:
    """The error where nothing says what the labels are; or a column called as theirs are has one alone."""
    for name in (*table.free("gold"), *table.free("label")):
        if len(values := table.values(name)) == 1:
            return QuaverError(
                "this column has one label only",
                where=f"{table.path.name}: {name}",
                expected="two labels or more to choose from",
                found=f"{values[0][:40]!r} in {count(table.counts(name)[values[0]], 'row')}",
                fix=f"name the others too: --labels {in_quotes(label_line(values) + ', another')}",
            )
    sizes = {name: len(table.values(name)) for name in table.columns}
    most = min(MOST_LABELS, len(table.rows) // 2)
    if few := sorted((name for name, n in sizes.items() if 1 < n <= most), key=lambda name: sizes[name]):
        values = sorted(table.values(few[0]))
        fix = f"list the labels: --labels {in_quotes(label_line(values))}"
        if by_people := [name for name in few if name in table.free()]:
            name = in_quotes(by_people[0])
            fix = f"if people labelled these texts, name their column: --gold={name} or another; or {fix}"
        return table.unclear("there are no labels", fix, "the labels to choose from")
    fix = (
        'list them with --labels "one, another", or name the column of gold labels: --gold COLUMN; or, of '
        "several variables, their columns: --fields one,another"
    )
    return table.unclear("there are no labels", fix, "the labels to choose from")


def _count_rows(table: Table, text_table: TextTable) -> None:
    """Count the rows with a text, and those that people labelled."""
    rows = [row for row in table.rows if row.text(text_table.labelled)]
    if not rows:
        raise ItemError(
            "no row has anything to label",
            where=f"{table.path.name}: {text_table.labelled}",
            expected="a text or a picture to label",
            found="empty cells",
        )
    text_table.rows, text_table.blank = len(rows), len(table.rows) - len(rows)
    if text_table.fields:
        of_fields = [name for field in text_table.fields for name in field.columns]
        text_table.known = sum(any(row.get(name) not in (None, "") for name in of_fields) for row in rows)
        return
    also = {text: label for text, label in text_table.also.items() if label}
    cells = LabelCells(text_table.labels, also, text_table.also.keys() - also.keys())
    columns = (text_table.gold,) if text_table.gold else text_table.coders
    given = [[cells.label(row.text(name)) for name in columns] for row in rows]
    text_table.known = sum(map(any, given))
    if text_table.gold:
        text_table.counts = Counter(label for (label,) in given if label)


def doubts_about(table: Table, text: str | None, gold: str | None) -> list[Decision]:
    """What a person should know of a table before its texts are asked about, each with what to do."""
    doubts = dict[str, str]()
    if table.path.suffix.lower() in (".csv", ".tsv", ".tab"):
        swallowed = sum(_swallowed(row, len(table.columns)) for row in table.rows)
        problem = f"{count(swallowed, 'row')} may have vanished into a text that a quotation mark opened"
        doubts |= {problem: "--quote none reads quotation marks as text"} if swallowed else {}
    if text:
        counts = table.counts(text)
        if empty := counts.get("", 0):
            has = "has" if empty == 1 else "have"
            problem = f"{empty:,} of {count(len(table.rows), 'row')} {has} nothing to label"
            doubts[problem] = "not asked about; the labelled copy keeps them without a label"
        if garbled := sum(bool(_GARBLED.search(cell)) for cell in counts):
            doubts[f"{garbled:,} texts have signs of a wrong encoding"] = "save the table as UTF-8"
    if text and gold and (apart := _labelled_twice(table, text, gold)):
        problem = f"{count(apart, 'text')} with different gold labels"
        doubts[problem] = "settle them, or accuracy counts some as wrong"
    return [Decision("table", problem, fix) for problem, fix in doubts.items()]


def _labelled_twice(table: Table, text: str, gold: str) -> int:
    """How many texts stand in several rows with different labels, whatever their capitals and spaces."""
    labels = defaultdict[str, set[str]](set)
    for row in table.rows:
        labels[" ".join(row.text(text).casefold().split())].add(folded(row.text(gold)))
    missing = {"", *map(folded, MISSING)}
    return sum(bool(form) and len(own - missing) > 1 for form, own in labels.items())


def _swallowed(row: Row, columns: int) -> int:
    """How many rows a cell has taken in, where its lines have as many separators as rows have."""
    for cell in row.values():
        if not isinstance(cell, str) or "\n" not in cell or columns < 2:
            continue
        for sign in "\t,;|":
            first, *whole, last = [line.count(sign) for line in cell.split("\n")]
            if first + last == columns - 1 and all(number == columns - 1 for number in whole):
                return 1 + len(whole)
    return 0
