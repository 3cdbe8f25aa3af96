"""What every file about a comparison says of a difference: the same columns, in the same words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from quaver.comparison.bounds import LOSS, Bound
from quaver.comparison.comparison_result import Comparison
from quaver.comparison.difference_verdict import FAMILY, Verdict, gravest, size_of, verdict_on
from quaver.core.number_format import decimals, short_name
from quaver.core.presentation import presented
from quaver.core.records import Estimate


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
        one = self.verdict.estimate
        if one.low is None or one.high is None:
            return ""
        low, high = signed(self.measure, one.low), signed(self.measure, one.high)
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


def rows_of(found: Comparison) -> list[Row]:
    """A row for each difference, its cell reduced to what varies."""
    return _varying(Row(one, dict(one.estimate.cell)) for one in found.verdicts)


def judged_rows(found: Comparison) -> list[Row]:
    """A row for each class that is lost, each bound and each difference that judged it, with its interval."""
    margin = found.verdicts[0].margin if found.verdicts else 0.0
    lost = [Row(one, dict(one.estimate.cell), None, one.kind == "loss") for one in found.lost]
    judged = [
        Row(verdict_on(_alone(one), margin), dict(one.cell), judgement.bound, one in judgement.failed)
        for judgement in found.judgements
        for one in judgement.judged
    ]
    return _varying([*lost, *judged]) if judged else []


def loss_rows(found: Comparison) -> list[Row]:
    """A row for each class that is no longer answered, and for what users lose."""
    return _varying(Row(one, dict(one.estimate.cell)) for one in found.losses)


def _alone(one: Estimate) -> Estimate:
    """A difference by its interval alone, which is wide enough for all that bounds judge."""
    if FAMILY in one.details:  # which are judged together, not by wider intervals
        return one
    return replace(one, details={name: value for name, value in one.details.items() if name != "p_holm"})


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


def headline(found: Comparison) -> str:
    """The comparison in one line: classes and groups that are lost, then what came of the bounds."""
    lost = [one for one in found.losses if one.of_part and (one.kind == "loss" or one in found.lost)]
    lead = [one.sentence for one in lost if one in found.lost or "label" not in one.estimate.cell]
    classes = [one.sentence for one in lost if one.sentence not in lead]
    if found.outcome == "fail":
        lead += [row.verdict.sentence for row in judged_rows(found) if row.failed]
        for one in found.unseen:
            size = size_of(one.estimate.measure, found.must_see or 0.0)
            lead.append(f"{one.subject}, a {one.noun} of {size} could have gone unseen")
        return f"Fails: {_few([*lead, *classes])}"
    main = gravest(_judged_overall(found)) or found.verdict
    words = "nothing to compare" if main is None else main.sentence
    if found.outcome == "reported":
        return f"Reported only: {_few([*lead, words, *classes])}"
    if main is not None and main.kind == "cannot tell":
        words = f"Not shown to be worse: {main.subject}{main.words.removeprefix('not shown to be worse')}"
    else:
        words = f"Passes: {words}"
    if any(one.bound.measure == LOSS for one in found.judgements):
        open_ = [one for one in found.losses if one.of_part and one.kind == "cannot tell" and one not in lost]
        widest = max(open_, key=lambda one: one.at_most, default=None)
        words += f"; in {widest.part}, up to {widest.hidden} could hide" if widest is not None else ""
    return f"{_few([*lead, *classes])}. {words}" if lost else words


def _judged_overall(found: Comparison) -> list[Verdict]:
    """The verdicts on what bounds judge, but for single classes and groups."""
    margin = found.verdicts[0].margin if found.verdicts else 0.0
    judged = [each for one in found.judgements for each in one.judged if not each.details.get(FAMILY)]
    return [verdict_on(_alone(each), margin) for each in judged]


def _few(parts: list[str]) -> str:
    """The first three of them, each once."""
    once = list(dict.fromkeys(parts))
    return "; ".join(once[:3]) + f", and {len(once) - 3} more" * (len(once) > 3)
