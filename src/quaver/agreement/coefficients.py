"""Krippendorff's alpha and what stands beside it: percent agreement and the kappas.

One dominant label makes alpha and the kappas misleading. The kappas are (p_a − p_e) / (1 − p_e), with p_a the
weighted share of agreeing pairs of ratings,

    p_a = mean over items with r_i ≥ 2 ratings of Σ_k r_ik (Σ_l w_kl r_il − 1) / (r_i (r_i − 1)),

and differ in p_e, the agreement that chance would give. Weights w are 1 for the same label and 0 for others
(nominal), grow towards 1 with nearness at the other levels, or are one's own (`agreement.pair_weights`).
None is defined of numbers that hardly repeat, more than 100 different ones on an interval or ratio scale, for
which alpha is made.
Source: Gwet (2014), Handbook of Inter-Rater Reliability, 4th ed., chs. 2-5, whose treatment of missing
ratings this is.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import combinations
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from quaver.agreement.disagreement import REFERENCE, Disagreement
from quaver.agreement.pair_weights import Weights, agreement_weights
from quaver.agreement.ratings import Ratings, coefficient
from quaver.agreement.stratified_alpha import ROWS_WARNING, mean_alpha, over_rows
from quaver.core.records import BY_PAIRS, Estimate
from quaver.estimation.intervals import clopper_pearson
from quaver.estimation.jackknife import Floats, Weighted
from quaver.estimation.means import over_strata, quotient
from quaver.estimation.statistic import Statistic


@coefficient(source=REFERENCE)
def krippendorff_alpha(
    ratings: Ratings,
    *,
    resample: Literal["items", "rows"] = "items",
) -> Statistic | Estimate:
    """Krippendorff's alpha: 1 − observed over expected disagreement.

    alpha = 1 − Do / De, with Do = Σ_u Σ_vk n_uv n_uk δ²(v, k) / (m_u − 1) / n over the units u (items) with
    m_u ≥ 2 ratings, De = Σ_vk n_v n_k δ²(v, k) / (n (n − 1)), n = Σ_u m_u. The difference δ² is 1 or 0
    (nominal), of midranks (ordinal), of numbers (interval), or ((v − k) / (v + k))² (ratio). Missing ratings
    do not count. Undefined, with a reason, where fewer than two items have two ratings, or where all ratings
    are the same (``no variation``: nothing could disagree).

    Args:
        resample: ``"rows"`` resamples single ratings, as the promptstability package does, and warns.

    Returns:
        The estimate; ``details`` has ``observed`` and ``expected`` disagreement, ``standard_error`` and
        ``freedom`` of the interval, how many items differ and the exact binomial interval of their share.

    Warns:
        UserWarning: ``resample="rows"``.

    Krippendorff (2011), Computing alpha, section B (nominal data, two observers): 0.095

    >>> from quaver.agreement import krippendorff_alpha
    >>> a = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0]
    >>> b = [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    >>> round(krippendorff_alpha(list(zip(a, b))).value, 3)
    0.095
    """
    statistic = _alpha(ratings)
    if resample == "items":
        return statistic
    warnings.warn(ROWS_WARNING, stacklevel=4)  # of whoever called the coefficient
    return over_rows(ratings.cell.estimated(statistic), ratings.cell, ratings.level, ratings.values)


def _alpha(ratings: Ratings) -> Statistic:
    cell, said = ratings.cell, ratings.said(f"Krippendorff's alpha, {ratings.level}")
    statistic = mean_alpha(cell, cell.grid, said, ratings.level, ratings.missing)
    statistic = replace(statistic, details=dict(said.details))
    if statistic.under is None:
        rated = cell.units.touched((cell.codes >= 0).sum(2).ravel() > 1)
        bound = tuple(clopper_pearson(0, rated, cell.resampling.confidence_level)) if rated else None
        return replace(statistic, details={**said.details, "differing": 0, "share_differing": bound})
    model = Disagreement(cell.grid, len(cell.labels), ratings.level, ratings.values)
    d, e, n = (float(part[0, 0]) for part in model.sums(np.ones((1, cell.units.items))))
    details = {**said.details, "observed": d / n, "expected": e / (n * (n - 1)), "pairable": int(n)}
    return replace(statistic, details=details)


@coefficient(source="Gwet (2014), ch. 2")
def percent_agreement(ratings: Ratings) -> Statistic:
    """Percent agreement: the share of pairs of ratings of one item that agree.

    Mean over items with r_i ≥ 2 ratings of Σ_k r_ik (r_ik − 1) / (r_i (r_i − 1)), with r_ik the number of
    ratings k of item i. Only the same label agrees, at every level of measurement. Undefined where no item
    has two ratings.

    >>> from quaver.agreement import percent_agreement
    >>> percent_agreement([["a", "a"], ["a", "b"], ["b", "b"], ["b", "b"]]).value
    0.75
    """

    def under(weights: Floats) -> Weighted:
        return _of_shares(ratings.counts, weights, lambda p: np.zeros(len(p)))

    return _of_pairs(replace(ratings, level="nominal"), "share of agreeing pairs of ratings", under, low=0.0)


@coefficient(source="Fleiss (1971), Psychological Bulletin 76, 378-382")
def fleiss_kappa(ratings: Ratings, *, weights: Weights | None = None) -> Statistic:
    """Fleiss' kappa: chance gives each rating from the labels' overall shares.

    (p_a − p_e) / (1 − p_e), with p_a the weighted `percent_agreement` and p_e = Σ_kl w_kl π_k π_l, where π_k
    is the mean over items of the share of their ratings that are k. Undefined where no item has two ratings,
    or all ratings are the same (``no variation``).

    Args:
        weights: ``"linear"``, ``"quadratic"``, or a table: how far each label beside each counts as
            agreement. By default, those of the level.

    p_a = 3/4, π = (3/8, 5/8), p_e = 34/64:

    >>> from quaver.agreement import fleiss_kappa
    >>> round(fleiss_kappa([["a", "a"], ["a", "b"], ["b", "b"], ["b", "b"]]).value, 6)  # 14 / 30
    0.466667
    """

    def under(w: Floats) -> Weighted:
        return _of_shares(ratings.counts, w, lambda p: ((p @ w) * p).sum(1))

    return _of_pairs(ratings, "Fleiss' kappa", under, weights)


@coefficient(source="Cohen (1960); Cohen (1968), weighted; Light (1971) for more raters")
def cohen_kappa(ratings: Ratings, *, weights: Weights | None = None) -> Statistic:
    """Cohen's kappa: chance gives each rater's rating from that rater's own shares of labels.

    (p_a − p_e) / (1 − p_e), with p_a the weighted `percent_agreement` and p_e = Σ_kl w_kl p_k q_l, of the
    items that both raters rated; with more than two raters, the mean over their pairs for which it is defined
    (Light 1971). Undefined where no two raters rated an item, or each rater used one label, the same one
    (``no variation``); and of a crowd, in which two raters share fewer than 20 items and fewer than half of
    those of the one with fewer: from so few items, each rater's shares of labels say too much of the
    agreement to come from chance (60 raters of 300 items, each item rated by three: 0.27 for a truth of
    0.64).

    Args:
        weights: ``"linear"``, ``"quadratic"``, or a table: how far each label beside each counts as
            agreement. By default, those of the level.

    p_a = 3/4, p = (1/2, 1/2), q = (1/4, 3/4), p_e = 1/2:

    >>> from quaver.agreement import cohen_kappa
    >>> cohen_kappa([["a", "a"], ["a", "b"], ["b", "b"], ["b", "b"]]).value
    0.5
    """
    method = "Cohen's kappa, mean over pairs of raters"
    if few := _few_shared(ratings.codes >= 0):
        return replace(ratings.said(method), reason=few)
    return _of_pairs(ratings, method, lambda w: _cohen(ratings.codes, w), weights)


@coefficient(source="Gwet (2008), BJMSP 61, 29-48; Gwet (2014), ch. 5")
def gwet_ac(ratings: Ratings, *, weights: Weights | None = None) -> Statistic:
    """Gwet's AC1, or AC2 where pairs of labels are weighted: chance is agreement on items hard to label.

    (p_a − p_e) / (1 − p_e), with p_a the weighted `percent_agreement` and p_e = Σ_kl w_kl / (q (q − 1)) ·
    Σ_k π_k (1 − π_k), with q labels and π as in `fleiss_kappa`. It stays high where one label dominates,
    where the kappas and alpha collapse. Undefined where no item has two ratings or there is one label only:
    name the labels that could have been given in ``labels``.

    Args:
        weights: ``"linear"``, ``"quadratic"``, or a table: how far each label beside each counts as
            agreement. By default, those of the level.

    p_a = 3/4, π = (3/8, 5/8), p_e = 2 / 2 · 2 · 15/64 = 15/32:

    >>> from quaver.agreement import gwet_ac
    >>> round(gwet_ac([["a", "a"], ["a", "b"], ["b", "b"], ["b", "b"]]).value, 6)  # 9 / 17
    0.529412
    """
    q = len(ratings.cell.labels)

    def under(w: Floats) -> Weighted:
        spread = w.sum() / max(1, q * (q - 1))
        return _of_shares(ratings.counts, w, lambda p: spread * (p * (1 - p)).sum(1))

    statistic = _of_pairs(ratings, "Gwet's agreement coefficient", under, weights)
    if statistic.under is not None and q < 2:
        statistic = replace(statistic, under=None, reason="fewer than two labels")
    return replace(statistic, part="1" if ratings.level == "nominal" and weights is None else "2")


_MOST_NUMBERS: Final = 100
"""With more different ones, hardly any two numbers are the same."""

_CROWD: Final = (20, 0.5)
"""Two raters of a crowd share fewer items than this, and a smaller share of those of the one with fewer."""


def _of_pairs(
    ratings: Ratings,
    method: str,
    under: Callable[[Floats], Weighted],
    weights: Weights | None = None,
    low: float = -1.0,
) -> Statistic:
    """A coefficient's statistic over the pairs of ratings of each item; undefined where there are none.

    Args:
        ratings: The ratings.
        method: What it is.
        under: The coefficient, from the weights of each two labels.
        weights: Which weights these are.
        low: Its lowest value.
    """
    cell = ratings.cell
    kind = "own" if isinstance(weights, Mapping) else weights or ratings.level
    statistic = ratings.said(method if kind == "nominal" else f"{method}, {kind} weights")
    if ratings.values is not None and ratings.level not in BY_PAIRS and len(cell.labels) > _MOST_NUMBERS:
        return replace(statistic, reason="so many different numbers are not labels; use krippendorff_alpha")
    each = agreement_weights(cell.labels, ratings.level, ratings.values, weights)
    paired = _pairwise(ratings.counts, each)[1]
    statistic = replace(statistic, n=paired > 0)
    if not paired.any():
        return replace(statistic, reason="fewer than two raters" if cell.items else "no annotations")
    values_under = under(each)
    # Weights of one's own need not be those of distances, of which no coefficient is below -1.
    is_below = (values_under(np.ones((1, cell.units.items))) < low).any()
    ends = None if is_below else (low, 1.0)
    return replace(statistic, under=values_under, reason="no variation", ends=ends)


def _few_shared(known: NDArray[np.bool_]) -> str:
    """Why kappa of pairs of raters cannot be had of these; empty where it can.

    Args:
        known: Whether a rater rated an item, shape (items, raters).
    """
    rated = known[:, known.any(0)].astype(np.float32)
    shared = rated.T @ rated
    first, second = np.triu_indices(len(shared), 1)
    common = shared[first, second]
    if not common.any():
        return ""
    part = common / np.minimum(shared[first, first], shared[second, second])
    if common.mean() >= _CROWD[0] or part.mean() >= _CROWD[1]:
        return ""
    return f"two raters share {common.mean():.1f} items on average; krippendorff_alpha fits a crowd"


def _pairwise(counts: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Each item's share of agreeing pairs, 0 where it has none, and whether it has any."""
    r = counts.sum(1)
    paired = (r >= 2).astype(float)
    share = (counts * (counts @ weights - 1)).sum(1) / np.maximum(r * (r - 1), 1)
    return share * paired, paired


def _of_shares(counts: Floats, weights: Floats, expected: Callable[[Floats], Floats]) -> Weighted:
    """(p_a − p_e) / (1 − p_e), with p_e from the mean over items of their shares of labels."""
    share, paired = _pairwise(counts, weights)
    r = counts.sum(1)
    own, rated = counts / np.maximum(r, 1)[:, None], (r > 0).astype(float)

    def statistic(w: Floats) -> Floats:
        agreed = w @ share / (w @ paired)
        chance = expected(w @ own / (w @ rated)[:, None])
        return quotient(agreed - chance, 1 - chance, 1e-12)[:, None]

    return statistic


def _cohen(codes: NDArray[np.int32], weights: Floats) -> Weighted:
    """Kappa of each pair of raters, over the items that both rated."""
    given, known = (codes[:, :, None] == np.arange(len(weights))).astype(float), codes >= 0
    pairs = []
    for first, two in combinations(range(codes.shape[1]), 2):
        both = np.flatnonzero(known[:, first] & known[:, two])
        if both.size:
            pairs.append((first, two, both))

    def statistic(w: Floats) -> Floats:
        kappas = np.full((len(w), max(1, len(pairs))), np.nan)
        for place, (first, two, both) in enumerate(pairs):
            some = w if both.size == len(codes) else w[:, both]
            n = np.maximum(some.sum(1), 1e-300)
            agreed = some @ weights[codes[both, first], codes[both, two]]
            p, q = some @ given[both, first], some @ given[both, two]
            room = 1 - ((p @ weights) * q).sum(1) / n**2
            kappas[:, place] = quotient(agreed / n - 1 + room, np.where(some.any(1), room, 0.0), 1e-12)
        return kappas

    return over_strata(statistic)
