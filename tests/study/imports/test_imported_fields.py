"""Tables with a column for each variable: each annotation has a value of every field."""

import json

import pytest

import quaver
from quaver.errors import ItemError, QuaverError
from quaver.study.imports.label_import import import_annotations

TOPICS = ("tax", "war", "health")


def written(folder, name, text):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def _true(at):
    return ("good", "bad")[at % 2], [one for n, one in enumerate(TOPICS) if at >> n & 1], at * 0.5


def _said(at, model):
    """The truth, but for a few errors of the second model."""
    tone, topics, cost = _true(at)
    return (tone, topics, cost) if model == "a" or at % 5 else ("bad", ["tax"], cost + 1)


@pytest.fixture
def wide(tmp_path):
    """Forty texts, two models: a label, a set and a number, with what is true."""
    lines = ["id,text,model,tone,topics,cost,tone_gold,topics_gold,cost_gold"]
    for at in range(40):
        true = _true(at)
        for model in "ab":
            cells = [
                cell
                for one in (_said(at, model), true)
                for cell in (one[0], ";".join(one[1]) or "[]", one[2])
            ]
            lines.append(f"t{at},Text {at},{model},{','.join(map(str, cells))}")
    return written(tmp_path, "wide.csv", "\n".join(lines) + "\n")


def test_a_wide_table_is_a_study_of_its_fields(wide):
    names = ("tone", "topics", "cost")
    study, decisions = import_annotations(wide, fields=[*names])
    taken = {(one.role, one.column) for one in decisions}
    assert {
        ("coder", "model"),
        *(("field", one) for one in names),
        *(("gold", f"{one}_gold") for one in names),
    } <= taken
    assert study.annotations().height == 240
    assert study.status().answered == 80, "an answer has all fields"
    for place, name in enumerate(names):
        found = {
            one.cell["model"]: one.value
            for one in study.measure("accuracy", field=name)
            if one.measure == "accuracy"
        }
        right = sum(_said(at, "b")[place] == _true(at)[place] for at in range(40))
        assert found == {"a": 1.0, "b": right / 40}
        assert right < 40
    assert {one.field for one in study.verdict().recommendations} == {*names}


def test_numbers_and_sets_that_no_gold_label_has_count(tmp_path):
    lines = ["id,model,topics,cost,topics_gold,cost_gold"]
    lines += [f"{at},m,tax;war,{at + 0.5},tax,{at}" for at in range(12)]
    lines += ["12,m,war,3,war,3"]
    study, _ = import_annotations(
        written(tmp_path, "off.csv", "\n".join(lines) + "\n"), fields=["topics", "cost"]
    )
    found = {one.measure: one for one in study.measure("accuracy", field="cost")}
    assert found["accuracy_bias"].value == pytest.approx(12 * 0.5 / 13)
    assert found["accuracy_bias"].n == 13
    sets = {one.measure: one.value for one in study.measure("accuracy", field="topics")}
    assert sets["accuracy"] == pytest.approx(1 / 13)
    assert sets["accuracy_hamming"] == pytest.approx(12 / 26)
    for name in ("topics", "cost"):
        assert study.measure("compliance", field=name)[0].value == 1


@pytest.mark.parametrize(
    ("columns", "cells"),
    [
        ("topics", lambda topics: json.dumps(json.dumps(topics)).replace('\\"', '""')),
        ("topics", lambda topics: '"' + ", ".join(topics or ["[]"]) + '"'),
        (
            "topics_tax,topics_war,topics_health",
            lambda topics: ",".join(str(int(one in topics)) for one in TOPICS),
        ),
    ],
)
def test_sets_are_read_however_they_are_written(columns, cells, tmp_path):
    lines = [f"id,coder,tone,{columns}"]
    lines += [f"t{at},{who},{_true(at)[0]},{cells(_true(at)[1])}" for at in range(40) for who in "xy"]
    path = written(tmp_path, "t.csv", "\n".join(lines) + "\n")
    study, _ = import_annotations(path, fields=["tone", "topics"])
    frame = study.annotations().filter(field="topics").select("item", "label").unique().sort("item")
    expected = {f"t{at}": ";".join(one for one in TOPICS if one in _true(at)[1]) or "[]" for at in range(40)}
    order = {frozenset(code.split(";")): code for code in frame["label"].cast(str).unique()}
    assert {str(item): order[frozenset(label.split(";"))] for item, label in frame.cast(str).iter_rows()} == {
        item: order[frozenset(label.split(";"))] for item, label in expected.items()
    }


def test_cells_for_no_label_are_no_label(tmp_path):
    lines = ["id,coder,tone,cost,topics_tax,topics_war"]
    lines += [f"t{at},x,{'good' if at % 2 else 'bad'},{at},1,0" for at in range(20)]
    lines += ["t20,x,NA,NA,NA,NA", "t21,x,,3,0,"]
    path = written(tmp_path, "t.csv", "\n".join(lines) + "\n")
    study, _ = import_annotations(path, fields=["tone", "cost", "topics"], unlabelled=["NA"])
    found = study.annotations().filter(item="t20").select("field", "label", "status").cast(str).rows()
    assert found == [(name, None, "no_label") for name in ("tone", "cost", "topics")]
    found = study.annotations().filter(item="t21").select("field", "label", "status").cast(str).rows()
    assert found == [("tone", None, "empty"), ("cost", "3", "valid"), ("topics", "[]", "valid")]


@pytest.mark.long
def test_it_is_reported_packed_and_verified(wide, tmp_path):
    study, _ = import_annotations(wide, fields=["tone", "topics", "cost"])
    assert "tone" in study.report().read_text(encoding="utf-8")
    quaver.bundle(study, tmp_path / "wide.quaver.zip")  # which verifies it


def test_a_label_outside_its_field_says_where(wide):
    study, _ = import_annotations(wide, fields=["tone", "topics", "cost"])
    file = study.folder / "imported.csv"
    file.write_text(file.read_text().replace("t3,Text 3,a,bad", "t3,Text 3,a,sad"), encoding="utf-8")
    with pytest.raises(ItemError, match="outside the label set") as error:
        quaver.Study.open(study.folder).annotations()
    assert "imported.csv:8" in str(error.value)
    assert "tone" in str(error.value)
    with pytest.raises(QuaverError, match="labels of their own"):
        import_annotations(wide, wide.parent / "other", fields=["tone"], label="tone")


def test_a_column_of_coders_with_another_name_is_to_be_named(tmp_path):
    lines = [f"t{at},{who},{'ab'[at % 2]}" for at in range(20) for who in ("anna", "ben")]
    path = written(tmp_path, "one.csv", "\n".join(["id,who,label", *lines]) + "\n")
    with pytest.raises(QuaverError, match="one place") as caught:
        import_annotations(path)
    assert "coder" in str(caught.value.fix)
    study, _ = import_annotations(path, coder="who")
    assert study.annotations().height == 40


def test_other_texts_for_a_fields_label_are_said_as_for_one_label(tmp_path):
    lines = ["id,model,tone,topics"]
    lines += [
        f"{at},m,{('good', 'ok', 'bad', 'None')[at % 4]},{('tax;war', 'tax')[at % 2]}" for at in range(16)
    ]
    path = written(tmp_path, "other.csv", "\n".join(lines) + "\n")
    names = ["tone", "topics"]
    study, _ = import_annotations(path, tmp_path / "as", same=["ok=good"], label_is=["None"], fields=names)
    tone = study.fields["tone"]
    assert set(tone.experiment.labels.codes) == {"good", "bad", "None"}
    assert dict(tone.annotations()["label"].value_counts().iter_rows()) == {"good": 8, "bad": 4, "None": 4}
    plain, _ = import_annotations(path, tmp_path / "plain", fields=names)
    assert set(plain.fields["tone"].experiment.labels.codes) == {"good", "ok", "bad"}
