"""The table of what was written down beforehand: each part of the design, and what was changed since."""

from __future__ import annotations

from quaver.report.estimate_index import Results
from quaver.report.table_rows import Table


def frozen_table(results: Results) -> Table:
    """A row for each part of the frozen design; no rows where nothing was frozen."""
    parts = results.lock.get("frozen", {}).get("parts", ())
    rows = tuple((str(p["part"]), f"{p['size']:,}", str(p["state"]), str(p["what"])) for p in parts)
    return Table(("part", "how many", "state", "what changed"), rows, frozenset({1}), name="frozen")
