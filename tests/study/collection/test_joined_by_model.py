"""A text's label given by the model that sees the labels of its parts: what is asked, when, and how often."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.studies import written
from tests.view.viewed import client_of

import quaver
from quaver import Study
from quaver.bundles.verification import verify
from quaver.errors import QuaverError
from quaver.view.serving import studies_of
from quaver.view.study_reader import keep
from quaver.watch.watching import watch

STUDY = """\
name: Prayers
task: {labels: [god, secular]}
items:
  source: items.csv
  id: id
  text: "{{ text }}"
  gold: gold
  split: {by: paragraphs, tokens: 3, join: model}
prompt: {instruction: Does it speak of God?}
models: [{name: m, use: function}]
repeats: 2
"""
ITEMS = """\
id,text,gold
a,"God is one.

Rain falls.

Two of us.",god
b,Rain falls.,secular
c,"Two of us.

Rain falls.",god
"""
SEEN = "The text was read in parts. The label of each part:\n"
PARTS = 3 + 1 + 2
CALLS = 2 * (PARTS + 2)  # two texts have parts


def annotate(text, prompt):
    if text.startswith(SEEN):
        return "god" if "1. god" in text else "I cannot say."
    return "god" if "God" in text else "secular"


def opened(folder, answer=annotate, study=STUDY):
    return Study.open(written(folder, study, ITEMS), functions={"m": answer})


def read(study):
    return sorted(study.annotations().select("item", "repeat", "label", "status").rows())


LABELS = [
    *(("a", repeat, "god", "valid") for repeat in (0, 1)),
    *(("b", repeat, "secular", "valid") for repeat in (0, 1)),
    *(("c", repeat, None, "no_label") for repeat in (0, 1)),
]


def test_the_model_sees_the_labels_of_all_parts_once_these_are_known(tmp_path):
    shown = []

    def noted(text, prompt):
        shown.append(text)
        return annotate(text, prompt)

    study = opened(tmp_path, noted)
    planned = study.plan()
    assert (planned.calls, study.status().total) == (CALLS, CALLS)
    (model,) = planned.models
    assert model["split"].startswith(f"texts in parts take {CALLS - 2 * 3} calls")
    outcome = study.run()
    assert (outcome.done, outcome.missing) == (CALLS, 0)
    joined = [text for text in shown if text.startswith(SEEN)]
    assert sorted(joined) == sorted(
        2 * [f"{SEEN}1. god\n2. secular\n3. secular", f"{SEEN}1. secular\n2. secular"]
    )
    assert read(study) == LABELS
    assert (study.status().answered, study.status().total, study.run().done) == (CALLS, CALLS, 0)
    assert study.annotations()["gold"].to_list().count("god") == 4
    study.export(tmp_path / "calls.jsonl")
    assert (tmp_path / "calls.jsonl").read_text().count('"follow_up": "whole text"') == 4


def test_a_part_without_a_label_is_shown_as_such(tmp_path):
    shown = []

    def vague(text, prompt):
        shown.append(text)
        return "I cannot say." if text == "Rain falls." else annotate(text, prompt)

    study = opened(tmp_path, vague)
    outcome = study.run()
    assert (outcome.done, outcome.missing) == (CALLS, 0)
    assert shown.count(SEEN + "1. god\n2. –\n3. secular") == shown.count(SEEN + "1. secular\n2. –") == 2
    assert [row for row in read(study) if row[0] == "b"] == [("b", at, None, "no_label") for at in (0, 1)]


def test_nothing_is_asked_on_an_error_and_all_of_it_once_that_is_asked_again(tmp_path):
    down, shown = tmp_path / "down", []
    down.touch()

    def fails(text, prompt):
        shown.append(text)
        if text == "Two of us." and down.exists():
            raise ConnectionError("down")
        return annotate(text, prompt)

    study = opened(tmp_path, fails)
    outcome = study.run()
    asked = 2 * PARTS
    assert (outcome.done, outcome.errors, outcome.total, outcome.missing) == (asked, 4, asked, 0)
    assert not [text for text in shown if text.startswith(SEEN)]
    assert (study.status().answered, study.status().total) == (asked, asked)
    rows = study.annotations().select("item", "repeat", "status", "reason").sort("item", "repeat").rows()
    error = "ConnectionError: down"
    assert [row for row in rows if row[2] == "error"] == [
        (item, repeat, "error", error) for item in "ac" for repeat in (0, 1)
    ]
    assert study.run().done == 0
    down.unlink()
    outcome = study.run(retry_errors=True)
    assert (outcome.done, outcome.total, outcome.missing) == (4 + 4, CALLS, 0)
    assert read(study) == LABELS
    assert (study.status().answered, study.status().total, study.status().unplaced) == (CALLS, CALLS, 0)
    assert (study.plan().calls, study.plan().stored) == (CALLS, CALLS)


def test_an_error_in_the_call_that_joins_is_asked_again_alone(tmp_path):
    down = tmp_path / "down"
    down.touch()

    def fails(text, prompt):
        if text.startswith(SEEN) and down.exists():
            raise ConnectionError("down")
        return annotate(text, prompt)

    study = opened(tmp_path, fails)
    outcome = study.run()
    assert (outcome.done, outcome.errors, outcome.missing) == (CALLS, 4, 0)
    assert [status for *_, status in read(study)].count("error") == 4
    down.unlink()
    outcome = study.run(retry_errors=True)
    assert (outcome.done, outcome.total, outcome.missing) == (4, CALLS, 0)
    assert read(study) == LABELS


def test_each_prompt_joins_what_it_found_also_of_labels_with_parents(tmp_path):
    task = "labels: [{code: god, parent: faith}, {code: prayer, parent: faith}, {code: secular}], level: tree"
    variants = "variants: [{use: instructions, texts: {short: Pious?}}]\n"
    study = STUDY.replace("labels: [god, secular]", task) + variants
    prompts = {"Does it speak of God?": "god", "Pious?": "prayer"}
    shown = []

    def by_prompt(text, prompt):
        (label,) = [label for words, label in prompts.items() if words in prompt]
        if text.startswith(SEEN):
            shown.append((label, text.removeprefix(SEEN)))
            return label
        return label if "God" in text else "secular"

    asked = opened(tmp_path, by_prompt, study)
    assert asked.plan().calls == 2 * CALLS
    outcome = asked.run()
    assert (outcome.done, outcome.missing) == (2 * CALLS, 0)
    joined = {(label, f"1. {label}\n2. secular\n3. secular") for label in prompts.values()}
    assert {one for one in shown if one[1].count("\n") == 2} == joined
    assert len(shown) == 2 * 4
    labels = asked.annotations().filter(item="a")["label"].cast(str).to_list()
    assert sorted(labels) == ["god", "god", "prayer", "prayer"]


def test_another_join_keeps_the_answers_about_the_parts(tmp_path):
    asked = []

    def noted(text, prompt):
        asked.append(text)
        return annotate(text, prompt)

    by_majority = opened(tmp_path, noted, STUDY.replace("join: model", "join: majority"))
    assert by_majority.run().done == 2 * PARTS
    study = opened(tmp_path, noted)
    assert study.run().done == 2 * 2
    assert (len(asked), read(study)) == (CALLS, LABELS)
    assert by_majority.run().done == 0


def test_texts_of_one_part_cost_no_further_call(tmp_path):
    study = opened(tmp_path, study=STUDY.replace("tokens: 3", "tokens: 100"))
    assert study.plan().calls == 2 * 3
    assert study.run().done == 2 * 3
    assert study.annotations().height == 2 * 3


def test_the_viewer_shows_the_answers_about_the_parts_and_what_they_led_to(tmp_path):
    study = opened(tmp_path)
    study.run()
    studies = studies_of([tmp_path])
    for one in studies.values():
        keep(one.path, one.root, one.field)
    get = client_of(studies).get
    asked = {"item": "a", "column": 0}
    found = get("api/studies/Prayers/answer", params=asked).json()
    assert found["reading"]["label"] == "god"
    assert found["response"]["text"] == "#1 god\n#2 secular\n#3 secular"
    assert [one["name"] for one in found["follow_ups"]] == ["whole text"]


def test_new_texts_are_labelled_in_the_same_way(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    named = STUDY.replace("name: m", "name: annotate")
    study = Study.open(written(tmp_path / "check", named, ITEMS), functions={"annotate": annotate})
    study.run()
    assert study.annotations().height == 2 * 3
    labelled = quaver.label(tmp_path / "check/items.csv", check=study.folder, model=annotate, anyway=True)
    rows = labelled.table.select("item", "model_label").rows()
    assert sorted(rows) == [("a", "god"), ("b", "secular"), ("c", None)]


KILLED = """
import os, sys
sys.path.insert(0, {root!r})
from tests.study.collection import test_joined_by_model as joined

def noted(text, prompt):
    with open("calls.txt", "a") as file:
        file.write(repr(text) + "\\n")
    if os.environ["KILL"] and text.startswith(os.environ["KILL"]):
        os._exit(9)
    return joined.annotate(text, prompt)

study = joined.Study.open("study.yaml", functions={{"m": noted}})
study.run()
print(joined.read(study) == joined.LABELS)
"""


def test_after_a_kill_before_the_labels_are_joined_nothing_is_asked_twice(tmp_path):
    written(tmp_path, STUDY, ITEMS)
    script = KILLED.format(root=str(Path(__file__).parents[3]))
    killed, done = (
        subprocess.run(
            [sys.executable, "-c", script],
            cwd=tmp_path,
            env={**os.environ, "KILL": kill},
            capture_output=True,
            text=True,
            check=False,
        )
        for kill in (SEEN[:9], "")
    )
    assert (killed.returncode, done.returncode, done.stdout) == (9, 0, "True\n"), done.stderr
    asked = (tmp_path / "calls.txt").read_text().splitlines()
    assert CALLS < len(asked) <= CALLS + 2, "the request that it was killed in, and no other, is asked twice"


@pytest.mark.parametrize("requests", [1, 2, 3, 4, 5])
def test_a_run_that_goes_on_joins_labels_of_both_runs_once(tmp_path, requests):
    shown = []

    def noted(text, prompt):
        shown.append(text)
        return annotate(text, prompt)

    study = opened(tmp_path, noted)
    first = study.run(requests=requests)
    assert 0 < first.done < CALLS
    outcome = study.run()
    assert (first.done + outcome.done, outcome.missing) == (CALLS, 0)
    assert (len(shown), len([text for text in shown if text.startswith(SEEN)])) == (CALLS, 4)
    assert read(study) == LABELS


def test_it_is_read_again_from_its_bundle(tmp_path):
    study = opened(tmp_path)
    study.run()
    study.report()
    packed = quaver.bundle(study, tmp_path / "prayers.quaver.zip")[0]
    assert not verify(packed).differing
    assert read(Study.open(packed)) == LABELS


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (("repeats: 2\n", "evaluators: [marked_label, first_label]\n"), "evaluators"),
        (("repeats: 2\n", "evaluators: [logprob]\n"), "evaluators"),
        (("repeats: 2\n", "follow_ups: [verbal_decimal]\n"), "follow_ups"),
        (("join: model", "join: [majority, model]"), "items.split.join"),
        (("tokens: 3", "tokens: [3, 6]"), "items.split.join"),
        (("[god, secular]", "[god, secular], levels: one by one"), "task.levels"),
        (("{labels: [god, secular]}", "{fields: {god: {labels: [god, secular]}}}"), "task.fields"),
        (("join: model", "join: {god: model}"), "items.split.join"),
    ],
)
def test_what_it_does_not_go_with_is_refused_before_anything_is_asked(tmp_path, change, place):
    assert STUDY.count(change[0]) == 1
    study = STUDY.replace(*change)
    with pytest.raises(QuaverError) as refused:
        opened(tmp_path, study=study.replace("  gold: gold\n", "") if "fields" in study else study).run()
    assert place in str(refused.value)
    assert not (tmp_path / "study" / "responses.db").exists()


def test_a_watch_asks_about_the_parts_alone(tmp_path):
    shown = []

    def noted(text, prompt):
        shown.append(text)
        return annotate(text, prompt)

    watch(opened(tmp_path, noted))
    assert shown
    assert not [text for text in shown if text.startswith(SEEN)]


@pytest.mark.long
def test_a_model_in_this_process_joins_what_it_labelled(tmp_path):
    local = "models: [{name: m, use: llamacpp, model: smollm2-135m-instruct, context: 256}]"
    held = (
        STUDY.replace("models: [{name: m, use: function}]", local)
        + "decoding: {held: {constraint: labels}}\n"
    )
    study = Study.open(written(tmp_path, held, ITEMS))
    assert (study.run().done, study.run().done) == (CALLS, 0)
    assert study.annotations()["label"].null_count() == 0
