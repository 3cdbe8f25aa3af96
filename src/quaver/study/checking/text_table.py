"""A table of texts: which column holds the texts, the true labels, the coders' labels; which labels occur."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any, cast

from quaver.core.label_decisions import Decision, LabelRules, label_line, outside_label_set
from quaver.core.labels import MISSING, TOLD_APART, LabelCells, folded, indistinct_labels, shown
from quaver.core.number_format import count
from quaver.design.items.text_lines import Row
from quaver.errors import ItemError, QuaverError
from quaver.estimation.encoding import ordered
from quaver.study.checking.check_options import CheckOptions
from quaver.study.imports.cell_options import label_rules
from quaver.study.imports.field_columns import (
    FieldColumn,
    keep_other_coders,
    named_fields,
    proposed_fields,
    say_other_fields,
)
from quaver.study.imports.label_columns import COLUMNS, MOST_LABELS, Table, columns_of_labels, is_called

_FEW_LABELS = 10
"""A column with no more values may be one of labels, however few rows there are."""

_LONG = 20
"""Characters: cells that are longer on average are texts rather than names or codes."""


@dataclass(frozen=True, slots=True)
class TextTable:
    """What a table of texts holds.

    Attributes:
        rows: How many rows.
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
        counts: How often each label is the true one.
        known: How many rows people labelled.
        taken: What was decided, and why.
        fields: Columns that are variables of their own, in place of true labels of one.
        examples: Texts that each prompt shows, each with its true label.
        left: The texts of rows that hold one of these, as they stand there; such rows are not asked about.
        blank: How many rows have no text; they are not asked about either.
    """

    rows: int
    text: str
    item: str | None
    group: str | None
    compare: tuple[str, ...]
    few: tuple[str, ...]
    repeating: tuple[str, ...]
    known: int
    taken: tuple[Decision, ...]
    gold: str | None = None
    coders: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    also: dict[str, str | None] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    fields: tuple[FieldColumn, ...] = ()
    examples: tuple[tuple[str, str], ...] = ()
    left: tuple[str, ...] = ()
    blank: int = 0


def read_text_table(table: Table, given: CheckOptions) -> TextTable:
    """Say what each column of a table is, as named or as recognised."""
    given = cast(CheckOptions, table.naming(given, ("id", "fields", *COLUMNS)))
    labels, compare = tuple(given.get("labels", ())), tuple(given.get("compare", ()))
    coders, group, gold = tuple(given.get("coders", ())), given.get("group"), given.get("gold")
    text, item = given.get("text"), given.get("id")
    _check_distinct(table, [text, item, group, gold, *compare, *coders])
    table.ignore(given.get("ignore", ()))
    roles = [("text", text), ("id", item), ("group", group), ("gold", gold)]
    roles += [("compare", column) for column in compare] + [("coders", column) for column in coders]
    for role, column in roles:
        if column:
            table.take(role, column, "named")
    text = text or _text(table)
    item = _identifying(table, item) if item else _item(table, can_name="id" in given)
    fields = named_fields(table, given.get("fields", ()))
    is_open = not (fields or gold or coders or labels)
    if is_open:
        gold = _gold(table, labels)
        fields = () if gold else proposed_fields(table)
    own = (
        _of_fields(table, fields)
        if fields
        else _of_one(table, gold, list(coders), label_rules(given, labels))
    )
    keep_other_coders(table, fields)
    if is_open and not fields:
        say_other_fields(table, own["gold"] or own["coders"][0])
    few, repeating = _undecided(table)
    found = TextTable(
        len(table.rows),
        text,
        item,
        group,
        compare,
        few,
        () if group else repeating,
        taken=_shown(table.taken),
        **own,
    )
    return _with_examples(table, found, given["examples"]) if given.get("examples") else found


def _with_examples(table: Table, found: TextTable, ids: Sequence[str]) -> TextTable:
    """A table of which some rows are examples in the prompt, which leaves the others to be asked about."""
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
    gone = [row for row in table.rows if plain_text(row.text(found.text)) in forms]
    labels = [label for row in gone if (label := _true_label(row, found))]
    return replace(
        found,
        rows=found.rows - len(gone),
        known=found.known - len(labels),
        counts=found.counts - Counter(labels) if found.gold else found.counts,
        examples=examples,
        left=tuple(dict.fromkeys(row.text(found.text) for row in gone)),
    )


def labelled_texts(table: Table, found: TextTable) -> Iterator[tuple[str, tuple[str, str]]]:
    """The id of each row with a true label, its text and that label."""
    for number, row in enumerate(table.rows, 1):
        if label := _true_label(row, found):
            yield row.text(found.item) if found.item else str(number), (row.text(found.text), label)


def _true_label(row: Row, found: TextTable) -> str:
    """A row's true label, or that of most of its coders; empty where there is none."""
    if found.gold:
        cell = row.text(found.gold)
        return found.also.get(cell, cell) or ""
    cells = [row.text(name) for name in found.coders]
    votes = Counter(label for cell in cells if (label := found.also.get(cell, cell)))
    (first, most), second = [*votes.most_common(2), ("", 0), ("", 0)][:2]
    return first if most > second[1] else ""


def plain_text(text: str) -> str:
    """A text without what makes no difference to a reader."""
    return " ".join(text.casefold().split())


def _of_fields(table: Table, fields: tuple[FieldColumn, ...]) -> dict[str, Any]:
    """What a table says of columns that are variables of their own."""
    sources = [name for one in fields for name in one.columns]
    known = sum(any(row.get(name) not in (None, "") for name in sources) for row in table.rows)
    return {"fields": fields, "known": known}


def _of_one(table: Table, gold: str | None, named: list[str], rules: LabelRules) -> dict[str, Any]:
    """What a table says of one variable: its labels, the true ones, and its coders."""
    labels = rules.labels
    gold = gold or _gold(table, labels)
    if labels and not (gold or named):
        named = columns_of_labels(table, labels)
    elif not (gold or named):
        named = _alike(table)
    label_set, also = _labels(table, gold, named, rules)
    known = LabelCells(label_set, unlabelled=rules.unlabelled)
    if not named:
        named = [
            table.take("coders", name, "recognised: its values are the labels")
            for name in table.free()
            if table.holds_texts(name)
            and any(map(known.label, table.values(name)))
            and all(map(known.read, table.values(name)))
        ]
    if gold is None and len(named) == 1:
        gold, named = named.pop(), []
        table.taken[:] = [
            replace(one, role="gold") if (one.role, one.column) == ("coders", gold) else one
            for one in table.taken
        ]
    elif gold is None and named:
        table.taken.append(
            Decision("gold", "(most coders)", "the label of most coders counts as the true one")
        )
    cells = _cells(table, gold) if gold else ()
    counts = Counter(label for cell in cells if (label := also.get(cell, cell)))
    return {
        "gold": gold,
        "coders": tuple(named),
        "labels": label_set,
        "also": also,
        "counts": counts,
        "known": counts.total()
        or sum(any(known.label(row.text(name)) for name in named) for row in table.rows),
    }


def _undecided(table: Table) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns that play no role: those with few values, and those whose values repeat."""
    few, repeating = [], []
    rows = len(table.rows)
    for name in table.free():
        if isinstance(table.rows[0].get(name), date) or not table.holds_texts(name):
            continue
        values = len(table.values(name))
        if 1 < values <= min(MOST_LABELS, rows // 2):
            few.append(name)
        elif 1 < values <= rows / 2:
            repeating.append(name)
    return tuple(few), tuple(repeating)


def _check_distinct(table: Table, named: Sequence[str | None]) -> None:
    """See that no column is named for two things."""
    counts = Counter(name for name in named if name)
    if twice := [name for name, n in counts.items() if n > 1]:
        raise QuaverError(
            "this column is named twice",
            where=table.path.name,
            expected="a column of its own for the texts, the true labels and each coder",
            found=twice[0],
        )


def _shown(decisions: Sequence[Decision]) -> tuple[Decision, ...]:
    """Decisions with roles that need no explanation."""
    words = {"text": "text", "item": "id", "id": "id", "gold": "true label"}
    first = [decision for role in words for decision in decisions if decision.role == role]
    others = [decision for decision in decisions if decision.role not in words]
    return tuple(
        replace(decision, role=words.get(decision.role, decision.role)) for decision in (*first, *others)
    )


def _text(table: Table) -> str:
    """The column that is called as texts are, else the one with the longest cells."""
    found = [name for name in table.free() if is_called("text", name)]
    if len(found) == 1:
        return table.take("text", found[0], "recognised by its name")
    lengths = {name: _length(table, name) for name in found or table.free() if table.holds_texts(name)}
    longest = max(lengths, key=lambda name: lengths[name], default="")
    if not longest or (lengths[longest] < (1 if found else _LONG) and len(table.columns) > 1):
        raise QuaverError(
            "no column of texts was recognised",
            where=table.path.name,
            expected="a column with the texts to label",
            found=", ".join(table.columns),
            fix="name it with --text",
        )
    return table.take("text", longest, "recognised: its cells are the longest")


def _length(table: Table, column: str) -> float:
    return sum(len(text) * n for text, n in table.counts(column).items()) / len(table.rows)


def _identifying(table: Table, column: str) -> str:
    """A column that is named for the ids, where it identifies the rows."""
    if len(table.values(column)) < len(table.rows):
        raise QuaverError(
            "this column does not identify the rows",
            where=f"{table.path.name}: --id",
            expected="another value in each row, and no empty cell",
            found=column,
            fix="leave it out to number the rows",
        )
    return column


def _item(table: Table, *, can_name: bool) -> str | None:
    """The column of ids, where each row has its own."""
    result = table.find("item")
    if result and len(table.values(result)) == len(table.rows):
        return result
    if other := _called_id(table):
        return other
    why = (
        f"{result} does not identify the rows"
        if result
        else "no column was recognised" + "; --id names it" * can_name
    )
    role = Decision("item", "(the row's number)", why)
    table.taken[:] = [decision for decision in table.taken if decision.role != "item"] + [role]
    return None


def _called_id(table: Table) -> str | None:
    """The first column whose name ends as those of ids do, where each row has its own value."""
    for name in table.free():
        ends = name.endswith(("ID", "Id")) or re.search(r"(^|[^a-z])id$", name.casefold())
        if ends and table.holds_texts(name) and len(table.values(name)) == len(table.rows):
            return table.take("item", name, "recognised: each row has its own")
    return None


def _gold(table: Table, labels: Sequence[str]) -> str | None:
    """The column that is called as true labels are, where it holds few values, or those of the label set."""
    codes = {*map(folded, labels)}
    for role in ("gold", "label"):
        found = [
            name
            for name in table.free()
            if is_called(role, name)
            and table.holds_texts(name)
            and (1 if codes else 2) <= len(table.values(name)) <= MOST_LABELS
        ]
        if codes:
            found = [n for n in found if codes & {*map(folded, table.values(n))}]
        if len(found) > 1:
            raise QuaverError(
                "several columns could hold the true labels",
                where=table.path.name,
                found=", ".join(found),
                fix="name the right one with --gold",
            )
        if found:
            return table.take("gold", found[0], "recognised by its name")
    return None


def _labels(
    table: Table, gold: str | None, coders: Sequence[str], rules: LabelRules
) -> tuple[tuple[str, ...], dict[str, str | None]]:
    """The label set, and what else stands in the table for one of its labels, or for none."""
    given = rules.labels
    counts = Counter[str]()
    for column in (*([gold] if gold else ()), *coders):
        counts.update({value: n for value, n in table.counts(column).items() if value})
    written = rules.read(counts)
    labels = tuple(given or ordered(written.labels))
    if not labels:
        raise _no_labels(table)
    most = min(MOST_LABELS, max(_FEW_LABELS, len(table.rows) // 2))
    where = f"{table.path.name}: {gold}" if gold and not given else "--labels"
    if len(labels) < 2 or (len(labels) > most and not given):
        beside = "".join(f"; {one.column}: {one.why}" for one in written.decisions if one.role == "missing")
        raise QuaverError(
            "fewer than two labels" if len(labels) < 2 else f"{len(labels)} different labels occur",
            where=where,
            expected=f"two labels or more, at most {most} unless you list them",
            found=", ".join(one[:40] for one in labels[:8]) + ", …" * (len(labels) > 8) + beside,
            fix='list them with --labels "one, another", or name the right column with --gold',
        )
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
    """The error where nothing says what the labels are."""
    _check_several(table)
    rows = len(table.rows)
    few = [n for n in table.free() if table.holds_texts(n) and 1 < len(table.values(n)) <= rows / 3]
    guess = f"--gold {shlex.quote(few[0])}" if len(few) == 1 else "--gold COLUMN"
    return QuaverError(
        "there are no labels",
        where=table.path.name,
        expected="the labels to choose from",
        found=f"columns {', '.join(table.columns)}",
        fix=f'list them with --labels "one, another", or name the column of true labels: {guess}; or, of '
        "several variables, their columns: --fields one,another",
    )


def _check_several(table: Table) -> None:
    """See that a column which is called as those of true labels are has more than one label."""
    for name in table.free():
        called = is_called("gold", name) or is_called("label", name)
        if called and table.holds_texts(name) and len(values := table.values(name)) == 1:
            raise QuaverError(
                "this column has one label only",
                where=f"{table.path.name}: {name}",
                expected="two labels or more to choose from",
                found=f"{values[0][:40]!r} in {count(table.counts(name)[values[0]], 'row')}",
                fix=f'name the others too: --labels "{label_line(values)}, another"',
            )


def _alike(table: Table) -> list[str]:
    """The columns that are left, hold few values, and share them with another: several coders' labels.

    None where two different sets of values are shared, since either could be the labels.
    """
    missing = {*map(folded, MISSING)}
    few = {
        name: {*map(folded, table.values(name))} - missing
        for name in table.free()
        if table.holds_texts(name) and 0 < len(table.values(name)) <= _FEW_LABELS
    }
    found = [
        name
        for name, values in few.items()
        if any(len(values & other) > 1 for one, other in few.items() if one != name)
    ]
    if not all(few[one] & few[other] for one in found for other in found):
        return []
    return [table.take("coders", name, "recognised: these columns share their values") for name in found]


def _cells(table: Table, column: str) -> list[str]:
    return [text for row in table.rows if (text := row.text(column))]


def without_blank(table: Table, found: TextTable) -> TextTable:
    """What a table holds in the rows that have a text: no other is asked about.

    Raises:
        ItemError: No row has a text.
    """
    blank = [row for row in table.rows if not row.text(found.text)]
    if len(blank) == len(table.rows):
        raise ItemError(
            "no row has a text",
            where=f"{table.path.name}: {found.text}",
            expected="a text to label",
            found="empty cells",
        )
    labels = [label for row in blank if (label := _true_label(row, found))]
    return replace(
        found,
        rows=found.rows - len(blank),
        blank=len(blank),
        known=max(0, found.known - len(labels)),
        counts=found.counts - Counter(labels) if found.gold else found.counts,
    )
