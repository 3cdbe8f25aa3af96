"""Makes and continues the index of a study: what ``quaver view`` reads instead of the study itself.

An index is a folder that may be deleted at any time. It follows the stored answers while a study runs, and
reads the store without changing it.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import polars as pl

from quaver.collect.store.response_store import Store
from quaver.core.replaced_file import replace_text
from quaver.score.annotation import Annotator
from quaver.study.analysis.annotation_frame import annotator_of, is_current, readable
from quaver.study.analysis.field_source import FieldSource
from quaver.study.sources.kept_annotations import scan_kept
from quaver.study.sources.study_source import StudySource
from quaver.view.index_parts import (
    GrowingFrames,
    design_of_study,
    digest_of,
    text_of,
    write_design,
    write_gold,
)
from quaver.view.study_index import CURRENT, STATUSES, TEXTS, State, scanned, state_in, write_json

_AT_ONCE, _ROWS = 20_000, 500_000
"""Answers, and labels that are known already, that are taken in together."""

_CONDITION = ["model", "variant", "decoding"]
_READ: Final = (
    *(*_CONDITION, "item", "repeat", "evaluator", "label", "status"),
    *("truncated", "looping", "confidence"),
)
"""The columns of the annotation frame that an index is made of."""

_CALL: Final = """
    SELECT a.response, c.model, c.variant, c.decoding, ifnull(c.follow_up, '') AS follow_up, i.id AS item,
           a.repeat, r.id AS answer, r.text, r.thinking
    FROM calls a JOIN conditions c ON c.position = a.condition JOIN items i ON i.position = a.item
    LEFT JOIN responses r ON r.id = ifnull(a.parent, a.response) WHERE"""
_SCHEMA: Final = {
    "last": pl.Int64(),
    **dict.fromkeys((*_CONDITION, "follow_up", "item"), pl.String()),
    **dict.fromkeys(("repeat", "response"), pl.Int64()),
    **dict.fromkeys(("text", "thought"), pl.String()),
}


class IndexBuilder:
    """Makes and continues an index.

    Args:
        study: The study.
        root: The folder of its indexes, of which one is in use.

    Attributes:
        folder: The index.
        design: What it says of the study.
        state: How far it has come.
    """

    def __init__(self, study: StudySource, root: Path) -> None:
        self.study, self._noted, self._outgrown = study, 0.0, False
        with reading(study) as store:
            self._frame, evaluators = _read_already(study, store)
            self.design = design_of_study(study, evaluators)
            self._placed = placed_in(store)
        self.folder = root / digest_of(study, self.design, self._placed)
        self.state = self._begun(root)
        self._frames = GrowingFrames(self.folder, self.state.files)
        ids = pl.Series("item", [item.id for item in study.experiment.items], dtype=pl.String)
        self._items = ids.to_frame().with_row_index("row")
        names = pl.DataFrame(self.design.conditions, schema=[*_CONDITION, "repeats"], orient="row")
        names = names.cast({**dict.fromkeys(_CONDITION, pl.String), "repeats": pl.Int64})
        self._conditions = names.with_columns(start=pl.col("repeats").cum_sum() - pl.col("repeats"))

    def _begun(self, root: Path) -> State:
        """Begin an index where there is none, and have it be the one in use."""
        if not (self.folder / "state.json").exists():
            shutil.rmtree(self.folder, ignore_errors=True)  # what a process that was killed has left
            self.folder.mkdir(parents=True)
            write_design(self.folder, self.study, self.design)
            write_gold(self.folder, self.study, self.design)
            write_json(self.folder / "state.json", State()._asdict())
        replace_text(root / CURRENT, self.folder.name)
        for other in root.iterdir():
            if other.is_dir() and (other / "state.json").exists() and other != self.folder:
                shutil.rmtree(other, ignore_errors=True)
        state = state_in(self.folder)
        if write_gold(self.folder, self.study, self.design):
            state = state._replace(changed=state.changed + 1)
            write_json(self.folder / "state.json", state._asdict())
        return state

    def update(self) -> bool:
        """Bring the index up to date.

        Returns:
            Whether the store still holds the calls of this design, and their labels are among its own; if
            not, another index is to be made.
        """
        before = self.state
        with reading(self.study) as store:
            if placed_in(store) != self._placed:
                return False
            known = None
            if self._frame is not None and not before.complete:
                self._frames = GrowingFrames(self.folder, {})
                self.state = before._replace(last=0, done=0)
                known = self._known(self._frame)
            if store is not None:
                self._follow(store, known)
            elif known is not None:
                self._append(known)
                self.state = self.state._replace(done=known.height, of=known.height)
        if self._outgrown:
            return False
        if self.state != before or not before.complete:
            self._note(complete=True)
        return True

    def _known(self, frame: pl.LazyFrame) -> pl.DataFrame:
        """The labels of an annotation frame by their places."""
        parts, start = [self._labels(frame.head(0).collect())], 0
        while not (part := frame.select(_READ).slice(start, _ROWS).collect()).is_empty():
            parts.append(self._labels(part))
            start += part.height
        return pl.concat(parts)

    def _follow(self, store: Store, known: pl.DataFrame | None) -> None:
        """Take in the answers that have come since, with the labels that are known or are read in them."""
        total = int(store.rows("SELECT count(*) FROM calls")[0][0])
        if replaced := self._replaced(store):
            self._frames.drop(replaced)
            self.state = self.state._replace(changed=self.state.changed + 1)
            rows = store.rows(
                f"{_CALL} a.response IN (SELECT value FROM json_each(?))", (json.dumps(replaced),)
            )
            self._put(rows, self._read(store, store.read_after(0, 0, replaced)))
        answers = f"{_CALL} a.response > ? ORDER BY a.response LIMIT ?"
        while rows := store.rows(answers, (self.state.last, _AT_ONCE)):
            if known is None:
                labels = self._read(store, store.read_after(self.state.last, _AT_ONCE))
                self._put(rows, labels)
            else:
                self._put(rows, known, follow_ups=False)
            done = self.state.done + len(rows)
            self.state = self.state._replace(last=rows[-1][0], done=done, of=max(total, done))
            if time.monotonic() - self._noted > 1.0:
                self._note(complete=False)
        self.state = self.state._replace(of=max(total, self.state.done))

    def _replaced(self, store: Store) -> list[int]:
        """The responses that were errors when they were read, and are answers now."""
        error = len(self.design.codes) + 1 + STATUSES.index("error")
        frame = scanned(self.folder, "answers", self._frames.files, self.design.schema)
        errors = frame.filter(pl.col("legend") == error).select(pl.col("response").unique()).collect()
        sql = "SELECT id FROM responses WHERE finish != 'error' AND id IN (SELECT value FROM json_each(?))"
        return [number for (number,) in store.rows(sql, (json.dumps(errors["response"].to_list()),))]

    def _put(self, rows: Sequence[Any], labels: pl.DataFrame, *, follow_ups: bool = True) -> None:
        """Add labels with the facts of their calls: those to follow-ups come with the answer, or after it."""
        rows = [(*row[:8], text_of(row[8]) or None, text_of(row[9]) or None) for row in rows]
        calls = self._places(pl.DataFrame(rows, schema=_SCHEMA, orient="row", strict=False))
        answers = calls.filter(pl.col("follow_up") == "")
        facts = (calls if follow_ups else answers).unique(["row", "column"], maintain_order=True)
        facts = facts.select("row", "column", "response", length=pl.col("text").str.len_chars().fill_null(0))
        self._append(labels.join(facts, on=["row", "column"]))
        texts = answers.select(TEXTS.names()).filter(
            pl.any_horizontal(pl.col("text", "thought").is_not_null())
        )
        self._frames.append("texts", texts.cast(TEXTS))

    def _append(self, labels: pl.DataFrame) -> None:
        schema = self.design.schema
        missing = [pl.lit(None, kind).alias(name) for name, kind in schema.items() if name not in labels]
        self._frames.append("answers", labels.with_columns(missing).select(*schema).cast(schema))

    def _places(self, frame: pl.DataFrame) -> pl.DataFrame:
        """What has a place in the grid, with its ``row`` and ``column``."""
        names = pl.col(*_CONDITION, "item").cast(pl.String)
        found = frame.with_columns(names).join(self._conditions, on=_CONDITION, maintain_order="left")
        found = found.join(self._items, on="item", maintain_order="left")
        found = found.filter(pl.col("repeat").is_between(0, pl.col("repeats") - 1))
        return found.with_columns(column=(pl.col("start") + pl.col("repeat")).cast(pl.UInt16))

    def _labels(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Annotations with their places, the numbers of their evaluators, and legend codes."""
        design = self.design
        labels = {label: code for code, (label, _) in enumerate(design.meanings) if label is not None}
        statuses = {status: code for code, status in enumerate(STATUSES, len(design.codes) + 1)}
        statuses["valid"] = statuses["tied"]
        numbers = {name: position for position, name in enumerate(design.evaluators)}

        def coded(name: str, codes: dict[str, int], kind: Any) -> pl.Expr:
            return pl.col(name).cast(pl.String).replace_strict(codes, default=None, return_dtype=kind)

        kinds = design.schema
        legend = pl.coalesce(
            coded("label", labels, kinds["legend"]), coded("status", statuses, kinds["legend"])
        )
        evaluator = coded("evaluator", numbers, kinds["evaluator"])
        found = self._places(frame.select(_READ)).with_columns(evaluator, legend=legend)
        names = [name for name in kinds if name in found.columns]
        return found.select(names).drop_nulls(["evaluator", "legend"])

    def _read(self, store: Store, answers: Sequence[tuple[int, Any]]) -> pl.DataFrame:
        """The labels that the evaluators read in answers, by their places."""
        conditions, items = self._numbers(store)
        rows = [
            (conditions[row[0]], items[row[1]], *row[2:])
            for _, row in answers
            if row[0] in conditions and row[1] in items
        ]
        frame = self._reader.frame(rows)
        if isinstance(self.study, FieldSource):  # an answer has all fields
            frame = self.study.rows(frame)
            self._outgrown |= not {*frame["label"].drop_nulls()} <= {*self.design.codes}
        return self._labels(frame)

    def _numbers(self, store: Store) -> tuple[dict[int, int], dict[int, int]]:
        """The study's numbers of a store's conditions and items, which may be of another version of it."""
        if self._numbered is None:
            experiment = self.study.experiment
            conditions = {
                (one.model, one.variant, one.decoding, one.follow_up): position
                for position, one in enumerate(experiment.conditions)
            }
            items = dict(self._items.select("item", "row").iter_rows())
            sql = "SELECT position, model, variant, decoding, ifnull(follow_up, '') FROM conditions"
            self._numbered = (
                {row[0]: conditions[row[1:]] for row in map(tuple, store.rows(sql)) if row[1:] in conditions},
                {n: items[name] for n, name in store.rows("SELECT position, id FROM items") if name in items},
            )
        return self._numbered

    _numbered: tuple[dict[int, int], dict[int, int]] | None = None

    @cached_property
    def _reader(self) -> Annotator:
        study = self.study.whole if isinstance(self.study, FieldSource) else self.study
        names = list(self.design.evaluators)
        wanted = None if names == [evaluator.title for evaluator in study.spec.evaluators] else names
        of = readable(study, study.plugins.follow_ups(wanted))
        return annotator_of(study, study.plugins.evaluators(wanted), of)

    def _note(self, *, complete: bool) -> None:
        """Write down how far the index has come."""
        self.state = self.state._replace(complete=complete, files=self._frames.files)
        self._noted = time.monotonic()
        write_json(self.folder / "state.json", self.state._asdict())
        self._frames.tidy()


@contextmanager
def reading(study: StudySource) -> Iterator[Store | None]:
    """A study's stored answers, only read; None where there are none."""
    path = study.files.responses
    if not path.exists() or not study.has_answers:
        yield None
        return
    store = Store(path, only_read=True)
    try:
        yield store
    finally:
        store.close()


def placed_in(store: Store | None) -> str:
    """Whose calls a store holds; empty without one."""
    return "" if store is None else str(store.noted("study"))


def _read_already(study: StudySource, store: Store | None) -> tuple[pl.LazyFrame | None, list[str]]:
    """The annotation frame, where there is one that is true, and the evaluators whose readings there are."""
    own = [evaluator.title for evaluator in study.spec.evaluators]
    try:
        if study.annotations is not None:
            frame = study.annotations.lazy()
        elif store is not None and is_current(study, store):
            frame = scan_kept(study.files.annotations)
        else:
            return None, own
        names = frame.select(pl.col("evaluator").cast(pl.String).unique()).collect()["evaluator"].to_list()
    except (OSError, pl.exceptions.PolarsError):  # the frame is missing or damaged
        return None, own
    return frame, sorted(names, key=lambda name: (own.index(name) if name in own else len(own), name)) or own
