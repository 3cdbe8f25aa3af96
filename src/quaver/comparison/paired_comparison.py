"""Two studies, or two conditions of one, on the same items: what differs, and by how much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from quaver.comparison.alignment import Sides
from quaver.comparison.bounds import Bound, judged, lost_classes, of_family, read_bounds
from quaver.comparison.compared_sides import Pair, Task, by_field, called, levels_of_one, two_studies
from quaver.comparison.comparison_result import Comparison
from quaver.comparison.difference_verdict import MARGIN, Verdict, verdict_on
from quaver.comparison.flipped_items import Changes, flips_of
from quaver.core.arguments import guarded
from quaver.core.records import Estimate
from quaver.errors import QuaverError
from quaver.estimation.bootstrap import Resampling
from quaver.estimation.coded_columns import Gathered
from quaver.estimation.declaration import Measure
from quaver.estimation.multiple_testing import adjusted
from quaver.estimation.paired_differences import paired_differences
from quaver.study.session import Study
from quaver.study.sources.study_plugins import Measurement

_RESAMPLES = 2000


@guarded
def compare(
    before: Study,
    after: Study | None = None,
    *,
    by: str | None = None,
    reference: str | None = None,
    measures: Sequence[str] | None = None,
    fail_if: Sequence[str] = (),
    fail_unless: Sequence[str] = (),
    confidence_level: float = 0.95,
    resamples: int = _RESAMPLES,
    margin: float = MARGIN,
) -> Comparison:
    """Compare two studies on the items that both have, or the conditions of one study with each other.

    Models, variants, decodings and evaluators of the same name are compared; single ones, whatever their
    names. Items are the same where their ids are, and what is known of them. A task's fields are compared one
    by one and judged together; their name is in the differences' cells.

    Args:
        before: One side.
        after: The other; without it, the conditions of one study are compared.
        by: The column whose levels in ``before`` are compared, if no other study is; by default its prompts.
        reference: The level to compare the others with; by default the original, else the first.
        measures: Their names; those of the studies' files by default. Their differences hold for the
            prompts that were asked, whatever a study's own intervals hold for: items alone are resampled.
        fail_if: Bounds that fail where a difference's whole interval is beyond them: ``accuracy < -0.02``.
            Together they fail by chance at most as often as one interval of this confidence errs.
        fail_unless: Bounds that fail where it is not.
        confidence_level: Level of the intervals.
        resamples: Random draws behind the measures, where these need them.
        margin: The largest loss that you take for none, in the measure's own unit: 0.03 is three points.

    Raises:
        MeasureError: There are no items, or no cells, that both have; or a bound cannot be judged.
        UnknownName: No such column, level or measure.
    """
    bounds = read_bounds(fail_if, fail_unless)
    judging = Judging(bounds, Resampling(confidence_level, resamples), margin)
    if after is None:

        def levels_of(one: Study, _: Study, place: Mapping[str, str]) -> Task:
            return levels_of_one(one, by or "variant", reference, measures, bounds, place)

        return compared(by_field(before, before, levels_of), judging)
    if by is not None or reference is not None:
        raise both_asked(called(before, after), called(after, before), by)

    def both(one: Study, other: Study, place: Mapping[str, str]) -> Task:
        return two_studies(one, other, measures, bounds, place)

    return compared(by_field(before, after, both), judging)


@dataclass(frozen=True, slots=True)
class Judging:
    """What differences are judged by: bounds, intervals, and how large a loss matters (see `compare`)."""

    bounds: Sequence[Bound]
    resampling: Resampling
    margin: float = MARGIN


def both_asked(before: str, after: str, by: str | None) -> QuaverError:
    """The error where two studies are named and a column to compare."""
    return QuaverError(
        "compare two studies, or the levels of one column in one study; not both",
        where="--reference" if by is None else "--by",
        found=f"{before} and {after}, and a column to compare",
        fix="leave out the second study, or the column",
    )


def compared(task: Task, judging: Judging) -> Comparison:
    """What differs between the two sides of each pair, and whether the bounds hold."""
    bounds, resampling, margin = judging.bounds, judging.resampling, judging.margin

    def differences(resampling: Resampling) -> list[Estimate]:
        estimates = []
        for pair in task.pairs:
            estimates += _differences(pair, pair.sides, pair.asked, resampling)
        return estimates

    estimates, lost, gone = differences(resampling), list[Estimate](), list[Verdict]()
    for pair in task.pairs:
        lost += of_family(_differences(pair, pair.judged, pair.family, resampling), pair.sides)
        gone += lost_classes(pair.judged, pair.classes, pair.place, resampling.tail / len(task.pairs))
    lost = adjusted(lost)
    return Comparison(
        task.before,
        task.after,
        differences=estimates,
        flips=pl.concat([_flips(pair) for pair in task.pairs], how="diagonal"),
        items=task.items,
        left_out=tuple(dict.fromkeys(task.left_out)),
        notes=tuple(dict.fromkeys(task.notes)),
        judgements=judged(bounds, [*estimates, *lost], differences, resampling),
        verdicts=[verdict_on(estimate, margin) for estimate in estimates],
        losses=[*gone, *(verdict_on(estimate, margin) for estimate in lost)],
    )


def _flips(pair: Pair) -> pl.DataFrame:
    frame = flips_of(pair.sides)
    expressions = [pl.lit(value).alias(name) for name, value in pair.place.items()]
    return frame.select("item", *expressions, pl.exclude("item")) if expressions else frame


def _differences(
    pair: Pair, sides: Sides, measurements: Sequence[Measurement], resampling: Resampling
) -> list[Estimate]:
    estimates = []
    first, second, changes = Gathered(sides.before), Gathered(sides.after), Changes(sides)
    for measurement in measurements:
        by = tuple(dict.fromkeys((*measurement.options["by"], *sides.compared)))
        by = tuple(name for name in by if name in sides.before.columns and name in sides.after.columns)
        how: dict[str, Any] = {
            "by": by,
            "resamples": resampling.resamples,
            "confidence_level": resampling.confidence_level,
            "keep": ["draws"],
        }
        if isinstance(measurement.plugin, Measure):
            # A difference between two sides is one for the prompts that both have.
            how["estimand"] = "fixed"
            measurement = measurement._replace(
                named={name: v for name, v in measurement.named.items() if name != "estimand"}
            )
        seeded = replace(resampling, seed=measurement.options["seed"])
        before, after = measurement.of(first, **how), measurement.of(second, **how)
        estimates += adjusted(paired_differences(before, after, seeded, changes.within(by)))
    return (
        [replace(estimate, cell={**pair.place, **estimate.cell}) for estimate in estimates]
        if pair.place
        else estimates
    )
