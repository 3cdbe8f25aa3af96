"""What a plan says of batches: the price, whose price it is, and the time."""

import pytest
from tests.batches.cases import CASES, document

from quaver.study.collection.forecast import Range
from quaver.study.session import Study


def planned(folder, **model):
    (found,) = Study.open(document({"name": "m", **model}), folder=folder).plan().models
    return found


@pytest.mark.parametrize("name", CASES)
def test_the_published_price_of_a_batch_is_half(name, tmp_path, monkeypatch):
    monkeypatch.setenv(CASES[name].variable, CASES[name].key)
    found = planned(tmp_path, **CASES[name].model)
    assert found.batch == f"{Range(found.cost.low / 2, found.cost.high / 2)}, within 24 h"


def test_without_a_published_price_half_is_taken(tmp_path):
    found = planned(
        tmp_path, use="openai_compatible", preset="openai", model="x", price={"input": 2.0, "output": 8.0}
    )
    assert found.batch == f"{Range(found.cost.low / 2, found.cost.high / 2)}, within 24 h"


def test_a_model_without_batches_has_no_such_plan(tmp_path):
    assert planned(tmp_path, use="openai_compatible", preset="ollama", model="x").batch == ""
