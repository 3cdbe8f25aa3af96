"""Whether classes whose labels move more with the paraphrase are answered less alike."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import scipy

from quaver.core.records import Estimate
from quaver.errors import MeasureError
from quaver.estimation.measure_protocol import guarded
from quaver.estimation.rank_correlation import spearman
from quaver.measures.variation.item_sensitivity import PAPER

_METHOD = (
    "Pearson’s correlation of sensitivity and consistency over classes and cells; interval by Fisher’s z"
)


@guarded
def sensitivity_with_consistency(
    sensitivities: Sequence[Estimate],
    consistencies: Sequence[Estimate],
    *,
    floor: float = 0.05,
    confidence_level: float = 0.95,
) -> Estimate:
    """The correlation of sensitivity and consistency over the classes of all cells.

    Where nothing moves, sensitivity is about 0 whatever the consistency; classes whose sensitivity is under
    ``floor`` are left out and counted. The interval takes the classes for independent, which those of one
    model are not quite. Undefined for fewer than three classes, or where one side does not vary.

    Args:
        sensitivities: Of `sensitivity`, with ``by_class`` in their details.
        consistencies: Of `consistency`, of the same cells.
        floor: The least sensitivity that counts.
        confidence_level: Nominal level.

    Returns:
        Pearson's correlation. ``details`` has ``rank_correlation`` (Spearman's) and ``classes``: the cell,
        class, ``sensitivity``, ``consistency`` of each, and whether it was ``counted``.

    Raises:
        MeasureError: An estimate is of another measure.

    >>> def of(measure, values):
    ...     return [Estimate(measure, 0.5, details={"by_class": values})]
    >>> found = sensitivity_with_consistency(
    ...     of("sensitivity", {"a": 0.2, "b": 0.4, "c": 0.6, "d": 0.01}),
    ...     of("consistency", {"a": 0.9, "b": 0.8, "c": 0.7, "d": 0.1}))
    >>> round(found.value, 12), found.n, found.excluded
    (-1.0, 3, {'class with a sensitivity under 0.05': 1})
    """
    _check(sensitivities, "sensitivity")
    _check(consistencies, "consistency")
    classes = list(_classes(sensitivities, consistencies, floor))
    x = np.array([one["sensitivity"] for one in classes if one["counted"]])
    y = np.array([one["consistency"] for one in classes if one["counted"]])
    lost = len(classes) - x.size
    said: dict[str, Any] = {
        "measure": "sensitivity_with_consistency",
        "confidence_level": confidence_level,
        "n": x.size,
        "unit": "class and cell",
        "method": _METHOD,
        "reference": PAPER,
        "excluded": {f"class with a sensitivity under {floor:g}": lost} if lost else {},
    }
    details: dict[str, Any] = {"classes": classes, "floor": floor}
    if x.size < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        why = "fewer than three classes" if x.size < 3 else "no variation"
        return Estimate(value=None, reason=why, details=details, **said)
    r = float(np.clip(np.corrcoef(x, y)[0, 1], -1, 1))
    details["rank_correlation"] = spearman(x, y, permutations=0).value
    low = high = None
    if x.size > 3 and abs(r) < 1 - 1e-12:
        z = float(scipy.special.ndtri(0.5 + confidence_level / 2)) / math.sqrt(x.size - 3)
        low, high = math.tanh(math.atanh(r) - z), math.tanh(math.atanh(r) + z)
    return Estimate(value=r, low=low, high=high, details=details, **said)


def _check(estimates: Sequence[Estimate], measure: str) -> None:
    if other := sorted({one.measure for one in estimates} - {measure}):
        raise MeasureError(
            "estimates of another measure", where="estimates", expected=measure, found=", ".join(other)
        )


def _classes(
    sensitivities: Sequence[Estimate], consistencies: Sequence[Estimate], floor: float
) -> Iterator[Mapping[str, Any]]:
    alike = {tuple(sorted(one.cell.items())): one.details.get("by_class", {}) for one in consistencies}
    for one in sensitivities:
        own = one.details.get("by_class", {})
        other = alike.get(tuple(sorted(one.cell.items())), {})
        for name, value in own.items():
            if "class" not in one.cell and name in other:
                yield {
                    "cell": dict(one.cell),
                    "class": name,
                    "sensitivity": value,
                    "consistency": other[name],
                    "counted": value >= floor,
                }
