"""The demo's study, smaller, on the real embedded model and real voters, from its file to its report."""

from importlib.resources import files

import pytest

from quaver.study.session import Study

pytestmark = pytest.mark.long

VOTERS = 3


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    text = (files("quaver") / "examples" / "votes.yaml").read_text(encoding="utf-8")
    text = text.replace("sample: 24", f"sample: {VOTERS}")
    path = tmp_path_factory.mktemp("votes") / "study.yaml"
    path.write_text(text, encoding="utf-8")
    opened = Study.open(path)
    outcome = opened.run()
    assert (outcome.ended, outcome.errors) == ("finished", 0)
    assert outcome.done == VOTERS * 16 * 3
    yield opened
    for model in opened.source.models.values():
        model.close()


def test_the_label_follows_the_format_and_not_the_voter(study):
    greedy = {
        one.cell["format"]: one.value
        for one in study.measure(
            "label_shares", by=["decoding", "format"], evaluator="first_label", missing="drop"
        )
        if one.cell["decoding"] == "greedy" and one.cell["label"] == "dole"
    }
    assert greedy["names"] == greedy["swapped"] == 1.0
    assert greedy["letters"] == 0.0


def test_agreement_between_formats_is_no_better_than_chance(study):
    found = study.measure("inter_pss", evaluator="first_label", by=["model", "decoding", "text"])
    greedy = [one for one in found if one.cell["decoding"] == "greedy"]
    assert len(greedy) == 2
    for one in greedy:
        assert one.value < 0.1
        assert one.low <= one.value <= one.high


def test_the_measures_that_the_study_asks_for_are_all_there(study):
    estimates = study.estimates()
    assert {one.measure for one in estimates} == {
        "accuracy",
        "consistency",
        "inter_pss",
        "intra_pss",
        "label_shares",
        "sensitivity",
        "compliance",
    }
    accuracy = next(one for one in estimates if one.measure == "accuracy")
    assert accuracy.details["chance"] == 0.5
    assert accuracy.details["majority"] >= 0.5
    assert all(one.value is not None or one.reason for one in estimates)


def test_prompts_share_what_they_have_in_common(study):
    plan = study.plan()
    (model,) = plan.models
    assert model["counted"]
    assert model["most_cost"] == 0
    assert model["answered"] == model["calls"] == plan.calls
    assert model["tokens_read_once"] < model["prompt_tokens"] / 10
