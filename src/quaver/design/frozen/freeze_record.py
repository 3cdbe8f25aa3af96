"""``frozen.json``: what was written down, when, and what departed from it since.

An entry is never changed. A study that has to change is frozen again, with a reason: the new entry names the
digest of the one before, so that the first cannot be exchanged without changing every digest after it. The
digest of an entry is the SHA-256 of the entry without its digest, as JSON with sorted keys and no spaces::

    json.dumps(entry, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

Whoever knows a digest (from a preregistration, a commit, a letter) can tell offline that a bundle holds the
very entry that was written then.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Final, Literal

from quaver.core.column_names import column_of
from quaver.core.label_values import Codebook
from quaver.core.records import Item, LabelSet
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

    Returns:
        A mapping for JSON. Gold labels are no part of it, since they come later.
    """
    wanted = item_columns(spec, experiment.items) if columns is None else columns
    variants = lock["variants"]
    return {
        "items": _of_items(experiment.items, lambda item: [item.fields.get(name) for name in wanted]),
        "covariates": _of_items(experiment.items, lambda item: _covariates(item, sorted(covariates))),
        "labels": _labels(experiment.labels),
        "prompts": {variant["id"]: _prompt(variant) for variant in variants},
        "examples": {
            variant["id"]: digest(variant["examples"]) for variant in variants if variant.get("examples")
        },
        "models": {name: str(facts.get("identity", "")) for name, facts in lock["models"].items()},
        "asking": _asking(spec, lock),
        "evaluators": _named(spec.evaluators, lock.get("evaluators", {})),
        "measures": _named(spec.measures, {}),
        "conclusions": _conclusions(spec),
        "decision": {"rule": rule},
    }


def _labels(labels: LabelSet) -> dict[str, Any]:
    """The labels with their level of measurement; of fields, those of each."""
    if isinstance(labels, Codebook):
        return {
            field.name: {"definition": field.definition, **_labels(field.labels)} for field in labels.fields
        }
    return {label.code: asdict(label) for label in labels.labels} | {"level of measurement": labels.level}


def item_columns(spec: StudySpec, items: Sequence[Item]) -> list[str]:
    """The columns of the items that a freeze fixes: all but those that hold labels by people."""
    golds = [spec.items.gold, *(field.gold for field in spec.task.fields.values())]
    people = {*spec.items.coders, *(name for gold in golds if gold for name in gold.sources)}
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
    result: dict[str, Any] = {}
    for one in asked:
        name = str(getattr(one, "title", one.use))
        title, more = name, 2
        while title in result:
            title, more = f"{name} ({more})", more + 1
        options = one.model_dump(mode="json", exclude_defaults=True) | {"use": one.use}
        result[title] = options | ({"rule": digest(rules[name])} if name in rules else {})
    return result


def _conclusions(spec: StudySpec) -> dict[str, Any]:
    return {
        conclusion.name
        or f"{conclusion.formula.strip()}; {conclusion.effect.strip()}": conclusion.model_dump(
            mode="json", exclude_defaults=True
        )
        for conclusion in spec.conclusions
    }


@dataclass(frozen=True, slots=True)
class Before:
    """What was known already when a study was frozen.

    Attributes:
        answers: Answers that were stored.
        gold: Items with a gold label.
    """

    answers: int
    gold: int


@dataclass(frozen=True, slots=True)
class Entry:
    """One freeze.

    Attributes:
        at: When, in UTC, as the clock of the machine had it.
        quaver: The version of Quaver.
        study: The study's name.
        before: What was known already.
        columns: The items' columns that are fixed.
        covariates: The columns that groups and conclusions are about.
        parts: The design (`frozen_parts`).
        because: Why it was frozen again; empty for the first.
        previous: The digest of the entry before; empty for the first.
        digest: Of this entry.
    """

    at: str
    quaver: str
    study: str
    before: Before
    columns: tuple[str, ...]
    covariates: tuple[str, ...]
    parts: Parts
    because: str = ""
    previous: str = ""
    digest: str = ""

    @property
    def rule(self) -> str:
        """The decision rule."""
        return str(self.parts.get("decision", {}).get("rule", ""))

    def document(self) -> dict[str, Any]:
        """The entry for JSON, sealed with its digest."""
        bare = {name: value for name, value in asdict(self).items() if name != "digest"}
        return bare | {"digest": digest(bare)}


def entries_in(document: Mapping[str, Any]) -> list[Entry]:
    """The entries of a file, oldest first."""
    entries = []
    known = [field.name for field in fields(Entry)]
    for one in document.get("frozen", ()):
        given = {name: one[name] for name in known if name in one} | {"before": Before(**one["before"])}
        given |= {name: tuple(one[name]) for name in ("columns", "covariates")}
        entries.append(Entry(**given))
    return entries


def broken(document: Mapping[str, Any]) -> list[str]:
    """What is wrong with the chain of a file's entries, in words; nothing where it holds.

    >>> broken({"frozen": [{"at": "2026-11-22", "previous": "", "digest": "0"}]})
    ['the entry of 2026-11-22 was changed after it was sealed']
    """
    result, previous = [], ""
    for one in document.get("frozen", ()):
        bare = {name: value for name, value in one.items() if name != "digest"}
        if digest(bare) != one.get("digest"):
            result.append(f"the entry of {one.get('at')} was changed after it was sealed")
        if one.get("previous") != previous:
            result.append(f"the entry of {one.get('at')} does not follow the one before it")
        previous = one.get("digest")
    return result


def with_entry(document: Mapping[str, Any], new: Entry) -> dict[str, Any]:
    """The document with a new entry behind those that it has, which stay as they are."""
    return {"format": 1, "frozen": [*document.get("frozen", ()), new.document()]}


State = Literal["as frozen", "changed", "not checked"]

_MOST_NAMED = 4


@dataclass(frozen=True, slots=True)
class PartState:
    """A part of the design, as it is beside what was frozen.

    Attributes:
        part: Its name.
        state: ``as frozen``, ``changed``, or ``not checked`` where what it takes is not here.
        size: How many things it holds.
        changed: The names whose value is another.
        added: The names that are new.
        removed: The names that are gone.
        why: Why it was not checked, or not in full.
    """

    part: str
    state: State
    size: int
    changed: Sequence[str] = ()
    added: Sequence[str] = ()
    removed: Sequence[str] = ()
    why: str = ""

    @property
    def title(self) -> str:
        """What it is called for people."""
        return TITLES.get(self.part, self.part)

    @property
    def said(self) -> str:
        """What changed, in words."""
        kinds = (("changed", self.changed), ("added", self.added), ("removed", self.removed))
        words = [f"{kind}: {_listed(names)}" for kind, names in kinds if names]
        return "; ".join([*words, *([self.why] if self.why else [])])


def deviations(
    frozen: Parts, now: Parts, *, texts: bool = True, hidden: Collection[str] = ()
) -> list[PartState]:
    """Each part of the design as it is now beside what was frozen.

    >>> [one.state for one in deviations({"models": {"a": "1"}}, {"models": {"a": "1", "b": "2"}})]
    ['changed']
    """
    order = [*TITLES, *(name for name in frozen if name not in TITLES)]
    return [
        _state(name, frozen[name], now.get(name, {}), not texts and name in OF_TEXTS, hidden)
        for name in order
        if name in frozen
    ]


def _state(
    part: str, frozen: Mapping[str, Any], now: Mapping[str, Any], by_name: bool, hidden: Collection[str]
) -> PartState:
    added = [name for name in now if name not in frozen]
    removed = [name for name in frozen if name not in now]
    if by_name and part == "examples" and frozen:
        return PartState(part, "not checked", len(frozen), why="the texts are not here")
    unseen = set(frozen) if by_name else set(hidden) & set(frozen) if part == "prompts" else set()
    both = [name for name in frozen if name in now and name not in unseen]
    changed = [name for name in both if canonical(frozen[name]) != canonical(now[name])]
    why = "without the texts, only names were compared" if by_name else ""
    if unseen and not by_name:
        why = f"{len(unseen):,} that quote a text were compared by name"
    state: State = "changed" if added or removed or changed else "not checked" if unseen else "as frozen"
    return PartState(part, state, len(frozen), changed, added, removed, why)


def _listed(names: Collection[str]) -> str:
    some = list(names)[:_MOST_NAMED]
    left = len(names) - len(some)
    return ", ".join(some) + (f" and {left:,} more" if left else "")
