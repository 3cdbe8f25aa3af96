"""What a study asks of its models, held against what they can do before anything is sent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from quaver.core.model import Abilities, Model, Needs
from quaver.core.records import Condition, Decoding, Variant
from quaver.design.spec.models_spec import GRID_SETTINGS
from quaver.errors import SpecError

_KNOBS = ("top_p", "top_k", "min_p", "repeat_penalty", "stop")
_PLAIN = Decoding("")
_IN_WORDS = {
    "system": "heed a system message",
    "plain": "go on from a plain text, without a chat template",
    "schema": "be held to a JSON schema",
    "seed": "draw the same with the same seed",
    "logprobs": "give {} log-probabilities",
    "constraint": "be held to a choice among labels",
    "continues": "go on with a message that was begun for it",
    "conversation": "see what it answered before",
}
"""What a model that has an ability can do, by the ability's name."""

_Demands = dict[str, int]
"""The abilities that are asked for, by name, and how much of each."""


def check_abilities(
    models: Mapping[str, Model],
    decodings: Mapping[str, Decoding],
    variants: Iterable[Variant],
    follow_ups: Mapping[str, bool] = MappingProxyType({}),
    seed: int | None = None,
    conditions: Iterable[Condition] = (),
    media: Iterable[str] = (),
) -> None:
    """Refuse a study that asks a model for what it cannot do.

    Args:
        models: The models by name.
        decodings: How they are asked, by the place in the study file.
        variants: The prompts that each of them is asked, but for what the conditions say.
        follow_ups: Whether a follow-up goes on with a message begun for the model, by its place.
        seed: The seed of decodings that ask for none.
        conditions: Which model is asked which prompt.
        media: The media types that items bring.
    """
    given = list(variants)
    asked: dict[str, set[str]] = {}
    for condition in conditions:
        asked.setdefault(condition.model, set()).add(condition.variant)
    shared = [(where, _of_decoding(decoding, seed)) for where, decoding in decodings.items()]
    shared += [("items", {one: 1}) for one in media]
    for where, continues in follow_ups.items():
        shared.append((where, {"continues" if continues else "conversation": 1}))
    for name in models:
        own = [_of_prompt(variant) for variant in given if name not in asked or variant.id in asked[name]]
        for where, demands in [*(demand for some in own for demand in some), *shared]:
            for ability, amount in demands.items():
                if not _can(models[name].abilities, ability, amount):
                    raise _cannot(name, ability, amount, where, models)


def _of_prompt(variant: Variant) -> list[tuple[str, _Demands]]:
    """What a variant asks of a model, and which part of the study file does."""
    place = f"variants: {variant.id}" if variant.factors else ""
    asked = []
    if variant.system and variant.frame == "chat":
        asked.append((place or "prompt.system", {"system": 1}))
    if variant.frame == "plain":
        asked.append((place or "prompt.frame", {"plain": 1}))
    if variant.schema:
        asked.append(("task.held", {"schema": 1}))
    return asked


def _of_decoding(decoding: Decoding, seed: int | None) -> _Demands:
    """What a decoding asks of a model."""
    demands = {"logprobs": decoding.logprobs} if decoding.logprobs else {}
    if _asks_for_seed(decoding, seed):
        demands["seed"] = 1
    if decoding.constraint != "none":
        demands["constraint"] = 1
    for knob in _KNOBS:
        if getattr(decoding, knob) != getattr(_PLAIN, knob):
            demands[knob] = 1
    return demands


def _can(abilities: Abilities, ability: str, amount: int) -> bool:
    if ability in _KNOBS:
        return ability in abilities.decoding
    if "/" in ability:
        return ability in abilities.media
    return int(getattr(abilities, ability)) >= amount


def _cannot(name: str, ability: str, amount: int, where: str, models: Mapping[str, Model]) -> SpecError:
    fitting = [other for other, model in models.items() if _can(model.abilities, ability, amount)]
    fix = "set it to false" if where == "task.held" else "leave it out"
    if "/" in ability:
        takes = sorted(models[name].abilities.media)
        fix = f"convert the files: it takes {', '.join(takes)}" if takes else "name a model that takes them"
    if fitting:
        fix = f"of this study's models, {', '.join(fitting)} can"
    return SpecError(
        f"the model {name!r} cannot {_in_words(ability, amount)}",
        where=where,
        expected="what every model of the study can do",
        fix=fix,
    )


def _in_words(ability: str, amount: int) -> str:
    known = f"take files of the type {ability}" if "/" in ability else f"heed {ability}"
    return _IN_WORDS.get(ability, known).format(amount)


def needs_of(decodings: Iterable[Decoding], variants: Iterable[Variant], seed: int | None = None) -> Needs:
    """What a study will ask of a model, to try it on a server."""
    given = list(decodings)
    varied = {}
    for knob in GRID_SETTINGS:
        values = {float(getattr(decoding, knob)) for decoding in given}
        if len(values) > 1:
            varied[knob] = (min(values), max(values))
    return Needs(
        logprobs=max((decoding.logprobs for decoding in given), default=0),
        constraint=any(decoding.constraint != "none" for decoding in given),
        schema=any(variant.schema for variant in variants),
        seed=any(_asks_for_seed(decoding, seed) for decoding in given),
        varied=varied,
    )


def _asks_for_seed(decoding: Decoding, seed: int | None) -> bool:
    return decoding.temperature > 0 and seed is not None and decoding.seed != seed
