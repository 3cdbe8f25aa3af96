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
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from quaver.collect.store.response_store import Store
from quaver.core.replaced_file import replace_text
from quaver.score.annotation import Annotator
from quaver.study.analysis.annotation_frame import annotator_of, is_current, readable
from quaver.study.analysis.field_source import FieldSource
from quaver.study.sources.kept_annotations import scan_kept
from quaver.study.sources.study_source import StudySource
from quaver.view.index_parts import (
    READ,
    AnswerWriter,
    CallCells,
    Cells,
    design_of_study,
    digest_of,
    placed_in,
    write_gold,
    write_items,
)
from quaver.view.study_index import CURRENT, STATUSES, IndexDesign, State, write_json

_AT_ONCE = 5_000
_ROWS = 500_000
_FLUSHED = 50_000
"""So many answers are written together, or fewer each second."""


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
        self.study = study
        self._annotator: Annotator | None = None
        self._calls: CallCells | None = None
        self._noted = 0.0
        self._outgrown = False
        items = [item.id for item in study.experiment.items]
        with reading(study) as store:
            self._frame, evaluators = _read_already(study, store)
            self.design = design_of_study(study, evaluators)
            self._placed = placed_in(store)
            self._cells = Cells(self.design, items)
            if store is not None:
                self._calls = CallCells(self._cells, study.experiment.conditions, store)
        self.folder = root / digest_of(study, self.design, self._placed)
        self.state = self._begun(root)
        self._writer = AnswerWriter(self.folder, self.design, self.state.files)
        self._waiting: list[pl.DataFrame] = []
        self._changed = self.state.changed

    def _begun(self, root: Path) -> State:
        """Begin an index where there is none, and have it be the one in use."""
        noted = self.folder / "state.json"
        if not noted.exists():
            shutil.rmtree(self.folder, ignore_errors=True)  # what a process that was killed has left
            self.folder.mkdir(parents=True)
            write_items(self.folder, self.study, self.design)
            write_gold(self.folder, self.study, self.design)
            write_json(self.folder / "design.json", self.design.document())
            write_json(noted, State()._asdict())
        replace_text(root / CURRENT, self.folder.name)
        for other in root.iterdir():
            if other.is_dir() and (other / "state.json").exists() and other != self.folder:
                shutil.rmtree(other, ignore_errors=True)
        state = State(**json.loads(noted.read_text(encoding="utf-8")))
        if write_gold(self.folder, self.study, self.design):
            state = state._replace(changed=state.changed + 1)
            write_json(noted, state._asdict())
        return state

    def update(self) -> bool:
        """Bring the index up to date.

        Returns:
            Whether the store still holds the calls of this design, and their labels are among its own; if
            not, another index is to be made.
        """
        before, changed = self.state, self._changed
        with reading(self.study) as store:
            if placed_in(store) != self._placed:
                return False
            if self._frame is not None and not before.complete:
                self._take_frame(store)
            elif store is not None:
                self._take_answers(store)
        if self._outgrown:
            return False
        self._flush()
        if (self.state, self._changed) != (before, changed) or not before.complete:
            self._note(self.state._replace(complete=True))
        return True

    # ------------------------------------------------------------------ labels that are known

    def _take_frame(self, store: Store | None) -> None:
        """Take in an annotation frame, with the answers that it was made of."""
        total = int(store.rows(_CALLS)[0][0]) if store else 0
        self._writer.clear()
        now, labels = State(of=total), _Labels(self.design)
        for frame in self._frames():
            labels.put(self._cells.of_labels(frame))
            now = now._replace(frame=now.frame + frame.height)
            self._note(now if store else now._replace(done=now.frame, of=now.frame), every=1.0)
        now = now._replace(done=0 if store else now.frame, of=total if store else now.frame)
        while store and (found := store.rows(_FACTS, (now.last, _AT_ONCE))):
            self._put(found, labels)
            done = now.done + len(found)
            now = now._replace(last=found[-1][0], done=done, of=max(total, done))
            self._note(now, every=1.0)
        self._write(labels.answers())
        self.state = now
        if store is not None:
            self._keep_errors(store)

    def _frames(self) -> Iterator[pl.DataFrame]:
        frame, start = self.study.annotations, 0
        lazy = frame.lazy() if frame is not None else scan_kept(self._frame or Path())
        while not (part := lazy.select(READ).slice(start, _ROWS).collect()).is_empty():
            yield part
            start += part.height

    # ------------------------------------------------------------------ answers that are read here

    def _take_answers(self, store: Store) -> None:
        """Read the answers that have come since."""
        total = int(store.rows(_CALLS)[0][0])
        if replaced := self._replaced(store):
            self._take(store.read_after(0, 0, replaced))
        while found := store.read_after(self.state.last, _AT_ONCE):
            self._take(found)
            done = self.state.done + len(found)
            self.state = self.state._replace(last=found[-1][0], done=done, of=max(total, done))
            self._note(self.state._replace(complete=False), every=1.0)
        self.state = self.state._replace(of=max(total, self.state.done))
        self._keep_errors(store)

    def _take(self, found: Sequence[tuple[int, Any]]) -> None:
        rows = []
        for _, row in found:
            if self._calls and (places := self._calls.own_places(row[0], row[1])):
                rows.append((*places, *row[2:]))
        frame = self._reader().frame(rows)
        if isinstance(self.study, FieldSource):  # an answer has all fields
            frame = self.study.rows(frame)
            self._outgrown = not {*frame["label"].drop_nulls()} <= {*self.design.codes}
        labels = _Labels(self.design)
        if not self._outgrown:
            labels.put(self._cells.of_labels(frame))
        self._put([(number, *row[:3], row[3].text, row[3].thinking) for number, row in found], labels)
        self._write(labels.answers())

    def _reader(self) -> Annotator:
        if self._annotator is None:
            study = self.study.whole if isinstance(self.study, FieldSource) else self.study
            names = list(self.design.evaluators)
            own = [evaluator.title for evaluator in study.spec.evaluators]
            wanted = None if names == own else names
            of = readable(study, study.plugins.follow_ups(wanted))
            self._annotator = annotator_of(study, study.plugins.evaluators(wanted), of)
        return self._annotator

    # ------------------------------------------------------------------ writing them

    def _put(self, rows: Sequence[Sequence[Any]], labels: _Labels) -> None:
        """Put what is stored of responses beside their labels, which are used up."""
        if self._calls is None:
            return
        for (name,), part in self._calls.of_calls(rows).group_by("follow_up", maintain_order=True):
            if name:
                self._write(part.select("row", "column", pl.col("response").alias(f"response-{name}")))
            else:
                place = part.select("row", "column", "response", "length", "text", "thought")
                self._write(place.hstack(labels.taken(part["row"], part["column"])))

    def _write(self, frame: pl.DataFrame) -> None:
        """Have some answers written soon."""
        if frame.is_empty():
            return
        if self._waiting and (frame.columns != self._waiting[0].columns or _height(self._waiting) > _FLUSHED):
            self._flush()
        self._waiting.append(frame)

    def _flush(self) -> None:
        if not self._waiting:
            return
        frame = pl.concat(self._waiting).unique(["row", "column"], keep="last", maintain_order=True)
        self._waiting = []
        self._changed += self._writer.write(frame)

    # ------------------------------------------------------------------ notes

    def _replaced(self, store: Store) -> list[int]:
        """The responses that were errors when they were read, and are answers now."""
        kept = self.folder / "errors.npy"
        if not kept.exists():
            return []
        known = np.load(kept)
        now = np.array(store.rows("SELECT id FROM responses WHERE finish = 'error'"), np.int64).ravel()
        return [int(number) for number in np.setdiff1d(known, now)]

    def _keep_errors(self, store: Store) -> None:
        sql = "SELECT id FROM responses WHERE finish = 'error' AND id <= ?"
        np.save(self.folder / "errors.npy", np.array(store.rows(sql, (self.state.last,)), np.int64).ravel())

    def _note(self, state: State, every: float = 0.0) -> None:
        """Write down how far the index has come."""
        if every and time.monotonic() - self._noted < every:
            return
        self._flush()
        self.state = state._replace(changed=self._changed, files=self._writer.files)
        self._noted = time.monotonic()
        write_json(self.folder / "state.json", self.state._asdict())
        self._writer.tidy()


def _height(frames: Sequence[pl.DataFrame]) -> int:
    return sum(frame.height for frame in frames)


class _Labels:
    """How answers were read, by their places, until they are written.

    Args:
        design: The index's design.
    """

    def __init__(self, design: IndexDesign) -> None:
        self._design, self._size = design, (design.items, len(design.columns))
        self._statuses = {status: design.status_code(status) for status in STATUSES}
        self._statuses["valid"] = design.status_code("tied")
        self._cells: dict[str, Any] = {}

    def put(self, frame: pl.DataFrame) -> None:
        """Put annotations with their places."""
        evaluators = {name: position for position, name in enumerate(self._design.evaluators)}
        for (name,), part in frame.group_by("evaluator"):
            if (position := evaluators.get(str(name))) is None:
                continue
            place = part["row"].to_numpy(), part["column"].to_numpy()
            kind = self._design.schema[f"legend-{position}"]
            codes = part["label"].replace_strict(self._design.legend_codes, return_dtype=kind)
            of_status = part["status"].replace_strict(self._statuses, return_dtype=kind)
            codes = of_status.zip_with(codes == 0, codes)
            self._plane(f"legend-{position}", self._design.cell_type)[place] = codes
            for flag in ("truncated", "looping"):
                if (flags := part[flag].fill_null(False)).any():
                    self._plane(flag, "bool")[place] = flags
            if (sure := part["confidence"]).null_count() < part.height:
                self._plane(f"confidence-{position}", "float32")[place] = sure.fill_null(-1) + 1  # 0 for none

    def _plane(self, name: str, kind: str) -> Any:
        """Numbers by row and column, which take no memory before something is put there."""
        if name not in self._cells:
            self._cells[name] = np.zeros(self._size, kind)
        return self._cells[name]

    def taken(self, rows: Any, columns: Any) -> pl.DataFrame:
        """The labels in some places, which are put there no more."""
        result = {}
        for name, plane in self._cells.items():
            values = pl.Series(name, plane[rows, columns])
            known = values.set(values == 0, None)
            result[name] = known - 1 if name.startswith("confidence") else known
            if name.startswith("legend"):
                plane[rows, columns] = 0
        return pl.DataFrame(result)

    def answers(self) -> pl.DataFrame:
        """All that are left, with their places."""
        held = [plane for name, plane in self._cells.items() if name.startswith("legend")]
        if not held:
            return pl.DataFrame()
        rows, columns = np.nonzero(np.logical_or.reduce(held))
        schema = pl.Schema({"row": pl.UInt32, "column": pl.UInt16})
        return pl.DataFrame({"row": rows, "column": columns}).cast(schema).hstack(self.taken(rows, columns))


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


def _read_already(study: StudySource, store: Store | None) -> tuple[Path | None, list[str]]:
    """The annotation frame, where there is one that is true, and the evaluators whose readings there are."""
    own = [evaluator.title for evaluator in study.spec.evaluators]
    path, frame = study.files.annotations, study.annotations
    try:
        if frame is not None:
            named = frame["evaluator"].unique(maintain_order=True)
        elif store is not None and is_current(study, store):
            named = scan_kept(path).select(pl.col("evaluator").unique()).collect()["evaluator"]
        else:
            return None, own
    except (OSError, pl.exceptions.PolarsError):  # the frame is missing or damaged
        return None, own
    found = [str(one) for one in named]
    return path, sorted(found, key=lambda name: (own.index(name) if name in own else len(own), name)) or own


_CALLS = "SELECT count(*) FROM calls"
_FACTS = """
    SELECT a.response, a.condition, a.item, a.repeat, r.text, r.thinking
    FROM calls a JOIN responses r ON r.id = a.response WHERE a.response > ? ORDER BY a.response LIMIT ?"""
