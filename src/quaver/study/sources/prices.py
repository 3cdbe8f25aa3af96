"""What models cost: by the study file, or as ``genai-prices`` knows it, offline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from math import inf
from typing import Any

from quaver.collect.run.progress import Price
from quaver.core.model import Billed, Model
from quaver.design.spec import ModelSpec, StudySpec
from quaver.design.spec.study_file import Positions
from quaver.errors import QuaverError, SpecError, UnknownName

COMPARED = (
    "openai/gpt-5-nano",
    "openai/gpt-4o-mini",
    "openai/gpt-5-mini",
    "openai/gpt-5",
    "google/gemini-2.5-flash-lite",
    "google/gemini-2.5-flash",
    "google/gemini-2.5-pro",
    "anthropic/claude-haiku-4-5",
    "anthropic/claude-sonnet-4-5",
    "mistral/mistral-small-latest",
    "mistral/mistral-large-latest",
    "deepseek/deepseek-chat",
)
"""Models whose prices are shown side by side."""

FREE = Price(0.0, 0.0, 0.0)
_PROVIDERS = {"gemini": "google", "grok": "x-ai", "xai": "x-ai", "moonshot": "moonshotai", "bedrock": "aws"}
"""Names of providers that genai-prices calls differently."""

_IN_BATCH: dict[str, Any] = {"price_context": {"processing": "batch"}}
"""What genai-prices calls a batch."""

_AT_ONCE = 1000
"""Tokens of a usual call: some prices rise with the length of a prompt."""


def prices(spec: StudySpec, models: Mapping[str, Model], source: Positions) -> dict[str, Price | None]:
    """The price of each of a study's models by name; None where unknown."""
    prices = {}
    for index, model in enumerate(spec.models):
        where = source.where("models", index, "price")
        prices[model.name] = price_of(model, models.get(model.name), where)
    return prices


def price_of(asked: ModelSpec, model: Model | None, where: str = "price") -> Price | None:
    """The price of one model; None where nobody knows it."""
    stated = asked.price
    if stated is not None and stated.input is not None and stated.output is not None:
        return Price(stated.input, stated.output, stated.input if stated.cached is None else stated.cached)
    if stated is not None:
        return _like(str(stated.like), where)
    if model is not None and (model.is_free if isinstance(model, Billed) else model.abilities.local):
        return FREE
    name, provider, url = map(asked.options.get, ("model", "preset", "base_url"))
    if asked.use == "function" or not name or not isinstance(name, str):
        return None
    return known_price(name, provider and str(provider), url and str(url))


def price_given(text: str) -> float | str | dict[str, float]:
    """A price as ``0.15/0.60`` (read/written), ``0``, or the name of a model with the same price.

    >>> price_given("0.15/0.60"), price_given("0")
    ({'input': 0.15, 'output': 0.6}, 0.0)
    """
    try:
        numbers = list(map(float, text.split("/")))
    except ValueError:
        return text
    if len(numbers) == 1 and numbers[0] == 0:
        return 0.0
    if len(numbers) != 2 or not all(0 <= number < inf for number in numbers):
        raise QuaverError(
            "this is not a price",
            where="--price",
            expected="US dollars a million tokens read and written: 0.15/0.60, or 0 if it is free",
            found=text,
        )
    return {"input": numbers[0], "output": numbers[1]}


def check_money(prices: Mapping[str, Price | None], spec: StudySpec, source: Positions) -> None:
    """A budget of money needs every model's price."""
    unknown = [name for name, price in prices.items() if price is None]
    if spec.budget.money is not None and unknown:
        raise SpecError(
            f"the price of the model {unknown[0]!r} is unknown, so a budget in money cannot be kept",
            where=source.where("budget", "money"),
            expected="a price for every model",
            fix="state it under the model: price: {input: 0.15, output: 0.6} (US dollars a million tokens), "
            "or price: 0",
        )


@cache
def known_price(name: str, provider: str | None = None, url: str | None = None) -> Price | None:
    """The price of a model by genai-prices; None where it has none."""
    places = [(name, {"provider_api_url": url})] if url and not provider else []
    if provider:
        places.append((name, {"provider_id": _PROVIDERS.get(provider, provider)}))
    head, slash, rest = name.partition("/")
    if slash:
        places.append((rest, {"provider_id": _PROVIDERS.get(head, head)}))
    for model, by in places or [(name, {})]:
        try:
            at_once, in_batch = _amounts(model, by), _amounts(model, {**by, **_IN_BATCH})
        except (LookupError, ValueError):
            continue
        return at_once if at_once == in_batch else replace(at_once, batch=in_batch)
    return None


def _amounts(model: str, by: dict[str, Any]) -> Price:
    """US dollars for a million tokens: read, written, read from the cache."""
    from genai_prices import Usage, calc_price  # its data takes most of a second to load

    kinds = (
        Usage(input_tokens=_AT_ONCE),
        Usage(output_tokens=_AT_ONCE),
        Usage(input_tokens=_AT_ONCE, cache_read_tokens=_AT_ONCE),
    )
    costs = [float(calc_price(usage, model, **by).total_price) for usage in kinds]
    read, written, cached = (round(cost * 1e6 / _AT_ONCE, 9) for cost in costs)
    return Price(read, written, cached)


def _like(name: str, where: str) -> Price:
    price = known_price(name)
    if price is None:
        raise UnknownName(
            "model",
            name,
            COMPARED,
            where=where,
            fix="name it as genai-prices does, with its provider (openai/gpt-4o-mini), or give its price in "
            "the study file: price: {input: 0.15, output: 0.6}",
        )
    return price
