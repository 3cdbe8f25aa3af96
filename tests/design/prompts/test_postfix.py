"""Postfixes that contradict the label set, and the many that only look so."""

from __future__ import annotations

import pytest

from quaver.core.records import Label, LabelSet, Variant
from quaver.design.prompts.templates import check_postfix
from quaver.errors import SpecError


def check(postfix: str, *answers: str) -> None:
    labels = LabelSet(tuple(Label(f"c{at}", f"label {at}") for at in range(len(answers))))
    codes = {label.code: answer for label, answer in zip(labels.labels, answers, strict=True)}
    check_postfix(Variant("v", {}, "", "", "", "", postfix, codes), labels, where="prompt.postfix")


TONES = ("positive", "negative", "neutral")


@pytest.mark.parametrize(
    ("postfix", "answers", "problem"),
    [
        ("Answer with one of: positive, negative.", TONES, "lists the answers without 'neutral'"),
        ("Positive or negative?", TONES, "lists the answers without 'neutral'"),
        ("Answer 0 or 1.", ("0", "1", "2"), "lists the answers without '2'"),
        ("A/B/C", ("A", "B", "C", "D"), "lists the answers without 'D'"),
        ("One of: positive, neutral, negative.", TONES[:2], "to no label: 'neutral'"),
        ("Answer positive, negative or neutral.", TONES[:2], "to no label: 'neutral'"),
        ("Answer with one word: positive or neutral.", TONES[:2], "to no label: 'neutral'"),
        ("A, B, C or E", ("A", "B", "C", "D"), "to no label: 'e'"),
        ('Say "yes", "no", or "maybe".', ("yes", "no"), "to no label: 'maybe'"),
        ("A|B|C", ("A", "B"), "to no label: 'c'"),
        ('One of: say "yes", no.', ('say "yes"', "no", "or"), "lists the answers without 'or'"),
    ],
)
def test_a_list_that_does_not_fit_is_refused(postfix: str, answers: tuple[str, ...], problem: str) -> None:
    with pytest.raises(SpecError) as caught:
        check(postfix, *answers)
    assert problem in str(caught.value)
    assert caught.value.where == "prompt.postfix"


@pytest.mark.parametrize(
    ("postfix", "answers"),
    [
        ("Answer with one of: {{ answers | join(', ') }}.", TONES),
        ("Answer with one word, Clinton or Dole.", ("Clinton", "Dole")),
        ("Answer with one digit, 0 for Clinton or 1 for Dole.", ("0", "1")),
        ("Answer with one letter, A for Dole or B for Clinton.", ("B", "A")),
        ("Answer with a number from 1 to 5.", ("1", "2", "3", "4", "5")),
        ("Answer with 1, 2, …, 5.", ("1", "2", "3", "4", "5")),
        ("Answer 1, 2, 3 or 4 where you agree; answer 5 else.", ("1", "2", "3", "4", "5")),
        ("Answer positive or negative, please.", TONES[:2]),
        ("Reply yes or no, and nothing else.", ("yes", "no")),
        ("If it is neither positive or negative, answer neutral.", TONES),
        ("Answer yes, or explain why not.", ("yes", "no")),
        ("Answer yes or no (or a dash if you cannot tell).", ("yes", "no")),
        ("A or B? A for good, B for bad, C for neither.", ("A", "B", "C")),
        ("Answer with A, B, label 2 or C.", ("A", "B", "C")),
        ("Answer {{ item.x }} or positive.", TONES),
        ("Answer with one of: {{ answers | join(', ') }}.", ('say "yes"', "x, y", "a/b", "or", "(-)", "no.")),
        ('Answer say "yes" or no.', ('say "yes"', "no")),
        ("", TONES),
        ("One word.", TONES),
    ],
)
def test_what_may_be_meant_is_left_alone(postfix: str, answers: tuple[str, ...]) -> None:
    check(postfix, *answers)
