"""The prompt that may be chosen: which are odd, which is best, and when there is nothing to choose."""

import numpy as np
import polars as pl
import pytest

from quaver.core.records import Label, LabelSet
from quaver.measures.evidence.verdict_evidence import verdict_evidence

LABELS = LabelSet(tuple(Label(code, code) for code in "ab"))


def study(answer, prompts="vwxyz", items=60):
    rows = [
        (item, prompt, answer(item, prompt), "ab"[item % 2], f"writer {item // 10}")
        for item in range(items)
        for prompt in prompts
    ]
    return pl.DataFrame(rows, schema=["item", "variant", "label", "gold", "author"], orient="row")


def chosen(frame, **options):
    estimates = verdict_evidence(frame, labels=LABELS, **options)
    names = "rest_", "best_prompt_", "broken_prompts"
    return {one.measure: one for one in estimates if one.measure.startswith(names)}


def odd(item, prompt):
    """The third prompt turns every other pair of labels about."""
    return "ab"[(item + (prompt == "x" and item // 2 % 2 == 0)) % 2]


def test_the_odd_prompt_is_left_out_and_the_rest_agree():
    found = chosen(study(odd).drop("gold"))
    rest = found["rest_agreement"]
    assert (rest.value, rest.details["without"], rest.details["prompts"]) == (1.0, ["x"], 4)
    assert 0.8 < rest.low < 1
    assert "best_prompt_better" not in found


def test_with_gold_labels_the_rest_is_judged_by_them():
    found = chosen(study(odd))
    assert (found["rest_wrong"].value, found["rest_gold_agreement"].value) == (0.0, 1.0)
    better = found["best_prompt_better"]
    assert better.value == pytest.approx(0.5 / 4)  # one of the four others is wrong about half of the items
    assert better.low > 0
    assert better.confidence_level == pytest.approx(0.99)  # for five prompts at once


def test_a_prompt_whose_answers_have_no_label_is_left_out():
    found = chosen(study(lambda item, prompt: None if prompt == "v" else "ab"[item % 2], "vwx"))
    assert found["rest_agreement"].details == {
        **found["rest_agreement"].details,
        "without": ["v"],
        "prompts": 2,
    }
    assert found["rest_unlabelled"].value == 0


def test_up_to_how_many_prompts_like_these_could_be_broken():
    none = chosen(study(lambda item, _: "ab"[item % 2]))["broken_prompts"]
    assert (none.value, none.n, none.unit) == (0.0, 5, "prompt")
    assert none.high == pytest.approx(1 - 0.05 ** (1 / 5))
    one = chosen(study(odd))["broken_prompts"]
    assert one.value == 0.2
    assert one.high == pytest.approx(0.657, abs=1e-3)  # where one or none of five has a chance of 5%


def test_prompts_that_are_alike_are_not_chosen_among():
    """Of forty studies of five prompts that are equally noisy hardly one has an odd or a better prompt."""
    studies = []  # "v" to "z" are 3, 4, 0, 1 and 2 modulo 5
    for seed in range(40):
        again = np.random.default_rng(seed).random((60, 5)) < 0.2
        studies.append(
            chosen(study(lambda item, prompt, again=again: "ab"[(item + again[item, ord(prompt) % 5]) % 2]))
        )
    assert sum("rest_agreement" in found for found in studies) <= 2
    assert sum(found["best_prompt_better"].low > 0 for found in studies) <= 1


def test_an_answer_without_a_label_is_wrong_for_the_best_prompt():
    def answer(item, prompt):
        return None if prompt == "w" and item < 15 else "ab"[item % 2] if prompt in "vw" else "a"

    best = chosen(study(answer, "wv"))["best_prompt_wrong"]
    assert (best.cell["variant"], best.value) == ("v", 0.0)


def test_of_one_prompt_there_is_nothing_to_choose():
    assert chosen(study(odd, "v")) == {}
    failed = study(odd).with_columns(
        status=pl.when(pl.col("variant") == "v").then(pl.lit("valid")).otherwise(pl.lit("error"))
    )
    assert chosen(failed) == {}
