"""From what a user names to the source of a study, or to the studies that a file lists."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import Field

from quaver.core import registry
from quaver.design.calls.lock_file import merge, write_made, write_small
from quaver.design.paraphrase.paraphraser import NotMade
from quaver.design.spec.study_file import read_document, read_study
from quaver.design.spec.yaml_file import Part, read_yaml
from quaver.errors import SpecError
from quaver.study.sources.archive import is_archive
from quaver.study.sources.given_items import keep_items, named_items
from quaver.study.sources.study_file_source import StudyFile
from quaver.study.sources.study_plugins import Annotate
from quaver.study.sources.study_source import StudySource

_TABLES = (".csv", ".tsv", ".xlsx", ".xls", ".ods", ".jsonl", ".json", ".parquet", ".sav", ".dta", ".rds")
_LARGEST: Final = 20_000_000
"""Bytes of a file of items; a larger one is read when it is needed."""


def open_source(
    study: str | Path | Mapping[str, Any],
    folder: str | Path | None = None,
    functions: Mapping[str, Annotate] | None = None,
) -> StudySource:
    """The source that a user names; arguments and errors are those of `Study.open`."""
    files: Mapping[str, bytes] = {}
    given: Path | Mapping[str, Any]
    if isinstance(study, Mapping):
        name = study.get("name")
        home = Path(folder or (name if isinstance(name, str) and name else "study"))
        given, files = named_items(study)
    else:
        path = Path(study)
        is_table = path.suffix.lower() in _TABLES  # a spreadsheet is an archive, too
        if path.suffix == ".zip" or (not is_table and path.is_file() and is_archive(path)):
            from quaver.study.sources.bundle_source import open_bundle  # most studies are files

            return open_bundle(path, Path(folder) if folder else None)
        given = _study_file(path)
        home = Path(folder or (given.parent if given.name == "study.yaml" else given.with_suffix("")))
    spec, positions = read_study(given, {name: home / name for name in files})
    if files:
        keep_items(given, home, files)  # type: ignore[arg-type]
    if spec.annotations is None:
        return StudyFile(spec, positions, home, functions)
    from quaver.study.sources.labels_source import Answers, Labels

    return (Labels if spec.has_labels_only else Answers)(spec, positions, home, functions)


def _study_file(path: Path) -> Path:
    """The study file that a path names: of a folder the one in it, or the file of its name beside it."""
    if path.suffix.lower() in _TABLES:
        raise SpecError(
            "this is a table, not a study",
            where=str(path),
            expected="a study file, such as study.yaml",
            found=path.name,
            fix=f"`quaver check {shlex.quote(path.name)}` writes a study file for it, and asks a model",
        )
    if (file := list_of_studies(path)) is not None:
        raise SpecError(
            "this file lists several studies",
            where=str(file),
            expected="one study",
            fix=f"name one of them: {', '.join(map(str, studies_in(file).values()))}",
        )
    if not path.is_dir():
        return path
    own, beside = path / "study.yaml", _beside(path)
    return beside if beside.is_file() and not own.exists() else own


def _beside(folder: Path) -> Path:
    """The file of a folder's name beside it."""
    whole = folder.resolve()  # "." has no name
    return whole.parent / f"{whole.name}.yaml"


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
        source = open_source(write_small(source.positions), functions=functions)
    _check_names(source)
    return source


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
    if name in registry.names("items"):
        return False
    items = source.positions.path_of(name)
    return not os.path.isfile(items) or items.stat().st_size <= _LARGEST


# ------------------------------------------------------------------------------- files that list studies

StudyName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$", max_length=60)]


class ListedStudies(Part):
    """The content of a file that lists studies."""

    name: str = Field(description="What the studies are called together.", min_length=1)
    description: str = Field("", description="What it is for.")
    shared: dict[str, Any] = Field(
        {}, description="Any part of a study file; every study has it, but for what it says itself."
    )
    studies: dict[StudyName, dict[str, Any] | str] = Field(
        description="Each study by name: what it has of its own, or the path of its study file.", min_length=1
    )


def list_of_studies(path: Path) -> Path | None:
    """The file that a path names and that lists studies: with the key ``studies``, or the folder beside it.

    Returns:
        The file; None where the path names a study, or nothing.
    """
    if path.is_dir():
        path = _beside(path)
    if path.suffix.lower() not in (".yaml", ".yml") or not path.is_file():
        return None
    try:
        document = read_yaml(path)
    except SpecError:
        return None  # reading it as a study says what is wrong
    lists = isinstance(document, Mapping) and "studies" in document and "task" not in document
    return path if lists else None


def studies_in(path: Path) -> dict[str, Path]:
    """Write the studies that a file lists beside it, each a study file of its own.

    The study ``tweets`` of ``tasks.yaml`` is ``tasks.tweets.yaml``, with its answers in ``tasks.tweets/``. It
    is what the studies share, with what the study says itself in place of it: mappings key by key, anything
    else whole. A study that is given as a path is that file as it stands.

    Returns:
        Each study's file, by name.
    """
    spec, source, document = read_document(
        path,
        ListedStudies,
        problem="this file lists no studies",
        expected="keys name, shared and studies",
    )
    files = {}
    for name in spec.studies:
        own = document["studies"][name]
        if isinstance(own, str):
            files[name] = source.path_of(own)
            if not files[name].is_file():
                raise SpecError(
                    "there is no such study file",
                    where=source.where("studies", name),
                    expected="the path of a study file, or what the study has of its own",
                    found=own,
                )
            continue
        merged = deepcopy(document.get("shared") or {})
        merge(merged, deepcopy(own))
        merged.setdefault("name", name)
        head = f"# One study of {path.name}: change that file, not this one.\n"
        files[name] = write_made(merged, path.with_name(f"{path.stem}.{name}.yaml"), head)
    return files
