"""Whether a model is further from the coders than they are from each other."""

import numpy as np
import polars as pl
import pytest

from quaver.errors import MeasureError
from quaver.measures.validity.coders import coder_agreement

CODERS = ("anna", "ben", "cleo")


def study(seed=0, items=80, model=0.3, people=0.1):
    """Two prompts; people and the model flip the true label with these probabilities."""
    random = np.random.default_rng(seed)
    truth = random.random(items) < 0.5

    def flipped(share):
        return np.where(truth ^ (random.random(items) < share), "a", "b").tolist()

    coded = {name: flipped(people) for name in CODERS}
    parts = [
        pl.DataFrame({"item": range(items), "variant": variant, "label": flipped(model), **coded})
        for variant in ("one", "two")
    ]
    return pl.concat([part.with_columns(pl.col("item").cast(pl.Int64)) for part in parts])


def coder_gap(frame, **options):
    found = coder_agreement(frame, **{"coders": CODERS, "by": [], **options})
    return [one for one in found if one.measure == "coder_agreement_gap"]


def test_it_is_the_difference_of_the_alphas_that_coder_agreement_gives():
    frame = study()
    alphas = {
        (one.measure.removeprefix("coder_agreement"), one.cell["coder"]): one.value
        for one in coder_agreement(frame, coders=CODERS, by=[], resamples=0)
    }
    between = {pair: value for (kind, pair), value in alphas.items() if kind == "_coders" and pair != "all"}
    found = {one.cell["coder"]: one for one in coder_gap(frame, resamples=0)}
    beside = np.mean([alphas["_model", name] for name in CODERS])
    assert found["all"].value == pytest.approx(np.mean(list(between.values())) - beside)
    assert found["all"].details["model"] == pytest.approx(beside)


def test_it_takes_two_coders():
    assert not coder_gap(study(), coders=["anna"])
    alike = study().with_columns(pl.lit("a").alias(name) for name in (*CODERS, "label"))
    assert all(one.value is None and one.reason for one in coder_gap(alike))
    with pytest.raises(MeasureError):
        coder_gap(study(), coders=["anna", "anna"])


def two_coders():
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
    found = {(e.measure, e.cell["coder"]): e for e in coder_agreement(two_coders(), coders=["anna", "bela"])}
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
    frame = two_coders().with_columns(anna=pl.col("anna").replace("b", "c"))
    found = coder_agreement(frame, coders=["anna"])[0]
    assert found.value == pytest.approx(alpha(["aa", "aa", "bc", "ba"]))


def test_a_coder_with_two_labels_for_an_item_is_refused():
    frame = two_coders().with_columns(anna=pl.Series(["a", "a", "b", "a", "b", "a", "b", "a"]))
    with pytest.raises(MeasureError, match="two values of anna"):
        coder_agreement(frame, coders=["anna"])


def test_a_coder_who_is_not_there_is_refused():
    with pytest.raises(MeasureError) as caught:
        coder_agreement(two_coders(), coders=["ana"])
    assert caught.value.where == "coders"
