"""Assertions about prompts, whose failures say what was found: labels are stable, a change lost nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from quaver.errors import MeasureError

if TYPE_CHECKING:
    from quaver.comparison.comparison_result import Comparison
    from quaver.core.records import Estimate
    from quaver.study.session import Study

_SHOWN: Final = 10
"""How many cells, and how many items, a failure lists."""

_SIDES: Final = ("before", "after", "gold")


def assert_stable(
    study: Study,
    at_least: float = 0.8,
    *,
    measure: str = "inter_pss",
    field: str | None = None,
    **options: Any,
) -> list[Estimate]:
    """Assert that a study's labels are stable: that the whole interval of a measure reaches a level.

    Args:
        study: The study.
        at_least: The level, such as 0.8 of agreement between prompts.
        measure: A measure of which more is better.
        field: One field of a task with fields; all of them if left out.
        **options: The measure's own, such as ``by=["model"]``.

    Returns:
        The measure's estimates.

    Raises:
        AssertionError: It is not shown: an interval reaches below, or there is none.
        UnknownName: No such measure.
        MeasureError: More of this measure is not better.
    """
    __tracebackhide__ = True
    from quaver.core.number_format import rounded
    from quaver.core.rows import presented

    how = presented(measure)
    if how is not None and how.better != "higher":
        raise MeasureError(
            "more of this measure is not better", where="assert_stable", expected="inter_pss, for instance"
        )
    study = study if field is None else study.field(field)
    estimates = list(study.measure(measure, **options))
    failed = [estimate for estimate in estimates if estimate.low is None or estimate.low < at_least]
    if failed or not estimates:
        lines = [f"{measure} of {study.spec.name!r} is not shown to be {rounded(at_least)} or more:"]
        lines += [
            f"  {_of_cell(estimate)}{_why_not_stable(estimate, at_least)}" for estimate in failed[:_SHOWN]
        ]
        lines += [f"  … and {len(failed) - _SHOWN} more"] * (len(failed) > _SHOWN)
        raise AssertionError("\n".join([*lines, *_least_stable(study)]))
    return estimates


def assert_no_loss(
    study: Study,
    baseline: Study | str | Path | None = None,
    *,
    measure: str | None = None,
    field: str | None = None,
    margin: float | None = None,
    **options: Any,
) -> Comparison:
    """Assert that a change lost nothing, item by item against a baseline.

    Without a margin it fails if a loss is shown, and passes a change that may be none. With a
    margin it fails unless every larger loss is ruled out.

    Args:
        study: The study as it is now.
        baseline: The study before, or its path; if left out, the study's prompts against the original. Of one
            field it is compared in that field.
        measure: What must not get worse; by default ``accuracy``, of a field that holds numbers their mean
            error, ``accuracy_mean_error``.
        field: One field of a task with fields; all of them if left out.
        margin: The largest loss that you take for none, in the measure's own unit: 0.03 is three points.
        **options: What else `quaver.compare` takes: ``by``, ``reference``, ``confidence_level`` …

    Returns:
        The comparison.

    Raises:
        AssertionError: There is a loss, or one cannot be ruled out.
        UnknownName: No such measure or field.
        MeasureError: The measure has no better and worse, or the two have no items in common.
    """
    __tracebackhide__ = True
    from quaver.comparison.paired_comparison import compare
    from quaver.core.records import Numbers
    from quaver.core.rows import measure_of, presented
    from quaver.study.analysis.field_source import FieldSource
    from quaver.study.session import Study

    study = study if field is None else study.field(field)
    before = Study.open(baseline) if isinstance(baseline, str | Path) else baseline
    if before is not None and isinstance(study.source, FieldSource):
        before = before.field(study.source.field.name)
    if measure is None:
        numeric = isinstance(study.experiment.labels, Numbers)
        measure = "accuracy_mean_error" if numeric else "accuracy"
    how = presented(measure)
    if how is not None and how.better is None:
        raise MeasureError("this measure has no better and worse", where="assert_no_loss", found=measure)
    worse, better, sign = ("<", ">", "-") if how is None or how.better == "higher" else (">", "<", "")
    bounds: dict[str, Any] = {"fail_if": [f"{measure} {worse} 0"]}
    if margin is not None:
        bounds = {"fail_unless": [f"{measure} {better} {sign}{margin:.9f}"], "margin": margin}
    first, second = (study, None) if before is None else (before, study)
    comparison = compare(first, second, measures=[measure_of(measure) or measure], **bounds, **options)
    if not comparison.held:
        raise AssertionError(_loss(comparison))
    return comparison


def _loss(comparison: Comparison) -> str:
    """What a comparison found, for people who read a failed test."""
    from quaver.comparison.comparison_result import headline, judged_rows
    from quaver.core.number_format import visible_line
    from quaver.core.records import NO_LABEL

    lines = [
        headline(comparison),
        f"  {comparison.items:,} items in both: {comparison.before}, then {comparison.after}.",
    ]
    rows = [row for row in judged_rows(comparison) if row.failed]
    lines += [f"  {row.where + ': ' if row.where else ''}{row.sentence}" for row in rows[:_SHOWN]]
    flips = comparison.flips
    for row in flips.head(_SHOWN).iter_rows(named=True):
        before, after, gold = (NO_LABEL if row[name] is None else row[name] for name in _SIDES)
        truth = "" if row["gold"] is None else f" (true: {gold})"
        lines.append(f"  item {row['item']}: {before} → {after}{truth}")
    lines += [f"  … and {flips.height - _SHOWN:,} more items"] * (flips.height > _SHOWN)
    return "\n".join(visible_line(line, 300) for line in lines)


def _of_cell(estimate: Estimate) -> str:
    from quaver.core.number_format import short_name, visible_line

    cell = ", ".join(f"{column} {short_name(level)}" for column, level in estimate.cell.items())
    return visible_line(f"{cell}: " if cell else "")


def _why_not_stable(estimate: Estimate, at_least: float) -> str:
    from quaver.core.number_format import count, rounded, with_interval

    if estimate.value is None:
        return f"not defined: {estimate.reason}"
    if estimate.interval is None:
        return f"{rounded(estimate.value)}, without an interval"
    shown = f"{with_interval(estimate, rounded)}, {count(estimate.n, estimate.unit)}"
    _, high = estimate.interval
    return f"{shown}: {'it is lower' if high < at_least else 'cannot tell, more items would'}"


def _least_stable(study: Study) -> list[str]:
    """The items that prompts move most."""
    from quaver.core.number_format import percent, visible_line
    from quaver.study.analysis.measured_study import MeasuredStudy

    if (found := MeasuredStudy(study.source).deviations()) is None:
        return []
    moved = found.items.filter(found.items["deviating"] > 0).head(_SHOWN // 2)
    return [
        visible_line(f"  item {row['item']}: {percent(row['share'])} of its answers differ", 120)
        for row in moved.iter_rows(named=True)
    ]
