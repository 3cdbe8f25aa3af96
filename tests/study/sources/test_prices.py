"""Prices: as the study file says, as genai-prices knows them, or unknown."""

from dataclasses import replace

import pytest

from quaver.collect.run.progress import Price
from quaver.core.records import Condition, Variant
from quaver.design.spec.study_file import read_study
from quaver.errors import QuaverError, SpecError
from quaver.models.llamacpp import LlamaCpp
from quaver.models.python_function import Function
from quaver.study.sources.model_demands import check_abilities
from quaver.study.sources.prices import check_money, known_price, prices


def study(**model):
    return {
        "task": {"labels": ["a", "b"]},
        "items": {"source": "items.csv", "text": "{{ text }}"},
        "prompt": {"instruction": "a or b?"},
        "models": [{"name": "m", "use": "openai_compatible", **model}],
        "budget": {"money": 5},
    }


MINI = Price(0.15, 0.6, 0.075, Price(0.075, 0.3, 0.075))
"""At once, and in a batch at half of it; what is cached costs no less there."""


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ({"price": {"input": 1, "output": 2, "cached": 0.5}}, Price(1, 2, 0.5)),
        ({"price": {"input": 1, "output": 2}}, Price(1, 2, 1)),
        ({"price": 0}, Price(0, 0, 0)),
        ({"price": "openai/gpt-4o-mini", "model": "my-deployment"}, MINI),
        ({"preset": "openai", "model": "gpt-4o-mini"}, MINI),
        ({"base_url": "https://api.openai.com/v1", "model": "gpt-4o-mini"}, MINI),
        ({"model": "openai/gpt-4o-mini"}, MINI),
        ({"preset": "openai", "model": "nobody-knows-it"}, None),
        ({"base_url": "https://example.org/v1", "model": "gpt-4o-mini"}, None),
        ({"price": "gpt-4o-mini"}, MINI),
    ],
)
def test_where_a_price_comes_from(model, expected):
    spec, source = read_study(study(**model))
    assert prices(spec, {}, source) == {"m": expected}


def test_a_price_below_nothing_is_an_error():
    with pytest.raises(QuaverError, match="expected: 0 or more"):
        read_study(study(price={"input": -1, "output": 1}))


def test_a_budget_of_money_needs_every_price():
    spec, source = read_study(study())
    with pytest.raises(SpecError, match="price of the model 'm'") as caught:
        check_money({"m": None}, spec, source)
    assert "price: 0" in str(caught.value)
    check_money({"m": Price(0, 0, 0)}, spec, source)


def test_a_preset_is_known_by_its_own_name():
    assert known_price("gemini-2.5-flash", "gemini") == known_price("google/gemini-2.5-flash")


VARIANT = Variant("original", {}, "", "{{ text }}", "{{ text }}", "Good?", "", {"y": "yes", "n": "no"})


def function():
    return Function(annotate=lambda text, prompt: "yes")


def smollm2():
    return LlamaCpp(model="smollm2-135m-instruct")


def test_a_model_is_held_to_what_it_is_asked():
    plain = replace(VARIANT, id="frame=plain", factors={"frame": "plain"}, frame="plain")
    models = {"f": function(), "s": smollm2()}
    apart = [Condition("f", "original", "d", 1), Condition("s", "frame=plain", "d", 1)]
    check_abilities(models, {}, [VARIANT, plain], conditions=apart)
    with pytest.raises(SpecError, match=r"'f' .* plain text") as caught:
        check_abilities(models, {}, [VARIANT, plain], conditions=[*apart, Condition("f", plain.id, "d", 1)])
    assert caught.value.where == "variants: frame=plain"
    assert str(caught.value.fix).endswith("models, s can")
