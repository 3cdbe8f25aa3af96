"""The parts of an index that no answer changes: the design, the items and their texts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from quaver.collect.store.response_store import Store
from quaver.core.records import Item
from quaver.core.replaced_file import replacing
from quaver.design.prompts.rendering import PromptWriter
from quaver.errors import QuaverError
from quaver.score.distinct_readings import mark_of_rules
from quaver.study.analysis.annotation_frame import gold_labels
from quaver.study.sources.study_source import StudySource
from quaver.view.index_design import IndexDesign
from quaver.view.kept_texts import TextWriter, folded, write_names

_FORM = 1
"""Changes with what the files of an index mean."""

_MOST_VALUES = 65_535


def design_of_study(study: StudySource, evaluators: Sequence[str]) -> IndexDesign:
    """The fixed part of a study's index."""
    experiment = study.experiment
    conditions = tuple(
        (one.model, one.variant, one.decoding, one.repeats)
        for one in experiment.conditions
        if not one.follow_up
    )
    own = [one.title for one in study.spec.evaluators]
    named = None if list(evaluators) == own else evaluators
    of = study.plugins.follow_ups(named) if study.has_answers else {}
    texts = study.has_texts
    return IndexDesign(
        name=study.spec.name,
        kind=study.kind,
        items=len(experiment.items),
        labels=experiment.labels,
        evaluators=tuple(evaluators),
        of={name: follow_up for name, follow_up in of.items() if follow_up},
        conditions=conditions,
        variants=tuple(experiment.variants),
        groups=_groups(experiment.items),
        has={
            "texts": texts,
            "answers": study.has_answers,
        },
        task={"instruction": experiment.variants[0].instruction, "kind": study.kind},
        decodings={name: asdict(one) for name, one in experiment.decodings.items()},
        readers=[one.model_dump(mode="json") for one in study.spec.evaluators] if study.has_answers else [],
        text_field=_text_field(study) if texts else "",
        store=str(study.files.responses.resolve()) if study.has_answers else "",
        folder=str(study.folder.resolve()),
        marks=str(study.results.resolve() / "marks"),
    )


def digest_of(study: StudySource, design: IndexDesign, placed: str) -> str:
    """Changes with everything that an index rests on, but for further answers.

    Args:
        study: The study.
        design: The index's.
        placed: Whose calls the store holds.
    """
    known = study.annotations
    parts: list[Any] = [_FORM, design.document(), study.experiment.items_hash, placed]
    parts.append([dict(item.groups) for item in study.experiment.items] if design.groups else [])
    if study.has_answers:
        parts.append(mark_of_rules(study.plugins.evaluators().values()))
        parts.append([one.model_dump() for one in study.spec.evaluators])
    if known is not None:
        parts.append(int(known.select(pl.exclude(pl.List)).hash_rows(seed=0).sum() or 0))
    text = json.dumps(parts, sort_keys=True, default=str)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()


def placed_in(store: Store | None) -> str:
    """Whose calls a store holds; empty without one."""
    return "" if store is None else str(store.noted("study"))


def write_items(folder: Path, study: StudySource, design: IndexDesign) -> None:
    """Write the items: ids, gold labels, groups, fields, texts."""
    items = study.experiment.items
    write_names(folder / "ids", (item.id for item in items))
    for at, (name, values) in enumerate(design.groups.items()):
        of = {value: place for place, value in enumerate(values, start=1)}
        codes = np.array([of.get(item.groups.get(name, ""), 0) for item in items], np.uint16)
        np.save(folder / f"group-{at}.npy", codes)
    if not design.has["texts"]:
        return
    fields, shown, sought = (TextWriter(folder / name) for name in ("fields", "shown", "texts"))
    for item, text in zip(items, _texts(study, items), strict=True):
        fields.add([json.dumps(dict(item.fields), ensure_ascii=False, default=str)])
        if not design.text_field:
            shown.add([text])
        sought.add([folded(text)])
    for writer in (fields, shown, sought):
        writer.close()


def write_gold(folder: Path, study: StudySource, design: IndexDesign) -> bool:
    """Write the gold labels as they are now; whether they differ from those that were there."""
    places = {code: place for place, code in enumerate(design.codes, start=1)}
    gold = np.array([places.get(label or "", 0) for label in gold_labels(study)], design.cell_type)
    path = folder / "gold.npy"
    if path.exists() and np.array_equal(np.load(path), gold):
        return False
    with replacing(path) as part, part.open("wb") as file:
        np.save(file, gold)
    return True


def _texts(study: StudySource, items: Sequence[Item]) -> Iterator[str]:
    """The items' texts, as the first variant shows them."""
    writer = PromptWriter(study.experiment.variants[0], study.experiment.labels)
    for item in items:
        try:
            yield writer.text(item)
        except QuaverError:
            yield ""


def _text_field(study: StudySource) -> str:
    """The field that is every item's text as it stands; empty where there is none."""
    items = study.experiment.items
    for name in items[0].fields if items else ():
        texts = zip(items, _texts(study, items), strict=True)
        if all(item.fields.get(name) == text for item, text in texts):
            return name
    return ""


def _groups(items: Sequence[Item]) -> dict[str, tuple[str, ...]]:
    """The values of the groups; a group of too many values to choose from is left out."""
    names = dict.fromkeys(name for item in items for name in item.groups)
    found = {
        name: dict.fromkeys(item.groups[name] for item in items if name in item.groups) for name in names
    }
    return {name: tuple(values) for name, values in found.items() if len(values) <= _MOST_VALUES}
