"""Prompts built from parts: which there are, what they say, and what is refused."""

from collections import Counter
from dataclasses import replace

import pytest

from quaver.core.records import Item, Label, LabelSet, Variant
from quaver.design.factor_levels import cross
from quaver.design.paraphrase.paraphraser import PromptContext
from quaver.design.prompts.rendering import PromptWriter
from quaver.design.spec.study_file import Positions, bind
from quaver.design.variants.prompt_factors import factors
from quaver.errors import SpecError

LABELS = LabelSet(
    (
        Label("pos", "positive", definition="The writer praises it."),
        Label("neg", "negative", definition="The writer blames it."),
    )
)
PROMPT = Variant(
    id="",
    factors={},
    system="",
    layout="{{ text }}\n\n{{ question }}",
    text="{{ text }}",
    instruction="Is this review positive or negative?",
    postfix="Answer with one of: {{ answers | join(', ') }}.",
    answers={"pos": "positive", "neg": "negative"},
)
SHORT = {"task": {"concise": "Positive or negative?"}}
TWO = {"definition": ["no", "yes"], "output": ["label", "score"]}


def made(labels=LABELS, prompt=PROMPT, **options):
    options = bind(factors, options, Positions(None, {}), ("variants", 0))
    return cross(prompt, {factors.factor: factors(PromptContext(prompt, labels, 1), **options)})


def written(variant):
    item = Item("1", {"text": "It is good."})
    return PromptWriter(variant, LABELS).write(item, "It is good.").messages[-1].content


def test_two_by_two_by_two_by_two_prompts_each_with_its_levels():
    variants = made(parts=SHORT)
    assert len(variants) == 16
    assert len({written(variant) for variant in variants}) == 16
    columns = ("definition", "factor_output", "explanation", "factor_length")
    assert all(tuple(variant.factors) == columns for variant in variants)
    assert Counter(level for variant in variants for level in variant.factors.items()) == {
        ("definition", "no"): 8,
        ("definition", "yes"): 8,
        ("factor_output", "label"): 8,
        ("factor_output", "score"): 8,
        ("explanation", "no"): 8,
        ("explanation", "yes"): 8,
        ("factor_length", "standard"): 8,
        ("factor_length", "concise"): 8,
    }
    assert variants[0].id == "definition=no,output=label,explanation=no,length=standard"
    assert variants[-1].id == "definition=yes,output=score,explanation=yes,length=concise"


def test_what_the_first_and_the_last_of_them_say():
    variants = made(parts=SHORT)
    assert written(variants[0]) == (
        "It is good.\n\nIs this review positive or negative?\nAnswer with one of: positive, negative."
    )
    assert written(variants[-1]) == (
        "It is good.\n\nPositive or negative?\n"
        "positive = The writer praises it.; negative = The writer blames it.\n"
        "A line each for positive, negative: label, colon, probability (0 to 1, sum 1).\n"
        'Then "Explanation:" and a sentence why.'
    )
    assert [line.partition(":")[0] for line in written(variants[8]).splitlines() if line[:1] == "-"] == [
        "- positive",
        "- negative",
    ]


def test_output_explanation_and_length_are_set_for_evaluators_and_engines():
    for variant in made(parts=SHORT):
        levels = variant.factors
        assert variant.output == levels["factor_output"]
        assert variant.explains == (levels["explanation"] == "yes")
        asked = {"label": 16, "score": 64}[levels["factor_output"]] + {"no": 0, "yes": 96}[
            levels["explanation"]
        ]
        assert variant.max_tokens == asked


def test_task_and_label_follow_what_other_families_make_of_them():
    levels = factors(PromptContext(PROMPT, LABELS, 1), factors=TWO)
    other = replace(PROMPT, instruction="Good or bad?", postfix="One word.")
    assert levels[0].edit(other).instruction == "Good or bad?"
    assert levels[0].edit(other).postfix == "One word."


def test_labels_without_definitions_are_defined_by_a_part():
    bare = LabelSet((Label("pos", "positive"), Label("neg", "negative")))
    written_out = {"definitions": "Positive is praise, negative is blame."}
    assert len(made(bare, factors=TWO, parts=written_out)) == 4
    with pytest.raises(SpecError, match="the part 'score' has no concise text"):
        made(parts={**SHORT, "score": {"text": "Scores, please."}})


def test_a_score_part_says_whose_score_it_asks_for():
    asks = {"text": "How likely is it that it is positive?", "score_of": "pos"}
    found = {
        v.factors["factor_output"]: (v.output, v.score_of) for v in made(factors=TWO, parts={"score": asks})
    }
    assert found == {"label": ("label", ""), "score": ("score", "pos")}
    for score in ({"text": "Of {{ answers }}."}, {}):
        assert {v.score_of for v in made(factors=TWO, parts={"score": score})} == {""}
    three = LabelSet((*LABELS.labels, Label("neu", "neutral", definition="The writer does neither.")))
    prompt = replace(PROMPT, answers={label.code: label.name for label in three.labels})
    with pytest.raises(SpecError, match="two labels"):
        made(three, prompt, factors=TWO, parts={"score": asks})
