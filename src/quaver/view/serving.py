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
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from quaver.collect.store.read_only import journal
from quaver.design.spec.task_spec import FieldName
from quaver.errors import QuaverError, StoreError, UnknownName
from quaver.study.sources.archive import document_in
from quaver.study.sources.gold_files import gold_beside
from quaver.study.sources.named_functions import functions_of
from quaver.study.sources.opening import open_source
from quaver.study.sources.study_folder import FIELDS
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
        for of in [field] if field else fields_in(path):
            folder, root = place_of(path, of)
            name = base = re.sub(r"[^\w.-]+", "-", folder).strip("-.") or "study"
            number = 1
            while name in result:
                number += 1
                name = f"{base}-{number}"
            result[name] = ViewedStudy(name, path.resolve(), root, of)
    return result


def fields_in(path: Path) -> Sequence[str]:
    """The fields of a study's task; one without a name where it has none."""
    if _is_packed(path):
        return _packed_fields(path)
    return tuple(open_source(path).spec.task.fields) or ("",) if path.exists() else ("",)


def _packed_fields(path: Path) -> Sequence[str]:
    """The fields of a bundle that is not unpacked yet; what cannot be read is reported once it is."""
    study = document_in(path, "study.lock.json").get("study")
    task = study.get("task") if isinstance(study, dict) else None
    fields = task.get("fields") if isinstance(task, dict) else None
    try:
        return (*TypeAdapter(dict[FieldName, Any]).validate_python(fields or {}),) or ("",)
    except ValidationError:
        return ("",)


def place_of(path: Path, field: str = "") -> tuple[str, Path]:
    """What a study, or a field of it, is called in addresses, and where its indexes are.

    They are in the study's own folder; those of a bundle, or of a folder that cannot be written, in the
    user's cache.
    """
    if _is_packed(path):
        if field and field not in _packed_fields(path):
            raise UnknownName("field", field, _packed_fields(path), where=str(path))
        name = path.name.removesuffix(".zip").removesuffix(".quaver")
        return f"{name} {field}".strip(), _own_cache(path) / field
    if not path.exists():
        raise StoreError(
            "there is no such study", where=str(path), expected="a study file, its folder, or a bundle"
        )
    source = open_source(path)
    name, own = source.spec.name, source.folder.resolve()
    if field:
        if field not in source.spec.task.fields:
            raise UnknownName("field", field, list(source.spec.task.fields), where=str(path))
        name, own = f"{name}: {field}", own / FIELDS / field
    try:
        (own / CACHE).mkdir(parents=True, exist_ok=True)
        writable = os.access(own / CACHE, os.W_OK)
    except OSError:
        writable = False
    return name, own / CACHE if writable else _own_cache(path) / field


def _is_packed(path: Path) -> bool:
    return path.suffix == ".zip" and path.is_file()


def _own_cache(path: Path) -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    about = path.resolve()
    name = blake2b(f"{about} {about.stat().st_mtime_ns}".encode(), digest_size=10).hexdigest()
    return Path(home) / "quaver" / "view" / name


def listening(port: int | None) -> socket.socket:
    """A socket on this machine alone."""
    wanted = [PORT, 0] if port is None else [port]
    for one in wanted:
        connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            connection.bind(("127.0.0.1", one))
        except OSError as error:
            connection.close()
            if one == wanted[-1]:
                raise QuaverError(
                    "the server cannot listen there",
                    where="--port",
                    found=f"port {one}: {error.strerror}",
                    fix="name another port, or none",
                ) from error
            continue
        connection.listen(128)
        return connection
    raise AssertionError  # the last one was made or raised


def check_functions(paths: Sequence[Path], functions: Sequence[str]) -> None:
    """Each function must be there, and belong to a model of one of the studies."""
    if not functions:
        return
    known = dict.fromkeys(model.name for path in paths for model in open_source(path).spec.models)
    for name in functions_of(functions):
        if name not in known:
            raise UnknownName("model", name, list(known), where="--function")


def serve(
    paths: Sequence[Path],
    *,
    port: int | None = None,
    functions: Sequence[str] = (),
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
    check_functions(paths, functions)
    connection = listening(port)
    number, token = connection.getsockname()[1], secrets.token_urlsafe(24)
    processes = [IndexProcess(study, functions) for study in studies.values()]
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
        functions: ``NAME=MODULE:FUNCTION`` of models that are functions.
    """

    def __init__(self, study: ViewedStudy, functions: Sequence[str] = ()) -> None:
        self._study, self._functions = study, functions
        self._child: subprocess.Popen[bytes] | None = None
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
        seen: object = None
        while not self._ended.is_set():
            now = self._files()
            running = self._child is not None and self._child.poll() is None
            if not running:
                self._note_failure()
                if now != seen or self._study.verdict_wanted.is_set():
                    seen = now
                    self._begin()
            self._ended.wait(_LOOK)

    def _begin(self) -> None:
        options = [*self._functions, *(["--verdict"] if self._study.verdict_wanted.is_set() else [])]
        self._study.verdict_wanted.clear()
        study = self._study
        self._child = subprocess.Popen(
            [*_KEEPER, str(study.path), str(study.root), study.field, *options],
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
            known = json.loads((self._study.root / FAILURE).read_text(encoding="utf-8"))
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
            files += [store, journal(store), gold_beside(Path(index.design.folder)).path("labels.csv")]
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
