"""How fast stored answers are read: beside SQLite alone, and beside another commit of Quaver, in one run.

    python benchmarks/scoring.py [--answers N] [--rounds N] [--evaluator NAME] [--folder FOLDER]
        [--against PATH [--metadata PATH]]

Two studies of 20 decodings and 5 repeats are written: in one the answers repeat (a hundred texts, most of
them a label and nothing else), in the other no two are alike (20 words that hold a label somewhere). Each
is read in turn by a process that fetches the stored rows and does nothing with them, by Quaver, and by the
Quaver of another worktree (whose installed metadata may lie elsewhere). Prints seconds on the clock,
seconds of all processors, and the peak memory of the largest process.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import random
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from machine import machine

TEXT = """
the this text voter seems rather mostly to of in about economy government balanced clear tone view because
opinion sentiment strong weak mixed writer reader states says argues claims that is was it and or with from
policy party debate question answer topic however also very much some
"""
LABELS = ("positive", "negative", "neutral")
OPTIONS = {"pattern": "{use: pattern, pattern: '(?:is|was) (\\w+)'}"}
DECODINGS, REPEATS, TOKENS = 20, 5, 20
STUDY = """\
name: scoring
task:
  labels: [{{code: pos, name: positive}}, {{code: neg, name: negative}}, {{code: neu, name: neutral}}]
items: {{source: items.csv, id: id, text: "{{{{ text }}}}"}}
prompt: {{instruction: "Is this positive, negative or neutral?"}}
models: [{{name: fake, use: function}}]
decoding: {{{decodings}}}
repeats: {repeats}
evaluators: [{evaluator}]
"""
STORED = (
    "seed, received, text, finish, error, thinking, tokens, prompt_tokens, cached_tokens, completion_tokens, "
    "latency, raw, thinking_tokens, served_model, fingerprint"
)
REST = ("stop", None, None, None, 40, None, 3, 0.01, None, None, "fake-1", "fp_0123")
"""Of an answer, what follows its text."""
Place = tuple[int, int, int]
"""The condition, the item and the repeat of a call."""


def fake(text: str, prompt: str) -> str:
    """The model that is said to have answered."""
    return ""


def texts(kind: str, answers: int) -> Iterator[str]:
    """Answers that repeat, or of which no two are alike."""
    draw = random.Random(1)
    pool = TEXT.split() * 3 + list(LABELS)
    said = [f"I would say {label}, for {word}." for label in LABELS for word in sorted(set(TEXT.split()))]
    for at in range(answers):
        if kind == "different":
            yield f"{' '.join(draw.choices(pool, k=TOKENS))} {at}"
        else:
            yield draw.choice(LABELS if draw.random() < 0.8 else said)


def opened(folder: Path) -> Any:  # another commit's has another type
    """The study, in this process's Quaver."""
    import quaver

    return quaver.Study.open(folder / "study.yaml", functions={"fake": fake})


def write(folder: Path, kind: str, answers: int, evaluator: str) -> None:
    """Write a study and its answers, with checksums where this Quaver has them."""
    folder.mkdir(parents=True)
    items = answers // DECODINGS // REPEATS
    lines = [f"item-{number:07},Review {number}" for number in range(items)]
    (folder / "items.csv").write_text("\n".join(["id,text", *lines]), encoding="utf-8")
    warm = ", ".join(f"warm-{at}: {{temperature: {(at + 1) / 10}}}" for at in range(DECODINGS))
    said = STUDY.format(decodings=warm, repeats=REPEATS, evaluator=OPTIONS.get(evaluator, evaluator))
    (folder / "study.yaml").write_text(said, encoding="utf-8")
    answered(folder, opened(folder), lambda places: texts(kind, len(places)))


def answered(folder: Path, study: Any, said: Callable[[list[Place]], Iterable[str]]) -> None:
    """Store an answer to every call of a study, in the order in which such answers come: any."""
    source = getattr(study, "source", None) or study._resolved
    with source.files.store() as store:
        ids = [item.id for item in source.experiment.items]
        store.calls.place(source.fingerprint, source.experiment.conditions, ids, ())
    asked = source.experiment.conditions
    places = [(c, i, k) for c, one in enumerate(asked) for i in range(len(ids)) for k in range(one.repeats)]
    random.Random(2).shuffle(places)
    with closing(sqlite3.connect(folder / "responses.db", isolation_level=None)) as db:
        triggers = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            db.execute(f"DROP TRIGGER {name}")
        db.execute("PRAGMA synchronous = OFF")
        db.execute("BEGIN")
        known = {row[1] for row in db.execute("PRAGMA table_info(responses)")}
        db.executemany(
            f"INSERT INTO responses (id, key, {STORED}) VALUES ({', '.join('?' * 17)})",
            (
                (at, b"%016d" % at, place[2], 1.7e9 + at / 1000, text, *REST)
                for at, (place, text) in enumerate(zip(places, said(places), strict=True), start=1)
            ),
        )
        db.executemany(
            "INSERT INTO calls VALUES (?, ?, ?, ?, NULL)",
            ((at, *place) for at, place in enumerate(places, start=1)),
        )
        if "checksum" in known:
            from quaver.collect.store.response_tables import checksum

            db.create_function("checksum", -1, checksum)
            db.execute(f"UPDATE responses SET checksum = checksum({STORED})")
        for _, statement in triggers:
            db.execute(statement)
        db.execute("COMMIT")


def rows(folder: Path) -> None:
    """Fetch the stored rows, as they are fetched to be read."""
    some = ", ".join(f"r.{name}" for name in STORED.split(", "))
    with closing(sqlite3.connect(folder / "responses.db")) as db:
        found = db.execute(
            f"SELECT c.condition, c.item, c.repeat, r.id, r.checksum, {some}, NULL "
            "FROM calls c JOIN responses r ON r.id = c.response ORDER BY c.response"
        )
        while found.fetchmany(20_000):
            pass


def measure(what: str, folder: Path) -> None:
    """Do one thing in this process, and print what it took."""
    for kept in folder.glob("annotations.parquet"):
        shutil.rmtree(kept) if kept.is_dir() else kept.unlink()
    study = opened(folder)
    begun, before = time.perf_counter(), sum(os.times()[:4])
    if what == "rows":
        rows(folder)
    elif "lazy" in inspect.signature(study.annotations).parameters:
        study.annotations(lazy=True)
    else:
        study.rescore()
    took = time.perf_counter() - begun, sum(os.times()[:4]) - before
    memory = max(
        resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    print(json.dumps([*took, memory / 1024]))


def run(paths: list[Path], *arguments: object) -> list[float]:
    """Run this file in a process of its own, with Quaver from some paths."""
    environment = dict(os.environ)
    if paths:
        environment["PYTHONPATH"] = os.pathsep.join(map(str, paths))
    command = [sys.executable, __file__, *map(str, arguments)]
    said = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
    found: list[float] = json.loads(said.splitlines()[-1]) if said.strip() else []
    return found


def compare(asked: argparse.Namespace, home: Path) -> None:
    """Write what is missing, and measure in turn."""
    sides: dict[str, list[Path]] = {"Quaver": []}
    if asked.against:
        sides[asked.against.name] = [*([asked.metadata] if asked.metadata else []), asked.against / "src"]
    for kind in asked.kinds.split(","):
        folders = {name: home / f"{kind}-{asked.evaluator}-{asked.answers}-{name}" for name in sides}
        for name, folder in folders.items():
            if not folder.exists():
                run(sides[name], "--write", folder, kind, asked.answers, asked.evaluator)
        for _ in range(asked.rounds):
            for name in ("rows from SQLite", *sides):
                folder, paths = folders.get(name, folders["Quaver"]), sides.get(name, [])
                clock, processor, memory = run(
                    paths, "--measure", "score" if name in sides else "rows", folder
                )
                print(
                    f"{kind:>10} {name:16} {clock:7.1f} s on the clock, {processor:7.1f} s of the processors "
                    f"({processor / asked.answers * 1e6:5.1f} µs an answer), {memory:5.0f} MB",
                    flush=True,
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--evaluator", default="first_label")
    parser.add_argument("--kinds", default="repeating,different")
    parser.add_argument("--against", type=Path)
    parser.add_argument("--metadata", type=Path)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--write", nargs=4)
    parser.add_argument("--measure", nargs=2)
    asked = parser.parse_args()
    if asked.write:
        write(Path(asked.write[0]), asked.write[1], int(asked.write[2]), asked.write[3])
    elif asked.measure:
        measure(asked.measure[0], Path(asked.measure[1]))
    else:
        print(f"{machine()}; {asked.answers:,} answers, {asked.evaluator}")
        with tempfile.TemporaryDirectory() as temporary:
            compare(asked, asked.folder or Path(temporary))


if __name__ == "__main__":
    main()
