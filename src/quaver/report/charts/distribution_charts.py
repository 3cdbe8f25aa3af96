"""Sensitivity of the items and consistency of their pairs, as distributions by strategy and class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from markupsafe import Markup

from quaver.core.records import Estimate
from quaver.report.charts.chart import chart
from quaver.report.charts.figure import Figure, cell_name, cut, names
from quaver.report.charts.forest import Forest, Mark, draw
from quaver.report.estimate_index import Results, varying
from quaver.report.page_numbers import number, printed
from quaver.report.table_rows import Table, shortened_table

__all__ = ["quantiles_table", "sensitivity_distributions", "spread_out"]

_MOST_ROWS = 90
_KINDS = {
    "sensitivity": ("sensitivity_distribution", "How sensitivity is spread over the items", "single items"),
    "consistency": (
        "consistency_distribution",
        "How consistency is spread over pairs of items",
        "single pairs",
    ),
}


def spread_out(results: Results, measure: str) -> list[Estimate]:
    """The distributions of a measure that there are, from the first evaluator's labels."""
    first = results.evaluators[0] if results.evaluators else ""
    return [
        one
        for one in results.in_order(results.anywhere(measure))
        if one.value is not None
        and one.cell.get("evaluator", first) == first
        and {"0.05", "0.25", "0.75", "0.95"} <= set(one.details.get("quantiles", ()))
    ]


@chart(
    title="The distributions of sensitivity and consistency",
    section="sensitivity",
    kinds=("sensitivity",),
    measures=("sensitivity_distribution", "consistency_distribution"),
    place=30,
)
def sensitivity_distributions(results: Results) -> Iterator[Figure]:
    """A figure for sensitivity and one for consistency, where there are distributions of these."""
    for kind in _KINDS:
        yield from _figure(kind, results)


def _figure(kind: str, results: Results) -> Iterator[Figure]:
    measure, title, of = _KINDS[kind]
    every = spread_out(results, measure)
    # One item has no distribution.
    some = [one for one in every if int(one.details.get("values", 0)) > 1]
    if not some:
        return
    shown = some if len(some) <= _MOST_ROWS else [one for one in some if "class" not in one.cell][:_MOST_ROWS]
    shown = shown or some[:_MOST_ROWS]
    columns = [name for name in varying(some) if name not in ("class", "model", "evaluator")]
    several = len({one.cell.get("model") for one in some}) > 1
    marks = [_mark(one, columns, results, several) for one in shown]
    forest = Forest(marks, kind, domain=(0.0, 1.0))
    title += ", by class" if any("class" in one.cell for one in shown) else ""
    middle = sorted(some, key=lambda one: one.value or 0.0)
    medians = [
        f"{printed(one.value or 0.0)} ({cell_name(one, [*columns, 'model', 'class'], results)})"
        for one in (middle[0], middle[-1])
    ]
    yield Figure(
        draw=partial(draw, forest),
        estimates=some,
        name=f"{kind}-distribution",
        measure=measure,
        title=title,
        subtitle="The dot is the median, the thick line the middle half, the thin line runs from the 5th to "
        f"the 95th percentile. These are values of {of}, not intervals of an estimate."
        + cut(len(shown), len(some), "distributions"),
        alternative=f"Medians from {medians[0]} to {medians[1]}.",
        table=quantiles_table(some, results),
        covers=(measure,),
    )


def _mark(one: Estimate, columns: Sequence[str], results: Results, several: bool) -> Mark:
    at = one.details["quantiles"]
    group = cell_name(one, columns, results, "")
    name = results.label_name(one.cell["class"]) if "class" in one.cell else "all items"
    return Mark(
        one.value or 0.0,
        at["0.25"],
        at["0.75"],
        row=name,
        group=group,
        panel=one.cell.get("model", "") if several else "",
        far=(at["0.05"], at["0.95"]),
    )


def quantiles_table(some: Sequence[Estimate], results: Results) -> Table:
    """The distributions in numbers.

    Args:
        some: With ``quantiles`` in their details.
        results: The study.
    """
    columns = varying(some)
    rows = []
    for one in some:
        cells: list[str | Markup] = [" ".join(names(one, [column], results)) or "all" for column in columns]
        cells += [number(float(value)) for value in one.details["quantiles"].values()]
        rows.append((*cells, f"{one.details.get('values', 0):,}"))
    heads = (*columns, *(f"{100 * float(share):g}%" for share in some[0].details["quantiles"]), "values")
    return shortened_table(heads, rows, range(len(columns), len(heads)))
