"""The file of a collection: what its studies share, and what each has of its own."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from quaver.design.calls.lock_file import merge, write_made
from quaver.design.spec import BudgetSpec
from quaver.design.spec.study_file import Positions, read_document
from quaver.design.spec.yaml_file import Part, read_yaml
from quaver.errors import SpecError, nearest
from quaver.study.sources.archive import form_of, is_archive

_HEAD = "# One study of {}: change that file, not this one.\n"
_STUDY = r"^[A-Za-z0-9][A-Za-z0-9_-]*$"

FORM = "quaver collection bundle 1"
"""The form that the manifest of a collection's bundle names."""

StudyName = Annotated[str, Field(pattern=_STUDY, max_length=60)]


class CollectionSpec(Part):
    """What a collection's file says."""

    name: str = Field(description="What the collection is called.", min_length=1)
    description: str = Field("", description="What it is for.")
    shared: dict[str, Any] = Field(
        {}, description="Any part of a study file; every study has it, but for what it says itself."
    )
    studies: dict[StudyName, dict[str, Any] | str] = Field(
        description="Each study by name: what it has of its own, or the path of its study file.", min_length=1
    )
    budget: BudgetSpec = Field(BudgetSpec(), description="What all studies together may take.")
    prompts: str | None = Field(
        None,
        description="A YAML file of texts for places of this one, such as a paper's own prompts.",
        examples=["prompts.yaml"],
    )


def is_packed(path: Path) -> bool:
    """Whether a file is a collection's bundle."""
    return path.is_file() and is_archive(path) and form_of(path) == FORM


def is_collection(path: Path) -> bool:
    """Whether a path names a collection: its file, its folder, or its bundle."""
    return collection_at(path) is not None or is_packed(path)


def collection_at(path: Path) -> Path | None:
    """The collection's file that a path names: a YAML file with the key ``studies``, or the folder beside it.

    Returns:
        The file; None where the path names a study, or nothing.
    """
    if path.is_dir():
        whole = path.resolve()
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


def read_collection(path: Path) -> tuple[CollectionSpec, dict[str, Path]]:
    """Read a collection, and write its studies beside it, each a study file of its own.

    The study ``tweets`` of ``tasks.yaml`` is ``tasks.tweets.yaml``, with its answers in ``tasks.tweets/``. It
    is what the studies share, with what the study says itself in place of it: mappings key by key, anything
    else whole. A study that is given as a path is that file as it stands.

    Returns:
        What the file says, and each study's file.
    """
    spec, source, document = read_document(
        path,
        CollectionSpec,
        problem="this is not a collection",
        expected="keys name, shared and studies",
    )
    if spec.prompts is not None:
        document = _with_texts(document, source.path_of(spec.prompts), path.name)
    return spec, {name: _file_of(name, path, document, source) for name in spec.studies}


def _with_texts(document: Mapping[str, Any], file: Path, collection: str) -> dict[str, Any]:
    """A collection with the texts of another file in their places, which have the same keys in both files."""
    texts = read_yaml(file)
    where = Positions(file, texts).where
    if not isinstance(texts, Mapping):
        raise SpecError(
            "these are no texts with their places",
            where=where(),
            expected="the collection's keys, such as shared: {prompt: {system: …}}",
        )

    def check(known: Any, given: Any, *loc: str) -> None:
        if not isinstance(given, Mapping) or not isinstance(known, Mapping):
            return
        for key, value in given.items():
            if key not in known:
                guess = nearest(str(key), map(str, known))
                raise SpecError(
                    f"{collection} has no such place",
                    where=where(*loc, key),
                    expected=f"one of {', '.join(map(str, known))}",
                    found=str(key),
                    fix=f"did you mean {guess!r}?" if guess else f"write the place into {collection} first",
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
