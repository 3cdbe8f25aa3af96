"""Every single value of a bundle, changed: ``python -m tests.bundles.bundle_leaves`` says which pass.

``python -m tests.bundles.bundle_leaves asked 3`` takes three values of each kind of place in one bundle.

A value is a leaf of a JSON or YAML document, a cell of a table or of the store, or a line of a text. It is
changed to another value of its kind of place, or else to one like it; checksums are remade, and nothing else.
"""

import csv
import hashlib
import io
import json
import random
import re
import shutil
import sqlite3
import sys
from collections import Counter
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
from ruamel.yaml import YAML
from tests.bundles.leaf_studies import BUNDLES
from tests.damage import repacked
from tests.samples import drawn

from quaver.bundles import verification
from quaver.bundles.derived_files import estimate_differences, file_difference
from quaver.collect.store.response_tables import CHECKED, add_checksums
from quaver.errors import QuaverError, StoreError
from quaver.study.analysis.measured_fields import MeasuredFields
from quaver.study.sources.archive import members_in
from quaver.study.sources.bundle_source import estimates_in

DERIVED = ("README.md", "estimates.csv", "estimates.json")
"""Files that follow from the others, beside the reports."""

DRAWN = (".html", ".md")


PASSING = (
    r"responses\.db responses\.(seed|error|thinking|tokens|latency|received|raw|terms)",
    r"responses\.db sources\.(started|reused|provenance)",
    r"responses\.db terms\.(asked)",
    r"responses\.db meta\.(name|value)",
    r"gold/design\.json (how)",
    r"gold/design\.json rounds\.\*\.(when|size|coders|overlap)(\.\*)?",
    r"gold/labels\.csv (note|source|when)",
)
"""Kinds of values whose change nobody can find out, as patterns: reported, and nothing follows from them."""


# ------------------------------------------------------------------------------------ values and places


def places(document, path=()):
    """The leaves of a document, as paths."""
    if isinstance(document, dict | list) and document:
        pairs = document.items() if isinstance(document, dict) else enumerate(document)
        for key, value in pairs:
            yield from places(value, (*path, key))
    else:
        yield path


def kind_of(path):
    """A kind of place: its path without numbers."""
    return ".".join("*" if isinstance(part, int) else str(part) for part in path)


def at(document, path):
    """What stands at a place."""
    for part in path:
        document = document[part]
    return document


def other(value, alike, draw):
    """Another value: one that stands in a place of this kind, or else one like it."""
    found = sorted({one for one in alike if one != value and type(one) is type(value)}, key=str)
    if found and not isinstance(value, bool):
        return draw.choice(found)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value * 1.5 + 0.01 if value == value else 1.0
    if isinstance(value, str):
        number = re.fullmatch(r"-?\d+(\.\d+)?", value)
        return str(int(value) + 1) if number and not number[1] else f"{value} x".strip()
    if isinstance(value, bytes):
        return value[:-1] + bytes([value[-1] ^ 1])
    given = [one for one in alike if one is not None and not isinstance(one, dict | list)]
    return given[0] if given else "x"


# --------------------------------------------------------------------------------------------- the files


class Document:
    """The leaves of a JSON or YAML file."""

    def __init__(self, path):
        self._document = (
            YAML(typ="safe").load(path) if path.suffix != ".json" else json.loads(path.read_text())
        )
        if isinstance(self._document, dict):
            self._document.pop("checksum", None)
        self.places = [*places(self._document)]
        self._alike = {}
        for one in self.places:
            value = at(self._document, one)
            if not isinstance(value, dict | list):
                self._alike.setdefault(kind_of(one), []).append(value)

    kind = staticmethod(kind_of)

    def change(self, path, place, draw):
        """Change one of them."""
        document = json.loads(json.dumps(self._document, default=str))
        value = at(document, place)
        new = "x" if isinstance(value, dict | list) else other(value, self._alike[kind_of(place)], draw)
        at(document, place[:-1])[place[-1]] = [new] if value == [] else {"x": new} if value == {} else new
        path.write_text(json.dumps(document, indent=1, ensure_ascii=False), encoding="utf-8")


class Cells:
    """The cells of a CSV or Parquet file."""

    def __init__(self, path):
        self._is_csv = path.suffix == ".csv"
        if self._is_csv:
            self._rows = [*csv.reader(io.StringIO(path.read_text(encoding="utf-8")))]
            self.places = [
                (row, column) for row in range(len(self._rows)) for column in range(len(self._rows[0]))
            ]
            return
        self._frame = pl.read_parquet(path)
        self._rows = self._frame.with_columns(pl.col(pl.Categorical).cast(pl.String)).rows()
        self.places = [(row, column) for row in range(len(self._rows)) for column in range(self._frame.width)]

    def kind(self, place):
        """Its column; a heading is a place of its own."""
        row, column = place
        names = self._rows[0] if self._is_csv else self._frame.columns
        return f"heading {names[column]}" if self._is_csv and not row else str(names[column])

    def change(self, path, place, draw):
        """Change one of them."""
        at_row, at_column = place
        alike = [row[at_column] for row in (self._rows[1:] if self._is_csv else self._rows)]
        value = self._rows[at_row][at_column]
        if isinstance(value, list) or (
            not self._is_csv and isinstance(self._frame.dtypes[at_column], pl.List)
        ):
            new = [(value or [0.0])[0] * 0.5 + 0.1, *(value or [0.0])[1:]]
        elif self._is_csv and not at_row:
            new = f"{value}x"
        else:
            new = other(value, [one for one in alike if not isinstance(one, list)], draw)
        if self._is_csv:
            rows = [*map(list, self._rows)]
            rows[at_row][at_column] = new
            text = io.StringIO()
            csv.writer(text, lineterminator="\n").writerows(rows)
            path.write_text(text.getvalue(), encoding="utf-8")
            return
        column = self._frame.columns[at_column]
        kind = self._frame.schema[column]
        if value is None and new == "x" and kind not in (pl.String, pl.Categorical):
            new = not kind.is_numeric() or 1
        values = [*alike[:at_row], new, *alike[at_row + 1 :]]
        plain = pl.String if kind == pl.Categorical else kind
        series = pl.Series(column, values, dtype=plain, strict=False).cast(kind)
        self._frame.with_columns(series).write_parquet(path)


class Stored:
    """The cells of a store."""

    def __init__(self, path):
        self.places, self._alike = [], {}
        with closing(sqlite3.connect(path)) as db:
            tables = db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            for (table,) in sorted(tables):
                columns = [row[1] for row in db.execute(f'PRAGMA table_info("{table}")')]
                rows = db.execute(f'SELECT rowid, * FROM "{table}"').fetchall()
                for index, column in enumerate(columns):
                    self._alike[table, column] = [row[index + 1] for row in rows]
                    self.places += [(table, column, row[0], row[index + 1]) for row in rows]

    def kind(self, place):
        """Its table and column."""
        return f"{place[0]}.{place[1]}"

    def change(self, path, place, draw):
        """Change one of them."""
        table, column, row, value = place
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            add_checksums(db)
            alike = self._alike[table, column]
            unlike = max(alike) + 1 if isinstance(value, int) else other(value, (), draw)
            for new in (other(value, alike, draw), unlike):
                with suppress(sqlite3.IntegrityError):  # one of a kind
                    db.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE rowid = ?', [new, row])
                    break
            else:
                raise AssertionError(f"{table}.{column} cannot be changed")
            if column != "checksum":
                db.executescript(CHECKED)


class Lines:
    """The lines of a text."""

    def __init__(self, path):
        self._lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        self.places = [index for index, line in enumerate(self._lines) if line.strip()]

    def kind(self, _place):
        """Lines are of one kind."""
        return "a line"

    def change(self, path, place, draw):
        """Change a character of one."""
        line = self._lines[place]
        where = draw.choice([index for index, one in enumerate(line) if not one.isspace()])
        new = "y" if line[where] != "y" else "z"
        lines = [*self._lines[:place], line[:where] + new + line[where + 1 :], *self._lines[place + 1 :]]
        path.write_text("".join(lines), encoding="utf-8")


def values_of(path):
    """The values of a file."""
    ending = path.suffix
    if ending in (".json", ".yaml"):
        return Document(path)
    return Stored(path) if ending == ".db" else Lines(path) if ending in DRAWN else Cells(path)


# ---------------------------------------------------------------------------------------------- verifying


class Quick:
    """`verify`, which stops at the first difference, and does once what follows from the same files."""

    STEPS = ("compare_design", "_compare_readings", "gold_differences", "acceptance_differences")

    def __init__(self, home):
        self._home, self._made, self._read, self._real = home, {}, {}, {}

    def __enter__(self):
        for name in (*self.STEPS, "_compare_derived", "write_derived", "rescored", "resolved", "departures"):
            self._real[name] = getattr(verification, name)
        for name in self.STEPS:
            setattr(verification, name, partial(self._once, name))
        verification._compare_derived = self._numbers_first
        verification.resolved = lambda _: {}  # for what is said at the end
        verification.departures = lambda _: ()
        verification.write_derived, verification.rescored = self._derived, self._rescored
        return self

    def __exit__(self, *_):
        for name, step in self._real.items():
            setattr(verification, name, step)

    def _once(self, name, source, *given):
        if name == "compare_design":  # the first, and of the whole bundle
            self._key, self._answers = _follows_from(source.folder)
        found = self._real[name](source, *given)
        _stop_at(found if name.endswith("differences") else given[-1].differs)
        return found

    def _rescored(self, source):
        if self._answers not in self._read:
            self._read = {self._answers: self._real["rescored"](source).collect()}
        return self._read[self._answers].lazy()

    def _numbers_first(self, source, again, found):
        """A page takes ten times as long as its numbers, so it is written where these are the same."""
        if self._key not in self._made:
            now = MeasuredFields(source).estimates()
            _stop_at(estimate_differences(estimates_in(source.folder), now))
        self._real["_compare_derived"](source, again, found)

    def _derived(self, source, folder):
        key = self._key
        if key not in self._made:
            kept = self._home / key
            self._made[key] = self._real["write_derived"](source, folder), kept
            shutil.copytree(folder, kept)
        estimates, kept = self._made[key]
        shutil.copytree(kept, folder, dirs_exist_ok=True)
        return estimates

    def finds(self, name, folder, change):
        """Whether a derived file, compared by itself as in the last step, is not that of the whole bundle."""
        (folder / name).parent.mkdir(parents=True)
        change(folder)
        return file_difference(folder / name, next(iter(self._made.values()))[1] / name)


def _stop_at(differs):
    if differs:
        raise StoreError("a difference, which is enough")


def _follows_from(folder):
    """Digests of what the derived files follow from, and of the same without the annotations."""
    found = hashlib.sha256()
    files = {name: path for name, path in members_in(folder).items() if not _is_derived(name)}
    kept = files.pop("annotations.parquet").read_bytes()
    for name, path in sorted(files.items()):
        found.update(b"\0".join([name.encode(), *_dumped(path)]))
    answers = found.hexdigest()
    found.update(kept)
    return found.hexdigest(), answers


def _is_derived(name):
    return name in DERIVED or name.endswith(".html")


def _dumped(path):
    """A file's content; of a database, that of its tables."""
    if path.suffix != ".db":
        return [path.read_bytes()]
    with closing(sqlite3.connect(path)) as db:
        return [line.encode() for line in db.iterdump()]


def outcome(path):
    """How verifying a bundle ends."""
    try:
        return verification.verify(path).outcome
    except QuaverError:
        return "differs"


def changed_values(bundle, home, seed=1, most=None, *, parts=1, derived=True, told=lambda *_: None):
    """Change values of a bundle one by one.

    Args:
        bundle: A bundle that holds.
        home: An empty folder.
        seed: Draws which, and to what.
        most: Values of each kind of place; all if left out.
        parts: Of the kinds of place in a file one of so many is changed, another each day.
        derived: Whether to change files, too, that follow from the others.
        told: Is given each file's name when it is done, and the counts so far.

    Returns:
        How often verifying ended in each outcome, by the kind of place.
    """
    folder, ends = home / "whole", Counter()
    repacked(bundle, home / "plain", lambda there: shutil.copytree(there, folder))
    draw = random.Random(seed)
    with Quick(home / "derived") as quick:
        assert outcome(bundle) == "holds"
        members = members_in(folder)
        follow = [name for name in members if _is_derived(name)]
        for name in sorted({*members} - {*follow}) + (follow if derived else []):
            values = values_of(members[name])
            kinds = {}
            for place in values.places:
                kinds.setdefault(values.kind(place), []).append(place)
            for kind, own in drawn(kinds.items(), parts, len(name)):
                some = own if most is None or len(own) <= most else draw.sample(own, most)
                for place in some:
                    case = home / "case"
                    shutil.rmtree(case, ignore_errors=True)

                    def change(there, name=name, values=values, place=place):
                        values.change(there / name, place, draw)

                    found = name in follow and quick.finds(name, case / "alone", change)
                    end = "differs" if found else outcome(repacked(bundle, case, change))
                    ends[f"{name} {kind}", end] += 1
            told(name, ends)
    return ends


def _told(name, ends):
    """Say which values of a file pass."""
    own = {key: n for key, n in ends.items() if key[0].startswith(f"{name} ")}
    print(f"  {name}: {sum(own.values()):,} values", flush=True)
    for (kind, end), n in own.items():
        if end != "differs":
            print(f"    {kind}: {n} end in {end!r}, {ends[kind, 'differs']} are found", flush=True)


def _main(names, most):
    for name in names or BUNDLES:
        with TemporaryDirectory() as place:
            home = Path(place)
            ends = changed_values(BUNDLES[name](home / "study"), home, most=most, told=_told)
        outcomes = Counter()
        for (_, end), n in ends.items():
            outcomes[end] += n
        print(f"{name}: {ends.total():,} values changed, {dict(outcomes)}", flush=True)


if __name__ == "__main__":
    given = [one for one in sys.argv[1:] if not one.isdigit()]
    _main(given, next((int(one) for one in sys.argv[1:] if one.isdigit()), None))
