"""Starts the process that keeps a study's index, and starts it again when there is something new."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from quaver.collect.store.read_only import journal
from quaver.errors import QuaverError, StoreError
from quaver.view.viewed_study import ViewedStudy

_LOOK = 1.0
"""Seconds between two looks at a study's files."""


class IndexProcess:
    """Keeps the index of one study up to date while the server runs.

    Args:
        study: The study as the server has it.
        functions: ``NAME=MODULE:FUNCTION`` of models that are functions.
    """

    def __init__(self, study: ViewedStudy, functions: Sequence[str] = ()) -> None:
        self._study, self._functions = study, functions
        self._child: subprocess.Popen[bytes] | None = None
        self._wanted, self._ended = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def make_verdict(self) -> None:
        """Have the verdict made, however long that takes."""
        self._wanted.set()

    def stop(self) -> None:
        """End, with the process."""
        self._ended.set()
        self._thread.join(5)
        if self._child is not None:
            self._child.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._child.wait(5)

    def _run(self) -> None:
        seen: object = None
        while not self._ended.is_set():
            now = self._files()
            running = self._child is not None and self._child.poll() is None
            if not running:
                self._note_failure()
                if now != seen or self._wanted.is_set():
                    seen = now
                    self._begin()
            self._ended.wait(_LOOK)

    def _begin(self) -> None:
        options = [*self._functions, *(["--verdict"] if self._wanted.is_set() else [])]
        self._wanted.clear()
        study = self._study
        self._child = subprocess.Popen(
            [sys.executable, "-m", "quaver.view.index_keeper", str(study.path), str(study.root), *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )

    def _note_failure(self) -> None:
        """Take over the error that ended the process."""
        if self._child is None or self._child.returncode is None:
            return
        if self._child.returncode == 0:
            self._study.failure = None
            return
        try:
            known = json.loads((self._study.root / "failure.json").read_text(encoding="utf-8"))
            self._study.failure = QuaverError(known.pop("problem"), **known)
        except (OSError, ValueError, TypeError, KeyError):
            said = self._child.stderr.read() if self._child.stderr and not self._child.stderr.closed else b""
            if said or self._study.failure is None:
                last = said.decode(errors="replace").strip().splitlines()[-1:] or ["it was killed"]
                self._study.failure = StoreError(
                    "the study could not be read", where=str(self._study.path), found=last[0]
                )

    def _files(self) -> tuple[tuple[int, int], ...]:
        """The sizes and times of the files that a change would show in."""
        index = self._study.index_or_none()
        files = [self._study.path]
        if index is not None and index.design.store:
            store = Path(index.design.store)
            files += [store, journal(store), store.parent / "gold" / "labels.csv"]
            files += sorted(store.parent.glob("shards/*/responses.db*"))  # taken in when the study is opened
        elif self._study.path.is_dir():
            files.append(self._study.path / "responses.db")
        else:
            files.append(self._study.path.parent / "responses.db")
            files.append(self._study.path.with_suffix("") / "responses.db")
        return tuple(_stamp(file) for file in files)


def _stamp(file: Path) -> tuple[int, int]:
    try:
        about = file.stat()
    except OSError:
        return 0, 0
    return about.st_size, about.st_mtime_ns
