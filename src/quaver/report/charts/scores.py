"""Any measure's estimates, cell by cell, with what they are compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from statistics import median
from typing import Any

from quaver.core.records import Estimate
from quaver.report.charts.forest import Forest, Mark, Reference, draw
from quaver.report.estimate_index import Results, varying
from quaver.report.measure_words import ALL, presentation_of
from quaver.report.page_numbers import printed

__all__ = ["MOST_ROWS", "accuracy_chart", "score_chart", "stability_chart"]

MOST_ROWS = 120
"""Of more cells than these, the lowest and highest are drawn; the table and the CSV hold all."""


def score_chart(
    estimates: Sequence[Estimate],
    results: Results,
    *,
    factor: str | None = None,
    panel: str | None = None,
    references: Sequence[Reference] = (),
    domain: tuple[float, float] | None = None,
    width: int = 720,
    title: str = "",
    subtitle: str = "",
) -> Any:
    """One measure's estimates in rows, with intervals.

    Args:
        estimates: Of one measure; those without a value are left out.
        results: The study they are of.
        factor: The factor of the variants whose levels group the rows.
        panel: A column of the cells whose values stand side by side.
        references: Lines to compare with.
        domain: Ends of the axis; by default those of the data.
        width: Of the whole, in pixels.
        title: Its title; none where the page says it.
        subtitle: What the marks mean.

    Returns:
        An ``altair`` chart, or None where no estimate has a value.
    """
    known = [one for one in estimates if one.value is not None]
    if not known:
        return None
    columns = varying(known)
    series = "decoding" if "decoding" in columns and len(columns) > 1 else None
    if panel is None and "model" in columns:
        panel = "model"
    shown = presentation_of(known[0].measure)
    domain = domain or shown.ends
    if not references and shown.null is not None:
        references = [Reference(shown.null, "")]
    told = [c for c in columns if c not in (series, panel)]
    apart = _apart(known)
    marks = [
        _mark(results, one, told, factor, series, panel, apart) for one in _drawn(known, results, factor)
    ]
    forest = Forest(
        marks,
        shown.axis,
        percent=shown.in_percent,
        domain=domain,
        references=references,
        order=results.order(panel) if panel else (),
    )
    return draw(forest, width=width, title=title, subtitle=subtitle)


def _apart(known: Sequence[Estimate]) -> dict[frozenset[str], str]:
    """Headings for estimates whose cells have unlike columns: what each kind holds fixed."""
    kinds = list(dict.fromkeys(frozenset(one.cell) - set(ALL) for one in known))
    if len(kinds) < 2:
        return {}
    common = frozenset.intersection(*kinds)
    order = list(dict.fromkeys(column for one in known for column in one.cell))
    headings = {}
    for kind in kinds:
        fixed = [column for column in order if column in kind - common]
        headings[kind] = f"within one {' and '.join(fixed)}" if fixed else "over all"
    return headings


def _drawn(known: Sequence[Estimate], results: Results, factor: str | None) -> list[Estimate]:
    """In the design's order, grouped by the factor; of too many, the ends."""
    chosen = list(known)
    if len(chosen) > MOST_ROWS:
        chosen.sort(key=lambda one: one.value or 0.0)
        chosen = chosen[: MOST_ROWS // 2] + chosen[-MOST_ROWS // 2 :]
    places = {
        column: {name: at for at, name in enumerate(results.order(column))}
        for column in {column for one in chosen for column in one.cell}
    }
    levels = {level: at for at, level in enumerate(results.factors.get(factor or "", ()))}

    def order(one: Estimate) -> tuple[Any, ...]:
        level = results.factor_levels.get(one.cell.get("variant", ""), {}).get(factor or "", "")
        cell = (
            (places[c].get(v, len(places[c])), _amount(v), v)
            for c, v in sorted(one.cell.items(), reverse=True)
        )
        return (len(one.cell), sorted(one.cell), levels.get(level, 0), *cell)

    return sorted(chosen, key=order)


def _amount(level: str) -> float:
    """A level as a number, to stand after a lower one; those that are none, in their own order, last."""
    try:
        return float(level)
    except ValueError:
        return inf


def _mark(
    results: Results,
    one: Estimate,
    told: Sequence[str],
    factor: str | None,
    series: str | None,
    panel: str | None,
    apart: Mapping[frozenset[str], str],
) -> Mark:
    variant = one.cell.get("variant")
    level = results.factor_levels.get(variant or "", {}).get(factor or "")
    grouped = level is not None and len(results.factors) > 1
    names = []
    for column in told:
        value = one.cell.get(column)
        if value is None:  # this estimate is about all of them
            value = ALL.get(column)
            if value is None:
                continue
        if column == "variant":
            value = results.variant_name(value, without=factor if grouped else None)
        elif column in ("label", "class"):
            value = results.label_name(value)
        names.append(value)
    group = f"{factor}: {level}" if grouped else apart.get(frozenset(one.cell) - set(ALL), "")
    return Mark(
        one.value or 0.0,
        one.low,
        one.high,
        row=" · ".join(names) or "all answers",
        group=group,
        panel=one.cell.get(panel, "") if panel else "",
        series=one.cell.get(series, "") if series else "",
    )


def stability_chart(
    estimates: Sequence[Estimate], results: Results, *, bar: float = 0.8, **options: Any
) -> Any:
    """Stability scores beside the customary bar. Options are those of `score_chart`."""
    known = [one.value for one in estimates if one.value is not None]
    low = min([0.0, *known])
    return score_chart(
        estimates,
        results,
        references=[Reference(bar, f"dashed: {bar}")],
        domain=(min(0.0, low), 1.0),
        **options,
    )


def accuracy_chart(estimates: Sequence[Estimate], results: Results, **options: Any) -> Any:
    """Accuracy beside guessing and the most frequent label. Options are those of `score_chart`."""
    references = []
    for key, text in (("chance", "dashed: guessing"), ("majority", "the most frequent label")):
        found = [one.details[key] for one in estimates if isinstance(one.details.get(key), float)]
        if found:
            middle = median(found)
            references.append(Reference(middle, f"{text} {printed(middle, percent=True)}"))
    return score_chart(estimates, results, references=references, domain=(0.0, 1.0), **options)
