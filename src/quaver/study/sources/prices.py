"""What models cost: as the study file says, or as the ``genai-prices`` package knows it, offline."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from quaver.collect.run.budget import Price
from quaver.core.model import Model
from quaver.design.spec import ModelSpec, StudySpec
from quaver.design.spec.study_file import Positions
from quaver.errors import ModelError, SpecError, UnknownName
from quaver.study.sources.study_plugins import Plugins

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
"""Models that ``quaver plan`` compares a study's cost on, where no others are named."""

_FREE = Price(0.0, 0.0, 0.0)
_PROVIDERS = {"gemini": "google", "grok": "x-ai", "xai": "x-ai", "moonshot": "moonshotai", "bedrock": "aws"}
"""Names of providers that genai-prices calls differently."""

_IN_BATCH: dict[str, Any] = {"price_context": {"processing": "batch"}}
"""What genai-prices calls a batch."""

_AT_ONCE = 1000
"""Tokens of a usual call: some prices rise with the length of a prompt."""


def prices(spec: StudySpec, models: Mapping[str, Model], source: Positions) -> dict[str, Price | None]:
    """The price of each of a study's models by name; None where nobody knows it.

    Raises:
        UnknownName: The study file says ``like`` a model that genai-prices does not know.
    """
    return {
        asked.name: price_of(asked, models.get(asked.name), source.where("models", index, "price"))
        for index, asked in enumerate(spec.models)
    }


def prices_beside(
    plugins: Plugins, models: Callable[[], Mapping[str, Model]], spent: Iterable[Mapping[str, Any]]
) -> dict[str, Price | None]:
    """The prices of models beside a study's own that made paraphrases, by name; None where nobody knows it.

    Args:
        plugins: Makes the models.
        models: Gives the study's own models.
        spent: What was spent on paraphrases, an entry a model.
    """
    asked = {one["model"]: one["asked"] for one in spent if not isinstance(one["asked"], str)}
    for one in asked.values():
        with suppress(ModelError):  # what is stored has a price without the key
            plugins.one_model(one, models())
    known = {name: price_of(spec, model) for name, (spec, model) in plugins.beside.items()}
    return dict.fromkeys(asked) | known


def price_of(asked: ModelSpec, model: Model | None, where: str = "price") -> Price | None:
    """The price of one model; None where nobody knows it.

    Args:
        asked: What the study file says of it.
        model: The model, where it can be had: one in process costs nothing.
        where: Its price stands, for errors.

    Raises:
        UnknownName: It is said to be ``like`` a model that genai-prices does not know.
    """
    price = asked.price
    if price is not None and price.input is not None and price.output is not None:
        return Price(price.input, price.output, price.input if price.cached is None else price.cached)
    if price is not None:
        return _like(str(price.like), where)
    return _FREE if model is not None and _is_local(asked, model) else _looked_up(asked)


def prices_of(names: Sequence[str]) -> dict[str, Price]:
    """The prices of some models by name, in that order.

    Raises:
        UnknownName: genai-prices does not know one.
    """
    return {name: _like(name, "--compare") for name in names}


def check_money(found: Mapping[str, Price | None], spec: StudySpec, source: Positions) -> None:
    """A budget of money needs every model's price.

    Raises:
        SpecError: One is not known.
    """
    unknown = [name for name, price in found.items() if price is None]
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
    """What genai-prices says of a model; None where it does not know it.

    Args:
        name: As its provider calls it, or ``provider/name``.
        provider: As genai-prices or Quaver's presets call it.
        url: The server's address, where the provider is not given.
    """
    # genai_prices is imported late, because its data takes most of a second to load.
    tries: list[tuple[str, dict[str, str]]] = []
    if provider:
        tries.append((name, {"provider_id": _PROVIDERS.get(provider, provider)}))
    elif url:
        tries.append((name, {"provider_api_url": url}))
    if "/" in name:
        head, _, rest = name.partition("/")
        tries.append((rest, {"provider_id": _PROVIDERS.get(head, head)}))
    if not tries:
        tries.append((name, {}))
    for model, by in tries:
        try:
            at_once, in_batch = (_amounts(model, {**by, **more}) for more in ({}, _IN_BATCH))
        except (LookupError, ValueError):
            continue
        return Price(*at_once, batch=None if at_once == in_batch else Price(*in_batch))
    return None


def _amounts(model: str, by: dict[str, Any]) -> tuple[float, float, float]:
    """US dollars for a million tokens: read, written, read from the cache."""
    from genai_prices import Usage, calc_price

    def amount(usage: Usage) -> float:
        return round(float(calc_price(usage, model, **by).total_price) * 1e6 / _AT_ONCE, 9)

    return (
        amount(Usage(input_tokens=_AT_ONCE)),
        amount(Usage(output_tokens=_AT_ONCE)),
        amount(Usage(input_tokens=_AT_ONCE, cache_read_tokens=_AT_ONCE)),
    )


def _like(name: str, where: str) -> Price:
    found = known_price(name)
    if found is None:
        raise UnknownName(
            "model",
            name,
            COMPARED,
            where=where,
            fix="name it as genai-prices does, with its provider (openai/gpt-4o-mini), or give its price in "
            "the study file: price: {input: 0.15, output: 0.6}",
        )
    return found


def _looked_up(asked: ModelSpec) -> Price | None:
    name, preset, url = (_text(asked.options.get(key)) for key in ("model", "preset", "base_url"))
    return None if asked.use == "function" or name is None else known_price(name, preset, url)


def _is_local(asked: ModelSpec, model: Model) -> bool:
    url = _text(asked.options.get("base_url"))
    host = urlsplit(url).hostname if url else None
    return model.abilities.local or host in ("localhost", "127.0.0.1", "::1", "0.0.0.0")


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
