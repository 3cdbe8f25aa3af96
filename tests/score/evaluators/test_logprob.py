import math

import pytest

from quaver.core.calls import Response, Token
from quaver.core.records import Label
from quaver.score.annotation import read
from quaver.score.evaluators.stated_confidence import LogProb
from quaver.testing.tasks import TASKS, task


def token(text, **top):
    likely = tuple((name.replace("_", " "), math.log(p)) for name, p in top.items())
    return Token(text, dict(likely).get(text, -9.0), likely)


def reading(name, *tokens, text=None):
    response = Response("".join(t.text for t in tokens) if text is None else text, tokens=tokens)
    return read(response, LogProb(), *TASKS[name])


def test_spellings_are_one_label_and_normalised_over_the_set():
    got = reading("names", token(" Clinton", _Clinton=0.3, clinton=0.1, CLINTON=0.1, Dole=0.125, The=0.2))
    assert (got.label, got.status) == ("clinton", "valid")
    assert got.probabilities == pytest.approx({"clinton": 0.8, "dole": 0.2})
    assert got.confidence == pytest.approx(0.8)
    assert (got.label_coverage, got.mass_coverage) == (1.0, pytest.approx(0.625))


def test_the_raw_probability_on_request():
    tokens = (token("Dole", Clinton=0.1, Dole=0.3),)
    got = read(Response("Dole", tokens=tokens), LogProb(normalised=False), *TASKS["names"])
    assert got.confidence == pytest.approx(0.3)
    assert got.probabilities == pytest.approx({"clinton": 0.25, "dole": 0.75})


def test_labels_not_among_the_likeliest_have_nothing():
    got = reading("tone", token("positive", positive=0.5, great=0.4))
    assert got.probabilities == {"pos": 1.0, "neg": 0.0, "neu": 0.0}
    assert got.label_coverage == pytest.approx(1 / 3)


def test_the_answer_counts_and_not_the_code():
    assert reading("swapped", token("A", A=0.7, B=0.2)).label == "B"


def test_an_answer_of_several_tokens_is_known_by_its_longest_first():
    got = reading("names", token("Cl", Cl=0.4, C=0.2, D=0.3))
    assert got.probabilities == pytest.approx({"clinton": 4 / 7, "dole": 3 / 7})


def test_a_token_that_begins_two_answers_decides_nothing():
    got = reading("scale", token("very", very=0.6, positive=0.2, negative=0.1))
    assert (got.status, got.label) == ("ambiguous", None)
    assert "begin several answers" in (got.reason or "")
    assert reading("scale", token("very", very=0.05, positive=0.2, negative=0.1)).label == "pos"
    assert reading("scale", token("very", very=0.9)).status == "no_label"


def test_a_whole_answer_counts_though_it_begins_another():
    labels, variant = task({"one": "1", "ten": "10"}, Label("one", "one"), Label("ten", "ten"))
    tokens = (token("1", **{"1": 0.6, "10": 0.3}),)
    assert read(Response("1", tokens=tokens), LogProb(), labels, variant).label == "one"


def test_a_tie_is_ambiguous():
    got = reading("names", token("Dole", Clinton=0.25, Dole=0.25))
    assert (got.status, got.reason) == ("ambiguous", "a tie")
    assert got.probabilities == pytest.approx({"clinton": 0.5, "dole": 0.5})


def test_white_space_and_thinking_come_before_the_first_token():
    think = (token("<think>", x=0.5), token("Clinton", Clinton=0.9), token("</think>", x=0.5))
    got = reading("names", *think, token("\n\n", Clinton=0.9), token("Dole", Dole=0.6, Clinton=0.2))
    assert got.label == "dole"
    assert reading("names", *think[:2]).status == "empty" or reading("names", *think[:2]).label is None


@pytest.mark.parametrize(
    ("tokens", "reason"),
    [
        ((), "no log-probabilities of the answer's tokens"),
        ((Token("Dole", -0.1, ()),), "no log-probabilities of the likeliest tokens"),
        ((token("the", the=0.9),), "no label among the likeliest"),
        ((token("Dole", Dole=0.9, Clinton=0.9),), "log-probabilities of more than 1 together"),
    ],
)
def test_without_what_it_reads_there_is_no_label(tokens, reason):
    got = reading("names", *tokens, text="Dole")
    assert (got.status, got.reason) == ("no_label", reason)


def test_the_text_does_not_matter():
    got = reading("names", token("I", I=0.5, Dole=0.2, Clinton=0.1), text="I'm sorry, I cannot answer.")
    assert got.label == "dole"
