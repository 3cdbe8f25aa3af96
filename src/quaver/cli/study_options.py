"""The arguments that name a study and its functions."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quaver.errors import UnknownName
from quaver.study.sources.named_functions import functions_of

if TYPE_CHECKING:
    from quaver.study.session import Study

StudyArgument = Annotated[Path, typer.Argument(help="The study file, its folder, or a bundle.")]
HERE = Path("study.yaml")
"""The study of a command that names none."""
FunctionOption = Annotated[
    list[str] | None,
    typer.Option(
        "--function", help="NAME=MODULE:FUNCTION for a model that is a Python function.", metavar="NAME=M:F"
    ),
]


FieldOption = Annotated[
    str | None,
    typer.Option("--field", help="One field alone, where the task has several.", metavar="FIELD"),
]


def open_study(
    path: Path,
    functions: Sequence[str] | None = None,
    *,
    small: bool = False,
    field: str | None = None,
) -> Study:
    """The study of a command's argument, its small version or a field, with its functions."""
    from quaver.study.session import Study

    return Study.open(path, functions=functions_of(functions), small=small, field=field)


def studies_of(
    path: Path, functions: Sequence[str] | None, *, small: bool = False, field: str | None = None
) -> dict[str, Study]:
    """The studies that a file lists, by name; a study by itself, unnamed."""
    from quaver.study.sources.listed_studies import list_of_studies

    if list_of_studies(path) is None:
        return {"": open_study(path, functions, small=small, field=field)}
    from quaver.study.session import open_studies  # few files list studies

    studies = open_studies(path, functions=functions_of(functions), small=small)
    return {name: study.fields[field] if field else study for name, study in studies.items()}


def open_fields(path: Path, functions: Sequence[str] | None, field: str | None) -> dict[str, Study]:
    """A study's fields by name, each as a study of its own; one alone, and a study without any, unnamed."""
    opened = open_study(path, functions, field=field)
    return opened.fields or {"": opened}


def file_of_field(path: Path | None, name: str) -> Path | None:
    """The file for what is about one field, beside those of the others."""
    return path.with_stem(f"{path.stem}-{name}") if path and name else path


def study_file(path: Path) -> str:
    """The study file behind a command's argument, as CI services link to it; empty for a bundle.

    In GitHub Actions it is named from the repository's root, wherever the command runs.
    """
    file = path / HERE if path.is_dir() else path
    if file.suffix not in (".yaml", ".yml") or not file.is_file():
        return ""
    root = os.environ.get("GITHUB_WORKSPACE")
    if root and file.resolve().is_relative_to(Path(root).resolve()):
        file = file.resolve().relative_to(Path(root).resolve())
    return file.as_posix()


def open_both(
    first: Path, second: Path | None, functions: Sequence[str] | None, field: str | None = None
) -> tuple[Study, Study | None]:
    """Two studies to compare, or one field of each, each with the functions of its own models."""
    from quaver.study.session import Study

    found = functions_of(functions)
    if second is None:
        return Study.open(first, functions=found, field=field), None
    studies = [Study.open(path, field=field) for path in (first, second)]
    models = [[model.name for model in study.spec.models] for study in studies]
    for name in found:
        if not any(name in names for names in models):
            raise UnknownName("model", name, sorted({*models[0], *models[1]}), where="--function")
    opened = [
        Study.open(path, functions=own, field=field)
        if (own := {n: found[n] for n in names if n in found})
        else study
        for path, study, names in zip((first, second), studies, models, strict=True)
    ]
    return opened[0], opened[1]
