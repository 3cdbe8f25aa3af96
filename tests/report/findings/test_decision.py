"""Recommendations: on annotators whose truth is known, and on both sides of each rule's boundary."""

from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from scipy.stats import binom, binomtest

from quaver.core.records import Estimate
from quaver.report.findings.decision import STEPS, recommendations, rules_table
from quaver.report.findings.recommendation import RECOMMENDED, NextStep, Reason
from quaver.report.findings.verdict_card import WORDS, Card, card_of_fields


def test_every_kind_step_and_reason_has_its_words():
    assert set(WORDS["kinds"]) == set(RECOMMENDED)
    assert set(WORDS["steps"]) == set(get_args(NextStep))
    assert set(STEPS) == set(get_args(Reason))


_STEADY = {
    "failed_calls": (0.0, 0.0),
    "unlabelled_answers": (0.0, 0.0),
    "flips_agreement": (0.85, 0.95),
    "flips_prompts": (0.02, 0.08),
    "flips_repeats": (0.0, 0.02),
    "wrong_labels": (0.02, 0.12),
    "gold_agreement": (0.7, 0.95),
}
_MOVED = {**_STEADY, "flips_agreement": (0.5, 0.79), "flips_prompts": (0.15, 0.3)}
_BEST = {
    "best_prompt_wrong": (0.02, 0.15),
    "best_prompt_gold_agreement": (0.6, 0.9),
    "best_prompt_better": (0.01, 0.2),
}
_REST = {"rest_agreement": (0.8, 0.9), "rest_unlabelled": (0.0, 0.1)}
_NO_GOLD = {"wrong_labels": None, "gold_agreement": None}
_ALONE = _STEADY | {"flips_prompts": None, "flips_agreement": None}


def recommendation(known, more=(), families=None, **in_use):
    """The recommendation for estimates with these intervals."""
    used = {"value": 0.6, "n": 50, "labels": 2, **in_use}
    details = {"labels": used["labels"], "label": "a"}
    made = [
        Estimate("label_in_use", used["value"], 0.5, 1.0, n=used["n"], cell={"model": "m"}, details=details)
    ]
    for name in (*("flips_noise", "flips_chance", "truncated_answers"), *known):
        low, high = known.get(name) or (None, None)
        value = None if low is None else (low + high) / 2
        cell = {"model": "m", "variant": "v"} if name.startswith("best_prompt") else {"model": "m"}
        details = {"prompt": "w", "prompts": 3, "without": ["x"]} if name == "rest_agreement" else {}
        made.append(Estimate(name, value, low, high, n=50, cell=cell, details=details))
    (found,) = recommendations([*made, *more], families or {})
    return found


def without(known, name):
    """What is known but for one estimate."""
    return {each: ends for each, ends in known.items() if each != name}


BOUNDARIES = {
    "steady and right": (_STEADY, "use: right"),
    "agreement 0.8": (_STEADY | {"flips_agreement": (0.8, 0.9)}, "use: right"),
    "agreement just below": (_STEADY | {"flips_agreement": (0.799, 0.9)}, "cannot tell: unclear"),
    "agreement that reaches 0.8": (_MOVED | {"flips_agreement": (0.6, 0.8)}, "cannot tell: unclear"),
    "agreement that does not": (_MOVED | {"flips_agreement": (0.6, 0.799)}, "do not use: unsteady"),
    "agreement that reaches it, and wrong": (
        _MOVED | {"flips_agreement": (0.6, 0.9), "wrong_labels": (0.16, 0.3)},
        "do not use: wrong",
    ),
    "a tenth wrong": (_STEADY | {"wrong_labels": (0.05, 0.15)}, "use: right"),
    "more than a tenth wrong": (_STEADY | {"wrong_labels": (0.08, 0.13)}, "cannot tell: unclear gold"),
    "surely no more than 15% wrong": (_STEADY | {"wrong_labels": (0.15, 0.2)}, "cannot tell: unclear gold"),
    "surely more": (_STEADY | {"wrong_labels": (0.151, 0.2)}, "do not use: wrong"),
    "perhaps a fifth": (_STEADY | {"wrong_labels": (-0.01, 0.201)}, "cannot tell: unclear gold"),
    "no gold labels": (_STEADY | _NO_GOLD, "use: steady"),
    "a tenth without labels": (_STEADY | {"unlabelled_answers": (0.1, 0.2)}, "use: right"),
    "surely more unlabelled": (_STEADY | {"unlabelled_answers": (0.101, 0.2)}, "do not use: unreadable"),
    "surely more than a tenth failed": (_STEADY | {"failed_calls": (0.101, 0.2)}, "cannot tell: failed"),
    "half without a label, failed calls among them": (
        _STEADY | {"failed_calls": (0.0, 0.4), "unlabelled_answers": (0.0, 0.6)},
        "do not use: unreadable",
    ),
    "half failed": (_STEADY | {"failed_calls": (0.4, 0.6)}, "do not use: failed"),
    "the best prompt is better": (_MOVED | _BEST, "use one prompt only: best prompt"),
    "perhaps it is not": (_MOVED | _BEST | {"best_prompt_better": (0.0, 0.2)}, "do not use: unsteady"),
    "it is perhaps wrong": (_MOVED | _BEST | {"best_prompt_wrong": (0.05, 0.25)}, "do not use: unsteady"),
    "the rest agrees": (_MOVED | _NO_GOLD | _REST, "use one prompt only: odd prompts"),
    "the rest does not": (
        _MOVED | _NO_GOLD | _REST | {"rest_agreement": (0.79, 1.0)},
        "do not use: unsteady",
    ),
    "the rest has no labels": (
        _MOVED | _NO_GOLD | _REST | {"rest_unlabelled": (0.11, 0.2)},
        "do not use: unsteady",
    ),
    "the rest is wrong": (
        _MOVED | _REST | {"rest_wrong": (0.2, 0.3), "rest_gold_agreement": (0.6, 0.8)},
        "do not use: unsteady",
    ),
    "the rest is right": (
        _MOVED | _REST | {"rest_wrong": (0.02, 0.1), "rest_gold_agreement": (0.6, 0.8)},
        "use one prompt only: odd prompts",
    ),
    "repeats change as much as prompts": (
        _MOVED | {"flips_agreement": (0.1, 0.3), "flips_noise": (0.6, 1.0)},
        "do not use: repetition",
    ),
    "one prompt": (_ALONE, "use one prompt only: only prompt"),
    "one prompt, perhaps wrong": (_ALONE | {"wrong_labels": (0.05, 0.3)}, "cannot tell: one prompt"),
    "one prompt, other repeats": (_ALONE | {"flips_repeats": (0.11, 0.3)}, "do not use: repetition"),
}


@pytest.mark.parametrize("name", BOUNDARIES)
def test_each_rule_holds_up_to_its_boundary(name):
    known, expected = BOUNDARIES[name]
    found = recommendation(known)
    assert f"{found.kind}: {found.reason}" == expected


@pytest.mark.parametrize(
    ("known", "share", "kind"),
    [
        ({}, 1.0, "do not use"),
        (_NO_GOLD, 1.0, "do not use"),
        ({"wrong_labels": (0.0, 0.0), "gold_agreement": None}, 1.0, "cannot tell"),
        (_NO_GOLD | {"flips_agreement": (0.1, 0.9)}, 0.97, "cannot tell"),
        (_NO_GOLD | {"flips_agreement": (0.0, 0.4)}, 0.97, "do not use"),
    ],
)
def test_labels_that_are_all_the_same_are_of_no_use_unless_the_gold_labels_are_too(known, share, kind):
    known = _STEADY | {"flips_agreement": None} | known
    found = recommendation(known, value=share, labels=1 if share == 1 else 2)
    assert (found.kind, found.reason) == (kind, "one label")


@pytest.mark.parametrize(
    ("threshold", "kind"),
    [(0.8, "use one prompt only"), (0.85, "use one prompt only"), (0.9, "do not use")],
)
def test_the_study_s_own_threshold_holds_for_one_prompt_too(threshold, kind):
    profile = Estimate("readiness_accuracy", 0.5, cell={"model": "m"}, details={"threshold": threshold})
    assert recommendation(_MOVED | _BEST | {"best_prompt_wrong": (0.02, 0.15)}, [profile]).kind == kind


def part(measure, low, high, *, texts=40, found=30, **cell):
    """What gold labels show of a class or a group, one of three that are looked at."""
    details = {"texts": texts, "found": found, "parts": 3}
    return Estimate(measure, (low + high) / 2, low, high, cell={"model": "m", **cell}, details=details)


EXCEPTIONS = {
    "a class surely missed": (part("class_found", 0.0, 0.69, label="a"), "a"),
    "a class that is perhaps found": (part("class_found", 0.0, 0.7, label="a"), ""),
    "never given to four texts": (part("class_found", 0.0, 0.7, texts=4, found=0, label="a"), "a"),
    "never given to three": (part("class_found", 0.0, 0.8, texts=3, found=0, label="a"), ""),
    "a label that prompts hardly keep": (part("label_kept", 0.47, 0.72, label="a"), "a"),
    "of few texts": (part("label_kept", 0.47, 0.72, texts=9, label="a"), ""),
    "that they mostly keep": (part("label_kept", 0.53, 0.72, label="a"), ""),
    "a group surely wrong": (part("group_wrong", 0.11, 0.4, group="party", level="x"), "x"),
    "a group far from gold on a scale": (part("group_agreement", -0.1, 0.66, group="party", level="x"), "x"),
    "a group perhaps far from it": (part("group_agreement", 0.3, 0.67, group="party", level="x"), ""),
    "a group that is perhaps wrong": (part("group_wrong", 0.1, 0.4, group="party", level="x"), ""),
    "a class missed in one group": (
        part("group_class_found", 0.0, 0.3, group="party", level="x", label="a"),
        "x",
    ),
    "of another prompt alone": (part("class_found", 0.0, 0.2, label="a", variant="w"), ""),
}


@pytest.mark.parametrize("name", EXCEPTIONS)
def test_classes_and_groups_are_excepted_where_they_surely_go_wrong(name):
    shown, excepted = EXCEPTIONS[name]
    found = recommendation(_STEADY, [shown])
    assert found.kind == ("use except for" if excepted else "use")
    assert [*found.classes, *(level for _, level in found.groups)] == [*excepted]


def test_labels_that_change_in_one_group_are_used_elsewhere():
    bad = part("group_wrong", 0.3, 0.6, group="party", level="x")
    rest = [
        Estimate(f"elsewhere_{name}", sum(ends) / 2, *ends, n=40, cell={"model": "m"})
        for name, ends in _STEADY.items()
        if ends is not None
    ]
    used = Estimate("elsewhere_label_in_use", 0.6, 0.5, 0.7, n=40, cell={"model": "m"}, details={"labels": 2})
    noise = [Estimate(f"elsewhere_{name}", None, cell={"model": "m"}) for name in ("flips_noise",)]
    assert recommendation(_MOVED, [bad]).kind == "do not use"
    found = recommendation(_MOVED, [bad, used, *noise, *rest])
    assert (found.kind, found.elsewhere, found.groups) == ("use except for", True, (("party", "x"),))
    moved = [replace(one, low=0.5, high=0.7) if "flips_agreement" in one.measure else one for one in rest]
    assert recommendation(_MOVED, [bad, used, *noise, *moved]).kind == "do not use"


def _of_authors(count):
    """Few wrong labels, in texts by so many authors."""
    return Estimate("wrong_labels", 0.04, 0.02, 0.08, n=count, unit="author", cell={"model": "m"})


def test_few_groups_may_miss_those_that_are_labelled_wrong_throughout():
    known = without(_STEADY, "wrong_labels")
    few, many = (recommendation(known, [_of_authors(count)]) for count in (16, 17))
    assert (few.kind, few.reason, few.needed) == ("cannot tell", "unclear gold", 17)
    assert (many.kind, many.needed) == ("use", 0)


UNDECIDED = {
    "no more than there are": ((0.1, 0.02, 0.3), {}, "label more by hand", 50),
    "(0.11 / 0.1)² as many": ((0.1, 0.05, 0.21), {}, "label more by hand", 25),
    "all texts have one": ((0.1, 0.02, 0.3), {"n": 50}, "add items", None),
    "(0.14 / 0.1)² as many show that they are wrong": ((0.25, 0.11, 0.4), {}, "label more by hand", 40),
    "above the bar, and no number takes it under it": ((0.12, 0.1, 0.14), {}, None, 0),
    "groups that the interval allows for": (
        (0.1, 0.02, 0.3),
        {"n": 15, "details": {"grouped": "author", "groups": 15}},
        "declare the groups",
        None,
    ),
}


@pytest.mark.parametrize("name", UNDECIDED)
def test_too_few_gold_labels_ask_for_as_many_as_would_decide(name):
    numbers, more, step, needed = UNDECIDED[name]
    wrong = Estimate("wrong_labels", *numbers, cell={"model": "m"}, **{"n": 20, **more})
    found = recommendation(without(_STEADY, "wrong_labels"), [wrong])
    assert found.kind == "cannot tell"
    assert step in (None, found.next_step)
    assert needed in (None, found.needed)


@pytest.mark.parametrize(("value", "needed"), [(0.7, 225), (0.8, 0)])  # (0.15 / 0.1)² as many
def test_too_few_texts_ask_for_as_many_as_would_decide(value, needed):
    agreement = Estimate("flips_agreement", value, 0.5, 0.85, n=100, cell={"model": "m"})
    found = recommendation(without(_MOVED, "flips_agreement"), [agreement])
    assert (found.reason, found.needed) == ("unclear", needed)
    assert (found.next_step == "add items") or not needed


def test_what_is_not_vouched_for_stands_beside_the_recommendation():
    like_these = Estimate("broken_prompts", 0.0, 0.0, 0.45, n=5, unit="prompt", cell={"model": "m"})
    assert like_these in recommendation(_STEADY, [like_these]).unvouched
    assert not recommendation(_MOVED, [like_these]).unvouched
    missed = part("class_found", 0.3, 0.6, label="a")
    found = recommendation({**_STEADY, "flips_agreement": (0.7, 0.9)}, [missed])
    assert (found.kind, found.unvouched, found.classes) == ("cannot tell", (missed,), ())


@pytest.mark.parametrize(
    ("agreement", "bias", "correctness"),
    [
        ((0.7, 0.9), (-0.1, 0.1), "right"),
        ((0.4, 0.66), (-0.1, 0.1), "wrong"),
        ((0.6, 0.9), (-0.1, 0.1), "unclear"),
        ((0.7, 0.9), (-0.9, -0.41), "biased"),
    ],
)
def test_on_a_scale_agreement_and_bias_decide(agreement, bias, correctness):
    known = _STEADY | {"wrong_labels": (0.3, 0.5), "gold_bias": bias, "gold_agreement": agreement}
    assert recommendation(known).correctness == correctness


def _left_out(share, wrong):
    """A label that is surely wrong in most of its uses, and what is left without it."""
    bad = part("label_right", 0.2, 0.6, label="b")
    details = {"without": ["b"], "share": share}
    return [bad, Estimate("others_wrong", sum(wrong) / 2, *wrong, n=90, cell={"model": "m"}, details=details)]


def test_a_label_that_is_mostly_wrong_where_it_is_given_is_left_out():
    steady = _STEADY | {"wrong_labels": (0.12, 0.2)}
    found = recommendation(steady, _left_out(0.2, (0.01, 0.05)))
    assert (found.kind, found.labels, found.next_step) == ("use except for", ("b",), "define the classes")
    assert recommendation(steady, _left_out(0.2, (0.16, 0.3))).kind == "do not use"
    assert recommendation(steady, _left_out(0.4, (0.01, 0.05))).kind == "cannot tell"  # too much is left out
    _, left = _left_out(0.2, (0.01, 0.05))
    unsure = part("label_right", 0.2, 0.95, label="b")  # with texts that are alike kept together
    assert recommendation(steady, [unsure, left]).kind == "cannot tell", "nothing is left out"


@pytest.mark.parametrize(
    ("p", "drawn", "kind"), [(0.0005, "", "cannot tell"), (0.0005, "random", "use"), (0.002, "", "use")]
)
def test_hand_labels_of_texts_that_were_chosen_vouch_for_no_others(p, drawn, kind):
    details = {"drawn": drawn, "trait": "with fewer than 9 words", "inside": 0.9, "outside": 0.2}
    found = recommendation(_STEADY, [Estimate("hand_labels", p, cell={"model": "m"}, details=details)])
    assert found.kind == kind
    assert kind == "use" or (found.reason, found.next_step) == ("chosen texts", "label a random sample")


@pytest.mark.parametrize(("ends", "kind"), [
    (None, "use"), ((0.0, 0.0), "use"), ((-0.1, 0.15), "use"),
    ((-0.1, 0.25), "cannot tell"), ((0.11, 3.0), "do not use"), ((-0.4, -0.12), "do not use"),
])  # fmt: skip
def test_numbers_that_a_few_answers_multiply_are_not_used_though_prompts_agree(ends, kind):
    without_gold = without(without(_STEADY, "wrong_labels"), "gold_agreement")
    assert recommendation({**without_gold, "flips_total": ends}).kind == kind


def test_a_prompt_that_deviates_is_named_and_the_others_may_be_used():
    odd, near = (part("prompt_worse", low, 0.2, variant=name) for low, name in ((0.06, "p4"), (0.04, "p3")))
    found = recommendation(_STEADY, [odd, near])
    assert (found.kind, found.prompts) == ("use except for", ("p4",))
    assert found.next_step == "leave the prompts out"


def test_the_decision_does_not_turn_when_more_gold_labels_are_added():
    """Of 12% wrong labels, above a bar of 10%, more gold labels make fewer studies say "use"."""
    shares = []
    for n in (50, 100, 400, 3000):
        wrong = binom(n, 0.12)
        used = 0.0
        for count in (count for count, share in enumerate(wrong.pmf(range(n + 1))) if share > 1e-6):
            ends = binomtest(count, n).proportion_ci()
            estimate = Estimate("wrong_labels", count / n, ends.low, ends.high, n=n, cell={"model": "m"})
            known = {name: both for name, both in _STEADY.items() if name != "wrong_labels"}
            if recommendation(known, [estimate]).kind == "use":
                used += wrong.pmf(count)
        shares.append(used)
    assert shares[1:] == sorted(shares[1:], reverse=True)
    assert shares[-1] < 0.001


@pytest.mark.parametrize(
    ("ends", "step"), [((0.11, 0.13), "correct the prompt"), ((0.08, 0.16), "add items")]
)
def test_no_more_texts_are_asked_for_where_they_would_not_tell(ends, step):
    found = recommendation(_STEADY | {"wrong_labels": ends})
    assert (found.kind, found.reason, found.next_step) == ("cannot tell", "unclear gold", step)


@pytest.mark.parametrize(
    ("ends", "kind"), [((0.02, 0.15), "do not use"), ((0.12, 0.17), "cannot tell"), ((0.19, 0.29), "use")]
)
def test_labels_that_differ_from_coders_no_more_than_these_do_are_not_wrong(ends, kind):
    assert recommendation(_STEADY | {"wrong_labels": (0.16, 0.24), "coders_differ": ends}).kind == kind


def test_of_fields_the_worst_is_the_headline_and_each_is_named():
    tone, stance = recommendation(_STEADY), recommendation(_MOVED)
    alone = Card("H.", "R.", "V.", "M.", "S.", ("V.", "M.", "S."), (tone,), "", ())
    card = card_of_fields(
        {"tone": alone, "stance": replace(alone, recommendations=(stance,), command="gold")}
    )
    assert [(one.field, one.kind) for one in card.recommendations] == [
        ("stance", stance.kind),
        ("tone", "use"),
    ]
    assert card.kind == stance.kind != "use"
    assert card.command == "gold --field stance"
    assert card.recommendation.index("stance") < card.recommendation.index("tone")
    assert card_of_fields({"": alone}) is alone


@pytest.mark.parametrize("source", ["host", "snapshot"])
@pytest.mark.parametrize(
    ("ends", "explained", "is_it"),
    [((0.1, 0.5), 0.8, True), ((-0.1, 0.5), 0.8, False), ((0.1, 0.5), 0.4, False)],
)
def test_what_answered_for_a_server_is_the_reason_where_most_flips_go_with_it(source, ends, explained, is_it):
    details = {"explained": explained}
    flips = Estimate(f"served_flips_{source}", 0.3, *ends, n=100, cell={"model": "m"}, details=details)
    found = recommendation(_MOVED | _NO_GOLD | {"flips_agreement": (0.2, 0.4)}, [flips])
    assert found.reason == (f"moved by {source}" if is_it else "unsteady")


@pytest.mark.parametrize(
    ("factor", "family", "reason"),
    [
        ("label_order", "imported", "moved by order"),
        ("factor_output", "factors", "moved by format"),  # annotations have this column under another name
        ("strategy", "strategies", "unsteady"),
        ("turned round", "option_order", "moved by order"),
        ("how to answer", "formats", "moved by format"),
        ("treatment", "treatments", "unsteady"),
    ],
)
def test_what_moves_labels_is_the_reason_whatever_its_column_is_called(factor, family, reason):
    about = {"model": "m", "factor": factor, "label": "a"}
    details = {"p_holm": 0.001, "directed": 0.9, "floor": 0.0, "shares": {"one": 0.2, "other": 0.8}}
    shift = Estimate("label_shift", 0.6, cell=about, details=details)
    changed = _MOVED | _NO_GOLD | {"flips_agreement": (0.2, 0.4)}
    assert recommendation(changed, [shift], {factor: family}).reason == reason


def test_the_docs_print_the_rules():
    assert rules_table() in (Path(__file__).parents[3] / "docs" / "verdicts.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("in_use", "agreement", "reason"),
    [
        ({"n": 9}, (0.5, 0.79), "too few items"),
        ({"n": 10}, (0.5, 0.79), "unsteady"),
        ({"labels": 1, "value": 1.0}, (0.5, 0.79), "one label"),
        ({"value": 0.95}, (0.4, 0.79), "one label"),
        ({"value": 0.94}, (0.4, 0.79), "unsteady"),
        ({"value": 0.95}, (0.51, 0.79), "unsteady"),
        ({"value": 0.95}, (0.8, 0.9), "steady"),
    ],
)
def test_labels_that_are_few_or_nearly_all_the_same(in_use, agreement, reason):
    known = {**_MOVED, **_NO_GOLD, "flips_agreement": agreement}
    assert recommendation(known, **in_use).reason == reason
