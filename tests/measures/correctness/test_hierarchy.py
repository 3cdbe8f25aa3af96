"""Labels with parents: accuracy, F1 and kappa by depth, distances on the tree, and what the prompt shows."""

import numpy as np
import polars as pl
import pytest

from quaver.agreement import cohen_kappa
from quaver.core.label_values import TaskField, occurring_sets
from quaver.core.records import Label, LabelSet
from quaver.design.prompts.rendering import fields_in_words
from quaver.design.spec.task_spec import FieldSpec
from quaver.measures import accuracy, f1, hierarchy, inter_pss
from quaver.measures.evidence.label_flips import likeness

PARENTS = {"work": "", "wages": "work", "minimum wage": "wages", "unions": "work", "war": "", "peace": "war"}


def tree(level="nominal", parents=PARENTS):
    return LabelSet(tuple(Label(code, code, parent=parent) for code, parent in parents.items()), level)


def answers(seed=0, n=60):
    random = np.random.default_rng(seed)
    gold = random.choice([*PARENTS], n)
    given = np.where(random.random(n) < 0.6, gold, random.choice([*PARENTS], n))
    return pl.DataFrame({"item": range(n), "label": given, "gold": gold})


ROOTS = {
    "work": "work",
    "wages": "work",
    "minimum wage": "work",
    "unions": "work",
    "war": "war",
    "peace": "war",
}
ITSELF = {code: code for code in PARENTS}
SECOND = {**ITSELF, "minimum wage": "wages"}


@pytest.mark.parametrize(("depth", "above"), [("1", ROOTS), ("2", SECOND), ("3", ITSELF)])
def test_each_depth_is_what_labels_merged_by_hand_give(depth, above):
    frame = answers()
    got = {one.measure: one for one in hierarchy(frame, labels=tree()) if one.cell["depth"] == depth}
    merged = frame.with_columns(pl.col("label", "gold").replace_strict(above))
    whole, macro = accuracy(merged)[0], f1(merged)[0]
    assert (got["hierarchy_accuracy"].value, got["hierarchy_accuracy"].low) == (whole.value, whole.low)
    assert got["hierarchy_f1"].value == pytest.approx(macro.value, abs=1e-12)
    pairs = merged.select("label", "gold").rows()
    assert got["hierarchy_kappa"].value == pytest.approx(cohen_kappa(pairs, "nominal").value, abs=1e-12)


def test_sets_are_merged_label_by_label():
    given, gold = ["wages;war", "unions", "war"], ["unions;war", "wages", "[]"]
    sets = occurring_sets([*given, *gold], tree().labels, "jaccard")
    got = hierarchy({"item": [1, 2, 3], "label": given, "gold": gold}, labels=sets)
    assert [one.value for one in got if one.measure == "hierarchy_accuracy"][:2] == pytest.approx([2 / 3, 0])
    assert not [one for one in got if one.measure == "hierarchy_kappa"]


def test_distances_on_the_tree_are_those_of_wu_and_palmer():
    alike = likeness(tree("tree"))
    codes = [*PARENTS]
    expected = {("wages", "unions"): 1 / 2, ("wages", "minimum wage"): 4 / 5, ("wages", "war"): 0.0}
    for (one, other), value in expected.items():
        assert alike[codes.index(one), codes.index(other)] == pytest.approx(value)
    assert np.diag(alike) == pytest.approx(np.ones(len(codes)))


def test_alpha_on_the_tree_by_hand():
    # Two prompts, three items: (wages, unions), (war, war), (wages, wages). δ = 1/2 for wages and unions.
    frame = {
        "item": [1, 1, 2, 2, 3, 3],
        "variant": ["v", "w"] * 3,
        "label": ["wages", "unions", "war", "war", "wages", "wages"],
    }
    # D_o = 2 · 1/2 / 6. D_e of 3 wages, 1 unions and 2 war: 2 (3 · 1 · 1/2 + 3 · 2 + 1 · 2) / (6 · 5).
    by_hand = 1 - (1 / 6) / (2 * 9.5 / 30)
    assert inter_pss(frame, labels=tree("tree"))[0].value == pytest.approx(by_hand)
    nominal = inter_pss(frame, labels=tree())[0].value
    assert nominal < by_hand


@pytest.mark.parametrize(
    ("labels", "level", "problem"),
    [
        ([{"code": "a", "parent": "b"}, {"code": "b", "parent": "a"}], "nominal", "is its own ancestor"),
        ([{"code": "a", "parent": "a"}, "b"], "nominal", "is its own ancestor"),
        (["a", "b"], "tree", "form no tree"),
    ],
)
def test_what_is_no_tree(labels, level, problem):
    with pytest.raises(Exception, match=problem):
        FieldSpec.model_validate({"labels": labels, "level": level})


def test_the_prompt_shows_labels_as_they_fall():
    labels = LabelSet(
        (
            Label("war", "war", parent="Abroad"),
            Label("work", "work", "Jobs."),
            Label("peace", "peace", parent="Abroad"),
            Label("wages", "wages", "Pay.", parent="work"),
        )
    )
    assert fields_in_words([TaskField("topic", labels)]).splitlines()[1:] == [
        "  - Abroad:",
        '    - "war"',
        '    - "peace"',
        '  - "work": Jobs.',
        '    - "wages": Pay.',
    ]
