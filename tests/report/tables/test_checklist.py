"""The reporting checklist: what is there, and what it says where something is missing."""

from __future__ import annotations

from typing import Any

from quaver.core.records import Estimate
from quaver.report.estimate_index import Results
from quaver.report.tables.checklist import checklist


def answered(study: Any, raw: bool = True, **lock: Any) -> dict[str, tuple[str, str]]:
    """What is reported and how, by the first words of what is asked."""
    table = checklist(Results(study.lock | lock, study.annotations, study.estimates), raw)
    return {" ".join(row[0].split()[:4]): (row[1], row[2]) for row in table.rows}


def test_a_bare_study_says_what_is_missing(make: Any) -> None:
    study = make()
    study.estimates = []
    rows = answered(study, raw=False)
    assert rows["How confidence was normalised"][0] == "not applicable"
    assert rows["The raw text of"][0] == "no"
    assert rows["How many answers have"] == ("no", "add the measure compliance")
    assert all(how for _, how in rows.values())


def test_what_is_there_is_told_with_where(make: Any) -> None:
    study = make()
    study.estimates.append(Estimate("ece", 0.1, n=8, method="expected calibration error, 10 bins"))
    rows = answered(study)
    assert rows["How confidence was normalised"][0] == "in part"
    assert "10 bins" in rows["How confidence was normalised"][1]
    assert "responses.db" in rows["The raw text of"][1]
    assert rows["How many answers have"][0] == "yes"
    assert rows["The evaluators’ exact rules,"][0] == "yes"
    study.estimates.append(Estimate("ece_shift", 0.1, n=8))
    assert answered(study)["How confidence was normalised"][0] == "yes"


def test_a_prompt_that_is_not_shown_is_counted(make: Any) -> None:
    study = make()
    study.lock["variants"][0].pop("example")
    status, how = answered(study)["The evaluators’ exact rules,"]
    assert (status, "3 of 4 variants" in how) == ("in part", True)
