"""``published.yaml``: which annotations were published, and which numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import Field, model_validator

from quaver.core.options import options_in
from quaver.design.spec.study_file import Positions, read_document
from quaver.design.spec.yaml_file import Part, PlacedError
from quaver.errors import SpecError, UnknownName
from quaver.study.imports.import_options import ImportOptions

NAME: Final = "published.yaml"

Written = float | str
"""A number as it was published: as a text it keeps its zeros, and 94% is 0.94."""


class AnnotationFile(Part):
    """A published file of annotations."""

    file: str = Field(
        description="Its path, seen from published.yaml; or a pattern that several files fit.", min_length=1
    )
    reading: dict[str, Any] = Field(
        {},
        alias="import",
        description="How `quaver import` takes it, by its options: {item: id, label: code, labels: [a, b]}.",
    )
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
    known = [*options_in(ImportOptions)]
    for name, file in spec.files.items():
        for option in file.reading:
            if option not in known:
                raise UnknownName("option", option, known, where=source.where("files", name, "import"))
    for index, number in enumerate(spec.numbers):
        if number.of not in spec.files:
            raise UnknownName("file", number.of, list(spec.files), where=source.where("numbers", index, "of"))
    return spec, source
