"""What comes ready to run: the kinds of study and the papers, each with a file under ``quaver/examples``."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Final

from quaver.errors import UnknownName

KINDS = ("stability", "sensitivity", "audit", "mcq", "factorial", "judge")

PAPERS: Final[Mapping[str, str]] = {
    "paper-000": "prompt-stability",
    "paper-001": "prompt-sensitivity",
    "paper-002": "reliability-audit",
    "paper-003": "treatments-and-temperature",
    "paper-004": "prompt-design",
}
"""The papers that have a recipe, by number, with their names in words."""


def study_of_kind(kind: str) -> str:
    """The YAML text of a kind of study or of a paper, which also describes a small version.

    Args:
        kind: One of ``KINDS``, or a paper by its number or its words.

    Raises:
        UnknownName: There is no such kind.
    """
    numbers = {words: number for number, words in PAPERS.items()}
    name = numbers.get(kind, kind)
    if name not in KINDS and name not in PAPERS:
        raise UnknownName("kind of study", kind, [*KINDS, *PAPERS, *numbers])
    return (files("quaver") / "examples" / f"{name}.yaml").read_text(encoding="utf-8")
