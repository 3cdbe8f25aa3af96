"""promptstability's summaries of scores, and the scores that stand in a saved frame."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quaver.promptstability.stability_scores import COLUMNS, Score

_REPEATS = (
    *("final_alpha", "final_ci_lower", "final_ci_upper", "final_ci_width"),
    *("run_count_to_estimate_stability", "run_count_to_precision_stability", "max_abs_deviation_from_final"),
)
_NEIGHBOURS = (
    *("mean_alpha", "sd_alpha", "iqr_alpha", "min_alpha", "max_alpha"),
    *("share_below_threshold", "mean_ci_width"),
)
_TEMPERATURES = (
    *("mean_alpha", "sd_alpha_across_temperatures", "min_alpha", "temperature_at_min_alpha", "max_alpha"),
    *("temperature_range_alpha", "share_temperatures_below_threshold"),
)


def summaries_of_repeats(
    scores: Mapping[str, Mapping[int, Score]], threshold: float, near: float, narrow: float
) -> dict[str, dict[str, float]]:
    """The summary of each mode: of the first k repeats, and of each with the one before."""
    summaries = {}
    if "cumulative_alpha" in scores:
        _, alphas, lows, highs = _columns(scores["cumulative_alpha"])
        values: tuple[float, ...] = ()
        if alphas.size:
            away, widths = np.abs(alphas - alphas[-1]), highs - lows
            ends = (alphas[-1], lows[-1], highs[-1], widths[-1])
            values = (*ends, _runs_until(away <= near), _runs_until(widths <= narrow), away.max())
        summaries["cumulative_alpha"] = _named(_REPEATS, values)
    if "adjacent_alpha" in scores:
        _, alphas, lows, highs = _columns(scores["adjacent_alpha"])
        values = ()
        if alphas.size:
            low, high = np.percentile(alphas, [25, 75])
            spread = (_deviation(alphas), high - low, alphas.min(), alphas.max())
            values = (alphas.mean(), *spread, (alphas < threshold).mean(), (highs - lows).mean())
        summaries["adjacent_alpha"] = _named(_NEIGHBOURS, values)
    return summaries


def summary_of_temperatures(scores: Mapping[float, Score], threshold: float) -> dict[str, float]:
    """The summary of scores over temperatures."""
    places, alphas, _, _ = _columns(scores)
    values: tuple[float, ...] = ()
    if alphas.size:
        lowest = (alphas.min(), places[alphas.argmin()])
        spread = (alphas.max(), np.ptp(alphas), (alphas < threshold).mean())
        values = (alphas.mean(), _deviation(alphas), *lowest, *spread)
    return _named(_TEMPERATURES, values)


def _columns(scores: Mapping[Any, Score]) -> NDArray[np.float64]:
    """Places, scores, and the ends of their intervals, in order."""
    keys = [COLUMNS[f"ka_{end}"] for end in ("mean", "lower", "upper")]
    rows = sorted((float(place), *(score[key] for key in keys)) for place, score in scores.items())
    return np.array(rows, float).reshape(-1, 4).T


def _named(names: tuple[str, ...], values: tuple[float, ...]) -> dict[str, float]:
    return dict(zip(names, map(float, values or (math.nan,) * len(names)), strict=True))


def _deviation(alphas: NDArray[np.float64]) -> float:
    return float(alphas.std(ddof=1)) if alphas.size > 1 else 0.0


def _runs_until(holds: NDArray[np.bool_]) -> float:
    """The number of runs from which a condition holds to the end; NaN where it does not at the end."""
    fails = np.flatnonzero(~holds)
    first = int(fails[-1]) + 1 if fails.size else 0
    return first + 2 if first < holds.size else math.nan
