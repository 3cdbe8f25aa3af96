"""What a query may ask for: a table of named polars expressions over annotations, and how a line becomes one.

The same line is asked of the viewer's index and, in a notebook, of ``study.annotations()``:

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 1, 1], "label": ["a", "a", "b"], "status": ["valid"] * 3})
    >>> matching(frame, "is:flip")["label"].to_list()
    ['b']

The field ``no`` alone asks for what is absent: ``no:label``, ``no:gold``, ``no:side``. So a value is always a
name, whatever that name is.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from typing import Any

import polars as pl

from quaver.core.number_format import short_name
from quaver.core.records import LabelSet
from quaver.errors import nearest
from quaver.view.query_language import QueryError, Term, Value, condition

FIELDS = (
    *("label", "status", "confidence", "answer", "thinking", "length", "is", "no", "model"),
    *("prompt", "decoding", "repeat", "item", "gold", "text", "modal", "instability", "agreement"),
    *("accuracy", "labels", "valid", "flipped", "mark", "marked", "by", "note", "evaluators"),
)
"""The fields that every study has."""

NUMBERS = ("confidence", "length", "repeat", "instability", "agreement", "accuracy", "labels", "valid")
"""The fields that are compared with numbers."""

_ABSENT = (
    "label",
    "gold",
    "modal",
    "mark",
    "confidence",
    "instability",
    "agreement",
    "accuracy",
    "labels",
    "valid",
)
"""The fields that may be absent; factors and groups may be too."""

_OF_LABELS = ("label", "gold", "modal", "marked")
"""The fields whose values are labels."""

_LABEL, _GOLD, _MODAL, _STATUS = map(pl.col, ("label", "gold", "modal", "status"))
_THERE = _STATUS != "missing"

IS: Mapping[str, pl.Expr] = {
    "right": _LABEL == _GOLD,
    "wrong": _THERE & _GOLD.is_not_null() & _LABEL.ne_missing(_GOLD),
    "flip": _LABEL != _MODAL,
    "modal": _LABEL == _MODAL,
    "error": _STATUS == "error",
    "valid": _STATUS == "valid",
    "unlabelled": _THERE & _LABEL.is_null(),
    "truncated": pl.col("truncated"),
    "looping": pl.col("looping"),
    "answered": _THERE,
    "missing": _STATUS == "missing",
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


def item_numbers(answers: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """An item's most frequent label (of several the first in the alphabet), and its answers in numbers.

    Of ``_answered`` answers ``_labelled`` have a label, ``_most`` have that one, ``_right`` the gold label.
    """
    n, known = pl.col("n"), _LABEL.is_not_null()
    counts = answers.group_by(*keys, "label").agg(n=pl.len(), gold=_GOLD.first())
    most = n.filter(known).max()
    return counts.group_by(*keys).agg(
        modal=_LABEL.filter(known & (n == most)).min(),
        labels=known.sum(),
        _most=most.fill_null(0),
        _labelled=n.filter(known).sum(),
        _answered=n.sum(),
        _right=n.filter(_LABEL == _GOLD).sum(),
        _has_gold=_GOLD.is_not_null().any(),
    )


SHARES: Mapping[str, pl.Expr] = {
    "agreement": pl.col("_most") / pl.col("_labelled"),
    "instability": (pl.col("_labelled") - pl.col("_most")) / pl.col("_labelled"),
    "accuracy": pl.when("_has_gold").then(pl.col("_right") / pl.col("_answered")),
    "valid": pl.col("_labelled") / pl.col("_answered"),
}
"""An item's shares from these numbers; no number where they are of nothing."""


def unknown_in(text: str, known: Iterable[str], what: str, at: tuple[int, int]) -> QueryError:
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


def pick(values: pl.Series, key: str) -> pl.Expr:
    """The values of a small table, where a column of a frame has their places; null where it has none."""
    return pl.lit(values).gather(pl.col(key), null_on_oob=True)


class Fields:
    """The fields of annotations.

    Args:
        tables: What the annotations have the places of, by the column with the places: a frame of items, of
            columns, of labels. What is true of all is the table ``cell``: the annotations themselves.
        labels: The label set; without one, a label is what occurs.
        own: The columns that are this study's: groups and factors.

    Attributes:
        of_missing: Whether a condition may be about calls that are not answered.
    """

    def __init__(
        self, tables: Mapping[str, pl.DataFrame], labels: LabelSet | None, own: Sequence[str]
    ) -> None:
        self.tables, self.labels, self.own, self.of_missing = tables, labels, own, False
        self.choices: dict[str, Mapping[str, Callable[[Value], pl.Expr] | pl.Expr]] = {"is": IS}
        self.values: dict[str, Callable[[Value], pl.Expr]] = {"no": self._absent, "item": self._item}

    def condition(self, line: str) -> pl.Expr:
        """What a query line asks for, as one expression."""
        return condition(line, self.term, self.words)

    def words(self, value: Value) -> pl.Expr:
        """Items or answers that contain a text."""
        return self.where(pl.col("item").cast(pl.String).str.contains(value.text, literal=True))

    def names(self) -> list[str]:
        """Every field that a query may name."""
        return [*FIELDS, *dict.fromkeys(self.own)]

    def name_of(self, name: str) -> str | None:
        """A field; a factor or group as it is written, or else in any case of letters."""
        common = name.lower()
        if common in FIELDS:
            return common
        return name if name in self.own else next((own for own in self.own if own.lower() == common), None)

    def where(self, test: pl.Expr) -> pl.Expr:
        """An expression over columns, which is computed once for each row of a table that has them."""
        names, test = {*test.meta.root_names()}, test.fill_null(False)
        for key, table in self.tables.items():
            if key != "cell" and names <= {*table.columns}:
                holds = table.select(test).to_series()
                self.of_missing |= key == "legend" and bool(holds[0])
                return pick(holds, key)
        return test

    def level_of(self, name: str) -> str:
        """The level that has a column."""
        return next((level for level, table in self.tables.items() if name in table.columns), "cell")

    def term(self, term: Term) -> pl.Expr:
        """The condition of a term."""
        name = self.name_of(term.field)
        if name is None:
            raise unknown_in(term.field, self.names(), "field", (term.at[0], term.at[0] + len(term.field)))
        if name in NUMBERS:
            tests = [COMPARED[term.op](pl.col(name), _number_in(value, name)) for value in term.values]
            return self.where(reduce(operator.and_ if term.op == "!=" else operator.or_, tests))
        if term.op not in (":", "=", "!="):
            raise QueryError(f"{name} is not a number", term.at, expected=f"{name}:VALUE", found=term.op)
        test = reduce(operator.or_, [self.value(name, value) for value in term.values])
        return ~test if term.op == "!=" else test

    def value(self, name: str, value: Value) -> pl.Expr:
        """The condition that a field has a value."""
        if choices := self.choices.get(name):
            if (choice := choices.get(value.text.lower())) is None:
                raise unknown_in(value.text, choices, f"value of {name}", value.at)
            return self.where(choice) if isinstance(choice, pl.Expr) else choice(value)
        if name in self.values:
            return self.values[name](value)
        return self.where(pl.col(name).cast(pl.String).is_in(list(self.fitting(name, value))))

    def column(self, name: str) -> pl.Series:
        """The values of a field, a row or column or code each."""
        table = self.tables.get(self.level_of(name))
        return pl.Series(dtype=pl.String) if table is None else table[name].cast(pl.String)

    def forms(self, name: str) -> dict[str, set[str]]:
        """How a query may write the values of a field: also labels by name, prompts in short."""
        if name in _OF_LABELS and self.labels is not None:
            forms = {code: {code} for code in self.labels.codes}
            for label in self.labels.labels:
                if label.name not in self.labels.codes:
                    forms.setdefault(label.name, set()).add(label.code)
            return forms
        known = self.column(name).drop_nulls().unique(maintain_order=True).to_list()
        forms = {value: {value} for value in known}
        for value in known if name == "prompt" else ():
            forms.setdefault(short_name(value), set()).add(value)
        return forms

    def fitting(self, name: str, value: Value) -> set[str]:
        """The values that a query means: of the form as it is, or else in any case of letters."""
        forms = self.forms(name)
        if value.text in forms and not value.open:
            return forms[value.text]
        wanted, result = value.text.lower(), set[str]()
        for form, values in forms.items():
            if form.lower().startswith(wanted) if value.open else form.lower() == wanted:
                result |= values
        if not result:
            raise unknown_in(value.text, forms, "label" if name == "marked" else name, value.at)
        return result

    def _may_be_absent(self) -> list[str]:
        return [*_ABSENT, *self.names()[len(FIELDS) :]]

    def _absent(self, value: Value) -> pl.Expr:
        name = self.name_of(value.text)
        if name is None or (name in FIELDS and name not in _ABSENT):
            raise unknown_in(value.text, self._may_be_absent(), "field that may be absent", value.at)
        absent = pl.col(name).is_null()
        return self.where(absent & _THERE if name == "label" else absent)

    def _item(self, value: Value) -> pl.Expr:
        item = pl.col("item").cast(pl.String)
        return self.where(item.str.starts_with(value.text) if value.open else item == value.text)


def _number_in(value: Value, field: str) -> float:
    """A number; ``40%`` is 0.4."""
    text = value.text.removesuffix("%")
    try:
        return float(text) / (100 if text != value.text else 1)
    except ValueError:
        raise QueryError(
            f"{field} is compared with numbers", value.at, expected="a number", found=value.text
        ) from None


def matching(annotations: pl.DataFrame, query: str) -> pl.DataFrame:
    """The annotations that a query line of the viewer finds.

    Args:
        annotations: The annotation frame, or some rows of it. Items are counted by evaluator and field.
        query: The line as it stands above the viewer's grid; what only the viewer knows, such as marks and
            the texts of answers, it cannot ask for.
    """
    names = dict.fromkeys(("label", "gold", "status"), pl.lit(None, pl.String))
    frame = annotations.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
    frame = frame.with_columns(**{name: value for name, value in names.items() if name not in frame.columns})
    if "variant" in frame.columns:
        frame = frame.with_columns(prompt="variant")
    keys = [name for name in ("field", "evaluator", "item") if name in frame.columns]
    numbers = item_numbers(frame.lazy(), keys).with_columns(**SHARES).drop("^_.*$").collect()
    known = frame.join(numbers, on=keys, how="left", maintain_order="left")
    own = [name for name in annotations.columns if name.lower() not in FIELDS]
    holds = Fields({"cell": known}, None, own).condition(query).alias("_holds")
    return annotations.filter(known.with_columns(holds)["_holds"])
