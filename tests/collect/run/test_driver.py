"""The driver: what is asked, in which groups it is stored, and how it ends."""

import os
import signal
import threading
from asyncio import CancelledError

import pytest
from tests.collect.fakes import answers, echo, fake, opened, request, run

from quaver.collect.run.driver import Progress, collect
from quaver.collect.store.response_store import Store
from quaver.core.conversation import finished
from quaver.errors import ModelError, StoreError


async def nothing(): ...


def test_responses_are_written_in_groups(tmp_path, monkeypatch):
    sizes = []
    write = Store.write

    def counted(self, receipts):
        sizes.append(sum(len(one.rows) for one in receipts))
        return write(self, receipts)

    monkeypatch.setattr(Store, "write", counted)
    store = opened(tmp_path, items=6000)
    run(store, fake(), map(request, range(6000)), total=6000)
    assert sum(sizes) == 6000
    assert max(sizes) < 5000 + 512 * 2, "a group is at most 5,000 and what came in together with the last"
    assert len(sizes) <= 20


def test_a_held_answer_is_written_while_the_next_one_takes_long(tmp_path):
    store = opened(tmp_path, items=2)
    second = threading.Event()

    def slow(asked, call):
        if call.item == 1:
            assert second.wait(30)
        return echo(asked, call)

    def seen(progress):
        if progress.done == 1:
            second.set()

    outcome = run(store, fake(slow), map(request, range(2)), total=2, watch=seen)
    assert outcome.done == 2
    assert second.is_set()


@pytest.mark.parametrize(("calls", "asked"), [(0, 0), (1, 0), (2, 2), (5, 4), (6, 6), (7, 6)])
def test_a_budget_of_calls_is_kept(tmp_path, calls, asked):
    store, model = opened(tmp_path, repeats=2), fake()
    outcome = run(store, model, (request(item, (0, 1)) for item in range(3)), total=6, calls=calls)
    assert len(model.asked) == outcome.done == asked
    assert outcome.ended == ("finished" if asked == 6 else "calls")
    assert outcome.missing == 6 - asked


def test_a_budget_of_time_is_kept(tmp_path):
    def endless():
        item = 0
        while True:
            yield request(item)
            item += 1

    store, model = opened(tmp_path), fake()
    outcome = run(store, model, endless(), total=10**9, seconds=0.05)
    assert outcome.ended == "seconds"
    with Store(tmp_path / "responses.db").db as db:
        ((stored,),) = db.execute("SELECT count(*) FROM responses")
    assert stored == len(model.asked) == outcome.done


def test_several_models_work_side_by_side(tmp_path):
    store = opened(tmp_path)
    meeting = threading.Barrier(2, timeout=30)

    def meets(asked, call):
        meeting.wait()
        return echo(asked, call)

    requests = {name: iter([request(item, condition=item)]) for item, name in enumerate("ab")}
    models = {name: fake(meets) for name in "ab"}
    outcome = collect(requests, models, store, Progress(2, 0))
    assert outcome.done == 2


def test_a_model_that_is_of_no_use_loses_nothing_of_the_others(tmp_path):
    store = opened(tmp_path, items=60)

    def breaks(asked, call):
        if call.item == 10:
            raise ModelError("the server is gone")
        return echo(asked, call)

    requests = {"bad": map(request, range(20)), "good": map(request, range(20, 60))}
    models = {"bad": fake(breaks), "good": fake()}
    with pytest.raises(ModelError, match="server is gone"):
        collect(requests, models, store, Progress(60, 0))
    assert {item for _, item, _ in answers(store)} == {*range(10), *range(20, 60)}


def test_models_that_are_given_up_are_named_with_what_is_stored(tmp_path):
    store = opened(tmp_path, items=30)

    def breaks(asked, call):
        raise ModelError("the server is gone", fix="start it")

    requests = {name: map(request, range(at, at + 10)) for name, at in (("a", 0), ("good", 10), ("b", 20))}
    models = {"a": fake(breaks), "good": fake(), "b": fake(breaks)}
    with pytest.raises(ModelError) as caught:
        collect(requests, models, store, Progress(30, 0))
    assert {item for _, item, _ in answers(store)} == {*range(10, 20)}
    told = "start it; given up: {}; 10 of 30 calls are stored"
    assert caught.value.fix in (told.format("a, b"), told.format("b, a"))


@pytest.mark.parametrize("raised", [SystemExit, KeyboardInterrupt, MemoryError, RuntimeError, CancelledError])
def test_whatever_a_model_raises_is_the_response_of_that_call(tmp_path, raised):
    store = opened(tmp_path, items=20)

    def raises(asked, call):
        if call.item in (10, 11):
            raise raised("odd")
        return echo(asked, call)

    outcome = run(store, fake(raises), map(request, range(20)), total=20)
    assert (outcome.ended, outcome.done, outcome.errors) == ("finished", 20, 2)
    found = answers(store)
    assert [item for (_, item, _), one in found.items() if one.finish == "error"] == [10, 11]
    assert found[0, 10, 0].error == f"{raised.__name__}: odd"


def test_an_answer_that_cannot_be_written_loses_nothing_of_its_group(tmp_path, monkeypatch):
    """As where something gets past the check of what a model hands over."""
    monkeypatch.setattr("quaver.collect.run.model_answers.valid_responses", lambda _, given: given)
    odd = [
        {"served_model": {"a": 1}}, {"fingerprint": ["x"]}, {"prompt_tokens": 10**30}, {"text": None},
        {"thinking": "\ud83d"}, {"raw": {(1, 2): 3}}, {"error": 5}, {"latency": object()}, {"text": 5},
    ]  # fmt: skip
    store = opened(tmp_path, items=300, repeats=2)

    def answer(asked, call):
        good = echo(asked, call)
        at = call.item - 100
        return good._replace(**odd[at]) if 0 <= at < len(odd) and call.repeat else good

    requests = [request(item, (0, 1)) for item in range(300)]
    outcome = run(store, fake(answer), requests, total=600)
    found = answers(store)
    assert (outcome.done, len(found)) == (600, 600)
    wrong = {place: one.error for place, one in found.items() if one.finish == "error"}
    assert outcome.errors == len(wrong) == len(odd) - 1, "half a character is written as its escape"
    assert all(repeat == 1 and "cannot be" in (error or "") for (_, _, repeat), error in wrong.items())
    for place, one in found.items():
        assert place in wrong or one.text == f"{place[1]}.{place[2]}"


def test_a_first_interrupt_lets_what_is_in_flight_come_in(tmp_path):
    store = opened(tmp_path, items=100, repeats=3)

    def interrupted(asked, call):
        if (call.item, call.repeat) == (5, 0):
            os.kill(os.getpid(), signal.SIGINT)
            assert stopped.wait(30)
        return echo(asked, call)

    stopped = threading.Event()
    handler = signal.getsignal(signal.SIGINT)
    model = fake(interrupted)

    def requests():
        for item in range(100):
            yield request(item, (0, 1, 2))

    def seen(progress):
        stopped.set()  # called by the main thread after the signal at the latest twice a second

    outcome = run(store, model, requests(), total=300, watch=seen)
    assert outcome.ended == "interrupted"
    assert signal.getsignal(signal.SIGINT) == handler
    assert len(answers(store)) == outcome.done == len(model.asked)
    assert outcome.done % 3 == 0
    assert 18 <= outcome.done < 300


def test_a_second_interrupt_gives_up_what_is_in_flight_and_keeps_what_came_in(tmp_path):
    store = opened(tmp_path, items=100)
    never = threading.Event()

    def stuck(asked, call):
        if call.item == 5:
            os.kill(os.getpid(), signal.SIGINT)
            never.wait(1)
            os.kill(os.getpid(), signal.SIGINT)
            never.wait(30)
        return echo(asked, call)

    with pytest.raises(KeyboardInterrupt):
        run(store, fake(stuck), map(request, range(100)), total=100)
    never.set()
    assert {item for _, item, _ in answers(store)} >= set(range(5))


def test_a_finished_run_leaves_no_thread(tmp_path):
    finished(nothing())  # the event loop stays
    before = set(threading.enumerate())
    run(opened(tmp_path), fake(), map(request, range(3)), total=3)
    started = set(threading.enumerate()) - before
    for thread in started:
        thread.join(30)
    assert not [thread for thread in started if thread.is_alive()]


def test_sqlites_own_word_for_a_full_disk(tmp_path):
    store, model = opened(tmp_path, items=2000), fake()
    pages = store.db.execute("PRAGMA page_count").fetchone()[0]
    store.db.execute(f"PRAGMA max_page_count = {pages + 60}")
    with pytest.raises(StoreError) as caught:
        run(store, model, map(request, range(2000)), total=2000)
    assert "full" in (caught.value.found or "")
    kept = answers(store)
    store.db.execute("PRAGMA max_page_count = 4294967294")
    done = {(0, item, 0) for item in range(2000)} - set(kept)
    run(store, fake(), (request(item) for _, item, _ in sorted(done)), total=2000)
    assert len(answers(store)) == 2000
    assert kept.items() <= answers(store).items()


def test_what_waits_to_be_written_is_little(tmp_path):
    """When the disk is full, all that was answered must fit into what was set aside."""
    store, written = opened(tmp_path, items=5000, repeats=3), threading.Event()
    model = fake()
    waiting = []

    def seen(progress):
        if progress.done and not written.is_set():
            written.wait(0.5)  # the writer stands still; the worker goes on until it may not
            written.set()
            waiting.append(len(model.asked) - progress.done)

    run(store, model, (request(item, (0, 1, 2)) for item in range(5000)), total=15000, watch=seen)
    assert 0 < waiting[0] < 3000
