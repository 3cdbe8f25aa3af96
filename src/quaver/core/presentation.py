"""What an estimate is called, what its axis shows and what its number means: by its name alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, get_args

from quaver.core import registry
from quaver.errors import QuaverError, UnknownName

Unit = Literal["share", "difference", "coefficient", "number"]
"""``share``: of answers or items, from 0 to 1. ``difference``: of two shares. ``coefficient``: of agreement,
at most 1. ``number``: anything else. Shares and their differences are printed as percents."""

Better = Literal["higher", "lower"]

Drawn = Literal["chart", "closer", "table"]
"""``chart``: a chart of its own. ``closer``: one among the closer looks. ``table``: a table shows it
better."""

Section = Literal[
    "finding",
    "readiness",
    "factors",
    "conclusions",
    "stability",
    "sensitivity",
    "accuracy",
    "coders",
    "answers",
    "more",
]
SECTIONS: tuple[Section, ...] = get_args(Section)
"""The sections of a report, in the order of the page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Presentation:
    """How estimates of one name are shown.

    Attributes:
        title: The title of their chart; the name in words if left out.
        axis: What the chart's axis shows; the name in words if left out.
        section: Where in the report the chart stands, one of ``SECTIONS``; if left out, of a part, where its
            measure's does.
        unit: What the number is.
        better: Which direction is better; None where neither is.
        null: The value that says that there is nothing to see, which charts mark; None where none does.
        ends: Between which values the chart's axis goes; those of the data if left out.
        bar: The value from which a result is commonly taken to be good enough, which charts mark.
        short: How the title of a chart over another column begins: "Stability across repeats" by temperature.
        drawn: Whether a chart of its own is drawn.

    Raises:
        UnknownName: The report has no such section.
    """

    title: str = ""
    axis: str = ""
    section: str = ""
    unit: Unit = "number"
    better: Better | None = None
    null: float | None = None
    ends: tuple[float, float] | None = None
    bar: float | None = None
    short: str = ""
    drawn: Drawn = "chart"

    def __post_init__(self) -> None:
        """Refuse an unknown section, whose chart would silently move to the last one."""
        if self.section and self.section not in SECTIONS:
            raise UnknownName("section of the report", self.section, SECTIONS, where="section")

    @property
    def in_percent(self) -> bool:
        """Whether the numbers are printed as percents."""
        return self.unit in ("share", "difference")

    def named(self, name: str, section: str = "more") -> Presentation:
        """The same with nothing left out.

        >>> Presentation().named("my_measure").title
        'My measure, with intervals'
        """
        words = " ".join("".join(c if c.isprintable() else " " for c in name.replace("_", " ")).split())
        title = self.title or f"{words.capitalize()}, with intervals"
        short = self.short or title.partition(": ")[0].removesuffix(", with intervals")
        axis, section = self.axis or words, self.section or section
        return replace(self, title=title, axis=axis, section=section, short=short)


def measure_of(name: str) -> str | None:
    """The measure that gives estimates of a name: the longest whose name theirs is, or begins with.

    >>> measure_of("f1_label"), measure_of("something_else")
    ('f1', None)
    """
    own = [one for one in registry.names("measures") if name == one or name.startswith(f"{one}_")]
    return max(own, key=len, default=None)


def presented(name: str) -> Presentation | None:
    """How estimates of a name are shown: as the measure declares whose name theirs is, or begins with.

    Args:
        name: An estimate's ``measure``. No measure is loaded but the one that it belongs to.

    Returns:
        None where no measure declares it.

    >>> presented("accuracy").unit, presented("something_else")
    ('share', None)
    """
    own = measure_of(name)
    if own is None:
        return None
    try:
        measure = registry.load("measures", own)
    except QuaverError:  # of a package that lacks something: its stored estimates are shown all the same
        return None
    of: Callable[[str], Presentation] | None = getattr(measure, "presentation_of", None)
    return None if of is None else of(name)
