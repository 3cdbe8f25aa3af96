"""The evaluators' options, and the numbers beside their labels; their readings are in test_outputs.py."""

from dataclasses import replace

import pytest
from tests.score.tasks import TASKS, task

from quaver.errors import SpecError, UnknownName
from quaver.records import Label, Reading, Response
from quaver.score import Evaluator
from quaver.score.annotate import read
from quaver.score.answer import Answer
from quaver.score.by_output import ByOutput
from quaver.score.first_character import FirstCharacter
from quaver.score.integer import Integer
from quaver.score.json_field import JsonField
from quaver.score.label_match import LabelMatch
from quaver.score.label_scores import LabelScores
from quaver.score.pattern import Pattern


def reading(evaluator: Evaluator, name: str, text: str) -> Reading:
    return read(Response(text), evaluator, *TASKS[name])


def test_label_match_may_take_the_first_of_several() -> None:
    got = reading(LabelMatch(several="first"), "tone", "neutral, positive")
    assert (got.label, got.reason) == ("neu", "the first of 2")
    assert reading(LabelMatch(), "tone", "neutral, positive").reason == "2 labels found: neu, pos"


def test_label_scores_keep_the_scores() -> None:
    got = reading(LabelScores(), "tone", "positive 0.2, negative 0.8, neutral 0.01")
    assert got.label == "neg"
    assert got.confidence == 0.8
    assert got.probabilities == pytest.approx({"pos": 0.2 / 1.01, "neg": 0.8 / 1.01, "neu": 0.01 / 1.01})
    assert (
        reading(LabelScores(), "tone", "positive 0.2, negative 0.83").reason == "scores that do not sum to 1"
    )
    assert reading(LabelScores(), "tone", "positive, negative 1").reason == "a label without a score"


def test_a_lone_score_is_of_the_last_label_or_the_one_that_is_named() -> None:
    got = reading(LabelScores(threshold=0.7), "names", "0.6")
    assert (got.label, got.confidence, got.reason) == ("clinton", pytest.approx(0.4), "a lone score")
    got = reading(LabelScores(score_of="clinton"), "names", "0.6")
    assert (got.label, got.probabilities) == ("clinton", {"clinton": 0.6, "dole": 0.4})


def test_options_that_cannot_be() -> None:
    with pytest.raises(SpecError, match="threshold"):
        LabelScores(threshold=2)
    with pytest.raises(UnknownName, match="unknown label 'clintn'"):
        LabelScores(score_of="clintn").reader(*TASKS["names"])


def test_json_field_of_another_name() -> None:
    assert reading(JsonField(field="Sentiment"), "tone", '{"sentiment": "negative"}').label == "neg"
    assert reading(JsonField(), "tone", "{}").reason == "no field label"
    assert reading(JsonField(), "tone", "negative").reason == "no JSON object"


def test_a_number_is_an_answer_first_then_a_code_then_a_value() -> None:
    labels, variant = task(
        {"1": "2", "2": "1"},
        Label("1", "one", value=5),
        Label("2", "two", value=6),
        Label("x", "ten", value=7),
    )
    found = {text: read(Response(text), Integer(), labels, variant).label for text in ("1", "2", "5", "7")}
    assert found == {"1": "2", "2": "1", "5": "1", "7": "x"}
    signed = task({"a": "-1", "b": "1"}, Label("a", "a"), Label("b", "b"))
    assert read(Response("it is -1"), Integer(), *signed).label == "a"
    assert read(Response("it is −1"), Integer(), *signed).label == "a"
    thousand = task({"a": "1000", "b": "1"}, Label("a", "a"), Label("b", "b"))
    assert read(Response("1,000"), Integer(), *thousand).label == "a"


def test_the_first_character_is_the_reason() -> None:
    assert reading(FirstCharacter(), "choice", "  ** The text").reason == 'the first character is "T"'
    assert (
        reading(FirstCharacter(), "tone", "positive").reason == "no answer of this variant is one character"
    )


def test_pattern_reads_its_first_group_or_all_of_it() -> None:
    assert (
        reading(Pattern(pattern=r"(?i)verdict: (\w+)"), "tone", "Verdict: Negative. positive").label == "neg"
    )
    assert reading(Pattern(pattern="(?:pos|neg)itive"), "tone", "it is positive").label == "pos"
    assert reading(Pattern(pattern=r"=(\w+)", place="last"), "tone", "=positive =negative").label == "neg"
    assert reading(Pattern(pattern=r"=(\w+)"), "tone", "=good").reason == "what matches is no label"
    assert reading(Pattern(pattern=r"=(\w+)"), "tone", "good").reason == "the pattern matches nowhere"


@pytest.mark.parametrize("pattern", ["(a", r"(a)\1", "(?=a)", "a{9999}{9999}"])
def test_a_pattern_that_is_none_is_told_so(pattern: str) -> None:
    with pytest.raises(SpecError, match="the pattern is no regular expression"):
        Pattern(pattern=pattern)


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a*)*b", "(x+x+)+y", "(a|aa)+b"])
def test_a_pattern_made_to_hurt_takes_linear_time(pattern: str) -> None:
    # With backtracking these take longer than the age of the universe.
    assert reading(Pattern(pattern=pattern), "tone", "a" * 100_000 + "c").label is None


def test_many_at_once_are_read_as_one_by_one() -> None:
    reader = Pattern(pattern=r"(\w+)itive").reader(*TASKS["tone"])
    answers = [Answer(Response(text)) for text in ("positive", "negative", "", "posit")]
    assert reader.many(answers) == [reader(answer) for answer in answers]


def by_output(text: str, output: str, evaluator: Evaluator | None = None) -> Reading:
    labels, variant = TASKS["tone"]
    asked = replace(variant, output=output)
    return read(Response(text), evaluator or ByOutput(), labels, asked)


def test_by_output_reads_a_label_or_scores_as_the_variant_asked() -> None:
    scores = "positive 0.7, negative 0.2, neutral 0.1"
    got = by_output(scores, "score")
    assert (got.label, got.confidence) == ("pos", 0.7)
    assert by_output(scores, "label").status == "ambiguous"
    assert by_output("negative", "label").label == "neg"
    assert by_output("negative", "score").reason == "a label without a score"
    assert by_output("neutral, or positive", "label", ByOutput(label="first_label")).label == "neu"


def test_by_output_refuses_what_it_cannot_make_or_read_with() -> None:
    with pytest.raises(UnknownName, match="by_output: score: unknown evaluator 'labelscores'"):
        ByOutput(score="labelscores")
    with pytest.raises(SpecError, match="needs options"):
        ByOutput(label="pattern")
    with pytest.raises(SpecError, match="reads tokens"):
        ByOutput(label="logprob")
