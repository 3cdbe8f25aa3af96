"""The table of what more gold labels would bring."""

from __future__ import annotations

import polars as pl

from quaver.core.records import Estimate
from quaver.report.estimate_index import Results
from quaver.report.tables.audit_tables import gold_power_table


def test_a_row_for_each_corrected_conclusion() -> None:
    more = {"gold": 120, "width": 0.2, "decided": 0.4, "power": 0.3}
    details = {"gold": 100, "effective_gold": 140.4, "more_gold": more, "gold_needed": 380}
    one = Estimate("conclusion_corrected", 0.1, -0.02, 0.22, cell={"conclusion": "shops"}, details=details)
    none = Estimate("conclusion_corrected", 0.1, -0.02, 0.22, details={**details, "gold_needed": None})
    other = Estimate("conclusion_gold", 0.1, -0.05, 0.25, details=details)
    lock = {"study": {"name": "s", "seed": 0}, "variants": (), "labels": {}}
    rows = gold_power_table(Results(lock, pl.DataFrame(), [one, none, other])).rows
    assert rows[0][:3] == ("shops", "100", "140")
    assert rows[0][6] == "380"
    assert len(rows) == 2
    assert not rows[1][6][0].isdigit()
