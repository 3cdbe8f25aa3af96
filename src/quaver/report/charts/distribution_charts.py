"""Sensitivity of the items and consistency of their pairs, as distributions by strategy and class."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from quaver.core.records import Estimate
from quaver.report.charts.figure import Figure, cell_name, names
from quaver.report.charts.forest import Forest, Mark, draw
from quaver.report.estimate_index import Results, varying
from quaver.report.page_numbers import number, printed
from quaver.report.table_rows import Table

__all__ = ["distribution_figures", "quantiles_table", "spread_out"]

_MOST_ROWS = 90
_KINDS = {
    "sensitivity": ("sensitivity_distribution", "How sensitivity is spread over the items", "an item"),
    "consistency": ("consistency_distribution", "How consistency is spread over pairs of items", "a pair"),
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


def distribution_figures(results: Results) -> list[Figure]:
    """A figure for sensitivity and one for consistency, where there are distributions of these."""
    made = [_figure(kind, results) for kind in _KINDS]
    return [figure for figure in made if figure is not None]


def _figure(kind: str, results: Results) -> Figure | None:
    measure, title, of = _KINDS[kind]
    every = spread_out(results, measure)
    # One item has no distribution.
    some = [one for one in every if int(one.details.get("values", 0)) > 1]
    if not some:
        return None
    shown = some if len(some) <= _MOST_ROWS else [one for one in some if "class" not in one.cell][:_MOST_ROWS]
    shown = shown or some[:_MOST_ROWS]
    cut = f" {len(shown)} of {len(some)} distributions are drawn." if len(shown) < len(some) else ""
    columns = [name for name in varying(some) if name not in ("class", "model", "evaluator")]
    several = len({one.cell.get("model") for one in some}) > 1
    marks = [_mark(one, columns, results, several) for one in shown]
    forest = Forest(marks, kind, domain=(0.0, 1.0))
    title += ", by class" if any("class" in one.cell for one in shown) else ""
    middle = sorted(some, key=lambda one: one.value or 0.0)
    told = [
        f"{printed(one.value or 0.0)} ({cell_name(one, [*columns, 'model', 'class'], results)})"
        for one in (middle[0], middle[-1])
    ]
    return Figure(
        f"{kind}-distribution",
        measure,
        "sensitivity",
        title,
        f"The dot is the median, the thick line the middle half, the thin one from the 5th to the 95th of "
        f"a hundred: what it is for {of} of the data, not an interval of an estimate.{cut}",
        lambda **how: draw(forest, **how),
        some,
        f"{title}: medians from {told[0]} to {told[1]}.",
        table=quantiles_table(some, results),
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


def quantiles_table(some: Sequence[Estimate], results: Results, most: int = 400) -> Table:
    """The distributions in numbers.

    Args:
        some: With ``quantiles`` in their details.
        results: The study.
        most: Rows; the CSV has all.
    """
    columns = varying(some)
    rows = []
    for one in some[:most]:
        cells: list[str | Markup] = [" ".join(names(one, [column], results)) or "all" for column in columns]
        cells += [number(float(value)) for value in one.details["quantiles"].values()]
        rows.append((*cells, f"{one.details.get('values', 0):,}"))
    shares = list(some[0].details["quantiles"])
    heads = (*columns, *(f"{100 * float(share):g} %" for share in shares), "values")
    left = len(some) - most
    return Table(
        heads,
        tuple(rows),
        frozenset(range(len(columns), len(heads))),
        f"{left} more rows are in estimates.csv." if left > 0 else "",
    )
