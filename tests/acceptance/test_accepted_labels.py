"""Which labels may be accepted, from annotations to decisions."""

import csv
import io

import numpy as np
import polars as pl
import pytest
import scipy
from tests.designed_gold import designed

from quaver.acceptance.accepted_labels import accepted_labels
from quaver.acceptance.item_scores import evidence_of, scored, shift_p
from quaver.errors import MeasureError, UnknownName

LABELS = ("a", "b")
PROMPTS = 5


def annotations(seed=0, items=1200, *, lean=0.0):
    """Labels of five prompts; an item's are right together or wrong together. ``lean``: also wrong in x."""
    draw = np.random.default_rng(seed)
    truth = draw.integers(0, 2, items)
    group = draw.integers(0, 2, items)
    ease = draw.beta(5, 0.6, items)
    misled = (group == 0) & (draw.random(items) < lean)
    right = (draw.random((items, PROMPTS)) < ease[:, None]) & ~misled[:, None]
    said = np.where(right, truth[:, None], 1 - truth[:, None]).ravel()
    each = np.repeat(np.arange(items), PROMPTS)
    return pl.DataFrame(
        {
            "item": [f"i{n}" for n in each],
            "variant": [f"p{n}" for n in np.tile(np.arange(PROMPTS), items)],
            "label": [LABELS[n] for n in said],
            "gold": [LABELS[n] for n in truth[each]],
            "party": [("x", "y")[n] for n in group[each]],
            "confidence": np.clip(ease[each] + draw.normal(0, 0.05, each.size), 0.5, 1.0),
        }
    )


def of(frame, n=300, design="simple", **options):
    evidence = evidence_of(designed(frame, n, 1, design), LABELS, groups=("party",))
    return accepted_labels(evidence, **options)


def test_every_item_has_a_decision():
    found = of(annotations())
    counts = dict(found.table["decision"].value_counts().iter_rows())
    assert (counts["gold"], counts["accept"], sum(counts.values())) == (300, found.accepted, 1200)
    person = found.table.filter(pl.col("decision") == "person")
    assert person["label"].null_count() == person.height > 0
    accepted = found.table.filter(pl.col("decision") == "accept")
    assert (accepted["label"] == accepted["model_label"]).all()
    shares = [one.share for one in found.curve]
    assert shares[0] < shares[-1] == 1.0, "laxer promises accept more"


def test_too_few_labels_say_how_many_it_takes():
    found = of(annotations(), 30)
    assert found.accepted == 0
    assert "59" in found.notes[0]


def test_the_csv_is_safe_in_a_spreadsheet_and_without_confidences_the_table_has_none():
    frame = annotations(items=200).drop("confidence").with_columns(item=pl.lit("=") + pl.col("item"))
    found = of(frame, 100)
    rows = list(csv.DictReader(io.StringIO(found.csv())))
    assert len(rows) == 200
    assert rows[0]["item"].startswith("'=")
    assert found.table["confidence"].null_count() == 200


def test_evidence_is_that_of_the_answers():
    frame = pl.DataFrame(
        {
            "item": list("111222333"),
            "label": ["a", "a", "b", None, "b", "b", None, None, None],
            "gold": ["a"] * 3 + ["a"] * 3 + [None] * 3,
            "gold_probability": [0.5] * 9,
            "gold_drawn": [True] * 6 + [False] * 3,
            "confidence": [0.9, 0.7, 0.6, None, 0.8, 0.6, None, None, None],
        }
    )
    found = evidence_of(frame, LABELS)
    assert found.label.tolist() == ["a", "b", ""]
    assert found.agreement == pytest.approx([2 / 3, 2 / 3, 0])
    assert found.confidence[:2] == pytest.approx([(0.9 + 0.7 + 0.4) / 3, 0.7])
    assert np.isnan(found.confidence[2])
    assert (found.checked.tolist(), found.wrong.tolist()) == ([True, True, False], [False, True, False])
    assert found.candidates.tolist() == [True, True, False]
    likely = [[0.9, 0.1], [0.4, 0.6], *[[0.5, 0.5]] * 7]  # which say how sure a label is that was not given
    found = evidence_of(frame.with_columns(probabilities=pl.Series(likely)), LABELS)
    assert found.confidence[0] == pytest.approx((0.9 + 0.4 + 0.5) / 3)


@pytest.mark.long
@pytest.mark.parametrize("design", ["simple", "stratified", "poisson"])
def test_the_promise_is_kept_whatever_the_design(design):
    broken, shares = 0, []
    for seed in range(20):
        frame = annotations(seed)
        found = of(frame, 250, design)
        truth = dict(frame.select("item", "gold").unique().iter_rows())
        taken = found.table.filter(pl.col("decision") == "accept")
        wrong = [label != truth[item] for item, label in taken.select("item", "label").iter_rows()]
        shares.append(found.share)
        broken += bool(wrong) and np.mean(wrong) > 0.05
    assert broken <= 3
    assert np.mean(shares) > 0.2


def test_a_score_that_is_learned_looks_at_no_gold_label_of_its_own_fold():
    evidence = evidence_of(designed(annotations(), 300, 1), LABELS, groups=("party",))
    before = scored(evidence, 3)
    gold = evidence.gold.copy()
    first = int(np.flatnonzero(evidence.checked)[0])
    gold[first] = "b" if gold[first] == "a" else "a"
    object.__setattr__(evidence, "gold", gold)
    after = scored(evidence, 3)
    assert after[first] == before[first]
    assert not np.array_equal(after, before)


def test_what_gold_labels_do_not_show_changes_no_order():
    evidence = evidence_of(designed(annotations(items=400), 60, 1), LABELS, groups=("party",))
    ranks = scipy.stats.rankdata(evidence.agreement) + scipy.stats.rankdata(evidence.confidence)
    found = scored(evidence, 7)
    assert np.array_equal(np.argsort(found, kind="stable"), np.argsort(ranks, kind="stable"))


@pytest.mark.parametrize("seed", range(3))
def test_a_group_that_every_prompt_misreads_goes_to_people(seed):
    frame = designed(annotations(seed, lean=0.3), 300, 1, "simple")
    learned = accepted_labels(evidence_of(frame, LABELS, groups=("party",)), error=0.1)
    unaware = accepted_labels(evidence_of(frame.drop("confidence"), LABELS), error=0.1)
    share = {one.level: one.share for one in learned.groups if one.column == "party"}
    assert share["x"] < 0.8 * share["y"]
    assert learned.accepted > unaware.accepted + 100
    assert (learned.table.filter(decision="accept")["party"] == "y").mean() > 0.75


@pytest.mark.parametrize("seed", range(3))
def test_labels_that_are_all_equally_sure_are_told_apart_by_gold_labels_alone(seed):
    draw = np.random.default_rng(seed)
    size = int(draw.integers(20, 300))
    base = np.full(size, np.log((size + 1) / (size - 1)))  # the log odds of the mean rank
    group, right = draw.integers(0, 2, size), draw.random(size) < 0.7
    found = shift_p(base, (group[:, None] == [0, 1]).astype(float), right.astype(float))
    table = np.array([[(right & (group == one)).sum(), (~right & (group == one)).sum()] for one in (0, 1)])
    pearson = scipy.stats.chi2_contingency(table, correction=False).pvalue
    assert found == pytest.approx(pearson, abs=0.02)


def test_one_prompt_without_confidences_is_the_answer_or_one_error():
    for seed in range(8):
        frame = annotations(seed, 300).filter(pl.col("variant") == "p0").drop("confidence")
        found = of(frame, 120)
        assert found.table["agreement"].unique().to_list() == [1.0]
        assert found.accepted in (0, 180)  # all or none: nothing tells them apart, unless gold labels do


def test_a_promise_for_each_class_or_group():
    for by in ("party", "label"):
        found = of(annotations(items=4000), 800, error=0.1, by=by)
        assert [one.level for one in found.found] == (["x", "y"] if by == "party" else ["a", "b"])
        assert found.accepted == int((found.table["decision"] == "accept").sum())


def test_gold_that_was_not_drawn_by_design_is_refused():
    frame = annotations()
    with pytest.raises(MeasureError) as raised:
        evidence_of(frame, LABELS)
    assert raised.value.where == "gold_drawn"
    undrawn = designed(frame, 100, 1).with_columns(gold_drawn=pl.lit(False), gold=pl.lit("a"))
    with pytest.raises(MeasureError):
        evidence_of(undrawn, LABELS)


@pytest.mark.parametrize(
    ("options", "where"),
    [({"error": 1.2}, "error"), ({"by": "age"}, "by"), ({"confidence_level": 0}, "confidence_level")],
)
def test_options_are_checked(options, where):
    with pytest.raises((MeasureError, UnknownName)) as raised:
        of(annotations(items=200), 100, **options)
    assert raised.value.where == where


def test_drawn_items_without_a_label_are_counted():
    frame = designed(annotations(), 300, 1)
    some = frame.filter(pl.col("gold_drawn"))["item"].unique().sort()[:20]
    frame = frame.with_columns(
        gold=pl.when(pl.col("item").is_in(some.implode())).then(None).otherwise("gold")
    )
    evidence = evidence_of(frame, LABELS)
    assert (int(evidence.checked.sum()), int(evidence.waiting.sum())) == (280, 20)
    assert "20" in accepted_labels(evidence).notes[-1]
