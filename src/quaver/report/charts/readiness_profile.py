"""The profile of readiness: each criterion against its threshold, model by model."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from markupsafe import Markup

from quaver.core.records import Estimate
from quaver.report.charts.chart import chart
from quaver.report.charts.figure import Figure, cell_name
from quaver.report.charts.grid import Grid, Square, draw
from quaver.report.charts.mark_words import about
from quaver.report.estimate_index import Results, varying
from quaver.report.measure_words import in_words
from quaver.report.page_numbers import interval, number, percent_measure, printed
from quaver.report.table_rows import Table

_PREFIX = "readiness_"
_SHADES = {"met": 0.9, "undecided": 0.4}
_SHORT = {"undecided": "open"}
_NAMES = {
    "accuracy": "accuracy",
    "compliance": "valid answers",
    "spread": "spread of accuracy over prompts",
    "flips": "different label by another rule",
    "ece": "calibration error, tokens",
    "parse_rate": "stated confidence found",
    "stated_ece": "calibration error, stated",
}


@chart(
    title="The profile against the thresholds of the study",
    section="readiness",
    kinds=("audit",),
    measures=("readiness*",),
    place=10,
)
def readiness(results: Results) -> Iterator[Figure]:
    """A square for each criterion and model."""
    every = _judged(results)
    if not every:
        return
    columns = varying(every)
    squares = [
        Square(
            f"{_criterion(one)}: {_limit(one)}",
            cell_name(one, columns, results, "verdict"),
            _SHADES.get(_verdict(one), 0.0),
            f"{_value(one)} · {_SHORT.get(_verdict(one), _verdict(one))}",
            marked=_verdict(one) == "not met",
            about=f"{about(one, results)}; {_limit(one)}: {_verdict(one)}",
        )
        for one in every
    ]
    verdicts = [_verdict(one) for one in every]
    counts = ", ".join(f"{verdicts.count(kind)} {kind}" for kind in ("met", "not met", "undecided"))
    yield Figure(
        draw=partial(draw, Grid(squares)),
        estimates=[*every, *results.of("readiness")],
        measure="readiness",
        subtitle="Dark: met, the whole interval is on the right side of the threshold. Framed: not met, all "
        "of it is on the other side. Light: open, undecided.",
        alternative=f"Of {len(every)} criteria: {counts}. The table has them all.",
        table=readiness_table(results),
    )


def readiness_table(results: Results) -> Table:
    """A row a criterion and model: value, interval, threshold, verdict."""
    every = _judged(results)
    columns = varying(every)
    rows: list[tuple[str | Markup, ...]] = []
    for one in every:
        value = "—" if one.value is None else number(one.value, percent_measure(one.measure))
        why = "" if one.reason is None else f" ({one.reason})"
        cells = (cell_name(one, [column], results) for column in columns)
        rows.append((*cells, _criterion(one), value, interval(one), _limit(one), _verdict(one) + why))
    heads = (*columns, "criterion", "value", "95% interval", "threshold", "verdict")
    return Table(heads, tuple(rows), frozenset({len(columns) + 1, len(columns) + 2}))


def _judged(results: Results) -> list[Estimate]:
    some = [one for one in results.estimates if one.measure.startswith(_PREFIX) and "verdict" in one.details]
    order = list(dict.fromkeys(one.measure for one in some))
    return sorted(results.in_order(some), key=lambda one: order.index(one.measure))


def _criterion(one: Estimate) -> str:
    name = one.measure.removeprefix(_PREFIX)
    return _NAMES.get(name, in_words(name))


def _verdict(one: Estimate) -> str:
    return str(one.details["verdict"])


def _limit(one: Estimate) -> str:
    """``at least 80%``, in the unit of the criterion."""
    least = "at least" if str(one.details.get("limit", "")).startswith("at least") else "at most"
    return f"{least} {printed(float(one.details.get('threshold', 0.0)), percent_measure(one.measure))}"


def _value(one: Estimate) -> str:
    return "—" if one.value is None else printed(one.value, percent_measure(one.measure))
