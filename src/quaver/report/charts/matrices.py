"""The consistency of every pair of some items of a class, as a matrix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from markupsafe import Markup

from quaver.core.records import Estimate
from quaver.report.charts.chart import chart
from quaver.report.charts.distribution_charts import spread_out
from quaver.report.charts.figure import Figure, cell_name, cut
from quaver.report.charts.grid import Grid, Square, draw
from quaver.report.estimate_index import Results, varying
from quaver.report.page_numbers import number, printed
from quaver.report.table_rows import Table

__all__ = ["consistency_matrices"]

_MOST = 6


@chart(
    title="How alike the answers to each two items of a class are",
    section="sensitivity",
    kinds=("sensitivity",),
    measures=("consistency_distribution",),
    place=50,
)
def consistency_matrices(results: Results) -> Iterator[Figure]:
    """The matrices of the first six classes and cells."""
    every = [
        one
        for one in spread_out(results, "consistency_distribution")
        if len(one.details.get("matrix", ())) > 1
    ]
    some = every[:_MOST]
    if not some:
        return
    columns = varying(every)
    panels = {str(at): cell_name(one, columns, results) for at, one in enumerate(some)}
    medians = {str(at): f"median {printed(one.value or 0.0)}" for at, one in enumerate(some)}
    squares = [
        Square(str(row), str(column), value, panel=str(at))
        for at, one in enumerate(some)
        for row, values in enumerate(one.details["matrix"])
        for column, value in enumerate(values)
    ]
    shown = max(len(one.details["matrix"]) for one in some)
    values = "; ".join(f"{panels[at]}: {text}" for at, text in medians.items())
    yield Figure(
        draw=partial(draw, Grid(squares, named=False, names=panels, headings=medians)),
        estimates=some,
        subtitle=f"A row and a column for each item (up to {shown} a class, ordered by their most frequent "
        "label); the darker, the more alike. Blocks are groups of items with labels of their own."
        + cut(len(some), len(every), "matrices"),
        alternative=f"{values}.",
        table=_table(some, list(panels.values())),
        closer=True,
    )


def _table(some: Sequence[Estimate], panels: Sequence[str]) -> Table:
    """For each item the ends of its consistency with the others."""
    rows: list[tuple[str | Markup, ...]] = []
    for one, name in zip(some, panels, strict=True):
        for row, values in enumerate(one.details["matrix"]):
            means = [value for column, value in enumerate(values) if column != row]
            rows.append((name, str(row + 1), number(min(means)), number(max(means))))
    return Table(
        ("of", "item, in the matrix’s order", "least alike to another", "most alike"),
        tuple(rows),
        frozenset({1, 2, 3}),
        "The whole matrices are in estimates.csv, among the details of consistency_distribution.",
    )
