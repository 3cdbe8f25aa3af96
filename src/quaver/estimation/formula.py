"""A small part of R's model formulas: ``correct ~ treatment * temperature``, as a design matrix."""

from __future__ import annotations

import re
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quaver.errors import MeasureError
from quaver.estimation.arrangement import UnknownColumn
from quaver.estimation.bootstrap import Floats
from quaver.estimation.encoding import encode

_NAME = re.compile(r"[^\W\d]\w*")


class Design(NamedTuple):
    """A response's name and the columns that explain it.

    Attributes:
        response: Left of the ``~``.
        names: Of the columns: ``Intercept``, ``treatment[T1]``, ``treatment[T1]:temperature`` …
        matrix: Shape (rows, columns).
    """

    response: str
    names: tuple[str, ...]
    matrix: Floats


def parsed(formula: str) -> tuple[str, tuple[tuple[str, ...], ...]]:
    """The response and the terms of a formula.

    ``+`` adds terms, ``a:b`` is an interaction, ``a*b`` is ``a + b + a:b``. There is always an intercept, and
    nothing else of the language: no transformations, no removal, no random effects.

    Returns:
        The response, and each term as the names that it multiplies, in order of their number.

    Raises:
        MeasureError: It is no such formula.

    >>> parsed("correct ~ treatment * temperature")
    ('correct', (('treatment',), ('temperature',), ('treatment', 'temperature')))
    """
    left, tilde, right = str(formula).partition("~")
    response = left.strip()
    if not tilde or not _NAME.fullmatch(response) or "~" in right:
        raise _wrong(formula, formula)
    terms: list[tuple[str, ...]] = []
    for part in right.split("+"):
        factors = [tuple(name.strip() for name in one.split(":")) for one in part.split("*")]
        if factors == [("1",)]:
            continue
        for one in factors:
            if bad := [name for name in one if not _NAME.fullmatch(name)]:
                raise _wrong(formula, bad[0] or part.strip() or "nothing between the signs")
        for size in range(1, len(factors) + 1):
            for some in combinations(factors, size):
                terms.append(tuple(dict.fromkeys(name for one in some for name in one)))
    distinct = {frozenset(term): term for term in reversed(terms)}
    order = {frozenset(term): place for place, term in reversed(list(enumerate(terms)))}
    return response, tuple(distinct[key] for key in sorted(distinct, key=lambda key: (len(key), order[key])))


def _wrong(formula: str, found: str) -> MeasureError:
    return MeasureError(
        "not a formula that can be read",
        where="formula",
        expected="response ~ a + b, a:b or a * b, of column names",
        found=found,
        fix=None if found == formula else f"in {formula!r}; make a column for anything else",
    )


def design(frame: pl.DataFrame, formula: str) -> Design:
    """The design matrix of a formula.

    Numbers and booleans stand for themselves; text is coded by treatment contrasts, its first level (in
    the order of `encode.ordered`, or of a polars Enum) being the reference.

    Args:
        frame: With the columns that the formula names; the response need not be there.
        formula: As `parsed` reads it.

    Raises:
        MeasureError: The formula cannot be read; a column is missing, has gaps, or does not vary; a term
            is used without those that it is made of; or the columns are not independent.

    >>> frame = pl.DataFrame({"t": ["T0", "T1", "T1"], "x": [0.5, 1.0, 2.0]})
    >>> found = design(frame, "y ~ t + x")
    >>> found.names, found.matrix.tolist()
    (('Intercept', 't[T1]', 'x'), [[1.0, 0.0, 0.5], [1.0, 1.0, 1.0], [1.0, 1.0, 2.0]])
    """
    response, terms = parsed(formula)
    columns = {name: _columns(frame, name) for name in dict.fromkeys(n for term in terms for n in term)}
    names, parts = ["Intercept"], [np.ones(frame.height)]
    given = {frozenset(term) for term in terms}
    for term in terms:
        smaller = (some for size in range(1, len(term)) for some in combinations(term, size))
        if lost := next((some for some in smaller if frozenset(some) not in given), None):
            # Contrasts are right only beside the effects that they are contrasts to.
            raise _wrong(formula, f"{':'.join(term)} without {':'.join(lost)}")
        for some_columns in product(*(columns[name] for name in term)):
            names.append(":".join(name for name, _ in some_columns))
            parts.append(np.prod([values for _, values in some_columns], axis=0))
    matrix = np.stack(parts, 1)
    if frame.height and np.linalg.matrix_rank(matrix) < matrix.shape[1]:
        raise MeasureError(
            "columns that determine each other",
            where="formula",
            expected="every combination of levels asked, and no column that others determine",
            found=f"{np.linalg.matrix_rank(matrix)} independent of {matrix.shape[1]}: {', '.join(names)}",
        )
    return Design(response, tuple(names), matrix)


def _columns(frame: pl.DataFrame, name: str) -> list[tuple[str, Floats]]:
    if name not in frame.columns:
        raise UnknownColumn(name, frame.columns, where="formula")
    column = frame[name]
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        numbers = column.cast(pl.Float64).fill_null(np.nan).to_numpy()
        _check_values(name, np.isnan(numbers), varies=bool(np.ptp(numbers) > 0) if numbers.size else False)
        return [(name, numbers)]
    encoded = encode(column, name)
    _check_values(name, encoded.codes < 0, varies=len(encoded.values) > 1)
    return [
        (f"{name}[{level}]", (encoded.codes == code).astype(np.float64))
        for code, level in enumerate(encoded.values)
        if code
    ]


def _check_values(name: str, without: NDArray[np.bool_], *, varies: bool) -> None:
    """Refuse a column with a row that has no value, and one that does not vary."""
    if without.any():
        raise MeasureError(
            "a row without a value",
            where=f"frame[{name!r}]",
            expected="a value in every row",
            found=f"none in row {int(np.argmax(without))}",
        )
    if not varies:
        raise MeasureError(
            "a column that does not vary", where="formula", expected="two values or more", found=name
        )
