"""Degrees of freedom of a mixed model's terms: items are few, however many answers each of them has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from scipy import special

from quaver.estimation.bootstrap import Floats
from quaver.estimation.encoding import Ints
from quaver.measures.correctness._laplace_fit import Component, Counted, Fitted

_MOST_EFFECTS: Final = 100
"""Random effects an item, beyond which the exact freedom would take minutes."""

_AT_ONCE: Final = 4_000_000
"""Numbers in the matrices of the items that are worked on together."""


class Freedom(NamedTuple):
    """How sure each term's standard error is.

    Attributes:
        freedom: Degrees of freedom of the error's square, for each term.
        widening: What the square lacks, since maximum likelihood finds variances too small where items are
            few.
    """

    freedom: Floats
    widening: Floats


class _Block(NamedTuple):
    """What some items add to the sums: q random effects an item, p terms.

    Attributes:
        effects: Z'V⁻¹Z, shape (items, q, q).
        cross: Z'V⁻¹X, shape (items, q, p).
        information: X'V⁻¹X, summed, shape (p, p).
    """

    effects: Floats
    cross: Floats
    information: Floats


def freedom(counted: Counted, components: Sequence[Component], fitted: Fitted) -> Freedom:
    """Satterthwaite's freedom of each term in the linear mixed model that Laplace's approximation ends with.

    With the weights n·p·(1 − p) at the items' modes, V = W⁻¹ + Σ θ_k Z_k Z_k' and Φ = (X'V⁻¹X)⁻¹, a term's
    error has the square Φ_jj and the gradient g_k = (Φ X'V⁻¹Z_k Z_k'V⁻¹X Φ)_jj in the variances θ, whose
    restricted information is I. Freedom = 2 Φ_jj² / g'I⁻¹g (Giesbrecht & Burns 1985, Biometrics 41, 477-486).
    One step from the maximum of the likelihood to that of the restricted one changes θ by I⁻¹h, with
    h_k = ½ tr(Φ X'V⁻¹Z_k Z_k'V⁻¹X), and Φ_jj by g'I⁻¹h: the widening, where it is positive.

    Args:
        counted: The answers.
        components: The random effects.
        fitted: The fit.

    Returns:
        Freedom, never more than the answers leave nor less than 1, and the widening. Items − 1 and no
        widening where an item has more than a hundred random effects.
    """
    answers, terms = float(counted.asked.sum()), counted.matrix.shape[1]
    most = max(1.0, answers - terms)
    sizes = [int(one.part.max()) + 1 for one in components]
    if sum(sizes) > _MOST_EFFECTS:
        items = np.unique(counted.item).size
        return Freedom(np.full(terms, min(most, max(1.0, items - 1.0))), np.zeros(terms))
    ends = np.cumsum([0, *sizes])
    of = [slice(low, high) for low, high in pairwise(ends)]
    blocks = list(_blocks(counted, components, fitted, np.repeat(fitted.variances, sizes), ends[:-1]))
    phi = np.asarray(np.linalg.inv(_sum(one.information for one in blocks)))
    squares = [_sum(_product(one.cross[:, k], one.cross[:, k]) for one in blocks) for k in of]
    through = [phi @ one @ phi for one in squares]
    gradient = np.stack([np.diag(one) for one in through], 1)
    pull = np.array([np.trace(phi @ one) / 2 for one in squares])
    inverse = np.asarray(np.linalg.pinv(_information(blocks, of, phi, squares), hermitian=True))
    spread = np.einsum("jk,kl,jl->j", gradient, inverse, gradient)
    with np.errstate(divide="ignore"):
        found = 2 * np.diag(phi) ** 2 / np.maximum(spread, 0.0)
    return Freedom(np.clip(found, 1.0, most), np.maximum(0.0, gradient @ inverse @ pull))


def _information(
    blocks: Sequence[_Block], of: Sequence[slice], phi: Floats, squares: Sequence[Floats]
) -> Floats:
    """The restricted information of the variances: ½ tr(P Z_k Z_k' P Z_l Z_l')."""
    found = np.empty((len(of), len(of)))
    for k, first in enumerate(of):
        for m, second in enumerate(of):
            plain, mixed = 0.0, np.zeros_like(phi)
            for one in blocks:
                between = one.effects[:, first, second]
                plain += float((between**2).sum())
                mixed += _product(one.cross[:, first], between @ one.cross[:, second])
            both = np.trace(phi @ squares[k] @ phi @ squares[m])
            found[k, m] = (plain - 2 * np.trace(phi @ mixed) + both) / 2
    return found


def _product(left: Floats, right: Floats) -> Floats:
    """The sum over items of left' · right."""
    return np.asarray(np.einsum("nqp,nqr->pr", left, right, optimize=True))


def _sum(parts: Iterable[Floats]) -> Floats:
    return np.asarray(np.sum(list(parts), axis=0))


def _blocks(
    counted: Counted, components: Sequence[Component], fitted: Fitted, prior: Floats, first: Floats
) -> Iterator[_Block]:
    """The items' sums, as many items at a time as fit.

    Args:
        counted: The answers.
        components: The random effects.
        fitted: The fit.
        prior: The variance of each of an item's random effects.
        first: The first of an item's random effects, for each component.
    """
    place = np.stack([at + one.part for at, one in zip(first, components, strict=True)], 1)
    ones = np.ones(counted.item.size)
    times = np.stack([ones if one.slope is None else one.slope for one in components], 1)
    order = np.argsort(counted.item, kind="stable")
    items = np.unique(counted.item[order], return_inverse=True)[1]
    fixed = counted.matrix @ fitted.value
    step = max(1, _AT_ONCE // prior.size**2)
    for low in range(0, int(items.max()) + 1, step):
        rows = order[(items >= low) & (items < low + step)]
        item = items[np.searchsorted(counted.item[order], counted.item[rows])] - low
        weights, effects = _modes(counted, rows, item, fixed, place, times, prior)
        terms = counted.matrix[rows]
        cross = np.zeros((effects.shape[0], prior.size, terms.shape[1]))
        for k in range(len(components)):
            np.add.at(cross, (item, place[rows, k]), (weights * times[rows, k])[:, None] * terms)
        inner = np.eye(prior.size) + effects * prior
        solved = np.linalg.solve(inner, cross)
        information = (terms * weights[:, None]).T @ terms - _product(cross, prior[:, None] * solved)
        yield _Block(np.asarray(np.linalg.solve(inner, effects)), np.asarray(solved), information)


def _modes(
    counted: Counted, rows: Ints, item: Ints, fixed: Floats, place: Ints, times: Floats, prior: Floats
) -> tuple[Floats, Floats]:
    """The answers' weights at the modes of some items' random effects, and Z'WZ of each item, by Newton."""
    right, asked, place, times = counted.right[rows], counted.asked[rows], place[rows], times[rows]
    count = int(item.max()) + 1
    modes = np.zeros((count, prior.size))
    for _ in range(50):
        eta = fixed[rows] + (times * modes[item[:, None], place]).sum(1)
        share = special.expit(eta)
        weights = asked * share * (1 - share)
        effects = np.zeros((count, prior.size, prior.size))
        slope = np.zeros((count, prior.size))
        for k in range(place.shape[1]):
            np.add.at(slope, (item, place[:, k]), (right - asked * share) * times[:, k])
            for m in range(place.shape[1]):
                np.add.at(effects, (item, place[:, k], place[:, m]), weights * times[:, k] * times[:, m])
        step = np.linalg.solve(
            np.eye(prior.size) + prior[:, None] * effects, (prior * slope - modes)[..., None]
        )
        modes += np.clip(step[..., 0], -5.0, 5.0)  # a step from far away may leap
        if np.abs(step).max() < 1e-9:
            break
    return weights, effects
