"""A study's folder: what it holds, and how that is read and written without ever leaving half of a file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NotRequired

import polars as pl
from pydantic import AwareDatetime, Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from quaver.collect.store.response_store import Store
from quaver.core.replaced_file import document_bytes, document_in, replace_document, replacing, writing
from quaver.core.transaction import Transaction
from quaver.design.paraphrase.paraphraser import Paraphrase
from quaver.errors import StoreError

shape: Any = TypedDict
"""Makes the shape of a document: its name, what each key holds, whether all keys must be there."""

_several: Any = list
_COUNTS: Final = ("calls", "errors", "prompt_tokens", "cached_tokens", "completion_tokens", "thinking_tokens")
_DRAFT = shape(
    "_DRAFT",
    {
        "asked": dict[str, Any],
        "paraphrases": list[Paraphrase],
        "answers": dict[str, int],
        "dropped": dict[str, dict[str, int]],
    },
)
_SPENT = shape(
    "_SPENT",
    {"model": str, "asked": Any, "first": float, "last": float}
    | {name: float if name.endswith("tokens") else int for name in _COUNTS},
)
_PARAPHRASES = shape("_PARAPHRASES", {"drafts": _several[_DRAFT], "spent": _several[_SPENT]}, total=False)
_PART: Any = Annotated[int, Field(ge=1)]
_CANARY_OPTIONS = shape(
    "_CANARY_OPTIONS",
    {
        **dict.fromkeys(("prompts", "parts", "first"), _PART),
        "confirmed": Annotated[int, Field(ge=0)],
        "whole": bool,
        "error": Annotated[float, Field(gt=0, lt=1)],
    },
)
_WATCHED = shape("_WATCHED", dict.fromkeys(("item", "variant", "prompt"), str))
_CANARY = shape(
    "_CANARY", {"options": _CANARY_OPTIONS, "pool": Annotated[_several[_WATCHED], Field(min_length=1)]}
)
_LOOK = shape(
    "_LOOK",
    {
        "number": int,
        "name": str,
        "time": AwareDatetime,
        "ended": bool,
        "identities": dict[str, str],
        "alarms": NotRequired[list[str]],
    },
)
_LOCK = shape("_LOCK", {"models": dict[str, dict[str, Any]]}, total=False)

FileName = Literal[
    "canary.json",
    "occasions.json",
    "study.lock.json",
    "paraphrases.json",
    "accepted.json",
    "labelled.json",
]

_WATCH: Final = "put back a copy of it, or begin a new watch: `quaver watch STUDY --renew`"
_FILES: Mapping[FileName, tuple[Any, str]] = {
    "canary.json": (_CANARY, _WATCH),
    "occasions.json": (shape("_LOOKS", {"occasions": _several[_LOOK]}), _WATCH),
    "accepted.json": (
        shape("_ACCEPTED", dict.fromkeys(("asked", "found"), dict[str, Any])),
        "move it away; `quaver accept STUDY` makes it again",
    ),
    "labelled.json": (
        shape("_LABELLED", dict.fromkeys(("file", "sha256"), str)),
        "move it away; the same labelling writes it again",
    ),
    "study.lock.json": (_LOCK, "move it away; the next run writes it anew"),
    "paraphrases.json": (
        _PARAPHRASES,
        "put back a copy of it; without it the paraphrases are made, and paid, once more",
    ),
}
"""Files that people can read, and so might edit: what each must be, and what to do where it is damaged."""


FIELDS: Final = "fields"
"""The folder of a study's folder in which each field has one."""


class StudyFolder:
    """The files of a study.

    Args:
        path: The folder; made when something is written to it.

    Attributes:
        path: The folder.
        responses: The store.
        media: The pictures, pages and recordings that its answers are about.
        annotations: The annotation frame.
        log: What happened in its runs, a line each, for people.
        paraphrases: The paraphrases that models made.
        watch: The folder of its watch.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.responses = path / "responses.db"
        self.media = path / "media.db"
        self.annotations = path / "annotations.parquet"
        self.log = path / "run.log"
        self.paraphrases = path / "paraphrases.json"
        self.watch = path / "watch"

    def make(self) -> None:
        """Make the folder where it is missing."""
        with writing(self.path):
            self.path.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def store(self) -> Iterator[Store]:
        """The store, opened; made where it is missing."""
        opened = Store(self.responses)
        try:
            yield opened
        finally:
            opened.close()

    def read(self, name: FileName) -> dict[str, Any]:
        """The document of a file; empty where there is no such file."""
        known, fix = _FILES[name]
        path = self.path / name
        if not path.is_file():
            return {}
        try:
            document = document_in(path)
            shaped(known, document, exactly=True)
        except (OSError, ValueError, RecursionError) as error:
            raise StoreError(
                "this file of the study's folder is damaged",
                where=str(path),
                expected="JSON, as Quaver wrote it",
                found=str(error),
                fix=fix,
            ) from None
        return dict(document)

    def write(self, name: FileName, document: Mapping[str, Any], change: Transaction | None = None) -> None:
        """Keep the document of a file, without the value of any key; with what else a transaction changes."""
        if change is not None:
            change.write(self.path / name, document_bytes(document))
            return
        self.make()
        replace_document(self.path / name, document)

    def write_annotations(self, frame: pl.DataFrame) -> None:
        """Keep the annotation frame."""
        self.make()
        with replacing(self.annotations) as part:
            frame.write_parquet(part)


def shaped(kind: Any, document: Any, *, exactly: bool = False) -> Any:
    """A document as what it must be; exactly so, or such that it can be converted.

    >>> shaped(_PARAPHRASES, {"spent": [{"model": "m"}]})
    Traceback (most recent call last):
    ValueError: spent.0.asked: Field required
    >>> shaped(_LOCK, {"models": {}})
    {'models': {}}
    """
    try:
        if exactly:
            return _adapter(kind).validate_json(json.dumps(document), strict=True)
        return _adapter(kind).validate_python(document)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise ValueError(": ".join(part for part in (place, first["msg"]) if part)) from None


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
