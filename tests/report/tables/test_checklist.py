"""The reporting checklist: what is there, and what it says where something is missing."""

from __future__ import annotations

from typing import Any

from quaver.core.records import Estimate
from quaver.report.estimate_index import Results
from quaver.report.tables.checklist import checklist

KEYS = {"normalization": "normalized", "rules": "rules", "raw": "raw text", "compliance": "have a label"}


def answered(study: Any, raw: bool = True, **lock: Any) -> dict[str, tuple[str, str]]:
    """What is reported and how, by a short name of the row."""
    table = checklist(Results(study.lock | lock, study.annotations, study.estimates), raw)
    rows = {key: [row for row in table.rows if words in row[0]] for key, words in KEYS.items()}
    assert all(len(found) == 1 for found in rows.values())
    assert all(row[1] in ("yes", "no", "in part", "not applicable") and row[2] for row in table.rows)
    return {key: (row[1], row[2]) for key, (row,) in rows.items()}


def test_a_bare_study_says_what_is_missing(make: Any) -> None:
    study = make()
    study.estimates = []
    rows = answered(study, raw=False)
    assert rows["normalization"][0] == "not applicable"
    assert rows["raw"][0] == "no"
    status, how = rows["compliance"]
    assert (status, "compliance" in how) == ("no", True)


def test_what_is_there_is_reported_with_its_place(make: Any) -> None:
    study = make()
    study.estimates.append(Estimate("ece", 0.1, n=8, method="expected calibration error, 10 bins"))
    rows = answered(study)
    status, how = rows["normalization"]
    assert (status, "10 bins" in how) == ("in part", True)
    assert "responses.db" in rows["raw"][1]
    assert rows["compliance"][0] == "yes"
    assert rows["rules"][0] == "yes"
    study.estimates.append(Estimate("ece_shift", 0.1, n=8))
    assert answered(study)["normalization"][0] == "yes"


def test_a_prompt_that_is_not_shown_is_counted(make: Any) -> None:
    study = make()
    study.lock["variants"][0].pop("example")
    status, how = answered(study)["rules"]
    assert (status, "3 of 4" in how) == ("in part", True)
