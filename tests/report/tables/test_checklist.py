"""The reporting checklist: what is there, and what it says where something is missing."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from quaver.core.records import Estimate
from quaver.report.estimate_index import Results
from quaver.report.table_rows import Table
from quaver.report.tables.checklist import CHECKLISTS, checklist, field_checklists

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


STATES = {"yes", "in part", "no", "not applicable", "yours"}
VARIANT = {"id": "v0", "factors": {"paraphrase": "plain"}, "example": [["user", "Is it good?"]]}
MODEL = {"identity": "llamacpp sha256:00", "engine": "llamacpp", "file": "small.Q4_1.gguf", "sha256": "00"}
LOCK = {
    "study": {"name": "s", "seed": 1, "conclusions": [{"formula": "share(a) ~ x", "effect": "x > 0"}]},
    "labels": {
        "labels": [
            {"code": "a", "name": "A", "definition": "good"},
            {"code": "b", "name": "B", "definition": "bad"},
        ]
    },
    "items": {"n": 5, "blake2b": "12", "gold": {"a": 2}},
    "variants": [VARIANT, VARIANT | {"id": "v1"}],
    "conditions": [{"model": "m", "variant": "v0", "decoding": "greedy", "repeats": 3}],
    "decodings": {"greedy": {"temperature": 0.0}},
    "models": {"m": MODEL},
    "collection": {"date": "1 May 2026", "total": 5, "answered": 5},
    "bundle": "abcdef0123456789",
}
GOLD = pl.DataFrame({"item": ["1", "2"], "gold": ["a", None], "gold_drawn": [True, True]})


def rows(
    name: str,
    lock: dict[str, Any] | None = None,
    estimates: tuple[Estimate, ...] = (),
    frame: pl.DataFrame | None = None,
    *,
    raw: bool = True,
) -> dict[str, tuple[str, str]]:
    results = Results(LOCK | (lock or {}), pl.DataFrame() if frame is None else frame, estimates)
    table = field_checklists(results, raw_kept=raw)[name]
    return {row[1]: (row[2], row[3]) for row in table.rows}


@pytest.mark.parametrize("name", CHECKLISTS)
@pytest.mark.parametrize("raw", [True, False])
def test_every_row_has_an_answer(name: str, raw: bool) -> None:
    for lock in (
        {},
        {key: type(value)() for key, value in LOCK.items() if key not in ("study", "labels", "bundle")},
    ):
        found = rows(name, lock, raw=raw)
        assert len(found) >= 9
        assert {state for state, _ in found.values()} <= STATES
        assert all(how for _, how in found.values())


def test_a_table_names_its_source() -> None:
    tables = field_checklists(Results(LOCK, pl.DataFrame(), []), raw_kept=True)
    assert {
        name: isinstance(table, Table) and CHECKLISTS[name]["source"] in table.note
        for name, table in tables.items()
    } == dict.fromkeys(CHECKLISTS, True)


def test_models_and_package_are_named() -> None:
    found = rows("llm-guidelines")
    assert found["How weights were quantized"] == ("yes", "m: small.Q4_1.gguf")
    package = "A package to replicate the study, with instructions"
    assert found[package][0] == "yes"
    assert rows("llm-guidelines", {"bundle": ""})[package][0] == "no"
    assert found["The exact model and version, its configuration, and when it was asked"][0] == "yes"


def test_a_function_is_for_its_author_to_describe() -> None:
    found = rows("llm-guidelines", {"models": {"m": {"identity": "f", "engine": "function"}}})
    assert found["Everything around the model, and what the model itself contributes"][0] == "yours"


@pytest.mark.parametrize(
    ("frame", "gold", "state"),
    [(GOLD, {}, "yes"), (None, {"a": 2}, "in part"), (None, {"a": 5}, "yes"), (None, {}, "no")],
)
def test_gold_labels_count_by_how_they_were_drawn(
    frame: pl.DataFrame | None, gold: dict[str, int], state: str
) -> None:
    found = rows("wrong-labels", {"items": {"n": 5, "gold": gold}}, frame=frame)
    assert found["A random sample of labels by people"][0] == state


def test_conclusions_are_corrected_or_not() -> None:
    item = "Conclusions corrected for wrong labels"
    one = Estimate("conclusion_corrected", 0.1, 0.0, 0.2, details={"gold": 100, "p": 0.04})
    assert rows("wrong-labels", estimates=(one,))[item][0] == "yes"
    assert rows("wrong-labels")[item][0] == "no"
    assert rows("wrong-labels", {"study": {"name": "s"}})[item][0] == "not applicable"


def test_people_stand_beside_the_model() -> None:
    people = Estimate("coder_agreement_coders", 0.7, 0.6, 0.8, cell={"coder": "all"})
    won = Estimate("alternative_annotator_won", 1.0, details={"won": 3, "coders": 3})
    found = rows("llm-guidelines", estimates=(people, won))
    assert found["Agreement between people, and how they were aggregated"] == (
        "yes",
        "alpha 0.70 [0.60 to 0.80] between people, under How people and the model agree",
    )
    assert found["Whether the model may stand in for people"][0] == "yes"


def test_prompts_say_how_they_were_used() -> None:
    examples = "Prompts without examples, with one, or with several"
    assert "zero-shot" in rows("llm-guidelines")[examples][1]
    shown = [VARIANT, VARIANT | {"id": "v1", "examples": [["text", "a"]] * 3}]
    assert rows("llm-guidelines", {"variants": shown})[examples] == (
        "yes",
        "prompts show 0, 3 examples; which, under Prompts",
    )
    reuse = "Which prompt went to which model in which configuration"
    one = {"variant": "v0", "decoding": "greedy"}
    half = [one | {"model": "m"}, one | {"model": "n"}, one | {"model": "n", "variant": "v1"}]
    assert rows("llm-guidelines")[reuse][1].startswith("every prompt")
    assert rows("llm-guidelines", {"conditions": half})[reuse][1].startswith("each combination")


def test_people_have_a_codebook() -> None:
    item = "The codebook that people had"
    assert rows("llm-guidelines")[item][0] == "yours"
    assert rows("llm-guidelines", frame=GOLD)[item][0] == "yes"


def test_models_are_compared_with_intervals() -> None:
    item = "Tests or intervals where models are compared"
    assert rows("llm-guidelines")[item][0] == "not applicable"
    two = {"models": {"m": MODEL, "n": MODEL}}
    assert rows("llm-guidelines", two)[item][0] == "no"
    found = Estimate("accuracy", 0.5, 0.4, 0.6, cell={"model": "m"})
    assert rows("llm-guidelines", two, estimates=(found,))[item][0] == "in part"


@pytest.mark.parametrize(("column", "state"), [("estimand", "no"), ("party", "yes")])
def test_accuracy_by_group_is_what_it_says(column: str, state: str) -> None:
    found = Estimate("accuracy", 0.5, 0.4, 0.6, cell={"variant": "v0", column: "x"})
    assert rows("text-annotation", estimates=(found,))["… in each class and subgroup"][0] == state


def test_accuracy_has_its_range() -> None:
    item = "Accuracy against people, with its uncertainty"
    some = tuple(
        Estimate("accuracy", value, value - 0.1, value + 0.1, cell={"variant": str(value)})
        for value in (0.4, 0.6)
    )
    assert "40%" in rows("text-annotation", estimates=some)[item][1]
    assert "<" not in rows("text-annotation", estimates=some[:1])[item][1]
    assert rows("text-annotation")[item][0] == "no"
