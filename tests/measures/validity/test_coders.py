import polars as pl
import pytest

from quaver.errors import MeasureError
from quaver.measures.validity.coders import coder_agreement


def study():
    one = pl.DataFrame(
        {
            "item": [1, 2, 3, 4],
            "repeat": [0] * 4,
            "label": ["a", "a", "b", "b"],
            "anna": ["a", "a", "b", "a"],
            "bela": ["a", "b", "b", None],
        }
    )
    return pl.concat([one, one.with_columns(repeat=pl.lit(1, pl.Int64))])


def alpha(pairs):
    """Nominal alpha of two raters without gaps, by its definition."""
    values = [value for pair in pairs for value in pair]
    n = len(values)
    observed = sum(a != b for a, b in pairs) / len(pairs)
    expected = sum(a != b for i, a in enumerate(values) for j, b in enumerate(values) if i != j)
    return 1 - observed / (expected / (n * (n - 1)))


def test_the_model_with_each_coder_and_the_coders_with_each_other():
    found = {(e.measure, e.cell["coder"]): e for e in coder_agreement(study(), coders=["anna", "bela"])}
    with_anna = found["coder_agreement_model", "anna"]
    assert with_anna.value == pytest.approx(alpha(["aa", "aa", "bb", "ba"]))
    assert with_anna.details["percent"] == 0.75
    with_bela = found["coder_agreement_model", "bela"]
    assert with_bela.value == pytest.approx(alpha(["aa", "ab", "bb"]))
    assert list(with_bela.excluded.values()) == [1]
    among = found["coder_agreement_coders", "anna, bela"]
    assert among.value == pytest.approx(alpha(["aa", "ab", "bb"]))
    assert found["coder_agreement_coders", "all"].value == pytest.approx(among.value)


def test_a_coder_may_use_labels_that_the_model_never_gives():
    frame = study().with_columns(anna=pl.col("anna").replace("b", "c"))
    found = coder_agreement(frame, coders=["anna"])[0]
    assert found.value == pytest.approx(alpha(["aa", "aa", "bc", "ba"]))


def test_a_coder_with_two_labels_for_an_item_is_refused():
    frame = study().with_columns(anna=pl.Series(["a", "a", "b", "a", "b", "a", "b", "a"]))
    with pytest.raises(MeasureError, match="two values of anna"):
        coder_agreement(frame, coders=["anna"])


def test_a_coder_who_is_not_there_is_refused():
    with pytest.raises(MeasureError) as caught:
        coder_agreement(study(), coders=["ana"])
    assert caught.value.where == "coders"
