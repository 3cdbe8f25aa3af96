"""The files of a bundle that follow from its others: written when it is packed, and again to verify it."""

from __future__ import annotations

import json
import platform
import re
import shutil
import zlib
from base64 import b64decode
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from hashlib import blake2b
from importlib.metadata import version
from math import isclose
from pathlib import Path
from typing import Any

import polars as pl

from quaver.core.number_format import count
from quaver.core.records import Estimate
from quaver.core.replaced_file import replace_text
from quaver.report.page.method import departures, measured
from quaver.report.page_templates import template
from quaver.report.page_words import presentation_of
from quaver.report.tables.printed_tables import markdown_text
from quaver.report.tables.written_tables import write_estimates
from quaver.study.analysis.measured_fields import MeasuredFields
from quaver.study.sources.archive import members_in
from quaver.study.sources.bundle_source import Bundle
from quaver.study.study_report import shown_with

README = "README.md"
DERIVED = ("report.html", "estimates.csv", "estimates.json", README)

_OWN = (".py", ".html", ".css", ".js", ".bib", ".yaml")
_DRAWN_WITH = ("quaver", "altair", "vl-convert-python", "numpy", "polars", "scipy")

_LINKED = re.compile(r"(?<=data:application/gzip;base64,)[A-Za-z0-9+/=]+")
_NUMBER = re.compile(r"(-?\d+\.\d+(?:e[-+]?\d+)?)")
_SAME = ["measure", "value", "low", "high", "n"]
"""Columns of ``estimates.csv`` that say the same in every version."""

_SHOWN = 60
"""Characters of a difference that are shown on either side."""


def made_with() -> dict[str, str]:
    """What decides what derived files say, and where something stands in a picture."""
    versions = {name: version(name) for name in _DRAWN_WITH}
    return versions | {"code": _code(), "machine": platform.machine(), "zlib": zlib.ZLIB_RUNTIME_VERSION}


@cache
def _code() -> str:
    """A digest of Quaver's own files: between two releases, its version says nothing of them."""
    home, found = Path(__file__).parents[1], blake2b(digest_size=8)
    for file in sorted(path for path in home.rglob("*") if path.suffix in _OWN):
        found.update(file.relative_to(home).as_posix().encode() + file.read_bytes())
    return found.hexdigest()


def write_json(path: Path, document: Any) -> None:
    """Write a document for people and programs."""
    replace_text(path, json.dumps(document, indent=1, ensure_ascii=False, default=str) + "\n")


def write_derived(source: Bundle, folder: Path) -> list[Estimate]:
    """Write what follows from a bundle's other files to a folder; the study's estimates."""
    from quaver.study.study_report import written, written_fields  # the charts' libraries are slow to load

    fields = MeasuredFields(source)
    shown = source.lock() | shown_with(source)
    page = folder / "page"
    page.mkdir()
    if (study := fields.parts.get("")) is None:
        _, estimates = written_fields(fields, page, flat=True)
    else:
        estimates = study.estimates()
        written(study, page, shown, estimates, figures=False)
    reports = ["report.html", *(f"report-{name}.html" for name in fields.parts if name)]
    for report in reports:
        shutil.move(page / report, folder / report)
    shutil.rmtree(page)
    write_estimates(estimates, folder / "estimates.csv")
    write_json(folder / "estimates.json", [estimate.document() for estimate in estimates])
    if (source.spec.annotations or source.spec.items).source != README:  # else it is the study's own
        files = {*DERIVED, *reports, *members_in(source.folder)} - {README}
        replace_text(folder / README, reviewer_readme(source, shown, estimates, files))
    return estimates


def reviewer_readme(
    source: Bundle, lock: Mapping[str, Any], estimates: Sequence[Estimate], files: Collection[str]
) -> str:
    """What a reviewer who has never seen Quaver does with a bundle, in words."""
    sizes = {"item": lock["items"]["n"], "prompt": len(lock["variants"]), "model": len(lock["models"])}
    return template("reviewer_readme.txt").render(
        shown=markdown_text,
        lock=lock,
        size=", ".join(count(n, name) for name, n in sizes.items() if n or name != "model"),
        version=str(lock.get("versions", {}).get("quaver", "")),
        departures=departures(lock),
        measures={name: _axis(name, how) + how for name, how in measured(estimates).items()},
        outside=lock.get("collection", {}).get("outside", ""),
        stayed=source.facts.get("stayed"),
        has_texts=source.has_texts,
        withheld=source.withheld,
        fields=list(source.spec.task.fields),
        files=sorted(files),
    )


def _axis(measure: str, method: str) -> str:
    """What a measure's number is, where neither its name nor its method says so."""
    axis = presentation_of(measure).axis
    known = axis == measure.replace("_", " ") or method.casefold().startswith(axis.casefold())
    return "" if known else f"{axis}: "


@dataclass(slots=True)
class Checked:
    """What came of making parts of a bundle again.

    Attributes:
        differing: What comes out differently, in words.
        compared: What was compared.
        not_compared: What was not, and why.
    """

    differing: list[str] = field(default_factory=list)
    compared: list[str] = field(default_factory=list)
    not_compared: list[str] = field(default_factory=list)


def check_derived(packed: Path, again: Path, maker: Mapping[str, str], check: Checked) -> None:
    """Compare a bundle's derived files with those that were made again.

    Where another version or machine made them, that is the numbers of the estimates alone.
    """
    here = made_with()
    there = {path.name for path in again.iterdir() if path.is_file()}
    names = [*(one for one in DERIVED if one in there), *sorted(there.difference(DERIVED))]
    for path in sorted(packed.glob("report*.html")):
        if path.name not in there:
            check.differing.append(f"{path.name}: no report of the study has this name")
    others = [f"{key} {maker.get(key, 'unknown')}" for key in here if maker.get(key) != here[key]]
    if others:
        numbers = [_cells(folder / "estimates.csv") for folder in (packed, again)]
        if other := _first_difference(*numbers):
            check.differing.append(f"estimates.csv: {other}")
        made = f"made with {', '.join(others)} (this is Quaver {here['quaver']})"
        check.not_compared.append(f"{', '.join(names)}: {made}")
        return
    for name in names:
        texts = [_text(folder / name, again / name) for folder in (packed, again)]
        other = _first_difference(*texts) if (packed / name).is_file() else "it is missing"
        if other:
            check.differing.append(f"{name}: {other}")
        else:
            check.compared.append(name)


def _cells(path: Path) -> str:
    """What a table of estimates says that no version words: measures, numbers and their intervals."""
    try:
        table = pl.read_csv(path, columns=_SAME, infer_schema=False)
    except (pl.exceptions.PolarsError, OSError):
        return ""
    return "\n".join(" ".join(value or "" for value in row) for row in table.iter_rows())


def _text(path: Path, now: Path) -> str:
    """A file's text with what its links hold, as far as that is no larger than the file that was made now."""
    text = path.read_bytes().decode("utf-8", "replace") if path.is_file() else ""
    return _LINKED.sub(partial(_unpacked, now.stat().st_size), text)


def _unpacked(most: int, link: re.Match[str]) -> str:
    """What a link holds, as far as it is no larger than the page; another zlib packs it differently."""
    try:
        return zlib.decompressobj(31).decompress(b64decode(link[0]), 20 * most).decode("utf-8", "replace")
    except (ValueError, zlib.error):
        return link[0]


def _first_difference(there: str, now: str) -> str:
    """The first place where two texts differ by more than what another machine's sums may differ by."""
    one, other = _NUMBER.split(there), _NUMBER.split(now)
    for index, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b and not (index % 2 and isclose(float(a), float(b), rel_tol=1e-7, abs_tol=1e-9)):
            break
    else:
        if len(one) == len(other):
            return ""
        index = min(len(one), len(other))
    a, b = "".join(one[index:]), "".join(other[index:])
    same = next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    before = ("".join(one[max(0, index - 8) : index]) + a[:same])[-_SHOWN // 2 :]
    found = [" ".join((before + text[same : same + _SHOWN]).split()) for text in (a, b)]
    return f"“{found[0]}” stands there, “{found[1]}” comes out"
