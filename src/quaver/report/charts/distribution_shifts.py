"""Label distributions side by side, with gold: where the labels go when the question is put otherwise."""

from __future__ import annotations

from functools import partial

from markupsafe import Markup

from quaver.core.records import Estimate
from quaver.report.charts.figure import Figure, cell_name, names, spoken
from quaver.report.charts.stacks import Bar, draw
from quaver.report.estimate_index import Results, varying
from quaver.report.page_numbers import number, printed
from quaver.report.table_rows import Table

__all__ = ["gold_bar", "shift_figure"]

_MOST = 40


def shift_figure(results: Results) -> Figure | None:
    """The distribution in each condition; None where no shift was measured."""
    every = [
        one
        for one in results.in_order(results.main("distribution_shift_tv"))
        if one.value is not None and one.details.get("shares")
    ]
    if not every:
        return None
    columns = varying(every)
    some = every
    if len(every) > _MOST:
        kept = {id(one) for one in sorted(every, key=lambda one: -(one.value or 0.0))[:_MOST]}
        some = [one for one in every if id(one) in kept]
    labels = [*results.label_names, *(name for one in every for name in one.details["shares"])]
    order = list(dict.fromkeys(labels))
    bars = [gold_bar(results, order)] if results.gold_shares else []
    bars += [
        Bar(
            _name(one, columns, results),
            {name: float(one.details["shares"].get(name, 0.0)) for name in order},
            printed(one.value or 0.0),
        )
        for one in some
    ]
    title = "How the labels are distributed under each condition"
    beside = ", beside the gold labels" if results.gold_shares else ""
    cut = f" The {_MOST} largest shifts of {len(every)} are drawn." if len(every) > _MOST else ""
    return Figure(
        "distribution-shift",
        "distribution_shift_tv",
        "factors",
        title + beside,
        "Shares of the answers with a label; at the end, the total variation distance to what each is "
        f"compared with (0: the same, 1: nothing in common).{cut}",
        partial(
            draw,
            bars,
            "share of labels",
            names=results.label_names,
            at_end="distance",
        ),
        every,
        f"{title}. Distances: {spoken(every, results)}",
        also=("distribution_shift_js",),
        table=_table(every, order, results),
    )


def _name(one: Estimate, columns: list[str], results: Results) -> str:
    """Its cell, each level with its factor where not all cells are of the same factors."""
    if all(column in one.cell for column in columns):
        return cell_name(one, columns, results)
    told = [f"{c}: {' '.join(names(one, [c], results))}" for c in columns if c in one.cell]
    return " · ".join(told) or "all answers"


def gold_bar(results: Results, order: list[str]) -> Bar:
    """How the gold labels are distributed."""
    return Bar("gold labels", {name: results.gold_shares.get(name, 0.0) for name in order}, bold=True)


def _table(some: list[Estimate], order: list[str], results: Results) -> Table:
    columns = varying(some)
    rows: list[tuple[str | Markup, ...]] = []
    for one in some[:400]:
        told: list[str | Markup] = [_name(one, columns, results)]
        told += [number(float(one.details["shares"].get(name, 0.0)), percent=True) for name in order]
        told += [number(one.value or 0.0)]
        told += ["" if end is None else number(end) for end in (one.low, one.high)]
        told += [
            number(v) if isinstance(v := one.details.get(k), float) else "" for k in ("floor_high", "p_holm")
        ]
        rows.append(tuple(told))
    heads = ("of", *map(results.label_name, order), "distance", "from", "to", "95% of noise", "p (Holm)")
    left = len(some) - 400
    note = f"{left} more rows are in estimates.csv." if left > 0 else ""
    return Table(heads, tuple(rows), frozenset(range(1, len(heads))), note)
