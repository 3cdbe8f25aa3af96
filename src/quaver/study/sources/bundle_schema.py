"""The parts of a bundle, each held against its shape: whoever made it may have erred or lied.

A part of another shape is one `StoreError` that names the file and the place in it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import polars as pl
from pydantic import Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from quaver.core.annotations import ADDED_COLUMNS, ANNOTATION_COLUMNS
from quaver.core.records import Condition, Decoding, Estimate, Item, LabelSet, Variant
from quaver.design.spec.former_names import renamed_estimates, renamed_lock
from quaver.errors import QuaverError, StoreError

_Count = Annotated[int, Field(ge=0, lt=2**63)]


class _Paraphrases(TypedDict, total=False):
    made: list[dict[str, Any]]
    edits: list[dict[str, Any]]
    spent: list[dict[str, Any]]


class _Items(TypedDict, total=False):
    n: _Count
    blake2b: str
    gold: dict[str, _Count]
    ids: list[str]


class _Lock(TypedDict):
    """What is read of ``study.lock.json``; the rest is shown as it is."""

    study: dict[str, Any]
    labels: LabelSet
    variants: list[Variant]
    decodings: dict[str, Decoding]
    conditions: list[Condition]
    models: dict[str, dict[str, Any]]


class _Shown(TypedDict, total=False):
    items: _Items
    original: list[tuple[str, str]]
    notes: list[str]
    follow_ups: dict[str, list[tuple[str, str]]]
    calls: _Count
    evaluators: dict[str, str]
    versions: dict[str, str]
    paraphrases: _Paraphrases


class Place(TypedDict):
    """A call whose answer was withheld."""

    model: str
    variant: str
    decoding: str
    item: str
    repeat: int


@dataclass(frozen=True, slots=True)
class Lock:
    """What a study resolved to when it was packed.

    Attributes:
        document: The document as it stands there.
        labels: Its label set.
        variants: Its variants, without the items that they show.
        decodings: Its decodings by name.
        conditions: Its conditions.
    """

    document: dict[str, Any]
    labels: LabelSet
    variants: list[Variant]
    decodings: dict[str, Decoding]
    conditions: list[Condition]


def lock_in(folder: Path) -> Lock:
    """A bundle's ``study.lock.json``.

    Raises:
        StoreError: It is missing, damaged, of another shape, or contradicts itself.
    """
    path = folder / "study.lock.json"
    document = renamed_lock(_document(path))
    if isinstance(document, dict) and isinstance(document.get("variants"), list):
        shown = document["variants"]
        bare = [{**one, "examples": ()} if isinstance(one, dict) else one for one in shown]
        read = _shaped(_Lock, {**document, "variants": bare}, path)
    else:
        read = _shaped(_Lock, document, path)
    _shaped(_Shown, document, path)
    _consistent(read, path)
    parts = (read[name] for name in ("labels", "variants", "decodings", "conditions"))
    return Lock(document, *parts)


def items_in(folder: Path) -> list[Item]:
    """A bundle's ``items.json``.

    Raises:
        StoreError: It is missing, damaged, or of another shape.
    """
    path = folder / "items.json"
    items: list[Item] = _shaped(list[Item], _document(path), path)
    if not items or len({item.id for item in items}) < len(items):
        raise _other(path, "no items, or two of the same id")
    return items


def estimates_in(folder: Path) -> list[Estimate]:
    """A bundle's ``estimates.json``.

    Raises:
        StoreError: It is missing, damaged, or of another shape.
    """
    path = folder / "estimates.json"
    found: list[Estimate] = _shaped(list[Estimate], renamed_estimates(_document(path)), path)
    return found


def places_in(folder: Path) -> Sequence[Place]:
    """A bundle's ``withheld.json``; empty where nothing was withheld.

    Raises:
        StoreError: It is damaged, or of another shape.
    """
    path = folder / "withheld.json"
    found: list[Place] = _shaped(list[Place], _document(path), path) if path.exists() else []
    return found


def frame_in(folder: Path) -> pl.DataFrame:
    """A bundle's ``annotations.parquet``.

    Raises:
        StoreError: It is missing, damaged, or lacks a column or has one of another type.
    """
    path = folder / "annotations.parquet"
    with _reading(path):
        frame = pl.read_parquet(path)
    for name, kind in ANNOTATION_COLUMNS.items():
        if name in ADDED_COLUMNS and name not in frame.columns:
            frame = frame.with_columns(pl.lit(None, pl.Series(dtype=kind).dtype).alias(name))
        if name not in frame.columns:
            raise _other(path, f"no column {name!r}")
        if not _fits(frame.schema[name], pl.Series(dtype=kind).dtype):
            raise _other(path, f"the column {name!r} holds {frame.schema[name]}")
    for name in ("model", "variant", "decoding", "item", "repeat", "evaluator", "status"):
        if frame[name].null_count():
            raise _other(path, f"the column {name!r} has gaps")
    return frame


@contextmanager
def fitting_together(path: Path) -> Iterator[None]:
    """Tell of parts that have the right shapes, and still do not fit each other.

    Raises:
        StoreError: What is computed from them fails.
    """
    try:
        yield
    except QuaverError:
        raise
    except (Exception, pl.exceptions.PanicException) as error:  # polars panics outside of Exception
        raise StoreError(
            "the parts of this bundle do not fit each other",
            where=str(path),
            expected="a bundle as `quaver bundle` makes it",
            found=f"{type(error).__name__}: {error}"[:300],
            fix="get it again from where it was published",
        ) from error


def _document(path: Path) -> Any:
    with _reading(path):
        return json.loads(path.read_text(encoding="utf-8"))


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except (
        OSError,
        ValueError,
        RecursionError,
        pl.exceptions.PolarsError,
        pl.exceptions.PanicException,
    ) as error:
        raise StoreError("the bundle lacks a part", where=path.name, found=str(error)[:200]) from None


def _shaped(kind: Any, document: Any, path: Path) -> Any:
    try:
        return _adapter(kind).validate_python(document)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise _other(path, ": ".join([".".join(map(str, first["loc"])), first["msg"]])) from None


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _consistent(lock: Mapping[str, Any], path: Path) -> None:
    """See that the conditions name what there is, and that nothing stands there twice."""
    variants = {one.id for one in lock["variants"]}
    codes = lock["labels"].codes
    if not codes or len(set(codes)) < len(codes) or len(variants) < len(lock["variants"]):
        raise _other(path, "no labels, or a label or variant twice")
    for name, one in lock["decodings"].items():
        if one.name != name:
            raise _other(path, f"decodings.{name} is called {one.name!r}")
    for index, one in enumerate(lock["conditions"]):
        known = one.variant in variants and one.model in lock["models"] and one.repeats >= 0
        quoted = one.parent is None or 0 <= one.parent < len(lock["conditions"])
        if not known or not quoted or one.repeats >= 2**31:
            raise _other(path, f"conditions.{index} names what there is not")


def _fits(found: pl.DataType, wanted: pl.DataType) -> bool:
    """Whether a column can be taken for one of a type; labels may be texts, and whole numbers numbers."""
    if wanted in (pl.Categorical, pl.String):
        return found in (pl.Categorical, pl.String)
    if isinstance(wanted, pl.List):
        return isinstance(found, pl.List) and found.inner.is_numeric()
    if wanted.is_numeric():
        return found.is_integer() if wanted.is_integer() else found.is_float()
    return found == wanted


def _other(path: Path, found: str) -> StoreError:
    return StoreError(
        "this part of the bundle is not as Quaver writes it",
        where=path.name,
        expected="a bundle as `quaver bundle` makes it",
        found=found[:300],
        fix="get it again from where it was published",
    )
