"""Reliability curves: the share of right answers at each confidence, with its interval."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import special

from quaver.estimation.bootstrap import Floats, Units
from quaver.estimation.confidences import Graded
from quaver.estimation.measure_protocol import guarded
from quaver.measures.calibration.calibration_bins import Binning, assigned
from quaver.measures.calibration.calibration_noise import GapNoise, gap_noise


def curve(noise: GapNoise, edges: Floats, confidence_level: float) -> list[dict[str, float]]:
    """What `reliability_curve` gives, of bins that are known already.

    Args:
        noise: The bins that hold answers.
        edges: The ends of all bins.
        confidence_level: Of the shares' intervals.
    """
    low, high = right_between(noise, confidence_level)
    return [
        {
            "low": float(edges[k]),
            "high": float(edges[k + 1]),
            "n": int(noise.n[at]),
            "confidence": float(noise.confidence[at]),
            "right": float(noise.right[at]),
            "right_low": float(low[at]),
            "right_high": float(high[at]),
        }
        for at, k in enumerate(noise.bins)
    ]


def right_between(noise: GapNoise, confidence_level: float = 0.95) -> tuple[Floats, Floats]:
    """The interval of each bin's share of right answers: Wilson's, with answers of one unit taken together.

    (a + z²/2m ± z √(a(1 − a)/m + z²/4m²)) / (1 + z²/m), a being the share and m how many independent answers
    would know it as well: n / (1 + ρ(Σ_units n_u²/n − 1)), with the correlation ρ of a unit's answers over
    all bins (Wilson 1927, Journal of the ASA 22, 209-212; Kish 1965, Survey Sampling, section 5.4).

    Returns:
        The low and the high ends, shape (bins that hold answers,).
    """
    a, m = noise.right, noise.n / noise.effect
    z = float(special.ndtri(0.5 + confidence_level / 2))
    middle = a + z**2 / (2 * m)
    half = z * np.sqrt(a * (1 - a) / m + z**2 / (4 * m**2))
    low, high = (np.clip((middle + sign * half) / (1 + z**2 / m), 0, 1) for sign in (-1, 1))
    return low, high


@guarded
def reliability_curve(
    confidence: Sequence[float] | Floats,
    right: Sequence[float] | Floats,
    *,
    bins: int = 10,
    binning: Binning = "width",
    level: float = 0.95,
) -> list[dict[str, float]]:
    """Mean confidence and share of right answers in each bin that holds answers.

    Args:
        confidence: Of each answer, from 0 to 1, shape (answers,).
        right: 1 or True where it is right, the same shape.
        bins: How many bins.
        binning: ``"width"`` or ``"mass"``.
        level: Of the shares' intervals.

    Returns:
        By bin: ``low`` and ``high`` (its ends), ``n``, ``confidence`` (mean), ``right`` (share), and the ends
        of its interval, ``right_low`` and ``right_high`` (see `right_between`).

    One right of two: (0.5 + 3.84/4 ± 1.96 √(0.125 + 3.84/16)) / (1 + 3.84/2) is 0.5 ± 0.4055:

    >>> (row,) = reliability_curve([0.75, 0.75], [1, 0], bins=2)
    >>> [row[name] for name in ("low", "high", "n", "confidence", "right")]
    [0.5, 1.0, 2, 0.75, 0.5]
    >>> round(row["right_low"], 4), round(row["right_high"], 4)
    (0.0945, 0.9055)
    """
    sure, true = np.asarray(confidence, np.float64), np.asarray(right, np.float64)
    alone = np.arange(sure.size)
    answers = Graded(alone, np.zeros_like(alone), sure, true, sure.size, {}, None)
    found = assigned(sure, bins, binning)
    return curve(gap_noise(answers, found, Units(sure.size)), found.edges, level) if sure.size else []
