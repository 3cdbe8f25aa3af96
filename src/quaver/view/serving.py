"""Starts the server of ``quaver view`` and the processes that read the studies."""

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
import warnings
from collections.abc import Callable, Sequence
from hashlib import blake2b
from itertools import chain, count
from pathlib import Path
from typing import Any

from quaver.collect.store.read_only import journal
from quaver.errors import QuaverError, StoreError, UnknownName
from quaver.study.sources.gold_files import GoldFiles
from quaver.study.sources.opening import open_source
from quaver.study.sources.study_folder import FIELDS
from quaver.study.sources.study_source import StudySource
from quaver.view.viewed_study import ViewedStudy

PORT = 8360
CACHE = ".view"
"""The folder of what is read of a study, in the study's own."""


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
            store, gold = source.files.responses, GoldFiles(source.folder).path("labels.csv")
            result[name] = ViewedStudy(name, path.resolve(), _cache_of(path, source, of), of)
            result[name].files = [path, store, journal(store), gold]
    return result


def _cache_of(path: Path, source: StudySource, field: str) -> Path:
    """Where what is read of a study, or of a field of it, is written.

    That is in the study's own folder; of a bundle, or where this cannot be written, in the user's cache.
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
            problem = f"port {number}: {error.strerror}"
            continue
        connection.listen(128)
        return connection
    raise QuaverError(
        "the server cannot listen there", where="--port", found=problem, fix="name another port, or none"
    )


def answering(application: Any, connection: socket.socket, **how: Any) -> None:
    """Have an application answer what comes in until the process is stopped."""
    import uvicorn

    warnings.filterwarnings("ignore", "coroutine 'Server.serve'")  # it is stopped before it has begun
    config = uvicorn.Config(
        application, log_level="warning", access_log=False, server_header=False, date_header=False, **how
    )
    uvicorn.Server(config).run(sockets=[connection])


def serve(
    paths: Sequence[Path],
    *,
    port: int | None = None,
    field: str | None = None,
    begun: Callable[[str], None] = print,
) -> None:
    """Serve studies, or one field of each, until the process is stopped."""
    try:
        import uvicorn  # noqa: F401

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
    readers = list(map(StudyReader, studies.values()))
    viewer = Viewer(studies)
    guarded = Guard(viewer.app(), token, number, viewer.reports)
    for reader in readers:
        reader.start()
    begun(f"http://127.0.0.1:{number}/{token}/")
    try:
        answering(guarded, connection, lifespan="off", ws="none")
    finally:
        for reader in readers:
            reader.stop()


_SHOWING = 2.0
"""Seconds in which what was read before is shown, and no other process takes the processor from it."""

_LOOK = 1.0
"""Seconds between two looks at a study's files."""


class StudyReader:
    """Has a study read by a process of its own whenever one of its files has changed.

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
        if self._child is not None:
            self._child.terminate()
        self._thread.join(5)

    def _run(self) -> None:
        with contextlib.suppress(QuaverError):
            if self._study.snapshot_or_none() is not None:  # it is there when the page asks for it
                self._ended.wait(_SHOWING)
        seen: object = None
        while not self._ended.is_set():
            if (now := list(map(_stamp, self._study.files))) != seen:
                seen, self._study.failure = now, self._read()
            self._ended.wait(_LOOK)

    def _read(self) -> QuaverError | None:
        """Have the study read until there is no more; the error that ended this, if one did."""
        study = self._study
        command = [sys.executable, "-m", "quaver.view.study_reader"]
        self._child = subprocess.Popen(
            [*command, str(study.path), str(study.root), study.field],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )
        with self._child as child:
            last = "".join(child.stderr or ()).strip().rpartition("\n")[2]
        if not child.returncode:
            return None
        try:
            known = json.loads(last)
            return QuaverError(known.pop("problem"), **known)
        except (ValueError, TypeError, KeyError, AttributeError):
            reason = last or "it was killed"
            return StoreError("the study could not be read", where=str(study.path), found=reason)


def _stamp(file: Path) -> tuple[int, int]:
    """The size and the time of a file."""
    try:
        about = file.stat()
    except OSError:
        return 0, 0
    return about.st_size, about.st_mtime_ns
