"""What a comparison found: differences, flipped items, and what came of the bounds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

import polars as pl

from quaver.comparison.bounds import LOSS, Bound, Judgement
from quaver.comparison.call_costs import COSTS
from quaver.comparison.difference_verdict import (
    FAMILY,
    LOST,
    Verdict,
    by_interval,
    gravest,
    size_of,
    verdict_on,
)
from quaver.comparison.kept_looks import LookAt
from quaver.core.estimate_frame import estimates_frame
from quaver.core.number_format import decimals, short_name, span
from quaver.core.records import Estimate
from quaver.core.rows import Rows, cell_columns, defined, html_table, presented, short_lines

FIXED: Final = "Differences hold for the prompts that were asked: items alone are resampled."
"""What the intervals of a comparison hold for."""


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

    @property
    def beside(self) -> list[str]:
        """What a reader must know beside the verdicts: of many looks."""
        return [] if self.look is None else [self.look.sentence]

    @property
    def held(self) -> bool:
        """Whether every bound held, no class is shown to be lost, and no loss went unseen that must not.

        A class that is no longer answered fails every bound, since none on a mean can speak for it.
        """
        if self.unseen or (self.judgements and any(verdict.kind == "loss" for verdict in self.lost)):
            return False
        return all(judgement.held for judgement in self.judgements)

    @property
    def outcome(self) -> Literal["pass", "fail", "reported"]:
        """What came of it: without a bound nothing passes, it is only reported."""
        if not self.judgements and self.must_see is None:
            return "reported"
        return "pass" if self.held else "fail"

    @property
    def lost(self) -> list[Verdict]:
        """The classes that are no longer answered."""
        return [verdict for verdict in self.losses if LOST in verdict.estimate.details]

    @property
    def unseen(self) -> list[Verdict]:
        """Where a loss that must not go unseen could have: of the bounds' measures, if there are any."""
        if self.must_see is None:
            return []
        bounded = {
            estimate.measure for judgement in self.judgements for estimate in judgement.judged
        } - COSTS.keys()
        return [
            verdict
            for verdict in self.verdicts
            if verdict.better is not None
            and verdict.estimate.value is not None
            and verdict.estimate.measure in (bounded or {verdict.estimate.measure} - COSTS.keys())
            and (verdict.smallest is None or verdict.smallest > self.must_see)
        ]

    @property
    def verdict(self) -> Verdict | None:
        """The verdict that matters most; None where there is no difference."""
        return gravest(self.verdicts)

    @property
    def undefined(self) -> list[str]:
        """The measures that have no difference, each with the reason, in words."""
        counts = Counter(
            (estimate.measure, estimate.reason) for estimate in self.differences if estimate.value is None
        )
        return [
            f"{measure} is undefined{f' in {count} cells' * (count > 1)}: {why}."
            for (measure, why), count in counts.items()
        ]

    @property
    def flipped(self) -> int:
        """How many items have another label; an item of two studies counts in each."""
        return self.flips.select(*(["study"] if "study" in self.flips.columns else []), "item").n_unique()

    @property
    def changes(self) -> dict[str, int]:
        """How many labels changed to the true one (``gain``) and from it (``loss``); empty without either."""
        counts = dict(self.flips["change"].drop_nulls().value_counts().iter_rows())
        return {kind: counts.get(kind, 0) for kind in ("gain", "loss")} if counts else {}

    def __str__(self) -> str:
        """The differences, a line each, and what came of the bounds."""
        lines = [str(estimate) for estimate in defined(self.differences)]
        head = f"{self.items:,} items in both: {self.before}, then {self.after}."
        shown = [head, *([short_lines(lines, "differences")] if lines else [])]
        verdicts = [f"{measure}: {verdict.words}." for measure, verdict in self.by_measure().items()]
        return "\n".join(
            [*shown, *self.undefined, *verdicts, *(judgement.verdict for judgement in self.judgements)]
        )

    __repr__ = __str__

    def by_measure(self) -> dict[str, Verdict]:
        """Of each measure the verdict that matters most."""
        found: dict[str, list[Verdict]] = {}
        for one in self.verdicts:
            found.setdefault(one.estimate.measure, []).append(one)
        return {measure: verdict for measure, verdicts in found.items() if (verdict := gravest(verdicts))}

    def rows(self) -> list[dict[str, Any]]:
        """A row for each difference: the columns of its estimate, and the values before and after."""
        return self.to_polars().to_dicts()

    def to_polars(self) -> pl.DataFrame:
        """A frame with a row for each difference; ``flips`` is a frame of the items."""
        sides = {
            side: [estimate.details.get(side) for estimate in self.differences]
            for side in ("before", "after")
        }
        return estimates_frame(self.differences).with_columns(
            pl.Series(side, values, pl.Float64) for side, values in sides.items()
        )

    def _repr_html_(self) -> str:
        estimates = defined(self.differences)
        columns = cell_columns(estimates)
        heads = ("measure", *columns, self.before, self.after, "difference", "interval", "unpaired")
        rows = [
            (estimate.measure, *(estimate.cell.get(c, "") for c in columns), *difference_cells(estimate))
            for estimate in estimates
        ]
        flipped = f"{self.items:,} items in both; {self.flipped:,} have another label."
        notes = [flipped, FIXED, *(f"Left out: {line}." for line in self.left_out), *self.undefined]
        return html_table(
            heads, rows, " ".join([*notes, *(judgement.verdict for judgement in self.judgements)])
        )

    def document(self) -> dict[str, Any]:
        """All of it, as a mapping for JSON."""
        return {
            "before": self.before,
            "after": self.after,
            "items": self.items,
            "left_out": list(self.left_out),
            "differences": [estimate.document() for estimate in self.differences],
            "verdicts": [verdict.document() for verdict in self.verdicts],
            "flips": self.flips.to_dicts(),
            "losses": [
                verdict.estimate.document() | verdict.document() | {"subject": verdict.subject}
                for verdict in self.losses
            ],
            "notes": list(self.notes),
            "held": self.held,
            "outcome": self.outcome,
            "look": self.look and asdict(self.look),
            "bounds": [
                {
                    "bound": judgement.bound.text,
                    "fail": judgement.bound.kind,
                    "held": judgement.held,
                    "smallest_seen": judgement.smallest,
                    "judged": [judged.document() for judged in judgement.judged],
                    "failed": [dict(failed.cell) for failed in judgement.failed],
                }
                for judgement in self.judgements
            ],
        }


def difference_cells(estimate: Estimate) -> tuple[str, ...]:
    """Before, after, difference, its interval and that of unpaired sides, as tables of numbers show them."""
    ends = [(estimate.low, estimate.high), estimate.details.get("unpaired") or (None, None)]
    spans = [span(low, high, "{:+.3f}".format) for low, high in ends]
    return (
        f"{estimate.details['before']:.3f}",
        f"{estimate.details['after']:.3f}",
        f"{estimate.value:+.3f}",
        *spans,
    )


@dataclass(frozen=True, slots=True)
class Row:
    """A difference as it is shown.

    Attributes:
        verdict: What it amounts to.
        cell: Where it holds, by column, with short names of levels.
        bound: The bound that it was judged by; None where it was not.
        failed: Whether the bound fails for it.
    """

    verdict: Verdict
    cell: dict[str, str]
    bound: Bound | None = None
    failed: bool = False

    @property
    def is_skipped(self) -> bool:
        """Whether there is nothing to judge."""
        return self.verdict.kind == "undefined"

    @property
    def measure(self) -> str:
        """Whose difference it is."""
        return self.verdict.estimate.measure

    @property
    def where(self) -> str:
        """Its cell in one line."""
        return ", ".join(f"{column} {level}" for column, level in self.cell.items())

    @property
    def side_values(self) -> tuple[str, str]:
        """The measure before and after."""
        known = self.verdict.estimate.details
        return _number(self.measure, known.get("before")), _number(self.measure, known.get("after"))

    @property
    def difference(self) -> str:
        """After less before."""
        value = self.verdict.estimate.value
        return "" if value is None else signed(self.measure, value)

    @property
    def interval(self) -> str:
        """The interval of the difference."""
        estimate = self.verdict.estimate
        if estimate.low is None or estimate.high is None:
            return ""
        low, high = signed(self.measure, estimate.low), signed(self.measure, estimate.high)
        return f"{low.removesuffix(' points').removesuffix(' point')} to {high}"

    @property
    def words(self) -> str:
        """All of it in a sentence or two."""
        before, after = self.side_values
        seen = self.verdict.seen
        parts = [f"{self.verdict.words}", f"{before} before, {after} after" if before and after else ""]
        parts.append(f"difference {self.difference} ({self.interval})" if self.interval else "")
        shown = "; ".join(filter(None, parts))
        smallest = f" The smallest {self.verdict.noun} that this run could see: {seen}." if seen else ""
        return f"{shown[:1].upper()}{shown[1:]}.{smallest}"


def rows_of(comparison: Comparison) -> list[Row]:
    """A row for each difference, its cell reduced to what varies."""
    return _varying(Row(verdict, dict(verdict.estimate.cell)) for verdict in comparison.verdicts)


def judged_rows(comparison: Comparison) -> list[Row]:
    """A row for each class that is lost, each bound and each difference that judged it, with its interval."""
    margin = comparison.verdicts[0].margin if comparison.verdicts else 0.0
    lost = [
        Row(verdict, dict(verdict.estimate.cell), None, verdict.kind == "loss") for verdict in comparison.lost
    ]
    judged = [
        Row(
            verdict_on(_alone(estimate), margin),
            dict(estimate.cell),
            judgement.bound,
            estimate in judgement.failed,
        )
        for judgement in comparison.judgements
        for estimate in judgement.judged
    ]
    return _varying([*lost, *judged]) if judged else []


def loss_rows(comparison: Comparison) -> list[Row]:
    """A row for each class that is no longer answered, and for what users lose."""
    return _varying(Row(verdict, dict(verdict.estimate.cell)) for verdict in comparison.losses)


def _alone(estimate: Estimate) -> Estimate:
    """A difference by its interval alone, which is wide enough for all that bounds judge."""
    return estimate if FAMILY in estimate.details else by_interval(estimate)  # else judged together


def _varying(rows: Iterable[Row]) -> list[Row]:
    """The rows with cells that name only the columns in which rows of one measure differ."""
    found = list(rows)
    levels: dict[tuple[str, str], set[str]] = {}
    for row in found:
        for column, level in row.cell.items():
            levels.setdefault((row.measure, column), set()).add(level)

    def kept(row: Row) -> Iterator[tuple[str, str]]:
        for column, level in row.cell.items():
            if len(levels[row.measure, column]) > 1:
                yield column, short_name(level)

    return [Row(row.verdict, dict(kept(row)), row.bound, row.failed) for row in found]


def signed(measure: str, value: float) -> str:
    """A difference with its sign.

    >>> signed("accuracy", -0.0792), signed("accuracy", 0.0), signed("inter_pss", 0.1)
    ('−7.9 points', '0 points', '+0.10')
    """
    size = size_of(measure, abs(value))
    if not size.strip("0. points"):
        return size
    return f"{'−' if value < 0 else '+'}{size}"


def _number(measure: str, value: float | None) -> str:
    how = presented(measure)
    if value is None:
        return ""
    return f"{100 * value:.1f}%" if how is not None and how.in_percent else decimals(value)


def headline(comparison: Comparison) -> str:
    """The comparison in one line: classes and groups that are lost, then what came of the bounds."""
    lost = [
        verdict
        for verdict in comparison.losses
        if verdict.of_part and (verdict.kind == "loss" or verdict in comparison.lost)
    ]
    lead = [
        verdict.sentence
        for verdict in lost
        if verdict in comparison.lost or "label" not in verdict.estimate.cell
    ]
    classes = [verdict.sentence for verdict in lost if verdict.sentence not in lead]
    if comparison.outcome == "fail":
        lead += [row.verdict.sentence for row in judged_rows(comparison) if row.failed]
        for verdict in comparison.unseen:
            size = size_of(verdict.estimate.measure, comparison.must_see or 0.0)
            lead.append(f"{verdict.subject}, a {verdict.noun} of {size} could have gone unseen")
        return f"Fails: {_few([*lead, *classes])}"
    main = gravest(_judged_overall(comparison)) or comparison.verdict
    words = "nothing to compare" if main is None else main.sentence
    if comparison.outcome == "reported":
        return f"Reported only: {_few([*lead, words, *classes])}"
    if main is not None and main.kind == "cannot tell":
        words = f"Not shown to be worse: {main.subject}{main.words.removeprefix('not shown to be worse')}"
    else:
        words = f"Passes: {words}"
    if any(judgement.bound.measure == LOSS for judgement in comparison.judgements):
        open_ = [
            verdict
            for verdict in comparison.losses
            if verdict.of_part and verdict.kind == "cannot tell" and verdict not in lost
        ]
        widest = max(open_, key=lambda verdict: verdict.at_most, default=None)
        words += f"; in {widest.part}, up to {widest.hidden} could hide" if widest is not None else ""
    return f"{_few([*lead, *classes])}. {words}" if lost else words


def _judged_overall(comparison: Comparison) -> list[Verdict]:
    """The verdicts on what bounds judge, but for single classes and groups."""
    margin = comparison.verdicts[0].margin if comparison.verdicts else 0.0
    judged = [
        estimate
        for judgement in comparison.judgements
        for estimate in judgement.judged
        if not estimate.details.get(FAMILY)
    ]
    return [verdict_on(_alone(estimate), margin) for estimate in judged]


def _few(parts: list[str]) -> str:
    """The first three of them, each once."""
    once = list(dict.fromkeys(parts))
    return "; ".join(once[:3]) + f", and {len(once) - 3} more" * (len(once) > 3)
