"""An index as it is read: what it says of its study, its items in memory, its answers as a frame."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from pydantic import TypeAdapter

from quaver.core.records import LabelSet, Numbers, Variant
from quaver.core.replaced_file import replace_text
from quaver.errors import QuaverError, StoreError

CURRENT = "current"
"""The file that names the index in use."""

FAILURE = "failure.json"
"""Where the indexing process writes an error for the server."""

STATUSES = ("tied", "no_label", "ambiguous", "refused", "empty", "error")
"""Why an answer has no label, in the legend's order; ``tied`` is a valid answer that prefers none."""


class Column(NamedTuple):
    """One column of the grid: a condition and a repeat."""

    at: int
    model: str
    prompt: str
    decoding: str
    repeat: int

    @property
    def place(self) -> tuple[str, str, str, int]:
        """Its names, as a mark of an answer has them."""
        return self.model, self.prompt, self.decoding, self.repeat


@dataclass(frozen=True)
class IndexDesign:
    """The fixed part of an index.

    Attributes:
        name: The study's name.
        kind: What it was opened from, in words.
        items: How many items there are.
        labels: The label set.
        evaluators: Their names, the study's first one first.
        conditions: Model, variant, decoding, repeats, of all that are no follow-ups.
        variants: Every prompt variant.
        groups: The items' group columns, each with its values.
        has: What there is: ``texts``, ``answers``; whether labels are ``numbers``.
        task: The instruction and the kind of study.
        decodings: Options by name.
        store: Where the answers are; empty where there are labels only.
        folder: The study's folder.
        marks: Where marks are kept.
    """

    name: str
    kind: str
    items: int
    labels: LabelSet
    evaluators: tuple[str, ...]
    conditions: tuple[tuple[str, str, str, int], ...]
    variants: tuple[Variant, ...]
    groups: dict[str, tuple[str, ...]]
    has: dict[str, bool]
    task: dict[str, str]
    decodings: dict[str, dict[str, Any]]
    store: str
    folder: str
    marks: str

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Every column, conditions outermost."""
        names = [(one[:3], repeat) for one in self.conditions for repeat in range(one[3])]
        return tuple(Column(at, *condition, repeat) for at, (condition, repeat) in enumerate(names))

    @property
    def codes(self) -> tuple[str, ...]:
        """The labels' codes."""
        return self.labels.codes

    @property
    def label_set(self) -> LabelSet:
        """The label set, or the numbers that occur."""
        return Numbers(self.labels.labels, self.labels.level) if self.has["numbers"] else self.labels

    @property
    def cell_type(self) -> str:
        """NumPy's name of what a cell takes."""
        return "uint8" if len(self.codes) + len(STATUSES) < 250 else "uint16"

    @property
    def schema(self) -> pl.Schema:
        """The columns of the index's annotations: a row for each answer and evaluator."""
        codes = pl.UInt8 if self.cell_type == "uint8" else pl.UInt16
        columns: dict[str, Any] = {"row": pl.UInt32, "column": pl.UInt16, "evaluator": pl.UInt8}
        columns |= {"legend": codes, "confidence": pl.Float32, "truncated": pl.Boolean, "looping": pl.Boolean}
        columns |= {"reason": pl.String, "probabilities": pl.List(pl.Float64), "mass_coverage": pl.Float32}
        return pl.Schema(columns | {"response": pl.UInt32, "length": pl.UInt32})

    @property
    def hidden(self) -> int:
        """The legend code of a cell that must not be seen."""
        return 255 if self.cell_type == "uint8" else 65535

    @cached_property
    def meanings(self) -> tuple[tuple[str | None, str], ...]:
        """By legend code: the label and the status."""
        statuses = [(None, "valid" if name == "tied" else name) for name in STATUSES]
        return ((None, "missing"), *((code, "valid") for code in self.codes), *statuses)

    @cached_property
    def legend(self) -> pl.DataFrame:
        """The labels and statuses by legend code; labels are sorted as their codes are in the alphabet."""
        schema: dict[str, Any] = {"label": pl.Enum(sorted(self.codes)), "status": pl.String}
        return pl.DataFrame(self.meanings, schema=schema, orient="row")

    @cached_property
    def columns_frame(self) -> pl.DataFrame:
        """What a query may ask of the columns: names, repeats, and the levels of the variants' factors."""
        factors = dict.fromkeys(name for variant in self.variants for name in variant.factors)
        rows = []
        for one in self.columns:
            levels = self.variants_by_id[one.prompt].factors
            rows.append((one.prompt, one.model, one.decoding, one.repeat, *map(levels.get, factors)))
        names = dict.fromkeys(("prompt", "model", "decoding"), pl.String())
        schema: dict[str, Any] = {**names, "repeat": pl.Int32(), **dict.fromkeys(factors, pl.String())}
        return pl.DataFrame(rows, schema=schema, orient="row")

    @cached_property
    def variants_by_id(self) -> dict[str, Variant]:
        """Every variant by its id."""
        return {variant.id: variant for variant in self.variants}

    @cached_property
    def prompts(self) -> tuple[str, ...]:
        """The variants that are asked, in order."""
        return tuple(dict.fromkeys(variant for _, variant, _, _ in self.conditions))


_DESIGN = TypeAdapter(IndexDesign)


class State(NamedTuple):
    """How far an index has come.

    Attributes:
        last: The number of the last response in it.
        done: Answers, or labels, that are in it.
        of: How many there are.
        complete: Whether it holds all that there was when it was last continued.
        changed: Counts how often it was begun anew, since answers took the place of errors.
        files: The files that hold the answers, in order.
    """

    last: int = 0
    done: int = 0
    of: int = 0
    complete: bool = False
    changed: int = 0
    files: Sequence[str] = ()


def write_json(path: Path, document: Any) -> None:
    """Write a document whole or not at all."""
    replace_text(path, json.dumps(document, ensure_ascii=True, default=str))


def error_document(error: QuaverError) -> dict[str, Any]:
    """An error for the page."""
    names = ("problem", "where", "expected", "found", "fix")
    return {name: getattr(error, name) for name in names}


class Index:
    """An index that was made, or is being made.

    Args:
        folder: Where it is.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.design: IndexDesign = _DESIGN.validate_json((folder / "design.json").read_bytes())
        self.width = len(self.design.columns)
        groups = {f"group-{position}": name for position, name in enumerate(self.design.groups)}
        with self._whole():
            items = pl.read_parquet(folder / "items.parquet", columns=["item", "gold", *groups])
        self.items = items.select("item", *(pl.col(name).alias(group) for name, group in groups.items()))
        self.ids, self.gold = self.items["item"], items["gold"].cast(self.design.legend["label"].dtype)

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """Report an index that something has damaged."""
        try:
            yield
        except (OSError, pl.exceptions.PolarsError) as error:
            raise StoreError(
                "the viewer's index cannot be read",
                where=str(self.folder),
                found=str(error).partition("\n")[0],
                fix="delete this folder; it is made again",
            ) from error

    def collected(self, frame: pl.LazyFrame) -> pl.DataFrame:
        """The rows of a frame; answers that come in meanwhile may be among them."""
        with self._whole():
            return frame.collect(engine="streaming")

    @property
    def state(self) -> State:
        """How far it has come."""
        return state_in(self.folder)

    @cached_property
    def places(self) -> dict[str, int]:
        """The rows of the items, by id."""
        return {name: row for row, name in enumerate(self.ids)}

    def annotations(self, evaluator: int | None = None) -> pl.LazyFrame:
        """The answers as an evaluator reads them, or all do, with legend codes of labels or of why none."""
        frame = scanned(self.folder, self.state.files, self.design.schema)
        if evaluator is None or len(self.design.evaluators) == 1:
            return frame
        return frame.filter(pl.col("evaluator") == evaluator)

    def cells(self, row: int, evaluator: int | None = None) -> pl.DataFrame:
        """The answers to an item, as all evaluators read them or one does."""
        return self.collected(self.annotations(evaluator).filter(pl.col("row") == row))

    def item_texts(self, rows: Iterable[int], longest: int | None = None) -> dict[int, str]:
        """The texts of some items as the first prompt shows them, or their beginnings, by row."""
        if not self.design.has["texts"]:
            return dict.fromkeys(rows, "")
        text = pl.col("text") if longest is None else pl.col("text").str.slice(0, longest)
        return dict(self._items(rows).select("row", text).iter_rows())

    def item_fields(self, row: int) -> dict[str, Any]:
        """An item's fields."""
        return dict(json.loads(self._items([row])["fields"][0])) if self.design.has["texts"] else {}

    def _items(self, rows: Iterable[int]) -> pl.DataFrame:
        some = pl.Series([*rows], dtype=pl.UInt32)
        frame = pl.scan_parquet(self.folder / "items.parquet")
        return self.collected(frame.filter(pl.col("row").is_in(some.implode())))


def scanned(folder: Path, files: Sequence[str], schema: pl.Schema) -> pl.LazyFrame:
    """The answers in some files of an index."""
    paths = [folder / file for file in files]
    return pl.scan_parquet(paths) if paths else pl.LazyFrame(schema=schema)


def state_in(folder: Path) -> State:
    """How far the index in a folder has come."""
    return State(**json.loads((folder / "state.json").read_text(encoding="utf-8")))


def index_in(root: Path) -> Index | None:
    """The index in use among those of a folder; None where none was made yet, or it is not whole."""
    try:
        name = (root / CURRENT).read_text(encoding="utf-8").strip()
        return Index(root / Path(name).name)
    except (OSError, ValueError, EOFError):
        return None
