"""The parts of an index: what no answer changes, the places of answers, and frames that grow."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
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
from quaver.view.study_index import IndexDesign

_FORM = 4
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
        follow_ups=tuple(dict.fromkeys(one.follow_up for one in experiment.conditions if one.follow_up)),
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


def _text(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


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

READ: Final = (
    *(*_CONDITION, "item", "repeat", "evaluator", "label", "status"),
    *("truncated", "looping", "confidence"),
)
"""The columns of the annotation frame that an index is made of."""


class Cells:
    """Finds the ``row`` and the ``column`` of answers by names.

    Args:
        design: The columns of the grid.
        items: The ids of its rows.
    """

    def __init__(self, design: IndexDesign, items: Sequence[str]) -> None:
        self.items = pl.DataFrame({"item": items}, schema={"item": pl.String}).with_row_index("row")
        rows = [(*one, start) for one, start in zip(design.conditions, design.starts, strict=True)]
        schema = [*((name, pl.String) for name in _CONDITION), ("repeats", pl.Int64), ("start", pl.Int64)]
        self.conditions = pl.DataFrame(rows, schema=schema, orient="row")

    def of_labels(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Annotations with their places."""
        names = pl.col(*_CONDITION, "item", "evaluator", "label", "status").cast(pl.String)
        known = frame.select(READ).with_columns(names)
        return self.placed(known.join(self.conditions, on=_CONDITION, maintain_order="left"), self.items)

    def placed(self, frame: pl.DataFrame, items: pl.DataFrame) -> pl.DataFrame:
        """What has a place in the grid, with it."""
        known = frame.join(items, on="item", maintain_order="left")
        column = (pl.col("start") + pl.col("repeat")).cast(pl.UInt16)
        return known.filter(pl.col("repeat").is_between(0, pl.col("repeats") - 1)).with_columns(column=column)


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

    def of_calls(self, rows: Sequence[Sequence[Any]]) -> pl.DataFrame:
        """Stored calls (number, place, answer, thinking) with their places and their follow-up."""
        names = dict.fromkeys(("response", "condition", "item", "repeat"), pl.Int64())
        frame = pl.DataFrame([row[:4] for row in rows], schema=names, orient="row", strict=False)
        frame = frame.with_columns(
            length=pl.Series([len(row[4]) for row in rows], dtype=pl.UInt32),
            text=pl.Series([_text(row[4]) or None for row in rows], dtype=pl.String),
            thought=pl.Series([_text(row[5] or "") or None for row in rows], dtype=pl.String),
        )
        known = frame.join(self._conditions, on="condition", maintain_order="left")
        return self._cells.placed(known, self._items)

    def own_places(self, condition: int, item: int) -> tuple[int, int] | None:
        """The study's numbers of a condition and an item; None where it does not have them any more."""
        if condition not in self._own or item not in self._rows:
            return None
        return self._own[condition], self._rows[item]


def _stored(store: Store, sql: str, schema: dict[str, pl.DataType]) -> pl.DataFrame:
    """Rows of a store, null where something else stands that does not belong there."""
    return pl.DataFrame(store.rows(sql), schema=schema, orient="row", strict=False)


_CONDITIONS = "SELECT position, model, variant, decoding, ifnull(follow_up, '') FROM conditions"


_ROW_GROUP, _PART = 4_096, 2 << 20
"""Rows of a file that are read together, and the bytes up to which a file is written anew to grow."""

_READ = 60.0
"""Seconds for which a file stays that another has taken the place of: it may be read just now."""

_PLACE = ["row", "column"]
_NAMES = ("answers", "texts", "thoughts")


class AnswerWriter:
    """Writes the answers of an index, and their texts, as frames that grow; no file ever changes.

    Args:
        folder: The index.
        design: Its design.
        files: The files of each frame; what a process that was killed has written besides is forgotten.

    Attributes:
        files: The same as they are now.
    """

    def __init__(self, folder: Path, design: IndexDesign, files: Mapping[str, Sequence[str]]) -> None:
        self._folder, self._schema = folder, design.schema
        self.files = {name: [*files.get(name, ())] for name in _NAMES}
        self._seen = np.zeros((design.items, len(design.columns)), bool)
        for path in self._paths("answers"):
            places = pl.read_parquet(path, columns=_PLACE)
            self._seen[places["row"], places["column"]] = True
        self._texts = {name: sum(map(_height, self._paths(name))) for name in _NAMES}

    def _paths(self, name: str) -> list[Path]:
        return [self._folder / file for file in self.files[name]]

    def clear(self) -> None:
        """Forget all answers."""
        self.files = {name: [] for name in _NAMES}
        self._seen[:] = False
        self._texts = dict.fromkeys(_NAMES, 0)

    def tidy(self) -> None:
        """Delete files that are no longer read."""
        held = {file for files in self.files.values() for file in files}
        for path in (path for name in _NAMES for path in self._folder.glob(f"{name}-*.parquet")):
            if path.name not in held and time.time() - path.stat().st_mtime > _READ:
                path.unlink()

    def _append(self, name: str, frame: pl.DataFrame) -> None:
        """Have a frame grow: its last file does, as long as that is small."""
        paths = self._paths(name)
        if paths and paths[-1].stat().st_size < _PART:
            self._replace(name, paths[-1], pl.concat([pl.read_parquet(paths[-1]), frame]))
        else:
            self.files[name].append(self._written(f"{name}-{len(paths):06}", frame))

    def _replace(self, name: str, path: Path, frame: pl.DataFrame) -> None:
        self.files[name][self.files[name].index(path.name)] = self._written(path.name[: len(name) + 7], frame)
        path.touch()  # from now on, nobody begins to read it

    def _written(self, name: str, frame: pl.DataFrame) -> str:
        path = self._folder / f"{name}-{time.time_ns()}.parquet"
        frame.write_parquet(path, row_group_size=16 * _ROW_GROUP)
        return path.name

    def write(self, frame: pl.DataFrame) -> int:
        """Write answers; what was null of an answer before may be known now.

        Returns:
            How many answers took the place of others.
        """
        if "text" in frame:
            frame = frame.with_columns(
                text=self._numbers("texts", frame["text"]),
                thought=self._numbers("thoughts", frame["thought"]),
            )
        missing = [pl.lit(None, kind).alias(name) for name, kind in self._schema.items() if name not in frame]
        frame = frame.with_columns(missing).select(*self._schema).cast(self._schema)
        seen = pl.Series(self._seen[frame["row"], frame["column"]])
        if (changed := frame.filter(seen)).height:
            self._change(changed)
        if not (new := frame.filter(~seen)).is_empty():
            self._append("answers", new)
            self._seen[new["row"], new["column"]] = True
        return changed.height

    def _change(self, frame: pl.DataFrame) -> None:
        for path in self._paths("answers"):
            before = pl.read_parquet(path)
            if not before.join(frame, on=_PLACE, how="semi").is_empty():
                self._replace("answers", path, before.update(frame, on=_PLACE))

    def _numbers(self, name: str, texts: pl.Series) -> pl.Series:
        """The numbers of texts among those that are searched; null for an empty one."""
        distinct = texts.drop_nulls().unique(maintain_order=True)
        if distinct.is_empty():
            return pl.Series([None] * len(texts), dtype=pl.UInt32)
        self._append(name, distinct.alias("text").to_frame())
        first = self._texts[name]
        self._texts[name] += len(distinct)
        return texts.replace_strict(
            distinct, pl.Series(range(first, self._texts[name])), return_dtype=pl.UInt32, default=None
        )


def _height(path: Path) -> int:
    return int(pl.scan_parquet(path).select(pl.len()).collect().item())
