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
    CallCells,
    Cells,
    PlaneWriter,
    design_of_study,
    digest_of,
    placed_in,
    write_gold,
    write_items,
)
from quaver.view.kept_texts import TextWriter, folded
from quaver.view.study_index import CURRENT, LOOPING, TRUNCATED, State, legend_codes, write_json

_AT_ONCE = 5_000
_ROWS = 500_000
_REMEMBERED, _LONGEST_REMEMBERED = 200_000, 200


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
        self._seen: dict[str, dict[str, int]] = {"answers": {}, "thinking": {}}
        self._texts: TextWriter | None = None
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
        self._planes = PlaneWriter(self.folder, self.design.items, len(self.design.columns))
        for index in range(len(evaluators)):
            self._planes.make(f"label-{index}", self.design.cell_type)

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
        before = self.state
        with reading(self.study) as store:
            if placed_in(store) != self._placed:
                return False
            if self._frame is not None and not before.complete:
                self._take_frame(store)
            elif store is not None:
                self._take_answers(store)
        if self._outgrown:
            return False
        if self.state != before or not before.complete:
            self._note(self.state._replace(complete=True))
        return True

    # ------------------------------------------------------------------ labels that are known

    def _take_frame(self, store: Store | None) -> None:
        """Take in an annotation frame, then the answers that it was made of."""
        total = int(store.rows(_CALLS)[0][0]) if store else 0
        now = State(of=total)
        for frame in self._frames():
            self._put_labels(frame)
            now = now._replace(frame=now.frame + frame.height)
            self._note(now if store else now._replace(done=now.frame, of=now.frame))
        if store is None:
            return
        while found := store.rows(_FACTS, (now.last, _AT_ONCE)):
            self._put_facts(found)
            done = now.done + len(found)
            now = now._replace(last=found[-1][0], done=done, of=max(total, done))
            self._note(now, every=0.5)
        self.state = now
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
            self.state = self.state._replace(changed=self.state.changed + len(replaced))
        while found := store.read_after(self.state.last, _AT_ONCE):
            self._take(found)
            done = self.state.done + len(found)
            self.state = self.state._replace(last=found[-1][0], done=done, of=max(total, done))
            self._note(self.state._replace(complete=False), every=0.5)
        self.state = self.state._replace(of=max(total, self.state.done))
        self._keep_errors(store)

    def _take(self, found: Sequence[tuple[int, Any]]) -> None:
        self._put_facts([(number, *row[:3], row[3].text, row[3].thinking) for number, row in found])
        rows = []
        for _, row in found:
            if self._calls and (places := self._calls.own_places(row[0], row[1])):
                rows.append((*places, *row[2:]))
        frame = self._reader().frame(rows)
        if isinstance(self.study, FieldSource):  # an answer has all fields
            frame = self.study.rows(frame)
            self._outgrown = not {*frame["label"].drop_nulls()} <= {*self.design.codes}
        if not self._outgrown:
            self._put_labels(frame)

    def _reader(self) -> Annotator:
        if self._annotator is None:
            study = self.study.whole if isinstance(self.study, FieldSource) else self.study
            names = list(self.design.evaluators)
            own = [evaluator.title for evaluator in study.spec.evaluators]
            wanted = None if names == own else names
            of = readable(study, study.plugins.follow_ups(wanted))
            self._annotator = annotator_of(study, study.plugins.evaluators(wanted), of)
        return self._annotator

    # ------------------------------------------------------------------ putting them into cells

    def _put_labels(self, frame: pl.DataFrame) -> None:
        evaluators = {name: index for index, name in enumerate(self.design.evaluators)}
        placed = self._cells.of_labels(frame)
        for (name,), part in placed.group_by("evaluator", maintain_order=True):
            index, cells = evaluators.get(str(name)), part["cell"].to_numpy()
            if index is None:
                continue
            codes = legend_codes(self.design, part["label"].to_list(), part["status"].to_list())
            self._planes.put(f"label-{index}", self.design.cell_type, cells, codes)
            flags = sum(
                part[name].fill_null(False).cast(pl.UInt8).to_numpy() * np.uint8(bit)
                for name, bit in (("truncated", TRUNCATED), ("looping", LOOPING))
            )
            if np.any(flags):
                self._planes.put("flags", "uint8", cells, flags)
            if (sure := part["confidence"]).null_count() < part.height:
                # Zero means that there is none, so that a plane of zeros says nothing.
                self._planes.put(f"confidence-{index}", "float32", cells, sure.fill_null(-1).to_numpy() + 1)

    def _put_facts(self, rows: Sequence[Sequence[Any]]) -> None:
        """Put what is known of responses: number, place, answer, thinking."""
        for name, (places, chosen) in (self._calls.of_calls(rows) if self._calls else {}).items():
            numbers = np.array([rows[at][0] for at in chosen], np.uint32)
            self._planes.put(f"response-{name}" if name else "response", "uint32", places, numbers)
            if name:
                continue
            lengths = np.array([len(rows[at][4]) for at in chosen], np.uint32)
            self._planes.put("length", "uint32", places, lengths)
            self._planes.put("text", "uint32", places, self._kept("answers", [rows[at][4] for at in chosen]))
            thoughts = [rows[at][5] or "" for at in chosen]
            if any(thoughts):
                self._planes.put("thought", "uint32", places, self._kept("thinking", thoughts))

    def _kept(self, name: str, texts: Sequence[str]) -> Any:
        """The numbers of texts among those that are searched, from 1; 0 for an empty one."""
        if self._texts is None:
            self._texts = TextWriter(self.folder)
        seen, last = self._seen[name], self._texts.last(name)
        if len(seen) > _REMEMBERED:
            seen.clear()
        new: list[str] = []
        numbers = []
        for text in texts:
            number = seen.get(text) if text else 0
            if number is None:
                new.append(folded(text))
                number = last + len(new)
                if len(text) <= _LONGEST_REMEMBERED:
                    seen[text] = number
            numbers.append(number)
        self._texts.add(name, new, last + 1)
        return np.array(numbers, np.uint32)

    # ------------------------------------------------------------------ notes

    def _replaced(self, store: Store) -> list[int]:
        """The responses that were errors when they were read, and are answers now."""
        kept = self.folder / "errors.npy"
        if not kept.exists():
            return []
        known = np.load(kept)
        now = np.array(store.rows("SELECT id FROM responses WHERE finish = 'error'"), np.int64).ravel()
        return [int(one) for one in np.setdiff1d(known, now)]

    def _keep_errors(self, store: Store) -> None:
        sql = "SELECT id FROM responses WHERE finish = 'error' AND id <= ?"
        np.save(self.folder / "errors.npy", np.array(store.rows(sql, (self.state.last,)), np.int64).ravel())

    def _note(self, state: State, every: float = 0.0) -> None:
        """Write down how far the index has come."""
        if every and time.monotonic() - self._noted < every:
            return
        if self._texts is not None:
            self._texts.commit()
        self.state, self._noted = state, time.monotonic()
        write_json(self.folder / "state.json", state._asdict())


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
