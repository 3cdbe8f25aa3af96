"""A check that is put together in the browser: its folder, and the options of ``quaver check`` so far."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from quaver.collect.store.store_lock import sole_writer
from quaver.core.input_budget import read_file
from quaver.core.label_decisions import Decision
from quaver.core.options import options_in
from quaver.core.replaced_file import document_in, replace_bytes, replace_document, writing
from quaver.design.items.table_files import how_written
from quaver.design.spec.yaml_file import read_yaml
from quaver.errors import QuaverError, StoreError, UnknownName
from quaver.start.uploaded_archive import table_with_pictures, unpacked_pictures
from quaver.study.checking.check_design import Check, prepared_check
from quaver.study.checking.check_options import CheckOptions
from quaver.study.checking.coding_sheet import coding_sheet, write_coding_sheet
from quaver.study.checking.text_table import TextTable, read_text_table
from quaver.study.imports.columns import Table, table_of
from quaver.study.imports.field_columns import FieldColumn
from quaver.study.session import Study

_GIVEN: Final = "start.json"
"""What was given so far, in the study's folder."""

_BOOK: Final = "codebook.jsonl"
_STUDY: Final = "study.yaml"
_WRITTEN: Final = ("encoding", "separator", "sheet")
_SINGLE: Final = ("text", "images", "title", "id", "gold", "group")
_SEVERAL: Final = ("coders", "compare", "ignore")

_WAIT: Final = 1.0
"""Seconds for another window that prepares the same study; who asks for answers is not waited for."""

MOST_BYTES: Final = 200 << 20
"""The largest table that is uploaded; a larger one is named on the command line."""

ROLES: Final[Mapping[str, str]] = {
    "text": "text",
    "images": "pictures",
    "title": "title above the text",
    "id": "id",
    "gold": "gold label",
    "coders": "one coder’s label",
    "group": "belongs together",
    "compare": "compare by it",
    "fields": "variable of its own",
    "ignore": "ignored",
}
"""What a column can be taken for, by the option that says so."""


class Here:
    """The folder in which ``quaver start`` was called, with the studies in it.

    Args:
        folder: That folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self._open: dict[Path, tuple[object, Study]] = {}
        self._begun: dict[str, BegunCheck] = {}

    def names(self) -> list[str]:
        """The studies' folders, the latest first."""
        paths = [path for path in self.folder.iterdir() if is_study(path)]
        return [path.name for path in sorted(paths, key=lambda path: -path.stat().st_mtime)]

    def begun(self, name: str) -> BegunCheck:
        """One of them."""
        if name not in self.names():
            raise UnknownName("study", name, self.names(), where=str(self.folder))
        if name not in self._begun or self._begun[name].is_stale():
            self._begun[name] = BegunCheck(self.folder / name)
        return self._begun[name]

    def check_of(self, path: Path) -> BegunCheck:
        """The check in a folder, or the latest one of a table; one that is begun, where there is none."""
        if path.is_dir():
            return self.begun(path.resolve().name)
        return self._latest_of(path.resolve()) or self.begin(path.resolve())

    def _latest_of(self, source: Path) -> BegunCheck | None:
        return next((check for check in map(self.begun, self.names()) if check.texts_file == source), None)

    def take(self, name: str, content: bytes) -> BegunCheck:
        """Keep a table of texts in the folder, and begin a check, or go on from one of the command line."""
        plain = re.sub(r"[^\w. -]+", "-", Path(name).name).strip(". -") or "texts.csv"
        if Path(plain).suffix.lower() == ".zip" and (table := table_with_pictures(content)):
            return self.begin(unpacked_pictures(content, table, _free(self.folder, Path(plain).stem)))
        source = self.folder / plain
        if not source.is_file() or read_file(source) != content:
            source = _free(self.folder, Path(plain).stem, Path(plain).suffix)
            with writing(self.folder):
                replace_bytes(source, content)
        elif (there := self._latest_of(source)) and not there.is_begun_here:
            return there
        return self.begin(source)

    def begin(self, source: Path, given: Mapping[str, Any] | None = None) -> BegunCheck:
        """Begin a check of a table in a folder of its own."""
        folder = _free(self.folder, f"{source.stem}-check")
        with writing(self.folder):
            folder.mkdir(exist_ok=True)
        begun = BegunCheck(folder)
        begun.write(source, given or how_written(source))
        return begun

    def again(self, begun: BegunCheck) -> BegunCheck:
        """Begin a second version of a check, to compare with the first."""
        second = self.begin(begun.source, begun.options | {"before": begun.folder.name})
        if begun.definitions:
            second.define(begun.definitions)
        return second

    def study(self, path: Path) -> Study:
        """A study that is opened once for each state of its file."""
        stamp = _stamp(path / _STUDY if path.is_dir() else path)
        if path not in self._open or self._open[path][0] != stamp:
            self._open[path] = (stamp, Study.open(path))
        return self._open[path][1]


def is_study(folder: Path) -> bool:
    """Whether a folder holds a check or another study."""
    try:
        return (folder / _GIVEN).is_file() or (folder / _STUDY).is_file()
    except OSError:  # a folder that this user may not look into
        return False


def _stamp(path: Path) -> tuple[int, int]:
    """What changes with a file's content."""
    try:
        about = path.stat()
    except OSError:
        return 0, 0
    return about.st_mtime_ns, about.st_size


def _free(folder: Path, stem: str, ending: str = "") -> Path:
    """A path at which nothing is yet, or no more than a killed process had begun to write."""
    path, number = folder / f"{stem}{ending}", 1
    while path.exists() and not (
        path.is_dir() and all(path_inside.suffix == ".part" for path_inside in path.iterdir())
    ):
        number += 1
        path = folder / f"{stem}-{number}{ending}"
    return path


class BegunCheck:
    """A check of which some options may be missing.

    Args:
        folder: Its folder.

    Attributes:
        options: Those of `CheckOptions` that were given; ``before``, the check that it is compared with; and
            ``error``, the largest share of wrong labels that is promised, in percent.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.options: dict[str, Any] = {}
        self._source = ""
        self._table: tuple[tuple[int, int], Table] | None = None
        self._found: TextTable | None = None
        self._prepared: tuple[Any, Check] | None = None
        self._read_given()

    def _read_given(self) -> None:
        """Read what was given so far, in whichever window."""
        if not (path := self.folder / _GIVEN).is_file():
            return
        try:
            kept = document_in(path)
            self._source, self.options = str(kept["source"]), dict(kept["options"])
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise StoreError(
                "this check cannot be read",
                where=str(path),
                found=str(error),
                fix="remove the file",
            ) from error

    def is_stale(self) -> bool:
        """Whether the table was changed, in a spreadsheet program perhaps, since its rows were read."""
        return self._table is not None and self._table[0] != _stamp(self.source)

    @property
    def name(self) -> str:
        """Its name in addresses."""
        return self.folder.name

    @property
    def is_begun_here(self) -> bool:
        """Whether it was begun in the browser, not on the command line."""
        return bool(self._source)

    @property
    def noun(self) -> str:
        """What a row of its table is: a text, or a picture."""
        with suppress(QuaverError):  # of a study that was made on the command line
            return self.found.noun
        return "text"

    @property
    def texts_file(self) -> Path | None:
        """The table of texts, also of a check that was made on the command line; None where there is none."""
        named: Any = self._source
        if not named:
            with suppress(QuaverError, OSError, KeyError, TypeError):
                named = read_yaml(self.folder / _STUDY)["items"]["source"]
        path = (self.folder / named).resolve() if isinstance(named, str) and named else None
        return path if path is not None and path.is_file() else None

    @property
    def source(self) -> Path:
        """The table of texts."""
        if not self._source:
            raise QuaverError(
                "this study was not started in the browser",
                where=str(self.folder),
                fix=f"change {self.folder / _STUDY} in an editor; asking, verdict and labels are shown here",
            )
        return (self.folder / self._source).resolve()

    def write(self, source: Path, options: Mapping[str, Any]) -> None:
        """Write down the table and what was given."""
        self._source = f"../{source.name}" if source.parent == self.folder.parent else str(source)
        self.options = dict(options)
        self.give()

    def give(self, **options: Any) -> None:
        """Give options, or take them back with None or an empty list."""
        self._read_given()
        self.options |= options
        self.options = {
            name: value for name, value in self.options.items() if value not in (None, "", [], ())
        }
        if self.is_begun_here:
            replace_document(self.folder / _GIVEN, {"source": self._source, "options": self.options})
        self._found = None
        if {*_WRITTEN} & {*options}:
            self._table = None

    def typed(self, path: Path) -> str:
        """A file as it is named in a terminal, in the folder with the studies."""
        here = self.folder.parent
        return str(path.relative_to(here) if path.is_relative_to(here) else path)

    # ------------------------------------------------------------------------- texts

    @property
    def table(self) -> Table:
        """The rows of the table."""
        if self._table is None:
            written: dict[str, str] = {}
            for name in _WRITTEN:
                if name in self.options:
                    written[name] = str(self.options[name])
            self._table = _stamp(self.source), table_of(self.source, written)
        return self._table[1]

    @property
    def found(self) -> TextTable:
        """What the table holds, as it was said or recognised."""
        if self._found is None:
            self.table.taken, self.table.used = [], set()
            given: Any = self.options | {"labels": tuple(self.definitions or self.options.get("labels", ()))}
            self._found = read_text_table(self.table, given)
        return self._found

    @property
    def fields(self) -> tuple[FieldColumn, ...]:
        """The variables of its own that the table has in place of one label; none before that can be said."""
        try:
            return self.found.fields
        except QuaverError:
            return ()

    def columns(self) -> list[Decision]:
        """Each column, with the option that it is taken for, and why."""
        fields = self.fields
        decisions = {name: Decision("ignore", name, "") for name in self.table.columns}
        for decision in self.table.taken:
            role = "id" if decision.role == "item" else decision.role
            if role in ROLES and decision.column in decisions:
                decisions[decision.column] = Decision(role, decision.column, decision.why)
        for field in fields:
            decisions |= {name: Decision("fields", name, field.why) for name in field.columns}
        for name in self.options.get("ignore", ()):
            decisions[name] = Decision("ignore", name, "as you said")
        return list(decisions.values())

    def column_of(self, role: str) -> str | None:
        """The column that is used for an option."""
        return next((decision.column for decision in self.columns() if decision.role == role), None)

    def take_column(self, column: str, role: str) -> None:
        """Say what a column is."""
        given: dict[str, Any] = {name: None for name in _SINGLE if self.options.get(name) == column}
        for name in _SEVERAL:
            given[name] = [name_given for name_given in self.options.get(name, ()) if name_given != column]
        # Variables that were proposed stay beside the one that is said, but not beside the label of a text.
        others = [] if role in ("gold", "coders") else self.fields
        given["fields"] = [field.name for field in others if column not in field.columns]
        given[role] = column if role in _SINGLE else [*given[role], column]
        self.give(**given)

    # ---------------------------------------------------------------------- codebook

    @property
    def definitions(self) -> dict[str, str]:
        """The labels with their definitions, if any were given."""
        path = self.options.get("codebook")
        return coding_sheet(self.folder / path) if path else {}

    def define(self, definitions: Mapping[str, str]) -> None:
        """Give labels and what they mean."""
        write_coding_sheet(self.folder / _BOOK, definitions)
        self.give(codebook=_BOOK)

    # ------------------------------------------------------------------------- asked

    def prepared(self) -> Check:
        """The check, with its study file written; prepared anew where a file or an option has changed."""
        given = {name: value for name, value in self.options.items() if name in options_in(CheckOptions)}
        if "codebook" in given:
            given["codebook"] = self.folder / given["codebook"]
        if self._prepared is None or self._prepared[0] != self._state(given):
            data = self.source if self.is_stale() else self.table
            with sole_writer(self.folder, wait=_WAIT):
                made = prepared_check(data, to=self.folder, **given)
            self._prepared = (self._state(given), made)
        return self._prepared[1]

    def _state(self, given: Mapping[str, Any]) -> tuple[Any, ...]:
        files = (self.source, self.folder / _BOOK, self.folder / _STUDY)
        return repr(given), *map(_stamp, files)

    def command(self) -> str:
        """The command that prepares and asks the same."""
        words = ["quaver", "check", self.typed(self.source)]
        for name in options_in(CheckOptions):
            if (value := self.options.get(name)) is None:
                continue
            if name == "codebook":
                value = f"{self.folder.name}/{value}"
            if isinstance(value, list):
                value = ", ".join(
                    f'"{value_part}"' if "," in value_part else value_part for value_part in value
                )
            words += [f"--{name.replace('_', '-')}", str(value)]
        if self.folder != self.source.with_name(f"{self.source.stem}-check"):
            words += ["--to", self.folder.name]
        return shlex.join(words)
