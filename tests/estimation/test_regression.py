"""Terms of a formula, and how factors are coded."""

import polars as pl
import pytest

from quaver.errors import MeasureError
from quaver.estimation.regression import design, parsed

FRAME = pl.DataFrame(
    {"t": ["b", "a", "b", "a"], "u": ["x", "x", "y", "y"], "n": [1.0, 2.0, 4.0, 7.0], "one": [1, 1, 1, 1]}
)


@pytest.mark.parametrize(
    ("formula", "terms"),
    [
        ("y ~ a", (("a",),)),
        ("y ~ 1", ()),
        ("y ~ a:b + b + a", (("b",), ("a",), ("a", "b"))),
        ("y ~ a * b * c", (("a",), ("b",), ("c",), ("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c"))),
        ("y ~ a * b + a", (("a",), ("b",), ("a", "b"))),
    ],
)
def test_terms(formula, terms):
    assert parsed(formula) == ("y", terms)


def test_text_is_coded_against_its_first_level():
    names, matrix = design(FRAME, "y ~ t * n")
    assert names == ("Intercept", "t[b]", "n", "t[b]:n")
    assert matrix[:, 3].tolist() == [1, 0, 4, 0]


@pytest.mark.parametrize(
    "formula",
    ["y", "~ t", "y ~", "y ~ log(n)", "y ~ t - 1", "y ~ t:n", "y ~ (t + n)", "y ~ t ~ n", "y ~ one", "y ~ v"],
)
def test_what_cannot_be_read_is_refused(formula):
    with pytest.raises(MeasureError) as caught:
        design(FRAME, formula)
    assert caught.value.where == "formula"


def test_columns_that_determine_each_other_are_refused():
    with pytest.raises(MeasureError, match="determine each other"):
        design(FRAME.with_columns(m=pl.col("n") * 2), "y ~ n + m")


def test_gaps_are_refused():
    with pytest.raises(MeasureError, match="without a value"):
        design(FRAME.with_columns(n=pl.Series([1.0, None, 2.0, 3.0])), "y ~ n")
