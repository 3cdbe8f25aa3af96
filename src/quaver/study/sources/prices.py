"""What models cost and how much they take: by the study file, or as ``genai-prices`` knows it, offline."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from math import inf
from operator import attrgetter
from types import MappingProxyType
from typing import Any, NamedTuple

from quaver.collect.run.progress import Price
from quaver.core import registry
from quaver.core.model import Abilities, Billed, Model, Needs
from quaver.core.records import Condition, Decoding, Variant
from quaver.design.spec import ModelSpec, StudySpec
from quaver.design.spec.models_spec import GRID_SETTINGS
from quaver.design.spec.study_file import Positions
from quaver.errors import ModelError, QuaverError, SpecError, UnknownName
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
    return {
        model.name: price_of(model, models.get(model.name), source.where("models", index, "price"))
        for index, model in enumerate(spec.models)
    }


def prices_beside(
    plugins: Plugins, models: Callable[[], Mapping[str, Model]], spent: Iterable[Mapping[str, Any]]
) -> dict[str, Price | None]:
    """The prices of models beside a study's own that made paraphrases, by name; None where unknown."""
    asked = {one["model"]: one["asked"] for one in spent if not isinstance(one["asked"], str)}
    for one in asked.values():
        with suppress(ModelError):  # what is stored has a price without the key
            plugins.one_model(one, models())
    known = {name: price_of(spec, model) for name, (spec, model) in plugins.beside.items()}
    return dict.fromkeys(asked) | known


def price_of(asked: ModelSpec, model: Model | None, where: str = "price") -> Price | None:
    """The price of one model; None where nobody knows it."""
    price = asked.price
    if price is not None and price.input is not None and price.output is not None:
        return Price(price.input, price.output, price.input if price.cached is None else price.cached)
    if price is not None:
        return _like(str(price.like), where)
    return FREE if model is not None and _is_free(model) else _looked_up(asked)


def price_given(text: str) -> float | str | dict[str, float]:
    """A price as ``0.15/0.60`` (read/written), ``0``, or the name of a model with the same price.

    >>> price_given("0.15/0.60"), price_given("0")
    ({'input': 0.15, 'output': 0.6}, 0.0)
    """
    try:
        numbers = [float(part) for part in text.split("/")]
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


def check_money(found: Mapping[str, Price | None], spec: StudySpec, source: Positions) -> None:
    """A budget of money needs every model's price."""
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
    """What genai-prices says of a model; None where it does not know it."""
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


def _looked_up(model: ModelSpec) -> Price | None:
    name, preset, url = (_text(model.options.get(key)) for key in ("model", "preset", "base_url"))
    return None if model.use == "function" or name is None else known_price(name, preset, url)


def _is_free(model: Model) -> bool:
    """Whether asking a model costs nothing: it runs in this process, or on a server that says as much."""
    return model.is_free if isinstance(model, Billed) else model.abilities.local


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


_PLAIN = Decoding("")
_KNOBS = ("top_p", "top_k", "min_p", "repeat_penalty", "stop")

_Test = Callable[[Abilities], bool]


class _Demand(NamedTuple):
    """What a study asks of a model: in words, where it does, and whether a model can."""

    what: str
    where: str
    can: _Test


def check_abilities(
    models: Mapping[str, Model],
    decodings: Mapping[str, Decoding],
    variants: Iterable[Variant],
    follow_ups: Mapping[str, bool] = MappingProxyType({}),
    seed: int | None = None,
    conditions: Iterable[Condition] = (),
) -> None:
    """Refuse a study that asks a model for what it cannot do."""
    of_prompts = [(variant.id, one) for variant in variants for one in _demands_of_prompt(variant)]
    asked: dict[str, set[str]] = {}
    for condition in conditions:
        asked.setdefault(condition.model, set()).add(condition.variant)
    demands = [one for where, decoding in decodings.items() for one in _demands(decoding, where, seed)]
    demands += [
        _Demand("go on with a message that was begun for it", where, attrgetter("continues"))
        if continues
        else _Demand("see what it answered before", where, attrgetter("conversation"))
        for where, continues in follow_ups.items()
    ]
    for name, model in models.items():
        own = [one for variant, one in of_prompts if name not in asked or variant in asked[name]]
        for demand in (*own, *demands):
            if not demand.can(model.abilities):
                _refuse(demand, name, models)


def _demands_of_prompt(variant: Variant) -> Iterator[_Demand]:
    """What a variant asks of a model, and which part of it does."""
    place = f"variants: {variant.id}" if variant.factors else ""
    if variant.system and variant.frame == "chat":
        yield _Demand("heed a system message", place or "prompt.system", attrgetter("system"))
    if variant.frame == "plain":
        what = "go on from a plain text, without a chat template"
        yield _Demand(what, place or "prompt.frame", attrgetter("plain"))
    if variant.schema:
        yield _Demand("be held to a JSON schema", "task.held", attrgetter("schema"))


def needs_of(decodings: Iterable[Decoding], variants: Iterable[Variant], seed: int | None = None) -> Needs:
    """What a study will ask of a model, to try it on a server."""
    given = list(decodings)
    return Needs(
        logprobs=max((decoding.logprobs for decoding in given), default=0),
        constraint=any(decoding.constraint != "none" for decoding in given),
        schema=any(variant.schema for variant in variants),
        seed=any(_asks_for_seed(decoding, seed) for decoding in given),
        varied=_varied(given),
    )


def _varied(decodings: Sequence[Decoding]) -> dict[str, tuple[float, float]]:
    """The knobs in which a study's decodings differ, with their lowest and highest value."""
    values = {name: {float(getattr(one, name)) for one in decodings} for name in GRID_SETTINGS}
    return {name: (min(some), max(some)) for name, some in values.items() if len(some) > 1}


def _asks_for_seed(decoding: Decoding, seed: int | None) -> bool:
    return decoding.temperature > 0 and seed is not None and decoding.seed != seed


def _demands(decoding: Decoding, where: str, seed: int | None) -> Iterator[_Demand]:
    """What a decoding asks of a model."""
    wanted = decoding.logprobs
    if _asks_for_seed(decoding, seed):
        yield _Demand("draw the same with the same seed", where, attrgetter("seed"))
    if wanted:
        yield _Demand(f"give {wanted} log-probabilities", where, lambda able: able.logprobs >= wanted)
    if decoding.constraint != "none":
        yield _Demand("be held to a choice among labels", where, attrgetter("constraint"))
    for name in _KNOBS:
        if getattr(decoding, name) != getattr(_PLAIN, name):
            yield _Demand(f"heed {name}", where, partial(_heeds, name))


def _heeds(knob: str, abilities: Abilities) -> bool:
    return knob in abilities.decoding


def _refuse(demand: _Demand, name: str, models: Mapping[str, Model]) -> None:
    able = demand.can
    fitting = [other for other in models if able(models[other].abilities)]
    engines = [one for engine in registry.names("models") for one in _able(engine, able)]
    fixes = ["set it to false" if demand.where == "task.held" else "leave it out"]
    if fitting:
        fixes = [f"of this study's models, {', '.join(fitting)} can"]
    elif engines:
        fixes.append(f"or use an engine that can: {', '.join(engines)}")
    raise SpecError(
        f"the model {name!r} cannot {demand.what}",
        where=demand.where,
        expected="what every model of the study can do",
        fix=", ".join(fixes),
    )


def _able(engine: str, able: _Test) -> list[str]:
    """The engine where it can; of one that asks servers, those that can."""
    try:
        plugin = registry.load("models", engine)
    except QuaverError:  # its library is not installed
        return []
    abilities = getattr(plugin, "abilities", None)
    if isinstance(abilities, Abilities):
        return [engine] * able(abilities)
    presets: Mapping[str, Abilities] = getattr(plugin, "offers", {})
    fitting = [name for name, one in presets.items() if able(one)]
    return [f"{engine} with preset {' or '.join(fitting)}"] if fitting else []
