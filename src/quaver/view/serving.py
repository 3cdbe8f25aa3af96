"""Starts the server of ``quaver view`` and the processes that keep the indexes."""

from __future__ import annotations

import os
import re
import secrets
import socket
from collections.abc import Callable, Sequence
from hashlib import blake2b
from pathlib import Path

from quaver.errors import QuaverError, StoreError, UnknownName
from quaver.study.sources.named_functions import functions_of
from quaver.study.sources.opening import open_source
from quaver.view.asked import Asked
from quaver.view.index_keeper import IndexProcess
from quaver.view.static_export import write_file
from quaver.view.viewed_study import Opened, ViewedStudy

PORT = 8360
CACHE = ".view"
"""The folder of the indexes, in the study's own."""


def studies_of(paths: Sequence[Path]) -> dict[str, ViewedStudy]:
    """The studies to show, by the names that they have in addresses."""
    found: dict[str, ViewedStudy] = {}
    for path in paths:
        folder, root = place_of(path)
        name = base = re.sub(r"[^\w.-]+", "-", folder).strip("-.") or "study"
        number = 1
        while name in found:
            number += 1
            name = f"{base}-{number}"
        found[name] = ViewedStudy(Opened(name, path.resolve(), root), found)
    return found


def place_of(path: Path) -> tuple[str, Path]:
    """What a study is called in addresses, and where its indexes are.

    They are in the study's own folder; those of a bundle, or of a folder that cannot be written, in the
    user's cache.
    """
    if path.suffix == ".zip" and path.is_file():
        return path.name.removesuffix(".zip").removesuffix(".quaver"), _own_cache(path)
    if not path.exists():
        raise StoreError(
            "there is no such study", where=str(path), expected="a study file, its folder, or a bundle"
        )
    source = open_source(path)
    own = source.folder.resolve()
    try:
        (own / CACHE).mkdir(parents=True, exist_ok=True)
        writable = os.access(own / CACHE, os.W_OK)
    except OSError:
        writable = False
    return source.spec.name, own / CACHE if writable else _own_cache(path)


def _own_cache(path: Path) -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    about = path.resolve()
    name = blake2b(f"{about} {about.stat().st_mtime_ns}".encode(), digest_size=10).hexdigest()
    return Path(home) / "quaver" / "view" / name


def listening(port: int | None) -> socket.socket:
    """A socket on this machine alone."""
    wanted = [PORT, 0] if port is None else [port]
    for one in wanted:
        made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            made.bind(("127.0.0.1", one))
        except OSError as error:
            made.close()
            if one == wanted[-1]:
                raise QuaverError(
                    "the server cannot listen there",
                    where="--port",
                    found=f"port {one}: {error.strerror}",
                    fix="name another port, or none",
                ) from error
            continue
        made.listen(128)
        return made
    raise AssertionError  # the last one was made or raised


def export(
    path: Path,
    file: Path,
    query: str = "",
    sort: str = "item",
    count: int = 200,
    functions: Sequence[str] = (),
) -> int:
    """Write a part of a study as one HTML file that opens from disk.

    Returns:
        How many items were written.
    """
    from quaver.view.index_keeper import keep  # the server does without what makes verdicts and charts

    (study,) = studies_of([path]).values()
    check_functions([path], functions)
    keep(study.path, study.root, wanted=False, functions=functions)
    asked = Asked(query, sort=sort)
    return write_file(study, asked, file, Path(__file__).parent / "page", count)


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
    begun: Callable[[str], None] = print,
) -> None:
    """Serve studies until the process is stopped."""
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
    studies = studies_of(paths)
    check_functions(paths, functions)
    made = listening(port)
    number, token = made.getsockname()[1], secrets.token_urlsafe(24)
    processes = {name: IndexProcess(study, functions) for name, study in studies.items()}
    viewer = Viewer(studies, processes)
    guarded = Guard(viewer.app(), token, number, viewer.reports)
    for process in processes.values():
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
        uvicorn.Server(config).run(sockets=[made])
    finally:
        for process in processes.values():
            process.stop()
