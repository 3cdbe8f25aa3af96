import numpy as np
import polars as pl
import pytest

from quaver.errors import MeasureError
from quaver.measures.variation.output_uncertainty import output_uncertainty


def frame(probabilities):
    items = [f"i{i}" for i in range(len(probabilities))]
    labels = ["a"] * len(items)
    schema = {"item": pl.String, "label": pl.String, "probabilities": pl.List(pl.Float64)}
    return pl.DataFrame({"item": items, "label": labels, "probabilities": probabilities}, schema=schema)


def test_by_hand():
    (found,) = output_uncertainty(frame([[0.5, 0.5, 0], [1, 0, 0], None]))
    assert found.value == pytest.approx(np.log(2) / np.log(3) / 2)
    assert (found.n, found.excluded) == (2, {"no probabilities": 1})


def test_without_probabilities():
    assert output_uncertainty(frame([None, None]))[0].reason == "no label probabilities"
    assert output_uncertainty(frame([[1.0]]).drop("probabilities"))[0].reason == "no label probabilities"


@pytest.mark.parametrize("wrong", [[0.5, 0.4], [1.2, -0.2], [float("nan"), 1.0], [float("inf"), 0.0]])
def test_what_is_no_distribution(wrong):
    with pytest.raises(MeasureError) as caught:
        output_uncertainty(frame([[0.5, 0.5], wrong]))
    assert caught.value.where == "probabilities"
