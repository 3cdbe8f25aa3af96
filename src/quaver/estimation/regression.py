"""Formulas of regressions, their columns as matrices, and least squares."""

from __future__ import annotations

import re
from itertools import combinations, product

import numpy as np
import polars as pl

from quaver.errors import MeasureError
from quaver.estimation.coded_columns import UnknownColumn, encode
from quaver.estimation.jackknife import Floats

_SINGULAR = 1e12
"""A cross-product whose condition number is above this has no solution worth the name."""
_DEPENDENT = 1e-14
"""What is left of a column beside the others, relative to the largest, where it depends on them."""


def orthonormal(matrix: Floats, contrast: Floats) -> tuple[Floats, Floats] | None:
    """Orthonormal columns Q that span those of a matrix, and the contrast c of these.

    The levers Qc say how far the contrast moves with each item's outcome.

    Sums of products of the columns as they are have the square of their condition number, and lose twice as
    many digits.

    Returns:
        None where the columns depend on each other.

    >>> basis, contrast = orthonormal(np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([0.0, 1.0]))
    >>> (basis @ contrast).round(9).tolist()
    [-1.0, 1.0]
    """
    scale = np.maximum(np.abs(matrix).max(0, initial=0.0), 1e-300)
    basis, triangle = np.linalg.qr(matrix / scale)
    sizes = np.abs(np.diag(triangle))
    if basis.shape != matrix.shape or not sizes.min(initial=np.inf) > _DEPENDENT * sizes.max(initial=0.0):
        return None
    return np.asarray(basis), np.linalg.solve(triangle.T, (contrast / scale).T).T


def solved(matrix: Floats, outcome: Floats, weights: Floats) -> Floats | None:
    """The coefficients b of least squares: Σ w x (y − x b) = 0.

    Args:
        matrix: x, shape (items, columns).
        outcome: y.
        weights: w.

    Returns:
        None where the columns determine each other.

    >>> solved(np.ones((4, 1)), np.array([1.0, 1.0, 1.0, 0.0]), np.ones(4)).tolist()
    [0.75]
    """
    weighted = matrix * weights[:, None]
    return inverse_times(matrix.T @ weighted, weighted.T @ outcome)


def inverse_times(system: Floats, right: Floats) -> Floats | None:
    """The solution of a symmetric system; None where there is none worth the name.

    >>> inverse_times(np.array([[1.0, 1.0], [1.0, 1.0]]), np.ones(2)) is None
    True
    """
    if not np.isfinite(system).all() or not np.isfinite(right).all():
        return None
    scale = np.sqrt(np.maximum(np.abs(np.diag(system)), 1e-300))
    even = system / np.outer(scale, scale)
    sizes = np.abs(np.linalg.eigvalsh(even))
    if not sizes.min(initial=np.inf) > sizes.max(initial=0.0) / _SINGULAR:
        return None
    scaled = np.linalg.solve(even, (right.T / scale).T)
    return (scaled.T / scale).T


_NAME = re.compile(r"[^\W\d]\w*|[\ue000-\uf8ff]")
_QUOTED = re.compile("`([^`]+)`")
_STANDS_IN = 0xE000
"""The first of the characters that stand for quoted names while a formula is taken apart."""


def in_formula(name: str) -> str:
    """A column's name as a formula has it: in backticks, unless it is one word.

    >>> in_formula("party"), in_formula("Age (years)")
    ('party', '`Age (years)`')
    """
    return name if name.isidentifier() else f"`{name}`"


def parsed(formula: str) -> tuple[str, tuple[tuple[str, ...], ...]]:
    """The response and the terms of a formula.

    ``+`` adds terms, ``a:b`` is an interaction, ``a*b`` is ``a + b + a:b``. There is always an intercept, and
    nothing else of the language: no transformations, no removal, no random effects. A name that is not one
    word stands in backticks.

    Returns:
        The response, and each term as the names that it multiplies, in order of their number.

    >>> parsed("correct ~ treatment * temperature")
    ('correct', (('treatment',), ('temperature',), ('treatment', 'temperature')))
    >>> parsed("correct ~ `Age (years)` + party")[1]
    (('Age (years)',), ('party',))
    """
    quoted = dict.fromkeys(_QUOTED.findall(str(formula)))
    names = {chr(_STANDS_IN + place): name for place, name in enumerate(quoted)}
    places = {name: sign for sign, name in names.items()}
    left, tilde, right = _QUOTED.sub(lambda found: places[found[1]], str(formula)).partition("~")
    response = left.strip()
    if not tilde or not _NAME.fullmatch(response) or "~" in right:
        raise _wrong(formula, formula)
    terms: list[tuple[str, ...]] = []
    for part in right.split("+"):
        factors = [tuple(name.strip() for name in term.split(":")) for term in part.split("*")]
        if factors == [("1",)]:
            continue
        for factor in factors:
            if bad := [name for name in factor if not _NAME.fullmatch(name)]:
                raise _wrong(formula, bad[0] or part.strip() or "nothing between the signs")
        for size in range(1, len(factors) + 1):
            for some in combinations(factors, size):
                terms.append(
                    tuple(dict.fromkeys(names.get(name, name) for factor in some for name in factor))
                )
    distinct = {frozenset(term): term for term in reversed(terms)}
    order = {frozenset(term): index for index, term in reversed(list(enumerate(terms)))}
    return response, tuple(distinct[key] for key in sorted(distinct, key=lambda key: (len(key), order[key])))


def _wrong(formula: str, found: str) -> MeasureError:
    return MeasureError(
        "not a formula that can be read",
        where="formula",
        expected="response ~ a + b, a:b or a * b, of column names; one with spaces or signs in backticks",
        found=found,
        fix=None if found == formula else f"in {formula!r}; make a column for anything else",
    )


def design(frame: pl.DataFrame, formula: str) -> tuple[tuple[str, ...], Floats]:
    """The design matrix of a formula.

    Numbers and booleans stand for themselves; text is coded by treatment contrasts, its first level (in
    the order of `encode.ordered`, or of a polars Enum) being the reference.

    Returns:
        The columns' names (``Intercept``, ``treatment[T1]``, ``treatment[T1]:temperature`` …) and the matrix,
        shape (rows, columns).

    >>> frame = pl.DataFrame({"t": ["T0", "T1", "T1"], "x": [0.5, 1.0, 2.0]})
    >>> names, matrix = design(frame, "y ~ t + x")
    >>> names, matrix.tolist()
    (('Intercept', 't[T1]', 'x'), [[1.0, 0.0, 0.5], [1.0, 1.0, 1.0], [1.0, 1.0, 2.0]])
    """
    _, terms = parsed(formula)
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
    return tuple(names), matrix


def _columns(frame: pl.DataFrame, name: str) -> list[tuple[str, Floats]]:
    if name not in frame.columns:
        raise UnknownColumn(name, frame.columns, where="formula")
    column = frame[name]
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        numbers = column.cast(pl.Float64).fill_null(np.nan).to_numpy()
        result, without = [(name, numbers)], np.isnan(numbers)
        varies = bool(numbers.size) and bool(np.ptp(numbers) > 0)
    else:
        codes, levels = encode(column, name)
        result, without = [], codes < 0
        for code, level in enumerate(levels[1:], 1):
            result.append((f"{name}[{level}]", (codes == code).astype(np.float64)))
        varies = len(levels) > 1
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
    return result
