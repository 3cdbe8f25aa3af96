"""What a shell completes: study files, kinds of study, and the names of plug-ins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from quaver.core import registry

_HEAD = 100_000
"""Characters in which a study file must name its task."""


def one_of_plugins(kind: registry.Kind) -> Callable[[str], list[str]]:
    """Completes the registered names of a kind, those of other packages too."""

    def names(incomplete: str) -> list[str]:
        return [name for name in registry.names(kind) if name.startswith(incomplete)]

    return names


def kinds_of_study(incomplete: str) -> list[str]:
    """Completes the kinds of study that ``quaver init`` writes."""
    from quaver.design.study_kinds import KINDS, PAPERS

    return [kind for kind in (*KINDS, *PAPERS) if kind.startswith(incomplete)]


def tables_of_papers(incomplete: str) -> list[str]:
    """Completes the papers' tables that ``quaver table`` prints."""
    from quaver.papers.catalogue import tables

    return [name for name in tables() if name.startswith(incomplete)]


def kinds_of_plugin(incomplete: str) -> list[str]:
    """Completes what ``quaver new`` writes."""
    from quaver.skeletons.plugin_skeleton import KINDS

    return [kind for kind in KINDS if kind.startswith(incomplete)]


def studies(incomplete: str) -> list[str]:
    """Completes study files and bundles: those of the folder, and ``study.yaml`` in the folders within it."""
    start = incomplete.rpartition("/")[0] + "/" if "/" in incomplete else ""
    try:
        return sorted(
            start + name
            for name in _studies_in(Path(start).expanduser())
            if (start + name).startswith(incomplete)
        )
    except OSError:  # no such folder, or not ours to read
        return []


def _studies_in(folder: Path) -> Iterator[str]:
    for path in folder.iterdir():
        if path.is_file() and (path.name.endswith(".quaver.zip") or _is_study(path)):
            yield path.name
        elif not path.name.startswith(".") and _is_study(path / "study.yaml"):
            yield f"{path.name}/study.yaml"


def _is_study(path: Path) -> bool:
    """Whether a file is YAML with a task, or with studies."""
    if path.suffix not in (".yaml", ".yml") or not path.is_file():
        return False
    with path.open(encoding="utf-8", errors="replace") as file:
        head = "\n" + file.read(_HEAD)
    return "\ntask:" in head or "\nstudies:" in head
