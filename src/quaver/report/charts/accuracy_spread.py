"""How far accuracy varies between prompt variants, beside what noise alone gives."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from markupsafe import Markup

from quaver.core.records import Estimate
from quaver.report.charts.chart import chart
from quaver.report.charts.figure import BARS, Figure, cell_name, cut, largest, spoken
from quaver.report.charts.forest import Forest, Mark, draw, rounded_up
from quaver.report.estimate_index import Results, varying
from quaver.report.page_numbers import cell, ends
from quaver.report.table_rows import Table, shortened_table

_MOST = 40
_MEASURED, _CORRECTED, _NOISE = "as measured", "corrected for noise", "noise alone: mean and 95% of draws"


@chart(
    title="How far accuracy varies between the prompts, and how far noise alone would make it vary",
    section="accuracy",
    kinds=("sensitivity", "audit", "factorial"),
    measures=("spread",),
    place=50,
    trends=False,
)
def spread(results: Results) -> Iterator[Figure]:
    """Spread, corrected spread and noise floor in a row for each cell."""
    every = results.known("spread")
    if not every:
        return
    some = largest(every, _MOST)
    columns = varying(every)
    marks = [mark for one in some for mark in _marks(one, cell_name(one, columns, results))]
    top = rounded_up(end for mark in marks for end in (mark.value, mark.high or 0.0))
    floors = sum(one.details.get("floor_high", -1.0) >= (one.value or 0.0) for one in every)
    yield Figure(
        draw=partial(draw, Forest(marks, "highest minus lowest accuracy", percent=True, domain=(0.0, top))),
        estimates=every,
        subtitle="The highest minus the lowest accuracy. Noise alone: the same, where prompts differ "
        f"on each item in a random direction. {BARS}{cut(len(some), len(every), 'spreads', 'largest')}",
        alternative=f"{spoken(every, results)} In {floors} of {len(every)} cells noise alone gives as much.",
        table=_table(every, results),
    )


def _marks(one: Estimate, row: str) -> list[Mark]:
    found = [Mark(one.value or 0.0, one.low, one.high, row=row, series=_MEASURED)]
    if isinstance(corrected := one.details.get("corrected"), float):
        low, high = one.details.get("corrected_interval") or (None, None)
        found.append(Mark(corrected, low, high, row=row, series=_CORRECTED))
    if isinstance(floor := one.details.get("floor"), float):
        found.append(Mark(floor, floor, one.details.get("floor_high"), row=row, series=_NOISE))
    return found


def _table(some: list[Estimate], results: Results) -> Table:
    columns = varying(some)
    rows: list[tuple[str | Markup, ...]] = []
    for one in some:
        shares = (cell(one.details.get(key), percent=True) for key in ("corrected", "floor", "floor_high"))
        prompts = [str(one.details.get(key, "")) for key in ("lowest", "highest")]
        rows.append(
            (
                cell_name(one, columns, results),
                *(cell(one.value, percent=True), *ends(one, percent=True), *shares),
                cell(one.details.get("p")),
                *(results.variant_name(name) if name in results.factor_levels else name for name in prompts),
            )
        )
    heads = ("of", "spread", "from", "to", "corrected", "noise", "95% of noise", "p", "lowest", "highest")
    return shortened_table(heads, rows, range(1, 8))
