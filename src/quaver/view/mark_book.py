"""Marks: what people said of answers and items, kept a line of JSON each in the study's folder."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from quaver.core.label_values import NO_LABELS, CellReader, single_labels
from quaver.core.line_file import LineFile
from quaver.core.records import LabelSet
from quaver.core.spans import in_labels, spans_in, written_spans
from quaver.errors import QuaverError, StoreError, UnknownName
from quaver.view.asked import refusal

Verdict = Literal["agree", "disagree", "unclear"]


@dataclass(frozen=True)
class Mark:
    """What somebody said of an answer, or of an item.

    Attributes:
        item: The item's id.
        id: The same for all that one person said of one thing; what was said last counts.
        model: The answer's model; None if the mark is about the item.
        prompt: Its prompt variant.
        decoding: Its decoding.
        repeat: Its repeat.
        mark: Whether the person agrees with the label; None if they did not say.
        label: The label that they would give; None if they did not say.
        note: What else they said.
        who: Who they are.
        when: When, in UTC.
        blind: Whether the model's label was hidden from them.
        seen: The model's label that they saw.
        removed: Whether they took the mark back.
    """

    item: Annotated[str, Field(max_length=2_000)]
    id: str = ""
    model: str | None = None
    prompt: str | None = None
    decoding: str | None = None
    repeat: int | None = None
    mark: Verdict | None = None
    label: str | None = None
    note: Annotated[str, Field(max_length=20_000)] = ""
    who: Annotated[str, Field(min_length=1, max_length=200)] = ""
    when: str = ""
    blind: bool = False
    seen: str | None = None
    removed: bool = False

    @property
    def place(self) -> tuple[str | None, str | None, str | None, int | None]:
        """The answer that it is about; nothing but None where it is about the item."""
        return self.model, self.prompt, self.decoding, self.repeat

    @property
    def kind(self) -> str:
        """The mark's kind, as a row of the page shows it."""
        return self.mark or ("label" if self.label else "note")


_MARK = TypeAdapter(Mark)
_PLACE = ("who", "item", "model", "prompt", "decoding", "repeat")


class MarkBook:
    """The marks of a study: ``marks.jsonl`` in a folder of its own, to which lines are only added.

    Args:
        folder: The folder; made with the first mark.
        labels: The study's label set.
        spans: Whether words of the texts have the labels: a mark's label has their places then.

    Attributes:
        path: The file.
    """

    def __init__(self, folder: Path, labels: LabelSet, *, spans: bool = False) -> None:
        self.path, self._labels, self._has_spans = folder / "marks.jsonl", labels, spans
        self._lines = LineFile(self.path)
        self._lock = threading.Lock()
        self._read = lru_cache(1)(self._marks_in)

    def marks(self) -> list[Mark]:
        """Those that count: of each person and thing the last one, unless it was taken back."""
        with self._lock:
            return [mark for mark in self._read(self.version).values() if not mark.removed]

    @property
    def version(self) -> str:
        """Changes when a mark is added."""
        try:
            about = self.path.stat()
        except OSError:
            return "0"
        return f"{about.st_ino}.{about.st_size}.{about.st_mtime_ns}"

    def by_item(self, who: str = "") -> Mapping[str, list[Mark]]:
        """The marks by item; one person's, or everybody's."""
        result: dict[str, list[Mark]] = defaultdict(list)
        for mark in self.marks():
            if who in ("", mark.who):
                result[mark.item].append(mark)
        return result

    def add(self, given: Mapping[str, Any], who: str, when: str | None = None) -> Mark:
        """Add a mark."""
        return self.add_all([given], who, when)[0]

    def add_all(self, some: Sequence[Mapping[str, Any]], who: str, when: str | None = None) -> list[Mark]:
        """Add marks, all or none."""
        marks = [self._made(mark, who, when) for mark in some]
        self._write(marks)
        return marks

    def remove(self, name: str) -> Mark | None:
        """Take a mark back; None where there is no such mark."""
        mark = next((mark for mark in self.marks() if mark.id == name), None)
        if mark is not None:
            self._write([replace(mark, removed=True, when=now())])
        return mark

    def _made(self, given: Mapping[str, Any], who: str, when: str | None) -> Mark:
        try:
            mark = _MARK.validate_python({"who": who, **given})
        except ValidationError as error:
            raise refusal(error, "marks") from None
        if not (mark.mark or mark.label or mark.note):
            raise QuaverError("this mark says nothing", where="marks", expected="a mark, a label or a note")
        if mark.label:
            mark = replace(mark, label=self._meant(mark.label))
        about = [getattr(mark, name) for name in _PLACE]
        name = blake2b(json.dumps(about).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
        return replace(mark, id=name, when=when or now(), removed=False)

    def _meant(self, label: str) -> str:
        """The label that a person writes: of numbers, sets and spans also one that nobody gave before."""
        if self._has_spans:
            spans = spans_in(label)
            codes = {one.code: one.code for one in single_labels(self._labels)}
            in_labels(spans, codes, "marks: label")
            if label == NO_LABELS or (spans and all(span.start < span.end for span in spans)):
                return written_spans(spans) or NO_LABELS
            raise QuaverError(
                "this label has no spans",
                where="marks: label",
                expected="person[0:12];place[36:42]",
                found=label,
            )
        meant = CellReader(self._labels).read(label)
        if meant is None or meant.label is None:
            raise UnknownName("label", label, self._labels.codes, where="marks: label")
        return meant.label

    def _write(self, marks: Sequence[Mark]) -> None:
        with self._lock:
            self._lines.append(_MARK.dump_python(mark, exclude_defaults=True) for mark in marks)

    def _marks_in(self, _: str) -> dict[str, Mark]:
        """The last mark of each person and thing, in a version of the file."""
        return {mark.id: mark for mark in map(self._mark_of, self._lines.documents())}

    def _mark_of(self, document: dict[str, Any]) -> Mark:
        try:
            return _MARK.validate_python(document)
        except ValidationError as error:
            raise StoreError(
                "a line of this file is not a mark",
                where=str(self.path),
                expected="what Quaver wrote",
                found=str(document)[:200],
                fix="remove the line, or write it as the others are",
            ) from error


def now() -> str:
    """The time, in UTC, as marks have it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
