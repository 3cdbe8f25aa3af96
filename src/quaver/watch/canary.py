"""The canary: the locked part of a study that is asked again and again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np

from quaver.core.model import Model
from quaver.core.records import Condition, Decoding, Item, Variant
from quaver.core.seeds import derive
from quaver.design.calls.experiment import Experiment
from quaver.design.prompts.rendering import PromptWriter
from quaver.errors import QuaverError

PROMPTS, PARTS, FIRST, CONFIRMED = 20, 10, 6, 40
"""By default: prompts of a look; parts of the canary, one a look; how often each prompt is asked on the first
occasion; how often at most prompts with another answer are asked again in a look, together."""

_LOGPROBS = 20


@dataclass(frozen=True, slots=True)
class CanaryOptions:
    """How a canary is asked.

    Attributes:
        prompts: Prompts of a look.
        parts: Parts of the canary; each look asks one, in turn.
        first: How often each prompt is asked on the first occasion.
        confirmed: How often at most prompts with another answer are asked again in a look, of a model.
        whole: Whether whole answers are asked for, rather than one token with its log-probabilities.
        error: How often a watch without any change may ever raise an alarm.
    """

    prompts: int = PROMPTS
    parts: int = PARTS
    first: int = FIRST
    confirmed: int = CONFIRMED
    whole: bool = False
    error: float = 0.05


@dataclass(frozen=True)
class Canary:
    """Which prompts are asked, and how.

    Attributes:
        options: How it is asked.
        pool: The prompts in their order: an item's id, a variant's id and a hash of what a model sees.
    """

    options: CanaryOptions
    pool: Sequence[tuple[str, str, str]]

    def document(self) -> dict[str, Any]:
        """For ``canary.json``."""
        pool = [{"item": item, "variant": variant, "prompt": seen} for item, variant, seen in self.pool]
        return {"options": asdict(self.options), "pool": pool}

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Canary:
        """From ``canary.json``."""
        rows = [(row["item"], row["variant"], row["prompt"]) for row in document["pool"]]
        return cls(CanaryOptions(**document["options"]), rows)

    @cached_property
    def parts(self) -> list[list[int]]:
        """The parts as positions in the pool; a part begins anew where a small pool ends."""
        size, prompts = len(self.pool), min(self.options.prompts, len(self.pool))
        count = -(-size // prompts)
        return [[(part * prompts + one) % size for one in range(prompts)] for part in range(count)]

    def asked_at(self, look: int) -> list[int]:
        """The positions in the pool that a look asks, from 1; all of them on the first occasion, 0."""
        return list(range(len(self.pool))) if look == 0 else self.parts[(look - 1) % len(self.parts)]


def locked(experiment: Experiment, options: CanaryOptions, seed: int) -> Canary:
    """Draw the canary: items in a random order, the study's variants in turn.

    Args:
        experiment: The study's.
        options: How it is to be asked.
        seed: The study's.
    """
    variants = experiment.variants
    order = np.random.default_rng(derive(seed, "canary")).permutation(len(experiment.items))
    pairs = [
        (int(item), (turn + lap) % len(variants))
        for lap in range(len(variants))
        for turn, item in enumerate(order)
    ]
    writers = [PromptWriter(variant, experiment.labels) for variant in variants]
    return Canary(
        options,
        [
            (
                experiment.items[item].id,
                variants[variant].id,
                _seen(writers[variant], experiment.items[item]),
            )
            for item, variant in pairs[: options.prompts * options.parts]
        ],
    )


def _seen(writer: PromptWriter, item: Item) -> str:
    """A hash of what a model sees."""
    messages = writer.write(item, writer.text(item)).messages
    return blake2b(
        repr([tuple(one) for one in messages]).encode("utf-8", "surrogatepass"), digest_size=8
    ).hexdigest()


def part_of(experiment: Experiment, canary: Canary, models: Mapping[str, Model]) -> Experiment:
    """The canary's own design: its items and variants, asked greedily.

    Raises:
        QuaverError: The study has changed so that the canary's prompts are others.
    """
    items = {item.id: item for item in experiment.items}
    variants = {variant.id: variant for variant in experiment.variants}
    writers = {name: PromptWriter(variant, experiment.labels) for name, variant in variants.items()}
    for item, variant, seen in canary.pool:
        known = item in items and variant in variants
        if not known or _seen(writers[variant], items[item]) != seen:
            raise QuaverError(
                "the study has changed under its canary: a prompt is not what was asked at first",
                where="watch",
                expected="the prompts that are locked in watch/canary.json",
                found=f"item {item}, {variant}",
                fix="put the study back, or begin a new watch: quaver watch --renew",
            )
    used = [variants[name] for name in dict.fromkeys(variant for _, variant, _ in canary.pool)]
    options = canary.options
    asks = max(options.first, 1 + options.confirmed)
    return replace(
        experiment,
        items=[items[name] for name in dict.fromkeys(item for item, _, _ in canary.pool)],
        variants=[replace(variant, max_tokens=None) for variant in used],
        decodings={name: _decoding(name, model, used, experiment, options) for name, model in models.items()},
        conditions=[Condition(name, variant.id, name, asks) for name in models for variant in used],
        follow_ups={},
    )


def _decoding(
    name: str, model: Model, variants: Sequence[Variant], experiment: Experiment, options: CanaryOptions
) -> Decoding:
    """Greedy; one token with log-probabilities where the model gives them and one token says something."""
    logprobs = min(_LOGPROBS, model.abilities.logprobs)
    plain = all(not one.schema and not one.explains and one.output == "label" for one in variants)
    one_token = plain and logprobs > 0 and not options.whole
    known = list(experiment.decodings.values())
    longest = max([one.max_tokens for one in known] + [one.max_tokens or 0 for one in variants])
    return replace(
        known[0],
        name=name,
        temperature=0.0,
        top_p=1.0,
        top_k=0,
        min_p=0.0,
        max_tokens=1 if one_token else longest,
        logprobs=logprobs if one_token else 0,
        grid=(),
    )
