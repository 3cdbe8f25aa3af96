"""The ledger: what was spent, what failed, and which configurations answered."""

import pytest
from tests.collect.fakes import counted, fake, opened, request, run

from quaver.collect.run.ledger import ledger, pace, spent, without_words
from quaver.collect.run.progress import Price, Spent
from quaver.collect.store.response_store import Store
from quaver.collect.store.spill import receipt
from quaver.core.calls import Response


def served(asked, call):
    if call.item == 4:
        return Response("", finish="error", error=f"HTTP 503: upstream {call.repeat}")
    return Response(
        "yes",
        prompt_tokens=10,
        cached_tokens=4,
        completion_tokens=3,
        thinking_tokens=2,
        served_model="m-1",
        fingerprint="fp_a" if call.item < 2 else "fp_b",
    )


def test_what_was_spent_also_on_what_fits_no_call_any_more(tmp_path):
    store = opened(tmp_path, items=5)
    run(store, fake(served), map(request, range(5)))
    store.calls.place("other", [], [], [request(0).calls[0]])
    entries = ledger(store)
    assert sum(one.calls for one in entries) == 5
    assert sum(one.thinking_tokens for one in entries) == 8
    dollar = Price(input=1e6, output=1e6, cached=0)
    assert spent(entries, {"m": dollar}) == Spent(1, 4 * 13, 4 * 9)
    assert spent(entries, {"m": None}) == Spent(1, 52, 0)


def test_what_was_taken_from_another_study_is_not_paid_again(tmp_path):
    store = opened(tmp_path, items=2)
    run(store, fake(served), [request(0)])
    taken = store.register("m", "fake", {}, reused="other")
    store.write([receipt((request(1), [served(request(1), request(1).calls[0])]), taken)])
    dollar = Price(input=1e6, output=1e6, cached=0)
    assert spent(ledger(store), {"m": dollar}) == Spent(1, 13, 9)


def test_answers_that_end_in_thought_are_told(tmp_path):
    said = ["", " ", "<think>so", "<think>so</think>A", "A"]
    store = opened(tmp_path, items=5)
    run(store, fake(lambda asked, call: Response(said[call.item], finish="length")), map(request, range(5)))
    (message,) = without_words(ledger(store))
    assert message.startswith("3 answers of m ")
    assert "`max_tokens`" in message


def test_answers_that_are_empty_are_told(tmp_path):
    said = ["", " \n", "<think>so", "<think>so</think>A", "A"]
    store = opened(tmp_path, items=6)
    run(store, fake(lambda asked, call: Response(said[call.item])), map(request, range(5)))
    run(store, fake(lambda asked, call: Response("", finish="error", error="x")), [request(5)])
    (message,) = without_words(ledger(store))
    assert message.split()[:6] == ["3", "of", "6", "answers", "of", "m"]


def test_the_pace_of_the_last_minute(tmp_path):
    store = opened(tmp_path, items=30)
    assert pace(store) == 0
    run(store, fake(), map(request, range(30)))
    (last,) = store.rows("SELECT max(received) FROM responses")[0]
    assert pace(store, last + 10) == pytest.approx(3, rel=0.01)
    assert pace(store, last + 100) == 0
    assert pace(store, last + 10, since=last + 1) == 0, "an earlier run says nothing of this one"


def test_what_was_drawn_together_is_counted_once(tmp_path):
    def together(asked, call):
        raw = {"completion_tokens_of_request": 10, "answers_of_request": 4}
        return Response("yes", prompt_tokens=5, raw=raw)

    store = opened(tmp_path, items=2, repeats=4)
    outcome = run(store, fake(together), [request(item, (0, 1, 2, 3)) for item in range(2)], tokens=1000)
    assert outcome.tokens == 2 * (4 * 5 + 10)
    assert spent(ledger(store), {}).tokens == outcome.tokens
    assert store.calls.usage()["m"]["completion_tokens"] == 20
    assert store.calls.usage()["m"]["counted"] == 8


def test_what_fits_no_call_stands_apart(tmp_path):
    store = opened(tmp_path, items=3)
    source = store.register("m", "fake", {})
    for item in range(5):
        answer = Response("x", prompt_tokens=item, completion_tokens=1, served_model="a")
        store.write([receipt((request(item), [answer]), source)])
    assert [(one.placed, one.calls, one.prompt_tokens) for one in ledger(store)] == [(True, 5, 10.0)]
    store.calls.place("other", [], [], (request(item).calls[0] for item in range(2)))
    assert [(one.placed, one.calls, one.prompt_tokens) for one in ledger(store)] == [
        (True, 2, 1.0),
        (False, 3, 9.0),
    ]


def test_what_is_read_at_once_is_of_one_moment(tmp_path):
    reader, writer = opened(tmp_path, items=3), Store(tmp_path / "responses.db")
    source = writer.register("m", "fake", {})
    with reader.at_once():
        before = counted(reader)
        writer.write([receipt((request(1), [Response("yes")]), source)])
        assert not reader.rows("SELECT response FROM calls")
        assert counted(reader) == before == (0, 0, 0)
    assert counted(reader) == (1, 0, 0)
