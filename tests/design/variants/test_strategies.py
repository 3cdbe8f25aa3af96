"""Simple, detailed, one-shot."""

from __future__ import annotations

import pytest
from tests.design.variants.prompts import messages_of, prompt_of, study_of, variants_of

from quaver.core.records import Label, LabelSet, Variant
from quaver.design.paraphrase.prompt_context import PromptContext
from quaver.design.variants.strategies import Strategies, Strategy
from quaver.errors import SpecError

REWORD = {"use": "instructions", "texts": {"other": "Liked?"}}


def test_the_three_strategies() -> None:
    simple, detailed, shot = variants_of({"use": "strategies"})
    text = study_of().items[0].fields["text"]
    postfix = "Answer with one of: positive, negative."
    assert prompt_of(simple) == f"{text}\n\nIs it liked?\n{postfix}"
    shown = prompt_of(detailed).partition("liked?\n")[2].splitlines()
    assert shown == ["positive: It is liked.", "negative: It is not.", postfix]
    asked = messages_of(shot)
    assert [message.role for message in asked] == ["user", "assistant"] * 2 + ["user"]
    assert {message.content for message in asked[1::2]} == {"positive", "negative"}
    assert asked[-1].content == prompt_of(simple)


def test_strategies_cross_with_paraphrases_names_and_orders_in_either_order() -> None:
    names = {"use": "label_names", "names": ["letter"], "original": False}
    strategies = {"use": "strategies", "strategies": {"both": {"definitions": True, "examples": 1}}}
    for families in ([REWORD, names, strategies], [strategies, names, REWORD]):
        asked = messages_of(variants_of(*families)[-1])
        assert {message.content for message in asked[1::2]} == {"A", "B"}
        shown = asked[-1].content.partition("Liked?\n")[2].splitlines()[:3]
        assert shown == ["A: It is liked.", "B: It is not.", "A: positive, B: negative."]


def test_the_same_examples_whatever_they_are_crossed_with() -> None:
    found = {
        tuple(one.id for one in variant.examples) for variant in variants_of({"use": "strategies"}, REWORD)
    }
    assert len(found) == 2  # none, and those


def test_a_label_without_a_definition() -> None:
    labels = LabelSet((Label("a", "a", "An a."), Label("b", "b")))
    prompt = Variant("", {}, "", "{{ text }}", "{{ text }}", "?", "", {"a": "a", "b": "b"})
    detailed = Strategies(strategies={"d": Strategy(definitions=True)})
    (level,) = detailed.levels(PromptContext(prompt, labels, 1))
    with pytest.raises(SpecError, match="'b' has no definition"):
        level.edit(prompt)


def test_too_few_examples() -> None:
    with pytest.raises(SpecError, match="fewer examples") as caught:
        variants_of({"use": "strategies", "strategies": {"many": {"examples": 10}}})
    assert caught.value.where == "variants[0]"
