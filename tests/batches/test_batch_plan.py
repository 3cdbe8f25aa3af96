"""What a plan says of batches: the price, whose price it is, and the time."""

import pytest
from tests.batches.cases import CASES, document

from quaver.study.collection.forecast import in_dollars
from quaver.study.session import Study


def planned(folder, **model):
    (found,) = Study.open(document({"name": "m", **model}), folder=folder).plan().models
    return found


@pytest.mark.parametrize("name", CASES)
def test_the_published_price_of_a_batch_is_half(name, tmp_path, monkeypatch):
    monkeypatch.setenv(CASES[name].variable, CASES[name].key)
    found = planned(tmp_path, **CASES[name].model)
    half = in_dollars((found["least_cost"] / 2, found["most_cost"] / 2, None))
    assert found["batch"] == f"{half}, within {CASES[name].hours} h"


def test_without_a_published_price_half_is_taken(tmp_path):
    found = planned(
        tmp_path, use="openai_compatible", preset="openai", model="x", price={"input": 2.0, "output": 8.0}
    )
    half = in_dollars((found["least_cost"] / 2, found["most_cost"] / 2, None))
    assert found["batch"] == f"{half}, within 24 h"


def test_a_model_without_batches_has_no_such_plan(tmp_path):
    assert planned(tmp_path, use="openai_compatible", preset="ollama", model="x")["batch"] == ""
