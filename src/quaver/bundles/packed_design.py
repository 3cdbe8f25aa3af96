"""The design that a bundle holds, against the study file, the tables, the prompts and the calls beside it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import version
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, Literal

import polars as pl

from quaver.bundles.derived_files import item_document
from quaver.collect.store.response_store import Store
from quaver.collect.store.response_tables import checksum_of_prompt, written_prompt
from quaver.core.annotations import GOLD_COLUMNS
from quaver.core.media import Medium
from quaver.core.replaced_file import replace_bytes, scratch_folder
from quaver.design.calls.call_plan import Plan
from quaver.design.calls.experiment import Experiment
from quaver.design.calls.lock_file import design_digest, items_in_short, labels_in_full, lock_document
from quaver.design.spec import ItemsSpec
from quaver.errors import QuaverError
from quaver.study.sources.bundle_source import Bundle
from quaver.study.sources.labels_source import Labels
from quaver.study.sources.opening import open_source
from quaver.study.sources.study_source import StudySource

_MOST = 5
"""Items of which is said that they differ."""

_RESOLVED: Final = ("labels", "variants", "decodings", "follow_ups", "conditions")
"""What a lock says of the design beside the study file and the items."""

_RECIPES: Final = ("format", "keys")
"""What a lock of the same version says of how it and the calls' keys are made."""


Outcome = Literal["holds", "differs", "not fully compared"]


@dataclass(slots=True)
class Verification:
    """What came of computing a bundle anew.

    Attributes:
        digest: SHA-256 of the archive, to be compared with the one that was published.
        changed: Files that are not as they were packed.
        differing: What comes out differently, in words.
        annotations: How many annotations were read anew from the stored answers.
        withheld: How many could not be, since their answers quote an item's text that was left out.
        estimates: How many estimates were computed anew.
        design: SHA-256 of the design, to be compared with one that was published before the results.
        compared: What was made again and compared, beside annotations and estimates.
        not_compared: What was not, and why.
        unknown: What nobody can find out from this archive, by what it is about.
        departures: What is stored and not part of the study, in sentences.
    """

    digest: str
    changed: list[str] = field(default_factory=list)
    differing: list[str] = field(default_factory=list)
    annotations: int = 0
    withheld: int = 0
    estimates: int = 0
    design: str = ""
    compared: list[str] = field(default_factory=list)
    not_compared: list[str] = field(default_factory=list)
    unknown: Mapping[str, str] = field(default_factory=dict)
    departures: Sequence[str] = ()

    @property
    def differs(self) -> bool:
        """Whether something is not as it was packed, or does not come out as it stands there."""
        return bool(self.changed or self.differing)

    @property
    def outcome(self) -> Outcome:
        """The outcome; an archive with a part that could not be compared does not "hold"."""
        if self.differs:
            return "differs"
        return "not fully compared" if self.not_compared else "holds"


def compare_design(source: Bundle, verification: Verification) -> None:
    """Find what of a bundle's design its other files contradict."""
    lock = source.lock()
    written = _study_file(source, verification)
    verification.differing += _lost(source)
    resolved = None if written is None else _resolved(source, written, verification)
    if resolved is not None:
        verification.differing += _item_differences(source, resolved)
        if isinstance(written, Labels) and not _has_labels_of(source, written):
            verification.differing.append("annotations.parquet: not the labels in the table")
    shows_examples = any(variant["examples"] for variant in lock["variants"])
    experiment = resolved or source.experiment
    is_whole = source.has_texts and (resolved is not None or not shows_examples)
    for name, value in _lock_again(source, experiment, is_whole).items():
        if lock.get(name) != value:
            verification.differing.append(
                f"study.lock.json: {name} is not what the bundle's other files imply"
            )
    verification.compared.append("study.lock.json")
    if not source.has_texts:
        verification.not_compared.append("the digest of the design: the texts are not in the bundle")
    if source.spec.annotations is not None:
        return
    if is_whole:
        verification.differing += _call_differences(source, experiment)
        verification.compared.append("the prompt of every answer")
    else:
        what = "the examples that prompts show" if source.has_texts else "the texts"
        verification.not_compared.append(f"prompts and calls: {what} are not in the bundle")


def _plain(document: Any) -> Any:
    return json.loads(json.dumps(document, default=str))


def _lock_again(source: Bundle, experiment: Experiment, is_whole: bool) -> dict[str, Any]:
    """What the lock must say by the design that the bundle's other files give."""
    lock = source.lock()
    is_ours = lock["versions"].get("quaver") == version("quaver")
    again: dict[str, Any] = {"labels": labels_in_full(experiment.labels)}
    if is_whole:
        document = lock_document(source.spec, experiment, source.served, {})
        again = {name: document[name] for name in (*_RESOLVED, *(_RECIPES if is_ours else ()))}
    if source.has_texts:
        again["digest"] = design_digest(lock)
    again["items"] = lock["items"] | items_in_short(experiment)
    if source.spec.annotations is None:
        again["calls"] = experiment.calls
    if source.has_answers and is_ours:
        again["evaluators"] = source.plugins.rules()
    return dict(_plain(again))


def _study_file(source: Bundle, verification: Verification) -> StudySource | None:
    """The study file in a bundle as a source of its own; None where it is not there, or not readable here."""
    files = [name for name in source.opened["files"] if name.endswith((".yaml", ".yml"))]
    if len(files) != 1:
        verification.not_compared.append("the study file, which is not in the bundle")
        return None
    (name,) = files
    try:
        written = open_source(source.folder / name, source.folder)
    except QuaverError as error:
        verification.not_compared.append(f"{name}, which cannot be read here: {error.problem}")
        return None
    # both by this version's keys, of which a lock of another may lack some that have a default
    asked, kept = (_plain(study.spec.model_dump(mode="json")) for study in (written, source))
    if asked["task"]["held"] is None:  # decided by what the models could, which are not here
        asked["task"]["held"] = kept["task"]["held"]
    for key, value in kept.items():
        if asked[key] != value and "[left out]" not in json.dumps(value):
            verification.differing.append(f"{name}: {key} differs from study.lock.json")
    verification.compared.append(name)
    return written


def _resolved(source: Bundle, written: StudySource, verification: Verification) -> Experiment | None:
    """The design anew from the study file and its tables; None where a table is not in the bundle.

    The bundle holds a table by its last name, wherever it was.
    """
    spec = written.spec.annotations or written.spec.items
    if isinstance(spec, ItemsSpec) and spec.reads_pages:
        verification.not_compared.append("items with the text of PDF files, which are not in the bundle")
        return None
    tables = [spec.source, *written.spec.task.tables_of_spans]
    if isinstance(spec, ItemsSpec) and spec.examples is not None:
        tables.append(spec.examples.source)
    places = {table: source.folder / Path(table).name for table in tables}
    names = [path.name for path in places.values()]
    absent = [name for name in names if name not in source.opened["files"] or names.count(name) > 1]
    if absent:
        verification.not_compared.append(f"items and prompts with {', '.join(absent)}, not in the bundle")
        return None
    with scratch_folder() as unpacked:
        written.positions.keep(places | _files_of(source, unpacked))
        try:
            resolved = written.experiment
        except QuaverError as error:
            verification.not_compared.append(f"items and prompts with the study file: {error.problem}")
            return None
    verification.compared.append(", ".join(["items and prompts", *names]))
    return resolved


def _files_of(source: Bundle, folder: Path) -> dict[str, Path]:
    """The files that items name, out of the one in which a bundle keeps them all."""
    places = {}
    for medium in _media_of(source):
        if medium.name != "data:":
            places[medium.name] = folder / medium.sha256
            with suppress(QuaverError):  # its bytes are others: there is then no such file
                replace_bytes(places[medium.name], medium.content())
    return places


def _media_of(source: Bundle) -> Iterator[Medium]:
    """The files that items name, as far as it is known what each is."""
    for item in source.experiment.items:
        yield from filter(attrgetter("type"), item.media)


def _lost(source: Bundle) -> list[str]:
    """The files that items name of which a bundle has other bytes, or none."""
    found: dict[str, None] = {}
    for medium in _media_of(source):
        try:
            medium.content()
        except QuaverError:
            found[f"media.db: not the file {medium.name}, as the items name it"] = None
    return [*found][:_MOST]


def _item_differences(source: Bundle, resolved: Experiment) -> list[str]:
    """The items that are not as the study file and its table have them."""
    items = source.experiment.items
    fields = set[str]().union(*(item.fields for item in items))
    there = {item.id: _plain(item_document(item, fields)) for item in items}
    now = {item.id: _plain(item_document(item, fields)) for item in resolved.items}
    other = [name for name in {**there, **now} if there.get(name) != now.get(name)]
    return [f"item {name}: differs from the study file" for name in other[:_MOST]]


def _has_labels_of(source: Bundle, written: Labels) -> bool:
    """Whether annotations have the table's labels, apart from gold labels of a sample drawn since."""
    sampled = GOLD_COLUMNS if not source.gold_sample.is_empty else GOLD_COLUMNS[1:]
    now = written.imported[1].drop(sampled, strict=False).with_columns(pl.col(pl.Categorical).cast(pl.String))
    there = source.annotations.with_columns(pl.col(pl.Categorical).cast(pl.String))
    return {*now.columns} <= {*there.columns} and bool(there.select(now.columns).equals(now))


def _call_differences(source: Bundle, experiment: Experiment) -> list[str]:
    """What is wrong with the stored answers' keys and prompts, by what the design asks."""
    plan, differences = source.plan_of(experiment), []
    with source.answers() as store:
        wrong = sum(_misplaced(plan, store, model) for model in source.served)
        asked = {identity for (identity,) in store.rows(_ENGINES)}
    if asked - {*source.identities.values()}:
        differences.append("responses.db: an answer comes from a model that is not in the study")
    if wrong:
        differences.append(
            f"responses.db: {wrong:,} answers belong to none of the study's prompts and models"
        )
    return differences


_ENGINES = """SELECT DISTINCT s.identity FROM calls c
    JOIN responses r ON r.id = c.response JOIN sources s ON s.id = r.source"""
_PLACES = """SELECT r.key, c.condition, c.item, c.repeat, p.messages, p.checksum FROM calls c
    JOIN responses r ON r.id = c.response JOIN conditions d ON d.position = c.condition
    LEFT JOIN prompts p ON p.id = r.prompt WHERE d.model = ?"""


def _misplaced(plan: Plan, store: Store, model: str) -> int:
    """How many of a model's stored answers belong to no call or prompt of a plan."""
    places, prompts = {}, {}
    for key, condition, item, repeat, messages, kept in store.rows(_PLACES, [model]):
        places[key], is_whole = (condition, item, repeat), kept == checksum_of_prompt(messages or "")
        prompts[key] = messages if is_whole else None
    wrong = {*places}
    for call in plan.calls(model, store.answered):
        if places.get(call.key) == (call.condition, call.item, call.repeat):
            wrong.discard(call.key)
    for request in plan.requests(model):
        messages = written_prompt(request.prompt.messages)
        wrong.update(call.key for call in request.calls if prompts.get(call.key, messages) != messages)
    return len(wrong)
