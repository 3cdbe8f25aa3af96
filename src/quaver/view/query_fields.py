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
from typing import Any, NamedTuple

import polars as pl

from quaver.core.number_format import short_name
from quaver.core.records import LabelSet
from quaver.errors import nearest
from quaver.view.query_language import Both, Either, Negated, Query, QueryError, Term, Value, Words, parsed

FIELDS = {
    "label": "the label that was read",
    "status": "whether the answer has a label, and why not",
    "confidence": "how sure the model was, from 0 to 1",
    "answer": "a text in the answer",
    "thinking": "a text in the thinking",
    "length": "characters of the answer",
    "is": "right, wrong, flip, unlabelled, …",
    "no": "what is absent: label, gold, mark, …",
    "model": "the model that answered",
    "prompt": "the prompt that was sent",
    "decoding": "how the answer was drawn",
    "repeat": "which time it was asked, from 0",
    "item": "the item's id",
    "gold": "the item's gold label",
    "text": "a text in the item",
    "modal": "the item's most frequent label",
    "instability": "share of the item's labels that differ from the most frequent one",
    "agreement": "share of the item's labels that are the most frequent one",
    "accuracy": "share of the item's answers that are right",
    "labels": "how many labels the item got",
    "valid": "share of the item's answers with a label",
    "flipped": 'the label differs between A and B: flipped:"A~B"',
    "mark": "agree, disagree or unclear",
    "marked": "the label that somebody gave",
    "by": "who marked it",
    "note": "a text in a note",
    "evaluators": "differ: not all ways of reading the answer give this label",
}
"""The fields that every study has, and what they mean."""

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


class Condition(NamedTuple):
    """What must hold.

    Attributes:
        level: What it is about: a ``row``, a ``column`` or a ``legend`` code, of which ``test`` says where it
            holds; or a ``cell``, of which it is an expression.
        test: Where it holds.
        of_missing: Whether it may be about calls that are not answered.
    """

    level: str
    test: Any
    of_missing: bool = False

    @property
    def of_answers(self) -> pl.Expr:
        """The same as an expression over answers."""
        if self.level == "cell":
            return self.test  # type: ignore[no-any-return]
        return pl.lit(self.test).gather(pl.col(self.level))

    def negated(self) -> Condition:
        """The opposite."""
        return self._replace(test=~self.test)


def joined(parts: Sequence[Condition], join: Callable[[Any, Any], Any]) -> Condition:
    """All of some conditions, or one of them."""
    levels = {part.level for part in parts}
    tests = [part.test if len(levels) == 1 else part.of_answers for part in parts]
    level = levels.pop() if len(levels) == 1 else "cell"
    return Condition(level, reduce(join, tests), any(part.of_missing for part in parts))


class Option(NamedTuple):
    """A value that a query may name, as the page shows it, and how many items have it where that is known."""

    text: str
    shown: str
    means: str | None = None
    n: int | None = None


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


class Fields:
    """The fields of annotations.

    Args:
        tables: Frames by level, in the order in which a column is looked for.
        labels: The label set; without one, a label is what occurs.
        own: The columns that are this study's: groups and factors.
    """

    def __init__(
        self, tables: Mapping[str, pl.DataFrame], labels: LabelSet | None, own: Sequence[str]
    ) -> None:
        self.tables, self.labels, self.own = tables, labels, own
        self.choices: dict[str, Mapping[str, Callable[[Value], Condition]]] = {}
        self.values: dict[str, Callable[[Value], Condition]] = {"no": self._absent, "item": self._item}

    def condition(self, query: Query) -> Condition:
        """What a query asks for."""
        if isinstance(query, Both | Either):
            parts = [self.condition(part) for part in query.parts]
            return (
                joined(parts, operator.and_ if isinstance(query, Both) else operator.or_)
                if parts
                else self.all()
            )
        if isinstance(query, Negated):
            return self.condition(query.part).negated()
        return self.words(query) if isinstance(query, Words) else self.term(query)

    def all(self) -> Condition:
        """Everything."""
        level, table = next(iter(self.tables.items()))
        return Condition(level, pl.repeat(True, table.height, eager=True))

    def words(self, words: Words) -> Condition:
        """Items or answers that contain a text."""
        return self.where(pl.col("item").cast(pl.String).str.contains(words.text, literal=True))

    def names(self) -> list[str]:
        """Every field that a query may name."""
        return [*FIELDS, *dict.fromkeys(self.own)]

    def name_of(self, name: str) -> str | None:
        """A field; a factor or group as it is written, or else in any case of letters."""
        common = name.lower()
        if common in FIELDS:
            return common
        return name if name in self.own else next((own for own in self.own if own.lower() == common), None)

    def where(self, test: pl.Expr) -> Condition:
        """Where an expression over columns holds, on the first level that has them."""
        names, test = {*test.meta.root_names()}, test.fill_null(False)
        for level, table in self.tables.items():
            if level != "cell" and names <= {*table.columns}:
                holds = table.select(test).to_series()
                return Condition(level, holds, level == "legend" and bool(holds[0]))
        return Condition("cell", test)

    def level_of(self, name: str) -> str:
        """The level that has a column."""
        return next((level for level, table in self.tables.items() if name in table.columns), "cell")

    def term(self, term: Term) -> Condition:
        """The condition of a term."""
        name = self.name_of(term.field)
        if name is None:
            raise unknown_in(term.field, self.names(), "field", (term.at[0], term.at[0] + len(term.field)))
        if name in NUMBERS:
            tests = [COMPARED[term.op](pl.col(name), _number_in(value, name)) for value in term.values]
            return self.where(reduce(operator.and_ if term.op == "!=" else operator.or_, tests))
        if term.op not in (":", "=", "!="):
            raise QueryError(f"{name} is not a number", term.at, expected=f"{name}:VALUE", found=term.op)
        condition = joined([self.value(name, value) for value in term.values], operator.or_)
        return condition.negated() if term.op == "!=" else condition

    def value(self, name: str, value: Value) -> Condition:
        """The condition that a field has a value."""
        if name == "is" or name in self.choices:
            expressions = IS if name == "is" else {}
            choices = self.choices.get(name, {})
            if (word := value.text.lower()) not in {**expressions, **choices}:
                raise unknown_in(value.text, self.words_of(name), f"value of {name}", value.at)
            return choices[word](value) if word in choices else self.where(expressions[word])
        if name in self.values:
            return self.values[name](value)
        return self.where(pl.col(name).cast(pl.String).is_in(list(self.fitting(name, value))))

    def words_of(self, name: str) -> list[str]:
        """The words that a field of choices has."""
        return [*(IS if name == "is" else ()), *self.choices.get(name, ())]

    def column(self, name: str) -> pl.Series:
        """The values of a field, a row or column or code each."""
        table = self.tables.get(self.level_of(name))
        return pl.Series(dtype=pl.String) if table is None else table[name].cast(pl.String)

    def forms(self, name: str) -> dict[str, set[str]]:
        """How a query may write the values of a field: also labels by name, prompts in short."""
        if name in ("label", "gold", "modal", "marked") and self.labels is not None:
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

    def options(self, name: str) -> list[Option]:
        """The values of a field that a query line is completed with."""
        if name in ("is", "mark", "evaluators"):
            return [Option(word, word) for word in self.words_of(name)]
        if name == "no":
            return [Option(field, field) for field in self._may_be_absent()]
        if name in NUMBERS or (name in self.values and name not in ("flipped", "marked")):
            return []
        if name in ("prompt", "flipped"):
            known = self.column("prompt").unique(maintain_order=True)
            return [Option(value, short_name(value), value) for value in known]
        titles = (
            {label.code: label.name for label in self.labels.labels if label.name != label.code}
            if self.labels
            else {}
        )
        of_labels = name in ("label", "gold", "modal", "marked")
        counts: dict[Any, int] = {}
        if self.level_of(name) == "row" and name != "marked":
            counts = dict(self.column(name).value_counts().iter_rows())
        values = (
            list(self.labels.codes)
            if of_labels and self.labels
            else list(dict.fromkeys(self.column(name).drop_nulls()))
        )
        return [
            Option(
                value,
                value or '""',
                titles.get(value) if of_labels else None,
                counts.get(value, 0) if counts else None,
            )
            for value in values
        ]

    def _may_be_absent(self) -> list[str]:
        return [*_ABSENT, *self.names()[len(FIELDS) :]]

    def _absent(self, value: Value) -> Condition:
        name = self.name_of(value.text)
        if name is None or (name in FIELDS and name not in _ABSENT):
            raise unknown_in(value.text, self._may_be_absent(), "field that may be absent", value.at)
        absent = pl.col(name).is_null()
        return self.where(absent & _THERE if name == "label" else absent)

    def _item(self, value: Value) -> Condition:
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
    return annotations.filter(
        known.select(Fields({"cell": known}, None, own).condition(parsed(query)).of_answers).to_series()
    )
