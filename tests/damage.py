"""Bundles damaged on purpose: in their bytes, their documents, their tables and their database.

Each case has a seed of its own, so that one that fails can be tried alone. What is changed inside is packed
again with right checksums: whoever edits a bundle can do that, too.
"""

import json
import random
import shutil
import sqlite3
import zipfile
from contextlib import closing, suppress
from datetime import date
from pathlib import Path

import polars as pl

from quaver.study.sources.archive import MANIFEST, members_in, pack

__all__ = ["KINDS", "SQL", "STUDY", "annotate", "damaged", "edit", "edited", "items", "of_bytes", "repacked"]

DATA = Path(__file__).with_name("data")
SQL = (DATA / "damage.sql").read_text(encoding="utf-8").split(";\n")
"""Edits of a store, as somebody could make them by hand."""

VALUES = (
    *(None, True, 0, -1, 3, 10**30, 1.5, 1e308, float("nan"), "", "x", "\ud800", "../x", "a" * 5000),
    *([], [None], [[]], ["x"], {}, {"x": 1}, {"a": {"b": [1]}}, [1, 2], "2020-01-01", "{{ x }}", "\x00"),
)
CELLS = ("x", 5, 10**15, -1, 1.5, float("nan"), True, b"\xff", date(2020, 1, 1), [1], {"a": 1})


STUDY = """\
task: {labels: [positive, negative]}
items: {source: items.csv, id: id, text: "{{ text }}", gold: truth, groups: [party]}
prompt: {instruction: Is this positive or negative?}
variants:
  - {use: instructions, texts: {curt: "Positive?"}}
models:
  - {name: fake, use: function}
repeats: 2
evaluators: [first_label, exact]
measures:
  - {use: accuracy, by: [paraphrase], resamples: 20}
  - {use: inter_pss, resamples: 20}
"""


def items(count):
    """The items of that study."""
    rows = (
        f"i{n},{('blue', 'red')[n % 2]},The {n}. text of them all.,{'positive' if n % 3 else 'negative'}"
        for n in range(count)
    )
    return "\n".join(["id,party,text,truth", *rows]) + "\n"


def annotate(text, prompt):
    """Its model."""
    return "positive" if len(text + prompt) % 3 else f"negative, for it says {text}"


def _unpacked(bundle, folder):
    """A bundle's files without its manifest, and what that says beside."""
    with zipfile.ZipFile(bundle) as archive:
        archive.extractall(folder)
    manifest = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).unlink()
    return {name: value for name, value in manifest.items() if name != "files"}


def damaged(kind, seed, bundle, home):
    """A bundle, damaged in one way.

    Args:
        kind: One of ``KINDS``.
        seed: Decides how.
        bundle: A whole one.
        home: An empty folder.
    """
    rng, target = random.Random(f"{kind} {seed}"), home / "damaged.zip"
    if kind in of_bytes:
        target.write_bytes(of_bytes[kind](rng, bundle.read_bytes()))
        return target
    if kind == "manifest":
        return _manifest(rng, bundle, target)
    return repacked(bundle, home, lambda folder: _INSIDE[kind](rng, folder))


def repacked(bundle, home, change):
    """A bundle whose files were changed, packed again with right checksums.

    Args:
        bundle: A whole one.
        home: A folder without ``open`` and ``damaged.zip``.
        change: Changes the files in a folder.
    """
    folder, target = home / "open", home / "damaged.zip"
    about = _unpacked(bundle, folder)
    change(folder)
    pack(target, members_in(folder), about)
    return target


def _flipped(rng, whole):
    found = bytearray(whole)
    for _ in range(rng.choice([1, 1, 2, 8, 64])):
        found[rng.randrange(len(found))] ^= 1 << rng.randrange(8)
    return bytes(found)


def _truncated(rng, whole):
    return whole[: rng.randrange(len(whole))]


def _cut_out(rng, whole):
    start = rng.randrange(len(whole))
    return whole[:start] + whole[start + rng.randrange(1, 400) :]


def _doubled(rng, whole):
    start = rng.randrange(len(whole))
    return whole[:start] + whole[max(0, start - rng.randrange(1, 400)) :]


def _manifest(rng, bundle, target):
    """Another manifest over the same files."""
    with zipfile.ZipFile(bundle) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        for member in old.infolist():
            content = old.read(member)
            if member.filename == MANIFEST:
                content = _written(edited(rng, json.loads(content)))
            new.writestr(member.filename, content)
    return target


def _document(rng, folder):
    file = rng.choice(sorted(folder.glob("*.json")))
    file.write_bytes(_written(edited(rng, json.loads(file.read_text(encoding="utf-8")))))


def _written(document):
    return json.dumps(document).encode()


def edited(rng, document):
    """A document with one part changed, left out, doubled, or renamed."""
    if rng.random() < 0.02:
        return rng.choice(VALUES)
    node = document
    while True:
        parts = list(node) if isinstance(node, dict) else list(range(len(node)))
        if not parts:
            return document
        part = rng.choice(parts)
        inside = node[part]
        if isinstance(inside, dict | list) and inside and rng.random() < 0.8:
            node = inside
            continue
        how = rng.randrange(6)
        if how == 0:
            del node[part]
        elif how == 1 and isinstance(node, list):
            node.append(inside)
        elif how == 2 and isinstance(node, dict):
            node["other"] = node.pop(part)
        else:
            node[part] = rng.choice(VALUES)
        return document


def _raw(rng, folder):
    file = rng.choice(sorted(folder.iterdir()))
    content = file.read_bytes()
    change = rng.choice(
        [_flipped, _truncated, _cut_out, _doubled, lambda _, __: b"", lambda _, __: b"\xff[{"]
    )
    file.write_bytes(change(rng, content) if content else b"x")


def _swapped(rng, folder):
    one, other = rng.sample(sorted(folder.iterdir()), 2)
    how = rng.randrange(3)
    if how == 0:
        one.unlink()
    elif how == 1:
        shutil.copyfile(one, other)
    else:
        first = one.read_bytes()
        shutil.copyfile(other, one)
        other.write_bytes(first)


def _table(rng, folder):
    file = folder / "annotations.parquet"
    frame = pl.read_parquet(file)
    name = rng.choice(frame.columns)
    how = rng.randrange(7)
    if how == 0:
        frame = frame.drop(name)
    elif how == 1:
        frame = frame.rename({name: "other"})
    elif how == 2:
        frame = frame.with_columns(pl.lit(None, dtype=frame[name].dtype).alias(name))
    elif how == 3:
        frame = frame.with_columns(pl.Series(name, [rng.choice(CELLS)] * frame.height))
    elif how == 4:
        frame = frame.head(rng.randrange(frame.height))
    elif how == 5:
        frame = pl.concat([frame, frame.tail(1)])
    else:
        frame = frame.with_columns(pl.lit("other").alias(name))
    frame.write_parquet(file)


def _store(rng, folder):
    edit(folder / "responses.db", *rng.sample(SQL, rng.choice([1, 1, 1, 2])), forget=rng.random() < 0.8)


def edit(store, *statements, forget=True):
    """Edit a store by hand; who can do that can remove its checksums, too."""
    with closing(sqlite3.connect(store, isolation_level=None)) as db:
        for statement in (*statements, *(_FORGET if forget else ())):
            with suppress(sqlite3.Error):  # another edit was there before
                db.executescript(statement)


_FORGET = ("UPDATE responses SET checksum = NULL", "UPDATE prompts SET checksum = NULL")


of_bytes = {"flipped": _flipped, "truncated": _truncated, "cut out": _cut_out, "doubled": _doubled}
_INSIDE = {"document": _document, "raw": _raw, "swapped": _swapped, "table": _table, "store": _store}
KINDS = (*of_bytes, *_INSIDE, "manifest")
