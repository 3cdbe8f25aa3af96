"""Where a query is asked: the annotations of some columns as a frame, with the numbers of their items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from quaver.study.sources.gold_files import gold_beside
from quaver.view.query_fields import SHARES, Fields, Option, item_numbers, pick, unknown_in
from quaver.view.query_language import QueryError, Value
from quaver.view.study_index import Index

MARKS = ("mark", "by", "marked", "note")
"""What is marked in an item: kinds of marks, who, labels, notes."""

_OF_MARKS = "marks: "
_MARK = pl.col(f"{_OF_MARKS}mark")


@dataclass
class Scope:
    """Where a query is asked.

    Attributes:
        index: The study's.
        evaluator: Whose readings.
        columns: The numbers of the columns that are shown, in their order.
        numbers: What ``item_numbers`` says of every item over these columns, with ``gold``.
        marks: What is marked (``MARKS``), a row an item.
        changed: The items whose most frequent label has changed since the last look; None if unknown.
        modal_in: The most frequent labels of another study, for each item of this one; None if it is none.
    """

    index: Index
    evaluator: int
    columns: Sequence[int]
    numbers: pl.DataFrame
    marks: pl.DataFrame
    changed: pl.Series | None = None
    modal_in: Callable[[str], pl.Series | None] = lambda _: None

    @property
    def answers(self) -> pl.LazyFrame:
        """The answers that are shown, with all that an expression of a query may name."""
        return self._named(shown_in(self.index, self.evaluator, self.columns))

    @property
    def calls(self) -> pl.LazyFrame:
        """The same, with the calls that have no answer."""
        rows = pl.LazyFrame({"row": range(self.index.design.items)}, schema={"row": pl.UInt32})
        every = rows.join(pl.LazyFrame({"column": self.columns}, schema={"column": pl.UInt16}), how="cross")
        answers = shown_in(self.index, self.evaluator, self.columns)
        known = every.join(answers, on=["row", "column"], how="left")
        return self._named(known.with_columns(pl.col("legend").fill_null(0)))

    def _named(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        return frame.with_columns(
            *(pick(values, "legend").alias(values.name) for values in self.index.design.legend),
            *(pick(self.numbers[name], "row").alias(name) for name in ("gold", "modal")),
        )

    @cached_property
    def fields(self) -> StudyFields:
        """The fields that a query may name."""
        return StudyFields(self)


def shown_in(index: Index, evaluator: int, columns: Sequence[int]) -> pl.LazyFrame:
    """An evaluator's answers in some columns."""
    frame = index.annotations(evaluator)
    if len(columns) == index.width:
        return frame
    shown = np.zeros(index.width, bool)
    shown[list(columns)] = True
    return frame.filter(pick(pl.Series(shown), "column"))


def numbers_of(index: Index, evaluator: int, columns: Sequence[int]) -> pl.DataFrame:
    """The numbers of every item over some columns, in the order of the items."""
    answers = shown_in(index, evaluator, columns).with_columns(
        label=pick(index.design.legend["label"], "legend"), gold=pick(index.gold, "row")
    )
    known = index.collected(item_numbers(answers, ["row"]))
    rows = pl.DataFrame({"row": range(index.design.items)}, schema={"row": pl.UInt32}).hstack(
        [index.gold.alias("gold")]
    )
    numbers = rows.join(known, on="row", how="left", maintain_order="left")
    counts = pl.col("labels", "_most", "_labelled", "_answered", "_right").fill_null(0).cast(pl.UInt32)
    shares = {name: share.fill_nan(None) for name, share in SHARES.items()}
    return numbers.with_columns(counts).with_columns(**shares)


class StudyFields(Fields):
    """The fields of a study, with what only its index knows: texts, marks, looks, the gold sample."""

    def __init__(self, scope: Scope) -> None:
        design, index = scope.index.design, scope.index
        columns = design.columns_frame
        items = index.items.hstack(scope.numbers.select("gold", "modal", "labels", *SHARES))
        marks = scope.marks.select(pl.all().name.prefix(_OF_MARKS))
        tables = {"row": items.hstack(marks), "column": columns, "legend": design.legend}
        super().__init__(tables, design.labels, [*columns.columns[4:], *design.groups])
        self._scope, self._index, self._design = scope, index, design
        kinds = ("agree", "disagree", "unclear")
        self.choices |= {
            "is": {
                **self.choices["is"],
                "original": pl.col("prompt") == (design.prompts[0] if design.prompts else ""),
                "marked": _MARK.is_not_null(),
                "changed": self._changed,
                "drawn": self._drawn,
            },
            "mark": {kind: _MARK.list.contains(kind) for kind in kinds},
            "evaluators": {"differ": self._differ},
        }
        self.values |= {
            "answer": lambda value: self._contains("text", value.text),
            "thinking": lambda value: self._contains("thought", value.text),
            "text": self._text,
            "flipped": self._flipped,
            "marked": lambda value: self._said(
                "marked", pl.element().is_in(list(self.fitting("marked", value)))
            ),
            "by": lambda value: self._said("by", pl.element().str.to_lowercase() == value.text.lower()),
            "note": lambda value: self._said(
                "note", pl.element().str.to_lowercase().str.contains(value.text.lower(), literal=True)
            ),
        }

    def options(self, name: str) -> list[Option]:
        """The values of a field that a query line is completed with; of ``by`` those who have marked."""
        if name != "by":
            return super().options(name)
        people = self._scope.marks["by"].explode().drop_nulls().unique(maintain_order=True)
        return [Option(who, who) for who in people]

    def words(self, value: Value) -> pl.Expr:
        """Items or answers that contain a text."""
        condition = super().words(value)
        if self._design.has["texts"]:
            condition |= self._text(value)
        if self._design.has["answers"]:
            condition |= self._contains("text", value.text)
        return condition

    def _absent(self, value: Value) -> pl.Expr:
        if value.text.lower() == "mark":
            return self.where(_MARK.is_null())
        return super()._absent(value)

    def _said(self, name: str, holds: pl.Expr) -> pl.Expr:
        """Items with a mark of which something holds."""
        return self.where(pl.col(_OF_MARKS + name).list.eval(holds).list.any())

    def _text(self, value: Value) -> pl.Expr:
        if not self._design.has["texts"]:
            raise QueryError("the items' texts are not here", value.at)
        items = pl.scan_parquet(self._index.folder / "items.parquet")
        return pick(self._index.collected(items.select(contains(value.text))).to_series(), "row")

    def _contains(self, texts: str, wanted: str) -> pl.Expr:
        """Answers one of whose texts contains a text."""
        holds = self._index.collected(self._index.texts(texts).select(contains(wanted))).to_series()
        return pick(holds, texts).fill_null(False)

    def _changed(self, value: Value) -> pl.Expr:
        if self._scope.changed is None:
            raise QueryError("nobody has looked at this study before", value.at)
        return pick(self._scope.changed, "row")

    def _drawn(self, value: Value) -> pl.Expr:
        draw = gold_beside(Path(self._design.folder)).state().draw
        if draw is None:
            raise QueryError("no gold sample has been drawn", value.at)
        drawn = draw.filter("drawn")["item"].cast(pl.String)
        return self.where(pl.col("item").is_in(drawn.implode()))

    def _differ(self, value: Value) -> pl.Expr:
        """Answers that another evaluator reads differently."""
        place, every = ["row", "column"], self._index.annotations()
        others = every.filter(pl.col("evaluator") != self._scope.evaluator)
        both = self._index.annotations(self._scope.evaluator).join(others, on=place)
        differ = self._index.collected(both.filter(pl.col("legend") != pl.col("legend_right")).select(place))
        known = np.zeros((self._design.items, self._index.width), bool)
        known[differ["row"], differ["column"]] = True
        cell = pl.col("row").cast(pl.UInt64) * self._index.width + pl.col("column")
        return pl.lit(pl.Series(known.ravel())).gather(cell)

    def _flipped(self, value: Value) -> pl.Expr:
        """Items whose label differs between two prompts, models, decodings or levels, or two studies."""
        first, between, second = value.text.partition("~")
        other = None if between else self._scope.modal_in(first)
        if other is not None:
            modal = self._scope.numbers["modal"].cast(pl.String)
        else:
            modal = self._modal_over(first, value)
            other = self._modal_over(second if between else self._design.prompts[0], value)
        return pick((modal != other).fill_null(False), "row")

    def _modal_over(self, name: str, value: Value) -> pl.Series:
        """The most frequent labels in the columns of a prompt, a model, a decoding or a level of a factor."""
        wanted, known, columns = name.strip().lower(), list[str](), self._design.columns_frame
        for column in columns.columns:
            if column == "repeat" or column in self._design.groups:
                continue
            forms = self.forms(column)
            known += forms
            values = {code for form, some in forms.items() if form.lower() == wanted for code in some}
            if values:
                places = {*columns[column].is_in(list(values)).arg_true()}
                shown = [place for place in self._scope.columns if place in places]
                return numbers_of(self._index, self._scope.evaluator, shown)["modal"].cast(pl.String)
        raise unknown_in(name, dict.fromkeys(known), "prompt or model", value.at)


def contains(wanted: str) -> pl.Expr:
    """Whether a text contains another, without the difference between capital and small letters."""
    text, folded = pl.col("text").str.to_lowercase(), wanted.casefold()
    if "ss" in folded:
        text = text.str.replace_all("ß", "ss", literal=True)
    return text.str.contains(folded, literal=True).fill_null(False)
