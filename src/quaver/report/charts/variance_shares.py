"""Where the variance of the labels is: items, prompts, models, repeats."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from quaver.core.records import Estimate
from quaver.report.charts.chart import chart
from quaver.report.charts.figure import Figure, cell_name, cut, spoken
from quaver.report.charts.stacks import Bar, draw
from quaver.report.estimate_index import Results, varying, without
from quaver.report.page_numbers import cell, ends, printed
from quaver.report.table_rows import Table, shortened_table

_MEASURE = "generalizability_component"
_MOST = 40


@chart(
    title="Where the variance of the labels is",
    section="factors",
    kinds=("stability", "sensitivity"),
    measures=(_MEASURE, "generalizability"),
    place=60,
)
def variance_shares(results: Results) -> Iterator[Figure]:
    """The sources' shares of the variance, a bar for each cell."""
    every = [
        one
        for one in results.known(_MEASURE)
        if isinstance(one.details.get("share"), float) and "source" in one.cell
    ]
    if not every:
        return
    columns = [name for name in varying(every) if name != "source"]
    cells = without(every, "source")
    coefficients = {frozenset(one.cell.items()): one.value for one in results.main("generalizability")}
    bars = []
    for where, some in list(cells.items())[:_MOST]:
        phi = coefficients.get(where)
        parts = {one.cell["source"]: float(one.details["share"]) for one in some}
        bars.append(Bar(cell_name(some[0], columns, results), parts, "" if phi is None else printed(phi)))
    first = "; ".join(f"{name} {printed(share, True)}" for name, share in bars[0].parts.items())
    yield Figure(
        draw=partial(draw, bars, "share of the variance", at_end="Φ"),
        estimates=[*results.main("generalizability"), *every],
        subtitle="The labels should follow the items’ part; the rest comes from the instrument. At the end, "
        f"Φ: how dependable a label of the planned design is.{cut(len(bars), len(cells), 'cells')}",
        alternative=f"{first}. Components: {spoken(every, results)}",
        table=_table(every, columns, results),
    )


def _table(every: list[Estimate], columns: list[str], results: Results) -> Table:
    rows = [
        (
            cell_name(one, columns, results),
            one.cell["source"],
            cell(one.value),
            *ends(one),
            cell(one.details["share"], percent=True),
        )
        for one in every
    ]
    return shortened_table(("of", "source", "component", "from", "to", "share"), rows, range(2, 6))
