"""Label distributions side by side, of models, strategies, temperatures or whatever else a study asks for."""

from __future__ import annotations

from functools import partial

from quaver.core.records import Estimate
from quaver.report.charts.distribution_shifts import gold_bar
from quaver.report.charts.figure import Figure, cell_name, spoken
from quaver.report.charts.stacks import Bar, draw
from quaver.report.estimate_index import NO_LABEL, Results, varying

__all__ = ["label_stack_figure"]

_MOST = 40


def label_stack_figure(results: Results) -> Figure | None:
    """A bar a cell that is no single variant, below the gold labels; None where there are none."""
    known = [one for one in results.main("label_shares") if one.value is not None]
    every = results.in_order(one for one in known if "variant" not in one.cell and "label" in one.cell)
    columns = [column for column in varying(every) if column != "label"]
    cells: dict[frozenset[tuple[str, str]], list[Estimate]] = {}
    for one in every:
        cells.setdefault(frozenset(one.cell.items()) - {("label", one.cell["label"])}, []).append(one)
    if not every or (len(cells) == 1 and not results.gold_shares):
        return None
    codes = [*results.label_names, *(one.cell["label"] for one in every)]
    order = [code for code in dict.fromkeys(codes) if code != NO_LABEL] + [NO_LABEL]
    bars = [gold_bar(results, order)] if results.gold_shares else []
    for some in list(cells.values())[:_MOST]:
        shares = {one.cell["label"]: one.value or 0.0 for one in some}
        parts = {code: shares.get(code, 0.0) for code in order}
        bars.append(Bar(cell_name(some[0], columns, results), parts))
    title = "How the labels are distributed, side by side"
    beside = " with the gold labels" if results.gold_shares else ""
    cut = f" The first {_MOST} of {len(cells)} are drawn." if len(cells) > _MOST else ""
    whole = "all answers" if any(one.cell["label"] == NO_LABEL for one in every) else "answers with a label"
    return Figure(
        "label-distributions",
        "label_distributions",
        "factors",
        title + beside,
        f"Shares of {whole}; their 95% intervals are among the numbers.{cut}",
        partial(draw, bars, "share of answers", names=results.label_names),
        every,
        f"{title}{beside}. {spoken(every, results)}",
    )
