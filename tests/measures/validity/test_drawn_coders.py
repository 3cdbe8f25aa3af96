"""Coders of items that were drawn with unequal probabilities: each counts for those it was drawn from."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from quaver.core.records import Estimate
from quaver.estimation.arrangement import UnknownColumn
from quaver.measures import alternative_annotator, coder_agreement

CODERS = ["ada", "ben", "cleo"]
LABELS = {
    "label": "aabbabababbaabba",
    "ada": "abbbababaabaabba",
    "ben": "aabaabbbabbaabba",
    "cleo": "aabbababbbbaabab",
}
TWICE = [1, 3, 8, 9, 14]
"""The items that were half as likely to be drawn."""


def frame(**more: Any) -> pl.DataFrame:
    size = len(LABELS["label"])
    given = {name: list(text) for name, text in LABELS.items()}
    chance = [0.2 if at in TWICE else 0.4 for at in range(size)]
    return pl.DataFrame({"item": [f"i{at:02}" for at in range(size)], **given, "chance": chance, **more})


def doubled() -> pl.DataFrame:
    """The items that were half as likely twice."""
    whole = frame()
    return pl.concat([whole, whole[TWICE].with_columns(pl.col("item") + " again")])


def by_coder(made: list[Estimate]) -> dict[tuple[str, str], Estimate]:
    return {(one.measure, one.cell["coder"]): one for one in made}


def test_an_item_that_was_half_as_likely_counts_twice() -> None:
    weighted = by_coder(coder_agreement(frame(), coders=CODERS, probability="chance"))
    twice = by_coder(coder_agreement(doubled(), coders=CODERS))
    assert weighted.keys() == twice.keys()
    n, many = 2 * frame().height, 2 * doubled().height
    for key, one in weighted.items():
        if not key[0].endswith("_gap"):
            assert one.details["percent"] == pytest.approx(twice[key].details["percent"])
        if "all" not in key[1] and not key[0].endswith("_gap"):
            # Alpha makes allowance for n, which is that of the items that are there.
            assert one.value is not None
            assert twice[key].value is not None
            assert (1 - one.value) * n / (n - 1) == pytest.approx((1 - twice[key].value) * many / (many - 1))
    tested = by_coder(alternative_annotator(frame(), coders=CODERS, probability="chance"))
    for key, other in by_coder(alternative_annotator(doubled(), coders=CODERS)).items():
        assert tested[key].value == pytest.approx(other.value)
        for name in ("coder_advantage", "with_model", "with_coder"):
            assert tested[key].details.get(name) == pytest.approx(other.details.get(name))


def test_the_text_of_four_that_the_model_gets_wrong_by_hand() -> None:
    """It was drawn with probability 1/2, the others for certain: it counts as two of five."""
    found = pl.DataFrame({"item": [1, 2, 3, 4], "label": list("aabb"), "chance": [0.5, 1.0, 1.0, 1.0]})
    found = found.with_columns(ada=pl.Series(list("babb")), ben=pl.Series(list("babb")))
    found = found.with_columns(cleo=pl.col("ben"))
    made = by_coder(alternative_annotator(found, coders=CODERS, probability="chance"))
    assert made["alternative_annotator", "ada"].value == pytest.approx(3 / 5)
    agreed = by_coder(coder_agreement(found, coders=CODERS, probability="chance"))
    assert agreed["coder_agreement_model", "ada"].details["percent"] == pytest.approx(3 / 5)
    assert "probability" in agreed["coder_agreement_model", "ada"].method


def test_equal_probabilities_change_nothing() -> None:
    for measure in (coder_agreement, alternative_annotator):
        plain = measure(frame(), coders=CODERS)
        even = measure(frame(even=0.25), coders=CODERS, probability="even")
        assert [(one.value, one.low, one.high, one.method) for one in even] == [
            (one.value, one.low, one.high, one.method) for one in plain
        ]


def test_items_that_were_not_drawn_do_not_count() -> None:
    chance = pl.when(pl.col("item") > "i03").then(0.25)
    for measure in (coder_agreement, alternative_annotator):
        made = measure(frame().with_columns(chance=chance), coders=CODERS, probability="chance")
        assert [one.value for one in made] == pytest.approx(
            [one.value for one in measure(frame()[4:], coders=CODERS)]
        )


def test_a_column_that_does_not_exist_is_one_error() -> None:
    with pytest.raises(UnknownColumn):
        coder_agreement(frame(), coders=CODERS, probability="chances")
