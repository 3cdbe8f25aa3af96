"""Estimates in rows with their intervals, as a measure declares that they are shown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import Any

from quaver.core.records import Estimate
from quaver.core.rows import Presentation, by_level, cell_columns, defined, grouped
from quaver.report.charts.chart import cell_name
from quaver.report.charts.forms import Reference, forest, mark
from quaver.report.charts.specification import Row
from quaver.report.estimate_index import Results, varying
from quaver.report.page_words import in_words, named, presentation_of, printed


def score_chart(
    estimates: Sequence[Estimate],
    results: Results,
    *,
    panel: str = "model",
    as_given: bool = False,
    width: int = 720,
    **look: Any,
) -> Any:
    """Estimates of one measure in rows, with intervals.

    Args:
        estimates: Any; those without a value are left out.
        results: The study's.
        panel: The column whose values have a panel each; where another of model and decoding varies too, its
            values have a colour each.
        as_given: Whether the rows stand in the order of the estimates; else in the design's, grouped by the
            factor that moves the labels most.
        width: In pixels.
        look: What `forest` is to draw in another way than the measure declares.

    Returns:
        A Vega-Lite specification, or None where no estimate has a value.
    """
    known = defined(estimates)
    if not known:
        return None
    columns = varying(known)
    apart = [column for column in ("model", "decoding") if column in columns and column != panel]
    series = apart[0] if apart and len(columns) > 1 else ""
    lines = [column for column in columns if column not in (series, panel, "factor")]
    factor = None
    if "variant" in lines and len(results.factors) > 1 and not as_given:
        factor = results.grouping_factor
    kinds, rows = _kinds(known), list[Row]()
    for estimate in known if as_given else _in_order(known, results, factor):
        group = kinds.get(frozenset(estimate.cell), "")
        level = results.factor_levels.get(estimate.cell.get("variant", ""), {}).get(factor or "")
        if level is not None:
            group = f"{in_words(factor or '')}: {level}"
        elif "factor" in columns:
            group = named(estimate, "factor", results)
        where = {
            "row": cell_name(estimate, lines, results, without=None if level is None else factor),
            "group": group,
            "panel": estimate.cell.get(panel, ""),
            "series": estimate.cell.get(series, ""),
        }
        rows.append(mark(estimate, results, **where))
    shown = presentation_of(known[0].measure)
    declared: dict[str, Any] = {
        "axis": shown.axis,
        "percent": shown.in_percent,
        "domain": _ends(shown, known),
        "references": _references(shown, known),
        "order": results.order(panel),
        "names": {name: named(estimate, panel, results) for name, estimate in by_level(known, panel).items()},
    }
    return forest(rows, width=width, **(declared | look))


def _ends(shown: Presentation, estimates: Sequence[Estimate]) -> tuple[float, float] | None:
    """The ends of the axis. A score with a bar is shown down to its lowest value."""
    if shown.ends or shown.bar is None:
        return shown.ends
    return min(0.0, *(estimate.number for estimate in estimates)), 1.0


def _references(shown: Presentation, estimates: Sequence[Estimate]) -> list[Reference]:
    """What is good enough, what says that there is nothing, and what guessing and one label alone give."""
    lines: list[Reference] = [] if shown.bar is None else [(shown.bar, f"dashed: {shown.bar:g}", None)]
    lines += [] if shown.null is None else [(shown.null, "", None)]
    for key, words in (("chance", "dashed: guessing"), ("majority", "the most frequent label")):
        numbers = [
            estimate.details[key] for estimate in estimates if isinstance(estimate.details.get(key), float)
        ]
        if numbers:
            middle = median(numbers)
            lines.append((middle, f"{words} {printed(middle, percent=True)}", None))
    return lines


def _kinds(estimates: Sequence[Estimate]) -> dict[frozenset[str], str]:
    """Headings for estimates whose cells have different columns: what each kind holds fixed."""
    kinds = grouped(estimates, lambda estimate: frozenset(estimate.cell))
    if len(kinds) < 2:
        return {}
    common, order, headings = frozenset.intersection(*kinds), cell_columns(estimates), {}
    for kind in kinds:
        fixed = sorted(kind - common, key=order.index)
        headings[kind] = f"within one {' and '.join(map(in_words, fixed))}" if fixed else "over all"
    return headings


def _in_order(estimates: Sequence[Estimate], results: Results, factor: str | None) -> list[Estimate]:
    """In the design's order, grouped by the factor; numbers by their size."""
    levels = {level: index for index, level in enumerate(results.factors.get(factor or "", ()))}

    def place(estimate: Estimate) -> tuple[Any, ...]:
        level = results.factor_levels.get(estimate.cell.get("variant", ""), {}).get(factor or "", "")
        columns = sorted(estimate.cell)
        numbers = (_number(estimate.cell[column]) for column in columns)
        return (len(columns), columns, levels.get(level, 0), *numbers)

    return sorted(results.in_order(estimates), key=place)


def _number(text: str) -> float:
    """A text's number; infinite where it has none."""
    try:
        value = float(text)
    except ValueError:
        return math.inf
    return value if math.isfinite(value) else math.inf
