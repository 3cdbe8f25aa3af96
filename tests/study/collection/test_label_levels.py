"""Labels with parents that are asked for level by level: what is asked, what is reached, what survives."""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from tests.studies import written

import quaver
from quaver import Study
from quaver.errors import QuaverError
from quaver.view.stored_answers import follow_ups_of
from quaver.watch.watching import watch

TREE = """\
name: Topics
task:
  level: tree
  levels: one by one
  labels:
    - {code: wages, parent: work}
    - {code: minimum wage, parent: wages}
    - {code: overtime, parent: wages}
    - {code: unions, parent: work}
    - {code: war, parent: Abroad}
    - {code: trade, parent: Abroad}
    - weather
items: {source: items.csv, id: id, text: "{{ text }}", gold: gold}
prompt: {instruction: Which topic?}
models: [{name: m, use: function}]
"""
ITEMS = """\
id,text,gold
a,floor,minimum wage
b,strike,unions
c,shells,war
d,rain,weather
e,hours,overtime
"""
WAY = {
    "floor": ("work", "wages", "minimum wage"),
    "strike": ("work", "unions"),
    "shells": ("Abroad", "trade"),
    "rain": ("weather",),
    "hours": ("work", "wages", "overtime"),
}
CALLS = sum(map(len, WAY.values()))  # 11, of at most 5 texts × 3 levels


def offered(prompt):
    return prompt.rpartition("one of: ")[2].rstrip(".").split(", ")


def annotate(text, prompt):
    return next(label for label in WAY[text] if label in offered(prompt))


def opened(folder, answer=annotate, study=TREE):
    return Study.open(written(folder, study, ITEMS), functions={"m": answer})


def read(study, *names):
    return sorted(study.annotations().select("item", *names).rows())


def test_each_answer_is_followed_by_what_falls_under_it_alone(tmp_path):
    shown = []

    def noted(text, prompt):
        shown.append((text, offered(prompt)))
        return annotate(text, prompt)

    study = opened(tmp_path, noted)
    assert (study.plan().calls, study.status().total) == (15, 15)
    outcome = study.run()
    assert (outcome.done, outcome.total, outcome.missing) == (CALLS, CALLS, 0)
    top, under = ["work", "Abroad", "weather"], {"work": ["wages", "unions"], "Abroad": ["war", "trade"]}
    under["wages"] = ["minimum wage", "overtime"]
    asked = [(text, under.get(above, top)) for text, way in WAY.items() for above in ("", *way[:-1])]
    assert sorted(shown) == sorted(asked)
    now, planned = study.status(), study.plan()
    assert (now.answered, now.total, now.unplaced) == (CALLS, CALLS, 0)
    assert (planned.calls, planned.stored) == (CALLS, CALLS)
    assert {one["variant"]: one["answered"] for one in now.conditions} == {
        "original": 5,
        "original / work": 3,
        "original / wages": 2,
        "original / Abroad": 1,
    }
    assert study.run().done == 0


def test_labels_are_the_deepest_that_were_reached_and_measured_as_labels_asked_for_at_once(tmp_path):
    by_level = opened(tmp_path / "levels")
    at_once = opened(tmp_path / "once", lambda text, _: WAY[text][-1], TREE.replace("levels: one by one", ""))
    for study in (by_level, at_once):
        study.run()
    labels = [(item, way[-1], "valid", None) for item, way in zip("abcde", WAY.values(), strict=True)]
    assert read(by_level, "label", "status", "reason") == labels
    assert by_level.annotations().drop("reason").columns == at_once.annotations().drop("reason").columns
    for name in ("hierarchy", "accuracy", "f1"):
        values = [[one.value for one in study.measure(name)] for study in (by_level, at_once)]
        assert values[0] == values[1]
    # By hand: “trade” for “war” is wrong at the second level and right at the first.
    depths = [one.value for one in by_level.measure("hierarchy") if one.measure == "hierarchy_accuracy"]
    assert depths == pytest.approx([1, 0.8, 0.8])


def test_where_a_level_has_no_label_the_reason_says_which(tmp_path):
    down = tmp_path / "down"
    down.touch()

    def fails(text, prompt):
        if text == "strike" and "unions" in offered(prompt) and down.exists():
            raise ConnectionError("down")
        if text == "floor" and "overtime" in offered(prompt):
            return "I cannot say."
        return "?" if text == "rain" else annotate(text, prompt)

    study = opened(tmp_path, fails)
    assert study.run().errors == 1
    rows = {
        item: (label, status, reason)
        for item, label, status, reason in read(study, "label", "status", "reason")
    }
    assert rows["a"][:2] == (None, "no_label")
    assert rows["a"][2].startswith("level 3, under “wages”")
    assert rows["b"][:2] == (None, "error")
    assert rows["b"][2].startswith("level 2, under “work”: ConnectionError: down")
    assert rows["d"][:2] == (None, "no_label")
    assert rows["d"][2].startswith("level 1")
    assert (study.status().total, study.status().answered) == (CALLS, CALLS)
    down.unlink()
    assert study.run().done == 0
    outcome = study.run(retry_errors=True)
    assert (outcome.done, outcome.total) == (1, CALLS)
    assert read(study, "label")[1] == ("b", "unions")


KILLED = """
import os, sys
sys.path.insert(0, {root!r})
from tests.study.collection import test_label_levels as levels

def noted(text, prompt):
    with open("calls.txt", "a") as file:
        file.write(text + " " + levels.offered(prompt)[0] + "\\n")
    if os.environ["KILL"] and "unions" in prompt:
        os._exit(9)
    return levels.annotate(text, prompt)

study = levels.Study.open("study.yaml", functions={{"m": noted}})
study.run()
print(*[label for _, label in levels.read(study, "label")], sep=chr(10))
"""


def test_after_a_kill_between_the_levels_nothing_is_asked_twice(tmp_path):
    written(tmp_path, TREE, ITEMS)
    root = str(Path(__file__).parents[3])
    killed, done = (
        subprocess.run(
            [sys.executable, "-c", KILLED.format(root=root)],
            cwd=tmp_path,
            env={**os.environ, "KILL": kill},
            capture_output=True,
            text=True,
            check=False,
        )
        for kill in ("yes", "")
    )
    assert (killed.returncode, done.returncode) == (9, 0), done.stderr
    assert done.stdout.splitlines() == [way[-1] for way in WAY.values()]
    asked = (tmp_path / "calls.txt").read_text().splitlines()
    assert len(asked) <= CALLS + 1, "the call that it was killed in, and no other, is asked twice"
    assert len(set(asked)) == CALLS


def test_another_evaluator_leads_elsewhere_and_keeps_what_still_fits(tmp_path):
    hidden = {"work": "Abroad or rather work"}

    def vague(text, prompt):
        label = annotate(text, prompt)
        return hidden.get(label, label)

    study = opened(tmp_path, vague)
    study.run()
    before = study.status()
    changed = opened(tmp_path, vague, TREE + "evaluators: [first_label]\n")
    now = changed.status()
    assert now.answered == before.answered  # what no evaluator reads anew stays
    lost = [item for item, label in read(study, "label") if label is None]
    assert {item for item, _ in read(changed, "label")} == {*"abcde"} - {*lost}, "they lack their next level"


def test_it_is_read_again_from_its_bundle(tmp_path):
    study = opened(tmp_path)
    study.run()
    study.report()
    packed = quaver.bundle(study, tmp_path / "topics.quaver.zip")[0]
    bundle = Study.open(packed)
    assert read(bundle, "label") == read(study, "label")
    assert bundle.status().total == CALLS
    lock = json.loads((tmp_path / "study.lock.json").read_text())
    assert "minimum wage, overtime" in lock["follow_ups"]["wages"][0][1]


def test_the_export_has_each_level_with_its_label(tmp_path):
    study = opened(tmp_path)
    study.run()
    study.export(tmp_path / "calls.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "calls.jsonl").read_text().splitlines()]
    found = {(row["item"], row["follow_up"]): row["marked_label.label"] for row in rows}
    ways = zip("abcde", WAY.values(), strict=True)
    assert found == {
        (item, above): label for item, way in ways for above, label in zip(("", *way), way, strict=False)
    }
    assert {(row["variant"], row["marked_label.correct"]) for row in rows} == {("original", None)}


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (("  level: tree", "  level: jaccard"), "task.level"),
        (("  level: tree", "  options: [text]"), "task.options"),
        (("prompt:", "follow_ups: [first_token]\nprompt:"), "follow_ups"),
        (("prompt:", "evaluators: [marked_label, first_label]\nprompt:"), "evaluators"),
        (("    - {code: overtime, parent: wages}\n", ""), "task.labels"),
        (("prompt:", "evaluators: [logprob]\nprompt:"), "evaluators"),
        (("prompt:", "variants: [{use: label_names, names: [letter]}]\nprompt:"), "task.levels"),
    ],
)
def test_what_it_does_not_go_with_is_refused_before_anything_is_asked(tmp_path, change, place):
    assert TREE.count(change[0]) == 1
    with pytest.raises(QuaverError) as refused:
        opened(tmp_path, study=TREE.replace(*change)).run()
    assert place.rpartition(".")[2] in str(refused.value)
    assert not (tmp_path / "study" / "responses.db").exists()


def test_each_part_of_a_long_text_goes_its_own_way_down(tmp_path):
    items = [{"id": "x", "text": "floor\n\nfloor\n\nstrike"}, {"id": "y", "text": "rain"}]
    document = {
        **YAML(typ="safe").load(TREE),
        "items": {"source": items, "id": "id", "text": "{{ text }}"},
    }
    document["items"]["split"] = {"by": "paragraphs", "tokens": 2, "join": "majority"}
    study = Study.open(document, folder=tmp_path / "s", functions={"m": annotate})
    assert study.plan().calls == 4 * 3
    outcome = study.run()
    assert (outcome.done, outcome.missing) == (3 + 3 + 2 + 1, 0)
    assert read(study, "label", "reason") == [
        ("x", "minimum wage", "“minimum wage” in 2 of 3 parts (1, 2)"),
        ("y", "weather", None),
    ]


def test_a_watch_asks_for_the_first_level_alone(tmp_path):
    shown = set()

    def noted(text, prompt):
        shown.add(tuple(offered(prompt)))
        return annotate(text, prompt)

    watch(opened(tmp_path, noted))
    assert shown == {("work", "Abroad", "weather")}


def test_the_viewer_shows_every_further_level_beside_an_answer(tmp_path):
    study = opened(tmp_path)
    study.run()
    with closing(sqlite3.connect(tmp_path / "responses.db")) as db:
        top = "SELECT response FROM calls WHERE condition = 0 AND item = 0"  # that about a
        (number,) = db.execute(top).fetchone()
        assert [*follow_ups_of(db, number)] == ["work", "wages"]


@pytest.mark.long
def test_a_model_in_this_process_is_held_to_each_level(tmp_path):
    local = "models: [{name: m, use: llamacpp, model: smollm2-135m-instruct, context: 256}]\nrepeats: 2\n"
    held = "decoding: {drawn: {temperature: 1.0, constraint: labels}}\n"
    variants = "variants: [{use: label_order}]\n"
    study = Study.open(
        written(
            tmp_path, TREE.replace("models: [{name: m, use: function}]\n", local + held + variants), ITEMS
        )
    )
    outcome = study.run()
    assert (outcome.missing, outcome.errors) == (0, 0)
    frame = study.annotations()
    assert frame.height == 5 * 2 * 2
    assert set(frame["status"]) == {"valid"}
    leaves = {"minimum wage", "overtime", "unions", "war", "trade", "weather"}
    assert set(frame["label"]) <= leaves
    assert study.run().done == 0
