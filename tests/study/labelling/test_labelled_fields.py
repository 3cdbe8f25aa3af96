"""``quaver.label`` of a table with several variables: a column for each, one sheet, a promise for each."""

import csv
import hashlib
import json
import random
from pathlib import Path

import polars as pl
import pytest

import quaver
from quaver.design.items.table_files import read_rows
from quaver.errors import QuaverError

TONES = ("good", "bad", "mixed")
TOPICS = ("tax", "war", "health")
ASKED = []


def share(text):
    return int(hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()[:8], 16) / 2**32


def truth(text):
    tone, topics, cost = text.split("@")[1:4]
    return {"tone": tone, "topics": topics.split("+") if topics else [], "cost": float(cost)}


def good(text, prompt):
    """Right on nearly all texts; on a tenth of them the prompts disagree about the tone."""
    ASKED.append(text)
    said = truth(text)
    if share(text) < 0.1 and share(text + prompt) < 0.4:
        said["tone"] = TONES[(TONES.index(said["tone"]) + 1) % 3]
    return json.dumps(said)


def blind_to_tone(text, prompt):
    return json.dumps({**truth(text), "tone": TONES[int(3 * share(text + prompt))]})


@pytest.fixture
def texts(tmp_path, monkeypatch):
    """Two hundred texts, fifty of them coded by hand."""
    monkeypatch.chdir(tmp_path)
    draw = random.Random(2)
    path = tmp_path / "texts.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "speech", "tone", "topics", "cost"])
        for n in range(200):
            topics = [one for one in TOPICS if draw.random() < 0.4]
            tone, cost = draw.choice(TONES), draw.randrange(1000) / 2
            text = f"Speech {n} about the plan @{tone}@{'+'.join(topics)}@{cost:g}@"
            coded = (tone, ";".join(topics) or "[]", f"{cost:g}") if n % 4 == 0 else ("", "", "")
            writer.writerow([f"k{n}", text, *coded])
    ASKED.clear()
    return path


def labelled(path, model=good, **options):
    given = {"fields": ["tone", "topics", "cost"], "prompts": 3, "n": 60, "repeats": 1}
    return quaver.label(path, **{"model": model, **given, **options})


def cells(path):
    return pl.read_csv(path, infer_schema=False)


def by_hand(sheet):
    """A coder's sheet with the true labels, as it comes back."""
    rows = read_rows(sheet, sheet="Labels")
    back = Path(sheet.stem + ".csv")
    with back.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        for row in rows:
            said = truth(row.text("text"))
            topics = ";".join(said["topics"]) or "[]"
            writer.writerow({**row, "tone": said["tone"], "topics": topics, "cost": said["cost"]})
    return back


def gold_labels():
    return {path: path.read_bytes() for path in Path().rglob("fields/*/gold/labels.csv")}


def test_one_call_gives_a_column_for_each_field(texts):
    found = labelled(texts)
    assert found.file is not None
    after, before = cells(found.file), cells(texts)
    assert after.select(before.columns).equals(before)
    for name in ("tone", "topics", "cost"):
        assert {f"{name} label", f"{name} labelled by", f"{name} needs a person"} <= {*after.columns}
    for row in after.iter_rows(named=True):
        said = truth(row["speech"])
        assert {*row["topics label"].split(";")} - {"[]"} == {*said["topics"]}
        assert float(row["cost label"]) == said["cost"]
    assert after.filter(pl.col("cost label").str.ends_with(".0")).is_empty(), "whole numbers have no point"
    assert after.height == 200
    assert len(ASKED) <= 3 * 200, "no more calls than answers"
    assert found.table.columns[:2] == ["item", "field"]
    assert found.table.height == 600
    assert "“tone”" in found.state


def test_a_field_whose_labels_should_not_be_used_has_no_column(texts):
    found = labelled(texts, blind_to_tone)
    assert found.file is not None
    assert not [name for name in cells(found.file).columns if name.startswith("tone ")]
    assert "No labels of “tone”" in found.state
    assert (
        "tone label"
        in cells(labelled(texts, blind_to_tone, anyway=True, out="all.csv").file or texts).columns
    )


def test_one_sheet_serves_the_promise_of_each_field(texts):
    found = labelled(texts, error="20%", by_hand=60)
    (sheet,) = found.sheets
    rows = read_rows(sheet, sheet="Labels")
    assert {"tone", "topics", "cost"} <= {*rows[0]}
    assert len(rows) < 60, "texts that were coded by hand are not coded again"
    assert found.acceptance is None
    wrong = by_hand(sheet)
    wrong.write_text(wrong.read_text().replace(",[],", ",taxes,"), encoding="utf-8")
    before = gold_labels()
    with pytest.raises(QuaverError, match="taxes"):
        labelled(texts, error="20%", returned=[wrong])
    assert gold_labels() == before, "a sheet with a wrong code is taken back in no field"
    found = labelled(texts, error="20%", returned=[by_hand(sheet)])
    shares = {(head, text.partition(" ")[0]) for head, text in found.notes if head.startswith("Share")}
    assert shares == {
        *(("Share, tone", tone) for tone in TONES),
        *(("Share, topics", topic) for topic in TOPICS),
        ("Share, cost", "mean"),
    }
    assert {*found.accepted} == {"tone", "topics", "cost"}
    assert found.acceptance.accepted == min(one.accepted for one in found.accepted.values())
    assert found.accepted["topics"].accepted > 100
    known = {row["id"]: truth(row["speech"])["tone"] for row in cells(texts).iter_rows(named=True)}
    kept = found.table.filter(pl.col("field") == "tone", pl.col("needs_person").is_null())
    wrong = sum(known[item] != label for item, label in kept.select("item", "label").iter_rows())
    assert wrong <= 0.2 * kept.height
    if found.sheets:
        found = labelled(texts, error="20%", returned=[by_hand(found.sheets[0])])
    assert found.step == ""
