"""Verdicts on annotators whose truth is known: what is judged, never in which words."""

import hashlib

import polars as pl
import pytest

from quaver.core.records import Label, LabelSet
from quaver.measures.evidence.verdict_evidence import answer_quality, verdict_evidence
from quaver.measures.stability.prompt_stability import inter_pss
from quaver.measures.variation.item_sensitivity import sensitivity
from quaver.report.findings.decision import recommendations
from quaver.report.findings.quality import quality, severity

LABELS = LabelSet(tuple(Label(code, code.upper()) for code in "ab"))
ERROR = "error"
CUT = "cut off"


def chance(*of):
    """A number from 0 to 1, the same for the same things."""
    return int(hashlib.sha256(repr(of).encode()).hexdigest()[:8], 16) / 2**32


def gold(item):
    return "ab"[item % 2]


def swapper(item, prompt, _):
    """A label is a hash of text and paraphrase: half a, half b under every prompt."""
    return "ab"[chance(item, prompt) < 0.5]


def perfect(item, *_):
    return gold(item)


def unreadable(item, prompt, repeat):
    """Nine answers in ten have no label; the others follow the prompt."""
    return None if chance("bare", item, prompt, repeat) < 0.88 else "ab"[prompt % 2]


def biased(item, *_):
    """Every a is an a, and so is half of the b."""
    return "a" if gold(item) == "a" or chance(item) < 0.5 else "b"


def marginal(item, prompt, _):
    """A threshold that moves with the prompt, over something that the items have."""
    return "ab"[chance(item) < (prompt + 0.5) / 5]


def noisy(item, prompt, repeat):
    """Every answer is drawn anew: repeats flip, and prompts do no more."""
    return "ab"[chance(item, prompt, repeat) < 0.5]


def failing(item, prompt, repeat):
    return ERROR if chance("error", item, prompt, repeat) < 0.3 else gold(item)


def cut_off(item, prompt, repeat):
    return CUT if chance("cut", item, prompt, repeat) < 0.2 else gold(item)


def answers(answer, *, items=60, prompts=5, repeats=1, with_gold=True, model="m"):
    rows = []
    for item in range(items):
        for prompt in range(prompts):
            for repeat in range(repeats):
                said = answer(item, prompt, repeat)
                status = {None: "no_label", ERROR: "error", CUT: "no_label"}.get(said, "valid")
                label = said if status == "valid" else None
                where = (
                    model,
                    f"v{prompt}",
                    "greedy",
                    f"i{item}",
                    repeat,
                    f"w{prompt}",
                    "no" if prompt % 2 else "yes",
                )
                rows.append((*where, label, status, said == CUT, gold(item) if with_gold else None))
    columns = ("model", "variant", "decoding", "item", "repeat", "paraphrase", "politeness")
    schema = [*columns, "label", "status", "truncated", "gold"]
    return pl.DataFrame(
        rows, schema=schema, orient="row", schema_overrides={"label": pl.String, "gold": pl.String}
    )


FACTORS = ["paraphrase", "politeness"]


def estimates(frame):
    if frame.is_empty():
        return []
    return verdict_evidence(frame, FACTORS, labels=LABELS, seed=3)


def judged(answer, **how):
    (found,) = recommendations(estimates(answers(answer, **how)))
    return found


def test_labels_that_are_a_hash_of_text_and_paraphrase_are_judged_by_items_and_not_by_shares():
    """Agreement is no better than chance, sensitivity high, and shares are where chance leaves them."""
    frame = answers(swapper, items=200)
    (whole,) = recommendations(estimates(frame))
    found = whole.judged
    assert (whole.reason, found.factor) == ("unsteady", "")
    alpha, (moving,) = inter_pss(frame)[0], sensitivity(frame, labels=LABELS)
    assert abs(alpha.value or 0.0) < 0.1
    assert (moving.value or 0.0) > 0.7
    agreement = found.estimates["flips_agreement"]
    assert agreement.value == pytest.approx(alpha.value, abs=0.03)
    assert all(one.details["p_holm"] > 0.05 for one in found.shifts)


def test_the_evidence_of_each_verdict():
    steady = judged(perfect).judged.estimates
    assert (steady["flips_prompts"].value, steady["flips_agreement"].value) == (0, 1)
    assert 0 < steady["flips_prompts"].high < 0.1  # no flip among 60 items is no proof of none
    wrong = judged(biased).judged.estimates["wrong_labels"]
    share = sum(chance(item) < 0.5 for item in range(1, 60, 2)) / 60
    assert wrong.value == pytest.approx(share)
    assert (wrong.details["label"], wrong.details["share"]) == ("a", 1.0)
    follows = judged(marginal).judged
    assert follows.factor == "paraphrase"
    assert follows.top.cell["factor"] == "paraphrase"
    drawn = judged(noisy, repeats=3).judged.estimates
    assert drawn["flips_repeats"].value == pytest.approx(0.5, abs=0.1)
    assert drawn["flips_noise"].value == pytest.approx(1.0, abs=0.1)
    without = judged(perfect, with_gold=False).judged.estimates["wrong_labels"]
    assert (without.value, without.reason) == (None, "no gold labels")


def test_a_factor_with_many_levels_is_not_taken_for_the_one_that_moves_the_labels():
    """Twenty paraphrases range further by chance than two tones do on purpose."""

    def politely(item, prompt, _):
        return "ab"[chance(item, prompt) < (0.35 if prompt % 2 else 0.65)]

    found = judged(politely, items=40, prompts=20).judged
    by = {one.cell["factor"]: one for one in found.shifts}
    assert (by["paraphrase"].value or 0.0) > (by["politeness"].value or 0.0)
    assert found.factor == "politeness"


def test_every_model_has_a_verdict_of_its_own():
    frame = pl.concat([answers(perfect, model="good"), answers(swapper, model="bad")])
    found = recommendations(estimates(frame))
    assert [(one.model, one.reason) for one in found] == [("good", "right"), ("bad", "unsteady")]


def test_no_answers():
    (found,) = recommendations([])
    assert (found.model, found.kind, found.reason, found.next_step) == (
        "",
        "cannot tell",
        "no answers",
        "run",
    )
    assert quality([]).issues == ()


@pytest.mark.parametrize(
    ("answer", "issues"),
    [
        (perfect, {}),
        (failing, {"failed_calls": "caution"}),
        (unreadable, {"unlabelled_answers": "stop"}),
        (cut_off, {"unlabelled_answers": "caution", "truncated_answers": "caution"}),
        (lambda *_: ERROR, {"failed_calls": "stop"}),
        (lambda *at: None if chance("bare", *at) < 0.03 else gold(at[0]), {"unlabelled_answers": "note"}),
    ],
)
def test_the_gate(answer, issues):
    frame = answers(answer)
    found = quality(answer_quality(frame, FACTORS))
    assert {one.measure: severity(one) for one in found.issues} == issues
    for one in found.issues:
        details = one.details
        assert one.value == pytest.approx(details["times"] / details["calls"])
        assert details["calls"] == frame.height
        assert one.low <= (one.value or 0.0) <= (one.high or 0.0)


def test_the_gate_says_where_answers_have_no_label():
    def shy(item, prompt, _):
        return None if prompt % 2 and item % 3 == 0 else gold(item)

    (found,) = [
        one for one in answer_quality(answers(shy), ["politeness"]) if one.measure == "unlabelled_answers"
    ]
    assert found.details["shares"] == {"yes": 0.0, "no": pytest.approx(1 / 3)}
    assert found.details["statuses"] == {"no_label": 40}


def test_answers_that_were_cut_off_say_how_many_lost_their_label():
    found = {one.measure: one for one in answer_quality(answers(cut_off))}
    assert (
        found["truncated_answers"].details["unlabelled"] == found["unlabelled_answers"].details["times"] > 0
    )


def test_a_decoding_explains_no_flip_between_prompts():
    """Prompts are compared within a decoding: what moves with it alone flips from no prompt to another."""
    cold, warm = (answers(lambda i, p, k, at=at: "ab"[chance(i, p, at) < at], items=80) for at in (0.2, 0.8))
    frame = pl.concat([cold, warm.with_columns(decoding=pl.lit("warm"))])
    factors = ["paraphrase", "decoding"]
    found = verdict_evidence(frame, factors, labels=LABELS, seed=3)
    (whole,) = recommendations(found)
    one = whole.judged
    assert (whole.reason, one.factor) == ("unsteady", "")
    clear = {shift.cell["factor"] for shift in one.shifts if shift.details["p_holm"] < 0.05}
    assert clear == {"decoding"}
