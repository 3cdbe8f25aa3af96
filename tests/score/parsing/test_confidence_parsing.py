import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaver.core.records import Response
from quaver.score.parsing.confidence_parsing import verbal_confidence


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("85%", 0.85),
        ("85 %.", 0.85),
        ("I am 85 percent sure", 0.85),
        ("85 per cent", 0.85),
        ("**90%**", 0.9),
        ("0.85", 0.85),
        (".85", 0.85),
        ("Confidence: 0.7.", 0.7),
        ("1.0", 1.0),
        ("0", 0.0),
        ("1.", 1.0),
        ("85 out of 100", 0.85),
        ("85/100", 0.85),
        ("a solid 85 of 100", 0.85),
        ("0.85, that is 85%", 0.85),
        ("85%. Yes, 85%.", 0.85),
        ("100%", 1.0),
        ("0%", 0.0),
        ("Step 1: I am 72.5% sure", 0.725),
        ("<think>maybe 20%</think>90%", 0.9),
        ("９０％", 0.9),
        # What SmolLM2 said:
        ("Based on the given text, I would say that 80% of the text is correct.", 0.8),
        ("I can give you a percentage. In this case, it's 100%.", 1.0),
    ],
)
def test_exactly_one_value(text: str, value: float) -> None:
    assert verbal_confidence(Response(text)) == (value, None)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no text"),
        ("<think>80%</think>", "no text"),
        ("very sure", "no well-formed value"),
        ("85", "no well-formed value"),
        ("I am 1 of those", "no well-formed value"),
        ("-5%", "no well-formed value"),
        ("-1", "no well-formed value"),
        ("0,85", "no well-formed value"),
        ("1,000%", "no well-formed value"),
        ("8.5/10", "no well-formed value"),
        ("8.5 out of 10", "no well-formed value"),
        ("1e-3", "no well-formed value"),
        ("version 0.8.5", "no well-formed value"),
        ("NaN", "no well-formed value"),
        ("150%", "a value outside 0 to 1"),
        ("1.5", "a value outside 0 to 1"),
        ("80-90%", "a range"),
        ("80% to 90%", "a range"),
        ("between 0.8 and 0.9", "a range"),
        ("0.8–0.9", "a range"),
        ("0.8 … 0.9", "several values"),
        ("I believe 98% of the time, I am 99% confident", "several values"),
        ("80%, so 20% that it is wrong", "several values"),
    ],
)
def test_none_or_several_do_not_parse(text: str, reason: str) -> None:
    assert verbal_confidence(Response(text)) == (None, reason)


def test_a_failed_answer_states_nothing() -> None:
    assert verbal_confidence(Response("90%", "error")).value is None


@given(st.integers(0, 1000))
def test_the_three_forms_of_one_number_agree(thousandths: int) -> None:
    percent = f"{thousandths / 10:.1f}"
    said = f"{percent}% or {thousandths / 1000:.3f} or {percent} out of 100"
    forms = [f"{percent}%", f"{thousandths / 1000:.3f}", f"{percent} out of 100"]
    values = {verbal_confidence(Response(form)).value for form in forms}
    assert values == {thousandths / 1000}, said


@given(st.text("0123456789.,%-/ outof1", max_size=40))
def test_any_text_gives_a_probability_or_a_reason(text: str) -> None:
    value, reason = verbal_confidence(Response(text))
    assert (value is None) != (reason is None)
    assert value is None or 0 <= value <= 1
