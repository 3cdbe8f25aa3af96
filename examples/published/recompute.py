"""Published numbers computed again from the annotations, each with Quaver's interval and a verdict.

``published.yaml`` names files of annotations, which are read as ``quaver import`` reads them, and numbers:
one by one under ``numbers``, or those that promptstability wrote beside the annotations (``scores``: to how
many decimals) or into a table of its own (``scores_in``, with the rows that are about this file).
"""

from __future__ import annotations

import math
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import polars as pl
from gathered import MORE, by_labeller, imported
from pydantic import Field

from quaver import Study, measures
from quaver.core.column_names import column_among
from quaver.core.options import options_in
from quaver.core.records import Estimate
from quaver.core.rows import of_measures
from quaver.design.items.table_files import read_rows
from quaver.design.spec.study_file import Positions, read_document
from quaver.design.spec.yaml_file import Part
from quaver.errors import SpecError, UnknownName
from quaver.papers.paper_answers import answers_of
from quaver.study.imports.import_options import ImportOptions

NAME: Final = "published.yaml"
Written = float | str
"""A number as it was published: as a text it keeps its zeros, and 94% is 0.94."""
Verdict = Literal["reproduced", "differs", "undefined"]
_NUMBER = re.compile(r"\s*([-+−]?)(\d*)(?:\.(\d*))?(?:e([-+]?\d+))?\s*(%?)\s*", re.IGNORECASE)


class ScoresIn(Part):
    """A table of published scores, of which some rows are about a file of annotations."""

    file: str
    only: dict[str, str]


class AnnotationFile(Part):
    """A published file of annotations, or a pattern that several files fit."""

    file: str = Field(min_length=1)
    reading: dict[str, Any] = Field({}, alias="import")
    scores: Annotated[int, Field(ge=0, le=15)] | None = None
    scores_in: ScoresIn | None = None
    written: bool = False  # the numbers are of the answers as they were written, each a category of its own


class PublishedNumber(Part):
    """One published number: of which annotations, measure and cell, its interval, and where it stands."""

    of: str
    measure: str
    estimate: str | None = None
    cell: dict[str, str | int | float] = Field({})
    options: dict[str, Any] = Field({})
    value: Written
    low: Written | None = None
    high: Written | None = None
    digits: Annotated[int, Field(ge=0, le=15)] | None = None
    where: str = ""


class PublishedSpec(Part):
    """What ``published.yaml`` says."""

    source: str = ""
    files: dict[str, AnnotationFile] = Field(min_length=1)
    numbers: list[PublishedNumber] = Field([])


@dataclass(frozen=True, slots=True)
class Replicated:
    """A published number, its interval, the decimals that it was rounded to, and the recomputed estimate."""

    where: str
    published: float
    low: float | None
    high: float | None
    digits: int
    estimate: Estimate

    @property
    def verdict(self) -> Verdict:
        """Whether the recomputed value, rounded likewise, is the published one."""
        value = self.estimate.value
        if value is None:
            return "undefined"
        return "reproduced" if abs(value - self.published) <= 0.5 * 10**-self.digits + 1e-14 else "differs"

    @property
    def times_as_wide(self) -> float | None:
        """How many times as wide Quaver's interval is as the published one."""
        ends = (self.low, self.high, self.estimate.low, self.estimate.high)
        low, high, our_low, our_high = (math.nan if end is None else end for end in ends)
        ratio = (our_high - our_low) / (high - low) if high != low else math.nan
        return None if math.isnan(ratio) else ratio


def read_published(folder: Path) -> tuple[PublishedSpec, Positions]:
    """The published numbers in a folder."""
    problem, expected = "these are no published numbers", "keys source, files and numbers"
    spec, source, _ = read_document(folder / NAME, PublishedSpec, problem=problem, expected=expected)
    for name, file in spec.files.items():
        for option in file.reading:
            if option not in (options := [*options_in(ImportOptions), *MORE]):
                raise UnknownName("option", option, options, where=source.where("files", name, "import"))
    for index, number in enumerate(spec.numbers):
        if number.of not in spec.files:
            raise UnknownName("file", number.of, list(spec.files), where=source.where("numbers", index, "of"))
    return spec, source


def recomputed(folder: Path) -> tuple[list[Replicated], list[str]]:
    """Each published number beside the recomputed one, and the files of annotations that are not there."""
    spec, source = read_published(folder)
    absent = [file.file for file in spec.files.values() if not any(source.home.glob(file.file))]
    numbers = [number for number in spec.numbers if spec.files[number.of].file not in absent]
    for name, file in spec.files.items():
        if file.scores is not None and file.file not in absent:
            numbers += _written_scores(name, source, file, file.scores)
    results = []
    with tempfile.TemporaryDirectory(prefix="quaver-") as home:
        studies: dict[str, Study] = {}
        estimates: dict[str, Sequence[Estimate]] = {}
        for index, number in enumerate(numbers):
            if number.of not in studies:
                file = spec.files[number.of]
                path = source.path_of(file.file)
                studies[number.of] = imported(path, Path(home) / number.of, file.reading, source.home)
            key = repr((number.of, number.measure, number.options))
            if key not in estimates:
                estimates[key] = _measured(studies[number.of], number, spec.files[number.of], source.home)
            where = source.where("numbers", index)
            ends = (number.value, number.low, number.high)
            value, low, high = (None if end is None else read_number(end, where) for end in ends)
            assert value is not None
            results.append(
                Replicated(
                    number.where,
                    value[0],
                    low and low[0],
                    high and high[0],
                    value[1] if number.digits is None else number.digits,
                    _estimate(number, estimates[key], where),
                )
            )
    return results, absent


def _measured(study: Study, number: PublishedNumber, file: AnnotationFile, home: Path) -> Sequence[Estimate]:
    if people := file.reading.get("people"):
        labels = pl.DataFrame(by_labeller(home / people, "person "), infer_schema_length=None)
        frame = study.annotations().with_columns(pl.col("item").cast(str)).join(labels, on="item", how="left")
        return getattr(measures, number.measure)(frame, **number.options)
    if not file.written:
        return study.measure(number.measure, **number.options)
    (answers,) = answers_of({"": study})
    return answers.written.take(number.measure, **number.options)


_KINDS: Final = (
    ("iteration", "ka", "intra_pss_cumulative"),
    ("iteration", "cumulative_ka", "intra_pss_cumulative"),
    ("iteration", "adjacent_ka", "intra_pss_adjacent"),
    ("temperature", "ka", "inter_pss"),
)
"""What each score is of, the beginning of its columns' names, and the measure that it is."""


def _written_scores(
    name: str, source: Positions, file: AnnotationFile, digits: int
) -> Iterator[PublishedNumber]:
    """The scores in a file of annotations, or in the table beside it, each once."""
    table = file.scores_in or ScoresIn(file=file.file, only={})
    options = {"encoding": "utf-8", "separator": None, "sheet": None}
    rows = read_rows(
        source.path_of(table.file), **options | {k: v for k, v in file.reading.items() if k in options}
    )
    rows = [row for row in rows if all(str(row[key]) == value for key, value in table.only.items())]
    seen = set()
    for column, start, measure in _KINDS:
        names = [f"{start}_{part}" for part in ("mean", "lower", "upper")]
        for row in rows if rows and column in rows[0] and names[0] in rows[0] else ():
            value, low, high = (_finite(row.get(name)) for name in names)
            place = row[column]
            if value is None or (measure, place) in seen:
                continue
            seen.add((measure, place))
            yield PublishedNumber(
                of=name,
                measure=measure,
                options={"by": ["temperature"]} if measure == "inter_pss" else {"by": []},
                cell=_cell(measure, place),
                value=value,
                low=low,
                high=high,
                digits=digits,
                where=f"{Path(file.file).name}, {column} {place}",
            )


def _cell(measure: str, place: str) -> dict[str, str | int | float]:
    if measure == "inter_pss":
        return {"temperature": place}
    last = int(float(place))
    return {"repeats": str(last + 1) if measure == "intra_pss_cumulative" else f"{last - 1} and {last}"}


def _finite(text: object) -> float | None:
    try:
        number = float(str(text))
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _estimate(number: PublishedNumber, estimates: Sequence[Estimate], where: str) -> Estimate:
    """The one estimate that a published number is."""
    name = number.estimate or number.measure
    every = of_measures(estimates, name)
    columns = {column for estimate in every for column in estimate.cell}
    wanted = {column_among(column, columns): str(level) for column, level in number.cell.items()}
    matching = [estimate for estimate in every if wanted.items() <= estimate.cell.items()]
    if len(matching) == 1:
        return matching[0]
    cells = "; ".join(str(dict(estimate.cell)) for estimate in (matching or every)[:6])
    raise SpecError(
        f"{len(matching)} estimates of {name} are in this cell",
        where=where,
        expected="a cell that names one",
        found=cells or "no estimate of this name",
    )


def read_number(written: Written, where: str) -> tuple[float, int]:
    """A published number, and how many decimals it has.

    >>> read_number("0.90", ""), read_number(0.9, ""), read_number("94.5%", ""), read_number("-.12", "")
    ((0.9, 2), (0.9, 1), (0.945, 3), (-0.12, 2))
    """
    text = str(written).strip()
    match = _NUMBER.fullmatch(text)
    if match is None or not (match[2] or match[3]):
        raise SpecError("this is no number", where=where, expected="such as 0.94, '0.90' or 94%", found=text)
    percent = 2 if match[5] else 0
    digits = max(0, len(match[3] or "") - int(match[4] or 0)) + percent
    value = float(text.rstrip("% ").replace("−", "-")) / 10**percent
    if not math.isfinite(value):
        raise SpecError("this is no number", where=where, expected="a finite number", found=text)
    return round(value, digits + 3), digits
