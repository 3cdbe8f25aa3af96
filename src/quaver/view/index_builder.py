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
    AnswerParts,
    Places,
    design_of_study,
    digest_of,
    placed_in,
    write_gold,
    write_items,
)
from quaver.view.study_index import CURRENT, State, write_json

_AT_ONCE = 20_000
_ROWS = 500_000


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
        self._noted = 0.0
        self._outgrown = False
        with reading(study) as store:
            self._frame, evaluators = _read_already(study, store)
            self.design = design_of_study(study, evaluators)
            self._placed = placed_in(store)
            self._places = Places(study, self.design, store)
        self.folder = root / digest_of(study, self.design, self._placed)
        self.state = self._begun(root)
        self._parts = AnswerParts(self.folder, self.design.schema, self.state.files)

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
            known = None
            if self._frame is not None and not before.complete:
                self._parts = AnswerParts(self.folder, self.design.schema, {})
                self.state = before._replace(last=0, done=0)
                known = self._known(self._frame)
            if store is not None:
                self._take_answers(store, known)
            elif known is not None:
                self._parts.append(known)
                self.state = self.state._replace(done=known.height, of=known.height)
        if self._outgrown:
            return False
        if self.state != before or not before.complete:
            self._note(complete=True)
        return True

    def _known(self, frame: pl.LazyFrame) -> pl.DataFrame:
        """The labels of an annotation frame by their places."""
        parts, start = [self._places.of_labels(frame.head(0).collect())], 0
        while not (part := frame.select(READ).slice(start, _ROWS).collect()).is_empty():
            parts.append(self._places.of_labels(part))
            start += part.height
        return pl.concat(parts)

    def _take_answers(self, store: Store, known: pl.DataFrame | None) -> None:
        """Take in the answers that have come since, with the labels that are known or are read in them."""
        total = int(store.rows(_CALLS)[0][0])
        if replaced := self._replaced(store):
            self._parts.drop(replaced)
            self.state = self.state._replace(changed=self.state.changed + 1)
            rows = store.rows(_REPLACED, (json.dumps(replaced),))
            self._put(rows, self._read(store.read_after(0, 0, replaced)))
        while rows := store.rows(_FACTS, (self.state.last, _AT_ONCE)):
            labels = self._read(store.read_after(self.state.last, _AT_ONCE)) if known is None else known
            self._put(rows, labels, every=known is None)
            done = self.state.done + len(rows)
            self.state = self.state._replace(last=rows[-1][0], done=done, of=max(total, done))
            if time.monotonic() - self._noted > 1.0:
                self._note(complete=False)
        self.state = self.state._replace(of=max(total, self.state.done))
        errors = store.rows(_ERRORS, (self.state.last,))
        write_json(self.folder / "errors.json", [number for (number,) in errors])

    def _replaced(self, store: Store) -> list[int]:
        """The responses that were errors when they were read, and are answers now."""
        kept = self.folder / "errors.json"
        if not kept.exists():
            return []
        now = {number for (number,) in store.rows(_ERRORS, (self.state.last,))}
        return [number for number in json.loads(kept.read_text(encoding="utf-8")) if number not in now]

    def _put(self, rows: Sequence[Any], labels: pl.DataFrame, *, every: bool = True) -> None:
        """Add labels with the facts of their calls: those to follow-ups come with the answer, or after it."""
        calls = self._places.of_calls(rows)
        calls = calls if every else calls.filter(pl.col("follow_up") == "")
        facts = calls.drop("follow_up").unique(["row", "column"], maintain_order=True)
        self._parts.append(labels.join(facts, on=["row", "column"]))

    def _read(self, answers: Sequence[tuple[int, Any]]) -> pl.DataFrame:
        """The labels that the evaluators read in answers, by their places."""
        of = self._places
        rows = [
            (of.conditions[row[0]], of.items[row[1]], *row[2:])
            for _, row in answers
            if row[0] in of.conditions and row[1] in of.items
        ]
        frame = self._reader().frame(rows)
        if isinstance(self.study, FieldSource):  # an answer has all fields
            frame = self.study.rows(frame)
            self._outgrown |= not {*frame["label"].drop_nulls()} <= {*self.design.codes}
        return of.of_labels(frame)

    def _reader(self) -> Annotator:
        if self._annotator is None:
            study = self.study.whole if isinstance(self.study, FieldSource) else self.study
            names = list(self.design.evaluators)
            own = [evaluator.title for evaluator in study.spec.evaluators]
            wanted = None if names == own else names
            of = readable(study, study.plugins.follow_ups(wanted))
            self._annotator = annotator_of(study, study.plugins.evaluators(wanted), of)
        return self._annotator

    def _note(self, *, complete: bool) -> None:
        """Write down how far the index has come."""
        self.state = self.state._replace(complete=complete, files=self._parts.files)
        self._noted = time.monotonic()
        write_json(self.folder / "state.json", self.state._asdict())
        self._parts.tidy()


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
        named = frame.select(pl.col("evaluator").cast(pl.String).unique(maintain_order=True)).collect()
    except (OSError, pl.exceptions.PolarsError):  # the frame is missing or damaged
        return None, own
    names: list[str] = named["evaluator"].to_list()
    return frame, sorted(names, key=lambda name: (own.index(name) if name in own else len(own), name)) or own


_CALLS = "SELECT count(*) FROM calls"
_ERRORS = "SELECT id FROM responses WHERE finish = 'error' AND id <= ?"
_CALL = """
    SELECT a.response, a.condition, a.item, a.repeat, r.id, r.text, r.thinking
    FROM calls a LEFT JOIN responses r ON r.id = ifnull(a.parent, a.response)"""
_FACTS = f"{_CALL} WHERE a.response > ? ORDER BY a.response LIMIT ?"
_REPLACED = f"{_CALL} WHERE a.response IN (SELECT value FROM json_each(?))"
