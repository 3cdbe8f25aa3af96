"""A study that exists as its estimates alone, for charts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from quaver.core.records import Estimate
from quaver.report.estimate_index import Results

_LOCK: dict[str, Any] = {
    "study": {"name": "Votes", "seed": 1},
    "labels": {"labels": [{"code": "a", "name": "Alpha"}, {"code": "b", "name": "Beta"}], "level": "nominal"},
    "items": {"n": 2, "gold": {"a": 1, "b": 1}},
    "variants": [
        {"id": f"tone={tone}", "factors": {"tone": tone}, "covariates": {}} for tone in ("plain", "polite")
    ],
    "models": {"tiny": {}, "large": {}},
    "evaluators": {"exact": "The rule."},
}


def results_of(estimates: Sequence[Estimate]) -> Results:
    """What a chart is given: a study of two labels, two models and two tones, with these estimates."""
    return Results(_LOCK, pl.DataFrame(), estimates)
