"""``study.lock.json``: what a study file resolved to, so that a reviewer can see and repeat it.

It holds no time and no machine path: the same study with the same model gives the same file.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, replace
from hashlib import blake2b
from importlib.metadata import version
from typing import Any

from quaver.core.records import Message, Variant
from quaver.design.calls import call_keys
from quaver.design.calls.experiment import Experiment
from quaver.design.follow_ups import FollowUp
from quaver.design.prompts.rendering import messages_of
from quaver.design.spec import StudySpec
from quaver.errors import SpecError

__all__ = ["fingerprint", "lock_document", "original_messages"]

_LIBRARIES = ("quaver", "numpy", "polars", "jinja2", "pydantic")


def lock_document(
    spec: StudySpec,
    experiment: Experiment,
    models: Mapping[str, Mapping[str, Any]],
    rules: Mapping[str, str],
) -> dict[str, Any]:
    """What a study resolved to.

    Args:
        spec: The study with its defaults.
        experiment: Its items, variants, decodings and conditions.
        models: Provenance of each model, with its ``identity``.
        rules: The evaluators' rules in words.

    Returns:
        A mapping for JSON: ``study``, ``labels``, ``items``, ``original`` (the study file's own prompt for
        the first item), ``variants`` (each with its prompt for the first item), ``notes`` (on how the
        variants were chosen), ``decodings``, ``follow_ups`` (what each says after an answer),
        ``conditions``, ``calls``, ``keys`` (their recipe), ``models``, ``evaluators`` and ``versions``.
    """
    first = experiment.items[0]
    variants = []
    for variant in experiment.variants:
        messages = messages_of(variant, experiment.labels, first)
        variants.append(_parts(variant) | {"example": [list(message) for message in messages]})
    return {
        "format": 1,
        "study": spec.model_dump(mode="json"),
        "labels": asdict(experiment.labels),
        "items": {
            "n": len(experiment.items),
            "blake2b": experiment.items_hash,
            "gold": dict(Counter(item.gold for item in experiment.items if item.gold is not None)),
            "ids": [item.id for item in experiment.items],
        },
        "original": [list(message) for message in original_messages(experiment)],
        "variants": variants,
        "notes": list(experiment.notes),
        "decodings": {name: asdict(decoding) for name, decoding in experiment.decodings.items()},
        "follow_ups": {name: _asked(one) for name, one in experiment.follow_ups.items()},
        "conditions": [asdict(condition) for condition in experiment.conditions],
        "calls": experiment.calls,
        "keys": {"recipe": call_keys.RECIPE},
        "models": {name: dict(facts) for name, facts in models.items()},
        "evaluators": dict(rules),
        "versions": {name: version(name) for name in _LIBRARIES},
    }


def _asked(follow_up: FollowUp) -> list[list[str]]:
    """What a follow-up says after the prompt, with … in the answer's place."""
    return [list(message) for message in follow_up.messages((), "…")]


def original_messages(experiment: Experiment) -> tuple[Message, ...]:
    """The study file's own prompt for the first item; empty where only its variants make a prompt."""
    if experiment.prompt is None:
        return ()
    try:
        return messages_of(experiment.prompt, experiment.labels, experiment.items[0])
    except SpecError:
        return ()


def fingerprint(experiment: Experiment, identities: Mapping[str, str]) -> str:
    """A hash of everything that decides which calls a study has and what their keys are."""
    parts = [
        asdict(experiment.labels),
        [_ordered(variant) for variant in experiment.variants],
        [asdict(decoding) for decoding in experiment.decodings.values()],
        [asdict(condition) for condition in experiment.conditions],
        [
            asdict(experiment.decoding(condition))
            for condition in experiment.conditions
            if condition.follow_up
        ],
        {name: _asked(one) for name, one in experiment.follow_ups.items()},
        dict(identities),
        experiment.items_hash,
    ]
    text = json.dumps(parts, sort_keys=True, default=str)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _parts(variant: Variant) -> dict[str, Any]:
    """A variant's parts; of its examples, which they are (the prompt shows them)."""
    shown = [{"id": one.id, "gold": one.gold} for one in variant.examples]
    return asdict(replace(variant, examples=())) | {"examples": shown}


def _ordered(variant: Variant) -> dict[str, Any]:
    """A variant's parts for a hash that sorts keys: the order of its answers counts, too.

    What is said about it (where it came from, how far it is from the original, whose score it asks for)
    changes no call.
    """
    shown = [[one.id, one.gold, dict(one.fields)] for one in variant.examples]
    told = _parts(variant) | {"answers": list(variant.answers.items()), "examples": shown}
    return {name: value for name, value in told.items() if name not in ("origin", "covariates", "score_of")}
