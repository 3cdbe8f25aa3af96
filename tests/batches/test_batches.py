"""A study asked in batches, from each provider, whatever happens on the way."""

import json
import sqlite3
from base64 import b64encode
from contextlib import closing

import pytest
from tests.batches.cases import CASES, World, document, world
from tests.batches.farm import DAY
from tests.batches.reaching import Answer, Broken
from tests.pictures import png

from quaver.collect.store.batch_rows import StoredBatches
from quaver.collect.store.read_only import copy_store
from quaver.collect.store.response_store import Store
from quaver.errors import ModelError, RateLimited, SpecError
from quaver.study.collection.forecast import in_dollars
from quaver.study.session import Study


@pytest.fixture(params=CASES)
def name(request):
    return str(request.param)


@pytest.fixture
def one(name, tmp_path):
    with world(name, tmp_path / "s") as entered:
        yield entered


def states(study):
    with sqlite3.connect(study.folder / "responses.db") as db:
        return [state for (state,) in db.execute("SELECT state FROM batches ORDER BY id")]


def test_what_is_handed_over_today_is_collected_tomorrow(one, tmp_path):
    """By a copy of the study on another machine, too, as long as it has the key, which is written nowhere."""
    first = one.run()
    assert (first.ended, first.done, first.missing) == ("batches", 0, 12)
    (out,) = one.study().status().batches
    assert (out["state"], out["calls"], out["done"], out["since"]) == ("running", 12, 0, one.clock.now)
    assert 0 < out["money"] < 0.01
    assert out["expires"] == pytest.approx(one.clock.now + one.case.hours * 3600, abs=1)
    one.folder = one.folder.rename(tmp_path / "elsewhere")
    one.clock.now += DAY / 2
    again = one.run()
    assert (again.ended, again.before, again.done, again.missing) == ("finished", 0, 12, 0)
    assert one.paid == [1] * 12
    assert len(one.farm.jobs) == 1
    labels = one.study().annotations().filter(item="i3")["label"]
    assert labels.cast(str).to_list() == ["yes", "yes"]
    assert not one.study().status().batches
    assert one.run().ended == "finished"
    with sqlite3.connect(one.folder / "responses.db") as db:
        keys = {key.hex() for (key,) in db.execute("SELECT key FROM responses")}
    assert set(one.farm.billed) == keys, "a custom id is the key of its call"
    for file in one.folder.rglob("*"):
        assert not file.is_file() or one.case.key.encode() not in file.read_bytes(), file


def test_answers_from_batches_cost_half(one):
    at_once = one.study().source.prices["m"]
    outcome = one.run(wait=True)
    assert (outcome.ended, outcome.done, one.paid) == ("finished", 12, [1] * 12)
    assert outcome.money == pytest.approx(at_once.of(12 * 20, 0, 12 * 1) / 2)
    assert one.study().status().money == pytest.approx(outcome.money)


def planned(folder, **model):
    (found,) = Study.open(document({"name": "m", **model}), folder=folder).plan().models
    return found


OTHER = {"use": "openai_compatible", "preset": "openai", "model": "x", "price": {"input": 2.0, "output": 8.0}}


@pytest.mark.parametrize("name", [*CASES, "no published price"])
def test_a_batch_is_planned_at_half_the_price(name, tmp_path, monkeypatch):
    case = CASES.get(name, CASES["openai"])
    monkeypatch.setenv(case.variable, case.key)
    found = planned(tmp_path, **(case.model if name in CASES else OTHER))
    half = in_dollars((found["least_cost"] / 2, found["most_cost"] / 2, None))
    assert found["batch"] == f"{half}, within {case.hours} h"


def test_a_model_without_batches_says_so(tmp_path):
    model = {"name": "m", "use": "openai_compatible", "preset": "ollama", "model": "x"}
    assert planned(tmp_path, **model)["batch"] == ""
    with pytest.raises(SpecError) as told:
        Study.open(document(model | {"batch": True}), folder=tmp_path / "s").run()
    assert "batch" in told.value.where


def test_a_refused_request_is_an_error_and_costs_nothing(one):
    one.refuses = True
    outcome = one.to_the_end()
    assert (outcome.ended, outcome.errors, one.paid) == ("finished", 2, [1] * 10)
    one.refuses = False
    assert one.to_the_end(retry_errors=True).ended == "finished"
    assert one.paid == [1] * 12


def test_what_expired_goes_into_the_next_batch(name, tmp_path):
    with world(name, tmp_path / "s", longest=4 * DAY) as one:
        one.run()
        one.clock.now += 3 * DAY
        one.farm.behaviour.longest = 3600.0
        second = one.run()
        assert (0 < second.done < 12) if one.case.keeps else not second.done
        assert one.to_the_end().ended == "finished"
        assert one.paid == [1] * 12
        first, *others = states(one.study())
        assert (first, set(others)) == ("expired", {"collected"})


def test_what_was_cancelled_elsewhere_goes_into_the_next_batch(one):
    one.run()
    one.clock.now += 1800
    (job,) = one.farm.jobs
    one.farm.advance(job)
    one.farm.cancel(job)
    one.clock.now += 60
    second = one.run()
    assert second.ended == "batches"
    assert (0 < second.done < 12) if one.case.keeps else not second.done
    assert one.to_the_end().ended == "finished"
    assert (one.paid, states(one.study())) == ([1] * 12, ["cancelled", "collected"])


def test_batches_can_be_cancelled(one):
    one.run()
    one.clock.now += 1800
    one.run(cancel_batches=True)
    one.clock.now += 60
    cancelled = one.run(cancel_batches=True)
    assert cancelled.ended == "finished"
    assert not one.study().status().batches
    assert (0 < one.study().status().answered < 12) == one.case.keeps
    assert one.to_the_end().ended == "finished"
    assert one.paid == [1] * 12


def test_what_nobody_can_read_is_counted(name, tmp_path):
    with world(name, tmp_path / "s", unusable=0.4) as one:
        assert one.to_the_end().ended == "finished"
        status = one.study().status()
        assert status.discarded == sum(one.farm.billed.values()) - sum(one.farm.paid.values()) > 0
        assert set(one.farm.paid.values()) == {1}


@pytest.mark.parametrize("lost", ["reply", "request", "late"])
def test_a_start_whose_reply_was_lost_is_found_again(one, lost):
    late = []
    losses = []

    def wire(request):
        if losses or not is_start(request):
            return
        losses.append(1)
        if lost == "reply":
            one.provider(request)
        if lost == "late":
            late.append(request)
        raise Broken

    def sleep(seconds):
        one.clock.now += seconds
        if late and not one.farm.jobs:
            one.provider(late[0])  # it was on its way all the time

    one.wire = wire
    one.clock.sleep = sleep
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("time.sleep", sleep)
        assert one.to_the_end().ended == "finished"
    assert one.paid == [1] * 12
    assert len(one.farm.jobs) == 1


def is_start(request):
    path = request.path
    return request.method == "POST" and (path.endswith("/batches") or "batchGenerateContent" in path)


def test_a_full_queue_waits(name, tmp_path):
    with world(name, tmp_path / "s", queue=8) as one:
        assert one.to_the_end().ended == "finished"
        assert one.paid == [1] * 12


def test_without_credit_nothing_is_lost(name, tmp_path):
    with world(name, tmp_path / "s", credit=5) as one:
        one.run()
        one.clock.now += DAY / 2
        with pytest.raises(RateLimited):
            one.run()
        assert one.study().status().answered == 5
        one.farm.behaviour.credit = None
        assert one.to_the_end().ended == "finished"
        assert one.paid == [1] * 12


def test_a_follow_up_goes_into_the_next_batch(one):
    one.study = lambda **more: World.study(one, follow_ups=["verbal_decimal"])
    assert one.to_the_end().ended == "finished"
    assert (len(one.farm.jobs), one.paid) == (2, [1] * 24)


def test_the_next_level_of_labels_goes_into_the_next_batch(one):
    under = [{"code": code, "parent": "yes"} for code in ("surely", "perhaps")]
    task = {"labels": [*under, "no"], "levels": "one by one"}
    one.study = lambda **more: World.study(one, task=task)
    outcome = one.to_the_end()
    said = one.study().annotations()["reason"].str.starts_with("level 2, under “yes”").sum()
    assert said > 0, "the provider says yes again, which is no answer to the second question"
    assert (outcome.ended, outcome.missing) == ("finished", 0)
    assert (len(one.farm.jobs), one.paid) == (2, [1] * (12 + said))


def test_the_labels_of_parts_are_joined_in_the_next_batch(one):
    long = "\n\n".join(f"Paragraph {k}" for k in range(3))
    items = {
        "source": [{"id": "a", "text": long}, {"id": "b", "text": "Text"}],
        "id": "id",
        "text": "{{ text }}",
    }
    items["split"] = {"tokens": 4, "join": "model"}
    one.study = lambda **more: World.study(one, items=items)
    outcome = one.to_the_end()
    assert (outcome.ended, outcome.total, outcome.missing) == ("finished", 2 * (4 + 1), 0)
    assert (len(one.farm.jobs), one.paid) == (2, [1] * 10)
    rows = one.study().annotations().select("item", "repeat").rows()
    assert sorted(rows) == [("a", 0), ("a", 1), ("b", 0), ("b", 1)]


def test_a_budget_counts_what_is_out(one):
    def capped(**more):
        return World.study(one, budget={"calls": 8})

    one.study = capped
    first = one.run()
    assert (first.ended, len(one.farm.jobs[0].lines)) == ("batches", 8)
    assert one.run().ended == "batches"
    one.clock.now += DAY / 2
    assert one.run().ended == "calls"
    assert one.paid == [1] * 8


def test_another_account_does_not_ask_again(one):
    one.run()
    jobs, one.farm.jobs = one.farm.jobs, []
    with pytest.raises(ModelError, match="does not know"):
        one.run()
    one.farm.jobs = jobs
    one.clock.now += DAY / 2
    assert one.run().ended == "finished"
    assert one.paid == [1] * 12


def test_an_edited_study_keeps_what_was_out(one):
    one.run()
    one.clock.now += DAY / 2
    edited = World.study(one, repeats=3)
    assert edited.run().done == 12
    one.study = lambda **more: World.study(one, repeats=3)
    assert one.to_the_end().ended == "finished"
    assert one.paid == [1] * 18


def test_results_that_do_not_say_whose_they_are_are_not_asked_again(tmp_path):
    """Google has returned results in another order than requests, and without the metadata of these."""
    with world("gemini", tmp_path / "s") as one:
        one.run()
        one.clock.now += DAY / 2
        one.wire = lambda request: Answer(200, one.provider(request).content.replace(b'"key"', b'"k"'))
        with pytest.raises(ModelError, match="which request"):
            one.run()
        one.wire = lambda request: None
        assert (one.run().ended, one.paid, len(one.farm.jobs)) == ("finished", [1] * 12, 1)


@pytest.mark.parametrize("faults", [0.5, 1.0])
def test_a_fault_of_the_server_is_tried_again_and_then_an_error(name, tmp_path, faults):
    with world(name, tmp_path / "s", faults=faults) as one:
        one.run()
        one.clock.now += DAY / 2
        again = one.run()
        assert (again.ended, again.missing > 0) == ("batches", True), "they are left"
        assert one.to_the_end().ended == "finished"
        answered = one.study().status()
        assert answered.answered == 12
        assert one.paid == [1] * (12 - answered.errors)
        assert len(one.farm.jobs) <= 3


def test_an_answer_to_an_earlier_design_is_not_asked_again_while_a_doubt_is_settled(one):
    lost = []

    def wire(request):
        if lost or not is_start(request):
            return
        lost.append(1)
        one.provider(request)
        raise Broken

    one.farm.behaviour.longest = 10.0
    one.run()
    one.wire = wire
    one.study = lambda **more: World.study(one, repeats=3)
    one.farm.jobs[0].valid += 50.0  # it is answered while the next start is in doubt
    for line in one.farm.jobs[0].lines:
        line.at += 50.0
    assert one.to_the_end().ended == "finished"
    assert one.paid == [1] * 18


def rows(path, table):
    with closing(sqlite3.connect(path)) as db:
        return db.execute(f"SELECT * FROM {table} ORDER BY 1, 2, 3").fetchall()


def half_done(one):
    """A batch that was collected, and another that is out."""
    one.run()
    one.clock.now += DAY / 2
    one.run()
    one.study = lambda **more: World.study(one, repeats=4)
    one.run()


def test_a_copy_has_no_batches(tmp_path):
    with world("openai", tmp_path / "s") as one:
        half_done(one)
        copy_store(one.folder / "responses.db", tmp_path / "copy.db")
    assert not rows(tmp_path / "copy.db", "batches")
    assert rows(tmp_path / "copy.db", "responses")


def test_calls_that_are_out_are_not_asked_directly(tmp_path):
    with world("openai", tmp_path / "s") as one:
        one.run()
        with closing(Store(one.folder / "responses.db")) as store:
            assert len(StoredBatches(store).out()) == 12
        assert one.study().run(requests=5).done == 0


def test_a_batch_of_another_model_is_left_alone(tmp_path):
    with world("openai", tmp_path / "s") as one:
        one.run()
        one.clock.now += DAY / 2
        model = {**one.case.model, "model": "gpt-5-mini", "batch": True}
        other = Study.open(document(model), folder=one.folder)
        assert other.run().done == 0
        assert other.run(wait=True).done == 12
        assert one.run().done == 12


def test_pictures_go_into_batches_and_one_that_cannot_be_used_costs_itself(one):
    uri = "data:image/png;base64," + b64encode(png(8, 8)).decode()
    rows = [{"id": f"i{k}", "text": f"Text {k}", "image": uri} for k in (1, 3)]
    rows.append({"id": "bad", "text": "Text 5", "image": "none.png"})
    shown = {"items": {"source": rows, "id": "id", "text": "{{ text }}", "images": "image"}}
    shown["variants"] = [{"use": "pictures", "size": 50}]

    def run():
        return one.study(**shown).run()

    first = run()
    assert (first.ended, first.missing) == ("batches", 8)
    sent = [json.dumps(line.body) for job in one.farm.jobs for line in job.lines]
    medium = one.study(**shown).experiment.items[0].media[0]
    for version in medium.every:
        assert sum(version.base64() in body for body in sent) == 4
    one.clock.now += DAY / 2
    assert run().ended == "finished"
    assert one.paid == [1] * 8
    read = one.study(**shown).annotations().group_by("item", "status").len().sort("item").rows()
    assert read == [("bad", "error", 4), ("i1", "valid", 4), ("i3", "valid", 4)]
