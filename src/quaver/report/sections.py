"""The parts of the report that have charts."""

from __future__ import annotations

from typing import Literal, get_args

Section = Literal[
    "finding",
    "readiness",
    "factors",
    "conclusions",
    "stability",
    "sensitivity",
    "accuracy",
    "answers",
    "more",
]
SECTIONS: tuple[Section, ...] = get_args(Section)
"""In the order of the page."""


def section_named(name: str) -> Section:
    """The section of a name; ``more`` for a name that is none."""
    return next((section for section in SECTIONS if section == name), "more")
