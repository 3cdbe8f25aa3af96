"""BibTeX of the works that define a study's measures and intervals, and of Quaver itself."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files

from quaver.core.records import Estimate
from quaver.report.tables.printed_tables import latex_text

_ENTRY = re.compile(r"^@\w+\{(?P<key>[a-z]+?)(?P<year>\d{4}),\n(?P<fields>.*?)^\}$", re.DOTALL | re.MULTILINE)
_AUTHORS = re.compile(r"^  author = \{(.*)\},$", re.MULTILINE)
_NUMBERED = re.compile(r"\b(1[89]|20)\d\d\b")

_INTERVALS = (
    ("jackknife interval", "Efron & Stein (1981); Korn & Graubard (1998)"),
    (" prompts,", "Owen (2007); Zou & Donner (2008)"),
)
"""What stands in an estimate's method, and the works behind that kind of interval."""


@cache
def works() -> dict[str, tuple[str, re.Pattern[str]]]:
    """The works that Quaver's measures name, by their keys: the BibTeX entry, and how references name it.

    These are ``Horowitz & Manski (2000)``, ``Stephenson et al. (2008)``.
    """
    text = (files("quaver.report.page") / "sources.bib").read_text(encoding="utf-8")
    found = {}
    for entry in _ENTRY.finditer(text):
        named = _AUTHORS.search(entry["fields"])
        authors = named[1].split(" and ") if named else [entry["key"]]
        first = re.escape(_bare(authors[0].partition(", ")[0]))
        between = r"[^;()]*?(?:&|,|\bet al)[^;()]*?" if len(authors) > 1 else r"\W*?"
        pattern = re.compile(rf"\b{first}{between}\W*{entry['year']}\b")
        found[entry["key"] + entry["year"]] = (entry.group(), pattern)
    return found


def cited_works(estimates: Sequence[Estimate]) -> tuple[list[str], list[str]]:
    """The keys of the works that estimates rest on, and the references that name none of those known here."""
    found: set[str] = set()
    unknown: list[str] = []
    for reference in dict.fromkeys(_references(estimates)):
        some = {key for key, (_, pattern) in works().items() if pattern.search(_bare(reference))}
        found |= some
        if not some and _NUMBERED.search(reference):
            unknown.append(reference)
    return sorted(found), unknown


def _references(estimates: Iterable[Estimate]) -> Iterable[str]:
    for estimate in estimates:
        if estimate.value is None:
            continue
        if estimate.reference:
            yield estimate.reference
        if estimate.low is not None:
            yield from (source for words, source in _INTERVALS if words in estimate.method)


def bibtex(estimates: Sequence[Estimate], version: str) -> str:
    """The BibTeX of a study's report: Quaver, then the works that its estimates rest on.

    A reference of a measure of your own, which is known here by its words alone, becomes a note.

    >>> made = bibtex([Estimate("accuracy", 1.0, reference="Me (2020), My measure")], "0.1.0")
    >>> made.splitlines()[0], made.count("@misc"), "note = {Me (2020), My measure}" in made
    ('@software{quaver,', 1, True)
    """
    known, unknown = cited_works(estimates)
    own = (
        f"@software{{quaver,\n  author = {{{{Quaver developers}}}},\n  title = {{Quaver}},\n"
        f"  version = {{{latex_text(version)}}},\n}}"
    )
    notes = [
        f"@misc{{source{number},\n  note = {{{latex_text(_without_braces(reference))}}},\n}}"
        for number, reference in enumerate(unknown, 1)
    ]
    return "\n\n".join([own, *(works()[key][0] for key in known), *notes]) + "\n"


def _without_braces(text: str) -> str:
    """A text in which BibTeX, which counts braces however they are written, finds none."""
    return text.replace("{", "(").replace("}", ")").replace("\\", "/")


def _bare(text: str) -> str:
    """A text in lower case, without accents and braces."""
    plain = unicodedata.normalize("NFKD", re.sub(r'\\["\'`^~]|[{}]', "", text))
    return "".join(sign for sign in plain if not unicodedata.combining(sign)).casefold()
