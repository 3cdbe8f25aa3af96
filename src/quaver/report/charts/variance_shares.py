"""Where the variance of the labels is: items, prompts, models, repeats."""

from __future__ import annotations

from functools import partial

from markupsafe import Markup

from quaver.core.records import Estimate
from quaver.report.charts.figure import Figure, cell_name, spoken
from quaver.report.charts.stacks import Bar, draw
from quaver.report.estimate_index import Results, varying
from quaver.report.page_numbers import number, printed
from quaver.report.table_rows import Table

__all__ = ["variance_figure"]

_MEASURE = "generalizability_component"
_MOST = 40


def variance_figure(results: Results) -> Figure | None:
    """The sources' shares of the variance, a bar a cell; None where there are none."""
    every = [
        one
        for one in results.in_order(results.main(_MEASURE))
        if one.value is not None and isinstance(one.details.get("share"), float) and "source" in one.cell
    ]
    if not every:
        return None
    columns = [name for name in varying(every) if name != "source"]
    cells: dict[frozenset[tuple[str, str]], list[Estimate]] = {}
    for one in every:
        cells.setdefault(_without_source(one), []).append(one)
    whole = {frozenset(one.cell.items()): one.value for one in results.main("generalizability")}
    bars = []
    for cell, some in list(cells.items())[:_MOST]:
        phi = whole.get(cell)
        parts = {one.cell["source"]: float(one.details["share"]) for one in some}
        bars.append(Bar(cell_name(some[0], columns, results), parts, "" if phi is None else printed(phi)))
    title = "Where the variance of the labels is"
    first = "; ".join(f"{name} {printed(share, True)}" for name, share in bars[0].parts.items())
    cut = f" The first {_MOST} of {len(cells)} cells are drawn." if len(cells) > _MOST else ""
    return Figure(
        "variance-shares",
        _MEASURE,
        "factors",
        title,
        "What belongs to the items is what labels should follow; all else is the instrument’s. At the end, "
        f"Φ: how dependable a label of the planned design is.{cut}",
        partial(draw, bars, "share of the variance", at_end="Φ"),
        [*results.main("generalizability"), *every],
        f"{title}: {first}. Components: {spoken(every, results)}",
        also=("generalizability",),
        table=_table(every, results),
    )


def _table(every: list[Estimate], results: Results) -> Table:
    columns = [name for name in varying(every) if name != "source"]
    rows: list[tuple[str | Markup, ...]] = []
    for one in every[:400]:
        cells: list[str | Markup] = [cell_name(one, columns, results), one.cell["source"]]
        cells += [number(one.value or 0.0), *("" if e is None else number(e) for e in (one.low, one.high))]
        rows.append((*cells, number(float(one.details["share"]), percent=True)))
    left = len(every) - 400
    note = f"{left} more rows are in estimates.csv." if left > 0 else ""
    heads = ("of", "source", "component", "from", "to", "share")
    return Table(heads, tuple(rows), frozenset(range(2, 6)), note)


def _without_source(one: Estimate) -> frozenset[tuple[str, str]]:
    return frozenset((column, value) for column, value in one.cell.items() if column != "source")
