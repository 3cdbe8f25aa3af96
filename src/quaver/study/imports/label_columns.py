"""Which column of a table of labels plays which role: named by the user, or recognised by its name."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quaver.core.label_decisions import Decision, label_line
from quaver.core.number_format import composed
from quaver.design.items.text_lines import Row, column_texts
from quaver.errors import ItemError, QuaverError, UnknownName
from quaver.study.imports.import_options import LISTS, ImportOptions

_NAMES: Mapping[str, tuple[str, ...]] = {
    "item": ("item", "item_id", "unit", "unit_id", "text_id", "doc_id", "document_id", "id"),
    "label": ("label", "annotation", "code", "category", "coding"),
    "coder": ("coder", "coder_id", "rater", "rater_id", "annotator", "annotator_id", "worker", "model"),
    "decoding": ("decoding",),
    "repeat": ("repeat", "iteration", "repetition", "run", "trial"),
    "text": ("text", "tweet", "sentence", "passage", "document"),
    "gold": ("gold", "gold_label", "truth", "true_label", "hand_label", "human_label"),
    "thinking": ("thinking", "reasoning", "reasoning_content"),
}
"""What a column is often called, by the role that it plays."""

_VARIANTS = ("variant", "prompt_id", "paraphrase", "format", "temperature")
_SINGLE = (
    *("label", "raw", "thinking", "coder", "prompt", "original", "decoding", "repeat"),
    *("text", "gold"),
)
COLUMNS = (*LISTS, *_SINGLE, "group")
"""The options that name columns."""

_MARKS = frozenset(("true", "false", "yes", "no", "1", "0", "1.0", "0.0"))
MOST_LABELS = 30
"""Columns with more values than these together are not taken for coders."""
LONGEST_LABEL = 100
"""A column with a longer text among more values than that holds answers, not labels."""


_SHOWN = 3
"""Cells that are no labels, of those that are shown."""


@dataclass(slots=True)
class Table:
    """A file's columns, or those of several files and options, and what they have been taken for."""

    path: Path
    rows: list[Row]
    taken: list[Decision] = field(default_factory=list)
    columns: list[str] = field(init=False)
    used: set[str] = field(default_factory=set)
    is_changed: bool = False
    _counts: dict[str, Counter[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.columns = list(self.rows[0])

    def naming(self, given: Any, options: Sequence[str]) -> dict[str, Any]:
        """Options with their columns named as the table does, where only the white space was another."""
        result = dict(given)
        for option in options:
            value = result.get(option)
            if isinstance(value, str):
                result[option] = self._named(value)
            elif isinstance(value, list | tuple):
                result[option] = tuple(map(self._named, value))
        return result

    def _named(self, name: str) -> str:
        found = [one for one in self.columns if _spaced(one) == _spaced(name)]
        return found[0] if name not in self.columns and len(found) == 1 else name

    def keep(self, rows: list[Row]) -> None:
        """Go on with some of the rows."""
        self.rows, self._counts = rows, {}

    def anew(self) -> Table:
        """The same rows, of which no column is taken yet."""
        return Table(self.path, self.rows, _counts=self._counts)

    def counts(self, column: str) -> Counter[str]:
        """How often each text occurs in a column, in order of appearance, the empty one included."""
        if column not in self._counts:
            self._counts[column] = Counter(column_texts(self.rows, column))
        return self._counts[column]

    def values(self, column: str) -> list[str]:
        """The texts that occur in a column, in order of appearance."""
        return [text for text in self.counts(column) if text]

    def holds_texts(self, column: str) -> bool:
        """Whether each cell of a column holds a single value."""
        try:
            self.counts(column)
        except ItemError:
            return False
        return True

    def take(self, role: str, column: str, why: str) -> str:
        """Give a column a role."""
        if column not in self.columns:
            raise UnknownName("column", column, self.columns, where=f"{self.path.name}: --{role}")
        self.used.add(column)
        self.taken.append(Decision(role, column, why))
        return column

    def ignore(self, columns: Sequence[str]) -> None:
        """Take no notice of some columns."""
        for name in columns:
            if name not in self.columns:
                raise UnknownName("column", name, self.columns, where=f"{self.path.name}: --ignore")
        self.used.update(columns)

    def free(self) -> list[str]:
        """The columns that play no role yet."""
        return [column for column in self.columns if column not in self.used]

    def find(self, role: str) -> str | None:
        """The free column that is called as such columns are."""
        found = [name for name in self.free() if is_called(role, name)]
        if (
            role == "label" and len(found) > 1
        ):  # a column with one value, such as the data set's name, is none
            found = [name for name in found if len(self.counts(name)) > 1] or found
        if len(found) > 1:
            known = [name for name in _NAMES[role] if name in {one.casefold() for one in found}]
            found.sort(key=lambda name: known.index(name.casefold()))
            if role != "item":
                fix = f"name the right one with --{role}, and the others with --ignore"
                raise _unclear(self, f"several columns could be the {role}", fix, columns=found)
        return self.take(role, found[0], "recognised by its name") if found else None


def _spaced(name: str) -> str:
    """A column's name with its line breaks as spaces, also where two characters stand for one."""
    return " ".join(name.replace("\\n", " ").replace("\\r", " ").split())


def plain(cells: Mapping[str, Any]) -> dict[str, Any]:
    """The cells that hold a text or a number, as a table's do; lists and mappings of a log are left out."""
    return {name: cell for name, cell in cells.items() if isinstance(cell, str | int | float)}


def is_called(role: str, column: str) -> bool:
    """Whether columns that play a role are often called so."""
    return column.casefold() in _NAMES[role]


def plays_a_role(column: str) -> bool:
    """Whether columns are often called so that play any role, or tell prompts apart."""
    return column.casefold() in _VARIANTS or any(is_called(role, column) for role in _NAMES)


def roles_of(table: Table, given: ImportOptions, *, has_fields: bool) -> dict[str, Any]:
    """The columns by role, as the study file names them.

    Args:
        table: The table.
        given: The options.
        has_fields: Whether columns that are taken already are variables of their own.
    """
    named: dict[str, Any] = {**given}
    played: dict[str, Any] = {
        role: table.take(role, name, "named") for role in _SINGLE if (name := named[role])
    }
    if given["group"]:
        played["group"] = table.take("group", given["group"], "named")
    if given["item"]:
        played["item"] = table.take("item", given["item"][0], "named")
    for role, option in (("coders", "coders"), ("variant", "variant"), ("groups", "compare")):
        if named[option]:
            played[role] = [table.take(role, name, "named") for name in named[option]]
    others = given["coders"] or given["raw"] or has_fields
    _recognise(table, played, ("item", "gold", "text") if others else ("label", "item", "gold", "text"))
    if "label" in played and not given["label"]:
        _answers(table, played)
    if "label" in played or "raw" in played or has_fields:
        _recognise(table, played, ("coder", "repeat", "decoding"))
        if "item" in played and (column := telling_apart(table, played["item"], given)):
            why = "no item has it twice; if these are prompts or repeats, --variant {0} or --repeat {0}"
            played["coder"] = table.take("coder", column, why.format(shlex.quote(column)))
        if "raw" in played:
            _recognise(table, played, ("thinking",))
        if "variant" not in played and (found := _variants(table)):
            played["variant"] = found
        _prompts(table, played)
        if "item" not in played:
            expected = "a column that says which item a label belongs to"
            raise _unclear(table, "no column of items was recognised", "name it with --item", expected)
        in_order = given["twice"] == "repeat"
        if given["twice"] != "first" and (in_order or ("repeat" not in played and _repeats(table, played))):
            played["repeats_in_order"] = True
            why = "named" if in_order else "nothing else tells the rows apart"
            table.taken.append(Decision("repeat", "(the order of the rows)", why))
    elif "coders" not in played:
        played["coders"] = _coders(table)
    if "item" not in played:
        table.taken.append(Decision("item", "(the row's number)", "no column was recognised"))
    return played


def telling_apart(table: Table, item: str, given: ImportOptions) -> str | None:
    """The one free column with few values of which no item has one in two rows: whose labels these are.

    None where a column that is named, or called so, tells the rows of an item apart already.
    """
    roles = ("coder", "repeat", "decoding", "variant")
    known = any(given[role] for role in roles) or given["twice"] != "error"  # type: ignore[literal-required]
    called = any(_tells_apart(name) for name in table.columns)
    items = column_texts(table.rows, item)
    rows = Counter(items)
    if known or called or 2 * sum(number > 1 for number in rows.values()) <= len(rows):
        return None
    found = [
        name
        for name in table.free()
        if table.holds_texts(name)
        and 1 < len(table.counts(name)) <= min(MOST_LABELS, len(items) // 2)
        and not table.counts(name)[""]
        and len({*zip(items, column_texts(table.rows, name), strict=True)}) == len(items)
    ]
    return found[0] if len(found) == 1 else None


def _tells_apart(column: str) -> bool:
    """Whether columns are often called so that tell the annotations of one item apart."""
    roles = ("coder", "repeat", "decoding")
    return column.casefold() in _VARIANTS or any(is_called(role, column) for role in roles)


def _recognise(table: Table, played: dict[str, Any], roles: Sequence[str]) -> None:
    """Take the columns that are called as those of some roles are."""
    for role in roles:
        if role not in played and (column := table.find(role)):
            played[role] = column


def _answers(table: Table, played: dict[str, Any]) -> None:
    """Take a column of long texts for answers and not for labels, or the column of labels made of it."""
    column = played["label"]
    long = any("\n" in text or len(text) > LONGEST_LABEL for text in table.values(column))
    if not long or len(table.values(column)) <= MOST_LABELS:
        return
    table.taken = [decision for decision in table.taken if decision.role != "label"]
    table.used.discard(column)
    cleaned = next((name for name in table.free() if name.casefold() == f"{column}_cleaned".casefold()), None)
    if cleaned:
        played["label"] = table.take("label", cleaned, f"recognised by its name: the labels in {column}")
        return
    del played["label"]
    played["raw"] = table.take("raw", column, "recognised by its name; its cells are answers, not labels")


def _prompts(table: Table, played: dict[str, Any]) -> None:
    """Take the prompts' texts and the mark of the original, where each variant has one."""
    variant = played.get("variant", ())
    for role in ("prompt", "original"):
        names = [name for name in table.free() if name.casefold() == role and table.holds_texts(name)]
        if role in played or not names:
            continue
        by_variant = {(*(row.text(one) for one in variant), row.text(names[0])) for row in table.rows}
        marks = {text.casefold() for text in table.values(names[0])}
        if len({levels[:-1] for levels in by_variant}) == len(by_variant) and (
            role == "prompt" or marks <= _MARKS
        ):
            played[role] = table.take(role, names[0], "recognised by its name")


def place_of(played: Mapping[str, Any]) -> list[str]:
    """The columns that say together which answer a row is about."""
    single = (played[role] for role in ("item", "coder", "decoding", "repeat") if role in played)
    return [*single, *played.get("variant", ())]


def _repeats(table: Table, played: Mapping[str, Any]) -> bool:
    """Whether most places hold several rows that no column tells apart, as promptstability writes repeats."""
    own = [column_texts(table.rows, name) for name in place_of(played)]
    if 3 * len(set(zip(*own, strict=True))) >= 2 * len(table.rows):  # so many places have a row to themselves
        return False
    places: dict[tuple[str, ...], list[Row]] = {}
    for place, row in zip(zip(*own, strict=True), table.rows, strict=True):
        places.setdefault(place, []).append(row)
    several = [rows for rows in places.values() if len(rows) > 1]
    if 2 * len(several) <= len(places):
        return False
    return all(
        row.get(name) == rows[0].get(name) for name in table.free() for rows in several for row in rows
    )


def _variants(table: Table) -> list[str]:
    """Columns called as those of prompts are, and that vary."""
    found = [name for name in table.free() if name.casefold() in _VARIANTS and len(table.values(name)) > 1]
    return [table.take("variant", name, "recognised by its name") for name in found]


def _coders(table: Table) -> list[str]:
    """The columns that are left, where they hold few values and share them."""
    found = [name for name in table.free() if table.holds_texts(name) and table.values(name)]
    together = {value for name in found for value in table.values(name)}
    shared = [
        name
        for name in found
        if any(set(table.values(name)) & set(table.values(other)) for other in found if other != name)
    ]
    if len(found) < 2 or len(together) > MOST_LABELS or len(shared) < len(found):
        expected = "a column of labels, or a column of labels for each coder"
        fix = "name it with --label, or the coders' columns with --coders a,b,c"
        raise _unclear(table, "no column of labels was recognised", fix, expected)
    why = "recognised: what is left shares its values"
    return [table.take("coders", name, why) for name in found]


def columns_of_labels(table: Table, labels: Sequence[str]) -> list[str]:
    """The columns that hold the named labels alone; what holds them for the most part is pointed out."""
    forms = {composed(label).casefold() for label in labels}
    found = []
    for name in table.free():
        counts = table.counts(name) if table.holds_texts(name) else Counter[str]()
        known = {text for text in counts if composed(text).casefold() in forms}
        cells, others = counts.total() - counts[""], counts.keys() - known - {""}
        hits = sum(counts[text] for text in known)
        if known and not others:
            found.append(table.take("coders", name, "recognised: its values are the labels"))
        elif len(known) > 1 and 2 * hits > cells:
            table.used.add(name)
            wrong = label_line(sorted(others)[:_SHOWN]) + ", …" * (len(others) > _SHOWN)
            why = (
                f"{hits:,} of {cells:,} cells hold these labels; once the others are corrected ({wrong}), "
                f"--gold {shlex.quote(name)} takes them for the true ones"
            )
            table.taken.append(Decision("true label?", name, why))
    return found


def _unclear(
    table: Table, problem: str, fix: str, expected: str | None = None, columns: Sequence[str] | None = None
) -> QuaverError:
    """The error where the columns' names do not say which role they play."""
    found = ", ".join(columns or table.columns)
    return QuaverError(problem, where=table.path.name, expected=expected, found=found, fix=fix)
