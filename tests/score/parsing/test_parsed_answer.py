from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaver.core.calls import Response
from quaver.score.parsing.parsed_answer import Answer, fold, plain, without_thinking


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("A", "A"),
        ("<think>A</think>B", "B"),
        ("<THINK>A</THINK>\n\nB", "B"),
        ("<think>A</think>B<think>C</think>D", "BD"),
        ("<think>A<think>B</think>C</think>D", "D"),
        ("A</think>B", "B"),
        ("A<think>B", "A"),
        ("[THINK]A[/THINK]B", "B"),
        ("◁think▷A◁/think▷B", "B"),
        ("<reasoning>A</reasoning>B", "B"),
        ("<|channel|>analysis<|message|>A<|end|><|start|>assistant<|channel|>final<|message|>B", "B"),
        ("B<|im_end|>\n<|im_start|>user A", "B"),
        ("B</s>A", "B"),
        ("I think <b>A</b>", "I think <b>A</b>"),
        ("\ufeff Ｂ \u200b", "B"),
        ("①", "1"),
        ("𝐁", "B"),
        ("“B”", '"B"'),
        ("Б", "Б"),
        ("ne\u0301gatif", "négatif"),
        ("a\x00b\x07", "ab"),
    ],
)
def test_what_is_left_to_read(text, answer):
    assert Answer(Response(text)).text == answer


@given(st.text())
def test_folding_keeps_places(text):
    assert len(fold(text)) == len(text)


@given(st.text())
def test_plain_text_stays_plain(text):
    assert plain(plain(text)) == plain(text)


@given(st.text("<>/thinkA[]◁▷"))
def test_thinking_and_the_rest_are_the_text_without_marks(text):
    rest, thinking, _ = without_thinking(text)
    assert (thinking is None) == (rest == text)
    assert len(rest) + len(thinking or "") <= len(text)
    assert not Counter(rest + (thinking or "")) - Counter(text)


@pytest.mark.parametrize(
    ("text", "parted"),
    [
        ("<think>a</think>b<think>c</think>d", ("bd", "ac", False)),
        ("a<think>b", ("a", "b", True)),
        ("a</think>b</think>c", ("c", "ab", False)),
        ("<think>a<think>b</think>c", ("c", "ab", False)),
        ("a [b] <c> think", ("a [b] <c> think", None, False)),
    ],
)
def test_thinking_is_what_stands_between_marks(text, parted):
    assert without_thinking(text) == parted


def test_composing_a_megabyte_of_marks_is_not_quadratic():
    # 100,000 such marks take the composer alone seven seconds, a million hours.
    assert plain("a" + "\u0301\u0316" * 500_000) != ""
