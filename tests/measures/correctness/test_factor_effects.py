import itertools

import numpy as np
import polars as pl
import pytest

from quaver.errors import MeasureError
from quaver.measures.correctness.accuracy import accuracy
from quaver.measures.correctness.f1 import f1
from quaver.measures.correctness.factor_effects import factor_effects, factors_of
from quaver.measures.validity.answer_quality import compliance


def study(items=40, seed=0):
    rng = np.random.default_rng(seed)
    rows = []
    for item in range(items):
        gold = "ab"[item % 2]
        for definition, output in itertools.product(["no", "yes"], ["label", "score"]):
            right = rng.random() < 0.6 + 0.2 * (definition == "yes")
            label = gold if right else ("b" if gold == "a" else "a")
            label = None if output == "score" and rng.random() < 0.2 else label
            rows.append(
                (
                    f"i{item:03}",
                    f"{definition},{output}",
                    definition,
                    output,
                    label,
                    gold,
                    f"g{item // 4}",
                    40 + 10 * (definition == "yes"),
                )
            )
    names = ["item", "variant", "definition", "output", "label", "gold", "author", "prompt_tokens"]
    return pl.DataFrame(rows, schema=names, orient="row")


def table(found):
    return {(e.measure.removeprefix("factor_effects_"), e.cell["factor"], e.cell["level"]): e for e in found}


def test_factors_are_the_variants_own_columns():
    assert factors_of(study()) == ("definition", "output")
    assert factors_of(study().drop("definition", "output")) == ("variant",)
    assert factors_of(study().select("item", "label")) == ()


def test_levels_are_what_the_plain_measures_give():
    frame = study()
    found = table(factor_effects(frame))
    for measure, name, index in ((accuracy, "accuracy", 0), (compliance, "compliance", 0), (f1, "f1", 0)):
        for level in ("no", "yes"):
            plain = measure(frame, by=["definition"])
            expected = [e for e in plain if e.cell == {"definition": level}][index]
            assert found[name, "definition", level].value == pytest.approx(expected.value)


def test_differences_by_hand():
    frame = study()
    found = table(factor_effects(frame, reference={"definition": "no"}))
    means = {
        (e.cell["definition"], e.cell["output"]): e.value
        for e in accuracy(frame, by=["definition", "output"])
    }
    row = {d: np.mean([means[d, o] for o in ("label", "score")]) for d in ("no", "yes")}
    difference = found["accuracy_difference", "definition", "yes"]
    assert difference.value == pytest.approx(row["yes"] - row["no"])
    assert difference.details["against"] == "no"
    assert ("accuracy_difference", "definition", "no") not in found


def test_without_gold_compliance_is_left():
    found = table(factor_effects(study().with_columns(gold=pl.lit(None, pl.String))))
    assert found["accuracy", "output", "score"].reason == "no gold labels"
    assert found["f1_difference", "output", "score"].reason == "no gold labels"
    assert found["compliance", "output", "score"].value is not None


@pytest.mark.parametrize(
    ("options", "where"),
    [
        ({"factors": ["defintion"]}, "factors"),
        ({"reference": {"definition": "maybe"}}, "reference['definition']"),
    ],
)
def test_bad_input_names_the_argument(options, where):
    with pytest.raises(MeasureError) as caught:
        factor_effects(study(), **options)
    assert caught.value.where == where
