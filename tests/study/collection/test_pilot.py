"""The pilot of a model that costs money: it stops before the rest is paid for; run again, it goes on."""

import random

import polars as pl
import pytest
from tests.models.provider_rig import blocking, chat, reasoning, rigged, thinking

from quaver.errors import ModelError
from quaver.study.checking.check_design import left_to_ask, prepared_check
from quaver.study.session import Study


def lognormal(median, sigma):
    """One that thinks for lengths as they are found with real models: most are short, a few very long."""

    def answer(body, path, n):
        thought = max(64, int(random.Random(n).lognormvariate(0, sigma) * median))
        limit = body.get("max_tokens", 10**9)
        return (
            chat(body, "", "length", thought=limit - 2)
            if thought + 2 > limit
            else chat(body, thought=thought)
        )

    return answer


PRICE = {"price": {"input": 1, "output": 2}}


def document(**model):
    rows = [{"id": n, "text": f"This is {'good' if n % 2 else 'bad'} number {n}."} for n in range(40)]
    return {
        "task": {"labels": ["pos", "neg"]},
        "items": {"source": rows, "id": "id", "text": "{{ text }}"},
        "prompt": {"instruction": "Is it pos or neg?"},
        "models": [{"name": "m", **model}],
        "decoding": {"d": {"max_tokens": 64}},
        "repeats": 2,
    }


def asked(folder, url, **model):
    served = {"use": "openai_compatible", "model": "m", "base_url": url}
    return Study.open(document(**served, **model), folder=folder / "study")


def test_answers_that_are_cut_off_stop_it_and_a_second_run_goes_on(tmp_path):
    with rigged(lambda body, path, n: chat(body, "<think>Well", "length")) as provider:
        study = asked(tmp_path, provider.url, **PRICE)
        with pytest.raises(ModelError) as caught:
            study.run()
        assert caught.value.found == "10 cut off"
        assert len(provider.sent) <= 10 + 3, "the ten, and three that found out how much room thinking needs"
        assert study.run().ended == "finished"
        assert study.status().answered == 80


@pytest.mark.parametrize("texts", [4, 20])
def test_twenty_calls_are_worth_ten_answers_first(tmp_path, texts):
    with rigged(lambda body, path, n: chat(body, "dunno")) as provider:
        few = document(use="openai_compatible", model="m", base_url=provider.url, **PRICE)
        few["items"]["source"] = few["items"]["source"][:texts]
        few["variants"] = [{"use": "instructions", "texts": {name: f"{name}?" for name in "abcd"}}]
        few["variants"] *= texts == 4
        with pytest.raises(ModelError, match="10 of the first 10"):
            Study.open({**few, "repeats": 1}, folder=tmp_path / "study").run()


@pytest.mark.parametrize("kind", [lambda body, path, n: chat(body), blocking(403, "moderation")])
def test_good_answers_let_it_go_on_and_are_asked_once(tmp_path, kind):
    with rigged(kind) as provider:
        outcome = asked(tmp_path, provider.url, **PRICE).run()
        assert (outcome.ended, outcome.done, len(provider.sent)) == ("finished", 80, 80)


def test_what_is_free_and_functions_need_none(tmp_path):
    with rigged(lambda body, path, n: chat(body, "dunno")) as provider:
        assert asked(tmp_path, provider.url, price=0).run().ended == "finished"
    functions = {"m": lambda text, prompt: "dunno"}
    function = Study.open(document(use="function"), folder=tmp_path / "function", functions=functions)
    (model,) = function.plan().models
    told = [model[name] for name in ("calls", "prompts", "most_answer_tokens")]
    assert told == [80, 40, 40 * 2 * 64]
    assert function.run().ended == "finished"


def test_a_forecast_after_it_says_what_is_likely(tmp_path):
    with rigged(lambda body, path, n: chat(body, thought=100 + n % 7)) as provider:
        study = asked(tmp_path, provider.url, price={"input": 100, "output": 200})
        study.run(requests=10)
        (model,) = study.plan().models
    assert model["least_cost"] < model["likely_cost"] < model["most_cost"]
    assert model["cost"].startswith("about $")


@pytest.mark.parametrize("kind", [reasoning, thinking, lognormal(700, 0.8), lognormal(1800, 0.8)])
def test_a_forecast_of_thinking_holds(tmp_path, kind):
    """The rest costs what the pilot's tokens say: within the range, and not far from the likely value."""
    paid = []

    def billed(body, path, n):
        status, reply = kind(body, path, n)
        if status == 200:
            paid.append(reply["usage"]["prompt_tokens"] + 2 * reply["usage"]["completion_tokens"])
        return status, reply

    with rigged(billed) as provider:
        study = asked(tmp_path, provider.url, **PRICE)
        before = study.plan()
        assert before.costs.endswith("more if it thinks before it answers")
        (model,) = study.plan(pilot=3).models
        begun = sum(paid)
        assert study.run().ended == "finished"
    rest = (sum(paid) - begun) / 1e6
    assert model["least_cost"] <= rest <= model["most_cost"]
    assert 1 / 1.5 <= rest / model["likely_cost"] <= 1.5


@pytest.mark.parametrize(("thought", "asks_on"), [(lognormal(700, 1.2), True), (lognormal(700, 0.01), False)])
def test_a_check_asks_on_where_its_first_answers_leave_the_cost_open(tmp_path, thought, asks_on):
    table = pl.DataFrame({"text": [f"number {n}" for n in range(100)]})
    with rigged(thought) as provider:
        options = {"model": "m", "base_url": provider.url, "price": "1/2", "labels": ["pos", "neg"]}
        check = prepared_check(table, to=tmp_path, **options)
        found = left_to_ask(check.study, pilot=True)
    assert (16 < found.stored <= 0.1 * found.calls) is asks_on
