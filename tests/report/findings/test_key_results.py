"""What a page says: verdicts and effects as values; of its sentences only that they are whole."""

import re

import polars as pl
import pytest

from quaver.core.records import Estimate
from quaver.report.estimate_index import Results
from quaver.report.findings.decision import recommendations
from quaver.report.findings.judged_model import judged_models
from quaver.report.findings.key_results import coder_sentences, section_sentences
from quaver.report.findings.prompt_rows import prompt_rows
from quaver.report.findings.quality import quality, severity
from quaver.report.findings.verdict_card import card

BROKEN = re.compile(r"\b(None|nan|inf)\b|\{\}|  |\d e[-−]|\d\s%")


def found(study):
    return judged_models(study.moved())


def gate(study):
    return quality(study.moved())


def sentences(study):
    return [sentence for some in section_sentences(study.results()).values() for sentence in some]


def reasons(study):
    return [one.reason for one in recommendations(study.moved())]


def sways(of):
    """Of each four pairs of items so many are a whenever letters are asked for; the rest are right."""

    def answer(item, paraphrase, layout, repeat):
        if item // 2 % 4 < of:
            return "a" if layout == "letters" else "b"
        return "ab"[item % 2]

    return answer


@pytest.mark.parametrize(
    ("of", "reason"), [(0, "right"), (1, "moved by format"), (3, "moved by format"), (4, "moved by format")]
)
def test_the_more_items_are_swayed_the_less_the_labels_follow_them(make, of, reason):
    study = make(items=80, answer=sways(of))
    (one,) = found(study)
    assert reasons(study) == [reason]
    assert one.factor == ("format" if of else "")
    # Two formats of two paraphrases each: two pairs in three differ in format, and flip the swayed items.
    assert one.estimates["flips_prompts"].value == pytest.approx(of / 4 * 2 / 3)


def test_gold_changes_no_verdict_on_what_moves_the_labels(make):
    (with_gold,), (without,) = (found(make(items=24, gold=gold)) for gold in (True, False))
    assert with_gold.factor == without.factor == "format"
    assert with_gold.estimates["flips_prompts"] == without.estimates["flips_prompts"]


def test_missing_labels_make_no_headline(make):
    """Every label is right, but one format leaves half of the answers without one."""

    def answer(item, paraphrase, layout, repeat):
        return None if layout == "letters" and item // 2 % 2 else "ab"[item % 2]

    study = make(items=40, answer=answer)
    assert found(study)[0].factor == ""
    assert found(study)[0].estimates["flips_prompts"].value == 0
    (issue,) = gate(study).issues
    assert (issue.measure, severity(issue)) == ("unlabelled_answers", "caution")
    assert issue.details["shares"] == {"names": 0.0, "letters": 0.5}


@pytest.mark.parametrize("gold", [True, False])
@pytest.mark.parametrize("answer", [sways(0), sways(4), lambda *_: "a", lambda *_: None])
@pytest.mark.parametrize("items", [1, 3, 20])
def test_sentences_are_whole_and_their_numbers_are_in_the_markup(make, answer, gold, items):
    for sentence in sentences(make(items=items, answer=answer, gold=gold)):
        text = sentence.striptags()
        assert re.fullmatch(r"\S.*\.", text)
        assert not BROKEN.search(text)


@pytest.mark.parametrize(("answered", "step"), [(12, "run"), (24, "add items")])
def test_what_is_too_early_to_say_of_a_run_that_is_not_at_its_end_asks_to_go_on(make, answered, step):
    study = make(items=6)
    study.lock["collection"] = {"total": 24, "answered": answered}
    known = card(study.results())
    assert (known.kind, known.step) == ("cannot tell", step)
    assert ("12 calls" in known.next_step) == (step == "run")


def test_prompts_that_are_as_often_right_but_give_other_labels_have_rows_of_their_own(make):
    always = lambda item, paraphrase, *_: "ba"[paraphrase == "rude"]  # noqa: E731
    study = make(items=40, paraphrases=("plain", "rude", "kind"), answer=always)
    rows = prompt_rows(study.results(), "tiny")["rows"]
    assert [row["many"] for row in rows] == [3, 1]


def gap(value, low, high, **cell):
    details = {"coders": 0.6, "model": 0.6 - value}
    where = {"model": "m", "decoding": "d", "coder": "all", **cell}
    return Estimate("coder_agreement_gap", value, low, high, n=80, cell=where, details=details)


def said(*estimates):
    results = Results({"labels": {"labels": []}, "variants": []}, pl.DataFrame(), list(estimates))
    return [sentence.striptags() for sentence in coder_sentences(results)]


@pytest.mark.parametrize(
    ("ends", "words"),
    [
        ((0.1, 0.3), "Coders agree better with each other than with the model"),
        ((-0.3, -0.1), "Coders agree better with the model than with each other"),
        ((-0.1, 0.3), "as far as the study can tell"),
        ((None, None), "Coders agree with each other at an alpha of 0.60"),
    ],
)
def test_a_difference_is_claimed_only_where_its_interval_excludes_none(ends, words):
    (sentence,) = said(gap(0.2 if ends != (-0.3, -0.1) else -0.2, *ends))
    assert words in sentence
