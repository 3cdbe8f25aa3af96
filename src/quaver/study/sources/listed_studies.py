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
from quaver.errors import SpecError, nearest

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
    prompts: str | None = Field(
        None,
        description="A YAML file of texts for places of this one, such as a paper's own prompts.",
        examples=["prompts.yaml"],
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
    if spec.prompts is not None:
        document = _with_texts(document, source.path_of(spec.prompts), path.name)
    return {name: _file_of(name, path, document, source) for name in spec.studies}


def _with_texts(document: Mapping[str, Any], file: Path, own: str) -> dict[str, Any]:
    """A list of studies with the texts of another file, which have the same keys in both files."""
    texts = read_yaml(file)
    where = Positions(file, texts).where
    if not isinstance(texts, Mapping):
        raise SpecError(
            "these are no texts with their places",
            where=where(),
            expected="the keys of the file that lists studies, such as shared: {prompt: {system: …}}",
        )

    def check(known: Any, given: Any, *loc: str) -> None:
        if not isinstance(given, Mapping) or not isinstance(known, Mapping):
            return
        for key, value in given.items():
            if key not in known:
                guess = nearest(str(key), map(str, known))
                raise SpecError(
                    f"{own} has no such place",
                    where=where(*loc, key),
                    expected=f"one of {', '.join(map(str, known))}",
                    found=str(key),
                    fix=f"did you mean {guess!r}?" if guess else f"write the place into {own} first",
                )
            check(known[key], value, *loc, key)

    check(document, texts)
    placed: dict[str, Any] = deepcopy(dict(document))
    merge(placed, texts)
    return placed


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
