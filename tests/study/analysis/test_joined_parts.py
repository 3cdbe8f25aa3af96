"""A long text is asked about in parts, and everything that follows sees one label for it."""

import json
import re

import polars as pl
import pytest
from tests.studies import written
from tests.view.viewed import client_of

import quaver
from quaver import Study
from quaver.core.annotations import rows_with
from quaver.design.items.text_parts import cut
from quaver.design.spec.items_spec import SplitSpec
from quaver.errors import QuaverError
from quaver.view.serving import studies_of
from quaver.view.study_reader import keep

# What the parts of each text are labelled, and the text's gold label.
TEXTS = {
    "one": (["favor"], "favor"),
    "two": (["against", "favor"], "favor"),
    "three": (["against", None, "favor"], "favor"),
    "four": (["against"] * 4, "against"),
    "five": (["against", "against", "favor", "against", "against"], "against"),
    "six": ([None] * 6, "favor"),
    "seven": (["favor"] * 6 + ["against"], "favor"),
    "eight": (["against"] * 7 + [None], "against"),
    "nine": (["against"] * 4 + ["favor"] * 4 + [None], "against"),
}
ANY = ["favor", "favor", "favor", "against", "favor", None, "favor", None, "favor"]
MAJORITY = ["favor", None, None, "against", "against", None, "favor", "against", None]

STUDY = """\
name: speeches
task:
  labels: [favor, against]
items:
  source: items.csv
  id: id
  text: "{{ speech }}"
  gold: truth
  split: {tokens: 20, join: JOIN}
prompt:
  instruction: Is this part {{ item.part }} of {{ item.parts }} in favor?
models:
  - {name: fake, use: function}
"""


def speech(name):
    """A text of which each paragraph is a part, and says what it is to be labelled."""
    labels, _ = TEXTS[name]
    parts = (
        f"They say {label} at point {at} of {name}, on steel and coal." for at, label in enumerate(labels)
    )
    return "\n\n".join(parts)


def items(names=TEXTS):
    rows = [(name, speech(name), TEXTS[name][1]) for name in names]
    return pl.DataFrame(rows, schema=["id", "speech", "truth"], orient="row").write_csv()


class Answers:
    """Answers a part as it says, and keeps what was asked."""

    def __init__(self):
        self.texts = []

    def __call__(self, text):
        self.texts.append(text)
        return text.split()[2].replace("None", "Who knows?")


def asked(folder, join, study=STUDY, rows=None):
    path = written(folder, study.replace("JOIN", join), rows or items())
    answers = Answers()
    return Study.open(path, functions={"fake": answers}), answers


def labels_of(study):
    frame = study.annotations()
    found = dict(frame.select(pl.col("item", "label").cast(pl.String)).iter_rows())
    assert len(found) == frame.height
    return [found[name] for name in TEXTS]


@pytest.mark.parametrize(("join", "labels"), [("{any: favor}", ANY), ("majority", MAJORITY)])
def test_a_text_has_one_label_that_follows_from_its_parts(tmp_path, join, labels):
    study, answers = asked(tmp_path, join)
    plan = study.plan()
    assert (plan.items, plan.parts, plan.calls) == (9, 45, 45)
    study.run()
    assert len(answers.texts) == 45
    assert all(len(text) <= 80 for text in answers.texts)
    assert labels_of(study) == labels
    frame = study.annotations().with_columns(pl.col(pl.Categorical).cast(pl.String))
    assert frame["gold"].null_count() == 0
    status = dict(frame.select("item", "status").iter_rows())
    assert [status[name] for name in TEXTS] == ["no_label" if one is None else "valid" for one in labels]
    right = sum(label == truth for label, (_, truth) in zip(labels, TEXTS.values(), strict=True))
    accuracy = next(one for one in study.estimates(["accuracy"]))
    assert (accuracy.n, accuracy.value) == (9, pytest.approx(right / 9))


def test_an_export_has_every_part_and_another_join_is_another_label_without_a_call(tmp_path):
    study, _ = asked(tmp_path, "majority")
    study.run()
    items = json.loads((study.folder / "study.lock.json").read_text())["items"]
    assert (items["n"], items["parts"]["three"], "one" in items["parts"]) == (9, 3, False)
    study.export(tmp_path / "calls.jsonl")
    rows = {row["item"]: row for row in map(json.loads, (tmp_path / "calls.jsonl").read_text().splitlines())}
    assert len(rows) == 45
    assert [rows[f"three#{n}"]["marked_label.label"] for n in (1, 2, 3)] == ["against", None, "favor"]
    assert {rows[f"three#{n}"]["gold"] for n in (1, 2, 3)} == {None}
    assert (rows["one"]["gold"], rows["one"]["marked_label.correct"]) == ("favor", True)
    assert "part 2 of 3" in rows["three#2"]["prompt"][-1]["content"]
    again, answers = asked(tmp_path, "{any: favor}")
    assert labels_of(again) == ANY
    assert answers.texts == []
    reasons = dict(again.annotations().select(pl.col("item").cast(pl.String), "reason").iter_rows())
    assert reasons["one"] is None
    assert reasons["five"] == "“favor” in 1 of 5 parts (3)"
    assert reasons["three"] == "“favor” in 1 of 3 parts (3), 1 without a label"
    assert reasons["eight"] == "1 of 8 parts without a label"


def test_a_run_that_was_cut_short_goes_on_and_a_half_answered_text_has_no_label_yet(tmp_path):
    study, answers = asked(tmp_path, "majority")
    study.run(requests=20)
    assert len(answers.texts) == 20
    some = study.annotations()
    complete = {name for name in TEXTS if set(speech(name).split("\n\n")) <= set(answers.texts)}
    assert 0 < len(complete) < 9
    assert set(some["item"].cast(pl.String)) == complete
    study.run()
    assert len(answers.texts) == 45
    whole, _ = asked(tmp_path / "whole", "majority")
    whole.run()
    assert labels_of(study) == labels_of(whole) == MAJORITY
    assert study.source.lock()["digest"] == whole.source.lock()["digest"]


@pytest.mark.parametrize(("join", "texts"), [("{any: favor}", True), ("none", False)])
def test_a_bundle_holds_what_was_asked_and_is_verified(tmp_path, join, texts):
    study, _ = asked(tmp_path, join)
    study.run()
    packed = tmp_path / "speeches.quaver.zip"
    quaver.bundle(study, packed, texts=texts)
    found = quaver.verify(packed)
    assert not found.differing
    assert not found.changed
    assert ("the prompt of every answer" in found.compared) is texts
    again = Study.open(packed)
    assert again.annotations().height == study.annotations().height == (45 if join == "none" else 9)
    assert again.experiment.calls == 45
    assert [one.value for one in again.estimates()] == [one.value for one in study.estimates()]


def test_parts_that_are_items_are_resampled_with_their_text(tmp_path):
    study, _ = asked(tmp_path, "none")
    study.run()
    frame = study.annotations()
    assert frame.height == 45
    assert frame["gold"].null_count() == 44
    shares = [one for one in study.estimates(["label_shares"]) if one.value is not None]
    assert {one.unit for one in shares} == {"whole_text"}


def test_the_plan_says_what_the_split_adds(tmp_path):
    study, _ = asked(tmp_path, "majority")
    whole, _ = asked(tmp_path / "whole", "majority", STUDY.replace("tokens: 20", "tokens: 2000"))
    plan, other = study.plan(), whole.plan()
    (model,), (before,) = plan.models, other.models
    words = re.fullmatch(r"texts in parts take 36 calls and about (\d+) tokens more, .*", model["split"])
    added = model["prompt_tokens"] - before["prompt_tokens"]
    assert int(words[1]) == pytest.approx(added, abs=2)
    assert before["split"] == ""
    assert "in 45 parts" in str(plan)
    assert "36 calls" in str(plan)
    assert any("8 of 9 texts" in note for note in plan.notes)


FIELDS = """\
task:
  fields:
    stance: {labels: [favor, against], gold: truth, evidence: true}
    heat: {labels: ["1", "2", "3"], level: ordinal}
    topics: {labels: [steel, coal], several: true}
items:
  source: items.csv
  id: id
  text: "On {{ id }}: {{ speech }}"
  split: {tokens: 20, column: speech, join: {stance: {any: favor}, heat: max, topics: any}}
prompt:
  instruction: "Code this. {{ fields }}"
models:
  - {name: fake, use: function}
"""


def record(text):
    """Codes a part: in favor where it says so, quoting that."""
    _, _, said = text.partition(": ")
    word = said.split()[2]
    topics = [topic for topic in ("steel", "coal") if topic in said]
    return json.dumps(
        {
            "stance": word,
            "stance quote": f"say {word} at",
            "heat": "3" if word == "favor" else "1",
            "topics": topics,
        }
    )


def test_each_field_is_joined_in_its_way_and_quotes_stand_where_they_are_in_the_whole_text(tmp_path):
    pytest.importorskip("rapidfuzz")
    rows = items(name for name, (labels, _) in TEXTS.items() if None not in labels)
    path = written(tmp_path, FIELDS, rows)
    study = Study.open(path, functions={"fake": record})
    study.run()
    frame = study.annotations().with_columns(pl.col(pl.Categorical).cast(pl.String))
    by_field = {
        name: dict(rows_with(frame, "field", name).select("item", "label").iter_rows())
        for name in ("stance", "heat", "topics")
    }
    assert by_field["stance"]["five"] == "favor"
    assert by_field["heat"]["five"] == "3"
    assert by_field["heat"]["four"] == "1"
    assert set(by_field["topics"].values()) == {"steel;coal"}
    texts = {item.id: f"On {item.id}: {item.fields['speech']}" for item in study.experiment.items}
    stances = rows_with(frame, "field", "stance")
    assert stances["quote_start"].null_count() == 0
    for row in stances.iter_rows(named=True):
        text = texts[row["item"]]
        assert text[row["quote_start"] : row["quote_end"]] == f"say {row['label']} at"
        assert row["text_length"] == len(text)
    five = stances.filter(item="five").row(0, named=True)
    assert five["quote_start"] > len(speech("two"))
    packed = tmp_path / "fields.quaver.zip"
    quaver.bundle(study, packed)  # which verifies it


def viewed(study):
    """The viewer's answers about a study of texts in parts."""
    study.run()
    studies = studies_of([study.folder])
    for one in studies.values():
        keep(one.path, one.root, one.field)
    get = client_of(studies).get
    return lambda what, **given: get(f"api/studies/speeches/{what}", params=given).json()


def test_the_viewer_shows_a_text_with_its_label_and_the_answers_about_its_parts(tmp_path):
    get = viewed(asked(tmp_path, "{any: favor}")[0])
    three = get("answer", item="three", column=0)
    assert three["reading"]["label"] == "favor"
    assert three["reading"]["reason"] == "“favor” in 1 of 3 parts (3), 1 without a label"
    assert three["response"]["text"] == "#1 against\n#2 Who knows?\n#3 favor"
    assert "part 1 of 3" in three["prompt"][-1]["content"]
    assert get("answer", item="one", column=0)["response"]["text"] == "favor"
    found = get("answers", q="Who knows")["answers"]
    assert {line["item"] for line in found} == {"three", "six", "eight", "nine"}


def test_the_viewer_shows_the_parts_of_the_split_that_a_column_is_of(tmp_path):
    get = viewed(asked(tmp_path, "", SEVERAL)[0])
    texts = [get("answer", item="three", column=at)["response"]["text"] for at in (0, 2, 4)]
    assert texts == ["#1 against\n#2 Who knows?\n#3 favor", "#1 against\n#2 favor", "against"]
    found = get("answers", q="Who knows")["answers"]
    assert {line["column"] for line in found if line["item"] == "three"} == {0, 1}


def test_a_table_with_long_texts_is_labelled_a_row_a_text(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = tmp_path / "speeches.csv"
    table.write_text(items().replace("id,speech", "id,text"))
    answers = Answers()

    def stance(text, prompt):
        return answers(text)

    labelled = quaver.label(table, model=stance, split=20, prompts=1, repeats=1, anyway=True)
    assert len(answers.texts) == 45
    assert "split: {tokens: 20, join: majority}" in (tmp_path / "speeches-check/study.yaml").read_text()
    assert labelled.table.height == 9
    assert dict(labelled.table.select("item", "model_label").iter_rows()) == dict(
        zip(TEXTS, MAJORITY, strict=True)
    )
    copy = pl.read_csv(tmp_path / "speeches-labelled.csv")
    assert copy["id"].to_list() == [*TEXTS]
    assert copy["label"].null_count() == 0  # the gold labels of whole texts
    assert set(copy["labelled by"]) == {"a person"}


def test_what_cannot_be_joined_is_one_error(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fields = FIELDS.replace("labels: [steel, coal], several: true", "labels: [steel, coal], spans: true")
    with pytest.raises(QuaverError, match="expected: none for topics"):
        Study.open(written(tmp_path / "spans", fields, items()), functions={"fake": record}).plan()
    with pytest.raises(QuaverError, match="cannot be compared between splits"):
        asked(tmp_path / "several", "", SEVERAL.replace("majority", "none"))
    path = written(tmp_path, STUDY.replace("JOIN", "none").replace("fake", "annotate"), items())
    answers = Answers()
    study = Study.open(path, functions={"annotate": answers})
    study.run()
    with pytest.raises(QuaverError) as error:
        quaver.label(tmp_path / "items.csv", check=study.folder, model=answers, anyway=True)
    assert error.value.where.endswith("items.split.join")


SPLITS = {f"{n} tokens / {join}": (n, join) for n in (20, 40, 1000) for join in ("majority", "any favor")}
SEVERAL = STUDY.replace("tokens: 20, join: JOIN", "tokens: [20, 40, 1000], join: [majority, {any: favor}]")


def test_splits_are_a_factor_with_the_labels_that_each_gives_alone(tmp_path):
    study, answers = asked(tmp_path / "several", "", SEVERAL)
    plan = study.plan()
    study.run()
    # a join asks nothing of its own, and a text that two splits cut alike is asked about once
    cuts = [{cut(speech(name), SplitSpec(tokens=n)) for n in (20, 40, 1000)} for name in TEXTS]
    assert len(answers.texts) == plan.calls == sum(len(places) for some in cuts for places in some)
    frame = study.annotations().with_columns(pl.col(pl.Categorical).cast(pl.String))
    assert set(frame["split"]) == set(SPLITS)
    assert frame.height == len(SPLITS) * len(TEXTS)
    for level, (n, join) in SPLITS.items():
        text = STUDY.replace("tokens: 20", f"tokens: {n}")
        alone, _ = asked(tmp_path / f"{n} {join}", join.replace("any favor", "{any: favor}"), text)
        alone.run()
        kept = ["item", "label", "status", "reason", "gold"]
        own = alone.annotations().with_columns(pl.col(pl.Categorical).cast(pl.String))
        assert frame.filter(split=level).select(kept).sort("item").equals(own.select(kept).sort("item"))
    short, long = (Study.open(tmp_path / f"{n} majority", functions={"fake": answers}) for n in (20, 40))
    assert quaver.compare(short, long).items == 9, "text by text"
    several, labels = {"split": [*SPLITS]}, study.experiment.labels
    found = quaver.measures.label_movement(frame.drop("gold"), several, labels=labels)
    moved = next(one for one in found if one.measure == "label_range")
    shares = frame.group_by("split").agg(pl.col("label").eq_missing(moved.cell["label"]).mean())["label"]
    assert moved.value == pytest.approx(shares.max() - shares.min())
    assert (moved.n, moved.unit) == (9, "item")
    packed = tmp_path / "several.quaver.zip"
    quaver.bundle(study, packed, texts=False)
    assert Study.open(packed).annotations().height == frame.height
