"""Fields of which several labels may apply: from the study file to F1, against scikit-learn."""

import json

import polars as pl
import pytest
from sklearn.metrics import accuracy_score, f1_score, hamming_loss
from sklearn.preprocessing import MultiLabelBinarizer

from quaver import Study
from quaver.core.records import Label, LabelSet
from quaver.measures import accuracy, f1, precision, recall

_TOPICS = ["tax", "war", "health", "other"]
_FIELDS = {
    "topics": {"labels": _TOPICS, "several": True, "gold": "topics"},
    "tone": {"labels": ["good", "bad"]},
}


def _gold(at):
    return _TOPICS[: at % 4] if at % 6 else ["other", "war"]


def _rows():
    return [
        {"id": f"i{at}", "text": f"Text {at}", "topics": "; ".join(_gold(at)) or "[]"} for at in range(30)
    ]


def _asked(**more):
    return {
        "name": "Sets",
        "task": {"held": False, "fields": _FIELDS},
        "items": {"source": _rows(), "id": "id", "text": "{{ text }}"},
        "prompt": {"instruction": "What does this text say?"},
        "variants": [{"use": "instructions", "texts": {"curt": "Code this text."}}],
        "models": [{"name": "m", "use": "function"}],
        "measures": ["accuracy", "inter_pss", "f1"],
        **more,
    }


def _given(at):
    """The labels that the model gives: one more for every fifth item, in another order."""
    return [*_gold(at), *(["other"] if at % 5 == 0 else [])][::-1]


def _answer(text, prompt):
    at = int(text.split()[-1])
    said = {"topics": _given(at), "tone": "good"}
    forms = {
        3: {"topics": ["tax", "nonsense"]},
        4: {"topics": None},
        7: {"topics": "tax; war; health"},
        8: {"topics": {name: name == "tax" for name in _TOPICS}},
        9: {"topics": {"tax": 1}},
    }
    if at == 11:
        return json.dumps(said)[:-20]  # cut off within the list
    return json.dumps(said | forms.get(at, {}))


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    study = Study.open(_asked(), folder=tmp_path_factory.mktemp("sets"), functions={"m": _answer})
    study.run()
    return study


def test_a_value_is_a_set_in_the_label_set_s_order(study):
    frame = study.annotations().filter(pl.col("field") == "topics", pl.col("variant") == "paraphrase=curt")
    label, gold = (dict(frame.select("item", one).iter_rows()) for one in ("label", "gold"))
    assert (label["i5"], gold["i5"]) == ("tax;other", "tax")
    assert (label["i12"], gold["i12"]) == ("war;other", "war;other")
    assert (label["i16"], gold["i16"]) == ("[]", "[]")
    assert (label["i7"], label["i8"]) == ("tax;war;health", "tax")
    bare = dict(frame.filter(pl.col("label").is_null()).select("item", "reason").iter_rows())
    assert set(bare) == {"i3", "i4", "i9", "i11"}
    assert bare["i3"] == "the field holds what is no label"


def test_f1_of_sets_is_scikit_learn_s(study):
    binary = MultiLabelBinarizer(classes=_TOPICS)
    read = [at for at in range(30) if at not in (3, 4, 7, 8, 9, 11)]
    answers = {at: _given(at) for at in read} | {7: ["tax", "war", "health"], 8: ["tax"]}
    places = sorted(answers)
    gold = binary.fit_transform([_gold(at) for at in places])
    given = binary.transform([answers[at] for at in places])
    found = study.measure("f1", field="topics", missing="drop", by=["variant"])
    own = [one for one in found if one.cell["variant"] == "paraphrase=curt"]
    numbers = {one.measure: one.value for one in own}
    for average in ("macro", "micro"):
        assert numbers[f"f1_{average}"] == pytest.approx(f1_score(gold, given, average=average), abs=1e-12)
    each = {one.cell["label"]: one.value for one in own if one.measure == "f1_label"}
    expected = dict(zip(_TOPICS, f1_score(gold, given, average=None), strict=True))
    assert each == pytest.approx(expected, abs=1e-12)
    sample = f1_score(gold, given, average="samples", zero_division=1)
    assert numbers["f1_sample"] == pytest.approx(sample, abs=1e-12)
    exact = study.measure("accuracy", field="topics", missing="drop", by=["variant"])
    whole = {one.measure: one.value for one in exact if one.cell["variant"] == "paraphrase=curt"}
    assert whole["accuracy"] == pytest.approx(accuracy_score(gold, given), abs=1e-12)
    assert whole["accuracy_hamming"] == pytest.approx(hamming_loss(gold, given), abs=1e-12)


def test_each_label_of_a_set_is_right_or_wrong_by_itself():
    labels = LabelSet(tuple(Label(code, code) for code in ("a", "b", "a;b", "[]")), "jaccard")
    rows = {"item": [1, 2, 3, 4], "label": ["a;b", "a", "b", None], "gold": ["a", "a;b", "b", "[]"]}
    frame = pl.DataFrame(rows)
    assert accuracy(frame, labels=labels)[0].value == 0.25
    # a: two right of two given and two gold; b: one right of two given and two gold
    assert [(one.cell["label"], one.value) for one in recall(frame, labels=labels)] == [("a", 1), ("b", 0.5)]
    assert [one.value for one in precision(frame, labels=labels)] == [1, 0.5]
    found = [(one.measure, one.value) for one in f1(frame, labels=labels)]
    # the last of four sets was not given: (2/3 + 2/3 + 1 + 0) / 4
    sample = ("f1_sample", pytest.approx(7 / 12))
    assert found == [("f1_macro", 0.75), ("f1_micro", 0.75), ("f1_label", 1), ("f1_label", 0.5), sample]


def test_agreement_and_verdict_weigh_sets_by_their_distance(study):
    (one,) = study.measure("inter_pss", field="topics", by=["model"], estimand="fixed")
    assert one.value == 1
    (recommended,) = (one for one in study.verdict().recommendations if one.field == "topics")
    agreement = recommended.known("flips_agreement")
    assert agreement.details["level"] == "jaccard"
    assert recommended.judged.estimates["gold_bias"].value is None
    sets = Study.open(_asked(), folder=study.folder, functions={"m": _answer}, field="topics")
    assert "tax;war;health" in sets.experiment.labels.codes


def test_prompt_and_schema_ask_for_a_list(study, tmp_path):
    question = study.source.lock()["variants"][0]["example"][-1][1]
    assert 'A list of those that apply, of "tax", "war", "health", "other"; [] if none does.' in question
    asked = _asked(task={"held": True, "fields": _FIELDS})
    held = Study.open(asked, folder=tmp_path, functions={"m": _answer}).experiment.variants[0]
    topics = json.loads(held.schema)["properties"]["topics"]
    assert (topics["type"], topics["items"]["enum"]) == ("array", _TOPICS)
