"""What every file about a comparison says of a difference: the same columns, in the same words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from quaver.comparison.bounds import Bound
from quaver.comparison.comparison_result import Comparison
from quaver.comparison.difference_verdict import Verdict, size_of, verdict_on
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
    """A row for each bound and each difference that it was judged by, with the interval that judged."""
    margin = found.verdicts[0].margin if found.verdicts else 0.0
    return _varying(
        Row(verdict_on(_alone(one), margin), dict(one.cell), judgement.bound, one in judgement.failed)
        for judgement in found.judgements
        for one in judgement.judged
    )


def _alone(one: Estimate) -> Estimate:
    """A difference by its interval alone, which is wide enough for all that bounds judge."""
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
    """The comparison in one line: whether its bounds hold, and the verdict that matters most."""
    failed = [row for row in judged_rows(found) if row.failed]
    gravest = found.verdict
    if failed:
        row = failed[0]
        more = f", and {len(failed) - 1} more" * (len(failed) > 1)
        return f"Fails: {row.measure}, {row.verdict.words}{more}"
    words = "nothing to compare" if gravest is None else f"{gravest.estimate.measure}, {gravest.words}"
    return f"Passes: {words}" if found.judgements else f"{words[:1].upper()}{words[1:]}"
