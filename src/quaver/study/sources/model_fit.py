"""Whether a model can do what a study asks of it, before anything is sent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import MappingProxyType

from quaver.core import registry
from quaver.core.model import Abilities, Model, Needs
from quaver.core.records import Condition, Decoding, Variant
from quaver.errors import QuaverError, SpecError

_PLAIN = Decoding("")

_Test = Callable[[Abilities], bool]

_CONVERSES: tuple[str, _Test] = ("see what it answered before", lambda one: one.conversation)
_GOES_ON: tuple[str, _Test] = ("go on with a message that was begun for it", lambda one: one.continues)


def check_abilities(
    models: Mapping[str, Model],
    decodings: Mapping[str, Decoding],
    variants: Iterable[Variant],
    follow_ups: Mapping[str, bool] = MappingProxyType({}),
    seed: int | None = None,
    conditions: Iterable[Condition] = (),
) -> None:
    """Refuse a study that asks a model for what it cannot do.

    Args:
        models: The study's models by name.
        decodings: Its decodings, by where they stand.
        variants: Its variants.
        follow_ups: Where a model's answer is quoted to it; whether it is to go on with that message.
        seed: The one that a decoding has without asking for it; another is asked for, and must be heeded.
        conditions: The study's: a model is held to the variants that it is asked alone; to all, if left out.

    Raises:
        SpecError: Names what is asked, and the study's models or the engines that could do it.
    """
    quoted = {where: _GOES_ON if continues else _CONVERSES for where, continues in follow_ups.items()}
    of_prompts = [(variant.id, one) for variant in variants for one in _demands_of_prompt(variant)]
    asked: dict[str, set[str]] = {}
    for condition in conditions:
        asked.setdefault(condition.model, set()).add(condition.variant)
    demands = [
        (what, where, able)
        for where, decoding in decodings.items()
        for what, able in _demands(decoding, seed)
    ]
    demands += [(what, where, able) for where, (what, able) in quoted.items()]
    for name, model in models.items():
        own = [one for variant, one in of_prompts if name not in asked or variant in asked[name]]
        for what, where, able in [*own, *demands]:
            if not able(model.abilities):
                _refuse(what, where, name, models, able)


def _demands_of_prompt(variant: Variant) -> list[tuple[str, str, _Test]]:
    """What a variant asks of a model, and which part of it does."""
    demands: list[tuple[bool, str, str, _Test]] = [
        (
            bool(variant.system) and variant.frame == "chat",
            "heed a system message",
            "system",
            lambda one: one.system,
        ),
        (
            variant.frame == "plain",
            "go on from a plain text, without a chat template",
            "frame",
            lambda one: one.plain,
        ),
        (bool(variant.schema), "be held to a JSON schema", "schema", lambda one: one.schema),
    ]
    return [
        (what, f"variants: {variant.id}" if variant.factors else f"prompt.{part}", able)
        for asked, what, part, able in demands
        if asked
    ]


def needs_of(
    decodings: Iterable[Decoding], variants: Iterable[Variant], repeats: int, seed: int | None = None
) -> Needs:
    """What a study will ask of a model, to try it on a server.

    Args:
        decodings: The study's.
        variants: The study's.
        repeats: Most calls that a request will hold.
        seed: As for `check_abilities`.
    """
    given = list(decodings)
    return Needs(
        repeats=repeats,
        logprobs=max((decoding.logprobs for decoding in given), default=0),
        constraint=any(decoding.constraint != "none" for decoding in given),
        schema=any(variant.schema for variant in variants),
        seed=any(_asks_for_seed(decoding, seed) for decoding in given),
    )


def _asks_for_seed(decoding: Decoding, seed: int | None) -> bool:
    return decoding.temperature > 0 and seed is not None and decoding.seed != seed


def _demands(decoding: Decoding, seed: int | None) -> list[tuple[str, _Test]]:
    demands: list[tuple[str, _Test]] = []
    if _asks_for_seed(decoding, seed):
        demands.append(("draw the same with the same seed", lambda one: one.seed))
    if decoding.logprobs:
        wanted = decoding.logprobs
        demands.append((f"give {wanted} log-probabilities", lambda one: one.logprobs >= wanted))
    if decoding.constraint != "none":
        demands.append(("be held to a choice among labels", lambda one: one.constraint))
    options = ("top_p", "top_k", "min_p", "repeat_penalty", "stop")
    asked = [name for name in options if getattr(decoding, name) != getattr(_PLAIN, name)]
    return demands + [(f"heed {name}", partial(_heeds, name)) for name in asked]


def _heeds(option: str, one: Abilities) -> bool:
    return option in one.decoding


def _refuse(what: str, where: str, name: str, models: Mapping[str, Model], able: _Test) -> None:
    fitting = [other for other in models if able(models[other].abilities)]
    engines = [one for engine in registry.names("models") for one in _able(engine, able)]
    fixes = ["leave it out"]
    if fitting:
        fixes = [f"of this study's models, {', '.join(fitting)} can"]
    elif engines:
        fixes.append(f"or use an engine that can: {', '.join(engines)}")
    raise SpecError(
        f"the model {name!r} cannot {what}",
        where=where,
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
