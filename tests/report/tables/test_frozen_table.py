"""The table of what was written down beforehand."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from quaver.report.estimate_index import Results
from quaver.report.tables.checklist import checklist
from quaver.report.tables.frozen_table import frozen_table

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
