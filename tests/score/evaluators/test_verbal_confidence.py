import pytest

from quaver.core.calls import Response
from quaver.errors import SpecError
from quaver.score.annotation import read
from quaver.score.evaluators.stated_confidence import VerbalConfidence
from quaver.testing.tasks import TASKS


def reading(answer, said, **options):
    labels, variant = TASKS["names"]
    return read(Response(said), VerbalConfidence(**options), labels, variant, about=answer)


def test_the_label_is_the_answers_and_the_confidence_what_was_said():
    found = reading(Response("Dole, I think", finish="length"), "0.8")
    assert (found.label, found.status, found.confidence, found.truncated) == ("dole", "valid", 0.8, True)
    assert found.reason is None


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("quite", "no well-formed value"),
        ("80% or 90%", "a range"),
        ("0.8, no, 0.9", "several values"),
        ("120%", "a value outside 0 to 1"),
        ("", "no text"),
    ],
)
def test_what_does_not_parse_is_no_confidence_and_keeps_its_label(said, why):
    found = reading(Response("Dole"), said)
    assert (found.label, found.confidence, found.reason) == ("dole", None, f"confidence: {why}")


def test_an_answer_without_a_label_keeps_its_reason():
    found = reading(Response("neither"), "50%")
    assert (found.label, found.status, found.confidence) == (None, "no_label", 0.5)
    assert found.reason


def test_another_rule_may_read_the_label():
    assert reading(Response("Clinton? Dole"), "90%", label="first_label").label == "clinton"
    assert reading(Response("Clinton? Dole"), "90%", label="label_match").status == "ambiguous"


@pytest.mark.parametrize("name", ["logprob", "constrained", "verbal_confidence"])
def test_a_rule_that_reads_something_else_is_refused(name):
    with pytest.raises(SpecError, match=name):
        VerbalConfidence(label=name)
