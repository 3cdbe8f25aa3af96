"""Gold samples of fields whose labels are sets or numbers: the sheets, and what comes back."""

import csv
import json

import pytest

from quaver import Study
from quaver.errors import ItemError

_TOPICS = ["tax", "war", "health"]


def _gold(at):
    return _TOPICS[: at % 3], at * 1.5


def _answer(text, prompt):
    topics, amount = _gold(int(text.split()[-1]))
    return json.dumps({"topics": topics, "amount": amount})


def _opened(folder, field):
    asked = {
        "name": "Gold",
        "task": {
            "held": False,
            "fields": {"topics": {"labels": _TOPICS, "several": True}, "amount": {"level": "ratio"}},
        },
        "items": {
            "source": [{"id": f"i{at}", "text": f"Text {at}"} for at in range(40)],
            "id": "id",
            "text": "{{ text }}",
        },
        "prompt": {"instruction": "Code this text."},
        "variants": [{"use": "instructions", "texts": {"curt": "Code."}}],
        "models": [{"name": "m", "use": "function"}],
        "measures": ["accuracy"],
    }
    study = Study.open(asked, folder=folder, functions={"m": _answer})
    study.run()
    return Study.open(asked, folder=folder, functions={"m": _answer}, field=field)


def _filled(sheet, label):
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    with sheet.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows({**row, "label": label(int(row["item"][1:]))} for row in rows)
    return sheet


def test_a_sheet_of_sets_lists_labels_and_takes_sets_that_no_answer_has(tmp_path):
    study = _opened(tmp_path, "topics")
    sheet, codes = study.gold.draw(n=20, coders=["ada"], form="csv").files
    with codes.open(encoding="utf-8-sig", newline="") as file:
        assert [row["code"] for row in csv.DictReader(file)] == _TOPICS
    study.gold.take(
        _filled(sheet, lambda at: "health, WAR" if at % 3 == 2 else "; ".join(_gold(at)[0]) or "[]")
    )
    coded = set(study.gold.state.coded["label"])
    assert coded <= {"war;health", "tax", "[]"}
    found = {one.measure: one.value for one in _opened(tmp_path, "topics").measure("accuracy", by=["model"])}
    assert 0.3 < found["accuracy"] < 1


def test_a_field_draws_the_sample_that_all_fields_share(tmp_path):
    _opened(tmp_path, "topics").gold.draw(n=10)
    study = _opened(tmp_path, None)
    assert {one.drawn for one in study.gold.status().fields.values()} == {10}
    assert study.gold.draw(n=20).drawn == 10, "the sample grows"
    assert _opened(tmp_path, "amount").gold.status().drawn == 20
    sheet, _ = _opened(tmp_path, "amount").gold.draw(n=30, coders=["ada"], form="csv").files
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        assert "label" in next(csv.reader(file)), "the sheet asks about the field that was opened"


def test_numbers_come_back_as_numbers(tmp_path):
    study = _opened(tmp_path, "amount")
    sheet, _ = study.gold.draw(n=20, coders=["ada"], form="csv").files
    with pytest.raises(ItemError, match="a number"):
        study.gold.take(_filled(sheet, lambda at: "a lot"))
    study.gold.take(_filled(sheet, lambda at: f"{_gold(at)[1] + 1:.2f}"))
    found = {one.measure: one.value for one in _opened(tmp_path, "amount").measure("accuracy", by=["model"])}
    assert found["accuracy_bias"] == pytest.approx(-1)
    corrected = {one.measure: one for one in _opened(tmp_path, "amount").estimates(["corrected_score"])}
    mean = sum(_gold(at)[1] for at in range(40)) / 40 + 1
    assert corrected["corrected_score"].value == pytest.approx(mean, abs=1e-6)
