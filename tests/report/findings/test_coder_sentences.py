"""What is said of people and models follows from the interval of the difference."""

import polars as pl
import pytest

from quaver.core.records import Estimate
from quaver.report.estimate_index import Results
from quaver.report.findings.key_results import coder_sentences


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


def test_each_model_is_named_where_there_are_several():
    found = said(gap(0.2, 0.1, 0.3), gap(0.0, -0.1, 0.1, model="other"))
    assert ["“m”" in found[0], "“other”" in found[1]] == [True, True]


def test_without_coders_nothing_is_said():
    assert said() == []
