import polars as pl
import pytest

from quaver.core.records import NO_LABEL, Label, LabelSet
from quaver.errors import MeasureError
from quaver.estimation.cells import cells

FRAME = pl.DataFrame(
    {
        "item": ["x", "x", "y", "y", "z"],
        "repeat": [0, 1, 0, 1, 0],
        "label": ["b", "a", None, "10", "a"],
        "status": ["valid", "valid", "refused", "valid", "valid"],
    }
)


def test_codes_and_what_is_missing():
    (cell,) = cells(FRAME, raters=("repeat",))
    assert cell.labels == ("10", "a", "b")
    assert cell.items == ("x", "y", "z")
    assert cell.codes[:, 0].tolist() == [[2, 1], [-1, 0], [1, -1]]
    assert cell.unanswered[:, 0].tolist() == [[False, False], [True, False], [False, False]]
    assert cell.counted == {"refused": 1}


def test_missing_as_a_category_leaves_what_was_not_asked():
    (cell,) = cells(FRAME, raters=("repeat",), missing="category")
    assert cell.labels == ("10", "a", "b", NO_LABEL)
    assert cell.codes[:, 0].tolist() == [[2, 1], [3, 0], [1, -1]]


def test_the_label_set_gives_order_and_bounds():
    labels = LabelSet(tuple(Label(code, code) for code in ("b", "a", "c")))
    (cell,) = cells(FRAME, raters=("repeat",), labels=labels)
    assert cell.labels == ("b", "a", "c")
    assert cell.codes[:, 0].tolist() == [[0, 1], [-1, -1], [1, -1]]
    assert (cell.counted["refused"], sum(cell.counted.values())) == (1, 2)


def test_strata_and_cells():
    frame = FRAME.with_columns(model=pl.Series(["m", "m", "m", "n", "n"]))
    (cell,) = cells(frame, raters=("repeat",), within=("model", "decoding"))
    assert cell.strata == ({"model": "m"}, {"model": "n"})
    assert cell.codes.shape == (3, 2, 2)
    first, second = cells(frame, raters=("repeat",), within=("model",), by=["model"])
    assert (first.where, second.where) == ({"model": "m"}, {"model": "n"})
    assert first.items == ("x", "y")
    assert first.labels == second.labels


def test_numbers_are_labels_in_their_order():
    frame = pl.DataFrame({"item": [1, 2, 10], "label": [48.0, None, 7.0]})
    (cell,) = cells(frame, raters=())
    assert cell.labels == ("7", "48")
    assert cell.items == ("1", "2", "10")
    (cell,) = cells(frame.with_columns(label=pl.Series([float("nan"), 0.5, 1.0])), raters=())
    assert cell.labels == ("0.5", "1.0")
    assert cell.counted == {"no label": 1}
    (cell,) = cells(frame.with_columns(label=pl.Series([-0.0, 0.5, 0.0])), raters=())
    assert cell.labels == ("0.0", "0.5")


def test_the_error_names_the_first_row_without_a_value():
    frame = FRAME.with_columns(item=pl.when(pl.int_range(pl.len()) == 2).then(None).otherwise(pl.col("item")))
    with pytest.raises(MeasureError) as caught:
        cells(frame, raters=("repeat",))
    assert caught.value.found == "none in row 2"


@pytest.mark.parametrize(
    ("frame", "options", "problem"),
    [
        (FRAME.with_columns(item=pl.lit(None, pl.String)), {}, "a row without a value"),
        (FRAME.with_columns(label=pl.lit(float("inf"))), {}, "an infinite value"),
        (FRAME.with_columns(label=pl.lit([1])), {}, "without single values"),
        (FRAME.with_columns(gold=pl.col("label")), {"gold": True}, "two values of gold"),
        (FRAME, {"by": ["repeat", "repeat"]}, "named twice"),
        (FRAME, {"missing": "ignore"}, "not offered here"),
        (FRAME.drop("repeat"), {}, "several annotations in one place"),
        (
            FRAME.with_columns(gold=pl.lit("zebra")),
            {"gold": True, "labels": LabelSet((Label("a", "a"),))},
            "not in the label set",
        ),
        ([1, 2], {}, "not a frame"),
        ({"item": [1, "x"], "label": ["a", "b"]}, {}, "cannot be read"),
    ],
)
def test_what_cannot_be_used(frame, options, problem):
    with pytest.raises(MeasureError, match=problem):
        cells(frame, raters=("repeat",), **options)
