"""The evaluators' options, and the numbers beside their labels; their readings are in test_outputs.py."""

import inspect
from dataclasses import replace
from pathlib import Path

import pytest

from quaver.core import registry
from quaver.core.calls import Response
from quaver.core.records import Label, Reading
from quaver.errors import SpecError, UnknownName
from quaver.score.annotation import read
from quaver.score.evaluators.json_field import JsonField
from quaver.score.evaluators.marked_answer import FinalLine, FirstCharacter
from quaver.score.evaluators.named_label import LabelMatch, Pattern
from quaver.score.evaluators.scored_label import ByOutput, LabelScores
from quaver.score.parsing import label_forms, parsed_answer, statuses
from quaver.score.parsing.evaluator import Evaluator, ambiguous, tied
from quaver.score.parsing.statuses import verbal_confidence
from quaver.testing.tasks import TASKS, task


def reading(evaluator: Evaluator, name: str, text: str) -> Reading:
    return read(Response(text), evaluator, *TASKS[name])


def test_label_match_may_take_the_first_of_several():
    got = reading(LabelMatch(several="first"), "tone", "neutral, positive")
    assert got.label == "neu"
    assert "first of 2" in (got.reason or "")
    assert reading(LabelMatch(), "tone", "neutral, positive").reason == ambiguous(["neu", "pos"]).reason


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("It looks negative.\nBut on the whole: positive", "pos"),
        ("negative\n\n**Positive.**\n", "pos"),
        ("FINAL: positive\nnegative", "pos"),
        ("positive\npositive or negative", None),
        ("positive\nThat is all.", None),
    ],
)
def test_the_final_line_names_the_label_with_or_without_the_word(text, label):
    assert reading(FinalLine(), "tone", text).label == label
    assert (reading(FinalLine(marked=True), "tone", text).label is not None) == ("FINAL" in text)


def test_label_scores_keep_the_scores():
    got = reading(LabelScores(), "tone", "positive 0.2, negative 0.8, neutral 0.01")
    assert got.label == "neg"
    assert got.confidence == 0.8
    assert got.probabilities == pytest.approx({"pos": 0.2 / 1.01, "neg": 0.8 / 1.01, "neu": 0.01 / 1.01})
    assert reading(LabelScores(), "tone", "positive 0.2, negative 0.83").status == "no_label"
    assert reading(LabelScores(), "tone", "positive, negative 1").reason == "a label without a score"


def test_a_lone_score_is_of_the_label_that_is_named_and_else_of_none():
    got = reading(LabelScores(threshold=0.7, score_of="dole"), "names", "0.6")
    assert (got.label, got.confidence, got.reason) == ("clinton", pytest.approx(0.4), "a lone score")
    got = reading(LabelScores(score_of="clinton"), "names", "0.6")
    assert (got.label, got.probabilities) == ("clinton", {"clinton": 0.6, "dole": 0.4})
    on_it = reading(LabelScores(threshold=0.6, score_of="dole"), "names", "0.6")
    assert on_it.label == "dole"
    got = reading(LabelScores(), "names", "0.6")
    assert (got.label, got.status) == (None, "no_label")
    assert "score_of" in (got.reason or "")


def test_the_prompt_names_the_label_of_a_lone_score_whatever_the_order_of_labels():
    for codes in (("yes", "no"), ("no", "yes")):
        labels, asked = task({code: code for code in codes}, *(Label(code, code) for code in codes))
        toxic = replace(asked, output="score", score_of="yes")
        found = {
            text: read(Response(text), ByOutput(), labels, toxic).label
            for text in ("0.97", "0.03", "Yes: 0.97", "yes: 0.2", "yes 0.9, no 0.1", "no, 0.03")
        }
        assert found == {
            "0.97": "yes",
            "0.03": "no",
            "Yes: 0.97": "yes",
            "yes: 0.2": "no",
            "yes 0.9, no 0.1": "yes",
            "no, 0.03": None,  # of toxicity, or of "no"?
        }


@pytest.mark.parametrize(
    "text",
    [
        *("0.2/1", "1 out of 10", "0.6 - 0.8", "0.6 to 0.8", "between 0.2 and 0.4", "> 0.5"),
        *("more than 0.5", "0.1 0.2"),
    ],
)
def test_what_is_no_score_is_not_read_as_one(text):
    assert reading(LabelScores(score_of="dole"), "names", text).status == "no_label"


def test_a_score_belongs_to_the_label_beside_it():
    said = {
        "Positive or negative? negative: 0.8, positive: 0.2": "neg",
        "Negative is more likely than positive. Positive: 0.1\nNegative: 0.9": "neg",
        "Positive or negative? 0.8 positive, 0.2 negative": "pos",
        "positive, negative, neutral: 0.2, 0.7, 0.1": "neg",
        "On a scale from 0 to 1: positive 0.2, negative 0.8": "neg",
        "1.0 positive, 0.0 negative, 1.0 in sum": "pos",
        "positive: 0.2, negative: 0.8. So positive is unlikely.": "neg",
        "| positive | 0.2 |\n| negative | 0.8 |\nnegative wins": "neg",
        '```json\n{"positive": 0.2, "negative": 0.8}\n``` I chose negative.': "neg",
        "positive 0.3 negative 0.7 positive": None,  # before its score, or behind it
        "positive: 0.6, negative: 0.4. Revised: positive: 0.3, negative: 0.7": None,
    }
    assert {text: reading(LabelScores(), "tone", text).label for text in said} == said


def test_tied_scores_are_valid_and_no_label():
    got = reading(LabelScores(), "tone", "positive 0.5, negative 0.5")
    assert (got.label, got.status, got.confidence) == (None, "valid", None)
    assert got.reason == tied(["neg", "pos"], {}).reason
    assert got.probabilities == {"pos": 0.5, "neg": 0.5, "neu": 0.0}
    four = task({code: code for code in "abcd"}, *(Label(code, f"kind {code}") for code in "abcd"))
    got = read(Response("kind a .25 kind b .25 kind c .25 kind d .25"), LabelScores(), *four)
    assert (got.label, got.status) == (None, "valid")


def test_options_that_cannot_be():
    with pytest.raises(SpecError, match="threshold"):
        LabelScores(threshold=2)
    with pytest.raises(UnknownName, match="'clintn'"):
        LabelScores(score_of="clintn").reader(*TASKS["names"])
    with pytest.raises(SpecError, match="two labels"):
        LabelScores(score_of="pos").reader(*TASKS["tone"])
    labels, asked = TASKS["names"]
    with pytest.raises(SpecError) as caught:
        LabelScores(score_of="dole").reader(labels, replace(asked, score_of="clinton"))
    assert (caught.value.expected, caught.value.found) == ("clinton", "dole")


def test_json_field_of_another_name():
    assert reading(JsonField(field="Sentiment"), "tone", '{"sentiment": "negative"}').label == "neg"
    assert reading(JsonField(), "tone", "{}").reason == "no field label"
    assert reading(JsonField(), "tone", "negative").reason == "no JSON object"


def test_the_first_character_is_the_reason():
    assert reading(FirstCharacter(), "choice", "  ** The text").reason.endswith('"T"')
    assert reading(FirstCharacter(), "tone", "positive").status == "no_label"


def test_pattern_reads_its_first_group_or_all_of_it():
    assert (
        reading(Pattern(pattern=r"(?i)verdict: (\w+)"), "tone", "Verdict: Negative. positive").label == "neg"
    )
    none = reading(Pattern(pattern=r"=(\w+)"), "tone", "good")
    assert none.status == "no_label"
    assert reading(Pattern(pattern="(?:pos|neg)itive"), "tone", "it is positive").label == "pos"
    assert reading(Pattern(pattern=r"=(\w+)", place="last"), "tone", "=positive=negative").label == "neg"
    assert reading(Pattern(pattern=r"=(\w+)"), "tone", "=good").reason != none.reason


@pytest.mark.parametrize("pattern", ["(a", r"(a)\1", "(?=a)", "a{9999}{9999}"])
def test_a_pattern_that_is_none_is_told_so(pattern):
    with pytest.raises(SpecError, match="evaluators: pattern: pattern"):
        Pattern(pattern=pattern)


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a*)*b", "(x+x+)+y", "(a|aa)+b"])
def test_a_pattern_made_to_hurt_takes_linear_time(pattern):
    # With backtracking these take longer than the age of the universe.
    assert reading(Pattern(pattern=pattern), "tone", "a" * 100_000 + "c").label is None


def by_output(text: str, output: str, evaluator: Evaluator | None = None) -> Reading:
    labels, variant = TASKS["tone"]
    asked = replace(variant, output=output)
    return read(Response(text), evaluator or ByOutput(), labels, asked)


def test_by_output_reads_a_label_or_scores_as_the_variant_asked():
    scores = "positive 0.7, negative 0.2, neutral 0.1"
    got = by_output(scores, "score")
    assert (got.label, got.confidence) == ("pos", 0.7)
    assert by_output(scores, "label").status == "ambiguous"
    assert by_output("negative", "label").label == "neg"
    assert by_output("negative", "score").reason == "a label without a score"
    assert by_output("neutral, or positive", "label", ByOutput(label="first_label")).label == "neu"


def test_by_output_refuses_what_it_cannot_make_or_read_with():
    with pytest.raises(UnknownName, match=r"^score: .*'labelscores'"):
        ByOutput(score="labelscores")
    with pytest.raises(SpecError, match="option 'pattern'"):
        ByOutput(label="pattern")
    with pytest.raises(SpecError) as caught:
        ByOutput(label="logprob")
    assert caught.value.found == "logprob"
    with pytest.raises(UnknownName, match="'several'"):
        ByOutput(label={"use": "label_match", "sevral": "first"})
    with pytest.raises(SpecError, match="label_match: several: "):
        ByOutput(label={"use": "label_match", "several": "last"})
    with pytest.raises(SpecError, match="no evaluator"):
        ByOutput(label={"several": "first"})


def test_by_output_takes_evaluators_with_their_options():
    both = ByOutput(
        label={"use": "label_match", "several": "first"}, score={"use": "label_scores", "threshold": 0.7}
    )
    assert by_output("neutral, or positive", "label", both).label == "neu"
    labels, asked = TASKS["names"]
    scored = replace(asked, output="score", score_of="dole")
    assert read(Response("0.6"), both, labels, scored).label == "clinton"


PAGE = Path(__file__).parents[2] / "docs" / "evaluators.md"


def words(text):
    return " ".join(text.replace("`", "").split())


@pytest.mark.parametrize("name", registry.names("evaluators"))
def test_every_rule_is_in_the_docs(name):
    rule = inspect.getdoc(registry.load("evaluators", name)) or ""
    page = PAGE.read_text(encoding="utf-8")
    if registry.load("evaluators", name).__module__.startswith("quaver."):
        assert f"## `{name}`" in page
        assert words(rule.partition("\nArgs:")[0]) in words(page)


@pytest.mark.parametrize("module", [parsed_answer, label_forms, statuses], ids=lambda module: module.__name__)
def test_so_are_the_rules_for_all_of_them(module):
    rules = (inspect.getdoc(module) or "").partition("\n\n")[2]
    text = words(PAGE.read_text(encoding="utf-8"))
    assert all(words(rule) in text for rule in rules.split("\n\n") if not rule.startswith("The rules"))


def test_and_that_of_verbal_confidence():
    rule = (inspect.getdoc(verbal_confidence) or "").partition("\n\n")[2].partition(">>>")[0]
    assert words(rule) in words(PAGE.read_text(encoding="utf-8"))
