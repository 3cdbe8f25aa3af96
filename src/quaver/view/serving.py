"""Starts the server of ``quaver view`` and the processes that keep the indexes."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from hashlib import blake2b
from itertools import chain, count
from pathlib import Path

from quaver.collect.store.read_only import journal
from quaver.errors import QuaverError, StoreError, UnknownName
from quaver.study.sources.gold_files import gold_beside
from quaver.study.sources.opening import open_source
from quaver.study.sources.study_folder import FIELDS
from quaver.study.sources.study_source import StudySource
from quaver.view.study_index import FAILURE
from quaver.view.viewed_study import ViewedStudy

PORT = 8360
CACHE = ".view"
"""The folder of the indexes, in the study's own."""


def studies_of(paths: Sequence[Path], field: str | None = None) -> dict[str, ViewedStudy]:
    """The studies to show, by the names that they have in addresses; each field of one is a study.

    Args:
        paths: Study files, their folders, or bundles.
        field: The only field to show of each; all if left out.
    """
    result: dict[str, ViewedStudy] = {}
    for path in paths:
        source = open_source(path)
        fields = tuple(source.spec.task.fields)
        if field and field not in fields:
            raise UnknownName("field", field, list(fields), where=str(path))
        for of in [field] if field else fields or ("",):
            title = source.spec.name if source.owns_folder else path.name.split(".")[0]
            base = re.sub(r"[^\w.-]+", "-", f"{title} {of}".strip()).strip("-.") or "study"
            names = chain([base], (f"{base}-{number}" for number in count(2)))
            name = next(name for name in names if name not in result)
            result[name] = ViewedStudy(name, path.resolve(), _cache_of(path, source, of), of)
    return result


def _cache_of(path: Path, source: StudySource, field: str) -> Path:
    """Where the indexes of a study, or of a field of it, are.

    They are in the study's own folder; those of a bundle, or of a folder that cannot be written, in the
    user's cache.
    """
    cache = source.folder.resolve() / (Path(FIELDS, field) if field else "") / CACHE
    if source.owns_folder:
        with contextlib.suppress(OSError):
            cache.mkdir(parents=True, exist_ok=True)
            if os.access(cache, os.W_OK):
                return cache
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    about = f"{path.resolve()} {path.stat().st_mtime_ns}"
    return Path(home, "quaver", "view", blake2b(about.encode(), digest_size=10).hexdigest()) / field


def listening(port: int | None) -> socket.socket:
    """A socket on this machine alone."""
    for number in [PORT, 0] if port is None else [port]:
        connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            connection.bind(("127.0.0.1", number))
        except OSError as error:
            connection.close()
            found = f"port {number}: {error.strerror}"
            continue
        connection.listen(128)
        return connection
    raise QuaverError(
        "the server cannot listen there", where="--port", found=found, fix="name another port, or none"
    )


def serve(
    paths: Sequence[Path],
    *,
    port: int | None = None,
    field: str | None = None,
    begun: Callable[[str], None] = print,
) -> None:
    """Serve studies, or one field of each, until the process is stopped."""
    try:
        import uvicorn

        from quaver.view.application import Viewer
        from quaver.view.guard import Guard
    except ImportError as error:
        raise QuaverError(
            "`quaver view` needs packages that are not installed",
            where="quaver view",
            found=str(error),
            fix="pip install 'quaver[view]'",
        ) from error
    studies = studies_of(paths, field)
    connection = listening(port)
    number, token = connection.getsockname()[1], secrets.token_urlsafe(24)
    processes = [IndexProcess(study) for study in studies.values()]
    viewer = Viewer(studies)
    guarded = Guard(viewer.app(), token, number, viewer.reports)
    for process in processes:
        process.start()
    config = uvicorn.Config(
        guarded,
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,
        lifespan="off",
        ws="none",
    )
    begun(f"http://127.0.0.1:{number}/{token}/")
    try:
        uvicorn.Server(config).run(sockets=[connection])
    finally:
        for process in processes:
            process.stop()


_LOOK = 1.0
"""Seconds between two looks at a study's files."""

_KEEPER = (sys.executable, "-m", "quaver.view.index_keeper")


class IndexProcess:
    """Keeps the index of one study up to date while the server runs.

    Args:
        study: The study as the server has it.
    """

    def __init__(self, study: ViewedStudy) -> None:
        self._study = study
        self._child: subprocess.Popen[str] | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End, with the process."""
        self._ended.set()
        self._thread.join(5)
        if self._child is not None:
            self._child.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._child.wait(5)

    def _run(self) -> None:
        """Begin a process whenever a file has changed and none is at work."""
        seen: object = None
        while not self._ended.is_set():
            if self._child is not None and self._child.poll() is not None:
                self._study.failure, self._child = _failure_of(self._child, self._study), None
            now, wanted = self._files(), self._study.verdict_wanted
            if self._child is None and (now != seen or wanted.is_set()):
                seen, options = now, ["--verdict"] * wanted.is_set()
                wanted.clear()
                about = (str(self._study.path), str(self._study.root), self._study.field)
                self._child = subprocess.Popen(
                    [*_KEEPER, *about, *options],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    text=True,
                    errors="replace",
                )
            self._ended.wait(_LOOK)

    def _files(self) -> list[tuple[int, int]]:
        """The sizes and times of the files that a change would show in."""
        index, path = self._study.index_or_none(), self._study.path
        if index is not None and index.design.store:
            store = Path(index.design.store)
            files = [store, journal(store), gold_beside(Path(index.design.folder)).path("labels.csv")]
        else:
            files = [folder / "responses.db" for folder in (path, path.parent, path.with_suffix(""))]
        return [_stamp(file) for file in (path, *files)]


def _failure_of(child: subprocess.Popen[str], study: ViewedStudy) -> QuaverError | None:
    """The error that ended a process; None where it did its work."""
    said = child.communicate()[1]
    if not child.returncode:
        return None
    try:
        known = json.loads((study.root / FAILURE).read_text(encoding="utf-8"))
        return QuaverError(known.pop("problem"), **known)
    except (OSError, ValueError, TypeError, KeyError):
        last = said.strip().rpartition("\n")[2] or "it was killed"
        return StoreError("the study could not be read", where=str(study.path), found=last)


def _stamp(file: Path) -> tuple[int, int]:
    try:
        about = file.stat()
    except OSError:
        return 0, 0
    return about.st_size, about.st_mtime_ns
