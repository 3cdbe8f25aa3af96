"""Estimates as tables on the terminal, with a column for whatever differs among them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from rich.console import Group

from quaver.cli.console import table, texts
from quaver.core.number_format import decimals, p_heading, percent, rounded, short_name, span

if TYPE_CHECKING:
    from quaver.core.records import Estimate


_SAID_BY_UNIT = "estimand"
"""A column of cells that tables leave out: the unit says in words which prompts an interval holds for."""


def estimates_tables(estimates: Sequence[Estimate], *, together: bool = False) -> Iterator[Group]:
    """Tables of estimates; the title holds what all rows of a table share."""

    def kind(estimate: Estimate) -> tuple[str, ...]:
        return (*([] if together else [estimate.measure]), *estimate.cell)

    for _, group in groupby(estimates, key=kind):
        rows = list(group)
        cells_of = [{c: short_name(v) for c, v in row.cell.items() if c != _SAID_BY_UNIT} for row in rows]
        labels = [{"measure": row.measure, **cell} for row, cell in zip(rows, cells_of, strict=True)]
        shared = {c: v for c, v in labels[0].items() if all(row[c] == v for row in labels)}
        differing = [column for column in labels[0] if column not in shared]
        title = ", ".join(v if c == "measure" else f"{c} {v}" for c, v in shared.items())
        tested = [row for row in rows if "p_holm" in row.details]
        judged = ["verdict"] if any("verdict" in row.details for row in rows) else []
        cells = [
            (
                *(about[column] for column in differing),
                *numbers(row),
                *(_p_value(row) for _ in tested[:1]),
                row.n,
                row.resampled,
                *(_verdict(row) for _ in judged),
            )
            for about, row in zip(labels, rows, strict=True)
        ]
        tests = [p_heading(tested)] if tested else []
        headings = (
            *differing,
            "value",
            f"{rows[0].confidence_level:.0%} interval",
            *tests,
            "n",
            "unit",
            *judged,
        )
        yield table(headings, cells, title)


def conclusion_tables(estimates: Sequence[Estimate]) -> Iterator[Group]:
    """What follows under every specification: a table for each conclusion and cell, by estimate."""
    apart = ("conclusion", "model", "decoding", "evaluator")

    def cell(estimate: Estimate) -> tuple[str, ...]:
        return tuple(estimate.cell.get(column, "") for column in apart)

    lines_of = texts("conclusion", VERDICTS=_VERDICTS, share=_share, decimals=decimals)
    for key, group in groupby(sorted(estimates, key=cell), key=cell):
        rows = list(group)
        counts = [estimate for estimate in rows if "verdict" not in estimate.details]
        drawn = sorted((estimate for estimate in rows if "verdict" in estimate.details), key=_in_order)
        shown = [
            (
                _labels_of(estimate),
                *numbers(estimate),
                estimate.details["verdict"],
                _share(estimate.details.get("accuracy")),
                estimate.n,
            )
            for estimate in drawn
        ]
        about = [f"{c} {v}" for c, v in zip(apart[1:], key[1:], strict=True) if v]
        title = lines_of("title", key[0], about, drawn, counts)
        level = f"{drawn[0].confidence_level:.0%} interval"
        columns = ("labels of", "estimate", level, "verdict", "right", "n")
        yield table(columns, shown, "\n".join(title))


def _in_order(estimate: Estimate) -> tuple[int, bool, float]:
    """Corrected first, then gold alone, then by the estimate."""
    index = (
        _FIRST.index(estimate.measure)
        if estimate.measure in _FIRST and "model" not in estimate.cell
        else len(_FIRST)
    )
    return (index, estimate.value is None, estimate.number)


def _labels_of(estimate: Estimate) -> str:
    """Whose labels an estimate is of."""
    if "variant" not in estimate.cell:
        return _TOGETHER.get(estimate.measure, "")
    return short_name(estimate.cell["variant"])


_FIRST = ("conclusion_corrected", "conclusion_gold")
_TOGETHER = {
    "conclusion_corrected": "all, corrected by gold",
    "conclusion": "all answers",
    "conclusion_majority": "majority of variants",
    "conclusion_gold": "gold labels",
}
_VERDICTS = {
    "conclusion_holds": "holds",
    "conclusion_reverses": "reverses",
    "conclusion_undecided": "not distinguishable",
}


def _share(value: float | None) -> str:
    return "" if value is None else percent(value)


def flips_tables(estimates: Sequence[Estimate]) -> Iterator[Group]:
    """What evaluators read differently, a row a cell: labels gained, lost and changed, and accuracy."""

    def pair(estimate: Estimate) -> tuple[str, ...]:
        return tuple(v for c, v in estimate.cell.items() if c != "variant")

    for _, group in groupby(sorted(estimates, key=pair), key=pair):
        rows: dict[str, dict[str, Estimate]] = {}
        for one in group:
            variant = short_name(one.cell.get("variant", "all"))
            rows.setdefault(variant, {})[one.measure.removeprefix("evaluator_flips")] = one
        cell = next(iter(rows.values()))[""].cell
        title = ", ".join(f"{c} {v}" for c, v in cell.items() if c != "variant")
        columns = ("variant", *_COUNTS, "by first", "by second", "gain", "interval", "newly wrong")
        yield table(columns, [_flips(variant, of) for variant, of in rows.items()], title)


_KINDS = ("_accuracy_first", "_accuracy_second", "_accuracy_gain", "_newly_wrong")
_COUNTS = ("answers", "same", "gained", "lost", "changed")


def _flips(variant: str, of: dict[str, Estimate]) -> tuple[str | int, ...]:
    counts = (of[""].details.get(kind, 0) for kind in _COUNTS)
    first, second, gain, harm = (_value(of.get(kind)) for kind in _KINDS)
    ends = of.get("_accuracy_gain")
    interval = "" if ends is None else span(ends.low, ends.high, decimals)
    return (variant, *counts, first, second, gain, interval, harm)


def _value(estimate: Estimate | None) -> str:
    return "—" if estimate is None or estimate.value is None else decimals(estimate.value)


def _p_value(estimate: Estimate) -> str:
    """Its p value, adjusted for all tests of its family."""
    return rounded(estimate.details["p_holm"]) if "p_holm" in estimate.details else ""


def _verdict(estimate: Estimate) -> str:
    """The verdict on an estimate that has a threshold."""
    limit, verdict = (str(estimate.details.get(name, "")) for name in ("limit", "verdict"))
    return f"{verdict} ({limit})" if limit else verdict


def numbers(estimate: Estimate) -> tuple[str, str]:
    """Value and interval, or why it is undefined."""
    if estimate.value is None:
        return "undefined", estimate.reason or ""
    return decimals(estimate.value), span(estimate.low, estimate.high, decimals)
