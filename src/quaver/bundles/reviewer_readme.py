"""``README.md`` in a bundle: what a reviewer who has never seen Quaver does with it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from quaver.core.number_format import count
from quaver.core.records import Estimate
from quaver.report.page.method import departures, measured
from quaver.report.page_templates import template
from quaver.report.page_words import presentation_of
from quaver.report.tables.printed_tables import markdown_text
from quaver.study.sources.bundle_source import Bundle

NAME = "README.md"


def reviewer_readme(
    source: Bundle, lock: Mapping[str, Any], estimates: Sequence[Estimate], files: Collection[str]
) -> str:
    """The text of the file."""
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
