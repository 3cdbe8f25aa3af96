"""``published.yaml``: which annotations were published, and which numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import Field, model_validator

from quaver.design.spec.study_file import Positions, read_document
from quaver.design.spec.yaml_file import Part, PlacedError
from quaver.errors import SpecError, UnknownName
from quaver.study.imports.label_columns import ROLES

NAME: Final = "published.yaml"

Written = float | str
"""A number as it was published: as a text it keeps its zeros, and 94% is 0.94."""


class AnnotationFile(Part):
    """A published file of annotations."""

    file: str = Field(description="Its path, seen from published.yaml.", min_length=1)
    columns: dict[str, str | bool | list[str]] = Field(
        {}, description="Columns by role, as `quaver import` takes them: {item: id, label: code}."
    )
    labels: list[str | int | float] = Field([], description="The label set, in order; all found if left out.")
    unlabelled: list[str] = Field([], description="What the file has where there is no label.")
    level: str = Field("nominal", description="Level of measurement: nominal, ordinal or interval.")
    encoding: str = Field("utf-8", description="Of a text file.")
    separator: str | None = Field(None, description="Between the cells of CSV and TSV.")
    sheet: str | None = Field(None, description="Of a spreadsheet.")
    scores: Annotated[int, Field(ge=0, le=12)] | None = Field(
        None,
        description="The scores that promptstability wrote into the file are published numbers too, to so "
        "many decimals.",
    )


class PublishedNumber(Part):
    """One published number."""

    of: str = Field(description="The annotations that it is about, by their name under files.")
    measure: str = Field(description="The measure that it is: accuracy, intra_pss, coder_agreement …")
    estimate: str | None = Field(
        None, description="Which of the measure's estimates, where it has several: coder_agreement_model."
    )
    cell: dict[str, str | int | float] = Field({}, description="The cell: {model: gpt-4, label: yes}.")
    options: dict[str, Any] = Field({}, description="The measure's options, as a study file takes them.")
    value: Written = Field(description="The number. In quotes it keeps its zeros: '0.90'.")
    low: Written | None = Field(None, description="The lower end of its published interval.")
    high: Written | None = Field(None, description="The upper end.")
    digits: Annotated[int, Field(ge=0, le=12)] | None = Field(
        None, description="Decimals that it was rounded to; those that are written, if left out."
    )
    where: str = Field("", description="Where it stands: Table 2, row 3.")


class PublishedSpec(Part):
    """What ``published.yaml`` says."""

    source: str = Field("", description="The publication.")
    files: dict[str, AnnotationFile] = Field(description="The files of annotations, by name.", min_length=1)
    numbers: list[PublishedNumber] = Field([], description="The published numbers.")

    @model_validator(mode="after")
    def _something(self) -> PublishedSpec:
        if not self.numbers and all(file.scores is None for file in self.files.values()):
            raise PlacedError("no number is published", "numbers", expected="numbers, or scores of a file")
        return self


def read_published(folder: Path) -> tuple[PublishedSpec, Positions]:
    """Read the file of published numbers in a folder."""
    path = folder / NAME if folder.is_dir() else folder
    if not path.is_file():
        raise SpecError(
            "there are no published numbers here",
            where=str(folder),
            expected=f"a folder with {NAME}, which names the annotations and the numbers, or with CSV files "
            "that promptstability wrote its scores into",
            found="neither" if folder.is_dir() else "no such file or folder",
            fix=f"write {NAME} beside the annotations; the page on replicating shows one",
        )
    spec, source, _ = read_document(
        path,
        PublishedSpec,
        problem="these are no published numbers",
        expected="keys source, files and numbers",
    )
    for name, file in spec.files.items():
        for role in file.columns:
            if role not in ROLES:
                raise UnknownName("role", role, ROLES, where=source.where("files", name, "columns"))
    for at, number in enumerate(spec.numbers):
        if number.of not in spec.files:
            raise UnknownName("file", number.of, list(spec.files), where=source.where("numbers", at, "of"))
    return spec, source
