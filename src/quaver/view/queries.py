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
from quaver.view.snapshot import Snapshot
from quaver.view.stored_answers import answers_with

_MOST_PARTS, _LONGEST = 500, 10_000
_QUOTED = r'"(?:[^"\\]|\\.)*"?'
_VALUE = rf'{_QUOTED}|[^\s,"]+'
_TERM = re.compile(
    rf"""\s*(?P<minus>-(?=[^\s]))?
    (?: (?P<field>{_QUOTED}|[^\s":=<>!,-][^\s":=<>!,]*)(?P<op>!=|<=|>=|[:=<>])
        (?P<values>(?:(?:{_VALUE})(?:,(?:{_VALUE}))*,?)?)
    | (?P<words>{_QUOTED}|[^\s"]+) )""",
    re.VERBOSE,
)


class QueryError(QuaverError):
    """A query line that cannot be read."""

    def __init__(self, problem: str, **parts: str | None) -> None:
        super().__init__(problem, where="query", **parts)


class Value(NamedTuple):
    """A value of a term.

    Attributes:
        text: What it says, without quotes and without the ``*``.
        open: Whether ``*`` stands at its end.
    """

    text: str
    open: bool = False


def _value(written: str, *, may_be_open: bool = False) -> Value:
    """A value as it was written, with or without quotes."""
    if not written.startswith('"'):
        is_open = may_be_open and written.endswith("*") and len(written) > 1
        return Value(written[:-1] if is_open else written, is_open)
    if not re.fullmatch(r'"(?:[^"\\]|\\.)*"', written):
        raise QueryError("a quotation is not closed", expected='"', found=written)
    return Value(re.sub(r"\\(.)", r"\1", written[1:-1]))


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
    "invented": pl.col("invented"),
    "other-reason": pl.col("other_reason"),
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
    "accuracy": pl.when(_GOLD.is_not_null()).then(pl.col("_right") / pl.col("_answered")),
    "valid": pl.col("_labelled") / pl.col("_answered"),
}
"""An item's shares from its numbers; no number where they are of nothing."""


MARKS = ("mark", "by", "marked")
"""What is marked in an item: kinds of marks, who, labels."""

_OF_MARKS = "marks: "
_MARK = pl.col(f"{_OF_MARKS}mark")
KINDS = ("agree", "disagree", "unclear")
"""What a mark may say of an answer."""


def numbers_of(snapshot: Snapshot, evaluator: int) -> pl.DataFrame:
    """The numbers of every item, in the order of the items.

    ``modal`` is its most frequent label, of several the first in the alphabet. Of ``_answered`` answers
    ``_labelled`` have a label, ``_most`` have that one, ``_right`` the gold label.
    """
    counts = snapshot.annotations(evaluator).group_by("row", "legend").agg(n=pl.len())
    labels = snapshot.design.legend["label"]
    named = counts.with_columns(label=pick(labels, "legend"), gold=pick(snapshot.gold, "row"))
    n, known = pl.col("n"), _LABEL.is_not_null()
    most = n.filter(known).max()
    sums = {"labels": known.sum(), "_most": most.fill_null(0), "_labelled": n.filter(known).sum()}
    sums |= {"_answered": n.sum(), "_right": n.filter(_LABEL == _GOLD).sum()}
    of_items = named.group_by("row").agg(modal=_LABEL.filter(known & (n == most)).min(), **sums)
    rows = snapshot.gold.to_frame().with_row_index("row")
    numbers = rows.join(of_items.collect(), on="row", how="left", maintain_order="left")
    shares = {name: share.fill_nan(None) for name, share in SHARES.items()}
    return numbers.with_columns(pl.col(*sums).fill_null(0).cast(pl.UInt32)).with_columns(**shares)


class Scope:
    """Where a query is asked.

    Args:
        snapshot: The study.
        evaluator: The number of the evaluator whose readings are meant.
        numbers: What ``numbers_of`` says of every item.
        marks: What is marked (``MARKS``), a row an item.
    """

    def __init__(
        self, snapshot: Snapshot, evaluator: int, numbers: pl.DataFrame, marks: pl.DataFrame
    ) -> None:
        self.snapshot, self.evaluator, self.numbers = snapshot, evaluator, numbers
        self._design = snapshot.design
        columns = snapshot.design.columns_frame
        items = snapshot.items.hstack(numbers.select("gold", "modal", "labels", *SHARES))
        items = items.hstack(marks.select(pl.all().name.prefix(_OF_MARKS)))
        self._tables = {"row": items, "column": columns, "legend": snapshot.design.legend}
        self._own = [*dict.fromkeys((*columns.columns[4:], *snapshot.groups))]
        self._tests: Mapping[str, Callable[[Value], pl.Expr]] = {
            "is": self._is,
            "no": self._absent,
            "item": self._item,
            "text": self._text,
            "answer": self._answer,
            "mark": self._marked_so,
            "marked": self._labelled_so,
            "by": self._marked_by,
        }

    @property
    def answers(self) -> pl.LazyFrame:
        """The answers, with all that an expression of a query may name."""
        return self.snapshot.annotations(self.evaluator).with_columns(
            *(pick(values, "legend").alias(values.name) for values in self._design.legend),
            *(pick(self.numbers[name], "row").alias(name) for name in ("gold", "modal")),
        )

    def condition(self, line: str) -> pl.Expr:
        """What a query line asks for, as one expression; an empty line asks for everything."""
        terms = [*_TERM.finditer(line)]
        if len(line) > _LONGEST or len(terms) > _MOST_PARTS:
            most = f"{_LONGEST:,} characters and {_MOST_PARTS} conditions at most"
            raise QueryError("the query is too long", expected=most)
        whole = pl.lit(True)
        for term in terms:
            if term["op"]:
                values = [_value(value, may_be_open=True) for value in re.findall(_VALUE, term["values"])]
                holds = self._term(_value(term["field"]).text, term["op"], values)
            else:
                holds = self._words(_value(term["words"]))
            whole = ~holds & whole if term["minus"] else holds & whole
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

    def _term(self, field: str, op: str, values: Sequence[Value]) -> pl.Expr:
        """The condition that a field has one of some values."""
        if not values:
            raise QueryError(f"nothing stands after {field}{op}", expected="a value")
        name = self._name_of(field)
        if name is None:
            raise _unknown(field, [*FIELDS, *self._own], "field")
        if name in NUMBERS:
            tests: Sequence[pl.Expr] = [self._compared(name, op, _number_in(value, name)) for value in values]
            return reduce(operator.and_ if op == "!=" else operator.or_, tests)
        if op not in (":", "=", "!="):
            raise QueryError(f"{name} is not a number", expected=f"{name}:VALUE", found=op)
        has = self._tests.get(name, lambda value: self._where(self._equal(pl.col(name), name, value)))
        test: pl.Expr = reduce(operator.or_, map(has, values))
        return ~test if op == "!=" else test

    def _compared(self, name: str, op: str, number: float) -> pl.Expr:
        """The condition that a field of numbers compares so with a number."""
        compared = COMPARED[op]
        if name == "length":
            return self._among(answers_with(self.snapshot, lambda text: compared(len(text), number)))
        test: pl.Expr = compared(pl.col(name), number)
        return self._where(test)

    def _equal(self, column: pl.Expr, name: str, value: Value) -> pl.Expr:
        """The condition that a column has a value: as it is written, or else in any case of letters.

        A label may be called by its name, and a prompt by its short one.
        """
        labels = self._design.labels.labels if name in _OF_LABELS else ()
        known = [label.code for label in labels] or self.column(name).drop_nulls().unique(maintain_order=True)
        forms = [*((code, code) for code in known), *((label.name, label.code) for label in labels)]
        forms += [(short_name(code), code) for code in known if name == "prompt"]
        wanted = value.text.lower()
        if value.open:
            matching = [code for form, code in forms if form.lower().startswith(wanted)]
        else:
            matching = [code for form, code in forms if form == value.text]
            matching = matching[:1] or [code for form, code in forms if form.lower() == wanted]
        if not matching:
            raise _unknown(value.text, dict.fromkeys(form for form, _ in forms), name)
        return column.cast(pl.String).is_in(matching)

    def _is(self, value: Value) -> pl.Expr:
        """What ``is:`` asks for."""
        word = value.text.lower()
        if word == "drawn":
            return self._drawn()
        original = pl.col("prompt") == (self._design.prompts[0] if self._design.prompts else "")
        choices = {**IS, "original": original, "marked": _MARK.is_not_null()}
        if word not in choices:
            raise _unknown(value.text, [*choices, "drawn"], "value of is")
        return self._where(choices[word])

    def _absent(self, value: Value) -> pl.Expr:
        """Answers or items that lack what ``no:`` names."""
        name = self._name_of(value.text)
        if name is None or (name in FIELDS and name not in _ABSENT):
            raise _unknown(value.text, [*_ABSENT, *self._own], "field that may be absent")
        return self._where((_MARK if name == "mark" else pl.col(name)).is_null())

    def _item(self, value: Value) -> pl.Expr:
        item = pl.col("item")
        return self._where(item.str.starts_with(value.text) if value.open else item == value.text)

    def _words(self, value: Value) -> pl.Expr:
        """Items or answers that contain a text."""
        holds = self._where(pl.col("item").str.contains(value.text, literal=True))
        if self._design.has_texts:
            holds |= self._text(value)
        return holds | self._answer(value) if self._design.store else holds

    def _text(self, value: Value) -> pl.Expr:
        """Items that contain a text."""
        if not self._design.has_texts:
            raise QueryError("the items' texts are not here", found=value.text)
        return pick(self.snapshot.texts_with(contains(value.text)), "row")

    def _answer(self, value: Value) -> pl.Expr:
        """Answers that contain a text."""
        wanted = value.text.casefold()
        return self._among(answers_with(self.snapshot, lambda text: wanted in text.casefold()))

    def _among(self, cells: pl.Series) -> pl.Expr:
        """Answers that are among some, which are numbered row by row."""
        cell = pl.col("row").cast(pl.Int64) * self.snapshot.width + pl.col("column")
        return cell.is_in(cells.implode())

    def _marked_so(self, value: Value) -> pl.Expr:
        """Items with a mark of a kind."""
        kind = value.text.lower()
        if kind not in KINDS:
            raise _unknown(value.text, KINDS, "value of mark")
        return self._where(_MARK.list.contains(kind))

    def _labelled_so(self, value: Value) -> pl.Expr:
        """Items to which somebody gave a label."""
        return self._any("marked", self._equal(pl.element(), "marked", value))

    def _marked_by(self, value: Value) -> pl.Expr:
        """Items that somebody marked."""
        return self._any("by", pl.element().str.to_lowercase() == value.text.lower())

    def _any(self, name: str, holds: pl.Expr) -> pl.Expr:
        """Items with a mark of which something holds."""
        return self._where(pl.col(_OF_MARKS + name).list.eval(holds).list.any())

    def _drawn(self) -> pl.Expr:
        """Items of the gold sample."""
        drawn = gold_beside(Path(self._design.folder)).sample().drawn
        if not drawn:
            raise QueryError("no gold sample has been drawn")
        return self._where(pl.col("item").is_in(drawn))


def contains(wanted: str) -> pl.Expr:
    """Whether a text contains another, without the difference between capital and small letters."""
    text, folded = pl.col("text").str.to_lowercase(), wanted.casefold()
    if "ss" in folded:
        text = text.str.replace_all("ß", "ss", literal=True)
    return text.str.contains(folded, literal=True).fill_null(False)


def pick(values: pl.Series, key: str) -> pl.Expr:
    """The values of a small table, where a column of a frame has their places; null where it has none."""
    return pl.lit(values).gather(pl.col(key), null_on_oob=True)


def _unknown(text: str, known: Iterable[str], what: str) -> QueryError:
    """The error about a name that nothing has, with the nearest name that something has."""
    names = list(known)
    near = nearest(text, names)
    return QueryError(
        f"no {what} is named {text!r}",
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
        raise QueryError(f"{field} is compared with numbers", expected="a number", found=value.text) from None
