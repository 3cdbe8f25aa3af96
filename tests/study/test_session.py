"""A study from its file to its stored answers: what is kept, reused and refused."""

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from tests.studies import ITEMS, STUDY, written

from quaver.errors import ModelError, SpecError, StoreError, Unavailable, UnknownName
from quaver.study.session import Study

VARIED = STUDY + "variants:\n  - use: instructions\n    texts: {plain: Good or bad?}\nrepeats: 2\n"


def same(text, prompt):
    return "positive" if "like" in text else "negative"


def opened(path, function=same):
    return Study.open(path, functions={"fake": function})


class Counted:
    """A function that counts its calls, and fails where it is told to."""

    def __init__(self):
        self.calls = []
        self.failing = False

    def __call__(self, text, prompt):
        self.calls.append(text)
        if self.failing:
            raise ValueError("no")
        return same(text, prompt)


def test_a_finished_study_asks_nothing(tmp_path):
    path, counted = written(tmp_path, VARIED), Counted()
    pilot = opened(path, counted).run(requests=2)
    assert (pilot.ended, pilot.done, pilot.missing) == ("requests", 4, 8)
    first = opened(path, counted).run()
    assert (first.ended, first.total, first.done, first.before) == ("finished", 12, 8, 4)
    second = opened(path, counted).run()
    assert (second.ended, second.done, second.before, second.missing) == ("finished", 0, 12, 0)
    assert len(counted.calls) == 12


def test_an_edited_study_asks_for_what_is_new_and_counts_what_fits_no_more(tmp_path):
    path, counted = written(tmp_path, VARIED), Counted()
    opened(path, counted).run()
    written(tmp_path, VARIED.replace("Good or bad?", "Nice or not?").replace("repeats: 2", "repeats: 3"))
    edited = opened(path, counted)
    now = edited.status()
    assert (now.answered, now.unplaced, now.total) == (6, 6, 18)
    outcome = edited.run()
    assert (outcome.before, outcome.done) == (6, 12)
    assert len(counted.calls) == 24
    written(tmp_path, VARIED)
    assert opened(path, counted).run().done == 0
    assert opened(path, counted).status().unplaced == 12


def test_renaming_asks_nothing(tmp_path):
    path, counted = written(tmp_path, VARIED), Counted()
    opened(path, counted).run()
    renamed = VARIED.replace("name: fake", "name: other").replace("plain:", "short:")
    written(tmp_path, renamed.replace("truth", "gold"), ITEMS.replace("truth", "gold"))
    study = Study.open(path, functions={"other": counted})
    assert study.run().done == 0
    assert set(study.annotations()["model"]) == {"other"}
    assert set(study.annotations()["paraphrase"]) == {"original", "short"}


def test_errors_are_asked_again_only_when_told_to(tmp_path):
    path, counted = written(tmp_path), Counted()
    counted.failing = True
    first = opened(path, counted).run()
    assert (first.done, first.errors) == (3, 3)
    counted.failing = False
    assert opened(path, counted).run().done == 0
    again = opened(path, counted).run(retry_errors=True)
    assert (again.done, again.errors, again.missing) == (3, 0, 0)
    assert opened(path, counted).status().errors == 0
    assert opened(path, counted).run(retry_errors=True).done == 0


def test_a_function_that_always_fails_ends_the_run_and_what_it_did_is_kept(tmp_path):
    items = "id,text,truth\n" + "".join(f"{n},t{n},\n" for n in range(50))
    path, counted = written(tmp_path, STUDY, items), Counted()
    counted.failing = True
    with pytest.raises(ModelError, match="8 items"):
        opened(path, counted).run()
    assert opened(path, counted).status().errors == 8


def test_the_lock_is_the_same_for_the_same_study(tmp_path):
    locks = []
    for name in ("one", "two"):
        opened(written(tmp_path / name, VARIED)).run()
        locks.append((tmp_path / name / "study.lock.json").read_text())
    assert locks[0] == locks[1]
    lock = json.loads(locks[0])
    assert lock["calls"] == 12
    assert [variant["id"] for variant in lock["variants"]] == ["paraphrase=original", "paraphrase=plain"]
    assert lock["items"]["gold"] == {"positive": 1, "negative": 1}
    assert str(tmp_path) not in locks[0]


def test_what_is_stored_is_measured_without_the_model(tmp_path):
    path = written(tmp_path, VARIED)
    opened(path).run()
    expected = opened(path).estimates()
    reviewer = Study.open(path)
    assert reviewer.status() == opened(path).status()
    assert reviewer.estimates() == expected
    assert reviewer.rescore().height == 12
    with pytest.raises(Unavailable, match="was not given") as caught:
        reviewer.run()
    assert "--function fake=MODULE:FUNCTION" in str(caught.value)


def test_a_folder_is_opened_by_any_name_and_a_file_of_another_name_has_one_beside_it(tmp_path, monkeypatch):
    path = written(tmp_path / "inner")
    monkeypatch.chdir(tmp_path / "inner")
    for name in (".", "../inner", path.parent, path, "study.yaml"):
        assert opened(Path(name)).folder.resolve() == path.parent
    with pytest.raises(SpecError, match="no such study"):
        Study.open("/")
    opened(path.rename(tmp_path / "inner" / "votes.yaml")).run()
    assert (tmp_path / "inner" / "votes" / "responses.db").exists()
    assert opened(tmp_path / "inner" / "votes").run().before == 3


def test_a_model_is_not_asked_for_what_it_cannot_do(tmp_path):
    path = written(tmp_path, STUDY + "decoding: {greedy: {logprobs: 5}}\n")
    with pytest.raises(SpecError, match="5 log-probabilities") as caught:
        opened(path).plan()
    line = path.read_text().splitlines().index("decoding: {greedy: {logprobs: 5}}") + 1
    assert str(caught.value).startswith(f"study.yaml:{line}: decoding.greedy: ")


HOLDS = """
import sys
from pathlib import Path
from quaver.collect.store.store_lock import sole_writer
with sole_writer(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_process_is_refused_with_the_first_ones_pid(tmp_path):
    path = written(tmp_path)
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(StoreError, match="another process") as caught:
        opened(path).run()
    assert caught.value.found == f"process {holder.pid}"
    assert caught.value.where == str(tmp_path)
    holder.communicate("")
    assert opened(path).run().done == 3
    assert not (tmp_path / ".run.pid").exists()


@pytest.mark.parametrize("name", ["study.lock.json", ".run.pid", "responses.db"])
def test_a_file_that_cannot_be_written_is_one_error(tmp_path, name):
    path = written(tmp_path)
    (tmp_path / name / "inside").mkdir(parents=True)
    with pytest.raises(StoreError) as caught:
        opened(path).run()
    assert os.fspath(tmp_path) in str(caught.value)
    assert not list(tmp_path.glob("*.part"))


DAMAGED = [
    *(
        (name, damage, "damaged")
        for name in ("study.lock.json", "paraphrases.json")
        for damage in ("{not", "\ud800")
    ),
    ("paraphrases.json", '{"spent": [{"model": "m"}]}', r"found: spent\.0\.asked"),
    ("paraphrases.json", '{"drafts": {"a": 1}}', "found: drafts"),
    ("paraphrases.json", "[]", "damaged"),
    ("study.lock.json", '{"models": ["fake"]}', "found: models"),
]


@pytest.mark.parametrize(("name", "content", "problem"), DAMAGED)
def test_a_damaged_file_of_the_folder_is_one_error_that_names_it(tmp_path, name, content, problem):
    path = written(tmp_path)
    opened(path).run()
    (tmp_path / name).write_bytes(content.encode("utf-8", "surrogatepass"))
    with pytest.raises(StoreError, match=rf"{name}: (.|\n)*{problem}"):
        Study.open(path).report()


@pytest.mark.parametrize(
    "change",
    [
        lambda frame: frame.drop("label"),
        lambda frame: frame.rename({"repeat": "times"}),
        lambda frame: frame.with_columns(pl.lit(1).alias("model")),
        lambda frame: frame.with_columns(pl.lit("x").alias("probabilities")),
        *(
            lambda frame, name=name: frame.with_columns(pl.lit(None, frame.schema[name]).alias(name))
            for name in ("item", "variant", "decoding")
        ),
        None,
    ],
)
def test_damaged_annotations_are_read_anew_from_the_answers(tmp_path, change):
    study = opened(written(tmp_path))
    study.run()
    before, kept = study.annotations(), tmp_path / "annotations.parquet"
    if change:
        change(pl.read_parquet(kept)).write_parquet(kept)
    else:
        kept.write_text("damaged")
    assert opened(tmp_path).annotations().equals(before)


def test_evaluators_are_compared_over_all_their_rows(tmp_path):
    path = written(tmp_path, VARIED + "evaluators: [exact, first_label]\n")

    def shy(text, prompt):
        return "It is positive." if "Good" in prompt else "positive"

    opened(path, shy).run()
    study = opened(path, shy)
    flips = [one for one in study.measure("evaluator_flips") if one.measure == "evaluator_flips"]
    assert [(one.cell["variant"], one.cell["first"], one.value) for one in flips] == [
        ("paraphrase=original", "exact", 0.0),
        ("paraphrase=plain", "exact", 1.0),
    ]
    turned = study.measure("evaluator_flips", second="exact")[0]
    assert (turned.cell["first"], turned.cell["second"]) == ("first_label", "exact")
    with pytest.raises(UnknownName, match="unknown evaluator 'exat'"):
        study.measure("evaluator_flips", second="exat")


def test_effects_are_of_what_was_varied_and_not_of_what_was_measured_of_it(tmp_path):
    """Whether a paraphrase is the original, and is flagged, are columns, and the same comparison again."""
    text = STUDY + "variants:\n  - {use: instructions, texts: {b: 'Positive or negative?', c: 'Which?'}}\n"
    study = Study.open(written(tmp_path, text, ITEMS), functions={"fake": same})
    study.run()
    assert {"original", "flagged"} <= set(study.annotations().columns)
    found = study.measure("factor_effects", resamples=100)
    assert {one.cell["factor"] for one in found} == {"paraphrase"}
    assert {one.details["comparisons"] for one in found if "p" in one.details} == {9}  # 3 levels, 3 outcomes


def test_one_measure_under_two_conventions_is_told_apart_by_its_cells(tmp_path):
    text = STUDY + "variants:\n  - {use: instructions, texts: {b: 'Positive or negative, is it?'}}\n"
    text += "measures:\n  - {use: sensitivity}\n  - {use: sensitivity, convention: paper}\n  - accuracy\n"
    study = Study.open(written(tmp_path, text, ITEMS), functions={"fake": same})
    study.run()
    cells = dict.fromkeys((one.measure, one.cell.get("convention")) for one in study.estimates())
    assert list(cells) == [("sensitivity", "recommended"), ("sensitivity", "paper"), ("accuracy", None)]


def test_a_study_has_few_members_and_each_says_what_it_is_for():
    public = [name for name in dir(Study) if not name.startswith("_")]
    assert len(public) <= 23  # `fields` came with tasks of several
    assert all(inspect.getdoc(getattr(Study, name)) for name in public)
