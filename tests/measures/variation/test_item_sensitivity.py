import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.measured import grid

from quaver.errors import MeasureError
from quaver.estimation.means import entropy, jackknifed_entropy
from quaver.measures.stability.prompt_stability import inter_pss
from quaver.measures.variation.item_sensitivity import consistency, sensitivity


def test_by_hand():
    # Three labels; entropies: 0, ln 2, and of (1/2, 1/4, 1/4).
    data = grid([[0, 0, 0, 0], [0, 0, 1, 1], [0, 0, 1, 2]])
    (found,) = sensitivity(data)
    each = np.array([0, np.log(2), 0.5 * np.log(2) + 0.5 * np.log(4)]) / np.log(3)
    assert found.value == pytest.approx(each.mean())
    assert found.details["sd"] == pytest.approx(each.std(ddof=1))
    assert found.details["labels"] == 3
    assert found.details["predictions"] == (4, 4)


def test_the_papers_convention_counts_na_as_a_label():
    data = grid([[0, 0, -1, -1], [1, 1, 1, 1]])
    (paper,) = sensitivity(data, convention="paper")
    (plain,) = sensitivity(data)
    assert paper.value == pytest.approx(np.log(2) / np.log(3) / 2)
    assert plain.value == 0
    assert plain.excluded == {"no label": 2}
    assert paper.excluded == {}
    # A label set of C labels is normalised by ln(C + 1) though no answer was missing.
    full = sensitivity(grid([[0, 0, 1, 1]]), convention="paper")[0]
    assert full.value == pytest.approx(np.log(2) / np.log(3))


def test_within_each_repeat():
    # Each repeat gives every paraphrase the same label: nothing moves with the paraphrase.
    rows = [(1, v, r, "ab"[r]) for v in range(3) for r in range(2)]
    data = pl.DataFrame(rows, schema=["item", "variant", "repeat", "label"], orient="row")
    assert sensitivity(data)[0].value == 0


def test_each_class():
    data = grid([[0, 0], [0, 1], [1, 1], [1, 0]], gold="aaab")
    (overall,), (a, b) = sensitivity(data), sensitivity(data, by=["gold"])
    assert overall.details["by_class"] == pytest.approx({"a": 1 / 3, "b": 1})
    assert (a.cell, a.value, a.n) == ({"gold": "a"}, pytest.approx(1 / 3), 3)
    assert (b.cell, b.value, b.n) == ({"gold": "b"}, 1, 1)


def test_unequal_numbers_of_predictions_are_not_to_be_compared():
    few, many = grid([[0, 1], [1, 1]]), grid([[0, 1, 0], [1, 1, 0]])
    both = pl.concat([few.with_columns(model=pl.lit("m")), many.with_columns(model=pl.lit("n"))])
    for found in sensitivity(both, by=["model"]):
        assert any("unequal numbers" in warning for warning in found.warnings)
    (gaps,) = sensitivity(grid([[0, 1, -1], [1, 1, 0]]))
    assert "between 2 and 3 predictions" in gaps.warnings[0]


@given(st.lists(st.integers(0, 6), min_size=2, max_size=5).filter(lambda n: sum(n) >= 2))
@settings(max_examples=80)
def test_the_jackknife_is_the_jackknife(counts):
    counts = np.array(counts, float)
    q = counts.sum()
    left = [n * entropy(counts - np.eye(len(counts))[v]) for v, n in enumerate(counts) if n]
    expected = q * entropy(counts) - (q - 1) / q * sum(left)
    assert jackknifed_entropy(counts) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("options", "where"),
    [
        ({"convention": "mine"}, "convention"),
        ({"missing": "wrong"}, "missing"),
        ({"convention": "paper", "missing": "drop"}, "missing"),
    ],
)
def test_contradictions(options, where):
    with pytest.raises(MeasureError) as caught:
        sensitivity(grid([[0, 1]]), **options)
    assert caught.value.where == where


@pytest.mark.parametrize("measure", [sensitivity, consistency, inter_pss])
def test_items_that_never_got_a_label_are_counted_where_that_is_agreement(measure):
    labels = [*"ab", None, None, *"ab"]
    frame = pl.DataFrame(
        {"item": [1, 1, 2, 2, 3, 3], "variant": [1, 2] * 3, "label": labels, "gold": ["a"] * 6}
    )
    (found,) = measure(frame, missing="category")
    assert any(warning.startswith("1 of 3") for warning in found.warnings)
    assert not any(warning.startswith("1 of 3") for warning in measure(frame)[0].warnings)
