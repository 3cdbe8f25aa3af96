"""The process that keeps a study's index: ``python -m quaver.view.index_keeper STUDY FOLDER``.

It ends when it has nothing to do, and with the server that began it.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from quaver.collect.store.disk_reserve import who_collects
from quaver.collect.store.read_only import journal
from quaver.errors import QuaverError, StoreError
from quaver.study.sources.named_functions import functions_of
from quaver.study.sources.opening import open_source
from quaver.study.sources.study_source import StudySource
from quaver.view.index_builder import IndexBuilder, write_json
from quaver.view.overview_document import MOST_ANNOTATIONS, error_document, write_progress, write_verdict
from quaver.view.viewed_study import ViewedStudy

VERDICT = "--verdict"
"""The option that has the verdict made, however long that takes; all others are functions."""

FAILURE = "failure.json"
"""Where an error is written for the server."""

_PAUSE = 0.7
"""Seconds between two looks at a store that another process is writing."""

_AGAIN = 20.0
"""A verdict is made anew while a study runs after so many times the time that it took."""


def keep(
    path: Path, root: Path, *, wanted: bool, follow: bool = False, functions: Sequence[str] = ()
) -> None:
    """Make or continue the index of a study, until there is nothing more to do."""
    root.mkdir(parents=True, exist_ok=True)
    study = opened(path, root, functions)
    builder = IndexBuilder(study, root)
    judged, took, seen = 0.0, 0.0, -1
    while True:
        if not builder.update():
            study = opened(path, root, functions)
            builder = IndexBuilder(study, root)
            continue
        now = write_progress(study, builder.folder)
        running = who_collects(study.folder) is not None
        small = now.answered * max(1, len(builder.design.evaluators)) <= MOST_ANNOTATIONS
        due = not running or time.monotonic() - judged > max(10.0, _AGAIN * took)
        if now.answered and now.answered != seen and due and (small or wanted) and _is_stale(builder, wanted):
            begun = time.monotonic()
            write_verdict(study, builder.folder, now)
            judged, took, seen, wanted = time.monotonic(), time.monotonic() - begun, now.answered, False
        elif not small and not (builder.folder / "verdict.json").exists():
            write_json(builder.folder / "verdict.json", {"state": "none", "too_large": True})
        if not running or not follow or _orphaned(_PAUSE):
            return


def opened(path: Path, root: Path, functions: Sequence[str] = ()) -> StudySource:
    """A study with the functions of its own models; a bundle is unpacked beside its index."""
    is_bundle = path.suffix == ".zip" and path.is_file()
    source = open_source(path, root / "bundle" if is_bundle else None)
    names = {model.name for model in source.spec.models}
    own = {name: made for name, made in functions_of(functions).items() if name in names}
    return open_source(path, functions=own) if own and not is_bundle else source


def _is_stale(builder: IndexBuilder, wanted: bool) -> bool:
    """Whether there is no verdict that was made of what the index holds."""
    made = builder.folder / "verdict.json"
    noted = builder.folder / "progress.json"
    if wanted or not made.exists():
        return True
    states = [builder.folder / name for name in ("state.json",)]
    return noted.exists() and any(one.stat().st_mtime > made.stat().st_mtime for one in states)


def _orphaned(seconds: float) -> bool:
    """Wait; whether the server has ended meanwhile, which closes this process's input."""
    ready, _, _ = select.select([sys.stdin], [], [], seconds)
    return bool(ready) and not os.read(sys.stdin.fileno(), 1)


def main() -> None:
    """Keep the index that the command line names; an error is left for the server."""
    path, root, *options = sys.argv[1:]
    failure = Path(root) / FAILURE
    failure.unlink(missing_ok=True)
    os.nice(5)
    try:
        functions = [one for one in options if one != VERDICT]
        keep(Path(path), Path(root), wanted=VERDICT in options, follow=True, functions=functions)
    except QuaverError as error:
        write_json(failure, error_document(error))
        sys.exit(2)


if __name__ == "__main__":
    main()


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
                last = said.decode(errors="replace").strip().rpartition("\n")[2] or "it was killed"
                self._study.failure = StoreError(
                    "the study could not be read", where=str(self._study.path), found=last
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
