"""The parts of an index: what no answer changes, the places of answers, and frames that grow."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import polars as pl

from quaver.collect.store.response_store import Store
from quaver.core.records import Item
from quaver.core.replaced_file import replacing
from quaver.design.prompts.rendering import PromptWriter
from quaver.errors import QuaverError
from quaver.score.distinct_readings import mark_of_rules
from quaver.study.analysis.annotation_frame import gold_labels
from quaver.study.sources.study_source import StudySource
from quaver.view.study_index import STATUSES, IndexDesign

_FORM = 5
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
        has={"texts": study.has_texts, "answers": study.has_answers},
        task={"instruction": experiment.variants[0].instruction, "kind": study.kind},
        decodings={name: asdict(decoding) for name, decoding in experiment.decodings.items()},
        readers=[evaluator.model_dump(mode="json") for evaluator in study.spec.evaluators]
        if study.has_answers
        else [],
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
    """Write the items: ids, groups, and their texts and fields, of which half a surrogate pair is no text."""
    items = study.experiment.items
    columns: dict[str, Any] = {"row": range(len(items)), "item": [item.id for item in items]}
    for position, name in enumerate(design.groups):
        columns[f"group-{position}"] = [item.groups.get(name) for item in items]
    if design.has["texts"]:
        columns["text"] = map(_text, _texts(study, items))
        columns["fields"] = (json.dumps(dict(item.fields), default=str) for item in items)
    schema: dict[str, Any] = {"row": pl.UInt32, **dict.fromkeys([*columns][1:], pl.String)}
    frame = pl.DataFrame({name: [*values] for name, values in columns.items()}, schema=schema)
    with replacing(folder / "items.parquet") as part:
        frame.write_parquet(part, row_group_size=_ROW_GROUP)


def write_gold(folder: Path, study: StudySource, design: IndexDesign) -> bool:
    """Write the gold labels as they are now; whether they differ from those that were there."""
    labels = [label if label in design.codes else None for label in gold_labels(study)]
    gold, path = pl.DataFrame({"gold": pl.Series(labels, dtype=pl.String)}), folder / "gold.parquet"
    if path.exists() and pl.read_parquet(path).equals(gold):
        return False
    with replacing(path) as part:
        gold.write_parquet(part)
    return True


def _text(text: str | None) -> str:
    return (text or "").encode("utf-8", "replace").decode()


def _texts(study: StudySource, items: Sequence[Item]) -> Iterator[str]:
    """The items' texts, as the first variant shows them."""
    writer = PromptWriter(study.experiment.variants[0], study.experiment.labels)
    for item in items:
        try:
            yield writer.text(item)
        except QuaverError:
            yield ""


def _groups(items: Sequence[Item]) -> dict[str, tuple[str, ...]]:
    """The values of the groups; a group of too many values to choose from is left out."""
    names = dict.fromkeys(name for item in items for name in item.groups)
    found = {
        name: dict.fromkeys(item.groups[name] for item in items if name in item.groups) for name in names
    }
    return {name: tuple(values) for name, values in found.items() if len(values) <= _MOST_VALUES}


_CONDITION = ("model", "variant", "decoding")
_PLACE = ["row", "column"]

READ: Final = (
    *(*_CONDITION, "item", "repeat", "evaluator", "label", "status"),
    *("truncated", "looping", "confidence"),
)
"""The columns of the annotation frame that an index is made of."""


class Places:
    """Finds the ``row`` and the ``column`` of annotations by their names, of stored calls by their numbers.

    Args:
        study: The study.
        design: Its index's design.
        store: The stored answers, whose numbers may be those of another version of the study.
    """

    def __init__(self, study: StudySource, design: IndexDesign, store: Store | None) -> None:
        self._design, experiment = design, study.experiment
        ids = [item.id for item in experiment.items]
        self._items = pl.DataFrame({"item": ids}, schema={"item": pl.String}).with_row_index("row")
        rows = [(*key, start) for key, start in zip(design.conditions, design.starts, strict=True)]
        names = dict.fromkeys(_CONDITION, pl.String())
        schema = {**names, "repeats": pl.Int64(), "start": pl.Int64()}
        self._conditions = pl.DataFrame(rows, schema=schema, orient="row")
        if store is None:
            return
        names["follow_up"] = pl.String()
        keys = [(*map(c.__getattribute__, _CONDITION), c.follow_up) for c in experiment.conditions]
        here = pl.DataFrame(keys, schema=names, orient="row").with_row_index("here")
        placed = _stored(store, _CONDITIONS, {"condition": pl.Int64(), **names})
        placed = placed.join(here, on=[*names], how="left").join(self._conditions, on=_CONDITION, how="left")
        items = _stored(store, _ITEMS, {"number": pl.Int64(), "item": pl.String()}).join(
            self._items, on="item"
        )
        self._of_calls = placed, items.select("row", item="number")
        self.conditions = dict(placed.select("condition", "here").drop_nulls().iter_rows())
        self.items = dict(items.select("number", "row").iter_rows())

    def of_labels(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Annotations with their places, the numbers of their evaluators, and legend codes."""
        design = self._design
        names = pl.col(*_CONDITION, "item", "evaluator", "label", "status").cast(pl.String)
        known = frame.select(READ).with_columns(names).join(self._conditions, on=_CONDITION)
        evaluators = {name: position for position, name in enumerate(design.evaluators)}
        statuses = {status: design.status_code(status) for status in STATUSES}
        codes = [
            pl.col(name).replace_strict(known, default=None, return_dtype=design.schema["legend"])
            for name, known in (
                ("label", {code: legend for code, legend in design.legend_codes.items() if code is not None}),
                ("status", {**statuses, "valid": statuses["tied"]}),
            )
        ]
        placed = _placed(known, self._items).with_columns(
            pl.col("evaluator").replace_strict(evaluators, default=None, return_dtype=pl.UInt8),
            legend=pl.coalesce(codes),
        )
        return placed.select(*_PLACE, *_LABEL).drop_nulls(["evaluator", "legend"])

    def of_calls(self, rows: Sequence[Sequence[Any]]) -> pl.DataFrame:
        """Stored calls with their places, their follow-ups, and the facts about the answer."""
        names = dict.fromkeys(("condition", "item", "repeat", "response"), pl.Int64())
        frame = pl.DataFrame([row[1:5] for row in rows], schema=names, orient="row", strict=False)
        texts = {"text": [_text(row[5]) for row in rows], "thought": [_text(row[6]) for row in rows]}
        frame = frame.with_columns(
            *(pl.Series(name, some, dtype=pl.String).replace("", None) for name, some in texts.items()),
            length=pl.Series([len(row[5] or "") for row in rows], dtype=pl.UInt32),
        )
        conditions, items = self._of_calls
        placed = _placed(frame.join(conditions, on="condition", maintain_order="left"), items)
        return placed.select(*_PLACE, "follow_up", "response", "length", "text", "thought")


def _placed(frame: pl.DataFrame, items: pl.DataFrame) -> pl.DataFrame:
    """What has a place in the grid, with it."""
    column = (pl.col("start") + pl.col("repeat")).cast(pl.UInt16)
    known = frame.join(items, on="item", maintain_order="left")
    return known.filter(pl.col("repeat").is_between(0, pl.col("repeats") - 1)).with_columns(column=column)


def _stored(store: Store, sql: str, schema: dict[str, pl.DataType]) -> pl.DataFrame:
    """Rows of a store, null where something else stands that does not belong there."""
    return pl.DataFrame(store.rows(sql), schema=schema, orient="row", strict=False)


_LABEL = ("evaluator", "legend", "confidence", "truncated", "looping")
_CONDITIONS = "SELECT position, model, variant, decoding, ifnull(follow_up, '') FROM conditions"
_ITEMS = "SELECT position, id FROM items"

_ROW_GROUP, _PART = 4_096, 2 << 20
"""Rows of a file that are read together, and the bytes up to which a file is written anew to grow."""

_READ = 60.0
"""Seconds for which a file stays that another has taken the place of: it may be read just now."""

FRAMES = ("answers", "text", "thought")
"""The frames of an index: the annotations, and the distinct texts of answers and of thinking."""


class AnswerParts:
    """The frames of an index, in files that never change; what a killed process did not note is forgotten.

    Args:
        folder: The index.
        schema: The columns of the annotations.
        files: The files of each frame.

    Attributes:
        files: The same as they are now.
    """

    def __init__(self, folder: Path, schema: pl.Schema, files: Mapping[str, Sequence[str]]) -> None:
        self._folder, self._schema = folder, schema
        self.files = {name: [*files.get(name, ())] for name in FRAMES}

    def tidy(self) -> None:
        """Delete files that are no longer read."""
        held = {file for files in self.files.values() for file in files}
        for path in (path for name in FRAMES for path in self._folder.glob(f"{name}-*.parquet")):
            if path.name not in held and time.time() - path.stat().st_mtime > _READ:
                path.unlink()

    def append(self, frame: pl.DataFrame) -> None:
        """Add annotations."""
        if frame.is_empty():
            return
        if "text" in frame:
            frame = frame.with_columns(self._numbers(frame[name]) for name in FRAMES[1:])
        missing = [pl.lit(None, kind).alias(name) for name, kind in self._schema.items() if name not in frame]
        self._grow("answers", frame.with_columns(missing).select(*self._schema).cast(self._schema))

    def drop(self, responses: Sequence[int]) -> None:
        """Take the annotations of responses out."""
        for position, file in enumerate(self.files["answers"]):
            before = pl.read_parquet(self._folder / file)
            after = before.filter(~pl.col("response").is_in(responses))
            if after.height < before.height:
                self.files["answers"][position] = self._written("answers", after)

    def _numbers(self, texts: pl.Series) -> pl.Series:
        """The numbers of texts in their frame; null for an empty one."""
        distinct = texts.drop_nulls().unique(maintain_order=True)
        if distinct.is_empty():
            return texts.cast(pl.UInt32)
        paths = [self._folder / file for file in self.files[texts.name]]
        first = pl.scan_parquet(paths).select(pl.len()).collect().item() if paths else 0
        self._grow(texts.name, distinct.alias("text").to_frame())
        numbers = pl.Series(range(first, first + len(distinct)))
        return texts.replace_strict(distinct, numbers, return_dtype=pl.UInt32, default=None)

    def _grow(self, name: str, frame: pl.DataFrame) -> None:
        """Have a frame grow: its last file is written anew, as long as that is small."""
        files = self.files[name]
        if files and (last := self._folder / files[-1]).stat().st_size < _PART:
            frame = pl.concat([pl.read_parquet(last), frame])
            last.touch()  # from now on, nobody begins to read it
            files.pop()
        files.append(self._written(name, frame))

    def _written(self, name: str, frame: pl.DataFrame) -> str:
        path = self._folder / f"{name}-{time.time_ns()}.parquet"
        frame.write_parquet(path, row_group_size=16 * _ROW_GROUP)
        return path.name
