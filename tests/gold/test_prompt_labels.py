"""What prompts' labels say of items, and the strata that they make."""

from __future__ import annotations

import polars as pl
import pytest

from quaver.gold.prompt_labels import OTHER, predicted_labels, strata_of

FRAME = pl.DataFrame(
    {
        "item": ["1"] * 4 + ["2"] * 4 + ["3"],
        "label": ["a", "a", "a", "a", "a", "b", None, "b", None],
        "evaluator": ["e"] * 8 + ["other"],
    }
)


def test_shares_of_valid_answers_become_probabilities() -> None:
    found = predicted_labels(FRAME, ["3", "2", "1"], ["a", "b"])
    assert found.answers.tolist() == [0, 3, 4]
    assert found.shares[2].tolist() == [1, 0]
    assert found.probabilities[2].tolist() == pytest.approx([4.5 / 5, 0.5 / 5])
    assert found.probabilities[0].tolist() == [0.5, 0.5]
    assert found.modal == ["no label", "b", "a"]
    assert found.disagreement == ["split", "split", "agreed"]
    assert found.doubt.argmax() == 0
    assert found.doubt.argmin() == 2


def test_no_annotations_is_no_knowledge() -> None:
    found = predicted_labels(None, ["1"], ["a", "b", "c", "d"])
    assert found.probabilities.tolist() == [[0.25] * 4]


def test_strata_cross_what_is_named_and_small_ones_are_joined() -> None:
    items = [str(at) for at in range(100)]
    nothing = predicted_labels(None, items, ["a", "b"])
    columns = {"party": ["D"] * 60 + ["R"] * 36 + ["G", "L", "P", "Q"]}
    assert {*strata_of(["party"], nothing, columns, 20)} == {"party=D", "party=R", OTHER}
    crossed = strata_of(["party", "predicted", "disagreement"], nothing, columns, 100)
    assert crossed[0] == "party=D, predicted=no label, disagreement=split"
    assert {*strata_of([], nothing, columns, 20)} == {"all"}
