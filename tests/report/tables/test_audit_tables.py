"""The table of what more gold labels would bring."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from quaver.core.records import Estimate
from quaver.report.estimate_index import Results
from quaver.report.tables.audit_tables import frozen_table, gold_power_table
from quaver.report.tables.checklist import checklist


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


PARTS = [{"part": "Prompts", "size": 1200, "state": "changed", "what": "added: p7"}]


def results(**frozen: Any) -> Results:
    known = {"headline": "Frozen on Monday.", "parts": PARTS, "broken": [], "entries": [{"answers": 0}]}
    lock = {"frozen": known | frozen} if frozen else {}
    return Results(
        {"study": {"name": "s", "seed": 0}, "variants": (), "labels": {}} | lock, pl.DataFrame(), []
    )


def test_a_study_that_was_not_frozen_has_no_table() -> None:
    assert frozen_table(results()).rows == ()


def test_a_row_for_each_part() -> None:
    assert frozen_table(results(broken=[])).rows == (("Prompts", "1,200", "changed", "added: p7"),)


@pytest.mark.parametrize(
    ("frozen", "answer"),
    [
        ({}, "no"),
        ({"broken": []}, "yes"),
        ({"entries": [{"answers": 3}]}, "in part"),
        ({"broken": ["x"]}, "in part"),
    ],
)
def test_the_checklist_says_whether_it_was_early(frozen: dict[str, Any], answer: str) -> None:
    rows = {row[0]: row[1] for row in checklist(results(**frozen), raw_kept=True).rows}
    assert rows["What was fixed before the results were known"] == answer
