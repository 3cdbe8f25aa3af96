"""What a study file says of its measures holds, and a name that the study does not have is a mistake."""

import pytest
from tests.studies import ITEMS

import quaver
from quaver.errors import QuaverError

BASE = {
    "task": {"labels": ["positive", "negative"]},
    "items": {"source": "items.csv", "id": "id", "text": "{{ text }}", "gold": "truth", "groups": ["truth"]},
    "prompt": {"instruction": "Is this positive or negative?"},
    "variants": [
        {"use": "instructions", "texts": {"curt": "Positive?"}},
        {"use": "label_order", "orders": "reversed"},
    ],
    "models": [{"name": "fake", "use": "function"}, {"name": "other", "use": "function"}],
    "decoding": {"cold": {"temperature": 0}, "hot": {"temperature": 1}},
    "repeats": 2,
    "evaluators": [{"use": "first_label"}, {"use": "exact", "name": "strict"}],
}


def opened(folder, *measures, **changes):
    (folder / "items.csv").write_text(ITEMS)
    study = {**BASE, "measures": list(measures), **changes}
    study["items"] = {**study["items"], "source": str(folder / "items.csv")}

    def annotate(text, prompt):
        return "positive" if len(text + prompt) % 3 else "negative"

    return quaver.Study.open(
        study, folder=folder / "out", functions=dict.fromkeys(["fake", "other"], annotate)
    )


@pytest.mark.long
@pytest.mark.parametrize(
    "measure",
    [
        {"use": "evaluator_flips", "first": "frist"},
        {"use": "factor_effects", "factors": ["wordding"]},
        {"use": "accuracy", "by": ["wordding"]},
    ],
)
def test_what_fails_in_a_report_is_one_entry(measure, tmp_path):
    opened(tmp_path, {"use": "accuracy"}).run()
    study = opened(tmp_path, measure, {"use": "accuracy", "evaluator": "strict"})  # edited since
    failed, *others = study.estimates()
    assert (failed.measure, failed.value) == (measure["use"], None)
    assert str(failed.reason).startswith("not measured: unknown ")
    assert len(others) == 16
    assert all(one.value is not None for one in others)
    assert study.report().exists()
    with pytest.raises(QuaverError, match="unknown"):
        study.measure(measure["use"])


def test_a_study_file_s_options_hold(tmp_path):
    asked = {"use": "differences", "between": "model", "reference": "other", "only": {"decoding": "hot"}}
    study = opened(
        tmp_path, asked, {"use": "accuracy", "by": ["model"]}, {"use": "accuracy", "by": ["paraphrase"]}
    )
    study.run()
    assert study.measure("differences") == study.estimates("differences")
    assert {"model", "reference"} & set(study.measure("differences")[0].cell)
    given = study.measure("differences", reference="fake")
    assert given != study.measure("differences")
    assert len(given) == len(study.measure("differences"))
    assert study.measure("accuracy") == study.estimates("accuracy")
    assert {name for one in study.measure("accuracy") for name in one.cell} >= {"model", "paraphrase"}
    alone = study.measure("accuracy", by=["decoding"])
    assert [one.cell["decoding"] for one in alone] == ["cold", "hot"] * 2


def test_a_model_s_formula_is_not_dropped(tmp_path):
    study = opened(tmp_path, {"use": "mixed_effects", "formula": "correct ~ decoding", "by": ["model"]})
    study.run()
    assert all("correct ~ decoding" in one.method for one in study.measure("mixed_effects"))
