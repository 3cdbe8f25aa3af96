"""The items whose labels change most."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from quaver.core.estimate_frame import Deviations
from quaver.report.estimate_index import NO_LABEL, Results
from quaver.report.table_rows import Table, listed, share, tally, text
from quaver.report.tables.cost_tables import Behind

_WORST = 20
_LONGEST = 300


def worst_items_table(results: Results, deviations: Deviations | None, behind: Behind | None) -> Table:
    """The items with the largest shares of deviations, with their text; none if none deviates."""
    if deviations is None:
        return Table((), ())
    moved = deviations.items.filter(pl.col("deviating") > 0)
    worst = moved.head(_WORST).to_dicts()
    if not worst:
        return Table((), ())
    texts = behind.texts([str(row["item"]) for row in worst]) if behind else {}
    columns = (
        text("item", "item"),
        text("text", lambda row: _cut(texts.get(row["item"], ""))),
        text("gold", lambda row: _label(results, row["gold"])),
        text("most frequent label", lambda row: _label(results, row["mode"])),
        share("other answers", "share"),
        tally("answers", "answers"),
        tally("without a label", "unlabelled"),
    )
    left = moved.height - len(worst)
    note = f"{left:,} more items have more than one label." if left else ""
    return replace(listed(worst, columns), note=note)


def _label(results: Results, code: str | None) -> str:
    return "—" if code is None else code if code == NO_LABEL else results.label_name(code)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
