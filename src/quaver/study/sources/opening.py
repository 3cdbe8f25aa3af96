"""From what a user names to the source of a study: the only place that knows every kind."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from quaver.core import registry
from quaver.design.calls.lock_file import write_small
from quaver.design.paraphrase.paraphraser import NotMade
from quaver.design.spec import StudySpec
from quaver.design.spec.study_file import Positions, read_study
from quaver.errors import SpecError
from quaver.study.sources.archive import is_archive
from quaver.study.sources.given_items import kept_items
from quaver.study.sources.listed_studies import list_of_studies, studies_in
from quaver.study.sources.study_file_source import StudyFile
from quaver.study.sources.study_plugins import Annotate
from quaver.study.sources.study_source import StudySource

_TABLES = (".csv", ".tsv", ".xlsx", ".xls", ".ods", ".jsonl", ".parquet")


def open_source(
    study: str | Path | Mapping[str, Any],
    folder: str | Path | None = None,
    functions: Mapping[str, Annotate] | None = None,
) -> StudySource:
    """The source that a user names; arguments and errors are those of `Study.open`."""
    if isinstance(study, Mapping):
        name = study.get("name")
        kept = kept_items(study, Path(folder or (name if isinstance(name, str) and name else "study")))
        spec, positions = read_study(kept.study, kept.paths)
        if kept.files:
            kept.write()
        return _source(spec, positions, Path(folder or spec.name), functions)
    path = Path(study)
    if path.suffix.lower() in _TABLES:
        raise SpecError(
            "this is a table, not a study",
            where=str(path),
            expected="a study file, such as study.yaml",
            found=path.name,
            fix=f"`quaver check {shlex.quote(path.name)}` judges a model's labels of it; "
            f"`quaver init --from {path.name}` writes a study file",
        )
    if path.suffix == ".zip" or (os.path.isfile(path) and is_archive(path)):
        from quaver.study.sources.bundle_source import open_bundle  # here and below: most studies are files

        return open_bundle(path, Path(folder) if folder else None)
    _check_alone(path)
    if os.path.isdir(path):
        path = _file_of(path)
    spec, positions = read_study(path)
    home = path.parent if path.name == "study.yaml" else path.with_suffix("")
    return _source(spec, positions, Path(folder or home), functions)


def open_checked(
    study: str | Path | Mapping[str, Any],
    folder: str | Path | None,
    functions: Mapping[str, Annotate] | None,
    *,
    small: bool,
) -> StudySource:
    """The source that a user names, or its small version, with its names checked."""
    source = open_source(study, folder, functions)
    if small:
        own = source.plugins.functions
        source = open_source(write_small(source.positions), functions=own)
    _check_names(source)
    return source


def _check_alone(path: Path) -> None:
    """Refuse a file that lists several studies."""
    if (file := list_of_studies(path)) is not None:
        raise SpecError(
            "this file lists several studies",
            where=str(file),
            expected="one study",
            fix=f"name one of them: {', '.join(map(str, studies_in(file).values()))}",
        )


def _file_of(folder: Path) -> Path:
    """The study file of a folder: ``study.yaml`` in it, or the file of its name beside it."""
    whole = folder.resolve()  # "." has no name
    beside = whole.parent / f"{whole.name}.yaml"
    path = folder / "study.yaml"
    return beside if beside.is_file() and not path.exists() else path


def _source(
    spec: StudySpec, positions: Positions, folder: Path, functions: Mapping[str, Annotate] | None
) -> StudySource:
    if spec.annotations is None:
        return StudyFile(spec, positions, folder, functions)
    if spec.has_labels_only:
        from quaver.study.sources.labels_source import Labels

        return Labels(spec, positions, folder, functions)
    from quaver.study.sources.labels_source import Answers

    return Answers(spec, positions, folder, functions)


_LARGEST: Final = 20_000_000
"""Bytes of a file of items; a larger one is read when it is needed."""


def _check_names(source: StudySource) -> None:
    """Find what a study file names and does not exist, before anything is asked.

    A study that has answers opens in any case: in its report, a measure that cannot be taken says why. So
    does one whose paraphrases a person edited, since `Study.variants` can make them again.
    """
    if not isinstance(source, StudyFile) or source.files.responses.exists():
        return
    source.plugins.check_named()
    if not _quickly_read(source) or source.files.paraphrases.exists():
        return
    whole = source.with_stand_ins() if source.lacks_paraphrases else source
    with suppress(NotMade):  # a text for which nothing can stand in until a model has written it
        whole.plugins.check(whole.factors, whole.experiment.labels, whole.experiment.variants)
        whole.conclusions.check()


def _quickly_read(source: StudyFile) -> bool:
    """Whether the items are in a file here, or should be."""
    name = source.spec.items.source
    if name.startswith("hf:") or name in registry.names("items"):
        return False
    items = source.positions.path_of(name)
    return not os.path.isfile(items) or items.stat().st_size <= _LARGEST
