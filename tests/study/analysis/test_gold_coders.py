"""Coders of a gold sample are set beside the model, as those of the items' table are."""

import pytest
from tests.gold_study import filled, labelled_study, truths

import quaver

TRUTH = truths()
OTHER = {"left": "right", "right": "left"}


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Three coders label the same forty items: two are right, the third errs on every fourth."""
    made = labelled_study(tmp_path_factory.mktemp("coded") / "study", prompts=3)
    drawn = made.gold.draw(n=40, coders=["ada", "ben", "D"], overlap=1.0, form="csv")
    for path in (path for path in drawn.files if ".codes" not in path.name):
        wrong = {item: OTHER[TRUTH[item]] for at, item in enumerate(TRUTH) if at % 4 == 0}
        made.gold.take(filled(path, TRUTH | wrong if "-D" in path.name else TRUTH))
    return made


def test_the_model_is_set_beside_each_of_them(study):
    made = study.measure("coder_agreement", by=["model"])
    beside = [one for one in made if one.measure == "coder_agreement_model"]
    assert [one.cell["coder"] for one in beside] == ["ada", "ben", "D"]
    assert {one.n for one in beside} == {40}
    won = study.measure("alternative_annotator", by=["model"])[-1]
    assert (won.measure, won.details["coders"], won.n) == ("alternative_annotator_won", 3, 40)


@pytest.mark.long
def test_they_stand_among_the_studys_estimates(study, tmp_path):
    found = {one.measure: one for one in study.estimates() if one.cell.get("coder", "all") == "all"}
    assert {"coder_agreement_gap", "coder_agreement_coders"} <= found.keys()
    drawn, often_wrong = study.gold.state.drawn, {*list(TRUTH)[::4]}
    wrong = sum(item in often_wrong for item in drawn) / len(drawn)
    # On every fourth item two of three pairs of coders differ.
    assert found["coder_agreement_coders"].details["percent"] == pytest.approx(1 - wrong * 2 / 3)
    quaver.bundle(study, tmp_path / "coded.zip")  # which verifies it


def test_coders_who_share_no_item_are_not_compared(tmp_path):
    made = labelled_study(tmp_path / "study", prompts=3)
    drawn = made.gold.draw(n=20, coders=["ada", "ben"], overlap=0.0, form="csv")
    for path in (path for path in drawn.files if ".codes" not in path.name):
        made.gold.take(filled(path, TRUTH))
    assert not [one for one in made.estimates() if one.measure.startswith("coder_agreement")]
