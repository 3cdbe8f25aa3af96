"""The treatments of a multiple-choice study."""

import pytest

from quaver.core.records import Item, Label, LabelSet, Response, Variant
from quaver.design.factor_levels import cross
from quaver.design.paraphrase.paraphraser import PromptContext
from quaver.design.prompts.rendering import PromptWriter
from quaver.design.spec.study_file import Positions, bind
from quaver.design.variants.answer_formats import FINAL, TREATMENTS, Treatments
from quaver.errors import SpecError, UnknownName
from quaver.score.annotation import read
from quaver.score.evaluators.marked_answer import FinalLine

LABELS = LabelSet(tuple(Label(code, code) for code in "ABC"), options=("options",))
PROMPT = Variant(
    id="",
    factors={},
    system="",
    layout="{{ text }}\n{{ options }}\n\n{{ question }}",
    text="{{ text }}",
    instruction="What does the writer think of it?",
    postfix="Answer with a letter.",
    answers={code: code for code in "ABC"},
)
ITEM = Item("1", {"text": "I would buy it again.", "options": ["It is good.", "It is bad.", "Nothing."]})


LAST = FINAL.replace("{{ answers | join(', ') }}", "A, B, C")


def made(**options):
    family = Treatments(**bind(Treatments, options, Positions(None, {}), ("variants", 0)))
    return cross(PROMPT, {family.factor: family.levels(PromptContext(PROMPT, LABELS, 1))})


def written(variant):
    writer = PromptWriter(variant, LABELS)
    return writer.write(ITEM, writer.text(ITEM)).messages[-1].content


def test_there_are_six_and_each_ends_with_the_last_line_and_its_options():
    variants = made()
    assert [variant.factors["treatment"] for variant in variants] == ["T0", "T1", "T2", "T3", "T4", "T5"]
    for variant in variants:
        *lines, last = written(variant).split("\n")
        assert last == LAST
        assert [line[:2] for line in lines[-9:] if line[1:2] == ")"] == ["A)", "B)", "C)"]
    *_, question, last = written(variants[0]).split("\n")
    assert (question[-1], last) == ("?", LAST)


def test_what_each_of_them_adds():
    said = {variant.factors["treatment"]: variant.postfix for variant in made()}
    steps, quote, given = "step by step", "quote the option", "Use nothing but the background and the options"
    assert {name for name, text in said.items() if steps in text} == {"T2", "T4"}
    assert {name for name, text in said.items() if given in text} == {"T3", "T4"}
    assert {name for name, text in said.items() if quote in text} == {"T3", "T4"}
    assert {name for name, text in said.items() if "final answer only" in text} == {"T1"}
    assert {name for name, text in said.items() if "in silence" in text} == {"T5"}


def test_an_answer_is_as_long_as_its_treatment_needs():
    length = {variant.factors["treatment"]: variant.max_tokens or 0 for variant in made()}
    assert length["T1"] < length["T0"] < length["T2"] < length["T4"]


def test_texts_and_lengths_are_the_study_s_own_where_it_says_so():
    treatments = {"T2": {"text": "Reason first."}, "T0": {"max_tokens": 7}, "T6": {"text": "Hurry."}}
    variants = made(treatments=treatments, which=["T6", "T2", "T0"])
    assert [variant.postfix for variant in variants] == [f"Hurry.\n{FINAL}", f"Reason first.\n{FINAL}", FINAL]
    assert [variant.max_tokens for variant in variants] == [None, TREATMENTS["T2"].max_tokens, 7]
    by = [variant.origin["treatment"]["by"] for variant in variants]
    assert by == ["hand", "hand", "hand"]
    assert made()[0].origin["treatment"]["by"] == "built in"


def test_the_last_line_is_what_final_line_reads():
    answer = "A speaks for it, B against.\n“It is good.”\nFINAL: A"
    assert read(Response(answer), FinalLine(), LABELS, made()[4]).label == "A"


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"which": ["T9"]}, UnknownName, "unknown treatment 'T9'"),
        ({"treatments": {"X": {"max_tokens": 5}}}, SpecError, "the treatment 'X' has no text"),
        ({"treatments": {"T0": {"max_tokens": 0}}}, SpecError, "this value does not fit"),
        ({"which": []}, SpecError, "this factor has no level"),
    ],
)
def test_bad_input_is_one_clear_error(options, error, message):
    with pytest.raises(error) as caught:
        made(**options)
    assert message in str(caught.value)
    assert caught.value.where
