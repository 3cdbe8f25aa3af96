"""What a paper takes from a study: a table, a paragraph on methods, and BibTeX, in the formats of papers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from html import escape
from importlib.resources import files
from operator import itemgetter
from pathlib import Path
from statistics import median
from typing import Literal, get_args

from markupsafe import Markup

from quaver._secrets import Keys
from quaver.core.number_format import count, enumeration
from quaver.core.records import Estimate
from quaver.core.rows import defined, grouped
from quaver.errors import StoreError, UnknownName
from quaver.report.estimate_index import Results, varying
from quaver.report.page.method import method_details, method_paragraph
from quaver.report.page_words import (
    in_words,
    interval,
    number,
    percent_measure,
    presentation_of,
)
from quaver.report.tables.table import (
    Column,
    Table,
    as_text,
    latex_text,
    level_heading,
    listed,
    markdown_text,
)

_MOST_GROUPS = 6
"""A measure of more parts (labels, classes, models) is summed up in one row."""
_MOST_ROWS = 40

_PROMPTS = ("variant", "item")
"""Columns over whose levels a table gives the range."""


def paper_table(results: Results) -> Table:
    """The study's measures, from the labels of its first evaluator.

    A measure with one estimate has its interval. One that was taken of each prompt has the median and, in a
    column of its own, the range over prompts, no interval; ``n`` is then that of each.
    """
    rows: list[tuple[str | Markup, ...]] = []
    for measure in results.measures:
        estimates = results.known(measure)
        rows += _rows(results, measure, estimates) if estimates else []
    level = level_heading(estimate for estimate in results.estimates if estimate.low is not None)
    columns: list[Column] = []
    for index, head in enumerate(("measure", "of", "estimate", level, "range", "n")):
        if head not in ("of", "range") or any(row[index] for row in rows[:_MOST_ROWS]):
            columns.append((head, itemgetter(index), head in ("estimate", "n")))
    return listed(rows, columns, most=_MOST_ROWS, name="paper")


def _rows(results: Results, measure: str, estimates: Sequence[Estimate]) -> list[tuple[str | Markup, ...]]:
    """A measure's rows: one for each part that is about something of its own, such as a model or a label."""
    over = {*_PROMPTS, *results.factors, "evaluator"}
    columns = [column for column in varying(estimates) if column not in over]
    if len({_parts(estimate, columns) for estimate in estimates}) > _MOST_GROUPS:
        columns = [column for column in columns if column == "model"]
    groups = grouped(estimates, partial(_parts, columns=columns))
    return [(_named(measure), " · ".join(part), *_numbers(measure, some)) for part, some in groups.items()]


def _parts(estimate: Estimate, columns: Sequence[str]) -> tuple[str, ...]:
    """What a row is about; a number brings its column's name."""
    parts = []
    for column in columns:
        value = estimate.cell.get(column, "all")
        if column == "factor":
            value = in_words(value)
        elif value.replace(".", "", 1).isdigit():
            value = f"{in_words(column)} {value}"
        parts.append(value)
    return tuple(parts)


def _numbers(measure: str, estimates: Sequence[Estimate]) -> tuple[str | Markup, ...]:
    percent = percent_measure(measure)
    values = [estimate.number for estimate in defined(estimates)]
    sizes = sorted({estimate.n for estimate in estimates})
    n = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
    if len(estimates) == 1:
        return number(values[0], of=estimates[0]), interval(estimates[0]), "", n
    what = count(len(values), "prompt" if set(varying(estimates)) <= {*_PROMPTS} else "estimate")
    low, high = number(min(values), percent), number(max(values), percent)
    if low.striptags() == high.striptags():
        return low, "", Markup("{} in each of {}").format(low, what), n
    spread = Markup("{} to {} over {}").format(low, high, what)
    return Markup("median {}").format(number(median(values), percent)), "", spread, n


def _named(measure: str) -> str:
    """A measure as a table calls it: its name in words, and what its number is."""
    shown = presentation_of(measure)
    words = measure.replace("_", " ")
    return shown.axis if shown.axis.startswith(words) else f"{words} ({shown.axis})"


Format = Literal["markdown", "latex", "html"]
FORMATS: tuple[Format, ...] = get_args(Format)


@dataclass(frozen=True, slots=True)
class Paper:
    """One table, a paragraph on methods, and the references of a study.

    It prints as Markdown; a notebook shows it as HTML.

    Attributes:
        table: The table.
        caption: What the table shows.
        methods: The paragraph, of 120 words at most, as plain text.
        details: What an appendix says beyond it.
        bibtex: The references.
        keys: The references' keys in BibTeX.
    """

    table: Table
    caption: str
    methods: str
    details: str
    bibtex: str
    keys: tuple[str, ...]

    def table_as(self, form: Format = "markdown") -> str:
        r"""The table with its caption.

        Args:
            form: ``markdown``, ``latex`` (with the packages booktabs and graphicx) or ``html``.

        Raises:
            UnknownName: There is no such format.
        """
        _check(form)
        return as_text(self.table, self.caption, form)

    def methods_as(self, form: Format = "markdown") -> str:
        """The paragraph on methods, and its details for an appendix.

        Args:
            form: ``markdown``, ``latex`` (which cites the references) or ``html``.

        Raises:
            UnknownName: There is no such format.
        """
        _check(form)
        if form == "latex":
            parts = "\n\n".join(map(latex_text, (self.methods, self.details)))
            return f"{parts}\n\\nocite{{{','.join(self.keys)}}}\n"
        if form == "html":
            return f"<p>{escape(self.methods)}</p>\n<p>{escape(self.details)}</p>\n"
        return f"{markdown_text(self.methods)}\n\n{markdown_text(self.details)}\n"

    def files(self) -> Mapping[str, str]:
        """All of it as files, by their names."""
        made: dict[str, str] = {}
        for form, ending in zip(FORMATS, ("md", "tex", "html"), strict=True):
            made[f"table.{ending}"] = self.table_as(form)
            made[f"methods.{ending}"] = self.methods_as(form)
        return {**made, "references.bib": self.bibtex}

    def write(self, folder: str | Path) -> list[Path]:
        """Write all of it to a folder, without keys.

        Args:
            folder: Where to; made where it is missing.

        Returns:
            The files.

        Raises:
            StoreError: They cannot be written.
        """
        home, keys = Path(folder), Keys()
        try:
            home.mkdir(parents=True, exist_ok=True)
            for name, text in self.files().items():
                (home / name).write_text(keys.out_of(text), encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            raise StoreError("the files cannot be written", where=str(home), found=str(error)) from None
        return [home / name for name in self.files()]

    def __str__(self) -> str:
        return f"{self.table_as()}\n{self.methods_as()}\n{self.bibtex}"

    def _repr_html_(self) -> str:
        return f"{self.table_as('html')}{self.methods_as('html')}<pre>{escape(self.bibtex)}</pre>"


def paper_parts(results: Results, cost: Table) -> Paper:
    """What a paper takes from a study."""
    works, unknown = cited_works(results.estimates)
    keys = ("quaver", *works, *(f"source{n}" for n in range(1, len(unknown) + 1)))
    items = count(int(results.lock.get("items", {}).get("n", 0)), "item")
    models = (
        f"{'model' if len(results.models) == 1 else 'models'} {enumeration(results.models or ['unknown'])}"
    )
    caption = f"{results.name}: {items}; {models}."
    version = str(results.lock.get("versions", {}).get("quaver", ""))
    methods, details = method_paragraph(results), method_details(results, cost)
    return Paper(paper_table(results), caption, methods, details, bibtex(results.estimates, version), keys)


def _check(form: str) -> None:
    if form not in FORMATS:
        raise UnknownName("format", form, FORMATS, where="format")


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
    entries = {}
    for entry in _ENTRY.finditer(text):
        named = _AUTHORS.search(entry["fields"])
        authors = named[1].split(" and ") if named else [entry["key"]]
        first = re.escape(_bare(authors[0].partition(", ")[0]))
        between = r"[^;()]*?(?:&|,|\bet al)[^;()]*?" if len(authors) > 1 else r"\W*?"
        pattern = re.compile(rf"\b{first}{between}\W*{entry['year']}\b")
        entries[entry["key"] + entry["year"]] = (entry.group(), pattern)
    return entries


def cited_works(estimates: Sequence[Estimate]) -> tuple[list[str], list[str]]:
    """The keys of the works that estimates rest on, and the references that name none of those known here."""
    keys: set[str] = set()
    unknown: list[str] = []
    for reference in dict.fromkeys(_references(estimates)):
        some = {key for key, (_, pattern) in works().items() if pattern.search(_bare(reference))}
        keys |= some
        if not some and _NUMBERED.search(reference):
            unknown.append(reference)
    return sorted(keys), unknown


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
        f"@misc{{source{number},\n  note = {{{latex_text(reference.translate(_BRACES))}}},\n}}"
        for number, reference in enumerate(unknown, 1)
    ]
    return "\n\n".join([own, *(works()[key][0] for key in known), *notes]) + "\n"


_BRACES = str.maketrans("{}\\", "()/")
"""Braces, which BibTeX counts however they are written."""


def _bare(text: str) -> str:
    """A text in lower case, without accents and braces."""
    plain = unicodedata.normalize("NFKD", re.sub(r'\\["\'`^~]|[{}]', "", text))
    return "".join(sign for sign in plain if not unicodedata.combining(sign)).casefold()
