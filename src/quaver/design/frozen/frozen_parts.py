"""What a freeze fixes: a study's design in named parts, each a mapping whose values can be compared."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from quaver.core.column_names import column_of
from quaver.core.records import Item
from quaver.design.calls.experiment import Experiment
from quaver.design.spec import StudySpec

Parts = Mapping[str, Mapping[str, Any]]
"""By part, then by name: a value, or the hash of one that is long."""

TITLES: Final[Mapping[str, str]] = {
    "items": "Items and their texts",
    "covariates": "Groups and covariates of the items",
    "labels": "Labels and their definitions",
    "prompts": "Prompts",
    "examples": "Examples that prompts show",
    "models": "Models",
    "asking": "Sampling, repeats and stopping rule",
    "evaluators": "How answers are read",
    "measures": "Measures",
    "conclusions": "Conclusions",
    "decision": "Decision rule",
}
"""The parts, in the order in which they are shown."""

OF_TEXTS: Final = ("items", "examples")
"""The parts whose values cannot be computed again without the items' texts; their names can."""

_MOST_ITEMS = 100_000
"""Of more, one hash stands for all."""
_DESCRIBES = ("origin", "covariates", "score_of", "example", "examples", "id")
"""What a lock says of a variant that changes no call, and its examples, which are a part by themselves."""


def parts_of(
    spec: StudySpec,
    experiment: Experiment,
    lock: Mapping[str, Any],
    *,
    covariates: Collection[str],
    rule: str,
    columns: Sequence[str] | None = None,
) -> dict[str, dict[str, Any]]:
    """A study's design in parts.

    Args:
        spec: The study.
        experiment: What it resolved to.
        lock: The document of its lock, of which the prompts, models and rules are read.
        covariates: The items' columns that groups and conclusions are about.
        rule: The decision rule.
        columns: The items' columns that count; those of all items, but for labels by people, if left out.

    Returns:
        A mapping for JSON. Gold labels are no part of it, since they come later.
    """
    wanted = item_columns(spec, experiment.items) if columns is None else columns
    variants = lock["variants"]
    return {
        "items": _of_items(experiment.items, lambda item: [item.fields.get(name) for name in wanted]),
        "covariates": _of_items(experiment.items, lambda item: _covariates(item, sorted(covariates))),
        "labels": {one.code: asdict(one) for one in experiment.labels.labels}
        | {"level of measurement": experiment.labels.level},
        "prompts": {one["id"]: _prompt(one) for one in variants},
        "examples": {one["id"]: digest(one["examples"]) for one in variants if one.get("examples")},
        "models": {name: str(facts.get("identity", "")) for name, facts in lock["models"].items()},
        "asking": _asking(spec, lock),
        "evaluators": _named(spec.evaluators, lock.get("evaluators", {})),
        "measures": _named(spec.measures, {}),
        "conclusions": _conclusions(spec),
        "decision": {"rule": rule},
    }


def item_columns(spec: StudySpec, items: Sequence[Item]) -> list[str]:
    """The columns of the items that a freeze fixes: all but those that hold labels by people."""
    gold = [spec.items.gold.column] if spec.items.gold and spec.items.gold.column else []
    people = {*spec.items.coders, *gold}
    return sorted({name for item in items for name in item.fields} - people)


def digest(document: Any) -> str:
    """The SHA-256 of a document as canonical JSON: keys sorted, no spaces, as it is read back from a file.

    >>> digest({"b": 1, "a": (2,)}) == digest({"a": [2], "b": 1})
    True
    """
    return hashlib.sha256(canonical(document).encode("utf-8", "backslashreplace")).hexdigest()


def canonical(document: Any) -> str:
    """A document as JSON with sorted keys and no spaces."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)


def _of_items(items: Sequence[Item], facts: Any) -> dict[str, str]:
    """A short hash of the facts of each item; of very many items one hash of all."""
    if len(items) > _MOST_ITEMS:
        return {f"all {len(items):,} items": digest([[item.id, facts(item)] for item in items])}
    return {item.id: digest(facts(item))[:16] for item in items}


def _prompt(variant: Mapping[str, Any]) -> dict[str, Any]:
    """What decides a prompt, without what is empty; the order of its answers counts."""
    parts = {**variant, "answers": list(variant.get("answers", {}).items())}
    return {name: value for name, value in parts.items() if value and name not in _DESCRIBES}


def _covariates(item: Item, names: Sequence[str]) -> list[str | None]:
    """An item's covariates as text, as conclusions read them."""
    values = [item.groups.get(column_of("group", name), item.fields.get(name)) for name in names]
    return [None if value is None else str(value) for value in values]


def _asking(spec: StudySpec, lock: Mapping[str, Any]) -> dict[str, Any]:
    """How models are asked, how often, and when the asking ends."""
    repeats = sorted({one["repeats"] for one in lock["conditions"]})
    asked: dict[str, Any] = {f"decoding {name}": one for name, one in lock["decodings"].items()}
    asked |= {f"follow-up {name}": digest(one) for name, one in lock.get("follow_ups", {}).items()}
    asked["conditions"] = digest([[c["model"], c["variant"], c["decoding"]] for c in lock["conditions"]])
    until = None if spec.until is None else spec.until.model_dump(mode="json", exclude_defaults=True)
    return asked | {"repeats": repeats, "seed": spec.seed, "stopping rule": until}


def _named(asked: Sequence[Any], rules: Mapping[str, str]) -> dict[str, Any]:
    """Plug-ins as the study file names them, with their rules; a second of a name has a number."""
    found: dict[str, Any] = {}
    for one in asked:
        name = str(getattr(one, "title", one.use))
        title, more = name, 2
        while title in found:
            title, more = f"{name} ({more})", more + 1
        options = one.model_dump(mode="json", exclude_defaults=True) | {"use": one.use}
        found[title] = options | ({"rule": digest(rules[name])} if name in rules else {})
    return found


def _conclusions(spec: StudySpec) -> dict[str, Any]:
    return {
        one.name or f"{one.formula.strip()}; {one.effect.strip()}": one.model_dump(
            mode="json", exclude_defaults=True
        )
        for one in spec.conclusions
    }
