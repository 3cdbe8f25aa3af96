"""How many prompts are worth asking: votes whose worth is known."""

from __future__ import annotations

import random

import polars as pl
import pytest

from quaver.study.labelling.prompts_worth_asking import PromptVotes

LABELS = ("a", "b")


def answered(right: list[list[bool]], gold: bool = True) -> pl.DataFrame:
    """Annotations of texts × prompts, each right or not; the gold label of all is ``a``."""
    rows = [
        {
            "item": f"t{at}",
            "variant": f"p{n}",
            "repeat": 0,
            "label": "a" if one else "b",
            "gold": "a" if gold else None,
        }
        for at, row in enumerate(right)
        for n, one in enumerate(row)
    ]
    return pl.DataFrame(rows, schema_overrides={"gold": pl.String})


def independent(prompts: int, wrong: float, texts: int = 400) -> list[list[bool]]:
    draw = random.Random(1)
    return [[draw.random() >= wrong for _ in range(prompts)] for _ in range(texts)]


def of(frame: pl.DataFrame, prompts: int) -> PromptVotes:
    return PromptVotes(frame, [f"p{n}" for n in range(prompts)], LABELS, seed=3)


def test_votes_of_independent_errors_are_right_as_the_binomial_says() -> None:
    """A quarter wrong: of three 10/64 (0.156), of five 106/1024 (0.104) votes are wrong."""
    given = of(answered(independent(10, 0.25)), 10)
    found = {one.prompts: one for one in given.forecast()}
    assert list(found) == [1, 3, 5, 10]
    assert found[1].wrong == pytest.approx(0.25, abs=0.03)
    assert found[3].wrong == pytest.approx(10 / 64, abs=0.03)
    assert found[5].wrong == pytest.approx(106 / 1024, abs=0.03)
    assert (found[1].texts, found[1].by_gold) == (400, True)
    assert given.worth_asking() == 10


def test_prompts_that_agree_are_worth_one() -> None:
    rows = [[at % 10 > 0] * 10 for at in range(100)]
    given = of(answered(rows), 10)
    assert [one.wrong for one in given.forecast()] == pytest.approx([0.1] * 4)
    assert given.worth_asking() == 1


def test_without_gold_the_vote_of_all_prompts_is_what_counts() -> None:
    given = of(answered(independent(10, 0.02), gold=False), 10)
    assert not given.by_gold
    assert given.worth_asking() == 1
    assert of(answered(independent(10, 0.3), gold=False), 10).worth_asking() == 10


def test_few_gold_labels_decide_nothing() -> None:
    rows = independent(5, 0.1, texts=100)
    frame = answered(rows).with_columns(gold=pl.when(pl.col("item") == "t1").then(pl.col("gold")))
    assert not of(frame, 5).by_gold


def test_the_first_prompt_is_asked_and_those_nearest_to_the_vote() -> None:
    draw = random.Random(5)
    rows = [[True, draw.random() < 0.3, draw.random() < 0.7, draw.random() < 0.9, True] for _ in range(300)]
    assert of(answered(rows), 5).most_typical(1) == ["p0"]
    assert of(answered(rows), 5).most_typical(3) == ["p0", "p3", "p4"]


def test_answers_without_a_label_are_no_votes() -> None:
    frame = answered([[True, False, False]] * 40).with_columns(
        label=pl.when(pl.col("variant") == "p0").then(pl.col("label"))
    )
    found = of(frame, 3).forecast()
    assert found[-1].wrong == 0.0, "only the first prompt gave labels"
