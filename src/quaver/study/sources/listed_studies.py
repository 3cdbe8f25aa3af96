"""A file that lists several studies: what they share, and what each has of its own."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from quaver.design.calls.lock_file import merge, write_made
from quaver.design.spec.study_file import Positions, read_document
from quaver.design.spec.yaml_file import Part, read_yaml
from quaver.errors import SpecError

_HEAD = "# One study of {}: change that file, not this one.\n"
_STUDY = r"^[A-Za-z0-9][A-Za-z0-9_-]*$"

StudyName = Annotated[str, Field(pattern=_STUDY, max_length=60)]


class ListedStudies(Part):
    """What a file that lists studies says."""

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
        whole = path.resolve()
        if not whole.name:  # the root of the file system
            return None
        path = whole.with_name(f"{whole.name}.yaml")
    if path.suffix.lower() not in (".yaml", ".yml") or not path.is_file():
        return None
    try:
        document = read_yaml(path)
    except SpecError:
        return None  # reading it as a study says what is wrong
    return (
        path if isinstance(document, Mapping) and "studies" in document and "task" not in document else None
    )


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
    return {name: _file_of(name, path, document, source) for name in spec.studies}


def _file_of(name: str, path: Path, document: Any, source: Positions) -> Path:
    own = document["studies"][name]
    if isinstance(own, str):
        found = source.path_of(own)
        if not found.is_file():
            raise SpecError(
                "there is no such study file",
                where=source.where("studies", name),
                expected="the path of a study file, or what the study has of its own",
                found=own,
            )
        return found
    merged = deepcopy(document.get("shared") or {})
    merge(merged, deepcopy(own))
    merged["name"] = own.get("name", name)
    return write_made(merged, path.with_name(f"{path.stem}.{name}.yaml"), _HEAD.format(path.name))
