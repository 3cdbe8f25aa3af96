"""From what a user names to the source of a study: the only place that knows every kind."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quaver.design.calls.share import Share
from quaver.design.calls.small_study import write_small
from quaver.design.spec import StudySpec
from quaver.design.spec.study_file import Positions, read_study
from quaver.errors import SpecError
from quaver.study.sources.archive import is_archive
from quaver.study.sources.kept_items import kept_items
from quaver.study.sources.study_file_source import StudyFile, asking
from quaver.study.sources.study_plugins import Annotate
from quaver.study.sources.study_source import StudySource

_TABLES = (".csv", ".tsv", ".xlsx", ".xls", ".ods", ".jsonl", ".parquet")


def open_source(
    study: str | Path | Mapping[str, Any],
    folder: str | Path | None = None,
    functions: Mapping[str, Annotate] | None = None,
    shard: str | None = None,
) -> StudySource:
    """The source that a user names; arguments and errors are those of `Study.open`."""
    source = _opened(study, folder, functions)
    if shard is not None:
        return _shard(source, shard)
    if isinstance(source, StudyFile):
        source.take_in_shards()
    return source


def _shard(source: StudySource, shard: str) -> StudySource:
    """One shard of a study.

    Raises:
        StoreError: It is no study that asks models.
        SpecError: It names no shard, or the study is collected in rounds.
    """
    whole = asking(source)
    if whole.spec.until is not None:
        raise SpecError(
            "a study that is collected in rounds has no shards, since every round looks at all answers",
            where=whole.positions.where("until"),
            expected="a study without `until`",
            found=f"shard {shard}",
            fix="remove `until`, or run it in one process",
        )
    functions = whole.plugins.functions
    return StudyFile(whole.spec, whole.positions, whole.folder, functions, Share.read(shard))


def _opened(
    study: str | Path | Mapping[str, Any],
    folder: str | Path | None,
    functions: Mapping[str, Annotate] | None,
) -> StudySource:
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
            fix=f"`quaver check {path.name}` judges a model's labels of it; "
            f"`quaver init --from {path.name}` writes a study file",
        )
    if path.suffix == ".zip" or (os.path.isfile(path) and is_archive(path)):
        from quaver.study.sources.bundle_source import open_bundle  # here and below: most studies are files

        return open_bundle(path, Path(folder) if folder else None)
    if os.path.isdir(path):
        path = _file_of(path)
    spec, positions = read_study(path)
    home = path.parent if path.name == "study.yaml" else path.with_suffix("")
    return _source(spec, positions, Path(folder or home), functions)


def open_small(source: StudySource, shard: str | None = None) -> StudySource:
    """The small version of a study, by the key ``small`` of its file.

    Raises:
        SpecError: The study is not a file, or describes no small version.
    """
    return open_source(write_small(source.positions), functions=source.plugins.functions, shard=shard)


def _file_of(folder: Path) -> Path:
    """The study file of a folder: ``study.yaml`` in it, or the file of its name beside it."""
    whole = folder.resolve()  # "." has no name
    beside = whole.parent / f"{whole.name}.yaml"
    own = folder / "study.yaml"
    return beside if beside.is_file() and not own.exists() else own


def _source(
    spec: StudySpec, positions: Positions, folder: Path, functions: Mapping[str, Annotate] | None
) -> StudySource:
    if spec.annotations is None:
        return StudyFile(spec, positions, folder, functions)
    if spec.has_labels_only:
        from quaver.study.sources.labels_source import Labels

        return Labels(spec, positions, folder, functions)
    from quaver.study.sources.answers_source import Answers

    return Answers(spec, positions, folder, functions)
