"""An index as it is read: what it says of its study, its items in memory, its answers as a frame."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from pydantic import TypeAdapter

from quaver.core.records import LabelSet, Variant
from quaver.core.replaced_file import replace_text
from quaver.errors import StoreError

CURRENT = "current"
"""The file that names the index in use."""

FAILURE = "failure.json"
"""Where the indexing process writes an error for the server."""

STATUSES = ("tied", "no_label", "ambiguous", "refused", "empty", "error")
"""Why an answer has no label, in the legend's order; ``tied`` is a valid answer that prefers none."""


@dataclass(frozen=True)
class Column:
    """One column of the grid: a condition and a repeat."""

    at: int
    model: str
    prompt: str
    decoding: str
    repeat: int
    condition: int

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
        of: The follow-up that an evaluator reads, by the evaluator's name.
        conditions: Model, variant, decoding, repeats, of all that are no follow-ups.
        variants: Every prompt variant.
        groups: The items' group columns, each with its values.
        has: What there is: ``texts``, ``answers``.
        task: The instruction and the kind of study.
        decodings: Options by name.
        readers: The study's evaluators, as its file has them.
        store: Where the answers are; empty where there are labels only.
        folder: The study's folder.
        marks: Where marks are kept.
    """

    name: str
    kind: str
    items: int
    labels: LabelSet
    evaluators: tuple[str, ...]
    of: dict[str, str]
    conditions: tuple[tuple[str, str, str, int], ...]
    variants: tuple[Variant, ...]
    groups: dict[str, tuple[str, ...]]
    has: dict[str, bool]
    task: dict[str, str] = field(default_factory=dict)
    decodings: dict[str, dict[str, Any]] = field(default_factory=dict)
    readers: list[dict[str, Any]] = field(default_factory=list)
    store: str = ""
    folder: str = ""
    marks: str = ""

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Every column, conditions outermost."""
        columns: list[Column] = []
        for index, (model, variant, decoding, repeats) in enumerate(self.conditions):
            for repeat in range(repeats):
                columns.append(Column(len(columns), model, variant, decoding, repeat, index))
        return tuple(columns)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The first column of each condition."""
        starts = [0]
        for *_, repeats in self.conditions:
            starts.append(starts[-1] + repeats)
        return tuple(starts[:-1])

    @property
    def codes(self) -> tuple[str, ...]:
        """The labels' codes."""
        return self.labels.codes

    @property
    def cell_type(self) -> str:
        """NumPy's name of what a cell takes."""
        return "uint8" if len(self.codes) + len(STATUSES) < 250 else "uint16"

    @property
    def schema(self) -> pl.Schema:
        """The columns of the index's annotations: a row for each answer and evaluator."""
        codes = pl.UInt8 if self.cell_type == "uint8" else pl.UInt16
        columns: dict[str, Any] = {"row": pl.UInt32, "column": pl.UInt16, "evaluator": pl.UInt8}
        columns |= {"legend": codes, "confidence": pl.Float32}
        columns |= dict.fromkeys(("truncated", "looping"), pl.Boolean)
        columns |= dict.fromkeys(("response", "length", "text", "thought"), pl.UInt32)
        return pl.Schema(columns)

    @property
    def hidden(self) -> int:
        """The legend code of a cell that must not be seen."""
        return 255 if self.cell_type == "uint8" else 65535

    def status_code(self, status: str) -> int:
        """The legend code of a status without a label."""
        return 1 + len(self.codes) + STATUSES.index(status)

    @cached_property
    def meanings(self) -> tuple[tuple[str | None, str], ...]:
        """By legend code: the label and the status."""
        statuses = [(None, "valid" if name == "tied" else name) for name in STATUSES]
        return ((None, "missing"), *((code, "valid") for code in self.codes), *statuses)

    @cached_property
    def label_type(self) -> pl.Enum:
        """The type of labels, which are sorted as their codes are in the alphabet."""
        return pl.Enum(sorted(self.codes))

    @cached_property
    def legend(self) -> pl.DataFrame:
        """The labels and statuses by legend code."""
        schema: dict[str, Any] = {"label": self.label_type, "status": pl.String}
        return pl.DataFrame(self.meanings, schema=schema, orient="row")

    @cached_property
    def legend_codes(self) -> dict[str | None, int]:
        """The legend codes of labels; 0 for none."""
        return {None: 0, **{code: legend for legend, code in enumerate(self.codes, start=1)}}

    @cached_property
    def columns_frame(self) -> pl.DataFrame:
        """What a query may ask of the columns: names, repeats, and the levels of the variants' factors."""
        factors = dict.fromkeys(name for variant in self.variants for name in variant.factors)
        rows: list[dict[str, Any]] = [
            {"prompt": column.prompt, "model": column.model, "decoding": column.decoding}
            | {"repeat": column.repeat}
            | {name: self.variants_by_id[column.prompt].factors.get(name) for name in factors}
            for column in self.columns
        ]
        names = ("prompt", "model", "decoding")
        schema: dict[str, Any] = {**dict.fromkeys(names, pl.String), "repeat": pl.Int32}
        return pl.DataFrame(rows, schema=schema | dict.fromkeys(factors, pl.String))

    @cached_property
    def prompts(self) -> tuple[str, ...]:
        """The variants that are asked, in order."""
        return tuple(dict.fromkeys(variant for _, variant, _, _ in self.conditions))

    @cached_property
    def variants_by_id(self) -> dict[str, Variant]:
        """Every variant by its id."""
        return {variant.id: variant for variant in self.variants}

    def document(self) -> dict[str, Any]:
        """All of it as a mapping for JSON."""
        return asdict(self)


_ADAPTER = TypeAdapter(IndexDesign)


def design_of(document: Any) -> IndexDesign:
    """The design in a JSON document."""
    return _ADAPTER.validate_python(document)


class State(NamedTuple):
    """How far an index has come.

    Attributes:
        last: The number of the last response in it.
        done: Answers, or labels, that are in it.
        of: How many there are.
        complete: Whether it holds all that there was when it was last continued.
        changed: Counts changes of what was there: answers in the place of errors, new gold labels.
        files: The files of the frames that hold the answers, in order.
    """

    last: int = 0
    done: int = 0
    of: int = 0
    complete: bool = False
    changed: int = 0
    files: Mapping[str, Sequence[str]] = {}


def write_json(path: Path, document: Any) -> None:
    """Write a document whole or not at all."""
    replace_text(path, json.dumps(document, ensure_ascii=True, default=str))


def error_document(error: Exception) -> dict[str, Any]:
    """An error for the page."""
    names = ("problem", "where", "expected", "found", "fix")
    return {name: getattr(error, name, None) for name in names} | (
        {} if hasattr(error, "problem") else {"problem": str(error)}
    )


ITEM_COLUMNS = ("item", "text", "fields")


class Index:
    """An index that was made, or is being made.

    Args:
        folder: Where it is.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.design: IndexDesign = design_of(json.loads((folder / "design.json").read_text(encoding="utf-8")))
        self.width = len(self.design.columns)
        self._gold: tuple[int, pl.Series] = (0, pl.Series())
        with self._whole():
            self.items = pl.read_parquet(folder / "items.parquet", columns=["item", *self._groups])
        self.items = self.items.rename({**self._groups})
        self.ids = self.items["item"]

    @property
    def _groups(self) -> dict[str, str]:
        return {f"group-{position}": name for position, name in enumerate(self.design.groups)}

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
    def gold(self) -> pl.Series:
        """The items' gold labels, as they are now; null for none."""
        path = self.folder / "gold.parquet"
        if (written := path.stat().st_mtime_ns) != self._gold[0]:
            with self._whole():
                self._gold = written, pl.read_parquet(path)["gold"].cast(self.design.label_type)
        return self._gold[1]

    @property
    def state(self) -> State:
        """How far it has come."""
        return State(**json.loads((self.folder / "state.json").read_text(encoding="utf-8")))

    @cached_property
    def places(self) -> dict[str, int]:
        """The rows of the items, by id."""
        return {name: row for row, name in enumerate(self.ids)}

    def annotations(self, evaluator: int | None = None) -> pl.LazyFrame:
        """The answers as an evaluator reads them, or all do, with legend codes of labels or of why none."""
        frame = self._scanned("answers", self.design.schema)
        if evaluator is None or len(self.design.evaluators) == 1:
            return frame
        return frame.filter(pl.col("evaluator") == evaluator)

    def cells(
        self, rows: Iterable[int], columns: Iterable[int], evaluator: int | None = None
    ) -> pl.DataFrame:
        """The answers to some items in some columns, as all evaluators read them or one does."""
        frame, wanted = self.annotations(evaluator), {"row": [*rows], "column": [*columns]}
        for name, some in wanted.items():
            values = pl.Series(some, dtype=self.design.schema[name])
            frame = frame.filter(pl.col(name).is_in(values.implode()))
        return self.collected(frame)

    def texts(self, name: str) -> pl.LazyFrame:
        """The distinct texts of answers (``text``) or of thinking (``thought``), by their number."""
        return self._scanned(name, pl.Schema({"text": pl.String}))

    def _scanned(self, name: str, schema: pl.Schema) -> pl.LazyFrame:
        files = [self.folder / file for file in self.state.files.get(name, ())]
        return pl.scan_parquet(files) if files else pl.LazyFrame(schema=schema)

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


def index_in(root: Path) -> Index | None:
    """The index in use among those of a folder; None where none was made yet, or it is not whole."""
    try:
        name = (root / CURRENT).read_text(encoding="utf-8").strip()
        return Index(root / Path(name).name)
    except (OSError, ValueError, EOFError):
        return None


def require(index: Index | None) -> Index:
    """An index that there is."""
    if index is None:
        raise StoreError("the study is still being read", where="quaver view", fix="try again in a moment")
    return index
