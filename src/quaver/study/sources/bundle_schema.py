"""The parts of a bundle, each held against its shape: whoever made it may have erred or lied.

A part of another shape is one `StoreError` that names the file and the place in it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import polars as pl
from pydantic import Field
from typing_extensions import TypedDict

from quaver.collect.run.budget import Price
from quaver.core.annotations import misfit, with_added_columns
from quaver.core.records import Condition, Decoding, Estimate, Item, LabelSet, Variant
from quaver.errors import QuaverError, StoreError
from quaver.study.sources.study_folder import shaped

_POLARS = (pl.exceptions.PolarsError, pl.exceptions.PanicException)
PACKED = "packed.json"
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


class Lock(TypedDict):
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


class Packed(TypedDict, total=False):
    """``packed.json``: what was known when the bundle was made, and does not follow from its other files."""

    made_with: dict[str, str]
    prices: dict[str, Price | None]
    outside: dict[str, _Count]
    outside_packed: bool
    stayed: list[str]


class Place(TypedDict):
    """A call whose answer was withheld."""

    model: str
    variant: str
    decoding: str
    item: str
    repeat: int


def lock_in(folder: Path) -> tuple[dict[str, Any], Lock]:
    """A bundle's ``study.lock.json`` as it stands there, and what is read of it.

    The variants are read without the items that they show.

    Raises:
        StoreError: As for every part, it is missing, damaged, or of another shape; or it contradicts itself.
    """
    path = folder / "study.lock.json"
    document = _document(path)
    bare = document
    if isinstance(document, dict) and isinstance(document.get("variants"), list):
        shown = document["variants"]
        bare = {**document, "variants": [{**v, "examples": ()} if isinstance(v, dict) else v for v in shown]}
    read: Lock = _shaped(Lock, bare, path)
    _shaped(_Shown, document, path)
    _check_consistent(read, path)
    return document, read


def items_in(folder: Path) -> list[Item]:
    """A bundle's ``items.json``."""
    path = folder / "items.json"
    items: list[Item] = _shaped(list[Item], _document(path), path)
    if not items or len({item.id for item in items}) < len(items):
        raise _misshapen(path, "no items, or two of the same id")
    return items


def estimates_in(folder: Path) -> list[Estimate]:
    """A bundle's ``estimates.json``."""
    path = folder / "estimates.json"
    return list(_shaped(list[Estimate], _document(path), path))


def places_in(folder: Path) -> Sequence[Place]:
    """A bundle's ``withheld.json``; empty where nothing was withheld."""
    path = folder / "withheld.json"
    return list(_shaped(list[Place], _document(path), path)) if path.exists() else []


def packed_in(folder: Path) -> Packed:
    """A bundle's ``packed.json``; empty where there is none."""
    path = folder / PACKED
    found: Packed = _shaped(Packed, _document(path), path) if path.exists() else {}
    return found


def frame_in(folder: Path) -> pl.DataFrame:
    """A bundle's ``annotations.parquet``."""
    path = folder / "annotations.parquet"
    with _reading(path):
        frame = with_added_columns(pl.read_parquet(path))
    if found := misfit(frame.schema):
        raise _misshapen(path, found)
    for name in ("model", "variant", "decoding", "item", "repeat", "evaluator", "status"):
        if frame[name].null_count():
            raise _misshapen(path, f"the column {name!r} has gaps")
    return frame


@contextmanager
def fitting_together(path: Path) -> Iterator[None]:
    """Report parts that have the right shapes, and still do not fit each other.

    Raises:
        StoreError: What is computed from them fails.
    """
    try:
        yield
    except QuaverError:
        raise
    except (Exception, pl.exceptions.PanicException) as error:  # polars panics outside of Exception
        found = f"{type(error).__name__}: {error}"
        raise _unusable("the parts of this bundle do not fit each other", str(path), found) from error


def _document(path: Path) -> Any:
    with _reading(path):
        return json.loads(path.read_text(encoding="utf-8"))


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, RecursionError, *_POLARS) as error:
        raise StoreError("the bundle lacks a part", where=path.name, found=str(error)[:200]) from None


def _shaped(kind: Any, document: Any, path: Path) -> Any:
    try:
        return shaped(kind, document)
    except ValueError as error:
        raise _misshapen(path, str(error)) from None


def _check_consistent(lock: Lock, path: Path) -> None:
    """See that the conditions name what there is, and that nothing stands there twice."""
    variants = {one.id for one in lock["variants"]}
    codes = lock["labels"].codes
    if not codes or len(set(codes)) < len(codes) or len(variants) < len(lock["variants"]):
        raise _misshapen(path, "no labels, or a label or variant twice")
    for name, decoding in lock["decodings"].items():
        if decoding.name != name:
            raise _misshapen(path, f"decodings.{name} is called {decoding.name!r}")
    for index, one in enumerate(lock["conditions"]):
        known = one.variant in variants and one.model in lock["models"] and one.repeats >= 0
        quoted = one.parent is None or 0 <= one.parent < len(lock["conditions"])
        if not known or not quoted or one.repeats >= 2**31:
            raise _misshapen(path, f"conditions.{index} names what there is not")


def _misshapen(path: Path, found: str) -> StoreError:
    return _unusable("this part of the bundle is not as Quaver writes it", path.name, found)


def _unusable(problem: str, where: str, found: str) -> StoreError:
    return StoreError(
        problem,
        where=where,
        expected="a bundle as `quaver bundle` makes it",
        found=found[:300],
        fix="download it again",
    )
