"""Where a query is asked: an evaluator's annotations, with the numbers and marks of their items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path

import polars as pl

from quaver.study.sources.gold_files import gold_beside
from quaver.view.query_fields import SHARES, Fields, item_numbers, pick, unknown_in
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
        numbers: What ``numbers_of`` says of every item.
        marks: What is marked (``MARKS``), a row an item.
    """

    index: Index
    evaluator: int
    numbers: pl.DataFrame
    marks: pl.DataFrame

    @property
    def answers(self) -> pl.LazyFrame:
        """The answers, with all that an expression of a query may name."""
        return self._named(self.index.annotations(self.evaluator))

    @property
    def calls(self) -> pl.LazyFrame:
        """The same, with the calls that have no answer."""
        rows = pl.LazyFrame({"row": range(self.index.design.items)}, schema={"row": pl.UInt32})
        columns = pl.LazyFrame({"column": range(self.index.width)}, schema={"column": pl.UInt16})
        answers = self.index.annotations(self.evaluator)
        known = rows.join(columns, how="cross").join(answers, on=["row", "column"], how="left")
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


def numbers_of(index: Index, evaluator: int, columns: Sequence[int] | None = None) -> pl.DataFrame:
    """The numbers of every item over all columns or some, in the order of the items."""
    answers = index.annotations(evaluator)
    if columns is not None:
        answers = answers.filter(pl.col("column").is_in(columns))
    answers = answers.with_columns(
        label=pick(index.design.legend["label"], "legend"), gold=pick(index.gold, "row")
    )
    known = index.collected(item_numbers(answers, ["row"]))
    rows = pl.DataFrame({"row": range(index.design.items)}, schema={"row": pl.UInt32})
    numbers = rows.hstack([index.gold]).join(known, on="row", how="left", maintain_order="left")
    counts = pl.col("labels", "_most", "_labelled", "_answered", "_right").fill_null(0).cast(pl.UInt32)
    shares = {name: share.fill_nan(None) for name, share in SHARES.items()}
    return numbers.with_columns(counts).with_columns(**shares)


class StudyFields(Fields):
    """The fields of a study, with what only its index knows: texts, marks, the gold sample."""

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
                "drawn": self._drawn,
            },
            "mark": {kind: _MARK.list.contains(kind) for kind in kinds},
            "evaluators": {"differ": self._differ},
        }
        text, lower = pl.element(), pl.element().str.to_lowercase()
        self.values |= {
            "answer": lambda value: self._answer("text", value),
            "thinking": lambda value: self._answer("thought", value),
            "text": self._text,
            "flipped": self._flipped,
            "marked": lambda value: self._any("marked", text.is_in([*self.fitting("marked", value)])),
            "by": lambda value: self._any("by", lower == value.text.lower()),
            "note": lambda value: self._any("note", lower.str.contains(value.text.lower(), literal=True)),
        }

    def words(self, value: Value) -> pl.Expr:
        """Items or answers that contain a text."""
        condition = super().words(value)
        if self._design.has["texts"]:
            condition |= self._text(value)
        if self._design.has["answers"]:
            condition |= self._answer("text", value)
        return condition

    def _absent(self, value: Value) -> pl.Expr:
        if value.text.lower() == "mark":
            return self.where(_MARK.is_null())
        return super()._absent(value)

    def _any(self, name: str, holds: pl.Expr) -> pl.Expr:
        """Items with a mark of which something holds."""
        return self.where(pl.col(_OF_MARKS + name).list.eval(holds).list.any())

    def _text(self, value: Value) -> pl.Expr:
        if not self._design.has["texts"]:
            raise QueryError("the items' texts are not here", value.at)
        items = pl.scan_parquet(self._index.folder / "items.parquet")
        return pick(self._index.collected(items.select(contains(value.text))).to_series(), "row")

    def _answer(self, name: str, value: Value) -> pl.Expr:
        """Answers of which the text or the thinking contains a text."""
        found = self._index.texts().filter(contains(value.text, name)).select("response")
        numbers = self._index.collected(found)["response"]
        return pl.col("response").is_in(numbers.implode()).fill_null(False)

    def _drawn(self, value: Value) -> pl.Expr:
        draw = gold_beside(Path(self._design.folder)).state().draw
        if draw is None:
            raise QueryError("no gold sample has been drawn", value.at)
        drawn = draw.filter("drawn")["item"].cast(pl.String)
        return self.where(pl.col("item").is_in(drawn.implode()))

    def _differ(self, value: Value) -> pl.Expr:
        """Answers that another evaluator reads differently."""
        cell = pl.col("row").cast(pl.UInt64) * self._index.width + pl.col("column")
        several = pl.col("legend").n_unique() > 1
        differ = self._index.annotations().group_by(cell.alias("cell")).agg(several.alias("differ"))
        return cell.is_in(self._index.collected(differ.filter("differ"))["cell"].implode())

    def _flipped(self, value: Value) -> pl.Expr:
        """Items whose label differs between two prompts, models, decodings or levels."""
        first, between, second = value.text.partition("~")
        one, other = (
            self._modal_over(name, value) for name in (first, second if between else self._design.prompts[0])
        )
        return pick((one != other).fill_null(False), "row")

    def _modal_over(self, name: str, value: Value) -> pl.Series:
        """The most frequent labels in the columns of a prompt, a model, a decoding or a level of a factor."""
        wanted, columns = name.strip().lower(), self._design.columns_frame.drop("repeat")
        known = {
            column: self.forms(column) for column in columns.columns if column not in self._design.groups
        }
        for column, forms in known.items():
            values = {code for form, codes in forms.items() if form.lower() == wanted for code in codes}
            if values:
                places = columns[column].is_in([*values]).arg_true().to_list()
                return numbers_of(self._index, self._scope.evaluator, places)["modal"].cast(pl.String)
        raise unknown_in(name, dict.fromkeys(chain(*known.values())), "prompt or model", value.at)


def contains(wanted: str, name: str = "text") -> pl.Expr:
    """Whether a text contains another, without the difference between capital and small letters."""
    text, folded = pl.col(name).str.to_lowercase(), wanted.casefold()
    if "ss" in folded:
        text = text.str.replace_all("ß", "ss", literal=True)
    return text.str.contains(folded, literal=True).fill_null(False)
