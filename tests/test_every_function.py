"""Every public function that takes annotations, given those of a study with several models and evaluators."""

import inspect

import polars as pl
import pytest
from tests.designed_gold import designed
from tests.studies import asked

import quaver
from quaver.errors import QuaverError

TAKING = ("annotations", "items", "frame")
NEEDED = {
    "baseline": {"kind": "random"},
    "conclusion": {"formula": "share(positive) ~ party", "effect": "party[a] > party[b]"},
    "consistency_matrix": {"of": "positive"},
    "label_movement": {"factors": {"paraphrase": ["original", "short"]}},
    "view": {"kind": "filtered"},
}
"""Arguments without a default."""

OF_SEVERAL = {"baseline", "evaluator_flips", "readiness", "view"}
"""Functions that tell evaluators apart themselves, or change the frame alone."""

OF_ANOTHER_TABLE = {"measure_agreement": "rater"}
"""Functions that take another table, and the name that their error says."""

OF_A_SAMPLE = {"corrected_accuracy", "corrected_score", "corrected_share"}
"""Functions that take a gold sample drawn by design, and the labels of all evaluators together."""

FUNCTIONS = {
    name: given
    for package in (quaver, quaver.measures)
    for name in dir(package)
    if callable(given := getattr(package, name))
    and not inspect.isclass(given)
    and next(iter(inspect.signature(given).parameters), "") in TAKING
}


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    truths = ["positive" if n % 3 else "negative" for n in range(9)]
    rows = [{"id": f"i{n}", "text": f"text {n}", "truth": truths[n], "party": "ab"[n % 2]} for n in range(9)]

    def one(text, prompt):
        n = int(text.split()[1])
        return "hm" if n == 5 else "positive" if n % 3 or "Is" not in prompt else "negative"

    def two(text, prompt):
        return "Positive" if "Is" in prompt else "negative, not positive, or positive"

    return asked(
        tmp_path_factory.mktemp("every"), rows, {"one": one, "two": two}, gold="truth",
        items={"groups": ["party"]}, prompt={"instruction": "Is this positive or negative?"},
        texts={"short": "Positive or negative?"}, repeats=2,
        evaluators=["first_label", "label_match", "exact"],
    )  # fmt: skip


def called(name, study, frame, **more):
    needed = NEEDED.get(name, {})
    if name == "label_movement":
        needed = needed | {"labels": study.experiment.labels}
    return FUNCTIONS[name](frame, **needed, **more)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_annotations_are_measured_or_refused_with_what_to_do(name, study):
    frame = study.annotations()
    if name in OF_ANOTHER_TABLE:
        with pytest.raises(QuaverError, match=OF_ANOTHER_TABLE[name]):
            called(name, study, frame)
        return
    if name in OF_A_SAMPLE:
        with pytest.raises(QuaverError, match="gold sample"):
            called(name, study, frame.drop("gold_drawn"))
        assert called(name, study, designed(frame, 6, 0))
        assert [one.value for one in called(name, study, frame)] == [None]
        return
    if name not in OF_SEVERAL:
        with pytest.raises(QuaverError) as caught:
            called(name, study, frame)
        assert "evaluators" in caught.value.problem
    else:
        called(name, study, frame)
    first = frame.filter(pl.col("evaluator") == "first_label")
    alone = called(name, study, first)
    assert alone is not None
    if "by" in inspect.signature(FUNCTIONS[name]).parameters and name not in OF_SEVERAL:
        apart = called(name, study, frame, by=["evaluator"])
        if isinstance(apart, list) and isinstance(alone, list):
            # What is measured of each evaluator is what is measured of its annotations alone.
            own = [one for one in apart if one.cell.get("evaluator") == "first_label"]
            assert [value(one) for one in own] == [value(one) for one in alone]


def value(one):
    return one.measure, one.value
