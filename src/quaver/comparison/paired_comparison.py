"""Two studies, or two conditions of one, on the same items: what differs, and by how much."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Annotated, Any

import polars as pl
from pydantic import Field

from quaver.comparison.bound_judgements import judged, read_bounds
from quaver.comparison.bounds import Bound
from quaver.comparison.compared_sides import Pair, Task, called, levels_of_one, two_studies
from quaver.comparison.comparison_result import Comparison
from quaver.comparison.difference_verdict import MARGIN, verdict_on
from quaver.comparison.flipped_items import changes_of, flips_of
from quaver.comparison.kept_looks import Looks
from quaver.core.arguments import guarded
from quaver.core.records import Estimate
from quaver.errors import QuaverError
from quaver.estimation.bootstrap import Resampling
from quaver.estimation.declaration import Measure
from quaver.estimation.multiple_testing import adjusted
from quaver.estimation.paired_differences import paired_differences
from quaver.study.session import Study
from quaver.study.sources.study_folder import StudyFolder

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
    items: Collection[str] | None = None,
    cells: Sequence[str] | None = None,
    looks: Annotated[int, Field(ge=1)] | None = None,
) -> Comparison:
    """Compare two studies on the items that both have, or the conditions of one study with each other.

    Models, variants, decodings and evaluators of the same name are compared with each other; where each
    side has a single one, whatever they are called. Items are the same where their ids are, and what is
    known of their fields.

    Args:
        before: One side.
        after: The other; without it, the conditions of one study are compared.
        by: A column (``"model"``, ``"variant"``, a factor) whose levels in ``before`` are compared; its
            prompts, if there is neither this nor another study.
        reference: The level that the others are compared with; if left out the original, else the first in
            the study's own order.
        measures: Their names; those of the studies' files, if left out. Their differences hold for the
            prompts that were asked, whatever a study's own intervals hold for: items alone are resampled.
        fail_if: Bounds that fail where a difference's whole interval is beyond them: ``accuracy < -0.02``.
            However many differences they are about, together they fail by chance at most as often as one
            interval of this confidence errs: each is judged by a wider one.
        fail_unless: Bounds that fail where it is not.
        confidence_level: Level of the intervals.
        resamples: Random draws behind the measures, where these need them.
        margin: The largest loss that you take for none, in the measure's own unit (0.03 of a share is three
            points): a verdict says "no loss" where every larger one is ruled out.
        items: Only these of two studies' items.
        cells: Columns whose combinations are compared apart; the measures' own if left out.
        looks: How many times you plan to compare a version with this baseline. All intervals are then as wide
            as it takes for the bounds of all these looks together (without bounds: for all differences) to
            err as often as one interval would, at ``1 - confidence_level``. The looks are kept in the second
            study's folder as ``looks.json``.

    Returns:
        The differences, what each amounts to, the smallest loss that would have been seen, the items that
        flipped, and what came of the bounds.

    Raises:
        MeasureError: There are no items, or no cells, that both have; or a bound cannot be judged.
        UnknownName: No such column, level or measure.
    """
    resampling = Resampling(confidence_level, resamples)
    bounds = read_bounds(fail_if, fail_unless)
    if looks is not None:
        _check_looks(after)
    if after is None:
        task = levels_of_one(before, by or "variant", reference, measures, bounds)
        return compared(task, bounds, resampling, margin)
    if by is not None or reference is not None:
        raise both_asked(called(before, after), called(after, before), by)
    task = two_studies(before, after, measures, bounds, items, cells)
    kept = None if looks is None else (after.source.files, looks)
    return compared(task, bounds, resampling, margin, kept)


def both_asked(before: str, after: str, by: str | None) -> QuaverError:
    """The error where two studies are named and a column to compare."""
    return QuaverError(
        "compare two studies, or the levels of one column in one study; not both",
        where="--reference" if by is None else "--by",
        found=f"{before} and {after}, and a column to compare",
        fix="leave out the second study, or the column",
    )


def _check_looks(after: Study | None) -> None:
    """See that there is a version to look at, and a folder for its looks."""
    if after is None:
        raise one_alone()
    after.source.require("owns_folder")


def one_alone() -> QuaverError:
    """The error where many looks are planned and there is no version to look at."""
    return QuaverError(
        "comparing at every commit needs two studies: a baseline and a version of it",
        where="looks",
        found="one study",
        fix="name the baseline first, then the version",
    )


def compared(
    task: Task,
    bounds: Sequence[Bound],
    resampling: Resampling,
    margin: float,
    kept: tuple[StudyFolder, int] | None = None,
) -> Comparison:
    """What differs between the two sides of each pair, and whether the bounds hold.

    Args:
        task: What is compared.
        bounds: What is judged.
        resampling: Draws and level of the intervals.
        margin: The largest loss that counts for none.
        kept: Where looks at this baseline are kept, and how many are planned; None for a single look.
    """

    def differences(resampling: Resampling) -> list[Estimate]:
        return [one for pair in task.pairs for one in _differences(pair, resampling)]

    looks, look = None, None
    if kept is not None and task.whole is not None:
        looks = Looks(kept[0], *task.whole, kept[1], 1 - resampling.confidence_level)
    found = differences(resampling)
    if looks is not None:
        items = [item for pair in task.pairs for item in pair.sides.before["item"].unique().to_list()]
        look = looks.look(bounds, found, items)
        resampling = replace(resampling, confidence_level=look.level)
        found = differences(resampling)
    return Comparison(
        task.before,
        task.after,
        differences=found,
        flips=pl.concat([_flips(pair) for pair in task.pairs], how="diagonal"),
        items=task.items,
        left_out=tuple(dict.fromkeys(task.left_out)),
        judgements=judged(bounds, found, differences, resampling, shared=look is not None),
        verdicts=[verdict_on(one, margin) for one in found],
        look=look,
    )


def _flips(pair: Pair) -> pl.DataFrame:
    found = flips_of(pair.sides)
    place = [pl.lit(value).alias(name) for name, value in pair.place.items()]
    return found.select("item", *place, pl.exclude("item")) if place else found


def _differences(pair: Pair, resampling: Resampling) -> list[Estimate]:
    found, sides = [], pair.sides
    for one in pair.asked:
        by = tuple(dict.fromkeys((*one.options["by"], *sides.compared)))
        by = tuple(name for name in by if name in sides.before.columns and name in sides.after.columns)
        how: dict[str, Any] = {
            "by": by,
            "resamples": resampling.resamples,
            "confidence_level": resampling.confidence_level,
            "keep": ["draws"],
        }
        if isinstance(one.plugin, Measure):
            # A difference between two sides is one for the prompts that both have.
            how["estimand"] = "fixed"
            one = one._replace(named={name: v for name, v in one.named.items() if name != "estimand"})
        seeded = replace(resampling, seed=one.options["seed"])
        before, after = one.of(sides.before, **how), one.of(sides.after, **how)
        found += adjusted(paired_differences(before, after, seeded, changes_of(sides, by)))
    return [replace(one, cell={**pair.place, **one.cell}) for one in found] if pair.place else found
