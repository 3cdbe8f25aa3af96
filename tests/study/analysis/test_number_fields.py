"""Fields whose values are numbers: from the study file to the verdict and a conclusion."""

import json
import random

import numpy as np
import polars as pl
import pytest

from quaver import Study
from quaver.errors import ItemError

_FIELDS = {
    "amount": {"level": "ratio", "gold": "amount", "definition": "How many euros."},
    "tone": {"labels": ["good", "bad"]},
}


def _amount(at):
    return random.Random(at).choice([0, 5, 12.5, at * 3])


def _rows():
    return [
        {"id": f"i{at}", "text": f"Text {at}", "amount": f"{_amount(at):.2f}", "x": "ab"[at % 2]}
        for at in range(60)
    ]


def _asked(**more):
    return {
        "name": "Numbers",
        "task": {"held": False, "fields": _FIELDS},
        "items": {"source": _rows(), "id": "id", "text": "{{ text }}"},
        "prompt": {"instruction": "Code this text."},
        "variants": [{"use": "instructions", "texts": {"curt": "Code.", "kind": "Please code."}}],
        "models": [{"name": "m", "use": "function"}],
        "measures": ["accuracy", "inter_pss", "label_shares"],
        "conclusions": [{"name": "x", "field": "amount", "formula": "label ~ x", "effect": "x[b] > 0"}],
        **more,
    }


def _right(text, prompt):
    """The gold numbers, some written in ways of their own, and one that is no object."""
    at = int(text.split()[-1])
    forms = {1: f" {_amount(1)} ", 2: "12 EUR", 4: None, 6: -3, 8: True, 10: "1,200"}
    said = json.dumps({"amount": forms.get(at, _amount(at)), "tone": "good"})
    return said.strip("{}") if at == 12 else said


def _opened(folder, answer, **more):
    study = Study.open(_asked(**more), folder=folder, functions={"m": answer})
    study.run()
    return study


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return _opened(tmp_path_factory.mktemp("numbers"), _right)


def test_a_number_is_read_whole_or_not_at_all(study):
    frame = study.annotations().filter(pl.col("field") == "amount")
    bare = set(frame.filter(pl.col("label").is_null())["item"])
    assert bare == {"i2", "i4", "i6", "i8", "i10", "i12"}
    known = frame.drop_nulls("label")
    assert known["label"].cast(pl.String).to_list() == known["gold"].cast(pl.String).to_list()
    assert "12.5" in set(known["label"])  # as the gold cell 12.50 has it


def test_a_prompt_asks_for_a_number_and_the_schema_holds_the_model_to_one(tmp_path):
    task = {"held": True, "fields": _FIELDS}
    held = Study.open(_asked(task=task), folder=tmp_path, functions={"m": _right})
    first = held.experiment.variants[0]
    assert json.loads(first.schema)["properties"]["amount"] == {
        "type": "number",
        "description": "How many euros.",
    }
    assert '"amount": How many euros. A number of 0 or more, without a unit.' in first.postfix


def test_errors_agreement_verdict_and_conclusion_are_of_numbers(study):
    found = {one.measure: one for one in study.measure("accuracy", field="amount", by=["model"])}
    assert found["accuracy_mean_error"].value == 0
    assert found["accuracy_correlation"].value == pytest.approx(1)
    (alpha,) = study.measure("inter_pss", field="amount", by=["model"], estimand="fixed")
    assert alpha.value == pytest.approx(1)
    assert alpha.details["level"] == "ratio"
    (shares,) = study.measure("label_shares", field="amount")
    assert shares.value is None
    (gold,) = (one for one in study.estimates(["conclusions"]) if one.measure == "conclusion_gold")
    by_group = {x: np.mean([_amount(at) for at in range(60) if "ab"[at % 2] == x]) for x in "ab"}
    assert gold.cell["field"] == "amount"
    assert gold.value == pytest.approx(by_group["b"] - by_group["a"])
    whole = Study.open(_asked(), folder=study.folder, functions={"m": _right}, field="amount")
    assert whole.experiment.labels.are_numbers


def _random(text, prompt):
    return json.dumps({"amount": random.Random(text + prompt).randint(0, 90), "tone": "good"})


def _never(text, prompt):
    return json.dumps({"tone": "good"})


def _twice(text, prompt):
    return json.dumps({"amount": 3 * _amount(int(text.split()[-1])) + 40, "tone": "good"})


@pytest.mark.parametrize("answer", [_random, _never, _twice])
def test_no_field_that_fails_is_green(answer, tmp_path):
    card = _opened(tmp_path, answer).verdict()
    kinds = {one.field: one.kind for one in card.recommendations}
    assert kinds["amount"] == "do not use"
    assert card.kind == "do not use"


def test_a_gold_cell_that_is_no_number_is_named_and_may_be_mapped(tmp_path):
    rows = [{**_rows()[0], "amount": "many"}, *_rows()[1:]]
    items = {"source": rows, "id": "id", "text": "{{ text }}"}
    with pytest.raises(ItemError, match="many"):
        Study.open(_asked(items=items), folder=tmp_path, functions={"m": _right})
    gold = {"column": "amount", "map": {"many": None}}
    task = {"held": False, "fields": {**_FIELDS, "amount": {"level": "ratio", "gold": gold}}}
    study = Study.open(_asked(items=items, task=task), folder=tmp_path, functions={"m": _right})
    assert "amount" not in study.experiment.items[0].golds
