"""Published numbers computed again from the annotations, each with an interval that holds and a verdict."""

from __future__ import annotations

import math
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from quaver.core.arguments import guarded
from quaver.core.column_names import column_among
from quaver.core.records import Estimate
from quaver.core.rows import Rows, of_measures
from quaver.design.spec.study_file import Positions
from quaver.errors import SpecError
from quaver.replication.package_scores import package_numbers, spec_of_files
from quaver.replication.published_file import NAME, AnnotationFile, PublishedNumber, Written, read_published
from quaver.study.imports.label_import import import_annotations
from quaver.study.session import Study

Verdict = Literal["reproduced", "differs", "undefined"]

_NUMBER = re.compile(r"\s*([-+−]?)(\d*)(?:\.(\d*))?(?:e([-+]?\d+))?\s*(%?)\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Replicated:
    """A published number beside the recomputed one.

    Attributes:
        where: Where it was published.
        published: The number.
        low: Lower end of the published interval; None where there is none.
        high: Upper end.
        digits: The decimals that it was rounded to.
        estimate: The recomputed one, with its interval.
    """

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
        return "reproduced" if abs(value - self.published) <= 0.5 * 10**-self.digits + 1e-9 else "differs"

    @property
    def covered(self) -> bool | None:
        """Whether the published number lies in the interval that holds; None without an interval."""
        low, high = self.estimate.low, self.estimate.high
        return None if low is None or high is None else low <= self.published <= high

    @property
    def times_as_wide(self) -> float | None:
        """How many times as wide the interval that holds is as the published one."""
        low, high = self.estimate.low, self.estimate.high
        if None in (self.low, self.high, low, high) or self.high == self.low:
            return None
        assert low is not None
        assert high is not None
        assert self.low is not None
        assert self.high is not None
        return (high - low) / (self.high - self.low)


@dataclass(frozen=True, slots=True)
class Replication(Rows):
    """All published numbers beside the recomputed ones.

    Attributes:
        source: The publication.
        numbers: In the file's order.
    """

    source: str
    numbers: Sequence[Replicated]

    @property
    def holds(self) -> bool:
        """Whether every number was reproduced."""
        return all(one.verdict == "reproduced" for one in self.numbers)

    @property
    def summary(self) -> str:
        """How many numbers were reproduced, in words."""
        counts = {kind: sum(one.verdict == kind for one in self.numbers) for kind in ("differs", "undefined")}
        same = len(self.numbers) - sum(counts.values())
        rest = [
            f"{count} {word}"
            for word, count in zip(("differ", "are undefined"), counts.values(), strict=True)
        ]
        some = [one for one, count in zip(rest, counts.values(), strict=True) if count]
        return ", ".join([f"{same} of {len(self.numbers)} published numbers are reproduced", *some]) + "."

    def rows(self) -> list[dict[str, Any]]:
        """A row for each number."""
        return [
            {
                "where": one.where,
                "measure": one.estimate.measure,
                "cell": ", ".join(f"{column} {level}" for column, level in one.estimate.cell.items()),
                "published": one.published,
                "published_low": one.low,
                "published_high": one.high,
                "recomputed": one.estimate.value,
                "low": one.estimate.low,
                "high": one.estimate.high,
                "times_as_wide": one.times_as_wide,
                "verdict": one.verdict,
                "reason": one.estimate.reason,
            }
            for one in self.numbers
        ]


@guarded
def replicate(folder: str | Path) -> Replication:
    """Compute published numbers again from the annotations that were published with them.

    Args:
        folder: A folder with ``published.yaml`` (`published_file.PublishedSpec`), or that file. It names
            files of annotations, which are read as `import_annotations` reads them, and the numbers. In a
            folder without it, the scores that promptstability wrote into its files are the numbers.

    Returns:
        Each number beside the recomputed one, with Quaver's interval and a verdict.

    Raises:
        SpecError: ``published.yaml`` cannot be read, or names a cell that does not exist.
        ItemError: A file of annotations cannot be read.
        UnknownName: There is no such measure, column or file.
    """
    found_files = None if (Path(folder) / NAME).exists() else spec_of_files(Path(folder))
    if found_files is None:
        spec, source = read_published(Path(folder))
    else:
        spec, source = found_files, Positions(Path(folder) / NAME, {})
    numbers = [
        *spec.numbers,
        *(
            number
            for name, file in spec.files.items()
            if file.scores is not None
            for number in package_numbers(name, source.path_of(file.file), file, file.scores)
        ),
    ]
    with tempfile.TemporaryDirectory(prefix="quaver-") as home:
        studies = {
            name: _imported(file, source, Path(home) / name)
            for name, file in spec.files.items()
            if any(number.of == name for number in numbers)
        }
        measured = _Measured(studies)
        found = [
            _replicated(number, measured, source.where("numbers", index))
            for index, number in enumerate(numbers)
        ]
    return Replication(spec.source, found)


class _Measured:
    """The estimates of imported studies, each measure with the same options once."""

    def __init__(self, studies: Mapping[str, Study]) -> None:
        self._studies = studies
        self._known: dict[str, Sequence[Estimate]] = {}

    def of(self, number: PublishedNumber) -> Sequence[Estimate]:
        """The estimates among which a number is."""
        key = repr((number.of, number.measure, number.options))
        if key not in self._known:
            self._known[key] = self._studies[number.of].measure(number.measure, **number.options)
        return self._known[key]


def _imported(file: AnnotationFile, source: Positions, home: Path) -> Study:
    options = dict(file.reading)
    for name in ("labels", "unlabelled"):
        options[name] = [str(one) for one in options.get(name, ())]
    gold = source.home / str(options.get("gold", ""))
    if gold.is_file():
        options["gold"] = gold
    study, _ = import_annotations(source.path_of(file.file), home, **options)
    return study


def _replicated(number: PublishedNumber, measured: _Measured, where: str) -> Replicated:
    value, digits = read_number(number.value, where)
    low, high = (None if end is None else read_number(end, where)[0] for end in (number.low, number.high))
    kept = number.digits if number.digits is not None else digits
    return Replicated(number.where, value, low, high, kept, _estimate(number, measured.of(number), where))


def _estimate(number: PublishedNumber, estimates: Sequence[Estimate], where: str) -> Estimate:
    """The one estimate that a published number is."""
    wanted = {column: str(level) for column, level in number.cell.items()}
    name = number.estimate or number.measure
    every = of_measures(estimates, name)
    if not every:
        raise SpecError(
            f"{number.measure} has no estimate of this name",
            where=where,
            expected=(
                f"estimate: one of {', '.join(dict.fromkeys(estimate.measure for estimate in estimates))}"
            ),
            found=name,
        )
    known = {column for estimate in every for column in estimate.cell}
    wanted = {column_among(column, known): level for column, level in wanted.items()}
    found = [estimate for estimate in every if wanted.items() <= estimate.cell.items()]
    if len(found) == 1:
        return found[0]
    cells = [
        ", ".join(f"{column}: {level}" for column, level in estimate.cell.items())
        for estimate in found or every
    ]
    raise SpecError(
        "several estimates are in this cell" if found else "no estimate is in this cell",
        where=where,
        expected="a cell that names one",
        found="; ".join(f"{{{cell}}}" for cell in cells[:6]),
        fix="say more under cell, or which columns make the cells: options: {by: [variant]}",
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
