"""The regression that a conclusion rests on: its formula, its claim, and the items' columns as a matrix."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import polars as pl

from quaver.agreement.disagreement import members
from quaver.agreement.ratings import label_set_of
from quaver.core.label_values import labels_in
from quaver.core.records import OF_SETS, UNORDERED, LabelSet
from quaver.errors import MeasureError, UnknownName
from quaver.estimation.coded_columns import UnknownColumn
from quaver.estimation.jackknife import Floats
from quaver.estimation.regression import design, parsed

Verdict = Literal["holds", "reverses", "not distinguishable"]

_SIDES = re.compile(r"\s*(?:share\(\s*(.+?)\s*\)|label)\s*~([^~]*)", re.DOTALL)
_FACTOR = re.compile(r"\bfactor\(\s*([^\W\d]\w*|`[^`]+`)\s*\)")
_NUMBER = r"\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+"
_COEFFICIENT = re.compile(r"[^\W\d]\w*(?:\[[^\]]*\])?(?::[^\W\d]\w*(?:\[[^\]]*\])?)*")
_COMPARED = re.compile(r"([<>])=?\s*")


def read_effect(
    text: str, names: Sequence[str], references: Sequence[str] = ()
) -> tuple[Floats, float, bool]:
    """Read a claim: that Σ_j contrast_j b_j of a regression's coefficients b is above, or below, a number.

    Two sides with ``<`` or ``>`` between them; each is a sum of coefficients and numbers, a coefficient
    perhaps times a number (``2 * educ``). A reference level's coefficient is 0.

    Returns:
        What each coefficient counts, shape (columns,); the number; whether the sum is claimed to be above it.

    >>> read_effect("party[Rep] < party[Dem]", ["Intercept", "party[Rep]"], ["party[Dem]"])
    (array([0., 1.]), 0.0, False)
    """
    known = sorted({*names, *references}, key=len, reverse=True)
    name = rf"(?:{'|'.join(map(re.escape, known))})(?![\w\[:])"
    term = re.compile(rf"([+-]?)\s*(?:({_NUMBER})(?:\s*\*\s*({name}))?|({name}))\s*")
    totals, constant, above = dict.fromkeys(known, 0.0), 0.0, None
    rest, side, begins = text.replace("`", "").strip(), 1.0, True
    while rest:
        if (match := term.match(rest)) and (begins or match[1]):
            amount = side * float(f"{match[1]}{match[2] or 1}")
            if coefficient := match[3] or match[4]:
                totals[coefficient] += amount
            else:
                constant += amount
            begins = False
        elif (match := _COMPARED.match(rest)) and not begins and above is None:
            above, side, begins = match[1] == ">", -1.0, True
        else:
            raise _wrong(text, rest, known)
        rest = rest[match.end() :]
    contrast = np.array([totals[name] for name in names])
    if above is None or begins or not contrast.any():
        raise _wrong(text, "", known)
    return contrast, 0.0 - constant, above


def _wrong(text: str, rest: str, known: Sequence[str]) -> MeasureError:
    if coefficient := _COEFFICIENT.match(rest.lstrip("+- ")):
        return UnknownColumn(coefficient[0], sorted(known), where="effect")
    return MeasureError(
        "not a claim that can be read",
        where="effect",
        expected="a coefficient against a number or another coefficient: educ > 0, party[a] < party[b]",
        found=text,
        fix=f"the coefficients are {', '.join(sorted(known)[:12])}",
    )


class Regression(NamedTuple):
    """A formula, read.

    Attributes:
        label: The label whose share is explained; None where the label's own number is.
        columns: The items' columns that explain it.
        categories: Those of them that are categories although they may look like numbers.
        right: What stands right of the ``~``, with plain names.
    """

    label: str | None
    columns: tuple[str, ...]
    categories: frozenset[str]
    right: str


def read_formula(formula: str) -> Regression:
    """Read ``share(LABEL) ~ a + b`` or ``label ~ a * b``.

    Right of the ``~`` stand columns of the items, as `quaver.estimation.regression.parsed` reads them;
    ``factor(a)`` takes numbers as categories, and ``1`` stands for no column at all.
    A name that is not one word stands in backticks.

    >>> read_formula("share(Clinton) ~ factor(party) + educ")[:2]
    ('Clinton', ('party', 'educ'))
    >>> read_formula("share(for, but later) ~ factor(`Year of birth`)")[:2]
    ('for, but later', ('Year of birth',))
    """
    sides = _SIDES.fullmatch(str(formula))
    if sides is None:
        raise MeasureError(
            "not a formula that can be read",
            where="formula",
            expected="share(LABEL) ~ a + b, or label ~ a + b where the labels are numbers",
            found=formula,
        )
    label, right = sides.groups()
    plain = _FACTOR.sub(r"\1", right)
    try:
        terms = parsed(f"label ~ {plain}")[1]
    except MeasureError as error:
        error.fix = f"in {formula!r}; make a column for anything else"
        raise
    columns = tuple(dict.fromkeys(name for term in terms for name in term))
    categories = frozenset(name.strip("`") for name in _FACTOR.findall(right))
    return Regression(label, columns, categories, plain)


class ItemTable:
    """The items' columns as a design matrix, and the claim in its terms.

    Args:
        items: A frame with ``item`` and the columns.
        asked: The regression.
        categories: Columns that are categories although they look like numbers.
        effect: The claim.

    Attributes:
        effect: The claim as it was written.
        contrast: What each coefficient counts in it.
        threshold: The number that it compares with.
        above: Whether it claims to be above that.
    """

    def __init__(
        self, items: pl.DataFrame, asked: Regression, categories: Sequence[str], effect: str
    ) -> None:
        for name in ("item", *asked.columns):
            if name not in items.columns:
                raise UnknownColumn(name, items.columns, where="items" if name == "item" else "formula")
        columns = [_typed(items[name], name in {*asked.categories, *categories}) for name in asked.columns]
        whole = (
            pl.DataFrame([items["item"].cast(pl.String), *columns]).unique(maintain_order=True).drop_nulls()
        )
        if whole["item"].n_unique() < whole.height:
            raise MeasureError(
                "an item with two values of a column",
                where="items",
                expected=f"one value of {', '.join(asked.columns)} an item",
                found=f"item {whole['item'].filter(whole['item'].is_duplicated())[0]}",
            )
        names, matrix = design(whole, f"label ~ {asked.right}")
        levels = [
            f"{column.name}[{value}]"
            for column in columns
            if column.dtype == pl.String
            for value in whole[column.name].unique().to_list()
        ]
        self.effect, references = effect.strip(), [level for level in levels if level not in names]
        self.contrast, self.threshold, self.above = read_effect(effect, names, references)
        self._place = whole.select("item", place=pl.int_range(pl.len()))
        self._matrix = np.concatenate([matrix, np.full((1, matrix.shape[1]), np.nan)])

    def verdict(self, low: float | None, high: float | None) -> Verdict:
        """The verdict on the claim: it holds or reverses if the whole interval does."""
        if low is None or high is None or low <= self.threshold <= high:
            return "not distinguishable"
        return "holds" if (low > self.threshold) == self.above else "reverses"

    def rows(self, items: Sequence[str]) -> Floats:
        """The design matrix of some items; NaN where a column has no value."""
        frame = pl.DataFrame({"item": pl.Series(items, dtype=pl.String)})
        place = frame.join(self._place, on="item", how="left", maintain_order="left")["place"]
        return np.asarray(self._matrix[place.fill_null(-1).to_numpy()])


def _typed(column: pl.Series, category: bool) -> pl.Series:
    """A column as numbers, where all of it are; else as text. Empty cells are null."""
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        if column.dtype.is_float():
            column = column.fill_nan(None)
        return column.cast(pl.String) if category else column
    if column.dtype not in (pl.String, pl.Categorical, pl.Enum):
        values = [None if value is None else str(value) for value in column]
        column = pl.Series(column.name, values, dtype=pl.String)
    text = column.cast(pl.String).str.strip_chars().replace("", None)
    numbers = text.cast(pl.Float64, strict=False)
    all_numbers = numbers.is_finite().fill_null(False).sum() == text.is_not_null().sum()
    return numbers if all_numbers and not category and text.is_not_null().any() else text


def label_numbers(label: str | None, codes: Sequence[str], labels: LabelSet | None) -> Floats:
    """What each label counts as in the outcome; a label of sets counts in each set that holds it."""
    if label is not None:
        known = labels.codes if labels else codes
        if labels is not None and labels.level in OF_SETS:
            single = members(known)[0]
            if label in single:
                return np.array([float(label in labels_in(code)) for code in codes])
            known = (*single, *known)
        if label not in known:
            raise UnknownName("label", label, known, where="formula")
        return np.array([float(code == label) for code in codes])
    label_set = labels or label_set_of(codes, "interval") if codes else None
    if label_set is None:
        return np.zeros(0)
    if label_set.level in UNORDERED or (
        labels is None and any(label.value is None for label in label_set.labels)
    ):
        raise MeasureError(
            "labels that are not numbers",
            where="formula",
            expected="share(LABEL) ~ …, or labels of an ordinal or interval level",
            found=", ".join(codes[:5]),
        )
    values = [
        float(index) if label.value is None else label.value for index, label in enumerate(label_set.labels)
    ]
    return np.array([values[label_set.codes.index(code)] for code in codes])
