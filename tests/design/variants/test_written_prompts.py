"""Prompts written by hand: what each replaces, what it adds, and what is refused."""

import re

import pytest
from tests.design.variants.prompts import messages_of, prompt_of, study_of, variants_of

from quaver.core.calls import Response
from quaver.core.records import LabelSet, Variant
from quaver.design.paraphrase.paraphraser import PromptContext
from quaver.design.variants.written_prompts import WrittenPrompt
from quaver.design.variants.written_prompts import prompts as written
from quaver.errors import SpecError
from quaver.score.annotation import read
from quaver.score.evaluators.marked_answer import AnswerMarkers, FinalLine

REWORD = {"use": "instructions", "texts": {"other": "Liked?"}}
POSTFIX = "Answer with one of: positive, negative."


def prompts(**some):
    return {"use": "prompts", "prompts": {name.replace("_", "-"): one for name, one in some.items()}}


def test_each_replaces_its_parts_and_leaves_the_others():
    plain, digits, moved, bare = variants_of(
        prompts(
            original={},
            digits={"postfix": "1 or 0.", "answers": {"pos": "1", "neg": "0"}, "max_tokens": 2},
            moved={"layout": "{{ question }}\n\n{{ text }}"},
            bare={"layout": "{{ text }}\n{{ postfix }}", "instruction": "", "postfix": "Label:"},
        )
    )
    text = study_of().items[0].fields["text"]
    assert prompt_of(plain) == f"{text}\n\nIs it liked?\n{POSTFIX}"
    assert prompt_of(digits) == f"{text}\n\nIs it liked?\n1 or 0."
    assert (digits.answers, digits.max_tokens) == ({"pos": "1", "neg": "0"}, 2)
    assert (plain.answers, plain.max_tokens) == ({"pos": "positive", "neg": "negative"}, None)
    assert prompt_of(moved) == f"Is it liked?\n{POSTFIX}\n\n{text}"
    assert prompt_of(bare) == f"{text}\nLabel:"
    assert [one.id for one in (plain, bare)] == ["version=original", "version=bare"]


def test_definitions_and_examples_are_added():
    simple, detailed, shot, two = variants_of(
        prompts(simple={}, detailed={"definitions": True}, shot={"examples_of_each": 1}, two={"examples": 3})
    )
    shown = prompt_of(detailed).partition("liked?\n")[2].splitlines()
    assert shown == ["positive: It is liked.", "negative: It is not.", POSTFIX]
    asked = messages_of(shot)
    assert [message.role for message in asked] == ["user", "assistant"] * 2 + ["user"]
    assert {message.content for message in asked[1::2]} == {"positive", "negative"}
    assert asked[-1].content == prompt_of(simple)
    assert [len(one.examples) for one in (simple, shot, two)] == [0, 2, 3]


def test_what_is_added_crosses_with_paraphrases_names_and_orders_in_either_order():
    names = {"use": "label_names", "names": ["letter"], "original": False}
    both = prompts(both={"definitions": True, "examples_of_each": 1})
    for families in ([REWORD, names, both], [both, names, REWORD]):
        asked = messages_of(variants_of(*families)[-1])
        assert {message.content for message in asked[1::2]} == {"A", "B"}
        shown = asked[-1].content.partition("Liked?\n")[2].splitlines()[:3]
        assert shown == ["A: It is liked.", "B: It is not.", "A: positive, B: negative."]


def test_examples_stand_first_wherever_the_question_goes():
    shots = {"use": "shots", "k": [1], "place": "message"}
    moved = prompts(after={}, before={"layout": "{{ question }}\n\n{{ text }}"})
    for families in ([shots, moved], [moved, shots]):
        for variant in variants_of(*families):
            assert re.match(r"Text \d+\.\nAnswer: (positive|negative)\n\n", prompt_of(variant))


def test_reasoning_is_read_by_the_evaluators_of_marked_answers():
    labels = study_of().labels
    (variant,) = variants_of(prompts(steps={"postfix": "Think. Last, FINAL: and the answer."}))
    reasoned = "It sounds positive.\nFINAL: negative"
    assert read(Response(reasoned), FinalLine(), labels, variant).label == "neg"
    assert (
        read(Response("Positive, maybe.\nAnswer: negative"), AnswerMarkers(), labels, variant).label == "neg"
    )


def test_labels_of_fields_are_not_defined_by_a_prompt():
    prompt = Variant("", {}, "", "{{ text }}", "{{ text }}", "?", "", {})
    with pytest.raises(SpecError, match="no labels to define"):
        written(PromptContext(prompt, LabelSet(()), 1), prompts={"d": WrittenPrompt(definitions=True)})
