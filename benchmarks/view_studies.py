"""Studies of any size with answers, written into the store in bulk, for ``benchmarks/view.py``.

The tables are those of Quaver's own store. The answers of a function model are written by SQLite itself,
since ten million calls of a Python function would measure the function.

    python benchmarks/view_studies.py FOLDER --items 100000 --repeats 5      # 20 prompts: 10,000,000 answers
    python benchmarks/view_studies.py FOLDER --items 100000 --length 5000 --prompts 1
    python benchmarks/view_studies.py FOLDER --items 10 --huge 100000000     # one answer of 100 MB
"""

from __future__ import annotations

import argparse
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import quaver
from quaver.collect.store.response_store import Store
from quaver.collect.store.response_tables import CHECKED, add_checksums
from quaver.design.calls.call_plan import RECIPE

STUDY = """\
name: {name}
task:
  labels: [{{code: pos, name: positive}}, {{code: neg, name: negative}}, {{code: neu, name: neutral}}]
items:
  source: items.csv
  id: id
  text: "{{{{ text }}}}"
  gold: truth
  groups: [side]
prompt:
  instruction: Is this positive, negative or neutral?
variants:
  - use: instructions
    factor: wording
    texts: {{{texts}}}
models:
  - {{name: fake, use: function}}
decoding:
  warm: {{temperature: 1.0}}
repeats: {repeats}
evaluators: [first_label]
"""

_DRAWN = "abs((c.position * 7919 + i.position * 104729 + k.value * 1299709) * 2654435761 % 1000003)"
_SAID = f"""CASE WHEN {_DRAWN} % 100 < 40 + (i.position % 4) * 12 THEN
        CASE i.position % 3 WHEN 0 THEN 'positive' WHEN 1 THEN 'negative' ELSE 'neutral' END
    WHEN {_DRAWN} % 100 < 88 THEN
        CASE {_DRAWN} % 3 WHEN 0 THEN 'positive' WHEN 1 THEN 'negative' ELSE 'neutral' END
    WHEN {_DRAWN} % 100 < 96 THEN 'I would call number ' || (i.position * 20 + c.position) || ' neutral.'
    WHEN {_DRAWN} % 100 < 98 THEN '' ELSE 'I am not sure about this one.' END"""


def written(folder: Path, *, items: int, prompts: int, repeats: int, length: int) -> Path:
    """Write a study and its items; the study's path."""
    folder.mkdir(parents=True, exist_ok=True)
    filler = "The weather was fine and the train was late. " * (length // 45 + 1)
    with (folder / "items.csv").open("w", encoding="utf-8") as file:
        file.write("id,text,truth,side\n")
        for n in range(items):
            truth, side = ("pos", "neg", "neu")[n % 3] if n % 10 else "", "ab"[n % 2]
            file.write(f"item-{n:06},Review {n}: {filler[:length]},{truth},{side}\n")
    texts = ", ".join(f'p{n}: "How does this sound, in words of kind {n}?"' for n in range(1, prompts))
    study = STUDY.format(name=folder.name, texts=texts, repeats=repeats)
    if prompts == 1:
        study = "".join(study.partition("variants:")[:1]) + "models:" + study.partition("models:")[2]
    path = folder / "study.yaml"
    path.write_text(study, encoding="utf-8")
    return path


def answered(path: Path, *, huge: int = 0) -> int:
    """Write an answer to every call of a study; how many there are."""
    source = quaver.Study.open(path, functions={"fake": lambda text, prompt: "positive"}).source
    experiment, store = source.experiment, path.parent / "responses.db"
    with closing(Store(store)) as made:
        made.register("fake", str(source.served["fake"]["identity"]), source.served["fake"])
        made.calls.place(
            source.fingerprint, experiment.conditions, [item.id for item in experiment.items], ()
        )
        made.note("recipe", str(RECIPE))
    source.files.write("study.lock.json", source.lock())
    with closing(sqlite3.connect(store, isolation_level=None)) as db:
        triggers = [row[0] for row in db.execute("SELECT sql FROM sqlite_master WHERE type = 'trigger'")]
        names = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")]
        db.execute("PRAGMA synchronous = OFF")
        db.execute("BEGIN")
        for name in names:
            db.execute(f"DROP TRIGGER {name}")
        _fill(db)
        if huge:
            text = "The answer goes on and on. " * (huge // 27) + "positive"
            db.execute("UPDATE responses SET text = ? WHERE id = 1", (text,))
        add_checksums(db)
        for statement in CHECKED.split(";\n"):
            db.execute(statement)
        for sql in triggers:
            db.execute(sql)
        db.execute("COMMIT")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return int(db.execute("SELECT count(*) FROM calls").fetchone()[0])


def _fill(db: sqlite3.Connection) -> None:
    """The prompts, the responses and the calls, in the order of their numbers."""
    items = int(db.execute("SELECT count(*) FROM items").fetchone()[0])
    repeats = int(db.execute("SELECT max(repeats) FROM conditions").fetchone()[0])
    prompt = f"c.position * {items} + i.position + 1"
    place = f"(c.position * {items} + i.position) * {repeats} + k.value + 1"
    every = f"conditions c CROSS JOIN items i CROSS JOIN json_each('{list(range(repeats))}') k"
    db.execute(
        f"""INSERT INTO prompts (id, messages) SELECT {prompt},
        '[["user", "Review ' || i.position || ': how does this sound, prompt ' || c.position || '?"]]'
        FROM conditions c CROSS JOIN items i"""
    )
    db.execute(
        f"""INSERT INTO responses (id, key, prompt, source, seed, text, finish, prompt_tokens,
            completion_tokens, latency, received)
        SELECT {place}, CAST(printf('%016d', {place}) AS BLOB), {prompt}, 1, k.value,
            {_SAID}, 'stop', 40, 3, 0.01, 1700000000.0 + c.position
        FROM {every}"""
    )
    db.execute(f"INSERT INTO calls SELECT {place}, c.position, i.position, k.value, NULL FROM {every}")


def main() -> None:
    """Write one study."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    for name, default in (("items", 100_000), ("prompts", 20), ("repeats", 1), ("length", 120), ("huge", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    given = vars(parser.parse_args())
    begun, huge = time.perf_counter(), given.pop("huge")
    path = written(given.pop("folder"), **given)
    calls = answered(path, huge=huge)
    print(f"{calls:,} answers in {path.parent}, written in {time.perf_counter() - begun:.0f} s")


if __name__ == "__main__":
    main()
