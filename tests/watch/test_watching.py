"""A watch: what is asked when, what is kept, what raises the alarm."""

import json
import sqlite3
from contextlib import closing

import numpy as np
import pytest
from tests.cli.commands import here
from tests.studies import STUDY

import quaver
from quaver.collect.store.response_store import Store
from quaver.core.calls import Response, Token
from quaver.errors import ModelError, QuaverError
from quaver.watch.drift import Drift, Occasion, alarms_of, reached
from quaver.watch.occasions import Canary, CanaryAnswer, CanaryOptions
from quaver.watch.watching import watch

ITEMS = "id,text,truth\n" + "".join(
    f"i{n:02},{'like' if n % 3 else 'hate'} {n},{'positive' if n % 3 else 'negative'}\n" for n in range(30)
)
SMALL = CanaryOptions(prompts=5, parts=3, first=6)


class Changing:
    """A model that can change under the same name."""

    def __init__(self):
        self.flipped = set()
        self.refuses = False
        self.asked = []

    def __call__(self, text, prompt):
        number = int(text.split()[1])
        self.asked.append(number)
        if self.refuses:
            return "I'm sorry, but I cannot help with that."
        right = "positive" if "like" in text else "negative"
        return {"positive": "negative", "negative": "positive"}[right] if number in self.flipped else right


@pytest.fixture
def model():
    return Changing()


@pytest.fixture
def look(tmp_path, model):
    (tmp_path / "items.csv").write_text(ITEMS)
    (tmp_path / "study.yaml").write_text(STUDY)

    def take(options=None, *, renew=False):
        opened = quaver.Study.open(tmp_path, functions={"fake": model})
        return watch(opened, options, renew=renew)

    first = take(SMALL)
    assert (first.number, first.alarms) == (0, [])
    assert len(model.asked) == 15 * 6
    model.asked.clear()
    return take


def test_looks_ask_the_parts_in_turn_and_nothing_again(look, model, tmp_path):
    parts = []
    for number in range(1, 5):
        found = look()
        assert (found.number, found.alarms) == (number, [])
        parts.append(sorted(model.asked))
        model.asked.clear()
    assert all(len(part) == 5 for part in parts)
    assert len({one for part in parts[:3] for one in part}) == 15
    assert parts[3] == parts[0]
    with sqlite3.connect(tmp_path / "watch" / "responses.db") as db:
        assert db.execute("SELECT count(*), count(DISTINCT key) FROM responses").fetchone() == (110, 110)
    kept = json.loads((tmp_path / "watch" / "occasions.json").read_text())["occasions"]
    assert [one["number"] for one in kept] == [0, 1, 2, 3, 4]
    assert all(one["ended"] for one in kept)


def test_one_prompt_that_changes_for_good_is_asked_at_every_look(look, model, tmp_path):
    canary = json.loads((tmp_path / "watch" / "canary.json").read_text())["pool"]
    changed = int(canary[0]["item"][1:])
    model.flipped = {changed}
    assert look().alarms == []  # a look is one observation, however sure its own answers are
    model.asked.clear()
    alarms = []
    while not alarms and len(model.asked) < 200:
        found = look()
        assert model.asked.count(changed) == found.number - 1
        alarms = found.alarms
    (alarm,) = alarms
    assert (alarm.aspect, alarm.model) == ("labels", "fake")
    assert alarm.evidence >= alarm.threshold
    assert alarm.occasion <= 20
    message = found.document()
    assert message["event"] == "quaver.watch.alarm"
    assert message["alarms"][0]["look"] == found.number
    assert message["models"][0]["changes"][0] == {
        "item": canary[0]["item"],
        "prompt": "original",
        "before": message["models"][0]["changes"][0]["before"],
        "after": message["models"][0]["changes"][0]["after"],
        "differing": found.number,
        "answers": 6 + found.number,
    }
    model.flipped.clear()
    assert [one.aspect for one in look().alarms] == ["labels"]  # an alarm stays until the watch is renewed


def test_a_single_other_answer_is_asked_again_once(look, model):
    answer = Changing.__call__
    wavered = []

    def once(self, text, prompt):
        said = answer(self, text, prompt)
        if wavered:
            return said
        wavered.append(1)
        return "negative" if said == "positive" else "positive"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Changing, "__call__", once)
        found = look()
    assert found.alarms == []
    assert len(found.occasions["fake"][-1].changes) == 1
    asked = []
    for _ in range(2):
        model.asked.clear()
        assert look().alarms == []
        asked.append(len(model.asked))
    assert asked == [6, 5]  # the old answer came back


def test_no_look_asks_more_than_it_may(look, model):
    options = CanaryOptions(prompts=5, parts=3, first=2, confirmed=7)
    look(options, renew=True)
    model.flipped = set(range(30))
    asked = []
    for _ in range(4):
        model.asked.clear()
        look()
        asked.append(len(model.asked))
    assert asked == [5, 10, 12, 12]  # 5 and what the looks before found, at most 7


def test_a_model_that_answers_everything_differently_is_found_and_then_left_alone(look, model):
    model.flipped = set(range(30))
    alarms = []
    looks = 0
    while not alarms and looks < 12:
        model.asked.clear()
        alarms = look().alarms
        looks += 1
    assert {one.aspect for one in alarms} <= {"labels", "answers"}
    assert alarms
    assert looks <= 8
    model.asked.clear()
    look()
    assert len(model.asked) == 5  # a watch that had its alarm asks nothing besides a look's own prompts


@pytest.mark.long
def test_answers_that_a_look_ties_together_raise_no_alarm():
    """A replica serves all of a look in 30% of looks; a shift moves all of a look's log-probabilities."""
    alarms = {"replica": 0, "shift": 0}
    for seed in range(40):
        rng = np.random.default_rng([20261126, seed])
        for kind in alarms:
            canary = Canary(SMALL, [(f"i{at}", "v", "") for at in range(15)])
            drift = Drift(canary)
            differ, centre = rng.random(15) < 0.2, rng.normal(-1, 0.5, 15)
            for number in range(120):
                second, shift = rng.random() < 0.3, rng.standard_normal()
                answers = []
                for prompt in canary.asked_at(number):
                    for time in range(6 if number == 0 else 1):
                        other = rng.random() < 0.3 if number == 0 else second
                        label = str(bool(kind == "replica" and other and differ[prompt]))
                        likely = centre[prompt] + 0.1 * (shift * (kind == "shift") + rng.standard_normal())
                        token = Token("a", likely, (("a", likely),))
                        response = Response(label, tokens=(token,), completion_tokens=1)
                        answers.append(CanaryAnswer(prompt, "m", number, time, label, False, response))
                if reached(drift.take_in(number, answers), drift.thresholds()):
                    alarms[kind] += 1
                    break
    assert max(alarms.values()) <= 4


def test_the_store_is_read_once_in_a_look(look, model, monkeypatch):
    read = []
    read_after = Store.read_after

    def counted(self, last, most, also=()):
        found = read_after(self, last, most, also)
        read.append(len(found))
        return found

    monkeypatch.setattr(Store, "read_after", counted)
    model.flipped = {int(one) for one in range(0, 30, 7)}
    look()
    read.clear()
    look()
    assert sum(read) == 15 * 6 + len(model.asked)


def test_the_models_of_a_study_share_the_error():
    canary = Canary(SMALL, [("i", "v", "")])
    assert Drift(canary, models=3).thresholds()["labels"] == pytest.approx(
        3 * Drift(canary).thresholds()["labels"]
    )


def test_another_version_is_new_but_not_the_first_name_of_a_kind():
    """A server that named its model from the first look on names another; one that begins to is no news."""
    drift = Drift(Canary(SMALL, [("i", "v", "")]))

    def served(number, model, fingerprint):
        response = Response("yes", served_model=model, fingerprint=fingerprint)
        return drift.take_in(number, [CanaryAnswer(0, "m", number, 0, "yes", False, response)]).served

    assert served(0, "gpt-1", None) == []
    assert served(1, "gpt-1", "fp-a") == []
    assert served(2, "gpt-2", "fp-b") == ["model gpt-2"]


def test_refusals_are_seen(look, model):
    model.refuses = True
    found = [look() for _ in range(9)][-1]
    assert "refusals" in {one.aspect for one in found.alarms}


def test_another_model_behind_the_name_is_a_fact(look, model, tmp_path):
    other = STUDY.replace("use: function", "use: function, version: two")
    (tmp_path / "study.yaml").write_text(other)
    (alarm,) = look().alarms
    assert (alarm.aspect, alarm.evidence) == ("identity", None)


def test_a_study_that_changed_under_its_canary(look, tmp_path):
    (tmp_path / "study.yaml").write_text(STUDY.replace("Is this", "Say whether this is"))
    with pytest.raises(QuaverError) as caught:
        look()
    assert "renew" in (caught.value.fix or "")


def test_settings_stay_until_the_watch_is_renewed(look, model, tmp_path):
    with pytest.raises(QuaverError):
        look(CanaryOptions(prompts=4))
    found = look(CanaryOptions(prompts=4, parts=2, first=2), renew=True)
    assert found.number == 0
    assert len(model.asked) == 16
    assert len(list(tmp_path.glob("watch-*/responses.db"))) == 1


def test_a_first_look_that_failed_locks_nothing(tmp_path, model):
    (tmp_path / "items.csv").write_text(ITEMS)
    (tmp_path / "study.yaml").write_text(STUDY)

    def breaks(text, prompt):
        raise ValueError("not now")

    with pytest.raises(ModelError):
        watch(quaver.Study.open(tmp_path, functions={"fake": breaks}), SMALL)
    (tmp_path / "study.yaml").write_text(STUDY.replace("Is this", "Say whether this is"))
    opened = quaver.Study.open(tmp_path, functions={"fake": model})
    assert watch(opened, CanaryOptions(prompts=4, parts=2, first=2)).number == 0
    assert len(model.asked) == 16


def test_a_look_that_was_cut_off_is_finished(look, model, tmp_path):
    look()
    path = tmp_path / "watch" / "occasions.json"
    document = json.loads(path.read_text())
    document["occasions"][-1]["ended"] = False
    path.write_text(json.dumps(document))
    model.asked.clear()
    found = look()
    assert (found.number, model.asked) == (1, [])


def test_the_command(tmp_path, monkeypatch, capsys):
    (tmp_path / "items.csv").write_text(ITEMS)
    (tmp_path / "study.yaml").write_text(STUDY)
    (tmp_path / "functions.py").write_text(
        "import os\n\n\ndef same(text, prompt):\n"
        '    right = ("like" in text) != os.path.exists("changed")\n'
        '    return "positive" if right else "negative"\n'
    )
    words = ("watch", "study.yaml", "--function", "fake=functions:same", "--json")
    more = ("--prompts", "5", "--parts", "2", "--first", "6")
    looks = [here(tmp_path, *words, *more, monkeypatch=monkeypatch, capsys=capsys) for _ in range(2)]
    assert [look.returncode for look in looks] == [0, 0]
    events = [json.loads(look.stdout)["event"] for look in looks]
    assert events == ["quaver.watch.first", "quaver.watch.quiet"]
    (tmp_path / "changed").touch()
    for _ in range(11):
        done = here(tmp_path, *words, monkeypatch=monkeypatch, capsys=capsys)
        if done.returncode:
            break
    assert done.returncode == 1
    assert json.loads(done.stdout)["alarm"] is True


def test_a_message_has_nothing_that_a_chat_tool_obeys():
    change = {"item": "<!channel>", "before": "positive", "after": "[you won](http://a.example) @everyone"}
    found = Occasion(1, 1, {"labels": 1e9}, changes=[change], served=["model <@U1>`x`"])
    asked = {"time": "2026-01-01T00:00:00+00:00", "identities": {}}
    alarms = alarms_of("m", [asked], [found], {"labels": 100.0})
    assert [one.aspect for one in alarms] == ["configuration", "labels"]
    words = " ".join(one.words for one in alarms)
    assert not set("<>@[]`*|") & set(words)
    assert "//" not in words


def test_the_report_has_the_alarms_of_the_watch(look, model, tmp_path):
    model.flipped = set(range(30))
    for _ in range(8):
        look()
    study = quaver.Study.open(tmp_path, functions={"fake": model})
    study.run()
    page = study.report().read_text(encoding="utf-8")
    assert "the labels of several prompts have changed" in page


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("canary.json", '"parts": 3', '"parts": 0'),
        ("canary.json", '"prompts"', '"promts"'),
        ("canary.json", '"variant"', '"other"'),
        ("occasions.json", '"time": "', '"time": "x'),
        ("occasions.json", "+00:00", ""),
        ("canary.json", '"confirmed": 40', '"confirmed": "40"'),
    ],
)
def test_a_damaged_file_is_one_error(file, old, new, look, tmp_path):
    path = tmp_path / "watch" / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(QuaverError) as caught:
        look()
    assert "renew" in (caught.value.fix or "")


@pytest.mark.parametrize("damage", ["repeat = NULL", "repeat = 1.5", "item = 'x'", "item = -5"])
def test_answers_that_are_in_no_place_of_the_canary_are_one_error(damage, look, tmp_path):
    look()
    with closing(sqlite3.connect(tmp_path / "watch" / "responses.db")) as database, database:
        database.execute(f"UPDATE calls SET {damage} WHERE rowid = 1")
    with pytest.raises(QuaverError):
        look()


def _of_fields(folder, answer):
    """A study whose answers have fields: a label, a set of labels and a number."""
    (folder / "items.csv").write_text(ITEMS)
    fields = {
        "tone": {"labels": ["positive", "negative"]},
        "topics": {"labels": ["tax", "war"], "several": True},
        "amount": {"level": "ratio"},
    }
    asked = {
        "name": "Fields",
        "task": {"held": False, "fields": fields},
        "items": {"source": str(folder / "items.csv"), "id": "id", "text": "{{ text }}"},
        "prompt": {"instruction": "Code this."},
        "models": [{"name": "fake", "use": "function"}, {"name": "other", "use": "function"}],
    }
    return quaver.Study.open(asked, folder=folder / "study", functions={"fake": answer, "other": answer})


def test_answers_with_fields_are_watched_as_a_whole(tmp_path):
    amount = 12.5

    def answer(text, prompt):
        return json.dumps({"tone": "positive", "topics": ["tax", "war"], "amount": amount})

    first = watch(_of_fields(tmp_path, answer), SMALL)
    assert (first.number, first.alarms) == (0, [])
    labels = set(first.occasions["fake"][0].labels)
    assert "tone=positive, topics=tax;war, amount=12.5" in labels
    assert labels == {"tone=positive, topics=tax;war, amount=12.5"}
    assert watch(_of_fields(tmp_path, answer)).alarms == []
    amount = 13.0  # one field alone
    looked = watch(_of_fields(tmp_path, answer))
    changes = looked.occasions["fake"][-1].changes
    assert changes
    assert all(change["before"].replace("12.5", "13") == change["after"] for change in changes)
    while not looked.alarms and looked.number < 20:
        looked = watch(_of_fields(tmp_path, answer))
    assert looked.alarms


def test_answers_with_fields_that_give_no_labels_stay_readable(tmp_path):
    said = "I'm sorry, but I cannot help with that."
    study = _of_fields(tmp_path, lambda text, prompt: said)
    assert watch(study, SMALL).number == 0
    assert watch(study).alarms == []
