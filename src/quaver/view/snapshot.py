"""A study as the server shows it: its design and its items, and the labels of all answers in memory."""

from __future__ import annotations

import json
import threading
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import polars as pl
from pydantic import Field, TypeAdapter

from quaver.core.annotations import ANNOTATION_COLUMNS
from quaver.core.records import Condition, Decoding, LabelSet, Variant
from quaver.errors import QuaverError, StoreError

STATUSES = ("tied", "no_label", "ambiguous", "refused", "empty", "error")
"""Why an answer has no label, in the legend's order; ``tied`` is a valid answer that prefers none."""

GROUP = "group:"
"""What the columns of the items' groups begin with in the file of the items."""

_NAMES = ["model", "variant", "decoding", "repeat"]
_COLUMNS: dict[str, Any] = {
    "at": pl.UInt16,
    **dict.fromkeys(("model", "prompt", "decoding"), pl.String),
    "repeat": pl.Int32,
}

_Place = Annotated[str, Field(pattern=r"^[^\x00]*$")]
_Count = Annotated[int, Field(ge=0, lt=2**63)]


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
class Design:
    """What the server must know of a study besides its items and labels.

    Attributes:
        name: The study's name.
        kind: What it was opened from, in words.
        labels: The label set, or the numbers that occur.
        evaluators: Their names, the study's first one first.
        conditions: Those that are no follow-ups.
        variants: Every prompt variant.
        decodings: By name.
        has_texts: Whether the items' texts are here.
        store: Where the answers are; empty where there are labels only.
        folder: The study's folder.
        marks: Where marks are kept.
        has_spans: Whether passages of the texts have the labels.
        asked: For each of these conditions the number of the one that is asked, and of its split.
        parts: For each part that was asked about the row of its text, then the numbers of its splits where
            there are several; empty where no text was cut.
    """

    name: str
    kind: str
    labels: LabelSet
    evaluators: tuple[str, ...]
    conditions: tuple[Condition, ...]
    variants: tuple[Variant, ...]
    decodings: dict[str, Decoding]
    has_texts: bool
    store: _Place
    folder: _Place
    marks: _Place
    has_spans: bool = False
    asked: tuple[tuple[int, int], ...] = ()
    parts: tuple[tuple[int, ...], ...] = ()

    def asked_about(self, row: int) -> range:
        """The positions of what was asked about an item."""
        if not self.parts:
            return range(row, row + 1)
        return range(*(bisect_left(self.parts, (at,)) for at in (row, row + 1)))

    def cells(self, condition: int, item: int, repeat: int) -> list[tuple[int, int]]:
        """The rows and columns that a call, by the positions of what was asked, gives a label."""
        row, *splits = self.parts[item] if self.parts else (item,)
        columns = self._columns_of_call.get((condition, repeat), ())
        return [(row, column) for split, column in columns if not splits or split in splits]

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Every column, conditions outermost."""
        names = [
            (condition.model, condition.variant, condition.decoding, repeat)
            for condition in self.conditions
            for repeat in range(condition.repeats)
        ]
        return tuple(Column(index, *place) for index, place in enumerate(names))

    @cached_property
    def _columns_of_call(self) -> dict[tuple[int, int], list[tuple[int, int]]]:
        """The splits and numbers of columns by the number of the condition that is asked, and the repeat."""
        found: dict[tuple[int, int], list[tuple[int, int]]] = {}
        columns = iter(self.columns)
        for condition, (asked, split) in zip(self.conditions, self.asked, strict=True):
            for repeat in range(condition.repeats):
                found.setdefault((asked, repeat), []).append((split, next(columns).at))
        return found

    @property
    def codes(self) -> tuple[str, ...]:
        """The labels' codes."""
        return self.labels.codes

    @property
    def cell_type(self) -> str:
        """NumPy's name of what a cell takes."""
        return "uint8" if len(self.codes) + len(STATUSES) < 250 else "uint16"

    @property
    def hidden(self) -> int:
        """The legend code of a cell that must not be seen."""
        return 255 if self.cell_type == "uint8" else 65535

    @cached_property
    def legend(self) -> pl.DataFrame:
        """The label and the status by legend code; labels are sorted as their codes are in the alphabet."""
        statuses = [(None, "valid" if name == "tied" else name) for name in STATUSES]
        meanings = [(None, "missing"), *((code, "valid") for code in self.codes), *statuses]
        schema: dict[str, Any] = {"label": pl.Enum(sorted(self.codes)), "status": pl.String}
        return pl.DataFrame(meanings, schema=schema, orient="row")

    @cached_property
    def columns_frame(self) -> pl.DataFrame:
        """What a query may ask of the columns: names, repeats, and the levels of the variants' factors."""
        columns = pl.DataFrame(self.columns, schema=_COLUMNS, orient="row")
        levels = [{"prompt": variant.id, **variant.factors} for variant in self.variants]
        factors = pl.from_dicts(levels, infer_schema_length=None)
        names = ("prompt", "model", "decoding", "repeat")
        return columns.join(factors, on="prompt", how="left", maintain_order="left").select(
            *names, pl.exclude("at", *names).cast(pl.String)
        )

    @cached_property
    def variants_by_id(self) -> dict[str, Variant]:
        """Every variant by its id."""
        return {variant.id: variant for variant in self.variants}

    @cached_property
    def prompts(self) -> tuple[str, ...]:
        """The variants that are asked, in order."""
        return tuple(dict.fromkeys(condition.variant for condition in self.conditions))


_DESIGN = TypeAdapter(Design)


@dataclass(frozen=True)
class State:
    """How many of a study's annotations can be shown.

    Attributes:
        rests_on: Changes with all that annotations rest on besides the answers.
        last: The number of the last response that was read.
        done: Answers, or labels, that were read.
        of: How many there are.
        errors: How many of these answers were errors.
        files: The files that hold the annotations, in order.
    """

    rests_on: str = ""
    last: _Count = 0
    done: _Count = 0
    of: _Count = 0
    errors: _Count = 0
    files: Sequence[str] = ()

    @property
    def complete(self) -> bool:
        """Whether all stored answers were read."""
        return bool(self.rests_on) and self.done >= self.of


_STATE = TypeAdapter(State)


def state_in(folder: Path) -> State:
    """What is noted in a folder; nothing was read where the note is damaged, or a file is missing."""
    try:
        state = _STATE.validate_json((folder / "state.json").read_bytes())
        return state if all((folder / file).is_file() for file in state.files) else State()
    except (OSError, ValueError):
        return State()


class Snapshot:
    """A study at one moment.

    Args:
        folder: Where the process that reads the study writes (see ``study_reader``).

    Attributes:
        items: By row: the items' ids and groups.
        gold: Their gold labels.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.state = folder, state_in(folder)
        with self._whole():
            self.design = _DESIGN.validate_json((folder / "design.json").read_bytes())
            names = pl.read_parquet_schema(folder / "items.parquet")
            groups = [name for name in names if name.startswith(GROUP)]
            items = pl.read_parquet(folder / "items.parquet", columns=["item", "gold", *groups])
            self.gold = items["gold"].cast(self.design.legend["label"].dtype)
            self.items = items.select("item", *(pl.col(name).alias(name[len(GROUP) :]) for name in groups))
            self.ids, self.width = items["item"], len(self.design.columns)
        self._answers: pl.DataFrame | None = None
        self._lock = threading.Lock()
        if not self.state.complete:  # the files will give way to others
            _ = self.answers

    @property
    def answers(self) -> pl.DataFrame:
        """Every annotation, read when it is needed: not on the first screen.

        They have ``row``, ``column``, ``evaluator``, ``legend`` (what the page shows a label or a status by),
        ``confidence``, ``truncated`` and ``looping``.
        """
        with self._lock, self._whole():
            if self._answers is None:
                self._answers = self._read()
            return self._answers

    def _read(self) -> pl.DataFrame:
        cells = ("row", "column", "evaluator", "legend", pl.col("confidence").cast(pl.Float32))
        placed = self._placed(self._annotations)
        known = placed.select(*cells, "truncated", "looping", *_quotes(placed))
        answers = known.collect(engine="streaming")
        # An answer has another reason if it quotes other words than most answers to its item with its
        # label do; of several such words, the first.
        alike = ["row", "evaluator", "legend"]
        places = answers.drop_nulls("quote_start").select(*alike, "quote_start", "quote_end")
        starts = places.select(*alike, at="quote_start").unique()
        within = (pl.col("quote_start") <= pl.col("at")) & (pl.col("at") < pl.col("quote_end"))
        counted = places.join(starts, on=alike).filter(within).group_by(*alike, "at").len()
        most = counted.sort("len", "at", descending=[True, False]).unique(
            alike, keep="first", maintain_order=True
        )
        joined = answers.join(most.drop("len"), on=alike, how="left", maintain_order="left")
        return joined.with_columns(other_reason=~within).drop("at", "quote_start", "quote_end")

    @cached_property
    def has_confidence(self) -> bool:
        """Whether the model was sure of any answer, or not."""
        with self._whole():
            known = self._annotations.select(pl.col("confidence").is_not_null().any())
            return bool(known.collect(engine="streaming").item())

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """Report files that something has damaged."""
        try:
            yield
        except (OSError, ValueError, pl.exceptions.PolarsError) as error:
            raise StoreError(
                "what the viewer keeps of this study cannot be read",
                where=str(self.folder),
                found=str(error).partition("\n")[0],
                fix="delete this folder; it is made again",
            ) from error

    @property
    def groups(self) -> list[str]:
        """The names of the items' groups."""
        return self.items.columns[1:]

    @cached_property
    def places(self) -> dict[str, int]:
        """The rows of the items, by id."""
        return {name: row for row, name in enumerate(self.ids)}

    @property
    def _annotations(self) -> pl.LazyFrame:
        """The study's annotation frame, to be read as it is needed."""
        paths = [self.folder / file for file in self.state.files]
        return pl.scan_parquet(paths) if paths else pl.LazyFrame(schema=ANNOTATION_COLUMNS)

    def _placed(self, annotations: pl.LazyFrame) -> pl.LazyFrame:
        """Annotations in the grid, with the numbers of their row, column and evaluator, and a legend code."""
        design, names = self.design, ("model", "variant", "decoding")
        columns = pl.LazyFrame(design.columns, schema=_COLUMNS, orient="row")
        columns = columns.rename({"at": "column", "prompt": "variant"}).with_columns(
            pl.col(names).cast(pl.Categorical)
        )
        items = self.ids.cast(pl.Categorical).to_frame().lazy().with_row_index("row")
        label, status = _numbered("label", design.codes), _numbered("status", ("valid", *STATUSES[1:]))
        legend = pl.coalesce(label + 1, status + 1 + len(design.codes))
        placed = annotations.with_columns(pl.col(*names, "item").cast(pl.Categorical))
        return (
            placed.join(items, on="item")
            .join(columns, on=_NAMES)
            .with_columns(
                legend=legend.cast(pl.UInt8 if design.cell_type == "uint8" else pl.UInt16),
                evaluator=_numbered("evaluator", design.evaluators).cast(pl.UInt8),
            )
            .drop_nulls(["legend", "evaluator"])
        )

    def annotations(self, evaluator: int) -> pl.LazyFrame:
        """The answers as an evaluator reads them."""
        frame = self.answers.lazy()
        return frame if len(self.design.evaluators) == 1 else frame.filter(pl.col("evaluator") == evaluator)

    def cells(self, row: int) -> pl.DataFrame:
        """The answers to an item as each evaluator reads them, with why, and the labels' probabilities."""
        item = pl.col("item").cast(pl.String) == self.ids[row]
        with self._whole():
            return self._placed(self._annotations.filter(item)).collect(engine="streaming")

    def item_texts(self, rows: Iterable[int], longest: int | None = None) -> dict[int, str]:
        """The texts of some items as the first prompt shows them, or their beginnings, by row."""
        if not self.design.has_texts:
            return dict.fromkeys(rows, "")
        text = pl.col("text") if longest is None else pl.col("text").str.slice(0, longest)
        return dict(self._of_items(rows).select("row", text).iter_rows())

    def texts_with(self, holds: pl.Expr) -> pl.Series:
        """Whether a condition holds for each row's ``text``."""
        with self._whole():
            return pl.scan_parquet(self.folder / "items.parquet").select(holds).collect().to_series()

    def item_fields(self, row: int) -> dict[str, Any]:
        """An item's fields."""
        return dict(json.loads(self._of_items([row])["fields"][0])) if self.design.has_texts else {}

    def item_media(self, row: int) -> list[tuple[str, str, str]]:
        """The name, type and digest of each of an item's files that can be shown."""
        found = self._of_items([row])["media"][0] if self.design.has_texts else "[]"
        return [(name, kind, digest) for name, kind, digest in json.loads(found)]

    def _of_items(self, rows: Iterable[int]) -> pl.DataFrame:
        some = pl.Series([*rows], dtype=pl.UInt32)
        frame = pl.scan_parquet(self.folder / "items.parquet")
        with self._whole():
            return frame.filter(pl.col("row").is_in(some.implode())).collect(engine="streaming")


def _numbered(name: str, values: Sequence[str]) -> pl.Expr:
    """The places of a column's values among some; null where a value is not among them."""
    known = pl.col(name).cast(pl.String).cast(pl.Enum(values), strict=False)
    return known.to_physical().cast(pl.UInt16)


def error_document(error: QuaverError) -> dict[str, Any]:
    """An error for the page."""
    names = ("problem", "where", "expected", "found", "fix")
    return {name: getattr(error, name) for name in names}


def _quotes(annotations: pl.LazyFrame) -> list[pl.Expr]:
    """Where quotes are in the text, and which are invented; null of a study without any."""
    known = annotations.collect_schema().names()
    place = [
        pl.col(name) if name in known else pl.lit(None, pl.Int32).alias(name)
        for name in ("quote_start", "quote_end")
    ]
    status = pl.col("quote_status").cast(pl.String) if "quote_status" in known else pl.lit(None, pl.String)
    return [*place, (status == "invented").alias("invented")]
