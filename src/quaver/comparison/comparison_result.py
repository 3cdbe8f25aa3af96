"""What a comparison found: differences, flipped items, and what came of the bounds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

import polars as pl

from quaver.comparison.bounds import Judgement
from quaver.comparison.difference_verdict import FAMILY, LOST, Verdict, gravest
from quaver.comparison.kept_looks import LookAt
from quaver.core.estimate_frame import estimates_frame
from quaver.core.number_format import count
from quaver.core.records import Estimate
from quaver.core.rows import Rows, html_table, short_lines

FIXED: Final = "Differences hold for the prompts that were asked: items alone are resampled."
"""What the intervals of a comparison hold for."""


@dataclass(frozen=True, slots=True)
class RoundAt:
    """The round after which a comparison ended.

    Attributes:
        number: From 1.
        rounds: How many were planned.
        asked: Items that were asked.
        items: Items that there are.
        clear: Whether the verdict ended it.
        tail: What its intervals leave out on either side.
        wider: How many times as wide they are as those of a comparison of all items at once.
    """

    number: int
    rounds: int
    asked: int
    items: int
    clear: bool
    tail: float
    wider: float

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    @property
    def sentence(self) -> str:
        """Why it ended, and what that cost, in words."""
        left = self.items - self.asked
        why = f"; the verdict is clear without the other {count(left, 'item')}" if left else ""
        return (
            f"Round {self.number} of {self.rounds}: {self.asked:,} of {count(self.items, 'item')} were asked"
            f"{why}. Its intervals are {self.wider:.2f} times as wide as those of a single look."
        )


@dataclass(frozen=True)
class Comparison(Rows):
    """What differs between two sides: a table in a notebook, a few lines elsewhere, a frame on request.

    Attributes:
        before: What one side is called.
        after: What the other is.
        differences: After less before, for every measure and every cell that both have.
        flips: The items whose label differs, in every cell: ``item``, the cell's columns, ``before``,
            ``after``, ``gold``, and ``change``: ``gain``, ``loss``, or null where neither is right.
        items: How many items both have.
        left_out: What only one side has, in words.
        judgements: What came of the bounds.
        verdicts: What each difference amounts to, in their order, and the smallest loss that would have been
            seen.
        losses: What users lose: classes that are no longer answered, then the differences overall, in each
            class and in each declared group, judged together.
        must_see: The size of a loss that must not have gone unseen; None where any may.
        notes: What a reader must know besides.
        look: Which of many looks at the same baseline this is; None where it is judged by itself.
        round: After which round it ended, where the second study was asked in rounds.
    """

    before: str
    after: str
    differences: Sequence[Estimate]
    flips: pl.DataFrame
    items: int
    left_out: Sequence[str] = ()
    judgements: Sequence[Judgement] = ()
    verdicts: Sequence[Verdict] = ()
    losses: Sequence[Verdict] = ()
    must_see: float | None = None
    notes: Sequence[str] = ()
    look: LookAt | None = None
    round: RoundAt | None = None

    @property
    def held(self) -> bool:
        """Whether every bound held, no class is shown to be lost, and no loss went unseen that must not.

        A class that is no longer answered fails every bound, since none on a mean can speak for it.
        """
        if self.unseen or (self.judgements and any(one.kind == "loss" for one in self.lost)):
            return False
        return all(one.held for one in self.judgements)

    @property
    def outcome(self) -> Literal["pass", "fail", "reported"]:
        """What came of it: without a bound nothing passes, it is only reported."""
        if not self.judgements and self.must_see is None:
            return "reported"
        return "pass" if self.held else "fail"

    @property
    def lost(self) -> list[Verdict]:
        """The classes that are no longer answered."""
        return [one for one in self.losses if LOST in one.estimate.details]

    @property
    def unseen(self) -> list[Verdict]:
        """Where a loss that must not go unseen could have: of the bounds' measures, if there are any."""
        if self.must_see is None:
            return []
        bounded = {each.measure for one in self.judgements for each in one.judged}
        return [
            one
            for one in self.verdicts
            if one.better is not None
            and one.estimate.value is not None
            and (not bounded or one.estimate.measure in bounded)
            and (one.smallest is None or one.smallest > self.must_see)
        ]

    @property
    def judgeable(self) -> list[Estimate]:
        """The differences that bounds may be about."""
        family = [one.estimate for one in self.losses if FAMILY in one.estimate.details]
        return [*self.differences, *family]

    @property
    def verdict(self) -> Verdict | None:
        """The verdict that matters most; None where there is no difference."""
        return gravest(self.verdicts)

    @property
    def undefined(self) -> list[str]:
        """The measures that have no difference, each with the reason, in words."""
        counts = Counter((one.measure, one.reason) for one in self.differences if one.value is None)
        return [
            f"{measure} is undefined{f' in {count} cells' * (count > 1)}: {why}."
            for (measure, why), count in counts.items()
        ]

    @property
    def flipped(self) -> int:
        """How many items have another label; an item of two studies counts in each."""
        return self.flips.select(*(["study"] if "study" in self.flips.columns else []), "item").n_unique()

    def __str__(self) -> str:
        """The differences, a line each, and what came of the bounds."""
        lines = [str(one) for one in self.differences if one.value is not None]
        head = f"{self.items:,} items in both: {self.before}, then {self.after}."
        shown = [head, *([short_lines(lines, "differences")] if lines else [])]
        verdicts = [f"{measure}: {one.words}." for measure, one in self.by_measure().items()]
        return "\n".join([*shown, *self.undefined, *verdicts, *(one.verdict for one in self.judgements)])

    __repr__ = __str__

    def by_measure(self) -> dict[str, Verdict]:
        """Of each measure the verdict that matters most."""
        found: dict[str, list[Verdict]] = {}
        for one in self.verdicts:
            found.setdefault(one.estimate.measure, []).append(one)
        return {measure: verdict for measure, some in found.items() if (verdict := gravest(some))}

    def rows(self) -> list[dict[str, Any]]:
        """A row for each difference: the columns of its estimate, and the values before and after."""
        return self.to_polars().to_dicts()

    def to_polars(self) -> pl.DataFrame:
        """A frame with a row for each difference; ``flips`` is a frame of the items."""
        sides = {side: [one.details.get(side) for one in self.differences] for side in ("before", "after")}
        return estimates_frame(self.differences).with_columns(
            pl.Series(side, values, pl.Float64) for side, values in sides.items()
        )

    def _repr_html_(self) -> str:
        known = [one for one in self.differences if one.value is not None]
        columns = list(dict.fromkeys(column for one in known for column in one.cell))
        heads = ("measure", *columns, self.before, self.after, "difference", "interval", "unpaired")
        rows = [(one.measure, *(one.cell.get(c, "") for c in columns), *_cells_of(one)) for one in known]
        flipped = f"{self.items:,} items in both; {self.flipped:,} have another label."
        notes = [flipped, FIXED, *(f"Left out: {line}." for line in self.left_out), *self.undefined]
        return html_table(heads, rows, " ".join([*notes, *(one.verdict for one in self.judgements)]))

    def document(self) -> dict[str, Any]:
        """All of it, as a mapping for JSON."""
        return {
            "before": self.before,
            "after": self.after,
            "items": self.items,
            "left_out": list(self.left_out),
            "differences": [one.document() for one in self.differences],
            "verdicts": [one.document() for one in self.verdicts],
            "flips": self.flips.to_dicts(),
            "losses": [
                one.estimate.document() | one.document() | {"subject": one.subject} for one in self.losses
            ],
            "notes": list(self.notes),
            "held": self.held,
            "outcome": self.outcome,
            "look": None if self.look is None else self.look.document(),
            "round": None if self.round is None else self.round.document(),
            "bounds": [
                {
                    "bound": one.bound.text,
                    "fail": one.bound.kind,
                    "held": one.held,
                    "smallest_seen": one.smallest,
                    "judged": [judged.document() for judged in one.judged],
                    "failed": [dict(failed.cell) for failed in one.failed],
                }
                for one in self.judgements
            ],
        }


def _cells_of(one: Estimate) -> tuple[str, ...]:
    ends = [(one.low, one.high), one.details.get("unpaired") or (None, None)]
    spans = ["" if low is None or high is None else f"{low:+.3f} to {high:+.3f}" for low, high in ends]
    return f"{one.details['before']:.3f}", f"{one.details['after']:.3f}", f"{one.value:+.3f}", *spans
