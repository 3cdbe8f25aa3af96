"""The parts of an index that no answer changes: the design, the items and their texts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from quaver.collect.store.response_store import Store
from quaver.core.records import Condition, Item
from quaver.core.replaced_file import replacing
from quaver.design.prompts.rendering import PromptWriter
from quaver.errors import QuaverError
from quaver.score.distinct_readings import mark_of_rules
from quaver.study.analysis.annotation_frame import gold_labels
from quaver.study.sources.study_source import StudySource
from quaver.view.kept_texts import TextWriter, folded
from quaver.view.study_index import IndexDesign

_FORM = 3
"""Changes with what the files of an index mean."""

_MOST_VALUES = 65_535


def design_of_study(study: StudySource, evaluators: Sequence[str]) -> IndexDesign:
    """The fixed part of a study's index."""
    experiment = study.experiment
    conditions = tuple(
        (condition.model, condition.variant, condition.decoding, condition.repeats)
        for condition in experiment.conditions
        if not condition.follow_up
    )
    own = [evaluator.title for evaluator in study.spec.evaluators]
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
        decodings={name: asdict(decoding) for name, decoding in experiment.decodings.items()},
        readers=[evaluator.model_dump(mode="json") for evaluator in study.spec.evaluators]
        if study.has_answers
        else [],
        text_field=_text_field(study) if texts else "",
        store=str(study.files.responses.resolve()) if study.has_answers else "",
        folder=str(study.folder.resolve()),
        marks=str(study.results.resolve() / "marks"),
    )


def digest_of(study: StudySource, design: IndexDesign, placed: str) -> str:
    """Changes with everything that an index rests on, but for further answers."""
    frame = study.annotations
    parts: list[Any] = [_FORM, design.document(), study.experiment.items_hash, placed]
    parts.append([dict(item.groups) for item in study.experiment.items] if design.groups else [])
    if study.has_answers:
        parts.append(mark_of_rules(study.plugins.evaluators().values()))
        parts.append([evaluator.model_dump() for evaluator in study.spec.evaluators])
    if frame is not None:
        parts.append(int(frame.select(pl.exclude(pl.List)).hash_rows(seed=0).sum() or 0))
    text = json.dumps(parts, sort_keys=True, default=str)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()


def placed_in(store: Store | None) -> str:
    """Whose calls a store holds; empty without one."""
    return "" if store is None else str(store.noted("study"))


def write_items(folder: Path, study: StudySource, design: IndexDesign) -> None:
    """Write the items: ids, gold labels, groups, fields, texts."""
    items = study.experiment.items
    for index, (name, values) in enumerate(design.groups.items()):
        of = {value: position for position, value in enumerate(values, start=1)}
        codes = np.array([of.get(item.groups.get(name, ""), 0) for item in items], np.uint16)
        np.save(folder / f"group-{index}.npy", codes)
    with closing(TextWriter(folder)) as writer:
        writer.add("ids", (item.id for item in items))
        if not design.has["texts"]:
            return
        fields = (json.dumps(dict(item.fields), ensure_ascii=False, default=str) for item in items)
        writer.add("fields", fields)
        writer.add("texts", map(folded, _texts(study, items)))
        if not design.text_field:
            writer.add("shown", _texts(study, items))


def write_gold(folder: Path, study: StudySource, design: IndexDesign) -> bool:
    """Write the gold labels as they are now; whether they differ from those that were there."""
    places = {code: index for index, code in enumerate(design.codes, start=1)}
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


_CONDITION = ("model", "variant", "decoding")

READ: Final = (
    *(*_CONDITION, "item", "repeat", "evaluator", "label", "status"),
    *("truncated", "looping", "confidence"),
)
"""The columns of the annotation frame that an index is made of."""


class Cells:
    """Finds cells by names: their places when all rows of the grid stand one behind the other.

    Args:
        design: The columns of the grid.
        items: The ids of its rows.
    """

    def __init__(self, design: IndexDesign, items: Sequence[str]) -> None:
        self._width = len(design.columns)
        self.items = pl.DataFrame({"item": items}, schema={"item": pl.String}).with_row_index("row")
        rows = [(*one, start) for one, start in zip(design.conditions, design.starts, strict=True)]
        schema = [*((name, pl.String) for name in _CONDITION), ("repeats", pl.Int64), ("start", pl.Int64)]
        self.conditions = pl.DataFrame(rows, schema=schema, orient="row")

    def of_labels(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Annotations with their ``cell``."""
        names = pl.col(*_CONDITION, "item", "evaluator", "label", "status").cast(pl.String)
        known = frame.select(READ).with_columns(names)
        return self.placed(known.join(self.conditions, on=_CONDITION, maintain_order="left"), self.items)

    def placed(self, frame: pl.DataFrame, items: pl.DataFrame) -> pl.DataFrame:
        """What has a row and a column in the grid, with its ``cell``."""
        known = frame.join(items, on="item", maintain_order="left")
        cell = pl.col("row").cast(pl.Int64) * self._width + pl.col("start") + pl.col("repeat")
        return known.filter(pl.col("repeat").is_between(0, pl.col("repeats") - 1)).with_columns(cell=cell)


class CallCells:
    """Finds the cells of stored calls by the store's own numbers.

    Args:
        cells: The cells by names.
        conditions: The study's conditions, follow-ups among them.
        store: The stored answers, whose numbers may be those of another version of the study.
    """

    def __init__(self, cells: Cells, conditions: Sequence[Condition], store: Store) -> None:
        self._cells = cells
        names = dict.fromkeys((*_CONDITION, "follow_up"), pl.String())
        keys = [
            (condition.model, condition.variant, condition.decoding, condition.follow_up)
            for condition in conditions
        ]
        frame = pl.DataFrame(keys, schema=names, orient="row").with_row_index("own")
        self._conditions = (
            _stored(store, _CONDITIONS, {"condition": pl.Int64(), **names})
            .join(frame, on=[*names], how="left")
            .join(cells.conditions, on=_CONDITION, how="left")
        )
        schema = {"number": pl.Int64(), "item": pl.String()}
        stored = _stored(store, "SELECT position, id FROM items", schema)
        self._items = stored.join(cells.items, on="item").select("row", item="number")
        self._own = dict(self._conditions.select("condition", "own").drop_nulls().iter_rows())
        self._rows = dict(self._items.select("item", "row").iter_rows())

    def of_calls(self, rows: Sequence[Sequence[Any]]) -> dict[str, tuple[Any, Any]]:
        """The cells of stored calls by their follow-up, and which of the rows these are."""
        schema = dict.fromkeys(("condition", "item", "repeat"), pl.Int64())
        frame = pl.DataFrame([row[1:4] for row in rows], schema=schema, orient="row", strict=False)
        known = frame.with_row_index("place").join(self._conditions, on="condition", maintain_order="left")
        placed = self._cells.placed(known, self._items)
        return {
            str(name): (part["cell"].to_numpy(), part["place"].to_numpy())
            for (name,), part in placed.group_by("follow_up")
        }

    def own_places(self, condition: int, item: int) -> tuple[int, int] | None:
        """The study's numbers of a condition and an item; None where it does not have them any more."""
        if condition not in self._own or item not in self._rows:
            return None
        return self._own[condition], self._rows[item]


def _stored(store: Store, sql: str, schema: dict[str, pl.DataType]) -> pl.DataFrame:
    """Rows of a store, null where something else stands that does not belong there."""
    return pl.DataFrame(store.rows(sql), schema=schema, orient="row", strict=False)


_CONDITIONS = "SELECT position, model, variant, decoding, ifnull(follow_up, '') FROM conditions"


class PlaneWriter:
    """The planes of an index, made when something is first put into them.

    Args:
        folder: The index.
        rows: How many items there are.
        width: How many columns.
    """

    def __init__(self, folder: Path, rows: int, width: int) -> None:
        self._folder, self._size = folder, rows * width
        self._open: dict[str, Any] = {}

    def put(self, name: str, kind: str, cells: Any, values: Any) -> None:
        """Put values into cells, given by their place when all rows stand one behind the other."""
        if self._size:
            self._plane(name, kind)[cells] = values

    def make(self, name: str, kind: str) -> None:
        """Make a plane of zeros where there is none."""
        if self._size:
            self._plane(name, kind)

    def _plane(self, name: str, kind: str) -> Any:
        if name not in self._open:
            path, size = self._folder / f"{name}.plane", self._size * np.dtype(kind).itemsize
            with path.open("ab") as file:  # zeros take no room on the disk before something is put there
                if file.tell() < size:
                    file.truncate(size)
            self._open[name] = np.memmap(path, dtype=kind, mode="r+", shape=(self._size,))
        return self._open[name]
