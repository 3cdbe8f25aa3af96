"""What moves the labels of a study made by hand, measured as a study measures it."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import polars as pl

from quaver.core.records import Estimate, Label, LabelSet
from quaver.design.calls.experiment import Experiment
from quaver.study.analysis.chart_estimates import moved


def movement_of(lock: Mapping[str, Any], annotations: pl.DataFrame) -> list[Estimate]:
    """The movement of the first evaluator's labels, of the design that a lock document describes."""
    experiment = SimpleNamespace(
        labels=LabelSet(tuple(Label(one["code"], one["name"]) for one in lock["labels"]["labels"])),
        variants=[SimpleNamespace(factors=one["factors"]) for one in lock["variants"]],
        decodings=lock["decodings"],
        items=[],
        conditions=[SimpleNamespace(model=name) for name in lock["models"]],
    )
    return moved(cast(Experiment, experiment), list(lock["evaluators"]), annotations, lock["study"]["seed"])
