"""A table of answers, found by the prompt or by item and variant."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from quaver.core.records import Condition, Request, Response
from quaver.errors import Unavailable
from quaver.models.local.weights import digest

_READERS: Mapping[str, Callable[[Path], pl.DataFrame]] = {
    ".csv": lambda path: pl.read_csv(path, infer_schema=False),
    ".tsv": lambda path: pl.read_csv(path, infer_schema=False, separator="\t"),
    ".jsonl": lambda path: pl.read_ndjson(path, infer_schema_length=None),
    ".ndjson": lambda path: pl.read_ndjson(path, infer_schema_length=None),
    ".parquet": pl.read_parquet,
}

_Key = tuple[str, ...]


class AnswerFile:
    """Answers in a file.

    Args:
        path: CSV, TSV, JSONL or Parquet.
        answer: The column of the answers.

    Raises:
        Unavailable: The file cannot be read, a column is missing, or two rows answer the same call.
    """

    def __init__(self, path: Path, answer: str) -> None:
        self._path, self._answer = path, answer
        if not os.path.isfile(path):
            raise Unavailable(
                "the file of answers does not exist",
                where=str(path),
                fix="check the path; it is relative to the current folder",
            )
        if path.suffix.lower() not in _READERS:
            raise Unavailable(
                f"files that end in {path.suffix!r} are not supported",
                where=str(path),
                expected=f"one of {', '.join(_READERS)}",
            )

    @cached_property
    def digest(self) -> str:
        """A hash of the file, and the name of the answer column."""
        return f"{self._answer} sha256:{digest(self._path)}"

    @cached_property
    def facts(self) -> Mapping[str, Any]:
        """The file's name, hash and columns."""
        return {"file": self._path.name, "sha256": digest(self._path), "answer": self._answer}

    def find(
        self, request: Request, repeat: int, condition: Condition | None, item: str | None
    ) -> Response | str:
        """The answer to a call, or the reason why there is none."""
        asked = {
            "prompt": "\n\n".join(message.content for message in request.prompt.messages),
            "item": item or "",
            "variant": condition.variant if condition else "",
            "decoding": request.decoding.name,
        }
        if condition and condition.follow_up:
            return "a file holds no answers to follow-ups"
        found = self._answers.get(tuple(asked[name] for name in self._keys))
        if found is None:
            return f"nothing in {self._path.name} for this {' and '.join(self._keys)}"
        if repeat not in found:
            return f"{self._path.name} has {len(found)} repeats of this call, but not number {repeat}"
        return Response(found[repeat], latency=0.0)

    def close(self) -> None:
        """Nothing to release."""

    # ------------------------------------------------------------------ the table

    @cached_property
    def _frame(self) -> pl.DataFrame:
        try:
            frame = _READERS[self._path.suffix.lower()](self._path)
        except (pl.exceptions.PolarsError, OSError, UnicodeError) as error:
            raise Unavailable(
                "this file cannot be read as a table",
                where=str(self._path),
                found=str(error).partition("\n")[0][:300],
            ) from error
        for name in (self._answer, *(() if "prompt" in frame.columns else ("item",))):
            if name not in frame.columns:
                raise Unavailable(
                    f"the file of answers has no column {name!r}",
                    where=str(self._path),
                    expected="the answers, and `prompt`, or `item` (and `variant`, `repeat`, `decoding`)",
                    found=", ".join(frame.columns),
                    fix="rename a column, or name the column of the answers: `answer: …`",
                )
        return frame

    @cached_property
    def _keys(self) -> _Key:
        columns = self._frame.columns
        keys = ("prompt",) if "prompt" in columns else tuple(n for n in ("item", "variant") if n in columns)
        return (*keys, *(("decoding",) if "decoding" in columns else ()))

    @cached_property
    def _answers(self) -> dict[_Key, dict[int, str]]:
        found: dict[_Key, dict[int, str]] = defaultdict(dict)
        numbered = "repeat" in self._frame.columns
        for line, row in enumerate(self._frame.iter_rows(named=True), start=1):
            key = tuple(_text(row[name]) for name in self._keys)
            repeat = self._number(row["repeat"], line) if numbered else len(found[key])
            if repeat in found[key]:
                raise Unavailable(
                    "two rows answer the same call",
                    where=f"{self._path}: row {line}",
                    found=", ".join(f"{name} {row[name]}" for name in (*self._keys, "repeat"))[:200],
                    fix="keep one of them, or number them in a column `repeat`, from 0",
                )
            found[key][repeat] = _text(row[self._answer])
        return dict(found)

    def _number(self, value: object, line: int) -> int:
        try:
            return int(str(value))
        except ValueError:
            raise Unavailable(
                "a repeat is not a number",
                where=f"{self._path}: row {line}",
                expected="a whole number from 0",
                found=str(value)[:80],
            ) from None


def _text(value: object) -> str:
    return "" if value is None else str(value)
