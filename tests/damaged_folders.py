"""Folders of a study, and states of a watch, damaged on purpose, each with a seed of its own.

``python -m tests.damaged_folders FIRST COUNT [folder|watch]`` damages as many, works on each with commands of
Quaver's, and prints how they end. Whatever was done to a folder, a command does its work or says one error.
"""

import io
import json
import os
import random
import re
import shutil
import sqlite3
import sys
import tempfile
import traceback
from collections import Counter
from contextlib import closing, redirect_stderr, redirect_stdout, suppress
from pathlib import Path

import polars as pl
from tests.damage import CELLS, SQL, STUDY, VALUES, annotate, edit, edited, items, of_bytes

import quaver
from quaver.cli.main import main
from quaver.errors import QuaverError
from quaver.view.mark_book import MarkBook
from quaver.view.serving import studies_of
from quaver.view.study_reader import keep
from quaver.watch.occasions import CanaryOptions
from quaver.watch.watching import watch

__all__ = ["COMMANDS", "damaged", "fails", "whole"]

_FUNCTION = ("--function", "fake=tests.damage:annotate")
_ASKS = ("run", "plan", "rescore", "measure", "report", "compare", "watch", "check", "bundle")
_VIEW = ("view", "study.yaml")
COMMANDS = (
    ("run", "study.yaml"),
    ("status", "study.yaml"),
    ("status", "study.yaml", "--json"),
    ("rescore", "study.yaml"),
    ("measure", "study.yaml", "accuracy", "--json"),
    ("measure", "study.yaml", "accuracy"),
    ("export", "study.yaml", "out.jsonl"),
    ("export", "study.yaml", "out.csv"),
    ("export", "study.yaml", "out.parquet"),
    ("compare", "study.yaml", "--by", "paraphrase", "--resamples", "100", "--json"),
    ("gold", "study.yaml", "--n", "3", "--format", "csv"),
    ("gold", "study.yaml"),
    ("accept", "study.yaml"),
    _VIEW,
    ("verify", "whole.zip"),
    ("plan", "study.yaml"),
    ("paper", "study.yaml", "--to", "paper"),
    ("bundle", "study.yaml", "--out", "whole.zip"),
    ("report", "study.yaml"),
)
"""What is done with a folder."""
_OF_PLACE = {".view": [_VIEW], "gold": [("gold", "study.yaml")], "marks.jsonl": [_VIEW]}
"""Commands that read what lies at a place."""
ENDS = Counter[str]()
"""How often each command ended with which exit status."""


def whole(home):
    """A folder that has every file: answers, labels, estimates, a gold sample, marks, a watch."""
    (home / "items.csv").write_text(items(8))
    (home / "study.yaml").write_text(STUDY)
    study = quaver.Study.open(home, functions={"fake": annotate})
    study.run()
    assert fails(home, ("gold", "study.yaml", "--n", "4", "--format", "csv")) is None
    keep(home / "study.yaml", home / ".view")
    assert study.estimates()
    book = MarkBook(home, study.experiment.labels)
    for n in range(3):
        book.add({"item": f"i{n}", "note": "a note"}, "ada")
    for _ in range(2):
        watch(study, CanaryOptions(prompts=3, parts=2, first=2))
    return home


def damaged(folder, seed, only=""):
    """Damage a folder in one way; what was done.

    Args:
        folder: What to damage.
        seed: Decides how.
        only: ``watch`` for nothing but the files of the watch.
    """
    rng = random.Random(f"folder {seed}")
    home = folder / "watch" if only else folder
    found = [one for one in sorted(home.rglob("*")) if one.is_file() and _is_kept(one, only)]
    index = [one for one in found if ".view" in one.parts]
    found = [one for one in found if one not in index]
    kinds = {
        "index": index,
        "json": [one for one in found if one.suffix == ".json"],
        "db": [one for one in found if one.suffix == ".db"],
        "parquet": [one for one in found if one.suffix == ".parquet"],
        "any": found,
    }
    kind = rng.choice([name for name, files in kinds.items() if files])
    file = rng.choice(kinds[kind])
    return f"{file.relative_to(folder)}: {_HOW[kind](rng, file)}"


def _is_kept(file, only):
    return file.name not in ("items.csv", "study.yaml") and (bool(only) or "watch" not in file.parts)


def _document(rng, file):
    try:
        found = json.loads(file.read_bytes())
    except ValueError:
        return _bytes(rng, file)
    if isinstance(found, dict) and rng.random() < 0.8:
        found.pop("checksum", None)
    file.write_text(json.dumps(edited(rng, found)))
    return "a document"


def _bytes(rng, file):
    how = rng.choice([*of_bytes, "empty", "gone", "a folder"])
    content = file.read_bytes()
    file.unlink()
    if how == "a folder":
        file.mkdir()
    elif how == "empty":
        file.write_bytes(b"")
    elif how != "gone":
        file.write_bytes(of_bytes[how](rng, content) if content else b"x")
    return how


_ODD = (
    "x'ff00fe'", "CAST(x'ff00fe' AS TEXT)", "NULL", "'x'", "''", "-5", "1.5", "1e300", "9e999", "zeroblob(3)",
    "'\u2028'", "9223372036854775807", "'[[]]'", "char(0)",
)  # fmt: skip


def _database(rng, file):
    how = rng.random()
    if how < 0.2:
        return _bytes(rng, file)
    if how < 0.3:
        statement = f"PRAGMA user_version = {rng.choice([-5, 0, 1, 99, 2**31 - 1])}"
    elif how < 0.4:
        statement = f"PRAGMA application_id = {rng.choice([-5, 7])}"
    elif how < 0.7:
        statement = rng.choice(SQL)
    else:
        with closing(sqlite3.connect(file)) as db:
            tables = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            table = rng.choice(tables)
            columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
        where = rng.choice(["", f" WHERE rowid = (SELECT min(rowid) FROM {table})"])
        statement = f"UPDATE {table} SET {rng.choice(columns)} = {rng.choice(_ODD)}{where}"
    with suppress(sqlite3.Error, UnicodeError):
        edit(file, statement, forget=rng.random() < 0.7)
    return statement


def _table(rng, file):
    if rng.random() < 0.2:
        return _bytes(rng, file)
    frame = pl.read_parquet(file)
    name = rng.choice(frame.columns)
    how = rng.choice(["dropped", "renamed", "null", "recast", "cell", "fewer", "twice", "other", "no rows"])
    match how:
        case "dropped":
            frame = frame.drop(name)
        case "renamed":
            frame = frame.rename({name: "other"})
        case "null":
            frame = frame.with_columns(pl.lit(None, dtype=frame[name].dtype).alias(name))
        case "recast":
            kinds = [pl.String, pl.Int8, pl.Float32, pl.Boolean, pl.Null, pl.Binary, pl.Categorical]
            with suppress(pl.exceptions.PolarsError):
                frame = frame.with_columns(pl.col(name).cast(rng.choice(kinds), strict=False))
        case "cell":
            frame = frame.with_columns(pl.Series(name, [rng.choice(CELLS)] * frame.height))
        case "fewer":
            frame = frame.head(rng.randrange(frame.height + 1))
        case "twice":
            frame = pl.concat([frame, frame.tail(1)])
        case "other":
            frame = frame.with_columns(pl.lit("other").alias(name))
        case _:
            frame = frame.clear()
    frame.write_parquet(file)
    return f"{how} {name}"


def _any(rng, file):
    if file.suffix in (".jsonl", ".csv") and rng.random() < 0.6:
        lines = file.read_bytes().split(b"\n")
        at = rng.randrange(len(lines))
        odd = [json.dumps(value).encode() for value in VALUES] + [b"\xff", b"", lines[at] * 2, b"{" * 5000]
        lines[at] = rng.choice(odd)
        file.write_bytes(b"\n".join(lines))
        return f"line {at + 1}"
    return _bytes(rng, file)


_HOW = {
    "json": _document,
    "db": _database,
    "parquet": _table,
    "any": _any,
    "index": lambda rng, file: (_document if file.suffix == ".json" else _bytes)(rng, file),
}


def look_at(folder):
    """What ``quaver view`` does with a folder, without its server."""
    (study,) = studies_of([folder / "study.yaml"]).values()
    keep(study.path, study.root)
    study.view("is:wrong or by:ada")


def fails(folder, command):
    """Where a command ends in anything but its work or one error: how."""
    options = _FUNCTION if command[0] in _ASKS else ()
    before, words, said = Path.cwd(), sys.argv, io.StringIO()
    os.chdir(folder)
    sys.argv = ["quaver", *command, *options]
    try:
        with redirect_stdout(said), redirect_stderr(said):
            look_at(folder) if command == _VIEW else main()
    except QuaverError:
        ENDS[f"{command[0]} 2"] += 1
    except SystemExit as ended:
        code = 0 if ended.code is None else ended.code
        text = said.getvalue()
        if code not in (0, 1, 2) or "Traceback" in text or len(text) > 200_000:
            return f"exit status {code}: {text[-300:]}"
        ENDS[f"{command[0]} {code}"] += 1
        return None
    except BaseException as error:  # a panic of an engine is no Exception
        frames = traceback.extract_tb(error.__traceback__)
        own = [one for one in frames if "quaver/src" in one.filename or "/src/quaver/" in one.filename]
        at = own[-1] if own else frames[-1]
        return f"{type(error).__name__}: {str(error)[:160]} ({Path(at.filename).name}:{at.lineno})"
    finally:
        os.chdir(before)
        sys.argv = words
    return None


def states(first, count, only, home):
    """Damage a copy for each seed and work on it; the seed, damage, command and end of each that failed."""
    source = home / "whole"
    source.mkdir()
    whole(source)
    for seed in range(first, first + count):
        trial = home / "trial"
        shutil.rmtree(trial, ignore_errors=True)
        shutil.copytree(source, trial)
        damage = damaged(trial, seed, only)
        rng = random.Random(f"commands {seed}")
        place = re.split("[/:]", damage)[0]
        commands = (
            [("watch", "study.yaml")] * 2 if only else [*_OF_PLACE.get(place, ()), *rng.sample(COMMANDS, 3)]
        )
        for command in commands:
            found = fails(trial, command)
            if found is not None:
                yield seed, damage, command, found


if __name__ == "__main__":
    wanted = sys.argv[3] if len(sys.argv) > 3 else ""
    seen = Counter()
    with tempfile.TemporaryDirectory() as folder:
        given = int(sys.argv[1]), int(sys.argv[2])
        for number, done, asked, end in states(*given, "watch" if wanted == "watch" else "", Path(folder)):
            seen[end.partition("(")[0][:40]] += 1
            print(number, done, " ".join(asked), end, sep=" | ", flush=True)
    print(dict(sorted(ENDS.items())))
    print(f"{given[1]} {wanted or 'folder'} states from seed {given[0]}: {seen.total()} tracebacks")
