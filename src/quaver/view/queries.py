r"""The query line: what it may say, and where it is wrong.

::

    query   = { ["-"] (term | words) }
    term    = field op value {"," value}
    op      = ":" "=" "!=" "<" "<=" ">" ">="

All conditions must hold; of the values of one, any. A value, a field, and words may stand in double quotes,
with ``\"`` inside; ``*`` at the end of a value stands for whatever follows. Only the field ``no`` asks for
what is absent (``no:label``), so that no value is reserved: a label called ``none`` is ``label:none``.

What a field asks for is a polars expression over an evaluator's annotations, their items and marks.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from quaver.core.number_format import short_name
from quaver.errors import QuaverError, nearest
from quaver.study.sources.gold_files import gold_beside
from quaver.view.stored_answers import holding
from quaver.view.study_index import Index

_MOST_PARTS, _LONGEST = 500, 10_000
_QUOTED = r'"(?:[^"\\]|\\.)*"?'
_TERM = re.compile(
    rf"""\s*(?P<minus>-(?=[^\s]))?
    (?: (?P<field>{_QUOTED}|[^\s":=<>!,-][^\s":=<>!,]*)(?P<op>!=|<=|>=|[:=<>])
    | (?P<words>{_QUOTED}|[^\s"]+) )""",
    re.VERBOSE,
)
_VALUE = re.compile(rf'(?P<text>{_QUOTED}|[^\s,"]+)(?P<more>,?)')

Place = tuple[int, int]


class QueryError(QuaverError):
    """A query line that says nothing.

    Args:
        problem: What is wrong.
        at: The characters of the line.
        **parts: The further parts of a `QuaverError`.
    """

    def __init__(self, problem: str, at: Place, **parts: str | None) -> None:
        super().__init__(problem, where="query", **parts)
        self.at = at


class Value(NamedTuple):
    """A value of a term.

    Attributes:
        text: What it says, without quotes and without the ``*``.
        at: Where it stands.
        open: Whether ``*`` stands at its end.
    """

    text: str
    at: Place
    open: bool = False


def _values_at(line: str, index: int) -> tuple[list[Value], int]:
    """The values at a place of a line, with commas between them, and where they end."""
    values, more = list[Value](), True
    while more and (value := _VALUE.match(line, index)):
        values.append(_value(value["text"], value.span("text"), may_be_open=True))
        index, more = value.end(), bool(value["more"])
    return values, index


def _value(text: str, at: Place, *, may_be_open: bool = False) -> Value:
    """A value as it was written, with or without quotes."""
    if not text.startswith('"'):
        is_open = may_be_open and text.endswith("*") and len(text) > 1
        return Value(text[:-1] if is_open else text, at, is_open)
    if len(text) < 2 or not text.endswith('"') or (text.endswith('\\"') and not text.endswith('\\\\"')):
        raise QueryError("a quotation is not closed", at, expected='"')
    return Value(re.sub(r"\\(.)", r"\1", text[1:-1]), at)


def quoted(text: str) -> str:
    r"""A value as it stands in a query.

    >>> quoted("neutral"), quoted('say "no"')
    ('neutral', '"say \\"no\\""')
    """
    return text if re.fullmatch(r"[\w./-]+", text) else _escaped(text)


def written(field: str) -> str:
    """A field as it stands in a query, before its operator or after ``no:``.

    >>> written("side"), written("-")
    ('side', '"-"')
    """
    return field if re.fullmatch(r"\w[\w.]*", field) else _escaped(field)


def _escaped(text: str) -> str:
    inside = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{inside}"'


FIELDS = (
    *("label", "status", "confidence", "answer", "length", "is", "no", "model"),
    *("prompt", "decoding", "repeat", "item", "gold", "text", "modal", "instability", "agreement"),
    *("accuracy", "labels", "valid", "mark", "marked", "by"),
)
"""The fields that every study has."""

NUMBERS = ("confidence", "length", "repeat", "instability", "agreement", "accuracy", "labels", "valid")
"""The fields that are compared with numbers."""

_ABSENT = ("label", "gold", "modal", "mark", "confidence", *NUMBERS[3:])
"""The fields that may be absent; factors and groups may be too."""

_OF_LABELS = ("label", "gold", "modal", "marked")
"""The fields whose values are labels."""

_LABEL, _GOLD, _MODAL, _STATUS = map(pl.col, ("label", "gold", "modal", "status"))

IS: Mapping[str, pl.Expr] = {
    "right": _LABEL == _GOLD,
    "wrong": _GOLD.is_not_null() & _LABEL.ne_missing(_GOLD),
    "flip": _LABEL != _MODAL,
    "modal": _LABEL == _MODAL,
    "error": _STATUS == "error",
    "valid": _STATUS == "valid",
    "unlabelled": _LABEL.is_null(),
    "truncated": pl.col("truncated"),
    "looping": pl.col("looping"),
    "flipped": pl.col("labels") > 1,
}
"""What ``is:`` asks for."""

COMPARED: Mapping[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    ":": operator.eq,
    "=": operator.eq,
    "!=": operator.ne,
}
"""What a term's operator does with a number."""


SHARES: Mapping[str, pl.Expr] = {
    "agreement": pl.col("_most") / pl.col("_labelled"),
    "instability": (pl.col("_labelled") - pl.col("_most")) / pl.col("_labelled"),
    "accuracy": pl.when("_has_gold").then(pl.col("_right") / pl.col("_answered")),
    "valid": pl.col("_labelled") / pl.col("_answered"),
}
"""An item's shares from these numbers; no number where they are of nothing."""


MARKS = ("mark", "by", "marked")
"""What is marked in an item: kinds of marks, who, labels."""

_OF_MARKS = "marks: "
_MARK = pl.col(f"{_OF_MARKS}mark")


def numbers_of(index: Index, evaluator: int) -> pl.DataFrame:
    """The numbers of every item, in the order of the items.

    ``modal`` is its most frequent label, of several the first in the alphabet. Of ``_answered`` answers
    ``_labelled`` have a label, ``_most`` have that one, ``_right`` the gold label.
    """
    answers = index.annotations(evaluator)
    named = answers.with_columns(
        label=pick(index.design.legend["label"], "legend"), gold=pick(index.gold, "row")
    )
    n, known = pl.col("n"), _LABEL.is_not_null()
    counts = named.group_by("row", "label").agg(n=pl.len(), gold=_GOLD.first())
    most = n.filter(known).max()
    sums = {"labels": known.sum(), "_most": most.fill_null(0), "_labelled": n.filter(known).sum()}
    sums |= {"_answered": n.sum(), "_right": n.filter(_LABEL == _GOLD).sum()}
    of_items = counts.group_by("row").agg(
        modal=_LABEL.filter(known & (n == most)).min(), _has_gold=_GOLD.is_not_null().any(), **sums
    )
    rows = pl.DataFrame({"row": range(index.design.items)}, schema={"row": pl.UInt32}).hstack([index.gold])
    numbers = rows.join(index.collected(of_items), on="row", how="left", maintain_order="left")
    shares = {name: share.fill_nan(None) for name, share in SHARES.items()}
    return numbers.with_columns(pl.col(*sums).fill_null(0).cast(pl.UInt32)).with_columns(**shares)


class Scope:
    """Where a query is asked.

    Args:
        index: The study's.
        evaluator: The number of the evaluator whose readings are meant.
        numbers: What ``numbers_of`` says of every item.
        marks: What is marked (``MARKS``), a row an item.
    """

    def __init__(self, index: Index, evaluator: int, numbers: pl.DataFrame, marks: pl.DataFrame) -> None:
        self.index, self.evaluator, self.numbers, self._design = index, evaluator, numbers, index.design
        design, columns = index.design, index.design.columns_frame
        items = index.items.hstack(numbers.select("gold", "modal", "labels", *SHARES))
        items = items.hstack(marks.select(pl.all().name.prefix(_OF_MARKS)))
        self._tables = {"row": items, "column": columns, "legend": design.legend}
        self._own = [*dict.fromkeys((*columns.columns[4:], *design.groups))]
        original = pl.col("prompt") == (design.prompts[0] if design.prompts else "")
        kinds = ("agree", "disagree", "unclear")
        self._choices: dict[str, Mapping[str, Callable[[Value], pl.Expr] | pl.Expr]] = {
            "is": {**IS, "original": original, "marked": _MARK.is_not_null(), "drawn": self._drawn},
            "mark": {kind: _MARK.list.contains(kind) for kind in kinds},
        }
        text, lower = pl.element(), pl.element().str.to_lowercase()
        self._values: dict[str, Callable[[Value], pl.Expr]] = {
            "no": self._absent,
            "item": self._item,
            "answer": self._answer,
            "text": self._text,
            "marked": lambda value: self._any("marked", text.is_in(self._fitting("marked", value))),
            "by": lambda value: self._any("by", lower == value.text.lower()),
        }

    @property
    def answers(self) -> pl.LazyFrame:
        """The answers, with all that an expression of a query may name."""
        return self.index.annotations(self.evaluator).with_columns(
            *(pick(values, "legend").alias(values.name) for values in self._design.legend),
            *(pick(self.numbers[name], "row").alias(name) for name in ("gold", "modal")),
        )

    def condition(self, line: str) -> pl.Expr:
        """What a query line asks for, as one expression; an empty line asks for everything."""
        whole, parts, index = pl.lit(True), 0, 0
        while match := _TERM.match(line, index):
            parts, index = parts + 1, match.end()
            if len(line) > _LONGEST or parts > _MOST_PARTS:
                most = f"{_LONGEST:,} characters and {_MOST_PARTS} conditions at most"
                raise QueryError("the query is too long", (0, len(line)), expected=most)
            if match["op"]:
                values, index = _values_at(line, index)
                field = _value(match["field"], match.span("field")).text
                holds = self._term(field, match["op"], values, (match.start("field"), index))
            else:
                holds = self._words(_value(match["words"], match.span("words")))
            whole = ~holds & whole if match["minus"] else holds & whole
        return whole

    def level_of(self, name: str) -> str:
        """What has a field: a row, a column, a legend code, or else each answer."""
        return next((level for level, table in self._tables.items() if name in table.columns), "cell")

    def column(self, name: str) -> pl.Series:
        """The values of a field, a row or column or code each."""
        table = self._tables.get(self.level_of(name))
        return pl.Series(dtype=pl.String) if table is None else table[name].cast(pl.String)

    def _name_of(self, name: str) -> str | None:
        """A field; a factor or group as it is written, or else in any case of letters."""
        common = name.lower()
        if common in FIELDS:
            return common
        return name if name in self._own else next((own for own in self._own if own.lower() == common), None)

    def _where(self, test: pl.Expr) -> pl.Expr:
        """An expression over columns, which is computed once for each row of a table that has them."""
        names, test = {*test.meta.root_names()}, test.fill_null(False)
        for key, table in self._tables.items():
            if names <= {*table.columns}:
                return pick(table.select(test).to_series(), key)
        return test

    def _term(self, field: str, op: str, values: Sequence[Value], at: Place) -> pl.Expr:
        """The condition that a field has one of some values."""
        if not values:
            raise QueryError(f"nothing stands after {field}{op}", at, expected="a value")
        name = self._name_of(field)
        if name is None:
            raise _unknown(field, [*FIELDS, *self._own], "field", (at[0], at[0] + len(field)))
        if name in NUMBERS:
            tests = [COMPARED[op](pl.col(name), _number_in(value, name)) for value in values]
            return self._where(reduce(operator.and_ if op == "!=" else operator.or_, tests))
        if op not in (":", "=", "!="):
            raise QueryError(f"{name} is not a number", at, expected=f"{name}:VALUE", found=op)
        test = reduce(operator.or_, [self._value(name, value) for value in values])
        return ~test if op == "!=" else test

    def _value(self, name: str, value: Value) -> pl.Expr:
        """The condition that a field has a value."""
        if choices := self._choices.get(name):
            if (choice := choices.get(value.text.lower())) is None:
                raise _unknown(value.text, choices, f"value of {name}", value.at)
            return self._where(choice) if isinstance(choice, pl.Expr) else choice(value)
        if name in self._values:
            return self._values[name](value)
        return self._where(pl.col(name).cast(pl.String).is_in(self._fitting(name, value)))

    def _fitting(self, name: str, value: Value) -> list[str]:
        """The values of a field that a query means: as it is written, or else in any case of letters.

        A label may be called by its name, and a prompt by its short one.
        """
        labels = self._design.labels.labels if name in _OF_LABELS else ()
        known = [label.code for label in labels] or self.column(name).drop_nulls().unique(maintain_order=True)
        forms = [*((one, one) for one in known), *((label.name, label.code) for label in labels)]
        forms += [(short_name(one), one) for one in known if name == "prompt"]
        wanted = value.text.lower()
        if value.open:
            found = [one for form, one in forms if form.lower().startswith(wanted)]
        else:
            found = [one for form, one in forms if form == value.text]
            found = found[:1] or [one for form, one in forms if form.lower() == wanted]
        if not found:
            what = "label" if name == "marked" else name
            raise _unknown(value.text, dict.fromkeys(form for form, _ in forms), what, value.at)
        return found

    def _absent(self, value: Value) -> pl.Expr:
        name = self._name_of(value.text)
        if name is None or (name in FIELDS and name not in _ABSENT):
            raise _unknown(value.text, [*_ABSENT, *self._own], "field that may be absent", value.at)
        return self._where(pl.col(f"{_OF_MARKS}mark" if name == "mark" else name).is_null())

    def _item(self, value: Value) -> pl.Expr:
        item = pl.col("item")
        return self._where(item.str.starts_with(value.text) if value.open else item == value.text)

    def _words(self, value: Value) -> pl.Expr:
        """Items or answers that contain a text."""
        holds = self._where(pl.col("item").str.contains(value.text, literal=True))
        if self._design.has["texts"]:
            holds |= self._text(value)
        return holds | self._answer(value) if self._design.has["answers"] else holds

    def _any(self, name: str, holds: pl.Expr) -> pl.Expr:
        """Items with a mark of which something holds."""
        return self._where(pl.col(_OF_MARKS + name).list.eval(holds).list.any())

    def _text(self, value: Value) -> pl.Expr:
        if not self._design.has["texts"]:
            raise QueryError("the items' texts are not here", value.at)
        items = pl.scan_parquet(self.index.folder / "items.parquet")
        return pick(self.index.collected(items.select(contains(value.text))).to_series(), "row")

    def _answer(self, value: Value) -> pl.Expr:
        """Answers whose text contains a text."""
        numbers = holding(self.index, contains(value.text))
        return pl.col("response").is_in(numbers.implode()).fill_null(False)

    def _drawn(self, value: Value) -> pl.Expr:
        draw = gold_beside(Path(self._design.folder)).state().draw
        if draw is None:
            raise QueryError("no gold sample has been drawn", value.at)
        drawn = draw.filter("drawn")["item"].cast(pl.String)
        return self._where(pl.col("item").is_in(drawn.implode()))


def contains(wanted: str) -> pl.Expr:
    """Whether a text contains another, without the difference between capital and small letters."""
    text, folded = pl.col("text").str.to_lowercase(), wanted.casefold()
    if "ss" in folded:
        text = text.str.replace_all("ß", "ss", literal=True)
    return text.str.contains(folded, literal=True).fill_null(False)


def pick(values: pl.Series, key: str) -> pl.Expr:
    """The values of a small table, where a column of a frame has their places; null where it has none."""
    return pl.lit(values).gather(pl.col(key), null_on_oob=True)


def _unknown(text: str, known: Iterable[str], what: str, at: Place) -> QueryError:
    """The error about a name that nothing has, with the nearest name that something has."""
    names = list(known)
    near = nearest(text, names)
    return QueryError(
        f"no {what} is named {text!r}",
        at,
        expected=", ".join(names[:12]) + (" …" if len(names) > 12 else ""),
        found=text,
        fix=f"did you mean {near!r}?" if near else None,
    )


def _number_in(value: Value, field: str) -> float:
    """A number; ``40%`` is 0.4."""
    text = value.text.removesuffix("%")
    try:
        return float(text) / (100 if text != value.text else 1)
    except ValueError:
        raise QueryError(
            f"{field} is compared with numbers", value.at, expected="a number", found=value.text
        ) from None
