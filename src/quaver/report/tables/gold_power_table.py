"""The table of what more gold labels would bring to each conclusion."""

from __future__ import annotations

from quaver.core.records import Estimate
from quaver.report.estimate_index import Results
from quaver.report.page_numbers import number
from quaver.report.table_rows import Table


def gold_power_table(results: Results) -> Table:
    """A row for each conclusion that gold labels correct; no rows where none does."""
    known = [one for one in results.estimates if one.measure == "conclusion_corrected"]
    rows = tuple(_row(one) for one in known if one.value is not None and "more_gold" in one.details)
    heads = (
        *("conclusion", "gold labels", "like", "width now", "with 20 more", "decided then"),
        "labels for 80% power",
    )
    return Table(heads, rows, frozenset(range(1, 7)), name="gold-power")


def _row(one: Estimate) -> tuple[str, ...]:
    more, needed = one.details["more_gold"], one.details.get("gold_needed")
    where = ", ".join(value for name, value in one.cell.items() if name != "conclusion")
    width = "" if one.low is None or one.high is None else number(one.high - one.low)
    like = one.details.get("effective_gold")
    return (
        str(one.cell.get("conclusion", "")) + (f" ({where})" if where else ""),
        f"{one.details['gold']:,}",
        "" if like is None else f"{like:,.0f}",
        width,
        number(more["width"]),
        number(more["decided"], percent=True),
        "more than there are items" if needed is None else f"{needed:,}",
    )
