"""Which column of a table plays which role: named by the user, or recognised by its name and its cells."""

from __future__ import annotations

import shlex
import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from quaver.core.label_decisions import Decision, label_line
from quaver.core.labels import MISSING, folded
from quaver.core.number_format import composed
from quaver.design.items.text_lines import Row, column_texts
from quaver.errors import ItemError, QuaverError, UnknownName
from quaver.study.imports.import_options import LISTS, ImportOptions

_NAMES: Final[Mapping[str, Sequence[str]]] = tomllib.loads(
    Path(__file__).with_name("columns.toml").read_text("utf-8")
)
_SINGLE = ("label", "raw", "thinking", "coder", "prompt", "original", "decoding", "repeat", "text", "gold")
_TELL_APART = ("coder", "repeat", "decoding", "variant")
"""The roles of columns that tell the annotations of one item apart."""
COLUMNS = (*LISTS, *_SINGLE, "item", "group")
"""The options that name columns."""

_MISSING = frozenset(map(folded, MISSING))
_MARKS = frozenset(("true", "false", "yes", "no", "1", "0", "1.0", "0.0"))
MOST_LABELS = 30
"""Columns with more values than these together are not taken for coders."""
LONGEST_LABEL = 100
"""A column with a longer text among more values than that holds answers, not labels."""
_SHOWN = 3
"""Cells that are no labels, of those that are shown."""
NAMED: Final = "named"
BY_NAME: Final = "recognised by its name"


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
        spaced = [column for column in self.columns if _spaced(column) == _spaced(name)]
        return spaced[0] if name not in self.columns and len(spaced) == 1 else name

    def anew(self) -> Table:
        """The same rows, of which no column is taken yet."""
        return Table(self.path, self.rows, _counts=self._counts)

    def counts(self, column: str) -> Counter[str]:
        """How often each text occurs in a column, in order of appearance, the empty one included."""
        if column not in self._counts:
            self._counts[column] = Counter(column_texts(self.rows, column))
        return self._counts[column]

    def values(self, column: str) -> list[str]:
        """The texts that occur in a column, in order of appearance; none where cells hold lists."""
        try:
            return [text for text in self.counts(column) if text]
        except ItemError:
            return []

    def varies(self, column: str) -> bool:
        """Whether a column has several values."""
        return len(self.values(column)) > 1

    def identifies(self, column: str) -> bool:
        """Whether each row has its own value in a column."""
        return len(self.values(column)) == len(self.rows)

    def take(self, role: str, column: str, why: str = NAMED) -> str:
        """Give a column a role."""
        if column not in self.columns:
            raise UnknownName("column", column, self.columns, where=f"{self.path.name}: --{role}")
        self.used.add(column)
        self.taken.append(Decision(role, column, why))
        return column

    def ignore(self, columns: Sequence[str]) -> None:
        """Take no notice of some columns."""
        decided = [*self.taken]
        for name in columns:
            self.take("ignore", name)
        self.taken[:] = decided

    def free(self, role: str | None = None) -> list[str]:
        """The columns that play no role yet; of a role, those that are called so, the likeliest first."""
        free = [column for column in self.columns if column not in self.used]
        if role is None:
            return free
        names = _NAMES[role]
        return sorted(
            (name for name in free if name.casefold() in names), key=lambda name: names.index(name.casefold())
        )

    def find(
        self, role: str, called: str | None = None, fits: Callable[[str], bool] = lambda _: True
    ) -> str | None:
        """Take the free column that is called as those of a role are, and whose cells fit.

        Raises:
            QuaverError: Several are, and the role is not that of the ids, where the likeliest is taken.
        """
        names = [name for name in self.free(called or role) if fits(name)]
        if role == "label":  # a column with one value, such as the data set's name, is none
            names = [name for name in names if self.varies(name)] or names
        if len(names) > 1 and role != "item":
            fix = f"name the right one with --{role}, and the others with --ignore"
            what = "true label" if role == "gold" else role
            raise self.unclear(f"several columns could be the {what}", fix, columns=names)
        return self.take(role, names[0], BY_NAME) if names else None

    def unclear(
        self, problem: str, fix: str, expected: str | None = None, columns: Sequence[str] | None = None
    ) -> QuaverError:
        """The error where it does not show which column plays a role; it lists the columns."""
        named = ", ".join(columns or self.columns)
        return QuaverError(problem, where=self.path.name, expected=expected, found=named, fix=fix)

    def sharing(self, most: int, least: int) -> dict[str, set[str]]:
        """The columns that are left, hold few values and share some with another: several coders' labels.

        Args:
            most: How many values each holds at most.
            least: How many it shares at least.

        Returns:
            The columns, each with its values as they are compared.
        """
        few = {name: {*map(folded, self.values(name))} - _MISSING for name in self.free()}
        few = {name: own for name, own in few.items() if 0 < len(own) <= most}
        return {
            name: own
            for name, own in few.items()
            if any(len(own & other) >= least for one, other in few.items() if one != name)
        }


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
    return any(is_called(role, column) for role in _NAMES if role not in _NAMES["by_what_they_hold"])


def roles_of(table: Table, given: ImportOptions, *, has_fields: bool) -> dict[str, Any]:
    """The columns by role, as the study file names them.

    Args:
        table: The table.
        given: The options.
        has_fields: Whether columns that are taken already are variables of their own.
    """
    named: dict[str, Any] = {**given}
    played: dict[str, Any] = {
        role: table.take(role, name) for role in (*_SINGLE, "group") if (name := named[role])
    }
    if given["item"]:
        played["item"] = table.take("item", given["item"])
    for role, option in (("coders", "coders"), ("variant", "variant"), ("groups", "compare")):
        if named[option]:
            played[role] = [table.take(role, name) for name in named[option]]
    others = given["coders"] or given["raw"] or has_fields
    _recognise(table, played, *(() if others else ("label",)), "item", "gold", "text")
    if "label" in played and not given["label"]:
        _answers(table, played)
    if "label" in played or "raw" in played or has_fields:
        _rows_of_annotations(table, played, given)
    elif "coders" not in played:
        played["coders"] = _coders(table)
    if "item" not in played:
        table.taken.append(Decision("item", "(the row's number)", "no column was recognised"))
    return played


def _rows_of_annotations(table: Table, played: dict[str, Any], given: ImportOptions) -> None:
    """The roles of a table with a row an annotation: what tells the rows of an item apart."""
    _recognise(table, played, "coder", "repeat", "decoding")
    if "item" in played and (column := telling_apart(table, played["item"], given)):
        why = "no item has it twice; if these are prompts or repeats, --variant {0} or --repeat {0}"
        played["coder"] = table.take("coder", column, why.format(shlex.quote(column)))
    if "raw" in played:
        _recognise(table, played, "thinking")
    if "variant" not in played:
        factors = [name for name in table.columns if name in table.free("variant") and table.varies(name)]
        if factors:
            played["variant"] = [table.take("variant", name, BY_NAME) for name in factors]
    _prompts(table, played)
    if "item" not in played:
        expected = "a column that says which item a label belongs to"
        raise table.unclear("no column of items was recognised", "name it with --item", expected)
    in_order = given["twice"] == "repeat"
    if in_order or ("repeat" not in played and _repeats(table, played)):
        played["repeats_in_order"] = True
        why = NAMED if in_order else "nothing else tells the rows apart"
        table.taken.append(Decision("repeat", "(the order of the rows)", why))


def telling_apart(table: Table, item: str, given: ImportOptions) -> str | None:
    """The one free column with few values of which no item has one in two rows: whose labels these are.

    None where a column that is named, or called so, tells the rows of an item apart already.
    """
    is_named = any(given[role] for role in _TELL_APART) or given["twice"] != "error"  # type: ignore[literal-required]
    called = any(is_called(role, name) for name in table.columns for role in _TELL_APART)
    items = column_texts(table.rows, item)
    rows = Counter(items)
    if is_named or called or 2 * sum(number > 1 for number in rows.values()) <= len(rows):
        return None
    names = [
        name
        for name in table.free()
        if 1 < len(table.values(name)) <= min(MOST_LABELS, len(items) // 2)
        and not table.counts(name)[""]
        and len({*zip(items, column_texts(table.rows, name), strict=True)}) == len(items)
    ]
    return names[0] if len(names) == 1 else None


def _recognise(table: Table, played: dict[str, Any], *roles: str) -> None:
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
    cleaned = [name for name in table.free() if name.casefold() == f"{column}_cleaned".casefold()]
    if cleaned:
        played["label"] = table.take("label", cleaned[0], f"{BY_NAME}: the labels in {column}")
        return
    del played["label"]
    played["raw"] = table.take("raw", column, f"{BY_NAME}; its cells are answers, not labels")


def _prompts(table: Table, played: dict[str, Any]) -> None:
    """Take the prompts' texts and the mark of the original, where each variant has one."""
    variant = played.get("variant", ())
    for role in ("prompt", "original"):
        names = [name for name in table.free(role) if table.values(name)]
        if role in played or not names:
            continue
        by_variant = {*_places(table, (*variant, names[0]))}
        marks = {text.casefold() for text in table.values(names[0])}
        if len({levels[:-1] for levels in by_variant}) == len(by_variant) and (
            role == "prompt" or marks <= _MARKS
        ):
            played[role] = table.take(role, names[0], BY_NAME)


def place_of(played: Mapping[str, Any]) -> list[str]:
    """The columns that say together which answer a row is about."""
    single = (played[role] for role in ("item", "coder", "decoding", "repeat") if role in played)
    return [*single, *played.get("variant", ())]


def _places(table: Table, columns: Sequence[str]) -> list[tuple[str, ...]]:
    """The texts of each row in some columns."""
    return [*zip(*(column_texts(table.rows, name) for name in columns), strict=True)]


def _repeats(table: Table, played: Mapping[str, Any]) -> bool:
    """Whether most places hold several rows that no column tells apart, as promptstability writes repeats."""
    own = _places(table, place_of(played))
    if 3 * len({*own}) >= 2 * len(own):  # so many places have a row to themselves
        return False
    places: dict[tuple[str, ...], list[Row]] = {}
    for place, row in zip(own, table.rows, strict=True):
        places.setdefault(place, []).append(row)
    several = [rows for rows in places.values() if len(rows) > 1]
    alike = (rows[0].get(name) == row.get(name) for rows in several for row in rows for name in table.free())
    return 2 * len(several) > len(places) and all(alike)


def _coders(table: Table) -> list[str]:
    """The columns that are left, where they hold few values and share them."""
    free = [name for name in table.free() if table.values(name)]
    together = {value for name in free for value in table.values(name)}
    if len(free) < 2 or len(together) > MOST_LABELS or free != [*table.sharing(MOST_LABELS, 1)]:
        expected = "a column of labels, or a column of labels for each coder"
        fix = "name it with --label, or the coders' columns with --coders a,b,c"
        raise table.unclear("no column of labels was recognised", fix, expected)
    return [table.take("coders", name, "recognised: what is left shares its values") for name in free]


def columns_of_labels(table: Table, labels: Sequence[str]) -> list[str]:
    """The columns that hold the named labels alone; what holds them for the most part is pointed out."""
    forms = {composed(label).casefold() for label in labels}
    coders = []
    for name in table.free():
        counts = table.counts(name) if table.values(name) else Counter[str]()
        meant = {text for text in counts if composed(text).casefold() in forms}
        cells, others = counts.total() - counts[""], counts.keys() - meant - {""}
        hits = sum(counts[text] for text in meant)
        if meant and not others:
            coders.append(table.take("coders", name, "recognised: its values are the labels"))
        elif len(meant) > 1 and 2 * hits > cells:
            table.used.add(name)
            wrong = label_line(sorted(others)[:_SHOWN]) + ", …" * (len(others) > _SHOWN)
            why = (
                f"{hits:,} of {cells:,} cells hold these labels; once the others are corrected ({wrong}), "
                f"--gold {shlex.quote(name)} takes them for the true ones"
            )
            table.taken.append(Decision("true label?", name, why))
    return coders


def check_label_set(
    labels: Collection[str],
    most: int,
    where: str,
    expected: tuple[str, str],
    fix: tuple[str, str],
    more: str = "",
) -> None:
    """See that there are as many labels as a label set has: two or more, and not too many.

    Args:
        labels: The labels that occur, or that are given.
        most: How many there may be.
        where: What they stand in.
        expected: What is expected where there are fewer than two, and where there are more.
        fix: What to do about either.
        more: What else was found.
    """
    if 2 <= len(labels) <= most:
        return
    few = len(labels) < 2
    named = ", ".join(label[:40] for label in [*labels][:8]) + ", …" * (len(labels) > 8)
    raise QuaverError(
        "fewer than two labels occur" if few else f"{len(labels)} different labels occur",
        where=where,
        expected=expected[not few],
        found=(named or "no label") + more,
        fix=fix[not few],
    )
