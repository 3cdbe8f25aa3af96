"""Which status an answer gets, where several would fit."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaver.core.calls import Response
from quaver.core.records import Reading
from quaver.score.parsing.label_forms import forms_of
from quaver.score.parsing.parsed_answer import Answer
from quaver.score.parsing.statuses import loops, settled, verbal_confidence
from quaver.testing.tasks import TASKS

FORMS = forms_of(*TASKS["names"])


class Judged(NamedTuple):
    """An answer as it is judged."""

    text: Reading | None
    tokens: Reading | None
    truncated: bool
    looping: bool


def judge(response):
    of_text, of_tokens = (settled(Answer(response), FORMS, of_tokens=one) for one in (False, True))
    return Judged(of_text, of_tokens, response.finish == "length", loops(response.text))


def status(text, **more):
    reading = judge(Response(text, **more)).text
    return reading.status if reading else None


def test_an_error_comes_before_everything():
    reading = judge(Response("I'm sorry, I cannot answer.", finish="error", error="the server fell")).text
    assert (reading.status, reading.reason) == ("error", "the server fell")
    silent = judge(Response("", finish="error", error="the server fell"))
    assert silent.text == silent.tokens == reading


def test_what_ends_with_an_apology_has_answered_before():
    said = "The voter is a lawyer from the coast who has voted for the same party all her life. " * 3
    said += "I'm sorry, I cannot say more."
    assert judge(Response(said)).text is None


def test_a_filter_is_a_refusal_even_of_tokens():
    judged = judge(Response("Clinton", finish="content_filter", error="violence"))
    assert judged.text == judged.tokens
    assert (judged.text.status, judged.text.reason) == ("refused", "violence")


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        (Response(""), "no text"),
        (Response(" \n\t\u200b\ufeff\x00"), "no text"),
        (Response("<think>Clinton, I think</think>  "), "thinking only"),
        (Response("", thinking="Clinton"), "thinking only"),
        (Response("<think>Clinton or"), "thinking that never ended"),
        (Response("<|im_end|>Clinton"), "no text"),
    ],
)
def test_nothing_to_read_is_empty(response, reason):
    reading = judge(response).text
    assert (reading.status, reading.reason) == ("empty", reason)


REFUSALS = [
    "I'm sorry, but I can't assist with that.",
    "I’m sorry, I cannot say whom this person votes for: Clinton or Dole.",
    "Sorry, I am not able to help.",
    "I apologize, but that would be speculation.",
    "As an AI language model, I do not have political opinions.",
    "Hello! I cannot determine how this person votes.",
    "I am unable to say.",
    "I'm unable to predict votes.",
    "I won't answer this.",
    "I must decline.",
    "I would rather not guess.",
    "I don't have personal opinions.",
    "I do not feel comfortable with this question.",
    "It is impossible to tell from this profile.",
    "Unfortunately, I cannot provide that.",
    "The voter is 45. However, I cannot determine the vote.",
    "Es tut mir leid, aber das geht nicht.",
    "Ich kann das nicht beantworten.",
    "Désolé, je ne peux pas répondre.",
    "Lo siento, no puedo ayudar.",
    "抱歉，我无法回答这个问题。",
]

NO_REFUSALS = [
    "Clinton",
    "I'm sorry, I cannot be certain, but my answer is: Dole.",
    "I cannot determine this for sure.\n\n**Clinton**",
    "I am sorry to hear that this voter lost her job. Dole.",
    "I cannot stress enough how much this is Clinton.",
    "The voter says: sorry state of the economy.",
    "This person cannot decide.",
    "Clinton. " * 40 + "I cannot say more.",
    "The answer is Dole because the voter refuses higher taxes",
]


@pytest.mark.parametrize("text", REFUSALS)
def test_refusals(text):
    assert status(text) == "refused"


@pytest.mark.parametrize("text", NO_REFUSALS)
def test_what_only_sounds_like_one(text):
    assert status(text) is None


@pytest.mark.parametrize(
    ("text", "looping"),
    [
        ("Clinton", False),
        ("no " * 4, False),  # 12 characters
        ("no " * 8, False),  # 23 characters
        ("no " * 9, True),
        ("A " * 13, True),
        ("!" * 24, True),
        ("!" * 23, False),
        ("I think so. Therefore the answer is. " * 4, True),
        ("I think so. Therefore the answer is. " * 3, False),
        ("Start. " + "The answer is Dole. " * 5 + "The ans", True),  # cut off within a copy
        ("1. a\n2. a\n3. a\n4. a\n5. a\n6. a\n7. a\n8. a", False),
        ("x" * 600 + "y" * 600, True),
        ("".join(chr(97 + i % 26) for i in range(2600)), True),
    ],
)
def test_looping(text, looping):
    assert loops(text) is looping


@given(st.text("abc ", max_size=300))
def test_a_loop_is_a_period_of_the_end(text):
    tail = text.rstrip()
    size = len(tail)
    spans = [(p, max(24, 4 * p - 2)) for p in range(1, size)]
    periods = [p for p, s in spans if s <= size and tail[size - s + p :] == tail[size - s : -p]]
    assert loops(text) == bool(periods)


def test_marks_stand_beside_any_status():
    judged = judge(Response("Dole Dole Dole Dole Dole Dole Dole", finish="length"))
    assert (judged.text, judged.truncated, judged.looping) == (None, True, True)
    judged = judge(Response("<think>" + "so " * 30, finish="length"))
    assert (judged.text.status, judged.truncated, judged.looping) == ("empty", True, True)


VALUES = {
    0.0: ("0", "0%"),
    0.7: ("Confidence: 0.7.",),
    0.725: ("Step 1: I am 72.5% sure",),
    0.8: ("Based on the given text, I would say that 80% of the text is correct.",),  # as SmolLM2 said
    0.85: (
        *("85%", "85 %.", "I am 85 percent sure", "85 per cent", "0.85", ".85", "85 out of 100", "85/100"),
        *("a solid 85 of 100", "0.85, that is 85%", "85%. Yes, 85%."),
    ),
    0.9: ("**90%**", "<think>maybe 20%</think>90%", "９０％"),
    1.0: ("1.0", "1.", "100%", "I can give you a percentage. In this case, it's 100%."),
}


@pytest.mark.parametrize(("text", "value"), [(text, value) for value in VALUES for text in VALUES[value]])
def test_exactly_one_value(text, value):
    assert verbal_confidence(Response(text)) == (value, None)


NO_VALUES = {
    "no text": ("", "<think>80%</think>"),
    "no well-formed value": (
        *("very sure", "85", "I am 1 of those", "-5%", "-1", "0,85", "1,000%", "8.5/10", "8.5 out of 10"),
        *("1e-3", "version 0.8.5", "NaN"),
    ),
    "a value outside 0 to 1": ("150%", "1.5"),
    "a range": ("80-90%", "80% to 90%", "between 0.8 and 0.9", "0.8–0.9"),
    "several values": (
        *("0.8 … 0.9", "80%, so 20% that it is wrong"),
        "I believe 98% of the time, I am 99% confident",
    ),
}


@pytest.mark.parametrize(
    ("text", "reason"), [(one, reason) for reason in NO_VALUES for one in NO_VALUES[reason]]
)
def test_none_or_several_do_not_parse(text, reason):
    assert verbal_confidence(Response(text)) == (None, reason)


def test_a_failed_answer_states_nothing():
    assert verbal_confidence(Response("90%", "error"))[0] is None
