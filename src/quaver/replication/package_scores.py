"""The scores that promptstability wrote into its files, as published numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from quaver.errors import QuaverError
from quaver.replication.published_file import AnnotationFile, PublishedNumber, PublishedSpec
from quaver.study.imports.agreement_import import read_table

DIGITS: Final = 2
"""The package prints the mean over resamples, which is some thousandths off the score of the labels."""

_KINDS: Final = (
    ("iteration", "ka", "intra_pss_cumulative"),
    ("iteration", "cumulative_ka", "intra_pss_cumulative"),
    ("iteration", "adjacent_ka", "intra_pss_adjacent"),
    ("temperature", "ka", "inter_pss"),
)
"""What each score is of, the beginning of its columns' names, and the measure that it is."""
_READING: Final = ("encoding", "separator", "sheet")


def spec_of_files(folder: Path) -> PublishedSpec | None:
    """What would be published of a folder without a file that says so: promptstability's files in it.

    Returns:
        Each CSV file with annotations and scores, by its name; None where there is none.
    """
    found = {}
    for path in sorted(folder.glob("*.csv")) if folder.is_dir() else ():
        try:
            rows = read_table(path, "utf-8", None, None)
        except QuaverError:
            continue
        if rows and "annotation" in rows[0] and next(_scores(rows), None):
            found[path.stem] = AnnotationFile(file=path.name, scores=DIGITS)
    return PublishedSpec(source=folder.resolve().name, files=found) if found else None


def package_numbers(name: str, path: Path, file: AnnotationFile, digits: int) -> list[PublishedNumber]:
    """The scores in a file, each with the package's interval."""
    rows = read_table(path, **{name: file.reading[name] for name in _READING if name in file.reading})
    return [
        PublishedNumber(
            of=name,
            measure=measure,
            options={"by": ["temperature"]} if measure == "inter_pss" else {"by": []},
            cell=cell,
            value=value,
            low=low,
            high=high,
            digits=digits,
            where=f"{path.name}, {place}",
        )
        for measure, cell, place, (value, low, high) in _scores(rows)
    ]


def _scores(
    rows: Sequence[Mapping[str, str]],
) -> Iterator[tuple[str, dict[str, str | int | float], str, tuple[float, float | None, float | None]]]:
    """Each score once: its measure, its cell, where it stands, its value with the ends of its interval."""
    seen = set()
    for column, start, measure in _KINDS:
        names = [f"{start}_{part}" for part in ("mean", "lower", "upper")]
        if column not in rows[0] or names[0] not in rows[0]:
            continue
        for row in rows:
            place, value = row[column], _number(row[names[0]])
            if value is None or (measure, place) in seen:
                continue
            seen.add((measure, place))
            low, high = (_number(row[end]) if end in row else None for end in names[1:])
            yield measure, _cell(measure, place), f"{column} {place}", (value, low, high)


def _cell(measure: str, place: str) -> dict[str, str | int | float]:
    if measure == "inter_pss":
        return {"temperature": place}
    last = int(float(place))
    return {"repeats": str(last + 1) if measure == "intra_pss_cumulative" else f"{last - 1} and {last}"}


def _number(text: object) -> float | None:
    try:
        number = float(str(text))
    except ValueError:
        return None
    return number if math.isfinite(number) else None
