"""Budgets: reserved, settled, and never overshot by more than what was in flight."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.collect.fakes import Fake, echo, fake, opened, request, run

from quaver.collect.run.driver import Progress, collect
from quaver.collect.run.feed import Feed
from quaver.collect.run.ledger import ledger, spent
from quaver.collect.run.progress import Budget, Price, Spent
from quaver.core.calls import Response

PRICE = Price(input=1e6, output=2e6, cached=0.5e6)
"""Dollars a token: a prompt's 1, an answer's 2, a cached one's 0.5."""


def took(prompt, completion, cached=0):
    return Response("x", prompt_tokens=prompt, cached_tokens=cached, completion_tokens=completion)


class Crowd(Fake):
    """Has several requests in flight, as a server takes them."""

    most = 10

    def answer(self, requests):
        held = []
        for one in requests:
            self.asked += [call.key for call in one.calls]
            held.append(one)
            if len(held) == self.most:
                first = held.pop(0)
                yield first, [self._answer(first, call) for call in first.calls]
        for one in held:
            yield one, [self._answer(one, call) for call in one.calls]


def test_what_a_request_takes_replaces_what_was_expected_of_it():
    budget = Budget(tokens=100, prices={"m": PRICE})
    first = request(0)  # 6 characters in a message, at most 8 tokens: 2.33 + 8 + 8 are expected
    assert budget.lets(first)
    budget.settle([(first, [took(prompt=10, completion=3, cached=4)])])
    assert budget.spent == Spent(1, 13, 6 * 1 + 4 * 0.5 + 3 * 2)
    budget.settle([(first, [took(1, 1)])])
    assert budget.spent == Spent(1, 15, 14 + 3), "what comes unexpectedly is counted too"


def test_a_request_waits_while_others_are_in_flight_and_closes_the_budget_when_none_is():
    budget = Budget(tokens=40)
    first, second = request(0), request(1)
    feed = Feed(budget, iter([first, second, request(2)]))
    assert list(feed) == [first, second]
    assert feed.is_refused
    assert budget.stopped is None
    budget.settle([(first, [took(1, 1)])])
    budget.settle([(second, [took(30, 5)])])
    assert list(feed) == []
    assert budget.stopped == "tokens"
    assert not feed.is_refused


def test_what_failed_is_not_charged_and_what_says_nothing_of_its_tokens_is():
    budget = Budget(tokens=1000, prices={"m": PRICE})
    failed, silent = request(0), request(1)
    assert budget.lets(failed)
    assert budget.lets(silent)
    budget.settle([(failed, [Response("", finish="error", error="gone")])])
    assert budget.spent == Spent(2, 0, 0)
    budget.settle([(silent, [Response("yes")])])
    prompt, answer = len('[["user", "text 1"]]') / 3, len("yes") / 3
    assert budget.spent.tokens == pytest.approx(prompt + answer)
    assert budget.spent.money == pytest.approx(prompt + 2 * answer)


def test_what_costs_nothing_finds_room_when_the_money_is_spent():
    budget = Budget(money=5, spent=Spent(0, 0, 5), prices={"paid": PRICE})
    assert budget.lets(request(0))
    assert budget.stopped is None


@given(
    cap=st.integers(0, 2000),
    lengths=st.lists(st.tuples(st.integers(1, 30), st.integers(0, 8)), min_size=1, max_size=60),
)
def test_a_cap_is_overshot_by_no_more_than_what_was_in_flight(cap, lengths):
    budget = Budget(tokens=cap)
    flying = []
    for item, (prompt, completion) in enumerate(lengths):
        asked = request(item)
        if budget.lets(asked):
            assert budget.spent.tokens <= cap, "nothing is let through once the cap is reached"
            flying.append((asked, took(prompt, completion)))
        if len(flying) == 5 or budget.stopped:
            in_flight = sum(38 for _ in flying)
            before = budget.spent.tokens
            for one, answer in flying:
                budget.settle([(one, [answer])])
            assert budget.spent.tokens <= before + in_flight
            flying.clear()
    assert budget.spent.tokens <= cap + 5 * 38


def test_a_budget_of_tokens_is_nearly_used_up_however_careful_the_start(tmp_path):
    store, model = opened(tmp_path, items=500), Crowd(echo)
    outcome = run(store, model, map(request, range(500)), total=500, tokens=1100)
    assert outcome.ended == "tokens"
    assert outcome.tokens == 11 * outcome.done
    assert 1100 - 2 * 19 <= outcome.tokens <= 1100
    assert outcome.missing == 500 - outcome.done
    assert len(model.asked) == outcome.done, "what was turned away was not asked"


def test_a_budget_of_money_goes_by_the_models_price(tmp_path):
    store, model = opened(tmp_path, items=100), fake()
    outcome = run(store, model, map(request, range(100)), total=100, money=100, prices={"m": PRICE})
    assert outcome.ended == "money"
    assert outcome.money == (6 + 4 * 0.5 + 2) * outcome.done
    assert 60 < outcome.money <= 100


def test_a_budget_goes_on_where_the_last_run_ended(tmp_path):
    store, model = opened(tmp_path, items=100), fake()
    first = run(store, model, map(request, range(100)), total=100, tokens=200)
    again = run(
        store,
        model,
        map(request, range(first.done, 100)),
        total=100,
        tokens=200,
        spent=Spent(0, first.tokens),
    )
    assert (again.ended, again.done) == ("tokens", 0)


def test_two_models_share_a_budget(tmp_path):
    store = opened(tmp_path, items=100)
    requests = {"a": map(request, range(50)), "b": map(request, range(50, 100))}
    outcome = collect(
        requests, {"a": fake(), "b": Crowd(echo)}, store, Progress(100, 0), budget=Budget(tokens=500)
    )
    assert outcome.ended == "tokens"
    assert 500 - 2 * 19 <= outcome.tokens <= 500


def test_what_came_without_a_count_of_tokens_counts_alike_in_this_run_and_the_next(tmp_path):
    store = opened(tmp_path, items=3)
    silent = fake(lambda asked, call: Response("so é\n" * 6, thinking="h" * 3))
    outcome = run(store, silent, map(request, range(2)), tokens=1000)
    length = len('[["user", "text 0"]]') + 30 + 3
    assert outcome.tokens == pytest.approx(2 * length / 3)
    assert spent(ledger(store), {}, estimated=True).tokens == pytest.approx(outcome.tokens)
    assert spent(ledger(store), {}).tokens == 0, "it is no count"
