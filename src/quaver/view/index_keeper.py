"""The process that keeps a study's index: ``python -m quaver.view.index_keeper STUDY FOLDER``.

It ends when it has nothing to do, and with the server that began it.
"""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from quaver.collect.store.disk_reserve import who_collects
from quaver.errors import QuaverError
from quaver.study.sources.named_functions import functions_of
from quaver.study.sources.opening import open_source
from quaver.study.sources.study_source import StudySource
from quaver.view.index_builder import IndexBuilder
from quaver.view.index_design import FAILURE, error_document, write_json
from quaver.view.index_documents import MOST_ANNOTATIONS, write_progress, write_verdict

VERDICT = "--verdict"
"""The option that has the verdict made, however long that takes; all others are functions."""

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
