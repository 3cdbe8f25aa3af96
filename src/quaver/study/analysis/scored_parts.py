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
import threading
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

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

_ENDED: Final = "it ended"

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
        most = (processes or _cores()) - 1
        helpers = min(most, len(parts) // _FEWEST)
        _Shared(store, design, path, parts).make(max(0, helpers))


def _cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def write_part(store: Store, annotator: Annotator, folder: Path, part: Part) -> None:
    """Score one part's answers and write its file."""
    with no_search_for_cycles():
        frames = [annotator.frame(rows) for rows in store.read(part.after, part.last)]
    file = part_of(folder, part.number)
    try:
        pl.concat(frames).write_parquet(file)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise StoreError(
            "the annotations cannot be written",
            where=str(file),
            found=str(error),
            fix="free some space, then run `quaver rescore`",
        ) from error


class _Shared:
    """Parts that several processes make, this one among them."""

    def __init__(self, store: Store, design: Mapping[str, Any], folder: Path, parts: Sequence[Part]) -> None:
        self._store, self._design, self._folder = store, design, folder
        self._left = list(reversed(parts))
        self._failed: list[Part] = []
        self._lock = threading.Lock()

    def make(self, helpers: int) -> None:
        """Make all parts, with some other processes."""
        job = self._job() if helpers and sys.executable else b""
        started = [_helper() for _ in range(helpers if job else 0)]
        threads = [threading.Thread(target=self._by, args=(one, job), daemon=True) for one in started]
        for thread in threads:
            thread.start()
        try:
            annotator = Annotator(**self._design)
            while (part := self._next()) is not None:
                write_part(self._store, annotator, self._folder, part)
            for thread in threads:
                thread.join()
            # What another process could not make is made here, so that its error is raised here.
            for part in sorted(self._failed):
                write_part(self._store, annotator, self._folder, part)
        finally:
            for one in started:
                one.kill()
            for thread in threads:
                thread.join()
            for one in started:
                with suppress(OSError):  # what was not sent stays unsent
                    one.communicate()

    def _next(self) -> Part | None:
        with self._lock:
            return self._left.pop() if self._left else None

    def _job(self) -> bytes:
        """What other processes must know; nothing where the evaluators cannot be sent to them."""
        try:
            job = pickle.dumps((str(self._store.path), dict(self._design), str(self._folder)))
        except Exception as error:  # whatever pickling a user's object raises
            _alone(error)
            return b""
        return json.dumps([one for one in sys.path if isinstance(one, str)]).encode() + b"\n" + job

    def _by(self, child: subprocess.Popen[bytes], job: bytes) -> None:
        """Have another process make parts until none is left."""
        said = self._asked(child, job)
        if said != "ready":
            if said != _ENDED:
                _alone(said)
            return
        while (part := self._next()) is not None:
            if self._asked(child, json.dumps(part).encode() + b"\n") != "done":
                with self._lock:
                    self._failed.append(part)
                return

    @staticmethod
    def _asked(child: subprocess.Popen[bytes], line: bytes) -> str:
        """What another process says when it is asked something; how it ended, if it did."""
        assert child.stdin
        assert child.stdout
        with suppress(OSError):  # it has ended, and says nothing more
            child.stdin.write(line)
            child.stdin.flush()
        said = child.stdout.readline()
        return str(json.loads(said)) if said else _ENDED


def _helper() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", _START],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
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
    """Make parts as they come in, a line each, until there are no more: what a helping process does."""
    given, replies = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what an evaluator prints is no answer

    def say(text: str) -> None:
        replies.write(json.dumps(text).encode() + b"\n")
        replies.flush()

    try:
        path, design, folder = pickle.load(given)
        store, annotator = Store(Path(path), only_read=True), Annotator(**design)
    except Exception as error:  # whatever unpickling a user's object raises
        say(str(error))
        return
    say("ready")
    for line in given:
        try:
            write_part(store, annotator, Path(folder), Part(*json.loads(line)))
        except Exception:  # it is made again where the error can be raised
            say("failed")
            return
        say("done")
