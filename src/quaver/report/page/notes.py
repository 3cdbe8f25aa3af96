"""The notes of a page: each kind of warning in full once, with links to and from the numbers it is about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import vl_convert
from markupsafe import Markup, escape

from quaver.core.records import Estimate
from quaver.core.variant_display import Change, marked_messages, origin_in_words
from quaver.report.charts.chart import Figure
from quaver.report.charts.figures import Gallery, in_words
from quaver.report.charts.svg import inline_svg, svg_text, titled
from quaver.report.estimate_index import Results
from quaver.report.page_words import kind, phrase
from quaver.report.table_rows import Table


@dataclass(slots=True)
class Note:
    """What there is to say about some numbers.

    Attributes:
        number: Of the note, from 1, in the order of the page.
        phrase: What stands beside the numbers.
        text: The note in full: the warning, or its first instance where they differ in their numbers.
        differing: Whether instances differ in their numbers.
        places: Where it is about something: the title by the element's id.
        times: How many estimates it is about.
    """

    number: int
    phrase: str
    text: str
    differing: bool = False
    places: dict[str, str] = field(default_factory=dict)
    times: int = 0

    def mark(self, words: str | None = None) -> Markup:
        """The note beside a number: its phrase, or other words, which lead to it."""
        shown = self.phrase if words is None else words
        return Markup('<a class="mark" href="#note-{}">{}<sup>{}</sup></a>').format(
            self.number, shown, self.number
        )


def marks(notes: Iterable[Note]) -> Markup:
    """Some notes side by side, a phrase that several share once."""
    alike: dict[str, list[Note]] = {}
    for note in notes:
        alike.setdefault(note.phrase, []).append(note)
    parts = (Markup(" ").join([one.mark(), *(n.mark("") for n in more)]) for one, *more in alike.values())
    return Markup(", ").join(parts)


class Notes:
    """The notes of one page, numbered as their numbers come."""

    def __init__(self) -> None:
        self._of: dict[str, Note] = {}

    def __iter__(self) -> Iterator[Note]:
        return iter(self._of.values())

    def __len__(self) -> int:
        return len(self._of)

    def take(self, estimates: Sequence[Estimate], place: str, title: str) -> list[Note]:
        """The notes on some estimates, each once."""
        found: dict[int, Note] = {}
        for estimate in estimates:
            for warning in estimate.warnings:
                note = self._note(kind(warning), warning, phrase(warning))
                note.times += 1
                found[note.number] = note
        for note in found.values():
            note.places[place] = title
        return list(found.values())

    def mark(self, warning: str) -> Markup:
        """A warning beside its number; as its phrase alone where nothing of its kind was taken."""
        note = self._of.get(kind(warning))
        return escape(phrase(warning)) if note is None else note.mark()

    def _note(self, key: str, text: str, words: str) -> Note:
        note = self._of.setdefault(key, Note(len(self._of) + 1, words, text))
        note.differing = note.differing or note.text != text
        return note


WIDE = 760
"""Width of a chart on a screen, in pixels; where there is more room it is enlarged."""

NARROW = 344
"""Width of a chart for a phone."""


class Pictures(NamedTuple):
    """A figure as SVG, without its title: for a screen and for a phone."""

    wide: str
    narrow: str


def drawn(shown: Gallery) -> dict[str, Pictures]:
    """The figures as pictures; those that cannot be drawn go to the gallery's broken ones."""
    pictures: dict[str, Pictures] = {}
    for figure in shown.figures:
        try:
            pictures[figure.name] = Pictures(*(svg_text(figure.chart(width)) for width in (WIDE, NARROW)))
        except Exception as error:  # whatever another package's chart raises
            shown.broken[figure.name] = in_words(error)
    shown.figures = [figure for figure in shown.figures if figure.name in pictures]
    return pictures


def write_pictures(shown: Gallery, pictures: Mapping[str, Pictures], folder: Path | None) -> dict[str, str]:
    """Write each figure with its title as SVG, PNG and PDF; without a folder, make the SVG alone.

    Returns:
        The SVG files by the figures' names.
    """
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    written = {}
    for figure in shown.figures:
        svg = titled(pictures[figure.name].wide, figure.title, figure.subtitle, WIDE)
        if folder is not None and not _written(svg, folder / f"{figure.name}.svg"):
            (folder / f"{figure.name}.png").write_bytes(vl_convert.svg_to_png(svg, scale=2))
            (folder / f"{figure.name}.pdf").write_bytes(vl_convert.svg_to_pdf(svg))
            (folder / f"{figure.name}.svg").write_text(svg, encoding="utf-8")
        written[figure.name] = svg
    return written


def figure_part(figure: Figure, pictures: Pictures, table: Table | None) -> dict[str, Any]:
    """A figure as templates show it, with its table."""
    return {
        "figure": figure,
        "wide": inline_svg(pictures.wide, f"{figure.name}-{WIDE}", figure.alternative, WIDE),
        "narrow": inline_svg(pictures.narrow, f"{figure.name}-{NARROW}", figure.alternative, NARROW),
        "table": table,
        "notes": [],
    }


def _written(svg: str, path: Path) -> bool:
    """Whether an earlier report wrote the same picture, which it finished with the SVG."""
    others = all(path.with_suffix(kind).exists() for kind in (".png", ".pdf"))
    return others and path.exists() and path.read_bytes() == svg.encode()


_TAGS = {"gone": ("<del>", "</del>"), "new": ("<ins>", "</ins>"), "same": ("", "")}


@dataclass(frozen=True, slots=True)
class ShownPrompt:
    """A variant's prompt.

    Attributes:
        place: Its place in the design, from 1.
        name: The levels that distinguish it from others.
        id: Its id.
        answers: The answer for each label, by the label's name.
        origin: Where it came from and whether it keeps the meaning, a line each.
        flagged: Whether its meaning is in doubt.
        messages: Role and content, marked.
    """

    place: int
    name: str
    id: str
    answers: Mapping[str, str]
    origin: Sequence[str]
    flagged: bool
    messages: Sequence[tuple[str, Markup]]


def shown_prompts(results: Results, most: int) -> Iterator[ShownPrompt]:
    """The first variants of a study as the page shows them."""
    original = results.lock.get("original", ())
    for index, variant in enumerate(results.variants[:most], 1):
        covariates: Mapping[str, Any] = variant.get("covariates", {})
        messages = marked_messages(original or variant.get("example", ()), variant.get("example", ()))
        yield ShownPrompt(
            index,
            results.variant_name(variant["id"]),
            variant["id"],
            {results.label_name(code): answer for code, answer in variant["answers"].items()},
            origin_in_words(variant.get("origin", {}), covariates),
            bool(covariates.get("flagged")),
            [(role, marked(pieces)) for role, pieces in messages],
        )


def marked(pieces: Sequence[Change]) -> Markup:
    """Insertions and deletions in HTML; the texts are escaped."""
    parts = []
    for name, piece in pieces:
        opening, closing = _TAGS[name]
        parts.append(Markup(opening) + escape(piece) + Markup(closing))
    return Markup("").join(parts)
