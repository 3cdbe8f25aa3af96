"""One regression on the labels of one specification: its contrast, tested."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from quaver.core.records import IntervalWarning
from quaver.estimation.bootstrap import Floats
from quaver.estimation.intervals import Interval
from quaver.estimation.regression import levers, orthonormal
from quaver.estimation.score_tests import LinearTest, LogisticTest, ScoreTest, score_interval

_FEW_EVENTS = 0.6
"""Below this many expected events on a side one label can decide: the test errs in up to 15% of cases."""
_FEW_GROUPS = 4.0
"""Below this many groups on a side, their variance is hardly known."""


class Specification:
    """A contrast in the outcomes of one specification.

    Args:
        matrix: The items' columns, shape (items, columns).
        contrast: Of the coefficients.
        outcome: Of each item.
        kind: Of regression.
        ends: The least and the largest outcome.
        clusters: Each item's group, where items are not on their own.
    """

    def __init__(
        self,
        matrix: Floats,
        contrast: Floats,
        outcome: Floats,
        kind: Literal["linear", "logistic"],
        ends: tuple[float, float],
        clusters: NDArray[np.int64] | None,
    ) -> None:
        self._lever, self._clusters = levers(matrix, contrast), clusters
        low, high = ends
        self._share = float((outcome.mean() - low) / (high - low)) if high > low else 0.0
        self._test: ScoreTest | None = None
        self._scale, self._least = (high - low, 0.0) if kind == "linear" else (1.0, 0.0)
        if high > low and (found := orthonormal(matrix, contrast)) is not None:
            test = LinearTest if kind == "linear" else LogisticTest
            scaled = ((outcome - low) / (high - low))[:, None]
            self._test = test(matrix, scaled, contrast, clusters)
            self._least = low * float((found[0] @ found[1]).sum()) if kind == "linear" else 0.0
        # Of a test over groups: as many as there are, less the two sides of the contrast.
        self._freedom = np.inf if clusters is None else float(max(1, np.unique(clusters).size - 2))

    def interval(self, confidence_level: float) -> Interval | None:
        """The score interval; None where it has no value."""
        if self._test is None:
            return None
        # The level at which a normal quantile is the one of Student's t for as many groups.
        tail = float(special.stdtrit(self._freedom, (1 - confidence_level) / 2))
        low, high = (float(end[0]) for end in score_interval(self._test, 1 - 2 * float(special.ndtr(tail))))
        if not (np.isfinite(low) and np.isfinite(high)):
            return None
        return Interval(low * self._scale + self._least, high * self._scale + self._least)

    def p(self, at: float) -> float | None:
        """The two-sided p value of the contrast being ``at``."""
        if self._test is None or not np.isfinite(self._test.value[0]):
            return None
        statistic = float(self._test.statistic(np.array([(at - self._least) / self._scale]))[0])
        return float(2 * special.stdtr(self._freedom, -abs(statistic)))

    def warnings(self, unit: str) -> tuple[str, ...]:
        """What a reader must know of how little one side of the contrast rests on.

        A contrast sets the items that raise it (a_i > 0) against those that lower it. A side counts as
        (Σ|a_i|)² / Σ a_i² items (Kish 1965), and as fewer groups.
        """
        said: list[str] = []
        items = _smaller_side(self._lever, np.arange(self._lever.size))
        if items * min(self._share, 1 - self._share) < _FEW_EVENTS:
            said.append(
                IntervalWarning(
                    f"one side of the contrast rests on about {items:.1f} items, which are few for so "
                    "uneven a label: a single one of them can decide the verdict"
                )
            )
        groups = np.inf if self._clusters is None else _smaller_side(self._lever, self._clusters)
        if groups < _FEW_GROUPS:
            said.append(
                IntervalWarning(
                    f"one side of the contrast rests on about {groups:.1f} {unit}s: the interval takes "
                    f"the {unit}s of both sides to vary alike"
                )
            )
        return tuple(said)


def _smaller_side(lever: Floats, units: NDArray[np.int64]) -> float:
    """As how many units the smaller side of a contrast counts."""
    sizes = []
    for sign in (1.0, -1.0):
        weights = np.maximum(sign * lever, 0.0)
        if (total := float(weights.sum())) > 1e-12 * float(np.abs(lever).sum()):
            sizes.append(total**2 / float((np.bincount(units, weights) ** 2).sum()))
    return min(sizes, default=0.0)
