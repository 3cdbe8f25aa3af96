"""What each column of a table is: by the user's word, else by its name, else by what its cells hold.

The one recogniser of tables of texts and of tables of labels, whichever command reads them.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any, Final

from quaver.core.label_decisions import Decision, label_line
from quaver.core.labels import MISSING, folded
from quaver.core.number_format import composed
from quaver.design.items.table_files import Row, column_texts, read_rows
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
"""Columns with more values than these together hold no labels, unless they are named."""
FEW_LABELS = 10
"""A column with no more values may be one of labels, however few rows there are."""
LONGEST_LABEL = 100
"""A column with a longer text among more values than ``MOST_LABELS`` holds answers, not labels."""
_LONG = 20
"""Characters: cells that are longer on average are texts rather than names or codes."""
_CODE: Final = re.compile(r"[\w-]{1,40}")
"""What an id may be, where nothing but its cells says that a column holds ids."""
_SHOWN = 3
"""Cells that are no labels, of those that are shown."""
NAMED: Final = "named"
BY_NAME: Final = "recognised by its name"


@dataclass(slots=True)
class Table:
    """The columns of a file, or of several, and what they have been taken for."""

    path: Path
    rows: list[Row]
    taken: list[Decision] = field(default_factory=list)
    columns: list[str] = field(init=False)
    used: set[str] = field(default_factory=set)
    _counts: dict[str, Counter[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.columns = list(self.rows[0])

    def naming(self, given: Any, options: Sequence[str]) -> dict[str, Any]:
        """Options with their columns named as the table does, where only the white space was another."""
        spaced = {_spaced(column): column for column in self.columns}

        def named(name: Any) -> Any:
            return name if name in self.columns else spaced.get(_spaced(name), name)

        result = dict(given)
        for option in options:
            value = result.get(option)
            if isinstance(value, list | tuple):
                result[option] = tuple(map(named, value))
            elif value is not None:
                result[option] = named(value)
        return result

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
        names = [] if role is None else _NAMES[role]
        called = [column for column in free if column.strip().casefold() in names]
        return free if role is None else sorted(called, key=lambda name: names.index(name.strip().casefold()))

    def find(
        self, role: str, called: str | None = None, fits: Callable[[str], bool] = lambda _: True
    ) -> str | None:
        """Take the free column that is called as those of a role are, and whose cells fit.

        Raises:
            QuaverError: Several are, and the role is not that of the ids, where the likeliest is taken.
        """
        names = [name for name in self.free(called or role) if fits(name)]
        if role == "label":  # a column with one value, such as the data set's name, is none
            names = [name for name in names if len(self.values(name)) > 1] or names
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


def _spaced(name: Any) -> str:
    """A column's name with its line breaks as spaces, also where two characters stand for one."""
    return " ".join(str(name).replace("\\n", " ").replace("\\r", " ").split())


def table_of(path: Path, written: Mapping[str, Any], what: str = "texts") -> Table:
    """The table in a file.

    Args:
        path: The file.
        written: How it is written, as far as that had to be said.
        what: What its rows are, for errors.
    """
    if not path.is_file():
        raise ItemError(
            "there is no such file",
            where=str(path),
            expected=f"a table of {what}: CSV, TSV, XLSX, ODS, JSON Lines or Parquet",
            found="a folder" if path.is_dir() else "nothing",
            fix="check the path; it is relative to the current folder",
        )
    if rows := read_rows(path, **written, hint="--{name}={value}"):
        return Table(path, rows)
    raise ItemError(
        f"there are no {what}",
        where=str(path),
        expected="a header and rows",
        found="no row",
        fix="save the table with its columns' names in the first row, and what they name in the rows below",
    )


def text_column(table: Table) -> str:
    """The column that is called as texts are, else the one with the longest cells."""
    called = table.free("text")
    if len(called) == 1:
        return table.take("text", called[0], BY_NAME)
    lengths = {
        name: sum(len(text) * n for text, n in table.counts(name).items()) / len(table.rows)
        for name in called or table.free()
        if table.values(name)
    }
    longest = max(lengths, key=lambda name: lengths[name], default="")
    if not longest or (lengths[longest] < (1 if called else _LONG) and len(table.columns) > 1):
        expected = "a column with the texts to label"
        raise table.unclear("no column of texts was recognised", "name it with --text", expected)
    return table.take("text", longest, "recognised: its cells are the longest")


def id_column(table: Table) -> str | None:
    """The column of ids, where each row is an item of its own: called so, and with another value in each."""
    called = table.free("item")
    ending = [name for name in table.free() if re.search(r"(^|[^a-z])[iI][dD]$|I[dD]$", name)]
    for name in (*called, *ending):
        if table.identifies(name):
            return table.take("item", name, BY_NAME if name in called else "recognised: each row has its own")
    return None


def id_by_values(table: Table, hint: str = "no column was recognised") -> str | None:
    """Of the columns that are left, the only one of codes in which each row has its own; else a decision."""
    codes = [
        name
        for name in table.free()
        if table.identifies(name) and all(map(_CODE.fullmatch, table.values(name)))
    ]
    if len(codes) == 1:
        return table.take("item", codes[0], "recognised: each row has its own")
    table.taken.append(Decision("item", "(the row's number)", hint))
    return None


def label_columns(table: Table, labels: Sequence[str] = ()) -> list[str]:
    """The columns that are left and hold labels: the named ones alone, else values that columns share.

    A column that holds named labels for the most part is pointed out.
    """
    return _of_labels(table, labels) if labels else _alike(table)


def _alike(table: Table) -> list[str]:
    """The columns with few values that share two with another one: several coders' labels.

    None where two different sets of values are shared, since either could be the labels.
    """
    few = {name: {*map(folded, table.values(name))} - _MISSING for name in table.free()}
    few = {name: own for name, own in few.items() if 0 < len(own) <= FEW_LABELS}
    shared = {
        name: own
        for name, own in few.items()
        if any(len(own & other) > 1 for one, other in few.items() if one != name)
    }
    if not all(one & other for one, other in combinations(shared.values(), 2)):
        return []
    return [table.take("coders", name, "recognised: these columns share their values") for name in shared]


def _of_labels(table: Table, labels: Sequence[str]) -> list[str]:
    forms = {composed(label).casefold() for label in labels}
    found = []
    for name in table.free():
        counts = table.counts(name) if table.values(name) else Counter[str]()
        meant = {text for text in counts if composed(text).casefold() in forms}
        others, cells = counts.keys() - meant - {""}, counts.total() - counts[""]
        hits = sum(counts[text] for text in meant)
        if meant and not others:
            found.append(table.take("coders", name, "recognised: its values are the labels"))
        elif len(meant) > 1 and 2 * hits > cells:
            wrong = label_line(sorted(others)[:_SHOWN]) + ", …" * (len(others) > _SHOWN)
            why = (
                f"{hits:,} of {cells:,} cells hold these labels; once the others are corrected ({wrong}), "
                f"--gold {shlex.quote(name)} takes them for the true ones"
            )
            table.take("true label?", name, why)
    return found


def roles_of(table: Table, given: ImportOptions, *, has_fields: bool) -> dict[str, Any]:
    """The columns of a table of labels by role, as the study file names them.

    Args:
        table: The table.
        given: The options.
        has_fields: Whether columns that are taken already are variables of their own.
    """
    named: dict[str, Any] = {**given}
    played: dict[str, Any] = {
        role: table.take(role, name) for role in (*_SINGLE, "group", "item") if (name := named[role])
    }
    for role, option in (("coders", "coders"), ("variant", "variant"), ("groups", "compare")):
        if named[option]:
            played[role] = [table.take(role, name) for name in named[option]]
    others = given["coders"] or given["raw"] or has_fields
    _recognise(table, played, *(() if others else ("label",)), "item", "gold", "text")
    if "label" in played and not given["label"]:
        _answers(table, played)
    if "label" in played or "raw" in played or has_fields:
        _rows_of_annotations(table, played, given)
    elif "coders" not in played and not (coders := label_columns(table, given["labels"])):
        expected = "a column of labels, or a column of labels for each coder"
        fix = "name it with --label, or the coders' columns with --coders a,b,c"
        raise table.unclear("no column of labels was recognised", fix, expected)
    elif "coders" not in played:
        played["coders"] = coders
    if "item" not in played and (item := id_by_values(table)):
        played["item"] = item
    return played


def _rows_of_annotations(table: Table, played: dict[str, Any], given: ImportOptions) -> None:
    """The roles of a table with a row an annotation: what tells the rows of an item apart."""
    _recognise(table, played, "coder", "repeat", "decoding", *(("thinking",) if "raw" in played else ()))
    if "item" not in played:
        expected = "a column that says which item a label belongs to"
        raise table.unclear("no column of items was recognised", "name it with --item", expected)
    if column := telling_apart(table, played["item"], given):
        why = "no item has it twice; if these are prompts or repeats, --variant {0} or --repeat {0}"
        played["coder"] = table.take("coder", column, why.format(shlex.quote(column)))
    factors = [
        name for name in table.columns if name in table.free("variant") and len(table.values(name)) > 1
    ]
    if "variant" not in played and factors:
        played["variant"] = [table.take("variant", name, BY_NAME) for name in factors]
    _prompts(table, played)
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
    items = column_texts(table.rows, item)
    called = {name for role in _TELL_APART for name in _NAMES[role]} & {*map(str.casefold, table.columns)}
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
    values = table.values(column)
    if len(values) <= MOST_LABELS or not any("\n" in text or len(text) > LONGEST_LABEL for text in values):
        return
    table.taken = [decision for decision in table.taken if decision.role != "label"]
    table.used.discard(column)
    cleaned = [name for name in table.free() if name.casefold() == f"{column}_cleaned".casefold()]
    if cleaned:
        played["label"] = table.take("label", cleaned[0], f"{BY_NAME}: the labels in {column}")
    else:
        played["raw"] = table.take(
            "raw", played.pop("label"), f"{BY_NAME}; its cells are answers, not labels"
        )


def _prompts(table: Table, played: dict[str, Any]) -> None:
    """Take the prompts' texts and the mark of the original, where each variant has one."""
    for role in ("prompt", "original"):
        names = [name for name in table.free(role) if table.values(name)]
        if role in played or not names:
            continue
        levels = {*_places(table, (*played.get("variant", ()), names[0]))}
        fits = role == "prompt" or {*map(str.casefold, table.values(names[0]))} <= _MARKS
        if fits and len({own[:-1] for own in levels}) == len(levels):
            played[role] = table.take(role, names[0], BY_NAME)


def _places(table: Table, columns: Sequence[str]) -> list[tuple[str, ...]]:
    """The texts of each row in some columns."""
    return [*zip(*(column_texts(table.rows, name) for name in columns), strict=True)]


def _repeats(table: Table, played: Mapping[str, Any]) -> bool:
    """Whether most places hold several rows that no column tells apart, as promptstability writes repeats."""
    single = [played[role] for role in ("item", "coder", "decoding") if role in played]
    own = _places(table, (*single, *played.get("variant", ())))
    rows = Counter(own)
    if 3 * len(rows) >= 2 * len(own) or 2 * sum(n > 1 for n in rows.values()) <= len(rows):
        return False
    first: dict[tuple[str, ...], Row] = {}
    pairs = ((first.setdefault(place, row), row) for place, row in zip(own, table.rows, strict=True))
    free = table.free()
    return all(one.get(name) == row.get(name) for one, row in pairs for name in free)


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
