"""The measures, by name: ``quaver.measures.inter_pss``, ``from quaver.measures import accuracy``.

Each registered measure is here, a plug-in's too, and is loaded when it is first used. ``help`` of one shows
its formula and all its arguments. How a measure is made: `quaver.estimation.declaration`.

Beside them are functions that no study file names as a measure: ``conclusion``, ``deviations`` …
"""

from __future__ import annotations

from typing import Any

from quaver.core import registry
from quaver.core.registry import lazy_names

FUNCTIONS = {
    "baseline": "quaver.measures.correctness.accuracy",
    "conclusion": "quaver.measures.validity.conclusions",
    "consistency_matrix": "quaver.measures.variation.item_sensitivity",
    "deviation_shares": "quaver.measures.variation.label_movement",
    "deviations": "quaver.measures.variation.label_movement",
    "item_stability": "quaver.measures.variation.item_sensitivity",
    "label_movement": "quaver.measures.variation.label_movement",
    "mcnemar": "quaver.measures.correctness.robustness",
    "reliability_curve": "quaver.measures.calibration.calibration_error",
}
"""The functions that are no registered measure, and their modules."""

_function = lazy_names(__name__, FUNCTIONS)


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return __dir__()
    if name not in registry.names("measures"):
        return _function(name)
    result = registry.load("measures", name)
    globals()[name] = result
    return result


def __dir__() -> list[str]:
    return sorted({*registry.names("measures"), *FUNCTIONS})
