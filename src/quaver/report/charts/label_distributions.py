"""The distributions of the labels, beside the gold labels: cell by cell, and how conditions shift them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from quaver.core.records import Estimate
from quaver.report.charts.chart import chart
from quaver.report.charts.figure import Figure, cell_name, cut, largest, names, spoken
from quaver.report.charts.mark_words import place_of
from quaver.report.charts.stacks import Bar, draw
from quaver.report.estimate_index import NO_LABEL, Results, varying, without
from quaver.report.page_numbers import cell, ends, number, printed
from quaver.report.table_rows import Table, shortened_table

_MOST_SHIFTS = 40


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
    kept = {id(one) for one in largest(every, _MOST_SHIFTS)}
    some = [one for one in every if id(one) in kept]
    order = list(dict.fromkeys((*results.label_names, *(n for one in every for n in one.details["shares"]))))
    bars = [gold_bar(results, order)] if results.gold_shares else []
    bars += [
        Bar(
            _name(one, columns, results),
            {name: float(one.details["shares"].get(name, 0.0)) for name in order},
            printed(one.value or 0.0),
            place=place_of(one, results),
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


_MOST_CELLS = 40


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
    for some in list(cells.values())[:_MOST_CELLS]:
        shares = {one.cell["label"]: one.value or 0.0 for one in some}
        parts = {code: shares.get(code, 0.0) for code in order}
        bars.append(Bar(cell_name(some[0], columns, results), parts, place=place_of(some[0], results)))
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
