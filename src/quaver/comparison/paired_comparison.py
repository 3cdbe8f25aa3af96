"""Two studies, or two conditions of one, on the same items: what differs, and by how much."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Annotated, Any

import polars as pl
from pydantic import Field

from quaver.comparison.alignment import (
    ANSWERED,
    Sides,
    changed_items,
    in_common,
    labels_in_common,
    made_alike,
    strings_of,
)
from quaver.comparison.bound_judgements import CONCLUDED, judged, read_bounds
from quaver.comparison.bounds import Bound
from quaver.comparison.comparison_result import Comparison
from quaver.comparison.difference_verdict import MARGIN, verdict_on
from quaver.comparison.flipped_items import changes_of, flips_of
from quaver.comparison.kept_looks import Looks
from quaver.core.arguments import guarded
from quaver.core.records import Estimate
from quaver.errors import MeasureError, QuaverError, UnknownName
from quaver.estimation.bootstrap import Resampling
from quaver.estimation.declaration import Measure
from quaver.estimation.multiple_testing import adjusted
from quaver.estimation.original_prompt import ORIGINAL
from quaver.estimation.paired_differences import paired_differences
from quaver.study.analysis.study_estimates import own_measurements
from quaver.study.collection.study_status import answered_calls
from quaver.study.session import Study
from quaver.study.sources.conclusion_measures import CONCLUSIONS
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
        return _within(before, by or "variant", reference, measures, bounds, resampling, margin)
    if by is not None or reference is not None:
        raise QuaverError(
            "compare two studies, or the levels of one column in one study; not both",
            where="--by" if by is not None else "--reference",
            found=f"{_called(before, after)} and {_called(after, before)}, and a column to compare",
            fix="leave out the second study, or the column",
        )
    return _between(before, after, measures, bounds, resampling, margin, items, cells, looks)


def _check_looks(after: Study | None) -> None:
    """See that there is a version to look at, and a folder for its looks."""
    if after is None:
        raise QuaverError(
            "comparing at every commit needs two studies: a baseline and a version of it",
            where="looks",
            found="one study",
            fix="name the baseline first, then the version",
        )
    after.source.require("owns_folder")


def _between(
    before: Study,
    after: Study,
    measures: Sequence[str] | None,
    bounds: Sequence[Bound],
    resampling: Resampling,
    margin: float,
    items: Collection[str] | None,
    cells: Sequence[str] | None,
    planned: int | None,
) -> Comparison:
    """Compare two studies."""
    left_out: list[str] = []
    frames = [strings_of(one) for one in (before, after)]
    if items is not None:
        frames = [frame.filter(pl.col("item").is_in(list(items))) for frame in frames]
    looks = None
    if planned is not None:
        error = 1 - resampling.confidence_level
        looks = Looks(after.source.files, frames[0], frames[1], planned, error)
    labels_in_common(before, after, left_out)
    for one, other in ((before, after), (after, before)):
        answered, calls = answered_calls(one.source)
        if 0 < answered < calls:
            left_out.append(f"{calls - answered:,} calls of {_called(one, other)} that are not answered yet")
    sides = made_alike(frames[0], frames[1], left_out)
    sides, common = in_common(sides, changed_items(before, after), left_out, "")
    asked = _asked(before, after, measures, bounds)
    if cells is not None:
        asked = [one._replace(options={**one.options, "by": (*cells, "evaluator")}) for one in asked]
    names = (_called(before, after), _called(after, before))
    return _compared(names, [sides], asked, common, left_out, bounds, resampling, margin, looks)


def _within(
    study: Study,
    by: str,
    reference: str | None,
    measures: Sequence[str] | None,
    bounds: Sequence[Bound],
    resampling: Resampling,
    margin: float,
) -> Comparison:
    """Compare the levels of one column in one study."""
    frame = strings_of(study)
    factors = study.experiment.variants[0].factors
    if by in factors:  # the variants must not differ in what is compared
        rest = [pl.format("{}={}", pl.lit(name), pl.col(name)) for name in factors if name != by]
        frame = frame.with_columns(
            (pl.concat_str(rest, separator=",") if rest else pl.lit("all")).alias("variant")
        )
    first, others = _levels(study, frame, by, reference)
    asked = _asked(study, study, measures, bounds)
    left_out: list[str] = []
    all_sides, items = [], set[str]()
    for other in others:
        here = [frame.filter(pl.col(by) == level) for level in (first, other)]
        sides = made_alike(here[0], here[1], left_out, by)
        sides, _ = in_common(sides, frozenset(), left_out, f"{other}: ")
        items.update(sides.before["item"].unique().to_list())
        all_sides.append(sides)
    names = (f"{by} {first}", f"{by} {others[0]}" if len(others) == 1 else f"{len(others)} others")
    return _compared(names, all_sides, asked, len(items), left_out, bounds, resampling, margin)


def _compared(
    names: tuple[str, str],
    pairs: Sequence[Sides],
    asked: Sequence[Measurement],
    items: int,
    left_out: Sequence[str],
    bounds: Sequence[Bound],
    resampling: Resampling,
    margin: float,
    looks: Looks | None = None,
) -> Comparison:
    """What differs between the two sides of each pair, and whether the bounds hold."""

    def differences(resampling: Resampling) -> list[Estimate]:
        return [one for sides in pairs for one in _differences(sides, asked, resampling)]

    found, look = differences(resampling), None
    if looks is not None:
        look = looks.look(bounds, found, pairs[0].before["item"].unique().to_list())
        resampling = replace(resampling, confidence_level=look.level)
        found = differences(resampling)
    return Comparison(
        *names,
        differences=found,
        flips=pl.concat([flips_of(sides) for sides in pairs], how="diagonal"),
        items=items,
        left_out=tuple(dict.fromkeys(left_out)),
        judgements=judged(bounds, found, differences, resampling, shared=look is not None),
        verdicts=[verdict_on(one, margin) for one in found],
        look=look,
    )


def _levels(study: Study, frame: pl.DataFrame, by: str, reference: str | None) -> tuple[str, list[str]]:
    """The level that the others are compared with, and these."""
    columns = [
        name for name in frame.columns if frame[name].dtype == pl.String and name not in ("item", *ANSWERED)
    ]
    if by not in columns:
        raise UnknownName("column", by, columns, where="--by")
    levels = _in_design_order(study, frame, by)
    if reference is not None and reference not in levels:
        raise UnknownName(f"level of {by}", reference, levels, where="--reference")
    first = reference or (levels[0] if levels else "")
    others = [level for level in levels if level != first]
    if not others:
        raise MeasureError(
            f"there is only one {by}", where="--by", expected="two levels or more", found=first or "none"
        )
    return first, others


def _in_design_order(study: Study, frame: pl.DataFrame, by: str) -> list[str]:
    """A column's levels: the original first, then as the study names them, not as they were asked."""
    experiment = study.experiment
    named: dict[str, Sequence[str | None]] = {
        "model": [one.model for one in experiment.conditions],
        "decoding": [one.decoding for one in experiment.conditions],
        "variant": [one.id for one in experiment.variants],
        "evaluator": [one.title for one in study.spec.evaluators],
    }
    there = frame[by].drop_nulls().unique(maintain_order=True).to_list()
    known = named.get(by, [one.factors.get(by) for one in experiment.variants])
    levels: list[str] = [level for level in dict.fromkeys(known) if level is not None and level in there]
    levels += [level for level in there if level not in levels]
    if ORIGINAL in frame.columns and frame[ORIGINAL].dtype == pl.Boolean:
        alone = frame.group_by(by).agg(pl.col(ORIGINAL).fill_null(value=False).all())
        originals = alone.filter(pl.col(ORIGINAL) & pl.col(by).is_not_null())[by].to_list()
    else:
        originals = [ORIGINAL]
    if len(originals) == 1 and originals[0] in levels:
        levels.sort(key=lambda level: level != originals[0])
    return levels


def _called(study: Study, other: Study) -> str:
    if study.spec.name != other.spec.name:
        return study.spec.name
    return study.source.title


# ------------------------------------------------------------------------------- what differs


def _asked(
    before: Study, after: Study, names: Sequence[str] | None, bounds: Sequence[Bound]
) -> list[Measurement]:
    found: dict[tuple[str, ...], Measurement] = {}
    for study in dict.fromkeys((before, after)):
        for one in own_measurements(study.source, names):
            found.setdefault((one.measure, str(one.evaluator), str(one.options["by"])), one)
    asked = list(found.values())
    there = {one.measure for one in asked}
    concluded = [bound for bound in bounds if bound.measure in CONCLUDED]
    if concluded and CONCLUSIONS not in there:
        drawing = [one for one in (before, after) if one.spec.conclusions]
        if not drawing:
            raise MeasureError(
                "this bound is about a conclusion, but neither study draws one",
                where=f"--fail-{concluded[0].kind} {concluded[0].text!r}",
                fix="name one under conclusions in the study file",
            )
        asked += own_measurements(drawing[0].source, [CONCLUSIONS])
    more = dict.fromkeys(bound.measure for bound in bounds if bound not in concluded)
    return [*asked, *own_measurements(before.source, [name for name in more if name not in there])]


def _differences(sides: Sides, asked: Sequence[Measurement], resampling: Resampling) -> list[Estimate]:
    found = []
    for one in asked:
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
    return found
