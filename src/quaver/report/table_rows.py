"""The tables of the page: plain rows whose numbers keep their full value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import polars as pl
from markupsafe import Markup, escape

from quaver.core.number_format import p_heading
from quaver.core.records import Estimate
from quaver.report.estimate_index import Results
from quaver.report.measure_words import ALL
from quaver.report.page_numbers import interval, number, percent_measure
from quaver.report.warning_phrases import phrase

_MOST_ROWS = 600
_PRINTED = 60
_LONG = 45
_STATUSES = ("valid", "no_label", "ambiguous", "refused", "empty", "error")


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Attributes:
        columns: Headings.
        rows: Cells; text is escaped when it is printed, ``Markup`` is not.
        numeric: Which columns hold numbers.
        note: What is not in it.
        name: Of its files in ``tables/``; empty where it has none.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str | Markup, ...], ...]
    numeric: frozenset[int] = frozenset()
    note: str = ""
    name: str = ""

    @property
    def wordy(self) -> bool:
        """Whether it has long texts; on a phone its rows are then lists."""
        return any(
            len(cell) > _LONG for row in self.rows for at, cell in enumerate(row) if at not in self.numeric
        )

    @property
    def printed(self) -> bool:
        """Whether it is short enough for a paper to print."""
        return 0 < len(self.rows) <= _PRINTED


def shortened_table(
    columns: Sequence[str], rows: Sequence[Sequence[str | Markup]], numeric: Iterable[int], most: int = 400
) -> Table:
    """The first rows as a table, with a note of how many more there are."""
    left = len(rows) - most
    note = f"{left:,} more rows are in estimates.csv." if left > 0 else ""
    return Table(tuple(columns), tuple(map(tuple, rows[:most])), frozenset(numeric), note)


def estimates_table(estimates: Sequence[Estimate], mark: Callable[[str], str | Markup] = phrase) -> Table:
    """Estimates with their cells, intervals and what there is to note about them.

    Args:
        estimates: In any order; the first 600 are shown.
        mark: How a warning stands beside its number; as a plain phrase by default.
    """
    columns = list(dict.fromkeys(c for one in estimates for c in one.cell))
    if len({one.measure for one in estimates}) > 1:
        columns = ["measure", *columns]
    tested = [one for one in estimates if "p_holm" in one.details]
    scoped = any(one.estimand != "fixed" for one in estimates)
    rows = []
    for one in estimates[:_MOST_ROWS]:
        percent = percent_measure(one.measure)
        value = escape("—") if one.value is None else number(one.value, percent)
        verdict = one.details.get("verdict")
        noted = [escape(str(said)) for said in (verdict, one.reason) if said]
        noted += dict.fromkeys(escape(mark(warning)) for warning in one.warnings)
        cells = [one.measure if c == "measure" else one.cell.get(c, ALL.get(c, "all")) for c in columns]
        adjusted = [_p_value(one)] if tested else []
        holds = [one.scope.removeprefix("for ")] if scoped else []
        rows.append((*cells, value, interval(one), *holds, *adjusted, str(one.n), Markup("; ").join(noted)))
    left = len(estimates) - _MOST_ROWS
    heads = (
        *("value", _level(estimates)),
        *(["holds for"] if scoped else []),
        *([p_heading(tested)] if tested else []),
        *("n", "notes"),
    )
    numeric = {at for at, head in enumerate(heads, len(columns)) if head not in ("holds for", "notes")}
    return Table(
        (*columns, *heads),
        tuple(rows),
        frozenset(numeric),
        f"{left:,} more rows are in estimates.csv." if left > 0 else "",
    )


def _p_value(one: Estimate) -> Markup | str:
    return number(one.details["p_holm"]) if "p_holm" in one.details else ""


def verdict(one: Estimate) -> list[str]:
    """The verdict on an estimate that is compared with a threshold; nothing for the others."""
    limit, found = (str(one.details.get(name, "")) for name in ("limit", "verdict"))
    return [f"{found}: {limit}" if limit else found] if found else []


def _level(estimates: Sequence[Estimate]) -> str:
    levels = {one.confidence_level for one in estimates}
    return f"{100 * levels.pop():g}% interval" if len(levels) == 1 else "interval"


def undefined_table(results: Results) -> Table:
    """What could not be measured and why, similar cells together."""
    grouped: dict[tuple[str, str], list[Estimate]] = {}
    for one in results.undefined:
        grouped.setdefault((one.measure, one.reason or "no reason given"), []).append(one)
    rows = []
    for (measure, reason), some in grouped.items():
        rows.append((measure, reason, str(len(some)), _where(some)))
    return Table(("measure", "reason", "estimates", "where"), tuple(rows), frozenset({2}))


def _where(some: Sequence[Estimate]) -> str:
    """What the cells of some estimates share, and how many values there are of the rest."""
    parts = []
    for column in dict.fromkeys(column for one in some for column in one.cell):
        values = list(dict.fromkeys(one.cell.get(column, "all") for one in some))
        parts.append(f"{column} {values[0]}" if len(values) == 1 else f"{len(values)} values of {column}")
    return ", ".join(parts) or "the whole study"


def statuses(results: Results) -> Table:
    """How many answers have which status, by evaluator."""
    frame = results.annotations
    if frame.is_empty() or not {"evaluator", "status"} <= set(frame.columns):
        return Table((), ())
    counted = frame.group_by(pl.col("evaluator", "status").cast(pl.String)).len()
    found = {(evaluator, status): count for evaluator, status, count in counted.iter_rows()}
    known = [s for s in _STATUSES if any(status == s for _, status in found)]
    rows = []
    for evaluator in results.evaluators:
        total = sum(count for (name, _), count in found.items() if name == evaluator)
        rows.append((evaluator, f"{total:,}", *(f"{found.get((evaluator, s), 0):,}" for s in known)))
    columns = ("evaluator", "answers", *(s.replace("_", " ") for s in known))
    return Table(columns, tuple(rows), frozenset(range(1, len(columns))))


_WAYS = {"again": "again, from its cache", "reordered": "in another order", "together": "several at a time"}


def noise_table(results: Results) -> Table:
    """How the engine's answers differ from those of a freshly started engine."""
    rows = []
    for model, found in results.noise.items():
        for one in found:
            counts = (one.get(key) for key in ("answers", "other_text", "other_top", "identical"))
            largest = one.get("largest")
            rows.append(
                (
                    model,
                    _WAYS.get(str(one.get("way")), str(one.get("way"))),
                    *("—" if count is None else str(count) for count in counts),
                    "—" if largest is None else f"{largest:.3g}",
                )
            )
    columns = (
        "model",
        "asked",
        "answers",
        "another text",
        "another most likely token",
        "identical to the last bit",
        "largest difference of a log-probability",
    )
    return Table(columns, tuple(rows), frozenset(range(2, 7)))
