"""The design that a bundle holds, against the study file, the tables, the prompts and the calls beside it."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import asdict, replace
from importlib.metadata import version
from inspect import getdoc
from pathlib import Path
from typing import Any

import polars as pl

from quaver.bundles.derived_files import Checked
from quaver.collect.store.response_store import Store
from quaver.collect.store.response_tables import written_prompt
from quaver.core.label_values import fields_in
from quaver.design.calls.call_plan import Plan
from quaver.design.calls.experiment import Experiment
from quaver.design.calls.lock_file import design_digest, items_in_short, lock_document
from quaver.design.spec import ItemsSpec
from quaver.errors import QuaverError
from quaver.study.sources.bundle_source import Bundle
from quaver.study.sources.labels_source import Labels
from quaver.study.sources.opening import open_source
from quaver.study.sources.study_source import StudySource

_MOST = 5
"""Differences of a kind that are named."""


def check_design(source: Bundle, check: Checked) -> None:
    """See what of a bundle's design its other files contradict."""
    _check_lock(source, check)
    written = _study_file(source, check)
    if written is not None:
        _check_resolved(source, written, check)
    if source.spec.annotations is None:
        _check_calls(source, written, check)


def _plain(document: Any) -> Any:
    return json.loads(json.dumps(document, default=str))


def _check_lock(source: Bundle, check: Checked) -> None:
    """What the lock says of items, calls, prompts and rules, against what it holds itself."""
    lock, experiment = source.lock(), source.experiment
    again: dict[str, Any] = {"items": lock["items"] | items_in_short(experiment)}
    again["labels"] = asdict(experiment.labels)
    if source.spec.annotations is None:
        again["calls"] = experiment.calls
    if source.has_answers and lock["versions"].get("quaver") == version("quaver"):
        rules = source.plugins.evaluators().items()
        again["evaluators"] = {name: getdoc(type(evaluator)) or "" for name, evaluator in rules}
    if source.has_texts:
        again["digest"] = design_digest(lock)
    else:
        check.not_compared.append("the digest of the design: the texts are not in the bundle")
    if source.has_texts and not any(one["examples"] for one in lock["variants"]):
        whole = lock_document(source.spec, experiment, source.served, {})
        again |= {name: whole[name] for name in ("variants", "follow_ups")}
    for name, value in _plain(again).items():
        if lock.get(name) != value:
            check.differing.append(f"study.lock.json: {name} does not follow from the items and the design")
    check.compared.append("study.lock.json")


def _study_file(source: Bundle, check: Checked) -> StudySource | None:
    """The study file in a bundle as a source of its own; None where it is not there, or not readable here."""
    files = [name for name in source.opened["files"] if name.endswith((".yaml", ".yml"))]
    if len(files) != 1:
        check.not_compared.append("the study file, which is not in the bundle")
        return None
    path = source.folder / files[0]
    try:
        written = open_source(path, source.folder)
    except QuaverError as error:
        check.not_compared.append(f"{path.name}, which cannot be read here: {error.problem}")
        return None
    names = [name for name in _tables(written) if name not in _absent(source, written)]
    written.positions.keep({name: source.folder / Path(name).name for name in names})
    # both by this version's keys, of which a lock of another may lack some that have a default
    asked, kept = (_plain(one.spec.model_dump(mode="json")) for one in (written, source))
    if asked["task"]["held"] is None:  # decided by what the models could, which are not here
        asked["task"]["held"] = kept["task"]["held"]
    for name in dict.fromkeys([*asked, *kept]):
        if asked.get(name) != kept.get(name) and "[left out]" not in json.dumps(kept.get(name)):
            check.differing.append(f"{path.name}: {name} differs from what study.lock.json says of it")
    check.compared.append(path.name)
    return written


def _tables(written: StudySource) -> Iterator[str]:
    spec = written.spec.annotations or written.spec.items
    yield spec.source
    if isinstance(spec, ItemsSpec) and spec.examples is not None:
        yield spec.examples.source


def _absent(source: Bundle, written: StudySource) -> list[str]:
    """The tables that are not in the bundle, which holds a file by its last name, wherever it was."""
    names = [Path(name).name for name in _tables(written)]
    there = [name in source.opened["files"] and names.count(name) == 1 for name in names]
    return [name for name, is_there in zip(_tables(written), there, strict=True) if not is_there]


def _check_resolved(source: Bundle, written: StudySource, check: Checked) -> None:
    """Items, prompts and conditions, resolved anew from the study file and its tables."""
    if absent := _absent(source, written):
        check.not_compared.append(f"items and prompts with {', '.join(absent)}, not in the bundle")
        return
    try:
        again = written.experiment
    except QuaverError as error:
        check.not_compared.append(f"items and prompts with the study file: {error.problem}")
        return
    used = {name for item in source.experiment.items for name in item.fields}
    resolved = _parts(again, used)
    for kind, there in _parts(source.experiment, used).items():
        now = resolved[kind]
        other = [name for name in dict.fromkeys([*there, *now]) if there.get(name) != now.get(name)]
        check.differing += [f"{kind} {name}: not as the study file has it" for name in other[:_MOST]]
    if isinstance(written, Labels) and not _alike(source, written):
        check.differing.append("annotations.parquet: not the labels that stand in the table")
    tables = [Path(name).name for name in _tables(written)]
    check.compared.append(", ".join(["items and prompts", *tables]))


def _alike(source: Bundle, written: Labels) -> bool:
    names = ["model", "variant", "decoding", "item", "repeat", "label", "status"]
    there, now = (frame.select(names).cast(pl.String) for frame in (source.annotations, written.imported[1]))
    return bool(there.equals(now))


def _parts(experiment: Experiment, used: Collection[str]) -> dict[str, dict[str, Any]]:
    """The parts of a design, each by its things' names; of the items the fields that a bundle has."""
    labels = experiment.labels
    return {
        "label": {label.code: asdict(label) for label in labels.labels},
        "field": {field.name: asdict(field) for field in fields_in(labels)},
        "prompt": {
            variant.id: _plain(asdict(replace(variant, examples=()))) for variant in experiment.variants
        },
        "condition": {f"{c.model}, {c.variant}, {c.asked_as}": asdict(c) for c in experiment.conditions},
        "item": {
            item.id: _plain(
                [item.gold, item.golds, item.groups, {name: item.fields.get(name) for name in used}]
            )
            for item in experiment.items
        },
    }


def _check_calls(source: Bundle, written: StudySource | None, check: Checked) -> None:
    """Each stored answer's key and prompt, against what the design asks."""
    if not source.has_texts:
        check.not_compared.append("prompts and calls: the texts are not in the bundle")
        return
    experiment = source.experiment
    if any(one["examples"] for one in source.lock()["variants"]):
        try:
            experiment = written.experiment if written else experiment
        except QuaverError:
            written = None
        if written is None or _absent(source, written):
            check.not_compared.append(
                "prompts and calls: the examples that prompts show are not in the bundle"
            )
            return
    identities = {name: str(facts["identity"]) for name, facts in source.served.items()}
    most = {name: int(facts.get("logprobs", 0)) for name, facts in source.served.items()}
    plan = Plan(experiment, identities, most)
    with source.answers() as store:
        wrong = sum(_misplaced(plan, store, model) for model in identities)
        engines = store.rows(_ENGINES)
    if any(identity not in identities.values() for (identity,) in engines):
        check.differing.append("responses.db: an answer is of another model than those of the study")
    if wrong:
        check.differing.append(
            f"responses.db: {wrong:,} answers are not to the prompts and models of the study"
        )
    check.compared.append("the prompt of every answer")


_ENGINES = """SELECT DISTINCT s.identity FROM calls c
    JOIN responses r ON r.id = c.response JOIN sources s ON s.id = r.source"""


def _misplaced(plan: Plan, store: Store, model: str) -> int:
    """How many of a model's stored answers are to other calls or prompts than those of a plan."""
    places = """SELECT r.key, c.condition, c.item, c.repeat, p.messages FROM calls c
        JOIN responses r ON r.id = c.response JOIN conditions d ON d.position = c.condition
        LEFT JOIN prompts p ON p.id = r.prompt WHERE d.model = ?"""
    stored = {key: (tuple(place), messages) for key, *place, messages in store.rows(places, [model])}
    wanted = {
        call.key: (call.condition, call.item, call.repeat) for call in plan.calls(model, store.answered)
    }
    wrong = {key for key, (place, _) in stored.items() if wanted.get(key) != place}
    for request in plan.requests(model):
        messages = written_prompt(request.prompt.messages)
        wrong |= {one.key for one in request.calls if one.key in stored and stored[one.key][1] != messages}
    return len(wrong)
