"""One regression on the labels of many specifications: its contrast tested in all of them at a time."""

from __future__ import annotations

from typing import Literal, NamedTuple

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


class _Side(NamedTuple):
    """As how many items, and groups of them where there are groups, one side of a contrast counts."""

    items: float
    groups: float | None


class Specifications:
    """A contrast in the outcomes of several specifications.

    Args:
        matrix: The items' columns, shape (items, columns); NaN where an item has no value.
        contrast: Of the coefficients.
        outcomes: Shape (items, specifications); NaN where an item has none.
        kind: Of regression.
        ends: The least and the largest outcome.
        clusters: Each item's group, where items are not on their own.
    """

    def __init__(
        self,
        matrix: Floats,
        contrast: Floats,
        outcomes: Floats,
        kind: Literal["linear", "logistic"],
        ends: tuple[float, float],
        clusters: NDArray[np.int64] | None,
    ) -> None:
        self._matrix, self._contrast, self._outcomes = matrix, contrast, outcomes
        self._test: type[LinearTest | LogisticTest] = LinearTest if kind == "linear" else LogisticTest
        self.linear, self._ends, self._clusters = kind == "linear", ends, clusters
        known = np.isfinite(outcomes) & np.asarray(np.isfinite(matrix).all(1))[:, None]
        kinds: dict[bytes, int] = {}
        self._kind = [
            kinds.setdefault(known[:, index].tobytes(), len(kinds)) for index in range(outcomes.shape[1])
        ]
        self._known = [np.frombuffer(mask, np.bool_) for mask in kinds]
        self._place = [self._kind[:index].count(kind) for index, kind in enumerate(self._kind)]
        self._tests: dict[int, tuple[ScoreTest | None, float]] = {}
        self._statistics: dict[tuple[int, float], Floats] = {}
        self._intervals: dict[tuple[int, float], tuple[Floats, Floats]] = {}
        self._smaller: dict[int, _Side] = {}

    def _tested(self, kind: int) -> tuple[ScoreTest | None, float]:
        """The test of all specifications that labelled the same items, and Σ a_i of these."""
        if kind not in self._tests:
            known = self._known[kind]
            low, high = self._ends
            if not (known.any() and high > low):
                return None, 0.0
            design = self._matrix[known]
            alike = [index for index, one in enumerate(self._kind) if one == kind]
            outcomes = (self._outcomes[known][:, alike] - low) / (high - low)
            clusters = None if self._clusters is None else self._clusters[known]
            found = orthonormal(design, self._contrast)
            if found is None:
                self._tests[kind] = None, 0.0
            else:
                test = self._test(design, outcomes, self._contrast, clusters)
                total = float((found[0] @ found[1]).sum()) if self.linear else 0.0
                self._tests[kind] = test, total
        return self._tests[kind]

    def interval(self, column: int, confidence_level: float) -> Interval | None:
        """The score interval of one specification; None where it has no value."""
        kind = self._kind[column]
        test, total = self._tested(kind)
        if test is None:
            return None
        # The level at which a normal quantile is the one of Student's t for as many groups.
        tail = float(special.stdtrit(self._freedom(kind), (1 - confidence_level) / 2))
        level = 1 - 2 * float(special.ndtr(tail))
        if (kind, level) not in self._intervals:
            self._intervals[kind, level] = score_interval(test, level)
        low, high = (float(end[self._place[column]]) for end in self._intervals[kind, level])
        if not (np.isfinite(low) and np.isfinite(high)):
            return None
        return Interval(self._unscaled(low, total), self._unscaled(high, total))

    def _unscaled(self, value: float, total: float) -> float:
        low, high = self._ends
        return value * (high - low) + low * total if self.linear else value

    def p(self, column: int, at: float) -> float | None:
        """The two-sided p value of one specification's contrast being ``at``."""
        kind, place = self._kind[column], self._place[column]
        test, total = self._tested(kind)
        if test is None or not np.isfinite(test.value[place]):
            return None
        if (kind, at) not in self._statistics:
            low, high = self._ends
            value = (at - low * total) / (high - low) if self.linear else at
            self._statistics[kind, at] = test.statistic(np.full(self._kind.count(kind), value))
        statistic = float(self._statistics[kind, at][place])
        return float(2 * special.stdtr(self._freedom(kind), -abs(statistic)))

    def _freedom(self, kind: int) -> float:
        """Of a test over groups: as many as there are, less the two sides of the contrast."""
        if self._clusters is None:
            return np.inf
        return float(max(1, np.unique(self._clusters[self._known[kind]]).size - 2))

    def _sides(self, kind: int) -> _Side:
        """The smaller side of the contrast in what these specifications labelled."""
        if kind not in self._smaller:
            known = self._known[kind]
            lever = levers(self._matrix[known], self._contrast)
            items = _smaller_side(lever, np.arange(lever.size))
            groups = None if self._clusters is None else _smaller_side(lever, self._clusters[known])
            self._smaller[kind] = _Side(items, groups)
        return self._smaller[kind]

    def warnings(self, column: int, unit: str) -> tuple[str, ...]:
        """What a reader must know of how little one side of the contrast rests on.

        A contrast sets the items that raise it (a_i > 0) against those that lower it. A side counts as
        (Σ|a_i|)² / Σ a_i² items (Kish 1965), and as fewer groups.
        """
        kind = self._kind[column]
        known, side = self._known[kind], self._sides(kind)
        low, high = self._ends
        share = float((self._outcomes[known, column].mean() - low) / (high - low))
        said: list[str] = []
        if side.items * min(share, 1 - share) < _FEW_EVENTS:
            said.append(
                IntervalWarning(
                    f"one side of the contrast rests on about {side.items:.1f} items, which are few for so "
                    "uneven a label: a single one of them can decide the verdict"
                )
            )
        if side.groups is not None and side.groups < _FEW_GROUPS:
            said.append(
                IntervalWarning(
                    f"one side of the contrast rests on about {side.groups:.1f} {unit}s: the interval takes "
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
