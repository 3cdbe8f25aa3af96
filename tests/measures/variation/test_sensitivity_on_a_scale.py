"""Sensitivity and consistency of labels on a scale, against independent distances."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import polars as pl
import pytest
from scipy.stats import wasserstein_distance

from quaver.core.records import Label, LabelSet
from quaver.errors import MeasureError
from quaver.measures import consistency, sensitivity

SCALE = LabelSet(
    tuple(Label(code, code, value=value) for code, value in zip("abcd", (1, 2, 4, 9), strict=True)),
    "interval",
)


def frame(answers: list[str], gold: str) -> pl.DataFrame:
    """A row for each answer of each item's string of labels."""
    return pl.DataFrame(
        [
            {"item": item, "variant": at, "label": label, "gold": gold[item]}
            for item, labels in enumerate(answers)
            for at, label in enumerate(labels)
        ]
    )


def test_by_hand() -> None:
    """Half the answers at each end are as sensitive as can be; neighbours half of that."""
    order = LabelSet(tuple(Label(code, code) for code in "abc"), "ordinal")
    for answers, wanted in (("aacc", 1.0), ("aabb", 0.5), ("aaaa", 0.0), ("abcc", 0.875)):
        (found,) = sensitivity(frame([answers], "a"), labels=order, level="ordinal")
        assert found.value == pytest.approx(wanted)
    for one, other, wanted in (("aa", "ac", 0.5), ("aa", "ab", 0.75), ("aa", "cc", 0.0), ("ab", "ba", 1.0)):
        (found,) = consistency(frame([one, other], "aa"), labels=order, level="ordinal")
        assert found.value == pytest.approx(wanted)


@pytest.mark.parametrize("level", ["ordinal", "interval"])
def test_distances_are_those_of_scipy(level: str) -> None:
    draw = np.random.default_rng(4)
    answers = ["".join(draw.choice(list("abcd"), 6)) for _ in range(12)]
    gold = "".join(draw.choice(list("ab"), 12))
    at = dict(zip("abcd", (0, 1, 2, 3) if level == "ordinal" else (1, 2, 4, 9), strict=True))
    long = max(at.values()) - min(at.values())
    places = [[at[label] for label in labels] for labels in answers]
    spread = [2 * np.mean([abs(x - y) for x, y in product(one, one)]) / long for one in places]
    data = frame(answers, gold)
    (found,) = sensitivity(data, labels=SCALE, level=level)  # type: ignore[arg-type]
    assert found.value == pytest.approx(np.mean(spread))
    corrected = [2 * np.mean([abs(x - y) for x, y in combinations(one, 2)]) / long for one in places]
    assert found.details["corrected"] == pytest.approx(np.mean(corrected))
    classes = []
    for code in "ab":
        own = [one for one, label in zip(places, gold, strict=True) if label == code]
        classes.append(np.mean([1 - wasserstein_distance(x, y) / long for x, y in combinations(own, 2)]))
    (found,) = consistency(data, labels=SCALE, level=level)  # type: ignore[arg-type]
    assert found.value == pytest.approx(np.mean(classes))
    assert found.low is not None
    assert found.low < found.value


def test_what_lies_on_no_scale_is_an_error() -> None:
    data = frame(["ab", "ba"], "aa")
    for measure in (sensitivity, consistency):
        with pytest.raises(MeasureError):
            measure(data, level="interval")  # letters are no numbers
        with pytest.raises(MeasureError):
            measure(data, level="jaccard")
        with pytest.raises(MeasureError):
            measure(data, labels=SCALE, level="interval", missing="category")
