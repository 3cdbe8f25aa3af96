"""Alpha of repeats that were never drawn, and label probabilities at another temperature."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from quaver.agreement.disagreement import over_values
from quaver.errors import MeasureError
from quaver.estimation.bootstrap import Floats, Weighted


def tempered(
    logprobs: Mapping[str, float], spells: Mapping[str, str], temperature: float
) -> tuple[dict[str, float], float]:
    """Label probabilities at a temperature, from the log-probabilities of an answer's first token.

    Each token's probability becomes p^(1/T) / Σ p^(1/T) over all tokens given, and the spellings of a label
    are added after that: adding them first gives another number, unless T is 1. The sum is right only if
    ``logprobs`` holds the whole vocabulary, or at T ≤ 1 all that matters of it.

    Args:
        logprobs: Natural logarithms of the untempered probabilities, by token.
        spells: The label that a token spells; tokens that spell none are left out here.
        temperature: Above 0.

    Returns:
        The labels' probabilities, which need not sum to 1, and the rest: the probability of no label.

    Raises:
        MeasureError: The temperature is not above 0, or a log-probability is above 0 or not a number.

    Two spellings of 0.25 and another label of 0.5 are even at T = 1, and 0.125 to 0.25 at T = ½:

    >>> from math import log
    >>> tokens = {"yes": log(0.25), "Yes": log(0.25), "no": log(0.5)}
    >>> label = {"yes": "y", "Yes": "y", "no": "n"}
    >>> {k: round(v, 6) for k, v in tempered(tokens, label, 1.0)[0].items()}
    {'y': 0.5, 'n': 0.5}
    >>> {k: round(v, 6) for k, v in tempered(tokens, label, 0.5)[0].items()}
    {'y': 0.333333, 'n': 0.666667}
    """
    values = np.array(list(logprobs.values()), np.float64)
    if not temperature > 0 or not np.isfinite(temperature):
        raise MeasureError(
            "not a temperature", where="temperature", expected="a number above 0", found=repr(temperature)
        )
    if not values.size or np.isnan(values).any() or (values > 1e-9).any():
        raise MeasureError(
            "not log-probabilities", where="logprobs", expected="numbers up to 0", found=repr(logprobs)[:60]
        )
    scaled = np.exp((values - values.max()) / temperature)
    shares = scaled / scaled.sum()
    found: dict[str, float] = {}
    for token, share in zip(logprobs, shares.tolist(), strict=True):
        if token in spells:
            found[spells[token]] = found.get(spells[token], 0.0) + share
    return found, max(0.0, 1.0 - sum(found.values()))


def expected_alpha(probabilities: Floats, repeats: int) -> Weighted:
    """Nominal alpha of ``repeats`` independent draws an item, as a function of item weights.

    With p_uc the probability of label c for item u and d_u = 1 − Σ_c p_uc², N items and n = K·N values: the
    expected observed disagreement is D_o = Σ_u d_u / N. Two values of one item (K(K − 1) ordered pairs)
    differ with probability d_u, two of different items u, v (K² pairs) with 1 − Σ_c p_uc·p_vc, so that
    D_e = [K²·(N² − Σ_c (Σ_u p_uc)²) − K·Σ_u d_u] / (n(n − 1)). Alpha is 1 − D_o / D_e: the mean of sampled
    alphas but for terms of order 1/N.

    Args:
        probabilities: Shape (items, labels) or (items, strata, labels), each row summing to 1; NaN for none.
        repeats: K, two or more.

    Returns:
        A function to values of shape (samples, strata); NaN where there is no variation, or one item.

    Two items, one sure of a, one sure of b: alpha is 1. Both at even odds, K = 2: D_o = ½; of 12 ordered
    pairs, 4 within items and 8 across, half differ, so alpha is 0:

    >>> ones = np.ones((1, 2))
    >>> float(expected_alpha(np.eye(2), 2)(ones)[0, 0])
    1.0
    >>> float(expected_alpha(np.full((2, 2), 0.5), 2)(ones)[0, 0])
    0.0
    """
    known = np.isfinite(over_values(probabilities))
    shares = np.where(known[..., None], probabilities, 0.0)
    flat = shares.reshape(len(shares), -1)
    known = known.reshape(len(shares), -1)
    differ = np.where(known, 1 - over_values(shares**2).reshape(known.shape), 0.0)
    given = known.astype(np.float64)

    def statistic(weights: Floats) -> Floats:
        items, within = weights @ given, weights @ differ
        totals = (weights @ flat).reshape(*items.shape, -1)
        # All pairs as if independent, less the K of an item that are one value with itself.
        pairs = repeats**2 * (items**2 - over_values(totals**2)) - repeats * within
        n = repeats * items
        small = 1e-12 * np.maximum(n, 1) ** 2
        observed = within / np.where(items > 0, items, 1)
        expected = pairs / np.where(n > 1, n * (n - 1), 1)
        # One item has no expectation across items.
        defined = (pairs > small) & (items > 1)
        return np.asarray(np.where(defined, 1 - observed / np.where(defined, expected, 1), np.nan))

    return statistic


def sampling_variance(probabilities: Floats, repeats: int) -> Floats:
    """How much the alpha of ``repeats`` draws an item varies, the items staying the same.

    By the delta method: with A the share of pairs of draws about an item that agree, P_c the labels' shares
    and D_e = 1 − Σ P_c², dα = dA / D_e − 2·(1 − A) / D_e²·Σ P_c dP_c. An item's part of A is a U-statistic
    (Hoeffding 1948, Annals of Mathematical Statistics 19, 293-325), whose variance is
    [4(K − 2)·ζ₁ + 2·ζ₂] / (K(K − 1)), ζ₁ = Σ p³ − (Σ p²)² and ζ₂ = Σ p²·(1 − Σ p²).

    Args:
        probabilities: Shape (items, strata, labels), each row summing to 1; NaN for none.
        repeats: K, two or more.

    Returns:
        A variance each stratum; NaN where alpha is undefined.

    Items of which the label is sure have nothing to vary:

    >>> sampling_variance(np.eye(2)[:, None], 5).tolist()
    [0.0]
    """
    known = np.isfinite(over_values(probabilities))
    p = np.where(known[..., None], probabilities, 0.0)
    items, k = known.sum(0), repeats
    shares = p.sum(0) / np.maximum(items, 1)[:, None]
    squares = p**2
    square, cube = over_values(squares), over_values(squares * p)
    apart = 1 - (shares**2).sum(-1)
    agree = square.sum(0) / np.maximum(items, 1)
    first, second = cube - square**2, square * (1 - square)
    pairs = (4 * (k - 2) * first + 2 * second) / (k * (k - 1))
    mean = over_values(p * shares)
    of_shares = (over_values(p * shares**2) - mean**2) / k
    both = 2 * (over_values(squares * shares) - square * mean) / k
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = 2 * (1 - agree) / apart**2
        each = (pairs / apart**2 - 2 * slope / apart * both + slope**2 * of_shares).sum(0)
        return np.asarray(np.where((apart > 1e-12) & (items > 1), each / items**2, np.nan))
