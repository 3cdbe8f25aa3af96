"""What came of computing a bundle anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

Outcome = Literal["holds", "differs", "not fully compared"]


@dataclass(slots=True)
class Verification:
    """What came of computing a bundle anew.

    Attributes:
        digest: SHA-256 of the archive, to be compared with the one that was published.
        changed: Files that are not as they were packed.
        differing: What comes out differently, in words.
        annotations: How many annotations were read anew from the stored answers.
        withheld: How many could not be, since their answers quote an item's text that was left out.
        estimates: How many estimates were computed anew.
        design: SHA-256 of the design, to be compared with one that was published before the results.
        compared: What was made again and compared, beside annotations and estimates.
        not_compared: What was not, and why.
        unknown: What nobody can find out from this archive, by what it is about.
        departures: What is stored and not part of the study, in sentences.
    """

    digest: str
    changed: list[str] = field(default_factory=list)
    differing: list[str] = field(default_factory=list)
    annotations: int = 0
    withheld: int = 0
    estimates: int = 0
    design: str = ""
    compared: list[str] = field(default_factory=list)
    not_compared: list[str] = field(default_factory=list)
    unknown: Mapping[str, str] = field(default_factory=dict)
    departures: Sequence[str] = ()

    @property
    def differs(self) -> bool:
        """Whether something is not as it was packed, or does not come out as it stands there."""
        return bool(self.changed or self.differing)

    @property
    def outcome(self) -> Outcome:
        """The outcome; an archive with a part that could not be compared does not "hold"."""
        if self.differs:
            return "differs"
        return "not fully compared" if self.not_compared else "holds"
