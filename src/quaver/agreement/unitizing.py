"""How far raters disagree about which stretches of a text they mark: Krippendorff's αU.

Source: Krippendorff (1995), On the reliability of unitizing contiguous data, Sociological Methodology 25,
47-76, with the expected disagreement as in Krippendorff (2004), Content Analysis, 2nd ed., section 11.6.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Stretches = Sequence[tuple[float, float]]
"""Where the stretches that a rater marks begin and end in a text; they do not overlap."""


def unit_disagreement(marked: Sequence[Stretches], length: float) -> tuple[float, float]:
    """The observed and the expected disagreement of raters who mark stretches of one text.

    αU is 1 − Do / De. Two raters' stretches that overlap differ by the squares of how far apart they begin
    and end, and a stretch that overlaps none of the other's by the square of its length l:

        Do = Σ of these differences over all pairs of raters, in both orders / (m (m − 1) L²),
        De = 2 / L · Σ_units [(N − 1) (2l³ − 3l² + l) / 3 + l² Σ_gaps≥l (gap − l + 1)]
             / (mL (mL − 1) − Σ_units l (l − 1)),

    with m raters, N stretches and a text of length L; gaps are what a rater leaves unmarked.

    Args:
        marked: For each rater, the stretches.
        length: The length of the text.

    Krippendorff (2004), page 254: 1 − 0.0144 / 0.0532 = 0.7286

    >>> raters = [[(75, 145), (220, 250)], [(70, 150), (205, 225), (250, 270)]]
    >>> observed, expected = unit_disagreement(raters, 300)
    >>> round(observed, 4), round(expected, 4), round(1 - observed / expected, 4)
    (0.0144, 0.0532, 0.7286)
    """
    units = [np.array(sorted(some), np.float64).reshape(-1, 2) for some in marked]
    m, observed = len(units), 0.0
    for index, unit in enumerate(units):
        for other in units[index + 1 :]:
            # How far apart the stretches of two raters are
            starts, ends = (unit[:, None, end] - other[None, :, end] for end in (0, 1))
            overlap = (unit[:, None, 0] < other[None, :, 1]) & (other[None, :, 0] < unit[:, None, 1])
            disagreement = float(((starts**2 + ends**2) * overlap).sum())
            for own, axis in ((unit, 1), (other, 0)):
                alone = own[~overlap.any(axis)]
                disagreement += float(((alone[:, 1] - alone[:, 0]) ** 2).sum())
            observed += disagreement
    sizes = np.concatenate([np.diff(unit, axis=1).ravel() for unit in units])
    gaps = np.concatenate([_gaps(unit, length) for unit in units])
    alike = (len(sizes) - 1) * (2 * sizes**3 - 3 * sizes**2 + sizes) / 3
    room = gaps[None, :] - sizes[:, None]
    beside = sizes**2 * np.where(room >= 0, room + 1, 0.0).sum(1)
    places = m * length * (m * length - 1) - (sizes * (sizes - 1)).sum()
    expected = 2 / length * (alike + beside).sum() / places
    return 2 * observed / (m * (m - 1) * length**2), float(expected)


def _gaps(units: NDArray[np.float64], length: float) -> NDArray[np.float64]:
    """What a rater leaves unmarked, before, between and behind the stretches."""
    gaps = np.diff(units.ravel(), prepend=0.0, append=length)[::2]
    return gaps[gaps > 0]
