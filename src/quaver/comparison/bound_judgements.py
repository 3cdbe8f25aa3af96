"""Judging the bounds of a comparison: by intervals that are wide enough for all of them together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from quaver.comparison.bounds import Bound, Judgement, read_bound
from quaver.comparison.smallest_loss import smallest_loss
from quaver.core import registry
from quaver.core.level_names import short_name
from quaver.core.records import Estimate
from quaver.errors import MeasureError
from quaver.estimation.bootstrap import Resampling
from quaver.measures.validity.conclusion_cell import VERDICTS
from quaver.measures.validity.conclusions import ESTIMATED, JOINT

CONCLUDED: Final = (*ESTIMATED, *VERDICTS, JOINT)
"""What a bound may name beside measures: conclusions."""


def read_bounds(fail_if: Sequence[str], fail_unless: Sequence[str]) -> list[Bound]:
    """Read the bounds of a comparison.

    Args:
        fail_if: Those that fail where the whole interval is beyond them.
        fail_unless: Those that fail where it is not.

    Raises:
        QuaverError: One is no bound.
        UnknownName: There is no such measure.
    """
    known = [*registry.names("measures"), *CONCLUDED]
    found = [read_bound(text, "if", known) for text in fail_if]
    return [*found, *(read_bound(text, "unless", known) for text in fail_unless)]


def judged(
    bounds: Sequence[Bound],
    found: Sequence[Estimate],
    again: Callable[[Resampling], list[Estimate]],
    resampling: Resampling,
    *,
    shared: bool = False,
) -> list[Judgement]:
    """Judge bounds.

    Args:
        bounds: The bounds.
        found: The differences.
        again: Makes the differences anew with intervals of another level.
        resampling: How ``found`` were resampled.
        shared: Whether the level of ``found`` is one at which all bounds together err rarely enough.

    Raises:
        MeasureError: A bound is about no difference that has an interval.
    """
    about = {bound: _intervals(bound, found) for bound in bounds}
    for bound, some in about.items():
        if not some:
            about_it = [one for one in found if bound.about(one)]
            why = sorted({one.reason or ", ".join(one.warnings) for one in about_it})
            cells = [
                ", ".join(f"{column}={short_name(level)}" for column, level in one.cell.items())
                for one in found
                if one.measure == bound.measure
            ]
            raise MeasureError(
                "this bound cannot be judged: none of its differences has an interval",
                where=f"--fail-{bound.kind} {bound.text!r}",
                found="; ".join(why) or f"no such cell; there are {'; '.join(cells[:5]) or 'none'}",
            )
    judging = sum(len(some) for bound, some in about.items() if bound.kind == "if")
    wider = found
    if judging > 1 and not shared:
        # Bonferroni: together they err as often as one interval would.
        wider = again(replace(resampling, confidence_level=1 - 2 * resampling.tail / judging))
    judgements = []
    for bound in bounds:
        some = _intervals(bound, wider) if bound.kind == "if" else about[bound]
        failed = [one for one in some if bound.beyond(one) == (bound.kind == "if")]
        judgements.append(Judgement(bound, some, failed, _smallest(bound, some)))
    return judgements


def _smallest(bound: Bound, about: Sequence[Estimate]) -> float | None:
    """The smallest true difference that a bound would mostly fail for, in every cell that it judges."""
    sign = -1 if bound.sign == "<" else 1
    if bound.kind == "unless" or sign * bound.limit < 0:
        return None
    found = [smallest_loss(one, limit=abs(bound.limit)) for one in about]
    seen = [one for one in found if one is not None]
    return sign * max(seen) if seen and len(seen) == len(found) else None


def _intervals(bound: Bound, found: Sequence[Estimate]) -> list[Estimate]:
    """The differences that a bound is about and that have an interval."""
    return [one for one in found if bound.about(one) and one.low is not None]
