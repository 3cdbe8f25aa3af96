"""How much of the error that a sequence of looks may make one look may spend, and the planned rounds.

Whoever looks often errs more often than one look would. The error of the whole sequence, α, is therefore
shared out: look t gets α·w with shares w that sum to 1 over all looks, however many there are. By the union
bound, all looks together err with a probability of at most α, whatever ties them to each other (Bonferroni
1936; alpha spending: Lan & DeMets 1983, Biometrika 70, 659-663).

Looks at the same items are tied: where two versions differ from the baseline in the same items, the second
look errs where the first did, and costs little. The items show how much they are tied. A look is then judged
at a larger tail than its share, chosen so that it adds no more than its share to what the earlier looks spent
(Westfall & Young 1993; Slud & Wei 1982, Journal of the American Statistical Association 77, 862-868).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from quaver.core.seeds import derive

Floats = NDArray[np.float64]

_RESERVE = 0.1
"""What is left for looks beyond those that were planned."""

_LEAST_OWN = 1e-3
"""The least share of a look's variance that counts as its own; keeps the arithmetic stable."""


class Look(NamedTuple):
    """One look at a difference.

    Attributes:
        tail: The tail of the normal distribution that it was judged by.
        left_out: The difference with each unit left out in turn, whose covariance with other looks' says how
            they are tied; None where it is not known or the units are others: such looks count as
            independent, which costs no less than any positive tie.
    """

    tail: float
    left_out: Floats | None = None


def share_of_look(number: int, planned: int) -> float:
    """The share of the whole error that one look gets.

    The planned looks share nine tenths evenly; those beyond share the rest, k-th beyond: 1/(k·(k + 1)).

    >>> round(share_of_look(1, 100), 6), round(share_of_look(101, 100), 6)
    (0.009, 0.05)
    >>> round(sum(share_of_look(t, 20) for t in range(1, 100_000)), 4)
    1.0
    """
    if number <= planned:
        return (1 - _RESERVE) / planned
    beyond = number - planned
    return _RESERVE / (beyond * (beyond + 1))


def times_as_wide(tail: float, fixed: float) -> float:
    """How many times as wide an interval with one tail is as an interval with another, for a normal error.

    >>> round(times_as_wide(0.005, 0.025), 2)
    1.31
    """
    return float(scipy.special.ndtri(tail) / scipy.special.ndtri(fixed))


def tail_of_look(
    allowed: float, earlier: Sequence[Look], left_out: Floats | None, draws: int = 20_000
) -> float:
    """The largest tail at which a look adds no more than its share to the error of the looks before it.

    With Z the looks' standardised errors, jointly normal with the correlations of the looks' units, and z the
    normal quantiles of the tails: the tail a with P(Z_t < z_a and no earlier Z_s < z_s) = allowed. It is
    never below ``allowed``, which is enough however the looks are tied.

    The same look again adds nothing to itself, so that its tail grows by what it may add:

    >>> units = np.random.default_rng(1).normal(size=200)
    >>> round(tail_of_look(0.001, [Look(0.01, units)], units), 3)
    0.011
    >>> tail_of_look(0.001, [], units)
    0.001
    """
    scores = None if left_out is None else _standardised(left_out)
    tied = [
        (look.tail, other)
        for look in earlier
        if look.left_out is not None
        and len(look.left_out) == len(left_out if left_out is not None else ())
        and (other := _standardised(look.left_out)) is not None
    ]
    if scores is None or not tied:
        return allowed
    matrix = np.stack([other for _, other in tied])
    among = matrix @ matrix.T * (1 - _LEAST_OWN) + _LEAST_OWN * np.eye(len(tied))
    weights = np.linalg.solve(among, matrix @ scores)
    own = max(_LEAST_OWN, 1 - float(weights @ (matrix @ scores))) ** 0.5
    rng = np.random.default_rng(derive(0, "looks"))
    errors = rng.standard_normal((draws, len(tied))) @ np.linalg.cholesky(among).T
    before = (errors < scipy.special.ndtri([tail for tail, _ in tied])).any(1)
    expected = errors[~before] @ weights

    def added(z: float) -> float:
        return float(scipy.special.ndtr((z - expected) / own).sum()) / draws

    low, high = float(scipy.special.ndtri(allowed)), 0.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if added(middle) <= allowed else (low, middle)
    return max(allowed, float(scipy.special.ndtr(low)))


def _standardised(left_out: Floats) -> Floats | None:
    """The values about their mean, of length 1; None where they do not vary or some are undefined."""
    apart = left_out - left_out.mean()
    length = float(np.sqrt(apart @ apart))
    return apart / length if np.isfinite(length) and length > 1e-12 else None


_END = 8.5
"""Beyond so many standard errors nothing is looked for."""
