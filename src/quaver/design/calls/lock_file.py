"""``study.lock.json``: what a study file resolved to, so that a reviewer can check and repeat it.

It contains no time and no machine path: the same study with the same model gives the same file.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, fields
from functools import cache
from hashlib import blake2b, sha256
from importlib.metadata import version
from io import StringIO
from pathlib import Path
from typing import Any, Final

from ruamel.yaml import YAML

from quaver._secrets import Keys, is_key_shaped
from quaver.core.calls import Message
from quaver.core.input_budget import read_file
from quaver.core.records import LabelSet, Variant
from quaver.core.replaced_file import replace_text
from quaver.design.calls.call_plan import RECIPE
from quaver.design.calls.experiment import Experiment
from quaver.design.prompts.follow_ups import FollowUp
from quaver.design.prompts.rendering import messages_of
from quaver.design.spec import StudySpec
from quaver.design.spec.study_file import Positions
from quaver.design.spec.task_spec import PromptSpec
from quaver.errors import SpecError

_LIBRARIES = ("quaver", "numpy", "polars", "jinja2", "pydantic")
_DESIGN: Final = ("study", "labels", "items", "variants", "decodings", "follow_ups", "conditions")
"""What a lock says of the design, which stands before anything is asked."""


def lock_document(
    spec: StudySpec,
    experiment: Experiment,
    models: Mapping[str, Mapping[str, Any]],
    rules: Mapping[str, str],
) -> dict[str, Any]:
    """What a study resolved to.

    Returns:
        A mapping for JSON: ``study``, ``labels``, ``items``, ``original`` (the study file's own prompt for
        the first item), ``variants`` (each with its prompt for the first item), ``notes`` (how the variants
        were chosen), ``decodings``, ``follow_ups`` (the messages of each after an answer; where labels are
        asked for level by level, what is asked after each, by the first variant), ``conditions``, ``calls``,
        ``keys`` (their recipe), ``models``, ``evaluators``, ``versions`` and ``digest`` (of the design,
        without what models and libraries report of themselves).
    """
    asked = experiment.in_parts
    first = asked.items[0]
    variants = []
    for variant in experiment.variants:
        messages = messages_of(variant, experiment.labels, first)
        variants.append(_parts(variant) | {"example": list(map(list, messages))})
    document = {
        "format": 1,
        "study": spec.model_dump(mode="json"),
        "labels": labels_in_full(experiment.labels),
        "items": {"blake2b": experiment.items_hash, **items_in_short(experiment)},
        "original": list(map(list, original_messages(experiment))),
        "variants": variants,
        "notes": list(experiment.notes),
        "decodings": {name: asdict(decoding) for name, decoding in experiment.decodings.items()},
        "follow_ups": {name: _messages(follow_up) for name, follow_up in experiment.follow_ups.items()}
        | {
            label: list(map(list, messages_of(asked.every_variant[name], experiment.labels, first)))
            for name, (top, label) in asked.tops.items()
            if label and label in asked.ways_down and top == asked.variants[0].id
        },
        "conditions": list(map(asdict, experiment.conditions)),
        "calls": experiment.calls,
        "keys": {"recipe": RECIPE},
        "models": {name: dict(facts) for name, facts in models.items()},
        "evaluators": dict(rules),
        "versions": dict(_versions()),
    }
    return document | {"digest": design_digest(document)}


@cache
def _versions() -> Mapping[str, str]:
    """The versions of the libraries that decide a number; looking them up takes a tenth of a second."""
    return {name: version(name) for name in _LIBRARIES}


def labels_in_full(labels: LabelSet) -> dict[str, Any]:
    """Labels as a lock has them, which the task's level says are numbers; evidence and parents if any."""

    def kept(parts: list[tuple[str, Any]]) -> dict[str, Any]:
        return {
            name: value for name, value in parts if name != "are_numbers" and (name, value) not in _UNSAID
        }

    return asdict(labels, dict_factory=kept)


_UNSAID: Final = (("evidence", False), ("marked", ""), ("parent", ""), ("quoted", "quote"), ("spans", False))


def design_digest(document: Mapping[str, Any]) -> str:
    """The SHA-256 of the design in a lock, as JSON with sorted keys and no spaces.

    Published before anything is asked, it shows later that the design was not changed.
    """
    design = {name: document[name] for name in _DESIGN}
    text = json.dumps(design, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)
    return sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


def items_in_short(experiment: Experiment) -> dict[str, Any]:
    """How many items there are, how many of each gold label, their ids, and the parts of those in several."""
    parts = {item.id: len(item.parts) for item in experiment.items if item.parts}
    return {
        "n": len(experiment.items),
        "gold": dict(Counter(item.gold for item in experiment.items if item.gold is not None)),
        "ids": [item.id for item in experiment.items],
        **({"parts": parts} if parts else {}),
    }


def _messages(follow_up: FollowUp) -> list[list[str]]:
    """The messages of a follow-up after the prompt, with … for the answer."""
    return list(map(list, follow_up.messages("…")))


def original_messages(experiment: Experiment) -> tuple[Message, ...]:
    """The study file's own prompt for the first item; empty if only its variants make a prompt."""
    if experiment.prompt is None:
        return ()
    try:
        return messages_of(experiment.prompt, experiment.labels, experiment.in_parts.items[0])
    except SpecError:
        return ()


def fingerprint(experiment: Experiment, identities: Mapping[str, str]) -> str:
    """A hash of everything that decides a study's calls and their keys."""
    parts = [
        labels_in_full(experiment.labels),
        list(map(_ordered, experiment.variants)),
        list(map(asdict, experiment.decodings.values())),
        list(map(asdict, experiment.conditions)),
        [
            asdict(experiment.decoding(condition))
            for condition in experiment.conditions
            if condition.follow_up
        ],
        {name: _messages(follow_up) for name, follow_up in experiment.follow_ups.items()},
        dict(identities),
        experiment.items_hash,
    ]
    text = json.dumps(parts, sort_keys=True, default=str)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _parts(variant: Variant) -> dict[str, Any]:
    """A variant's parts; of its examples only id and gold label, since the prompt shows them."""
    shown = [{"id": item.id, "gold": item.gold} for item in variant.examples]
    parts = {field.name: getattr(variant, field.name) for field in fields(variant)}
    some = {name: value for name, value in parts.items() if name not in ("pictures", "below") or value}
    return some | {"examples": shown}


def _ordered(variant: Variant) -> dict[str, Any]:
    """A variant's parts for a hash that sorts keys; the order of its answers counts.

    Descriptions of it (its origin, its distance from the original, whose score it asks for) change no call.
    """
    shown = [[item.id, item.gold, dict(item.fields)] for item in variant.examples]
    parts = _parts(variant) | {
        "answers": [*variant.answers.items(), *variant.below.items()],
        "examples": shown,
    }
    unsaid = ("origin", "covariates", "score_of", "below")
    return {name: value for name, value in parts.items() if name not in unsaid}


_HEAD = "# The small version of {}, made by `quaver run --small`: change that file, not this one.\n"


def write_small(source: Positions) -> Path:
    """Write the small version of a study file beside it.

    Returns:
        The path of the small version.
    """
    path, document = _document(source, "small")
    if not document.get("small"):
        raise SpecError(
            "this study has no small version",
            where=path.name,
            expected="a key `small` with what differs, under the file's own keys",
            fix="small: {items: {sample: 20}, repeats: 2}",
        )
    merge(document, document.pop("small"))
    return write_made(document, path.with_name(f"{path.stem}.small.yaml"), _HEAD.format(path.name))


def _document(source: Positions, version: str) -> tuple[Path, Any]:
    """The text and the document of a study file, to make a version of it."""
    path = source.path
    if path is None:
        raise SpecError(
            f"only a study file has a {version} version",
            where=version,
            expected="a YAML file",
            found="a study that was given as a mapping",
            fix="write it to a file, and open that",
        )
    return path, _yaml().load(read_file(path).decode("utf-8-sig"))


_NOTED = "# {} with a note in its prompts, made by `quaver compare --note`: change that file, not this one.\n"
_QUESTION: Final = re.compile(r"\{\{\s*(?:instruction|(question))\s*\}\}")


def write_noted(source: Positions, note: str, budget: Mapping[str, float]) -> Path:
    """Write the version of a study file whose prompts have a note after the instruction, beside it.

    The note is never reworded: it stands in the layout. The budget is what the study itself has left of its
    own.

    Returns:
        The path of that version.
    """
    path, document = _document(source, "noted")
    prompt = document.get("prompt") or {}
    layout = prompt.get("layout", PromptSpec.model_fields["layout"].default)
    prompt["layout"] = _QUESTION.sub(
        lambda found: f"{{{{ instruction }}}} {note}" + "\n{{ postfix }}" * bool(found[1]), layout
    )
    document |= {"budget": dict(budget)} if budget else {}
    return write_made(document, path.with_name(f"{path.stem}.noted.yaml"), _NOTED.format(path.name))


def write_made(document: Any, target: Path, head: str) -> Path:
    """Write a study file that is made from another file.

    Returns:
        The path.
    """
    written = StringIO()
    _yaml().dump(document, written)
    text = head + written.getvalue()
    if Keys().within(text) or is_key_shaped(text):
        raise SpecError(
            "the study file would contain what looks like a key",
            where=target.name,
            expected="no key in a study file or its comments",
            fix="take it out of the file that it is made from, and change the key if others may have seen it",
        )
    if not target.is_file() or target.read_text(encoding="utf-8") != text:
        replace_text(target, text)
    return target


def _yaml() -> YAML:
    yaml = YAML(typ="rt")
    yaml.width = 110
    return yaml


def merge(document: Any, changes: Mapping[str, Any]) -> None:
    """Merge changes into a document: mappings recursively; anything else replaces what was there."""
    for key, value in changes.items():
        if isinstance(value, Mapping) and isinstance(document.get(key), Mapping):
            merge(document[key], value)
        else:
            document[key] = value
