"""The notes of a page: each kind of warning in full once, with links to and from the numbers it is about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

import jinja2
from markupsafe import Markup, escape

from quaver.core.records import Estimate
from quaver.report.plain_text import slug
from quaver.report.warning_phrases import kind, phrase

_CERTIFIED = "simulated"


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
        """The notes on some estimates, each once.

        Args:
            estimates: What a figure or a table shows.
            place: The id of the element that shows them.
            title: What it is called.
        """
        found: dict[int, Note] = {}
        for one in estimates:
            for warning in one.warnings:
                note = self._note(kind(warning), warning, phrase(warning))
                note.times += 1
                found[note.number] = note
        if said := certified(estimates):
            note = self._note(f"{_CERTIFIED} {said}", said, "checked by simulation")
            note.times += len(estimates)
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


def certified(estimates: Sequence[Estimate]) -> str:
    """How often the intervals cover in simulated studies like this one (``quaver certify``), if known."""
    found = [one.details["certified"] for one in estimates if "certified" in one.details]
    if not found:
        return ""
    shares = sorted(one["coverage"] for one in found)
    levels = {one.confidence_level for one in estimates if "certified" in one.details}
    level = f"{100 * levels.pop():g}% " if len(levels) == 1 else ""
    if len(found) == 1:
        error = 196 * (found[0]["error"] or 0.0)
        covers = f"this {level}interval covers {shares[0]:.0%} of the time (± {error:.0f} points"
    else:
        middle = shares[len(shares) // 2]
        ends = f"{shares[0]:.0%} to {shares[-1]:.0%} of the time, {middle:.0%} in the median"
        covers = f"these {len(found)} {level}intervals cover {ends} ("
    studies = f"{found[0]['replications']:,} simulated studies)"
    return f"In simulated studies like this one, {covers}{', ' if len(found) == 1 else ''}{studies}"


@cache
def template(name: str) -> jinja2.Template:
    """A page's template, compiled once for all pages of a process."""
    return _environment().get_template(name)


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("quaver.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["slug"] = slug
    environment.globals["marked_notes"] = marks
    return environment
