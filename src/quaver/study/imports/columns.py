"""What each column of a table is: by the user's word, else by its name, else by what its cells hold.

The one recogniser of tables of texts and of tables of labels, whichever command reads them.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import combinations
from pathlib import Path
from typing import Any, Final

from quaver.core.label_decisions import Decision, LabelRules, WrittenLabels, label_line
from quaver.core.labels import MISSING, LabelCells, folded, number_of
from quaver.design.items.table_files import Row, column_texts, read_rows
from quaver.errors import ItemError, QuaverError, UnknownName
from quaver.estimation.coded_columns import ordered
from quaver.study.imports.import_options import ImportOptions

_NAMES: Final[Mapping[str, Sequence[str]]] = tomllib.loads(
    Path(__file__).with_name("columns.toml").read_text("utf-8")
)
_SINGLE: Final = (
    *("label", "raw", "thinking", "coder", "prompt", "original", "decoding", "repeat", "text", "gold"),
    *("group", "item"),
)
_SEVERAL: Final[Mapping[str, str]] = {
    **{role: role for role in ("coders", "models", "confidence", "variant")},
    "groups": "compare",
}
"""Roles that several columns can have, each with its option."""

_MISSING = frozenset(map(folded, MISSING))
_MARKS = frozenset(("true", "false", "yes", "no", "1", "0", "1.0", "0.0"))
MOST_LABELS = 30
"""Columns with more values than these together hold no labels, unless they are named."""
FEW_LABELS = 10
"""A column with no more values may be one of labels, however few rows there are."""
_LONGEST_LABEL = 100
"""A column with a longer text among more values than ``MOST_LABELS`` holds answers, not labels."""
_LONG = 20
"""Characters: cells that are longer on average are texts rather than names or codes."""
_CODE: Final = re.compile(r"(?!\d{4}-\d\d-\d\d$)[\w-]{1,40}")
"""What an id may be, where nothing but its cells says that a column holds ids."""
_WORD: Final = re.compile("[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
"""A word of a column's name, of which ``GPTLabel`` and ``gpt4_label`` have two."""
_ADDRESS: Final = re.compile(r"\w+://\S+")
PICTURE: Final = re.compile(r"data:image/\S+|(?!\w+://)[^\n]{1,300}\.(png|jpe?g|gif|webp)", re.IGNORECASE)
"""What names a picture: a path, or the picture itself as a ``data:`` URI."""
_SHOWN = 3
"""Cells that are no labels, of those that are shown."""
NAMED: Final = "named"
BY_NAME: Final = "recognised by its name"
BY_VALUES: Final = "recognised: its values are the labels"


def matching(columns: Sequence[str], name: str) -> list[str]:
    """The columns that a pattern names; the name itself where it is none.

    >>> matching(["id", "human_1", "human_2"], "human_*"), matching(["a*", "ab"], "a*")
    (['human_1', 'human_2'], ['a*'])
    """
    is_pattern = "*" in name and name not in columns
    return [column for column in columns if is_pattern and fnmatchcase(column, name)] or [name]


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

    def anew(self) -> Table:
        """The same rows, of which no column is taken yet."""
        return Table(self.path, self.rows, _counts=self._counts)

    def column(self, name: str, role: str) -> str:
        """The column that an option names, also where it writes the white space in another way."""
        for column in self.columns:
            if name == column:
                return column
        for column in self.columns:
            if _spaced(name) == _spaced(column):
                return column
        where, fix = f"{self.path.name}: --{role}", None
        if Path(name).is_file():
            fix = f"{name} is a file: join its rows to {self.path.name} by the ids, and name the new column"
        raise UnknownName("column", name, self.columns, where=where, fix=fix)

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

    def take(self, role: str, name: str, why: str = NAMED) -> str:
        """Give a column a role, in place of any that it had."""
        column = self.column(name, role)
        self.used.add(column)
        self.taken[:] = [decision for decision in self.taken if decision.column != column]
        self.taken.append(Decision(role, column, why))
        return column

    def take_named(self, given: Mapping[str, Any], roles: Mapping[str, str]) -> dict[str, list[str]]:
        """Give the columns that options name their roles, each one, and take no notice of ignored ones.

        Args:
            given: The options.
            roles: The roles, each with its option.

        Returns:
            The columns of each role that has some.
        """
        for name in given.get("ignore") or ():
            self.used.update(self.column(column, "ignore") for column in matching(self.columns, name))
        named: dict[str, list[str]] = {}
        for role, option in roles.items():
            value = given.get(option) or ()
            several = () if isinstance(value, str) else value
            names = [column for name in several for column in matching(self.columns, name)]
            for name in [value] if isinstance(value, str) else names:
                column = self.column(name, option)
                if any(column == decision.column for decision in self.taken):
                    raise QuaverError(
                        "this column is named twice",
                        where=self.path.name,
                        expected="a column of its own for the texts, the gold labels and each coder",
                        found=column,
                    )
                named.setdefault(role, []).append(self.take(role, column))
        return named

    def free(self, role: str | None = None) -> list[str]:
        """The columns that play no role yet; of a role, those that are called so, the likeliest first."""
        free = [column for column in self.columns if column not in self.used]
        if role is None:
            return free
        names = _NAMES[role]
        called = [column for column in free if column.strip().casefold() in names]
        return sorted(called, key=lambda column: names.index(column.strip().casefold()))

    def called(self, words: str) -> list[str]:
        """The columns that play no role yet, hold few values, and have one of some words in their names."""
        few = [name for name in self.free() if 1 < len(self.values(name)) <= MOST_LABELS]
        return [name for name in few if {*map(str.casefold, _WORD.findall(name))} & {*_NAMES[words]}]

    def find(
        self, role: str, called: str | None = None, fits: Callable[[str], bool] = lambda _: True
    ) -> str | None:
        """Take the free column that is called as those of a role are, and whose cells fit.

        Raises:
            QuaverError: Several are, and not of ids or titles, where the likeliest is taken.
        """
        names = [name for name in self.free(called or role) if fits(name)]
        if role == "label":  # a column with one value, such as the data set's name, is none
            names = [name for name in names if len(self.values(name)) > 1] or names
        if len(names) > 1 and role not in ("item", "title"):
            fix = f"name the right one with --{role}, and the others with --ignore"
            what = "gold label" if role == "gold" else role
            raise self.unclear(f"several columns could be the {what}", fix, columns=names)
        return self.take(role, names[0], BY_NAME) if names else None

    def unclear(
        self, problem: str, fix: str, expected: str | None = None, columns: Sequence[str] | None = None
    ) -> QuaverError:
        """The error where it does not show which column plays a role; it lists the columns."""
        named = ", ".join(columns or self.columns)
        return QuaverError(problem, where=self.path.name, expected=expected, found=named, fix=fix)


def _spaced(name: str) -> str:
    """A column's name with its line breaks as spaces, also where two characters stand for one."""
    return " ".join(name.replace("\\n", " ").replace("\\r", " ").split())


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
            expected=f"a table of {what}: CSV, TSV, XLSX, ODS, JSON, Parquet, SPSS, Stata or R",
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
    """The column that is called as texts are, else the one with the longest texts, addresses left out."""
    called = table.free("text")
    if len(called) == 1:
        return table.take("text", called[0], BY_NAME)
    lengths = {}
    for name in called or table.free():
        texts = [text for text in table.values(name) if not _ADDRESS.fullmatch(text)]
        if texts:
            lengths[name] = sum(map(len, texts))  # a question that stands beside each text counts once
    longest = max(lengths, key=lambda name: lengths[name], default="")
    least = 1 if called else _LONG * len(table.values(longest))
    if not longest or (lengths[longest] < least and len(table.columns) > 1):
        expected = "a column with the texts to label"
        raise table.unclear("no column of texts was recognised", "name it with --text", expected)
    return table.take("text", longest, "recognised: its cells are the longest")


def picture_column(table: Table) -> str | None:
    """The column whose cells all name pictures, if no other may be that of the texts."""
    names = [name for name in table.free() if table.values(name)]
    named = [name for name in names if all(map(PICTURE.fullmatch, table.values(name)))]
    texts = [name for name in names if name not in named and _are_texts(table.values(name))]
    if len(named) != 1 or texts or table.free("text"):
        return None
    return table.take("images", named[0], "recognised: its cells name pictures")


def _are_texts(values: Sequence[str]) -> bool:
    """Whether what is no address is as long as texts are."""
    lengths = [len(value) for value in values if not _ADDRESS.fullmatch(value)]
    return sum(lengths) >= _LONG * max(1, len(values))


def id_column(table: Table, fix: str) -> str | None:
    """The column of ids, where each row has its own: called so, else the first of codes or of addresses.

    A column without a name is the index of a frame.
    """
    called = table.free("item")
    ending = [name for name in table.free() if re.search(r"(^|[^a-z])[iI][dD]$|I[dD]$", name)]
    forms = [(form, name) for form in (_CODE, _ADDRESS) for name in table.free() if name]
    codes = [name for form, name in forms if all(map(form.fullmatch, table.values(name)))]
    for name in (*called, *ending, *codes):
        if table.identifies(name):
            return table.take("item", name, BY_NAME if name in called else "recognised: each row has its own")
    table.taken.append(Decision("item", "(the row's number)", f"no column was recognised{fix}"))
    return None


def set_models_aside(table: Table) -> None:
    """Point out the columns of labels that a model gave, by their names: nothing is guessed about them."""
    for name in table.called("by_models"):
        why = f"its name says that a model gave it; --gold {shlex.quote(name)} takes it for the gold label"
        table.take("a model's", name, why)


def hand_label_columns(table: Table, rules: LabelRules) -> list[str]:
    """The columns of labels that people gave: called so, shared by coders, or few values in few rows.

    Failing these, that which is called as a variable is. Numbers that columns share may be of any kind.

    Raises:
        QuaverError: Several columns could be the gold label.
    """
    called = table.called("by_hand")
    likely = called or _in_few_rows(table, rules)
    wordy = [name for name in table.free() if not are_numbers(table.values(name))]
    coders = _alike(table, called or wordy)
    if not (likely or coders):
        likely = called = table.called("variables")
    others = [name for name in likely if name not in coders]
    if not others or len(others) < len(likely):
        return coders
    if coders or len(others) > 1:
        fix = "name the right one with --gold, or several people's with --coders, and others with --ignore"
        raise table.unclear("several columns could be the gold label", fix, columns=[*coders, *others])
    why = "recognised: few values in few rows; --gold names another, --ignore leaves it out"
    return [table.take("coders", others[0], BY_NAME if called else why)]


def are_numbers(texts: Iterable[str]) -> bool:
    """Whether all texts are numbers or truth values, which tell nothing of what a column is."""
    return all(text in _MARKS or number_of(text) is not None for text in map(folded, texts))


def _in_few_rows(table: Table, rules: LabelRules) -> list[str]:
    """The columns with few values, each of them twice or more on average, in two of three rows at most."""
    names = []
    for name in table.free():
        values = table.values(name)
        if not 1 < len(values) <= MOST_LABELS:
            continue
        missing = rules.read(table.counts(name)).missing
        given = [text for text in values if text not in missing]
        filled = sum(table.counts(name)[text] for text in given)
        if 1 < len(given) <= min(FEW_LABELS, filled // 2) and 3 * filled <= 2 * len(table.rows):
            names.append(name)
    return names


def label_columns(table: Table, labels: Sequence[str] = (), unlabelled: Sequence[str] = ()) -> list[str]:
    """The columns that are left and hold labels: those that are known alone, else values that columns share.

    A column that holds known labels for the most part is pointed out.
    """
    if labels:
        return _of_labels(table, LabelCells(labels, unlabelled=unlabelled))
    return _alike(table, table.free())


def _alike(table: Table, names: Sequence[str]) -> list[str]:
    """Of some columns, those with few values that share two with another one: several coders' labels.

    None where two different sets of values are shared, since either could be the labels.
    """
    few = {}
    for name in names:
        values = {*map(folded, table.values(name))} - _MISSING
        if 0 < len(values) <= FEW_LABELS:
            few[name] = values
    shared = set[str]()
    for (column, its), (other, others) in combinations(few.items(), 2):
        if len(its & others) > 1:
            shared |= {column, other}
    if not all(few[column] & few[other] for column, other in combinations(shared, 2)):
        return []
    why = "recognised: these columns share their values"
    return [table.take("coders", name, why) for name in few if name in shared]


def _of_labels(table: Table, cells: LabelCells) -> list[str]:
    """The columns whose cells are labels or missing; one with labels for the most part is pointed out."""
    names = []
    for name in table.free():
        counts = table.counts(name)
        meant = [text for text in table.values(name) if cells.label(text)]
        others = sorted(text for text in table.values(name) if cells.read(text) is None)
        if meant and not others:
            names.append(table.take("coders", name, BY_VALUES))
            continue
        hits, wrong = (sum(counts[text] for text in texts) for texts in (meant, others))
        if len(meant) > 1 and hits > wrong:
            shown = label_line(others[:_SHOWN]) + ", …" * (len(others) > _SHOWN)
            why = f"{hits:,} of {hits + wrong:,} cells hold these labels; once the others are corrected "
            why += f"({shown}), --gold {shlex.quote(name)} takes them for the true ones"
            table.take("gold label?", name, why)
    return names


def read_labels(
    table: Table, columns: Sequence[str], rules: LabelRules, most: int, *, where: str, expected: str, fix: str
) -> WrittenLabels:
    """The label set of some columns of labels, and what else stands there for a label, or for none.

    Args:
        table: The table.
        columns: The columns.
        rules: What the user says of their cells.
        most: How many labels may occur where the user does not name them.
        where: What the labels stand in, for the error where they are no label set.
        expected: What is expected of them there.
        fix: What to do about it.
    """
    counts = Counter[str]()
    for name in columns:
        counts.update(table.counts(name))
    written = rules.read(counts)
    labels = rules.labels or tuple(ordered(written.labels))
    if not 2 <= len(labels) <= (len(labels) if rules.labels else most):
        named = ", ".join(label[:40] for label in labels[:8]) + ", …" * (len(labels) > 8)
        gaps = [
            f"; {decision.column}: {decision.why}"
            for decision in written.decisions
            if decision.role == "missing"
        ]
        few = "fewer than two labels occur"
        raise QuaverError(
            few if len(labels) < 2 else f"{len(labels)} different labels occur",
            where=where,
            expected=expected,
            found=(named or "no label") + "".join(gaps),
            fix=fix,
        )
    return replace(written, labels=labels)


def roles_of(table: Table, given: ImportOptions, *, has_fields: bool) -> dict[str, Any]:
    """The columns of a table of labels by role, as the study file names them.

    Args:
        table: The table.
        given: The options.
        has_fields: Whether columns that are taken already are variables of their own.
    """
    named = table.take_named(given, {**dict(zip(_SINGLE, _SINGLE, strict=True)), **_SEVERAL})
    played: dict[str, Any] = {role: own if role in _SEVERAL else own[0] for role, own in named.items()}
    if not (given["coders"] or given["models"] or given["raw"] or has_fields):
        _recognise(table, played, "label")
    _recognise(table, played, "item", "gold", "text")
    if "label" in played and not given["label"] and _holds_answers(table, played["label"]):
        why = f"{BY_NAME}; its cells are answers, not labels"
        played["raw"] = table.take("raw", played.pop("label"), why)
    if "label" in played or "raw" in played or has_fields:
        _rows_of_annotations(table, played, given)
    elif "coders" not in played and "models" not in played:
        played["coders"] = label_columns(table, given["labels"], given["unlabelled"])
        if not played["coders"]:
            expected = "a column of labels, or a column of labels for each coder"
            fix = "name it with --label, or the coders' columns with --coders a,b,c"
            raise table.unclear("no column of labels was recognised", fix, expected)
    if "item" not in played:
        table.taken.append(Decision("item", "(the row's number)", "no column was recognised"))
    return played


def _recognise(table: Table, played: dict[str, Any], *roles: str) -> None:
    """Take the columns that are called as those of some roles are."""
    for role in roles:
        if role not in played and (column := table.find(role)):
            played[role] = column


def _holds_answers(table: Table, column: str) -> bool:
    """Whether a column that is called as labels are holds long texts."""
    values = table.values(column)
    is_long = any("\n" in text or len(text) > _LONGEST_LABEL for text in values)
    return is_long and len(values) > MOST_LABELS


def _rows_of_annotations(table: Table, played: dict[str, Any], given: ImportOptions) -> None:
    """The roles of a table with a row an annotation: what tells the rows of an item apart."""
    _recognise(table, played, "coder", "repeat", "decoding")
    if "raw" in played:
        _recognise(table, played, "thinking")
    if "item" not in played:
        expected = "a column that says which item a label belongs to"
        raise table.unclear("no column of items was recognised", "name it with --item", expected)
    if "variant" not in played:
        factors = [name for name in table.free("variant") if len(table.values(name)) > 1]
        for name in sorted(factors, key=table.columns.index):
            played.setdefault("variant", []).append(table.take("variant", name, BY_NAME))
    for role in ("prompt", "original"):
        if role not in played:
            _take_of_variants(table, played, role)
    if given["twice"] == "repeat":
        played["repeats_in_order"] = True
        table.taken.append(Decision("repeat", "(the order of the rows)", NAMED))


def _take_of_variants(table: Table, played: dict[str, Any], role: str) -> None:
    """Take the prompts' texts, or the mark of the original, where each variant has one."""
    variants = tuple(played.get("variant", ()))
    for name in table.free(role):
        values = table.values(name)
        fits = bool(values) and (role == "prompt" or {*map(str.casefold, values)} <= _MARKS)
        if fits and len(_places(table, (*variants, name))) == max(1, len(_places(table, variants))):
            played[role] = table.take(role, name, BY_NAME)
            return


def _places(table: Table, columns: Sequence[str]) -> set[tuple[str, ...]]:
    """The texts of rows in some columns, each combination once."""
    return {*zip(*(column_texts(table.rows, name) for name in columns), strict=True)}
