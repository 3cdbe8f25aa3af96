"""BibTeX of the works that define a study's measures and intervals, and of Quaver itself."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Work:
    """A work that measures or intervals come from.

    Attributes:
        key: Its key in BibTeX.
        year: When it appeared.
        authors: Their surnames, without accents and in lower case.
        entry: Its BibTeX entry.
    """

    key: str
    year: str
    authors: tuple[str, ...]
    entry: str

    def named_in(self, reference: str) -> bool:
        """Whether a reference names it: ``Horowitz & Manski (2000)``, ``Stephenson et al. (2008)``."""
        first = re.escape(self.authors[0])
        between = r"[^;()]*?(?:&|,|\bet al)[^;()]*?" if len(self.authors) > 1 else r"\W*?"
        return re.search(rf"\b{first}{between}\W*{self.year}\b", _bare(reference)) is not None


@cache
def works() -> tuple[Work, ...]:
    """The works that Quaver's measures name, by their keys."""
    text = (files("quaver.report.page") / "sources.bib").read_text(encoding="utf-8")
    found = []
    for entry in _ENTRY.finditer(text):
        named = _AUTHORS.search(entry["fields"])
        authors = named[1].split(" and ") if named else [entry["key"]]
        surnames = tuple(_bare(one.partition(", ")[0]) for one in authors)
        found.append(Work(entry["key"] + entry["year"], entry["year"], surnames, entry.group()))
    return tuple(found)


def cited_works(estimates: Sequence[Estimate]) -> tuple[list[Work], list[str]]:
    """The works that estimates rest on, and the references that name none of those known here."""
    found: dict[str, Work] = {}
    unknown: list[str] = []
    for reference in dict.fromkeys(_references(estimates)):
        some = [work for work in works() if work.named_in(reference)]
        found |= {work.key: work for work in some}
        if not some and _NUMBERED.search(reference):
            unknown.append(reference)
    return [found[key] for key in sorted(found)], unknown


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
    return "\n\n".join([own, *(work.entry for work in known), *notes]) + "\n"


def _without_braces(text: str) -> str:
    """A text in which BibTeX, which counts braces however they are written, finds none."""
    return text.replace("{", "(").replace("}", ")").replace("\\", "/")


def _bare(text: str) -> str:
    """A text in lower case, without accents and braces."""
    plain = unicodedata.normalize("NFKD", re.sub(r'\\["\'`^~]|[{}]', "", text))
    return "".join(sign for sign in plain if not unicodedata.combining(sign)).casefold()
