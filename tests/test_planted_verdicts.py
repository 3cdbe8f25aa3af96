"""Verdicts on studies whose truth was planted: ``benchmarks/planted.py`` has every kind, and its table."""

import json
from dataclasses import asdict, replace

import pytest
from benchmarks.planted import KINDS, Said, judged, rows, scored
from benchmarks.planted_study import Plan, planted, true_values
from numpy.random import default_rng
from tests.samples import drawn

_NEVER_FOUND = "one label of three rare (7%), never found"
_GROUP = "six groups, one misread"
_ONE_BROKEN = "one broken prompt of five"
_HARD = "8% of the texts, the hard ones, never labelled"

RIGHT = (
    "three labels",
    "one label of three rare (5%), found, right in 95% of its uses",
    "one label of three rare (7%), half of its uses wrong",
    "five ordinal labels, two steps swapped",
    "seven ordinal labels, one step never given, 100 gold labels",
    _NEVER_FOUND,
    "both labels swapped",
    "five ordinal labels, a quarter of a step of noise",
    "four grades, prompts agree and people do not",
    "interval, half a step of noise on eleven",
    "six groups, positives missed in one",
    "eight groups with other shares of labels, all good",
    "six groups, five ordinal labels, one misread",
    "six groups, prompts disagree in one",
    "ratio, a third of the true amounts",
    _ONE_BROKEN,
    "every prompt changes most labels, without gold",
    "three repeats, another label each time",
    _HARD,
    "8% of the texts, the long ones, never labelled",
    "half of the labels missing at random",
    "three coders, each right in 85%, and a good model",
    "8 texts, half wrong",
    "two models, the bad one",
    "two fields, the one that is filled",
    "two fields, the one that is never filled",
)
"""Kinds of which no seed was judged wrongly."""


@pytest.mark.parametrize(
    ("name", "seed"),
    [
        *((name, 0) for name in RIGHT),
        *(pytest.param(name, 1, marks=pytest.mark.long) for name in drawn(RIGHT, 3)),
    ],
)
def test_what_is_said_is_true(name, seed):
    _, score = judged((name, seed))
    assert not score.false_use
    assert not score.false_refusal
    assert not score.clauses


def _score(name, said):
    kind = KINDS[name]
    return scored(kind, planted(kind.plan, default_rng(0)), said, 0)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (_NEVER_FOUND, Said("use")),
        (_NEVER_FOUND, Said("use except for", classes=frozenset({"l0"}))),
        (_GROUP, Said("use")),
        (_GROUP, Said("use except for", groups=frozenset({"g0"}))),
        (_ONE_BROKEN, Said("use")),
        (_ONE_BROKEN, Said("use one prompt only", prompt="p2")),
        (_HARD, Said("use")),
        ("stable and a third wrong", Said("use")),
        ("five prompts alike, 12% of labels at random", Said("use one prompt only", prompt="p0")),
    ],
)
def test_vouching_for_what_is_bad_is_a_false_use(name, said):
    score = _score(name, said)
    assert score.false_use
    assert not score.false_refusal


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("three labels", Said("do not use")),
        ("three labels", Said("use except for", classes=frozenset({"l0"}))),
        ("three labels", Said("use one prompt only", prompt="p0")),
        (_NEVER_FOUND, Said("do not use")),
        (_GROUP, Said("do not use")),
    ],
)
def test_refusing_what_is_good_is_a_false_do_not_use(name, said):
    score = _score(name, said)
    assert score.false_refusal
    assert not score.false_use


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (_NEVER_FOUND, Said("use except for", classes=frozenset({"l0", "l2"}))),
        (_GROUP, Said("use except for", groups=frozenset({"g1", "g4"}))),
        ("three labels", Said("use", missing=True)),
        ("stable and a third wrong", Said("do not use", cause="prompts")),
    ],
)
def test_naming_what_was_not_planted_is_a_false_clause(name, said):
    score = _score(name, said)
    assert len(score.clauses) == 1
    assert not score.false_use


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("three labels", Said("use")),
        ("three labels", Said("cannot tell")),
        (_NEVER_FOUND, Said("use except for", classes=frozenset({"l2"}))),
        (_GROUP, Said("use except for", groups=frozenset({"g4"}))),
        (_ONE_BROKEN, Said("use one prompt only", prompt="p0", cause="prompts")),
        (_HARD, Said("use", missing=True)),
        ("stable and a third wrong", Said("do not use", cause="gold")),
    ],
)
def test_what_is_right_is_scored_so(name, said):
    score = _score(name, said)
    assert (score.false_use, score.false_refusal, score.clauses) == ("", "", ())


def test_an_interval_covers_what_is_true_of_very_many_texts():
    true = true_values(Plan(shares=(0.5, 0.5), wrong=0.1, noise=0.2, again=0.0))
    # A label is anew with 0.2, and then another one with 0.5: wrong 0.1 · 0.9 + 0.9 · 0.1, and two prompts
    # differ with 2 · 0.1 · 0.9.
    assert true["wrong"] == pytest.approx(0.18, abs=0.005)
    assert true["prompts"] == pytest.approx(0.18, abs=0.005)
    assert true["missing"] == 0
    missed = _score("three labels", Said("use", quoted=(("off gold", 0.2, 0.3), ("prompts", 0.0, 0.1))))
    assert (missed.quoted, len(missed.missed)) == (2, 1)


@pytest.mark.parametrize("name", [name for name in KINDS if "rare" in name])
def test_a_label_that_may_not_be_excluded_is_right_in_nine_of_ten_of_its_uses(name):
    kind = KINDS[name]
    known = [at for at in range(len(kind.plan.shares)) if at not in (*kind.bad, *kind.doubtful)]
    assert min(true_values(kind.plan)["precision"][at] for at in known) >= 0.9


def test_scores_that_are_kept_are_not_judged_again(tmp_path):
    name, score = judged(("three labels", 3))
    kept = tmp_path / "scores.jsonl"
    kept.write_text(json.dumps({"name": name, **asdict(replace(score, kind="cannot tell"))}) + "\n")
    assert rows([3], [name], kept=kept)[name].scores == [replace(score, kind="cannot tell")]
    known = kept.read_text()
    (again,) = rows([3], ["8 texts, good"], processes=1, kept=kept)["8 texts, good"].scores
    assert again.kind == "cannot tell"
    assert kept.read_text().startswith(known)
    assert len(kept.read_text().splitlines()) == 2
