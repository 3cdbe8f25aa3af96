"""Many stored answers become annotations in parts, by as many processes as the machine has cores.

Each part is read from the store, scored and written by one process, so no process ever holds more than one.
What a part holds depends on the store alone, and not on who makes it.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, Final, NamedTuple

import polars as pl

from quaver.collect.store.response_store import CHUNK, Store
from quaver.errors import StoreError
from quaver.score.annotation import Annotator, annotate, no_search_for_cycles
from quaver.study.sources.kept_annotations import part_of, replacing_kept

PART: Final = 5 * CHUNK
"""Answers in a part."""

_FILE: Final = 2
"""The most parts that are kept as one file."""

_FEWEST: Final = 2
"""Parts that a process must have to be worth its start."""

_REFUSED: Final = 3
"""How a process ends that cannot be given the evaluators."""

_START: Final = """\
import json, sys
sys.path[:] = json.loads(sys.stdin.buffer.readline())
from quaver.study.analysis.scored_parts import work
work()
"""


class Part(NamedTuple):
    """A part: its number, and which stored responses it is made of (from after one number to another)."""

    number: int
    after: int
    last: int


def score(store: Store, design: Mapping[str, Any], kept: Path, processes: int | None = None) -> None:
    """Score a store's answers and keep the annotations: a file, or a folder of parts where there are many."""
    spans = store.spans(PART)
    with replacing_kept(kept) as path:
        if len(spans) <= _FILE:
            annotate(store.read(), Annotator(**design), path)
            return
        path.mkdir()
        parts = [Part(number, after, last) for number, (after, last) in enumerate(spans)]
        helpers = max(0, min((processes or _cores()) - 1, len(parts) // _FEWEST))
        with _helped(store, design, path, parts, helpers):
            annotator = Annotator(**design)
            for part in parts[:: helpers + 1]:
                write_part(store, annotator, path, part)
        for (
            part
        ) in parts:  # what another process could not make is made here, so that its error is raised here
            if not part_of(path, part.number).exists():
                write_part(store, annotator, path, part)


def _cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def write_part(store: Store, annotator: Annotator, folder: Path, part: Part) -> None:
    """Score one part's answers and write its file."""
    with no_search_for_cycles():
        frames = [annotator.frame(rows) for rows in store.read(part.after, part.last)]
    file = part_of(folder, part.number)
    begun = file.with_suffix(".begun")
    try:
        pl.concat(frames).write_parquet(begun)
        begun.replace(file)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise StoreError(
            "the annotations cannot be written",
            where=str(file),
            found=str(error),
            fix="free some space, then run `quaver rescore`",
        ) from error


@contextmanager
def _helped(
    store: Store, design: Mapping[str, Any], folder: Path, parts: Sequence[Part], helpers: int
) -> Iterator[None]:
    """Have other processes make their share of the parts meanwhile; each has the same number of them."""
    started = list[subprocess.Popen[bytes]]()
    try:
        job = pickle.dumps((str(store.path), dict(design), str(folder))) if helpers else b""
    except Exception as error:  # whatever pickling a user's object raises
        _alone(error)
        helpers = 0
    try:
        for number in range(1, helpers + 1 if sys.executable else 0):
            with TemporaryFile() as given:  # which nobody waits for, as for a pipe
                given.write(json.dumps([one for one in sys.path if isinstance(one, str)]).encode() + b"\n")
                given.write(pickle.dumps([tuple(part) for part in parts[number :: helpers + 1]]) + job)
                given.seek(0)
                started.append(_helper(given))
        yield
        for child in started:
            child.wait()
        if refused := next((child for child in started if child.returncode == _REFUSED), None):
            _alone(f"process {refused.pid}")
    finally:
        for child in started:
            child.kill()
            child.wait()


def _helper(given: IO[bytes]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", _START],
        stdin=given,
        stdout=subprocess.DEVNULL,  # what an evaluator prints
        env={**os.environ, "POLARS_MAX_THREADS": "1"},
        start_new_session=True,  # Ctrl-C ends this process, which ends them
    )


def _alone(error: object) -> None:
    warnings.warn(
        f"the answers are scored by one process, since others cannot be given the evaluators ({error}); an "
        "evaluator whose class stands in a module can be",
        stacklevel=2,
    )


def work() -> None:
    """Make the parts that are given: what a helping process does."""
    given = sys.stdin.buffer
    parts = [Part(*part) for part in pickle.load(given)]
    try:
        path, design, folder = pickle.load(given)
        store, annotator = Store(Path(path), only_read=True), Annotator(**design)
    except Exception:  # whatever unpickling a user's object raises
        sys.exit(_REFUSED)
    with suppress(Exception):  # it is made again where the error can be raised
        for part in parts:
            write_part(store, annotator, Path(folder), part)
