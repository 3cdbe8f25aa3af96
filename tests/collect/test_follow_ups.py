"""Requests that follow from answers: when they are asked, and that none is lost."""

import threading

import pytest
from tests.collect.fakes import Fake, answers, echo, fake, key, request, run

from quaver.collect.store.response_store import Store
from quaver.core.calls import Request, Response
from quaver.core.records import Condition
from quaver.errors import ModelError


def followed(asked, responses):
    """One follow-up for each answer of the first condition that is not an error."""
    return [
        request_of(call)
        for call, response in zip(asked.calls, responses, strict=True)
        if call.condition == 0 and response.finish != "error"
    ]


def request_of(call):
    one = request(call.item, (call.repeat,), condition=1, text=f"about {call.item}.{call.repeat}")
    return Request(one.model, one.prompt, one.decoding, (), 0, (one.calls[0]._replace(parent=call.key),))


def opened(folder, items):
    store = Store(folder / "responses.db")
    conditions = [Condition("m", "v", "greedy", 2), Condition("m", "v", "greedy", 2, "sure", 0)]
    store.calls.place("f", conditions, [str(item) for item in range(items)], [])
    return store


def test_errors_are_not_followed_and_counted_so(tmp_path):
    def fails_on_one(asked, call):
        return Response("", "error", "down") if call.item == 1 else echo(asked, call)

    store = opened(tmp_path, 3)
    run(store, fake(fails_on_one), (request(item, (0, 1)) for item in range(3)), following=followed)
    assert len(answers(store)) == 3 * 2 + 2 * 2
    assert store.calls.unfollowed().total() == 2
    assert store.calls.unfollowed(errors=False).total() == 0


@pytest.mark.long
def test_a_follow_up_does_not_wait_for_the_rest(tmp_path):
    seen = []
    asked_early = threading.Event()

    def slow(asked, call):
        seen.append(call.condition)
        if call.condition == 1:
            asked_early.set()
        elif call.item == 5:  # long enough for the first answers to be stored
            asked_early.wait(0.01)
        else:
            threading.Event().wait(0.3)
        return echo(asked, call)

    run(opened(tmp_path, 6), fake(slow), map(request, range(6)), following=followed)
    assert seen.index(1) < 6, "the first follow-up came before the last answer"


def test_a_budget_stops_follow_ups_too(tmp_path):
    store = opened(tmp_path, 4)
    outcome = run(store, fake(), map(request, range(4)), total=8, calls=6, following=followed)
    assert (outcome.ended, outcome.done, outcome.missing) == ("calls", 6, 2)


def test_a_model_that_gives_up_ends_the_wait_for_follow_ups(tmp_path):
    class GivesUp(Fake):
        def answer(self, requests):
            for number, answered in enumerate(super().answer(requests)):
                if number == 2:
                    raise ModelError("down")
                yield answered

    store = opened(tmp_path, 4)
    with pytest.raises(ModelError, match="down"):
        run(store, GivesUp(echo), map(request, range(4)), following=followed)
    assert {key(0), key(1)} <= set(store.answered([key(item) for item in range(4)]))
