"""The distributions of the labels under each condition, beside the gold labels."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from quaver.core.records import Estimate
from quaver.report.charts.chart import chart
from quaver.report.charts.figure import Figure, cell_name, cut, largest, names, spoken
from quaver.report.charts.stacks import Bar, draw
from quaver.report.estimate_index import Results, varying
from quaver.report.page_numbers import cell, ends, number, printed
from quaver.report.table_rows import Table, shortened_table

__all__ = ["distribution_shift", "gold_bar"]

_MOST = 40


@chart(
    title="The distribution of the labels under each condition",
    section="factors",
    kinds=("sensitivity", "mcq"),
    measures=("distribution_shift_tv", "distribution_shift_js"),
    place=50,
)
def distribution_shift(results: Results) -> Iterator[Figure]:
    """The distribution under each condition, beside the gold labels."""
    every = [one for one in results.known("distribution_shift_tv") if one.details.get("shares")]
    if not every:
        return
    columns = varying(every)
    kept = {id(one) for one in largest(every, _MOST)}
    some = [one for one in every if id(one) in kept]
    order = list(dict.fromkeys((*results.label_names, *(n for one in every for n in one.details["shares"]))))
    bars = [gold_bar(results, order)] if results.gold_shares else []
    bars += [
        Bar(
            _name(one, columns, results),
            {name: float(one.details["shares"].get(name, 0.0)) for name in order},
            printed(one.value or 0.0),
        )
        for one in some
    ]
    yield Figure(
        draw=partial(draw, bars, "share of labels", names=results.label_names, at_end="distance"),
        estimates=every,
        title="The distribution of the labels under each condition"
        + (", beside the gold labels" if results.gold_shares else ""),
        subtitle="Shares of the answers with a label. At the end: the total variation distance to what each "
        "condition is compared with (0: the same, 1: nothing in common)."
        + cut(len(some), len(every), "shifts", "largest"),
        alternative=f"Distances: {spoken(every, results)}",
        table=_table(every, order, results),
    )


def _name(one: Estimate, columns: list[str], results: Results) -> str:
    """Its cell; each level with its factor if the cells are of different factors."""
    if all(column in one.cell for column in columns):
        return cell_name(one, columns, results)
    parts = [f"{c}: {' '.join(names(one, [c], results))}" for c in columns if c in one.cell]
    return " · ".join(parts) or "all answers"


def gold_bar(results: Results, order: list[str]) -> Bar:
    """The distribution of the gold labels."""
    return Bar("gold labels", {name: results.gold_shares.get(name, 0.0) for name in order}, bold=True)


def _table(some: list[Estimate], order: list[str], results: Results) -> Table:
    columns = varying(some)
    rows = [
        (
            _name(one, columns, results),
            *(number(float(one.details["shares"].get(name, 0.0)), percent=True) for name in order),
            cell(one.value),
            *ends(one),
            *(cell(one.details.get(key)) for key in ("floor_high", "p_holm")),
        )
        for one in some
    ]
    heads = ("of", *map(results.label_name, order), "distance", "from", "to", "95% of noise", "p (Holm)")
    return shortened_table(heads, rows, range(1, len(heads)))
