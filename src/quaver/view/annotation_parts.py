"""A study's annotation frame in files beside it, which grow while the study runs.

The study's own ``annotations.parquet`` is taken where it is that of all its answers. Otherwise these are read
as they come, in the order of arrival. A file is never changed once it is written.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import polars as pl

from quaver.collect.store.response_store import Store
from quaver.core.annotations import FIELD, rows_with
from quaver.core.replaced_file import replace_text
from quaver.score.annotation import Annotator, annotate
from quaver.study.analysis.annotation_frame import (
    annotator_of,
    is_current,
    joined,
    kept_frame,
    readable,
)
from quaver.study.sources.kept_results import rests_on
from quaver.study.sources.study_source import StudySource
from quaver.view.snapshot import State, state_in

_AT_ONCE: Final = 20_000
"""Answers that are read together."""

_PART: Final = 2 << 20
"""Bytes up to which a file of annotations is written anew to grow."""

_READ: Final = 60.0
"""Seconds for which a file stays that another has taken the place of: it may be read just now."""

_CALL: Final = ("model", "variant", "decoding", "item", "repeat")
_ERRORS: Final = """
    SELECT count(*) FROM responses r JOIN calls a ON a.response = r.id
    WHERE r.finish = 'error' AND r.id <= ?"""


class AnnotationParts:
    """The files of a study's annotations, or of those of one of its fields.

    Args:
        study: The study.
        field: The field; empty for all there is.
        folder: Where the files are.

    Attributes:
        field: The field.
        folder: Where they are.
        state: How far they go.
    """

    def __init__(self, study: StudySource, field: str, folder: Path) -> None:
        self._study, self.field, self.folder = study, field, folder
        self.state = state_in(folder)

    @property
    def frame(self) -> pl.LazyFrame | None:
        """The annotations; None before there are any."""
        paths = [self.folder / file for file in self.state.files]
        return pl.scan_parquet(paths) if paths else None

    def advance(self, *, running: bool) -> bool:
        """Take in what has come since, or some of it.

        Args:
            running: Whether another process collects answers just now. Those that take the place of errors
                wait until it ends.

        Returns:
            Whether there is more.
        """
        if (given := self._study.annotations) is not None:
            self._take(given.lazy(), State("as it was given"))
            return False
        with self._answers(running=running) as store:
            if store is None or (running and not store.calls.placed(self._study.fingerprint)):
                return False
            mark = f"{store.noted('study')} {rests_on(self._study)}"
            last = int(store.value("SELECT ifnull(max(response), 0) FROM calls"))
            errors = int(store.value(_ERRORS, (self.state.last,)))
            if self.state.rests_on != mark or (not running and errors != self.state.errors):
                self.state = State(mark)
            elif last == self.state.last:
                return False
            if (
                not running
                and is_current(self._study, store)
                and (kept := kept_frame(self._study)) is not None
            ):
                errors = int(store.value(_ERRORS, (last,)))
                self._take(kept, State(mark, last, errors=errors))
                return False
            if self._study.experiment.in_parts is not self._study.experiment:
                # An answer about a part may complete a text whose others were read before
                frame = joined(self._study, annotate(store.read(), self._annotator))
                self._take(frame, State(mark, last, errors=errors))
                return False
            return self._follow(store)

    @contextmanager
    def _answers(self, *, running: bool) -> Iterator[Store | None]:
        """The stored answers, to be read; those of a study that has changed are first placed anew."""
        if not self._study.files.responses.exists():
            yield None
            return
        with only_read(self._study) as store:
            if running or store.calls.placed(self._study.fingerprint):
                yield store
                return
        with self._study.answers() as store:
            yield store

    def _take(self, frame: pl.LazyFrame, state: State) -> None:
        """Take a whole frame, in which an answer has a row for each evaluator."""
        path = self._new()
        self._of_field(frame).sink_parquet(path)
        answers = pl.scan_parquet(path).select(pl.struct(_CALL).n_unique()).collect().item()
        self.state = replace(state, done=answers, of=answers, files=(path.name,))

    def _follow(self, store: Store) -> bool:
        """Read the next answers; whether there are more."""
        answers = store.read_after(self.state.last, _AT_ONCE)
        if answers:
            rows = [row for _, row in answers]
            frame, files = self._of_field(self._annotator.frame(rows)), [*self.state.files]
            if files and (before := self.folder / files[-1]).stat().st_size < _PART:
                frame = pl.concat([pl.read_parquet(before), frame])
                before.touch()  # from now on, nobody begins to read it
                files.pop()
            path = self._new()
            frame.write_parquet(path)
            self.state = replace(
                self.state,
                last=answers[-1][0],
                done=self.state.done + len(rows),
                errors=self.state.errors + sum(row[3].finish == "error" for row in rows),
                files=(*files, path.name),
            )
        total = int(store.value("SELECT count(*) FROM calls"))
        self.state = replace(self.state, of=max(total, self.state.done))
        return len(answers) == _AT_ONCE

    def _new(self) -> Path:
        return self.folder / f"annotations-{time.time_ns()}.parquet"

    def _of_field(self, frame: Any) -> Any:
        """The field's rows of a frame."""
        return rows_with(frame, FIELD, self.field).drop(FIELD) if self.field else frame

    @cached_property
    def _annotator(self) -> Annotator:
        plugins = self._study.plugins
        of = readable(self._study, plugins.follow_ups())
        return annotator_of(self._study, plugins.evaluators(), of)

    def note(self) -> None:
        """Write down how far the files go; one that is noted nowhere and read no more goes."""
        replace_text(self.folder / "state.json", json.dumps(asdict(self.state)))
        for path in self.folder.glob("annotations-*.parquet"):
            if path.name not in self.state.files and time.time() - path.stat().st_mtime > _READ:
                path.unlink()


@contextmanager
def only_read(study: StudySource) -> Iterator[Store]:
    """A study's stored answers, only read."""
    store = Store(study.files.responses, only_read=True)
    try:
        yield store
    finally:
        store.close()
