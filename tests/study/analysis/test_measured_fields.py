"""Studies whose answers have fields: from the study file to the verdict."""

import json
from dataclasses import replace

import polars as pl
import pytest

from quaver import Study, compare, papers
from quaver.errors import MeasureError, QuaverError, SpecError, StoreError, UnknownName
from quaver.report.findings.key_results import quality_lines

_TONES = {"pos": "positive", "neg": "negative", "neu": "neutral"}
_FIELDS = {
    "tone": {
        "labels": [
            {"code": code, "name": name, "definition": f"Sounds {name}."} for code, name in _TONES.items()
        ],
        "gold": "tone",
    },
    "stance": {
        "labels": list("12345"),
        "level": "ordinal",
        "gold": "stance",
        "definition": "For or against.",
    },
}


_SET = {"labels": ["a", "c"], "several": True}


def _rows():
    return [
        {
            "id": f"i{at}",
            "text": f"Text {at}",
            "tone": [*_TONES][at % 3],
            "stance": str(at % 5 + 1),
            "party": "ab"[at % 2],
        }
        for at in range(40)
    ]


def _asked(fields=None, **more):
    return {
        "name": "Several",
        "task": {"held": False, "fields": _FIELDS if fields is None else fields},
        "items": {"source": _rows(), "id": "id", "text": "{{ text }}", "groups": ["party"]},
        "prompt": {"instruction": "What does this text say?"},
        "variants": [{"use": "instructions", "texts": {"curt": "Code this text."}}],
        "models": [{"name": "m", "use": "function"}],
        "measures": ["accuracy", "inter_pss", {"use": "label_shares", "field": "stance"}],
        **more,
    }


def _answer(text, prompt):
    """The gold labels, but for every seventh stance, which moves with the prompt, and a few failures."""
    at = int(text.split()[-1])
    said = {"tone": list(_TONES.values())[at % 3], "stance": str(at % 5 + 1)}
    if at % 7 == 0 and "Code" in prompt:
        said["stance"] = str((at + 2) % 5 + 1)
    if at == 1:
        return "I do not know."
    if at == 2:
        del said["stance"]
    if at == 3:
        said["stance"] = "very much"
    return json.dumps(said)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    study = Study.open(_asked(), folder=tmp_path_factory.mktemp("several"), functions={"m": _answer})
    study.run()
    return study


def _field(study, name):
    return Study.open(_asked(), folder=study.folder, functions={"m": _answer}, field=name)


def test_the_answers_of_a_field_cost_what_the_study_s_do(tmp_path):
    priced = {"name": "m", "use": "function", "price": {"input": 1.0, "output": 2.0}}
    opened = {"folder": tmp_path, "functions": {"m": _answer}}
    whole = Study.open(_asked(models=[priced]), **opened).source.prices
    assert Study.open(_asked(models=[priced]), **opened, field="tone").source.prices == whole
    assert whole["m"] is not None


def test_one_answer_is_one_annotation_a_field_and_what_is_missing_is_that_field_s_alone(study):
    question = study.source.lock()["variants"][0]["example"][-1][1]
    assert '- "tone": One of "positive", "negative", "neutral".\n  - "positive": Sounds positive.' in question
    assert '- "stance": For or against. One of "1", "2", "3", "4", "5".' in question
    frame = study.annotations()
    assert study.status().answered == 80
    assert frame.height == 160
    first = frame.filter((pl.col("item") == "i4") & (pl.col("field") == "tone"))
    assert first["gold"].to_list() == first["label"].to_list() == ["neg", "neg"]
    bare = frame.filter(pl.col("label").is_null()).group_by("field", "item").len().sort("item", "field")
    found = [(str(field), str(item)) for field, item, _ in bare.iter_rows()]
    assert sorted(found) == [("stance", "i1"), ("stance", "i2"), ("stance", "i3"), ("tone", "i1")]
    reasons = frame.filter(pl.col("field") == "stance", pl.col("item").is_in(["i2", "i3"]))["reason"]
    assert set(reasons) == {"no field stance", "the field holds no label"}


def _alone(name, folder):
    """The same field as the only label set of a study, with the same answers."""
    field = {key: value for key, value in _FIELDS[name].items() if key in ("labels", "level")}
    asked = _asked(measures=["accuracy", "inter_pss", "label_shares"])
    asked["task"] = {"name": name, **field}
    asked["items"] = {**asked["items"], "gold": _FIELDS[name]["gold"]}
    asked["evaluators"] = [{"use": "json_field", "field": name}]
    study = Study.open(asked, folder=folder, functions={"m": _answer})
    study.run()
    return study


@pytest.mark.parametrize("name", ["tone", "stance"])
def test_a_field_is_measured_as_a_study_of_its_own_would_be(study, name, tmp_path):
    alone = _alone(name, tmp_path)
    for measure in ("accuracy", "inter_pss"):
        of_field = [_unnamed(one) for one in study.measure(measure, field=name)]
        assert of_field == [_unnamed(one) for one in alone.measure(measure)]
    kinds = [(one.kind, one.reason, one.correctness) for one in _field(study, name).verdict().recommendations]
    assert kinds == [(one.kind, one.reason, one.correctness) for one in alone.verdict().recommendations]


def _unnamed(one):
    """An estimate without what only names it: the field, and the prompts' levels."""
    return replace(one, cell={key: value for key, value in one.cell.items() if key != "field"})


def test_estimates_name_the_field_and_a_measure_may_be_of_one_alone(study):
    found = {(one.measure, one.cell["field"]) for one in study.estimates()}
    assert found == {
        *(("accuracy", "tone"), ("accuracy", "stance")),
        *(("inter_pss", "tone"), ("inter_pss", "stance"), ("label_shares", "stance")),
    }
    assert {one.cell["field"] for one in study.measure("accuracy")} == {"tone", "stance"}
    with pytest.raises(UnknownName, match="field"):
        study.measure("accuracy", field="tome")
    with pytest.raises(UnknownName):
        _field(study, "tome")


def test_the_worst_field_is_the_headline(study):
    card = study.verdict()
    assert [one.field for one in card.recommendations] == ["stance", "tone"]
    assert card.recommendations[1].kind == "use"
    assert card.kind == card.recommendations[0].kind != "use"
    assert study.quality().issues


def test_the_report_has_each_field_with_its_own_report(study, tmp_path):
    page = study.report(tmp_path).read_text(encoding="utf-8")
    assert "fields/tone/report.html" in page
    assert (tmp_path / "fields" / "stance" / "report.html").is_file()
    assert set(pl.read_csv(tmp_path / "estimates.csv", infer_schema=False)["field"]) == {"stance", "tone"}


def test_exported_calls_have_columns_for_each_field(study, tmp_path):
    study.export(tmp_path / "calls.csv")
    table = pl.read_csv(tmp_path / "calls.csv").filter(pl.col("item") == "i3")
    assert table["gold.stance"].to_list() == [4, 4]
    assert table["json_field.tone.label"].to_list() == ["pos", "pos"]
    assert table["json_field.tone.correct"].to_list() == [True, True]
    assert table["json_field.stance.correct"].to_list() == [False, False]


def test_a_field_has_gold_labels_of_its_own(tmp_path):
    asked = _asked()
    asked["task"]["fields"] = {"tone": {"labels": ["pos", "neg"]}, "stance": {"labels": list("12")}}
    said = json.dumps({"tone": "pos", "stance": "1"})
    opened = {"folder": tmp_path, "functions": {"m": lambda text, prompt: said}}
    Study.open(asked, **opened).run()
    tone = Study.open(asked, **opened, field="tone")
    tone.gold.draw(n=10, coders=["ada"], form="csv", design="simple")
    (sheet,) = (tmp_path / "gold").glob("*ada.csv")
    rows = pl.read_csv(sheet, infer_schema=False)
    labelled = rows.with_columns(pl.lit("neg").alias("label"))
    labelled.write_csv(sheet)
    tone.gold.take(sheet)
    golds = [Study.open(asked, **opened, field=name).annotations()["gold"] for name in ("tone", "stance")]
    assert [one.drop_nulls().len() for one in golds] == [20, 0]
    assert Study.open(asked, **opened).annotations().height == 160


def test_a_schema_holds_the_model_where_it_can_be_held(tmp_path):
    asked = _asked()
    asked["task"]["held"] = True
    study = Study.open(asked, folder=tmp_path, functions={"m": _answer})
    with pytest.raises(SpecError, match="held to a JSON schema") as caught:
        study.run()
    assert caught.value.where == "task.held"
    schema = json.loads(study.experiment.variants[0].schema)
    assert schema["required"] == ["tone", "stance"]
    assert schema["properties"]["tone"]["enum"] == ["positive", "negative", "neutral"]


def test_what_takes_one_label_set_refuses_fields(study):
    for ask in (study.charts, study.paper, study.gold.accept):
        with pytest.raises(SpecError, match="one field") as caught:
            ask()
        assert "tone, stance" in (caught.value.expected or "")
    with pytest.raises(SpecError, match="fields"):
        study.rescore(["first_label"])
    for whole in (_field(study, "tone").rescore, _field(study, "tone").run):
        with pytest.raises(StoreError, match="all fields"):
            whole()


def test_each_field_is_a_study_and_labels_name_the_field(study):
    assert list(study.fields) == ["tone", "stance"]
    assert study.fields["tone"].fields == {}
    labels = study.labels()
    assert labels.columns[:2] == ["field", "item"]
    for name, one in study.fields.items():
        assert labels.filter(pl.col("field") == name).drop("field").equals(one.labels())
        assert one.labels().equals(_field(study, name).labels())
    assert set(study.fields["tone"].labels()["label"]) == set(_TONES)


def test_of_equally_frequent_numbers_the_median_stands(tmp_path):
    asked = _asked({"amount": {"level": "ratio"}, "tone": _FIELDS["tone"]}, measures=[])
    asked["variants"] = [{"use": "instructions", "texts": {"curt": "Code 10.", "kind": "Code 500."}}]

    def answer(text, prompt):
        given = next((int(one) for one in ("10", "500") if f"Code {one}." in prompt), 20)
        return json.dumps({"amount": given if text != "Text 1" else 7, "tone": "neutral"})

    study = Study.open(asked, folder=tmp_path, functions={"m": answer})
    study.run()
    amounts = study.fields["amount"].labels()
    assert amounts["label"].to_list() == ["20", "7", *["20"] * 38]
    assert amounts["agreement"].to_list()[:2] == [pytest.approx(1 / 3), 1.0]


def test_missing_labels_are_counted_field_by_field_where_fields_differ(study):
    bare = [issue for issue in study.quality().issues if issue.measure == "unlabelled_answers"]
    assert [(one.cell["field"], one.details["times"]) for one in bare] == [("tone", 2), ("stance", 6)]
    lines = quality_lines(study.quality())
    assert "of the field “tone” (2 of 80)" in lines[0]
    assert "of the field “stance” (6 of 80" in lines[1]


def test_answers_that_no_field_can_be_read_from_are_one_line(tmp_path):
    study = Study.open(_asked(), folder=tmp_path, functions={"m": lambda text, prompt: "I do not know."})
    study.run()
    (line,) = quality_lines(study.quality())
    assert line.startswith("100%")
    assert "field" not in line


def test_tables_of_papers_take_fields_for_data_sets(study):
    tone, stance = papers.table(study, "inter-stability").rows()
    assert (tone["data set"], stance["data set"]) == ("tone", "stance")
    (alone,) = papers.table(_field(study, "stance"), "inter-stability").rows()
    assert stance == alone | {"data set": "stance"}


def test_prompts_and_studies_are_compared_field_by_field_and_judged_together(study, tmp_path):
    found = compare(study, measures=["accuracy"])
    assert [one.cell["field"] for one in found.differences] == ["tone", "stance"]
    assert found.items == 40
    for name, one in zip(study.fields, found.differences, strict=True):
        (alone,) = compare(study.fields[name], measures=["accuracy"]).differences
        assert (one.value, one.low, one.high) == (alone.value, alone.low, alone.high)

    def worse(text, prompt):
        return json.dumps({"tone": "neutral", "stance": str(int(text.split()[-1]) % 5 + 1)})

    other = Study.open(_asked(), folder=tmp_path, functions={"m": worse})
    other.run()
    judged = compare(study, other, measures=["accuracy"], fail_if=["accuracy < -0.1"])
    assert not judged.held
    lost = {one.cell["field"] for one in judged.differences if (one.high or 0.0) < 0}
    assert lost == {"tone"}
    assert set(judged.flips["field"]) == {"tone", "stance"}


def test_studies_without_a_field_in_common_cannot_be_compared(study, tmp_path):
    task = {"fields": {"mood": _FIELDS["tone"]}, "held": False}
    other = Study.open(_asked(task=task, measures=[]), folder=tmp_path, functions={"m": _answer})
    with pytest.raises(MeasureError, match="no field in common") as caught:
        compare(study, other)
    assert caught.value.found == "tone, stance; mood"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"items": {"gold": "tone"}}, "each field has its own"),
        ({"prompt": {"instruction": "?", "answers": {"pos": "P"}}}, "names are written"),
        ({"follow_ups": ["verbal"]}, "about one label"),
        ({"conclusions": [{"formula": "share(pos) ~ party", "effect": "party[b] > party[a]"}]}, "one field"),
        ({"measures": [{"use": "accuracy", "field": "tome"}]}, "no such field"),
        ({"variants": ["label_order"]}, "labels of one label set"),
        ({"decoding": {"held": {"constraint": "labels"}}}, "constrains answers"),
        ({"task": {"fields": _FIELDS, "labels": ["a", "b"]}}, "has its own labels"),
        ({"task": {"fields": {"tone": _FIELDS["tone"], "Tone": _FIELDS["tone"]}}}, "case alone"),
        ({"task": {"fields": {"tone": {"labels": ["a"]}}}}, "does not fit"),
        ({"task": {"fields": {"a.b": _FIELDS["tone"]}}}, "does not fit"),
        ({"task": {"fields": {"one": {"labels": ["a;b", "c"], "several": True}}}}, "';' in its code"),
        ({"task": {"fields": {"one": {"labels": ["[]", "c"], "several": True}}}}, "in its code"),
        (
            {"task": {"fields": {"one": {**_SET, "level": "ordinal"}}}},
            "not fit",
        ),
        ({"task": {"fields": {"one": {"labels": ["a", "c"], "level": "masi"}}}}, "does not fit"),
        ({"measures": [], "task": {"fields": {"one": {**_SET, "gold": "tone"}}}}, "pos"),
        ({"task": {"fields": {"one": {"level": "ordinal"}}}}, "labels"),
        ({"evaluators": ["first_label"]}, "tell the fields"),
        ({"evaluators": [{"use": "json_field", "field": "tone"}]}, "tell the fields"),
    ],
)
def test_what_a_task_with_fields_cannot_have_is_one_error(change, says, tmp_path):
    asked = _asked()
    for name, value in change.items():
        asked[name] = {**asked[name], **value} if name == "items" else value
    with pytest.raises(QuaverError, match=says):
        Study.open(asked, folder=tmp_path, functions={"m": _answer})


def test_fields_that_evaluators_read_are_fields_of_the_task(tmp_path):
    asked = _asked() | {"task": {"labels": ["pos", "neg"]}, "measures": []}
    asked["items"] = {name: value for name, value in asked["items"].items() if name != "gold"}
    asked["evaluators"] = [{"use": "json_field", "name": name, "field": name} for name in ("tone", "topic")]
    with pytest.raises(QuaverError, match="different fields") as caught:
        Study.open(asked, folder=tmp_path, functions={"m": _answer})
    assert "task: {fields: {tone: " in (caught.value.fix or "")
