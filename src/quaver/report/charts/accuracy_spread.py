"""How far accuracy lies apart between variants, beside what noise alone gives."""

from __future__ import annotations

from functools import partial
from typing import Any

from markupsafe import Markup

from quaver.core.records import Estimate
from quaver.report.charts.figure import Figure, cell_name, spoken
from quaver.report.charts.forest import Forest, Mark, draw, rounded_up
from quaver.report.estimate_index import Results, varying
from quaver.report.page_numbers import number
from quaver.report.table_rows import Table

__all__ = ["spread_figure"]

_MOST = 40
_MEASURED, _CORRECTED, _NOISE = "as measured", "less what noise adds", "noise alone: mean and 95% of draws"


def spread_figure(results: Results) -> Figure | None:
    """Spread, corrected spread and noise floor a row; None where there is no spread."""
    every = [one for one in results.in_order(results.main("spread")) if one.value is not None]
    if not every:
        return None
    some = sorted(every, key=lambda one: -(one.value or 0.0))[:_MOST] if len(every) > _MOST else every
    columns = varying(every)
    marks = [mark for one in some for mark in _marks(one, cell_name(one, columns, results))]
    top = rounded_up(end for mark in marks for end in (mark.value, mark.high or 0.0))
    title = "How far accuracy lies apart between the prompts, and how far noise alone would put it"
    cut = f" The {_MOST} largest of {len(every)} are drawn." if len(every) > _MOST else ""
    floors = sum(one.details.get("floor_high", -1.0) >= (one.value or 0.0) for one in every)
    return Figure(
        "spread",
        "spread",
        "accuracy",
        title,
        "The highest less the lowest accuracy. Noise alone: the same, with each item’s answers dealt to the "
        f"prompts at random. Lines are 95% intervals.{cut}",
        partial(draw, Forest(marks, "highest less lowest accuracy", percent=True, domain=(0.0, top))),
        every,
        f"{title}. {spoken(every, results)} In {floors} of {len(every)} cells noise alone gives as much.",
        table=_table(every, results),
    )


def _marks(one: Estimate, row: str) -> list[Mark]:
    found = [Mark(one.value or 0.0, one.low, one.high, row=row, series=_MEASURED)]
    if isinstance(corrected := one.details.get("corrected"), float):
        ends = one.details.get("corrected_interval") or (None, None)
        found.append(Mark(corrected, ends[0], ends[1], row=row, series=_CORRECTED))
    if isinstance(floor := one.details.get("floor"), float):
        found.append(Mark(floor, floor, one.details.get("floor_high"), row=row, series=_NOISE))
    return found


def _table(some: list[Estimate], results: Results) -> Table:
    columns = varying(some)
    rows: list[tuple[str | Markup, ...]] = []
    for one in some[:400]:
        told: list[str | Markup] = [cell_name(one, columns, results), _share(one.value)]
        told += [_share(end) for end in (one.low, one.high)]
        told += [_share(one.details.get(key)) for key in ("corrected", "floor", "floor_high")]
        p = one.details.get("p")
        told.append(number(p) if isinstance(p, float) else "")
        ends = [str(one.details.get(key, "")) for key in ("lowest", "highest")]
        told += [results.variant_name(name) if name in results.factor_levels else name for name in ends]
        rows.append(tuple(told))
    heads = ("of", "spread", "from", "to", "corrected", "noise", "95% of noise", "p", "lowest", "highest")
    return Table(heads, tuple(rows), frozenset(range(1, 8)))


def _share(value: Any) -> Markup | str:
    return number(value, percent=True) if isinstance(value, float) else ""
