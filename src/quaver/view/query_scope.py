"""Where a query is asked: the annotations of some columns as a frame, with the numbers of their items."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from quaver.study.sources.gold_files import gold_beside
from quaver.view.query_fields import SHARES, Condition, Fields, Option, item_numbers, joined, unknown_in
from quaver.view.query_language import QueryError, Value, Words
from quaver.view.study_index import Index, pick


@dataclass
class Scope:
    """Where a query is asked.

    Attributes:
        index: The study's.
        evaluator: Whose readings.
        columns: The numbers of the columns that are shown, in their order.
        numbers: What ``item_numbers`` says of every item over these columns, with ``gold``.
        marks: What is marked: by kind (``mark``, ``who``, ``label``, ``note``), the values by item.
        changed: The items whose most frequent label has changed since the last look; None if unknown.
        modal_in: The most frequent labels of another study, for each item of this one; None if it is none.
    """

    index: Index
    evaluator: int
    columns: Sequence[int]
    numbers: pl.DataFrame
    marks: Mapping[str, Mapping[int, tuple[str, ...]]] = field(default_factory=dict)
    changed: pl.Series | None = None
    modal_in: Callable[[str], pl.Series | None] = lambda _: None

    @property
    def answers(self) -> pl.LazyFrame:
        """The answers that are shown, with all that an expression of a query may name."""
        known = {"gold": self.numbers["gold"], "modal": self.numbers["modal"]}
        return labelled(self.index, self.evaluator, self.columns).with_columns(
            **{name: pick(values, "row") for name, values in known.items()}
        )

    def cells(self, condition: Condition) -> pl.LazyFrame:
        """The same, with the calls that have no answer where a query may be about these."""
        if not condition.of_missing:
            return self.answers
        design = self.index.design
        rows = pl.LazyFrame({"row": range(design.items)}, schema={"row": pl.UInt32})
        every = rows.join(pl.LazyFrame({"column": self.columns}, schema={"column": pl.UInt16}), how="cross")
        known = self.answers.drop("label", "status", "gold", "modal")
        whole = every.join(known, on=["row", "column"], how="left").with_columns(
            pl.col("legend").fill_null(0)
        )
        return whole.with_columns(
            label=pick(design.legend["label"], "legend"),
            status=pick(design.legend["status"], "legend"),
            gold=pick(self.numbers["gold"], "row"),
            modal=pick(self.numbers["modal"], "row"),
        )

    @cached_property
    def fields(self) -> StudyFields:
        """The fields that a query may name."""
        return StudyFields(self)


def labelled(index: Index, evaluator: int, columns: Sequence[int]) -> pl.LazyFrame:
    """An evaluator's answers in some columns with label, status and gold label."""
    frame = index.answers(evaluator)
    if len(columns) < index.width:
        shown = np.zeros(index.width, bool)
        shown[list(columns)] = True
        frame = frame.filter(pick(pl.Series(shown), "column"))
    legend = index.design.legend
    return frame.with_columns(
        label=pick(legend["label"], "legend"),
        status=pick(legend["status"], "legend"),
        gold=pick(index.gold, "row"),
    )


def numbers_of(index: Index, evaluator: int, columns: Sequence[int]) -> pl.DataFrame:
    """The numbers of every item over some columns, in the order of the items."""
    known = index.collected(item_numbers(labelled(index, evaluator, columns), ["row"]))
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
        tables = {"row": items, "column": columns, "legend": design.legend}
        super().__init__(tables, design.labels, [*columns.columns[4:], *design.groups])
        self._scope, self._index, self._design = scope, index, design
        is_original = pl.col("prompt") == (design.prompts[0] if design.prompts else "")
        self.choices = {
            "is": {
                "original": lambda _: self.where(is_original),
                "marked": lambda _: self._marked_with("mark", bool),
                "changed": self._changed,
                "drawn": self._drawn,
            },
            "mark": dict.fromkeys(("agree", "disagree", "unclear"), self._of_kind),
            "evaluators": {"differ": lambda _: self._differ()},
        }
        self.values |= {
            "answer": lambda value: self._contains("texts", "text", value.text),
            "thinking": lambda value: self._contains("thoughts", "thought", value.text),
            "text": self._text,
            "flipped": self._flipped,
            "marked": lambda value: self._marked_with("label", self.fitting("marked", value).__contains__),
            "by": lambda value: self._marked_with("who", lambda who: who.lower() == value.text.lower()),
            "note": lambda value: self._marked_with("note", lambda note: value.text.lower() in note.lower()),
        }

    def options(self, name: str) -> list[Any]:
        """The values of a field that a query line is completed with; of ``by`` those who have marked."""
        if name != "by":
            return super().options(name)
        return [
            Option(who, who)
            for who in dict.fromkeys(
                who for some in self._scope.marks.get("who", {}).values() for who in some
            )
        ]

    def words(self, words: Words) -> Condition:
        """Items or answers that contain a text."""
        parts = [super().words(words)]
        if self._design.has["texts"]:
            parts.append(self._text(Value(words.text, words.at)))
        if self._design.has["answers"]:
            parts.append(self._contains("texts", "text", words.text))
        return joined(parts, lambda one, other: one | other)

    def _absent(self, value: Value) -> Condition:
        if value.text.lower() == "mark":
            return self._marked_with("mark", bool).negated()
        return super()._absent(value)

    def _text(self, value: Value) -> Condition:
        if not self._design.has["texts"]:
            raise QueryError("the items' texts are not here", value.at)
        items = pl.scan_parquet(self._index.folder / "items.parquet")
        return Condition("row", self._index.collected(items.select(contains(value.text))).to_series())

    def _contains(self, texts: str, column: str, wanted: str) -> Condition:
        """Answers one of whose texts contains a text."""
        holds = self._index.collected(self._index.texts(texts).select(contains(wanted))).to_series()
        return Condition("cell", pl.lit(holds).gather(pl.col(column), null_on_oob=True).fill_null(False))

    def _changed(self, value: Value) -> Condition:
        if self._scope.changed is None:
            raise QueryError("nobody has looked at this study before", value.at)
        return Condition("row", self._scope.changed)

    def _drawn(self, value: Value) -> Condition:
        draw = gold_beside(Path(self._design.folder)).state().draw
        if draw is None:
            raise QueryError("no gold sample has been drawn", value.at)
        return Condition("row", self._index.ids.is_in(draw.filter("drawn")["item"].cast(pl.String).implode()))

    def _differ(self) -> Condition:
        """Answers that another evaluator reads differently."""
        others = [
            pl.col(f"legend-{at}")
            for at in range(len(self._design.evaluators))
            if at != self._scope.evaluator
        ]
        differ = [(other != pl.col("legend")).fill_null(False) for other in others]
        return Condition("cell", pl.any_horizontal(*differ) if differ else pl.lit(False))

    def _flipped(self, value: Value) -> Condition:
        """Items whose label differs between two prompts, models, decodings or levels, or two studies."""
        first, between, second = value.text.partition("~")
        other = None if between else self._scope.modal_in(first)
        if other is not None:
            modal = self._scope.numbers["modal"].cast(pl.String)
        else:
            modal = self._modal_over(first, value)
            other = self._modal_over(second if between else self._design.prompts[0], value)
        return Condition("row", (modal != other).fill_null(False))

    def _modal_over(self, name: str, value: Value) -> pl.Series:
        """The most frequent labels in the columns of a prompt, a model, a decoding or a level of a factor."""
        wanted, known = name.strip().lower(), list[str]()
        for column in self._design.columns_frame.columns:
            if column == "repeat":
                continue
            forms = self.forms(column) if column not in self._design.groups else {}
            known += forms
            values = {one for form, some in forms.items() if form.lower() == wanted for one in some}
            if values:
                places = self._design.columns_frame[column].is_in(list(values)).arg_true()
                shown = [place for place in places if place in {*self._scope.columns}]
                return numbers_of(self._index, self._scope.evaluator, shown)["modal"].cast(pl.String)
        raise unknown_in(name, dict.fromkeys(known), "prompt or model", value.at)

    def _of_kind(self, value: Value) -> Condition:
        return self._marked_with("mark", value.text.lower().__eq__)

    def _marked_with(self, kind: str, fits: Callable[[str], bool]) -> Condition:
        """Items with a mark of which something fits."""
        marks = self._scope.marks.get(kind, {})
        return self._rows(row for row, values in marks.items() if any(map(fits, values)))

    def _rows(self, rows: Iterable[int]) -> Condition:
        known = np.zeros(self._design.items, bool)
        known[list(rows)] = True
        return Condition("row", pl.Series(known))


def contains(wanted: str) -> pl.Expr:
    """Whether a text contains another, without the difference between capital and small letters."""
    text, folded = pl.col("text").str.to_lowercase(), wanted.casefold()
    if "ss" in folded:
        text = text.str.replace_all("ß", "ss", literal=True)
    return text.str.contains(folded, literal=True).fill_null(False)
