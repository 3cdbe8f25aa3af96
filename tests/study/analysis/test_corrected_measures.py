"""Measures that a gold sample corrects, named in a study's file, and studies compared by them."""

from tests.gold_study import STUDY, filled, labelled_study, truths

from quaver import Study
from quaver.comparison.paired_comparison import compare

MEASURES = """\
measures: [corrected_share, {use: corrected_accuracy, by: [variant]}]
conclusions:
  - {name: gap, formula: share(left) ~ party, effect: "party[D] > party[R]"}
"""


def opened(folder, **more):
    labelled_study(folder, **more)
    (folder / "study.yaml").write_text(STUDY + MEASURES, encoding="utf-8")
    return Study.open(folder / "study.yaml")


def with_gold(study):
    for path in study.gold.draw(n=80, design="simple", form="csv").files:
        if ".codes" not in path.name:
            study.gold.take(filled(path, truths()))
    return study


def named(study, name):
    return [one for one in study.estimates() if one.measure == name]


def test_a_study_file_names_them_and_has_each_once(tmp_path):
    study = opened(tmp_path / "a")
    assert [one.value for one in named(study, "corrected_share")] == [None]
    with_gold(study)
    shares = {one.cell["label"]: one for one in named(study, "corrected_share")}
    assert set(shares) == {"left", "right"}
    truth = sum(label == "left" for label in truths().values()) / 200
    assert shares["left"].low <= truth <= shares["left"].high
    prompts = {one.cell["variant"] for one in named(study, "corrected_accuracy")}
    assert prompts == {f"prompt=p{n}" for n in range(5)}
    for name in ("corrected_share", "corrected_accuracy"):
        assert {one.measure for one in study.measure(name)} == {name}


def test_two_studies_are_compared_by_them_and_by_corrected_conclusions(tmp_path):
    one, other = (with_gold(opened(tmp_path / name, seed=seed)) for name, seed in (("a", 1), ("b", 2)))
    found = compare(one, other, resamples=50)
    by_name = found.by_measure()
    names = [one.measure for one in found.differences]
    assert names.index("conclusion_corrected") < names.index("conclusion")
    for name in ("corrected_share", "corrected_accuracy", "conclusion_corrected"):
        assert by_name[name].estimate.low is not None
        assert by_name[name].estimate.warnings == ()
    assert by_name["conclusion_corrected"].words.endswith("in the true labels")
    assert by_name["conclusion"].words.endswith("in these labels")


def test_without_gold_labels_only_these_labels_are_compared(tmp_path):
    one, other = (opened(tmp_path / name, seed=seed) for name, seed in (("a", 1), ("b", 2)))
    found = compare(one, other, resamples=50)
    words = {name: verdict.words for name, verdict in found.by_measure().items()}
    assert words["corrected_share"].startswith("not defined")
    assert not any(name.startswith("conclusion_corrected") for name in words)
    assert words["conclusion"].endswith("in these labels")


def test_prompts_of_one_study_are_compared_by_them(tmp_path):
    found = compare(with_gold(opened(tmp_path / "a")), resamples=50)
    corrected = [one for one in found.differences if one.measure == "conclusion_corrected"]
    assert len(corrected) == 4
    assert all(one.value is not None and one.low is not None for one in corrected)
