"""The distributions of the labels of models, strategies, temperatures or whatever else a study asks for."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from quaver.report.charts.chart import chart
from quaver.report.charts.distribution_shifts import gold_bar
from quaver.report.charts.figure import Figure, cell_name, cut
from quaver.report.charts.stacks import Bar, draw
from quaver.report.estimate_index import NO_LABEL, Results, varying, without

__all__ = ["label_distributions"]

_MOST = 40


@chart(
    title="The distributions of the labels",
    section="factors",
    measures=("label_shares",),
    place=30,
    trends=False,
)
def label_distributions(results: Results) -> Iterator[Figure]:
    """A bar for each cell that is more than one variant, below the gold labels."""
    every = [
        one for one in results.known("label_shares") if "variant" not in one.cell and "label" in one.cell
    ]
    columns = [column for column in varying(every) if column != "label"]
    cells = without(every, "label")
    if not every or (len(cells) == 1 and not results.gold_shares):
        return
    codes = [*results.label_names, *(one.cell["label"] for one in every)]
    order = [code for code in dict.fromkeys(codes) if code != NO_LABEL] + [NO_LABEL]
    bars = [gold_bar(results, order)] if results.gold_shares else []
    for some in list(cells.values())[:_MOST]:
        shares = {one.cell["label"]: one.value or 0.0 for one in some}
        parts = {code: shares.get(code, 0.0) for code in order}
        bars.append(Bar(cell_name(some[0], columns, results), parts))
    beside = " beside the gold labels" if results.gold_shares else ""
    whole = "all answers" if any(one.cell["label"] == NO_LABEL for one in every) else "answers with a label"
    yield Figure(
        draw=partial(draw, bars, "share of answers", names=results.label_names),
        estimates=every,
        measure="label_distributions",
        title=f"The distributions of the labels{beside}",
        subtitle=f"Shares of {whole}. The table has their 95% intervals."
        + cut(len(bars) - bool(results.gold_shares), len(cells), "cells"),
    )
