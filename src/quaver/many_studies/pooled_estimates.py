"""Estimates that several studies have in common, pooled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from quaver.core.records import Estimate
from quaver.many_studies.collection_tables import POOLED
from quaver.many_studies.pooled_effects import SOURCE, pooled_effect

_ENDINGS = ("_difference", "_interaction")


def pooled(found: Sequence[Estimate]) -> Iterator[Estimate]:
    """The effects that several studies estimate, pooled.

    Args:
        found: The studies' estimates, with ``study`` in the cell. Those of differences and interactions
            count; a level, a share say, is not pooled, since tasks are no sample of one number.
    """
    alike: dict[tuple[str, tuple[tuple[str, str], ...]], list[Estimate]] = {}
    for one in found:
        if one.measure.endswith(_ENDINGS):
            rest = tuple(sorted((k, v) for k, v in one.cell.items() if k != "study"))
            alike.setdefault((one.measure, rest), []).append(one)
    for (measure, _), some in alike.items():
        if len({one.cell["study"] for one in some}) < 2:
            continue
        yield _pooled(measure, {k: v for k, v in some[0].cell.items() if k != "study"}, some)


def _pooled(measure: str, cell: Mapping[str, str], some: Sequence[Estimate]) -> Estimate:
    given = [
        (one.value, error) for one in some if one.value is not None and (error := _error(one)) is not None
    ]
    level = some[0].confidence_level
    made = pooled_effect([value for value, _ in given], [error for _, error in given], level)
    base = Estimate(
        measure=measure,
        value=None,
        confidence_level=level,
        n=len(given),
        unit="study",
        estimand=some[0].estimand,
        method="random-effects mean over studies, Paule-Mandel variance, Hartung-Knapp interval",
        reference=SOURCE,
        reason="fewer than two studies with a standard error",
        cell={"study": POOLED, **cell},
        excluded={"study without a standard error": len(some) - len(given)} if len(given) < len(some) else {},
    )
    if made is None:
        return base
    names = ("tau", "i_squared", "q", "p", "next_low", "next_high")
    details = {name: getattr(made, name) for name in names}
    return replace(base, value=made.value, low=made.low, high=made.high, reason=None, details=details)


def _error(one: Estimate) -> float | None:
    """An estimate's standard error, from its interval where it gives none."""
    given = one.details.get("standard_error")
    if one.estimand != "fixed" or given is None:
        if one.low is None or one.high is None:
            return None
        from scipy import special

        return (one.high - one.low) / 2 / float(special.ndtri((1 + one.confidence_level) / 2)) or None
    return float(given) or None
