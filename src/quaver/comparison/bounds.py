"""Bounds that a comparison must not cross: ``accuracy < -0.02``, judged by the interval."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from quaver.comparison.difference_verdict import size_of
from quaver.comparison.smallest_loss import SEEN
from quaver.core.level_names import is_level
from quaver.core.records import Estimate
from quaver.errors import QuaverError, UnknownName

_BOUND = re.compile(r"\s*(\w+)\s*(?:\[([^\]]*)\])?\s*([<>])\s*([-+]?(?:\d+\.?\d*|\.\d+))\s*")


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """What a difference may not be, or must be.

    Attributes:
        measure: Whose difference.
        where: In which cells, by column: ``accuracy[variant=plain] < 0`` (see `level_names.is_level`).
        sign: On which side of the limit.
        limit: In the measure's own unit.
        kind: ``"if"`` fails where the whole interval lies on that side; ``"unless"`` where it does not.
        text: As it was written.
    """

    measure: str
    where: Mapping[str, str]
    sign: Literal["<", ">"]
    limit: float
    kind: Literal["if", "unless"]
    text: str

    def about(self, one: Estimate) -> bool:
        """Whether it is about this difference."""
        same = all(is_level(one.cell, column, level) for column, level in self.where.items())
        return one.measure == self.measure and same

    def beyond(self, one: Estimate) -> bool:
        """Whether the whole of a difference's interval lies on the bound's side of its limit."""
        if one.low is None or one.high is None:
            return False
        return one.high < self.limit if self.sign == "<" else one.low > self.limit


@dataclass(frozen=True, slots=True)
class Judgement:
    """A bound, and what came of it.

    Attributes:
        bound: The bound.
        judged: The differences that it is about, with the intervals that it was judged by.
        failed: Those for which it fails.
        smallest: The smallest true difference beyond which four of five runs like this one would fail, in
            every cell that was judged; None where none would, or where the bound wants something shown.
    """

    bound: Bound
    judged: Sequence[Estimate]
    failed: Sequence[Estimate]
    smallest: float | None = None

    @property
    def held(self) -> bool:
        """Whether nothing failed."""
        return not self.failed

    @property
    def verdict(self) -> str:
        """The bound, and what came of it, in words."""
        count = len(self.judged)
        intervals = f"{count} interval{'s' * (count != 1)} of {self.judged[0].confidence_level:.4g}"
        verdict = "holds" if self.held else "FAILS"
        return f"--fail-{self.bound.kind} {self.bound.text}: {verdict}, by {intervals}."

    @property
    def seen(self) -> str:
        """What would have failed a bound that held, in words; empty where there is nothing to say."""
        if self.bound.kind == "unless" or not self.held:
            return ""
        if self.smallest is None:
            return "With so few items it cannot fail, whatever the true difference."
        sign = "−" if self.smallest < 0 else "+"
        size = size_of(self.bound.measure, abs(self.smallest), up=True)
        return f"A true difference of {sign}{size} fails it in {SEEN:.0%} of runs like this one."

    @property
    def nearest(self) -> Estimate:
        """Of the intervals that judged, the one nearest to the verdict that was not given."""
        end = 1 if self.bound.sign == "<" else 0
        towards = 1 if (self.bound.sign == ">") == (self.bound.kind == "if") else -1
        return max(self.judged, key=lambda one: towards * ((one.low, one.high)[end] or 0.0))


def read_bound(text: str, kind: Literal["if", "unless"], known: Sequence[str]) -> Bound:
    """Read a bound.

    Args:
        text: ``MEASURE < NUMBER`` or ``>``, after the measure perhaps ``[column=level, …]``.
        kind: Whether it says when to fail or when not to.
        known: The measures there are.

    Raises:
        QuaverError: It is no bound.
        UnknownName: There is no such measure.

    >>> bound = read_bound("accuracy[model=m] < -0.02", "if", ["accuracy"])
    >>> bound.measure, dict(bound.where), bound.sign, bound.limit
    ('accuracy', {'model': 'm'}, '<', -0.02)
    """
    where = f"--fail-{kind}"
    match = _BOUND.fullmatch(text)
    pairs = [part.partition("=") for part in (match[2] or "").split(",") if part.strip()] if match else []
    if not match or any(not (column.strip() and sign) for column, sign, _ in pairs):
        raise QuaverError(
            "this is not a bound",
            where=where,
            expected="a measure, < or >, and a number: accuracy < -0.02, label_shares[label=yes] > 0.05",
            found=text,
        )
    measure, _, sign, limit = match.groups()
    if measure not in known:
        raise UnknownName("measure", measure, known, where=where)
    levels = {column.strip(): level.strip() for column, _, level in pairs}
    return Bound(measure, levels, "<" if sign == "<" else ">", float(limit), kind, " ".join(text.split()))
