"""The regression that a conclusion rests on: its formula, its claim, and the items' columns as a matrix."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quaver.agreement.coefficient import label_set_of
from quaver.agreement.set_distance import members
from quaver.core.label_values import labels_in
from quaver.core.records import OF_SETS, UNORDERED, LabelSet
from quaver.correction.regressions import Kind
from quaver.errors import MeasureError, UnknownName
from quaver.estimation.arrangement import UnknownColumn
from quaver.estimation.bootstrap import Floats
from quaver.estimation.regression import design, parsed
from quaver.measures.validity.claims import read_effect

_SHARE = re.compile(r"\s*share\(\s*(.+?)\s*\)\s*")
_FACTOR = re.compile(r"\bfactor\(\s*([^\W\d]\w*)\s*\)")


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

    >>> read_formula("share(Clinton) ~ factor(party) + educ")[:2]
    ('Clinton', ('party', 'educ'))
    """
    left, tilde, right = str(formula).partition("~")
    share = _SHARE.fullmatch(left)
    if not tilde or not (share or left.strip() == "label"):
        raise MeasureError(
            "not a formula that can be read",
            where="formula",
            expected="share(LABEL) ~ a + b, or label ~ a + b where the labels are numbers",
            found=formula,
        )
    plain = _FACTOR.sub(r"\1", right)
    try:
        terms = parsed(f"label ~ {plain}")[1]
    except MeasureError as error:
        error.fix = f"in {formula!r}; make a column for anything else"
        raise
    columns = tuple(dict.fromkeys(name for term in terms for name in term))
    return Regression(share[1] if share else None, columns, frozenset(_FACTOR.findall(right)), plain)


class ItemTable:
    """The items' columns as a design matrix, and the claim in its terms.

    Args:
        items: A frame with ``item`` and the columns.
        asked: The regression.
        categories: Columns that are categories although they look like numbers.
        effect: The claim.
        outcomes: Labels with coefficients of their own, ``LABEL:column``, in a multinomial regression.
        weights: A column that says what each item counts for.
    """

    def __init__(
        self,
        items: pl.DataFrame,
        regression: Regression,
        categories: Sequence[str],
        effect: str,
        outcomes: Sequence[str] = (),
        weights: str | None = None,
    ) -> None:
        if "item" not in items.columns:
            raise UnknownColumn("item", items.columns, where="items")
        for name in regression.columns:
            if name not in items.columns:
                raise UnknownColumn(name, items.columns, where="formula")
        if weights is not None and weights not in items.columns:
            raise UnknownColumn(weights, items.columns, where="weights")
        kept = ["item", *regression.columns, *({weights} - set(regression.columns) if weights else ())]
        alone = items["item"].n_unique() == items.height  # one row an item: nothing can be there twice
        frame = items.select(kept) if alone else items.select(kept).unique(maintain_order=True)
        frame = frame.with_columns(
            _typed(frame[name], name in {*regression.categories, *categories}) for name in regression.columns
        )
        whole = frame.drop_nulls()
        if not alone and whole["item"].n_unique() < whole.height:
            raise MeasureError(
                "an item with two values of a column",
                where="items",
                expected=f"one value of {', '.join(regression.columns)} an item",
                found=f"item {whole['item'].filter(whole['item'].is_duplicated())[0]}",
            )
        made = design(whole, f"label ~ {regression.right}")
        texts = [
            n for n in regression.columns if not (whole[n].dtype.is_numeric() or whole[n].dtype == pl.Boolean)
        ]
        levels = [f"{n}[{v}]" for n in texts for v in whole[n].unique().cast(pl.String).to_list()]
        references = [level for level in levels if level not in made.names]
        self.names = tuple(f"{label}:{one}" for label in outcomes for one in made.names) or made.names
        if outcomes:
            references = [f"{label}:{one}" for label in outcomes for one in references]
        self.effect = read_effect(effect, self.names, references)
        self.outcomes = tuple(outcomes)
        self._place = whole.select(pl.col("item").cast(pl.String), place=pl.int_range(pl.len()))
        self._matrix = np.concatenate([made.matrix, np.full((1, made.matrix.shape[1]), np.nan)])
        self.weighted = weights is not None
        given = np.ones(whole.height) if weights is None else _positive(whole, weights)
        self._weights = np.append(given, np.nan)
        self._last: tuple[Sequence[str] | pl.Series, NDArray[np.int64]] | None = None

    def rows(self, items: Sequence[str] | pl.Series) -> Floats:
        """The design matrix of some items; NaN where a column has no value."""
        return np.asarray(self._matrix[self._places(items)])

    def weights(self, items: Sequence[str] | pl.Series) -> Floats:
        """What some items count for: 1, unless a column says it; NaN where it has no value."""
        return np.asarray(self._weights[self._places(items)])

    def _places(self, items: Sequence[str] | pl.Series) -> NDArray[np.int64]:
        if self._last is None or self._last[0] is not items:
            frame = pl.DataFrame({"item": pl.Series(items, dtype=pl.String)})
            series = frame.join(self._place, on="item", how="left", maintain_order="left")["place"]
            self._last = items, np.asarray(series.fill_null(-1).to_numpy())
        return self._last[1]


def _positive(items: pl.DataFrame, name: str) -> Floats:
    """A column of weights; NaN where one is not above zero, or no number."""
    given = items[name].cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    usable = np.isfinite(given) & (given > 0)
    if not usable.any():
        raise MeasureError(
            "weights that are no numbers",
            where="weights",
            expected=f"numbers above zero in {name}",
            found=", ".join(str(one) for one in items[name].head(3)),
        )
    return np.where(usable, given, np.nan)


_AS_TEXT = (pl.String, pl.Categorical, pl.Enum)


def _written(column: pl.Series) -> pl.Series:
    return pl.Series(column.name, [None if v is None else str(v) for v in column], dtype=pl.String)


def _typed(column: pl.Series, category: bool) -> pl.Series:
    """A column as numbers, where all of it are; else as text. Empty cells are null."""
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        return (
            column.cast(pl.String)
            if category
            else column.fill_nan(None)
            if column.dtype.is_float()
            else column
        )
    text = column.cast(pl.String) if column.dtype in _AS_TEXT else _written(column)
    text = text.str.strip_chars().replace("", None)
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
        labels is None and any(one.value is None for one in label_set.labels)
    ):
        raise MeasureError(
            "labels that are not numbers",
            where="formula",
            expected="share(LABEL) ~ …, or labels of an ordinal or interval level",
            found=", ".join(codes[:5]),
        )
    values = [float(index) if one.value is None else one.value for index, one in enumerate(label_set.labels)]
    return np.array([values[label_set.codes.index(code)] for code in codes])


def read_regression(formula: str, regression: Kind) -> Regression:
    """What a formula asks for of a kind of regression.

    >>> read_regression("label ~ educ", "multinomial").columns
    ('educ',)
    """
    asked = read_formula(formula)
    if (regression == "logistic" and asked.label is None) or (regression == "multinomial" and asked.label):
        raise MeasureError(
            "a regression that does not fit the outcome",
            where="regression",
            expected="multinomial for label, logistic for share(LABEL), or linear",
            found=f"{regression} for {formula.partition('~')[0].strip()}",
        )
    return asked


def outcome_numbers(
    asked: Regression,
    regression: Kind,
    codes: Sequence[str],
    labels: LabelSet | None,
    outcomes: Sequence[str],
) -> Floats:
    """What each label counts as, shape (labels, outcomes).

    >>> outcome_numbers(read_formula("label ~ x"), "multinomial", ["a", "b", "c"], None, ["b", "c"]).tolist()
    [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    """
    if regression == "multinomial":
        return np.array([[float(code == outcome) for outcome in outcomes] for code in codes])
    return label_numbers(asked.label, codes, labels)[:, None]


def check_conclusion(
    items: pl.DataFrame,
    formula: str,
    effect: str,
    labels: LabelSet,
    categories: Sequence[str],
    regression: Kind = "linear",
    weights: str | None = None,
) -> ItemTable:
    """Find what is wrong with a conclusion before there are labels.

    Returns:
        The items' columns.
    """
    asked = read_regression(formula, regression)
    outcomes = labels.codes[1:] if regression == "multinomial" else ()
    outcome_numbers(asked, regression, labels.codes, labels, outcomes)
    return ItemTable(items, asked, categories, effect, outcomes, weights)
