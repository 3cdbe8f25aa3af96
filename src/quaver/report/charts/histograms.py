"""Histograms of the consistency of pairs, class by class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import altair as alt
from markupsafe import Markup

from quaver.core.records import Estimate
from quaver.report.charts.chart import chart
from quaver.report.charts.distribution_charts import spread_out
from quaver.report.charts.figure import Figure, cell_name, cut
from quaver.report.charts.theme import (
    DATA,
    INK,
    PAPER,
    Layer,
    fixed,
    inline,
    options,
    panel_heading,
)
from quaver.report.estimate_index import Results, varying
from quaver.report.page_numbers import printed
from quaver.report.table_rows import Table, shortened_table

__all__ = ["consistency_histograms"]

_MOST = 12
_HEIGHT = 90
_NARROWEST = 110


@chart(
    title="How alike the answers to pairs of items of one class are",
    section="sensitivity",
    kinds=("sensitivity",),
    measures=("consistency_distribution",),
    place=60,
)
def consistency_histograms(results: Results) -> Iterator[Figure]:
    """Histograms of the first twelve classes and cells."""
    every = [one for one in spread_out(results, "consistency_distribution") if one.details.get("counts")]
    some = every[:_MOST]
    if not some:
        return
    columns = varying(every)
    cells = [cell_name(one, columns, results) for one in some]
    medians = [f"{cell}: median {printed(one.value or 0.0)}" for cell, one in zip(cells, some, strict=True)]
    yield Figure(
        draw=partial(_draw, some, cells),
        estimates=some,
        subtitle="Pairs of items by their consistency, from 0 (never the same label) to 1 (the same shares "
        f"of labels); the line is the median.{cut(len(some), len(every), 'histograms')}",
        alternative=f"{'; '.join(medians)}.",
        table=_table(every, results),
        closer=True,
    )


def _draw(some: Sequence[Estimate], cells: Sequence[str], *, width: int = 720) -> Any:
    fit = max(1, min(len(some), (width - 10) // (_NARROWEST + 50)))
    each = min(320, (width - 10) / fit - 54)
    panels = [_panel(one, name, each) for one, name in zip(some, cells, strict=True)]
    rows = [alt.hconcat(*panels[at : at + fit], spacing=14) for at in range(0, len(panels), fit)]
    return alt.vconcat(*rows, spacing=10)


def _panel(one: Estimate, name: str, width: float) -> Any:
    counts = one.details["counts"]
    bars = [
        {"low": at / len(counts), "high": (at + 1) / len(counts), "count": count, "zero": 0}
        for at, count in enumerate(counts)
        if count
    ]
    x = alt.X(
        "low:Q",
        scale=options(domain=[0, 1], nice=False),
        axis=options(title=None, values=[0, 0.5, 1], labelFlush=True),
    )
    y = alt.Y("zero:Q", scale=options(domain=[0, max(1, *counts)]), axis=options(title=None, tickCount=2))
    drawn = Layer(inline(bars)).mark_rect(fill=DATA[0], stroke=PAPER, strokeWidth=0.5, opacity=1)
    middle = Layer(inline([{"low": one.value}])).mark_rule(color=INK, strokeWidth=1.2)
    return alt.layer(
        drawn.encode(x=x, x2=alt.X2("high:Q"), y=y, y2=alt.Y2("count:Q")),
        middle.encode(x=x, y=fixed("Y", 0), y2=fixed("Y2", _HEIGHT)),
    ).properties(
        width=width,
        height=_HEIGHT,
        title=panel_heading(name, f"{one.details.get('values', 0):,} pairs", width),
    )


def _table(some: Sequence[Estimate], results: Results) -> Table:
    columns = varying(some)
    bins = len(some[0].details["counts"])
    edges = [f"{at / bins:g} to {(at + 1) / bins:g}" for at in range(bins)]
    rows: list[tuple[str | Markup, ...]] = []
    for one in some:
        for edge, count in zip(edges, one.details["counts"], strict=False):
            if count:
                rows.append((cell_name(one, columns, results), edge, f"{count:,}"))
    return shortened_table(("of", "consistency", "pairs"), rows, {2}, most=600)
