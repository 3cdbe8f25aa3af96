"""The five perturbations of an audit, in three kinds of tasks."""

from dataclasses import replace

import pytest

from quaver.core.records import Item, Label, LabelSet, Response, Variant
from quaver.design.factor_levels import cross
from quaver.design.paraphrase.paraphraser import PromptContext
from quaver.design.prompts.rendering import PromptWriter
from quaver.design.spec.study_file import Positions, bind
from quaver.design.variants.perturbations import Perturbations
from quaver.errors import QuaverError, SpecError
from quaver.score.annotation import read
from quaver.score.evaluators.marked_answer import AnswerMarkers

LABELS = LabelSet((Label("pos", "positive"), Label("neg", "negative"), Label("neu", "neutral")))
LETTERS = LabelSet(tuple(Label(code, code) for code in "AB"), options=("one", "two"))
PROMPT = Variant(
    id="",
    factors={},
    system="You code texts.",
    layout="Text: {{ text }}\n\n{{ question }}",
    text="{{ text }}",
    instruction="Is it positive, negative or neutral?",
    postfix="Answer with one word.",
    answers={"pos": "positive", "neg": "negative", "neu": "neutral"},
)
CHOICE = replace(
    PROMPT,
    layout="{{ text }}\n{{ instruction }}\n{{ options }}\n\n{{ postfix }}",
    instruction="{{ item.asked }}",
    postfix="Answer A or B.",
    answers={"A": "A", "B": "B"},
)
SAMPLE = [Item("s", {"text": "Nice."}, "pos")]
SPARE = [Item(str(n), {"text": f"Text {n}."}, ("pos", "neg", "neu")[n % 3]) for n in range(9)]
NAMES = ["original", "paraphrase", "moved", "examples", "reasoning", "bare"]


def made(prompt=PROMPT, labels=LABELS, **options):
    family = Perturbations(**bind(Perturbations, options, Positions(None, {}), ("variants", 0)))
    context = PromptContext(prompt, labels, 1, SPARE, sample=SAMPLE)
    return {v.factors["perturbation"]: v for v in cross(prompt, {family.factor: family.levels(context)})}


def messages(variant, labels=LABELS, item=SAMPLE[0]):
    writer = PromptWriter(variant, labels)
    return writer.write(item, writer.text(item)).messages


def test_there_are_five_beside_the_original():
    variants = made(paraphrase="Which tone does it have?")
    assert list(variants) == NAMES
    assert {name: variant.max_tokens for name, variant in variants.items()} == {
        **dict.fromkeys(NAMES, 32),
        "reasoning": 256,
    }


def test_what_each_of_them_changes_and_what_it_leaves():
    variants = made(paraphrase="Which tone does it have?")
    prompts = {name: messages(variant) for name, variant in variants.items()}
    last = {name: some[-1].content for name, some in prompts.items()}
    asked = "Is it positive, negative or neutral?\nAnswer with one word."
    assert last["original"] == last["examples"] == f"Text: Nice.\n\n{asked}"
    assert last["paraphrase"] == last["original"].replace(asked.split("\n")[0], "Which tone does it have?")
    assert last["moved"] == f"{asked}\n\nText: Nice."
    assert last["bare"] == "Nice.\nLabel (positive, negative, neutral):"
    *before, reasoning = last["reasoning"].split("\n")
    assert before == last["original"].split("\n")[:-1]
    assert reasoning.startswith("First ")
    assert reasoning.endswith(" positive, negative, neutral.")
    assert [some[0].role for some in prompts.values()] == ["system"] * 5 + ["user"]


def test_the_examples_are_three_one_of_each_label_and_none_of_the_sample():
    variant = made(which=["examples"])["examples"]
    assert sorted(example.gold or "" for example in variant.examples) == ["neg", "neu", "pos"]
    assert not {example.id for example in variant.examples} & {item.id for item in SAMPLE}
    assert len(messages(variant)) == 1 + 3 * 2 + 1
    assert len(made(which=["examples"], examples=2)["examples"].examples) == 2


def test_without_a_paraphrase_the_surface_engine_makes_one():
    (variant,) = made(which=["paraphrase"]).values()
    assert variant.instruction != PROMPT.instruction
    assert all(name in variant.instruction for name in ("positive", "negative", "neutral"))
    assert variant.origin["perturbation"]["by"] == "surface"
    assert made(which=["paraphrase"])["paraphrase"] == variant


def test_multiple_choice_keeps_what_the_item_asks_in_bare_framing():
    item = Item("1", {"text": "It rained.", "asked": "Was it wet?", "one": "yes", "two": "no"})
    variants = made(CHOICE, LETTERS, kind="multiple_choice", which=["bare", "reasoning"])
    (bare,) = messages(variants["bare"], LETTERS, item)
    assert bare.content.splitlines() == [
        item.fields["text"],
        "A) yes",
        "B) no",
        item.fields["asked"],
        "Answer:",
    ]
    assert "weigh" in messages(variants["reasoning"], LETTERS, item)[-1].content


def test_question_answering():
    variants = made(kind="question_answering", which=["bare", "reasoning"])
    assert messages(variants["bare"])[-1].content.endswith("(positive, negative, neutral):")
    assert "the question" in messages(variants["reasoning"])[-1].content


def test_texts_and_lengths_are_the_study_s_own_where_it_says_so():
    variants = made(which=["original", "reasoning", "bare"], bare="=>", answer_tokens=4, reasoning_tokens=40)
    assert [v.max_tokens for v in variants.values()] == [4, 40, 4]
    assert messages(variants["bare"])[-1].content == "Nice.\n=>"


def test_one_evaluator_reads_all_of_them():
    variants = made(which=["original", "reasoning"])
    reasoned = "It sounds positive, though neutral is possible.\nAnswer: negative"
    assert read(Response(reasoned), AnswerMarkers(), LABELS, variants["reasoning"]).label == "neg"
    assert read(Response("negative"), AnswerMarkers(), LABELS, variants["original"]).label == "neg"


WRONG = {
    "an echo": ({"paraphrase": PROMPT.instruction + " "}, "the paraphrase is the instruction itself"),
    "no example": (
        {"which": ["examples"], "examples": 0},
        "examples: this value does not fit\n  expected: 1 or more",
    ),
    "too many examples": ({"which": ["examples"], "examples": 10}, "fewer examples than asked for"),
    "no room": ({"which": ["bare"], "answer_tokens": 0}, "answer_tokens: this value does not fit"),
    "an unknown kind": ({"kind": "regression"}, "this value does not fit"),
    "an unknown perturbation": ({"which": ["shuffled"]}, "this value does not fit"),
}


@pytest.mark.parametrize("name", WRONG)
def test_bad_input_is_one_clear_error(name):
    options, message = WRONG[name]
    with pytest.raises(QuaverError) as caught:
        made(**options)
    assert message in str(caught.value)


def test_a_layout_without_a_question_moves_nothing():
    with pytest.raises(SpecError, match="no question"):
        made(replace(PROMPT, layout="{{ text }}"), which=["moved"])
