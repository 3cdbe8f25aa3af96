"""The files of a bundle that follow from its others: written when it is packed, and again to verify it."""

from __future__ import annotations

import json
import platform
import re
import shutil
from collections.abc import Collection, Mapping, Sequence
from importlib.metadata import version
from itertools import zip_longest
from math import isclose
from operator import attrgetter
from pathlib import Path
from typing import Any

import polars as pl

from quaver.core.number_format import count
from quaver.core.records import Estimate, Item
from quaver.core.replaced_file import replace_text
from quaver.report.findings.first_screen import departures
from quaver.report.page.method import measured
from quaver.report.page_templates import template
from quaver.report.page_words import presentation_of
from quaver.report.tables.table import markdown_text
from quaver.report.tables.written_tables import write_estimates
from quaver.study.analysis.measured_fields import MeasuredFields
from quaver.study.sources.archive import members_in
from quaver.study.sources.bundle_source import Bundle
from quaver.study.sources.kept_results import quaver_code
from quaver.study.study_report import resolved, written_pages

README = "README.md"

_DRAWN_WITH = ("quaver", "altair", "vl-convert-python", "numpy", "polars", "scipy")

_NUMBER = re.compile(r"(-?\d+\.\d+(?:e[-+]?\d+)?)")
_SAME = ["measure", "value", "low", "high", "n"]
"""Columns of ``estimates.csv`` that say the same in every version."""

_BEFORE, _AFTER = 30, 60
"""Characters that are shown before a difference and from it on."""


def made_with() -> dict[str, str]:
    """What decides what derived files say, and where something stands in a picture."""
    versions = {name: version(name) for name in _DRAWN_WITH}
    return versions | {"code": quaver_code(), "machine": platform.machine()}


def write_json(path: Path, document: Any) -> None:
    """Write a document for people and programs."""
    replace_text(path, json.dumps(document, indent=1, ensure_ascii=False, default=str) + "\n")


_OF_MEDIA = ("name", "type", "sha256", "size", "width", "height")


def item_document(item: Item, fields: Collection[str]) -> dict[str, Any]:
    """An item as ``items.json`` has it, with some of its fields, and its files if it has any."""
    document: dict[str, Any] = {"id": item.id, "gold": item.gold, "golds": dict(item.golds)}
    document |= {"groups": dict(item.groups), "beside": item.beside}
    if item.parts:
        document["parts"] = item.parts
    document["fields"] = {name: value for name, value in item.fields.items() if name in fields}
    for file in item.media:
        facts = dict(zip(_OF_MEDIA, attrgetter(*_OF_MEDIA)(file), strict=True))
        document.setdefault("media", []).append(facts)
    return document


def write_derived(source: Bundle, folder: Path) -> list[Estimate]:
    """Write what follows from a bundle's other files to a folder; the study's estimates."""
    pages = folder / "pages"
    pages.mkdir()
    reports, estimates = written_pages(MeasuredFields(source), pages, packed=True)
    for report in reports:
        target = folder / report.relative_to(pages)
        target.parent.mkdir(parents=True, exist_ok=True)
        report.rename(target)
    shutil.rmtree(pages)
    write_estimates(estimates, folder / "estimates.csv")
    write_json(folder / "estimates.json", [estimate.document() for estimate in estimates])
    if (source.spec.annotations or source.spec.items).source != README:  # else it is the study's own
        files = {*members_in(source.folder), *members_in(folder)} - {README}
        # What a reviewer who has never seen Quaver does with a bundle, in words
        lock = resolved(source)
        sizes = [count(lock["items"]["n"], "item"), count(len(lock["variants"]), "prompt")]
        if lock["models"]:
            sizes.append(count(len(lock["models"]), "model"))
        methods = measured(estimates)
        replace_text(
            folder / README,
            template("reviewer_readme.txt").render(
                shown=markdown_text,
                lock=lock,
                size=", ".join(sizes),
                version=str(lock.get("versions", {}).get("quaver", "")),
                departures=departures(lock),
                measures={name: (presentation_of(name).axis, method) for name, method in methods.items()},
                outside=lock.get("collection", {}).get("outside", ""),
                stayed=source.facts.get("stayed"),
                has_texts=source.has_texts,
                withheld=source.withheld,
                files=sorted(files),
            ),
        )
    return estimates


def other_makers(maker: Mapping[str, str]) -> list[str]:
    """The versions and the machine that made a bundle's files, as far as these here are others."""
    others = [key for key, here in made_with().items() if maker.get(key) != here]
    return [f"{key} {maker.get(key, 'unknown')}" for key in others]


def estimate_differences(packed: Sequence[Estimate], now: Sequence[Estimate]) -> list[str]:
    """The estimates that come out differently, in words."""
    if len(packed) != len(now):
        return [f"{len(packed)} estimates stand there, {len(now)} come out"]
    differences = []
    for one, other in zip(packed, now, strict=True):
        if first_difference(_numbers_of(one), _numbers_of(other)):
            differences.append(f"{one} stands there, {other} comes out")
    return differences


def _numbers_of(estimate: Estimate) -> str:
    """What of an estimate must come out again, as text."""
    parts = [estimate.measure, dict(estimate.cell), estimate.n, estimate.reason is None]
    for number in (estimate.value, estimate.low, estimate.high):
        parts.append(None if number is None else f"{number:.12e}")
    return str(parts)


def table_difference(there: Path, now: Path) -> str:
    """The first difference of two ``estimates.csv`` in what no version words: measures and numbers."""
    texts = []
    for path in (there, now):
        try:
            texts.append(pl.read_csv(path, columns=_SAME, infer_schema=False).write_csv())
        except (pl.exceptions.PolarsError, OSError):
            texts.append("")
    return first_difference(*texts)


def file_difference(there: Path, now: Path) -> str:
    """The first difference of a packed file from the one that was made now."""
    if not there.is_file():
        return "it is missing"
    return first_difference(*(path.read_bytes().decode("utf-8", "replace") for path in (there, now)))


def first_difference(there: str, now: str) -> str:
    """The first place where two texts differ by more than what another machine's sums may differ by."""
    parts = list(map(_NUMBER.split, (there, now)))
    for index, (one, other) in enumerate(zip_longest(*parts, fillvalue="")):
        are_numbers = index % 2 and bool(one and other)
        if one == other or (are_numbers and isclose(float(one), float(other), rel_tol=1e-7, abs_tol=1e-9)):
            continue
        start = index - index % 2  # with the words before a number
        one, other = ("".join(part[start : index + 2]) for part in parts)
        places = (index for index, pair in enumerate(zip_longest(one, other)) if pair[0] != pair[1])
        same = next(places, 0)
        shown = slice(max(0, same - _BEFORE), same + _AFTER)
        one, other = (" ".join(text[shown].split()) for text in (one, other))
        return f"“{one}” stands there, “{other}” comes out"
    return ""
