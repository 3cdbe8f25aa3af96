"""What each part of a study takes, by hand."""

import math
from dataclasses import replace

import pytest

from quaver.collect.run.progress import Price
from quaver.core.records import Condition, Decoding, Item, Label, LabelSet, Variant
from quaver.design.calls.call_plan import Plan
from quaver.design.calls.experiment import Experiment
from quaver.models.python_function import Function
from quaver.study.collection.forecast import expected_cost, forecast, in_dollars

LABELS = LabelSet((Label("a", "A"), Label("b", "B")))
SHORT = Variant(
    "s",
    {"length": "short"},
    "",
    "{{ text }}: {{ instruction }}",
    "{{ text }}",
    "A, B",
    "",
    {"a": "A", "b": "B"},
)
LONG = replace(
    SHORT, id="l", factors={"length": "long", "tone": "kind"}, instruction="A or B?!", max_tokens=30
)


def experiment():
    items = [Item("1", {"text": "xx"}), Item("2", {"text": "yyyy"})]
    decodings = {"cold": Decoding("cold", max_tokens=5), "hot": Decoding("hot", max_tokens=7)}
    conditions = [
        Condition("m", "s", "cold", 1),
        Condition("m", "s", "hot", 3),
        Condition("m", "l", "cold", 1),
    ]
    return Experiment(LABELS, items, [SHORT, LONG], decodings, conditions, ["A note."])


def test_the_forecast_is_their_sum_and_keeps_the_notes():
    models = {"m": Function(annotate=lambda text, prompt: "A")}
    made = forecast(Plan(experiment(), {"m": "weights"}), models, {}, {"m": None})
    (model,) = made.models
    assert (model["calls"], model["prompts"], model["most_answer_tokens"]) == (10, 4, 112)
    assert model["prompt_tokens"] == round((18 * 4 + 26) / 4)
    assert made.notes == ("A note.",)


PRICE = Price(input=1, output=10, cached=0.1)


def test_nothing_measured_is_from_one_token_to_the_longest():
    cost = expected_cost(100, 5000, 800, PRICE, shared=2000, counted=True)
    assert cost[:2] == pytest.approx(((3000 + 200 + 1000) / 1e6, (5000 + 8000) / 1e6))
    assert cost[2] is None


def test_what_nobody_counted_is_a_quarter_off_either_way():
    cost = expected_cost(100, 4000, 100, PRICE)
    assert cost[:2] == pytest.approx(((3000 + 1000) / 1e6, (5000 + 1000) / 1e6))


def test_what_was_measured_has_an_interval_for_skewed_lengths():
    used = {
        "counted": 5,
        "prompt_tokens": 50.0,
        "prompt_squares": 500.0,
        "cached_tokens": 25.0,
        "completion_tokens": 20.0,  # 2 3 4 5 6: mean 4, variance 2
        "completion_squares": 90.0,
    }
    cost = expected_cost(100, 3000, 450, PRICE, used=used)
    read, spread = 500 + 500 * 0.1, math.log(1 + 2.5 / 4**2)
    factor = math.exp(3.7469 * math.sqrt(spread * (1 / 5 + 1 / 100) + spread**2 / 8))
    assert cost == pytest.approx(
        ((read + 4000 / factor) / 1e6, (read + 10 * 450) / 1e6, (read + 4000) / 1e6), rel=1e-4
    ), "and never more than is allowed"


@pytest.mark.parametrize(
    ("cost", "told"),
    [
        ((0, 0, None), "free"),
        ((0.5, 0.5, None), "$0.50"),
        ((0.001, 1234.5, None), "$0.001 to $1,234.50"),
        ((0.00001, 0.01, None), "under $0.0001 to $0.01"),
    ],
)
def test_a_cost_in_words(cost, told):
    assert in_dollars(cost) == told
