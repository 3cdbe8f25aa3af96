"""The consistency of every pair of some items of a class, as a matrix."""

from __future__ import annotations

from functools import partial

from markupsafe import Markup

from quaver.report.charts.distribution_charts import spread_out
from quaver.report.charts.figure import Figure, cell_name
from quaver.report.charts.grid import Grid, Square, draw
from quaver.report.estimate_index import Results, varying
from quaver.report.page_numbers import number, printed
from quaver.report.table_rows import Table

__all__ = ["matrix_figure"]

_MOST = 6


def matrix_figure(results: Results) -> Figure | None:
    """The matrices of the first six classes and cells; None where there are none."""
    every = [
        one
        for one in spread_out(results, "consistency_distribution")
        if len(one.details.get("matrix", ())) > 1
    ]
    some = every[:_MOST]
    if not some:
        return None
    columns = varying(every)
    panels = {str(at): cell_name(one, columns, results) for at, one in enumerate(some)}
    squares = [
        Square(str(row), str(column), value, panel=str(at))
        for at, one in enumerate(some)
        for row, values in enumerate(one.details["matrix"])
        for column, value in enumerate(values)
    ]
    under = {str(at): f"median {printed(one.value or 0.0)}" for at, one in enumerate(some)}
    title = "How alike each item is answered to each other of its class"
    cut = f" The first {_MOST} of {len(every)} are drawn." if len(every) > _MOST else ""
    shown = max(len(one.details["matrix"]) for one in some)
    rows: list[tuple[str | Markup, ...]] = []
    for one, name in zip(some, panels.values(), strict=True):
        for row, values in enumerate(one.details["matrix"]):
            means = [value for column, value in enumerate(values) if column != row]
            cells = [number(min(means)), number(max(means))]
            rows.append((name, str(row + 1), *cells))
    told = "; ".join(f"{panels[at]}: {text}" for at, text in under.items())
    return Figure(
        "consistency-matrices",
        "consistency_distribution",
        "sensitivity",
        title,
        f"A row and a column an item (up to {shown} a class, ordered by their most frequent label); "
        f"the darker, the more alike. Blocks are groups of items with labels of their own.{cut}",
        partial(draw, Grid(squares, named=False, names=panels, headings=under)),
        some,
        f"{title}. {told}.",
        table=Table(
            ("of", "item, in the matrix’s order", "least alike to another", "most alike"),
            tuple(rows),
            frozenset({1, 2, 3}),
            "The whole matrices are in estimates.csv, among the details of consistency_distribution.",
        ),
        closer=True,
    )
