"""A round of a gold sample: how large it is, how it is drawn, and the interval to expect of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import cached_property
from math import ceil
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from quaver.core.meter import account_name
from quaver.core.rows import Rows
from quaver.core.seeds import derive
from quaver.errors import MeasureError, QuaverError, StoreError
from quaver.gold.coder_sheet import labels_per_item
from quaver.gold.gold_draw import (
    FLOOR,
    HOW,
    STRATA,
    Design,
    Floats,
    drawn,
    expected_width,
    first_draw,
    joined,
    predicted_labels,
    probabilities,
    strata_of,
)
from quaver.report.page_templates import template
from quaver.study.analysis.annotation_frame import scan
from quaver.study.gold_sample.gold_options import GoldOptions
from quaver.study.sources.gold_files import DesignFile, GoldState, Round
from quaver.study.sources.study_source import StudySource

CODER: Final = "coder"
"""The name of a coder who has none."""

FEWEST_EVENTS: Final = 8
"""Gold labels of the rarest label that a corrected interval takes, about."""

_STRATA_FOR: Final = 200
"""The size that strata are made for where the size is what is asked."""

_OVERLAP: Final = 0.2


@dataclass(frozen=True, slots=True)
class GoldForecast(Rows):
    """What a sample is expected to bring, before its labels are there.

    Attributes:
        design: How items are drawn.
        by: What tells its strata apart.
        population: How many items there are.
        size: How many items the whole sample has.
        labels: How many labels people give for this round, with those of several coders.
        width: The width that is expected of the widest interval of a label's corrected share.
        rarest: How many gold labels are expected of the rarest label.
    """

    design: Design
    by: tuple[str, ...]
    population: int
    size: int
    labels: int
    width: float
    rarest: float

    def rows(self) -> list[dict[str, Any]]:
        """One row."""
        return [{**{one.name: getattr(self, one.name) for one in fields(self)}, "by": ", ".join(self.by)}]

    def __str__(self) -> str:
        """A few sentences."""
        text = template("terminal/gold_forecast.txt").render(plan=self, fewest=FEWEST_EVENTS)
        return text.rstrip("\n")


@dataclass(frozen=True, slots=True)
class GoldDrawn:
    """A round that was drawn.

    Attributes:
        forecast: What the sample is expected to bring.
        round: The round's number.
        drawn: How many items it drew.
        known: How many of them the table has true labels of, which nobody has to give again.
        files: The coders' sheets, and what belongs to them.
    """

    forecast: GoldForecast
    round: int
    drawn: int
    known: int = 0
    files: tuple[Path, ...] = ()


class RoundPlan:
    """The next round of a study's gold sample.

    Args:
        source: The study.
        state: Its gold sample now.
        given: What is asked for, with every option.
    """

    def __init__(self, source: StudySource, state: GoldState, given: GoldOptions) -> None:
        self._source, self._state, self._given = source, state, given
        if (given["n"] is None) == (given["target"] is None):
            raise QuaverError(
                "how large is the sample to be?",
                where="gold",
                expected="n (items) or target (a width)",
                found="neither" if given["n"] is None else "both",
                fix="quaver gold STUDY --n 200",
            )
        before = state.design["rounds"][-1] if state.design else None
        self._coders = coders_of(given["coders"] or (before["coders"] if before else [CODER]))
        usual = before["overlap"] if before else _OVERLAP
        self._overlap = usual if given["overlap"] is None else given["overlap"]
        items = [item.id for item in source.experiment.items]
        self._predicted = predicted_labels(_labels(source), items, source.experiment.labels.codes)
        self._design = self._chosen()
        simple = self._design == "simple"
        strata = ["all"] * len(items) if simple else strata_of(self._predicted, given["n"] or _STRATA_FOR)
        if state.draw is None or state.design is None:
            self._before = first_draw(items, strata)
        else:
            self._before = joined(state.draw, items, strata, len(state.design["rounds"]) + 1)
        doubt = pl.DataFrame({"item": items, "doubt": self._predicted.doubt})
        there = self._before.join(doubt, on="item", how="left", maintain_order="left")["doubt"]
        self._worth = None if simple else there.fill_null(there.mean()).to_numpy()
        place = {item: index for index, item in enumerate(self._before["item"])}
        self._order = np.array([place[item] for item in items])

    @cached_property
    def forecast(self) -> GoldForecast:
        """What the sample is expected to bring."""
        had, most = int(self._before["drawn"].sum()), len(self._order)
        size = (
            self._given["n"] if self._given["n"] is not None else self._size_for(self._given["target"] or 1.0)
        )
        if size < 2 or (size <= had < most):
            raise QuaverError(
                "this is no larger than the sample that there is" if had else "this is no sample",
                where="gold",
                expected=f"more than {max(had, 1):,} items",
                found=f"{size:,}",
                fix="name a larger sample, or leave the sample as it is",
            )
        size = min(size, most)
        labels = ceil((size - had) * labels_per_item(len(self._coders), self._overlap) - 1e-9)
        by, (width, rarest) = tuple(STRATA[self._design]), self._expected(size)
        return GoldForecast(self._design, by, most, size, labels, width, rarest)

    def draw(self, seed: int | None, drawn_by: str | None) -> tuple[GoldState, GoldDrawn]:
        """Draw the round: the sample with it, and what was drawn."""
        forecast, design = self.forecast, self._design_file(seed)
        number = len(design["rounds"]) + 1
        after = drawn(self._before, forecast.size, design["seed"], number=number, worth=self._worth)
        about: Round = {
            "round": number,
            "when": now(),
            "asked": {name: value for name in ("n", "target") if (value := self._given[name]) is not None},
            "size": forecast.size,
            "drawn": after.filter(pl.col("round") == number).height,
            "coders": self._coders,
            "overlap": self._overlap,
            "by": drawn_by or account_name(),
        }
        state = GoldState({**design, "rounds": [*design["rounds"], about]}, after, self._state.coded)
        return state, GoldDrawn(forecast, number, about["drawn"])

    def _expected(self, size: float) -> tuple[float, float]:
        """The width of the widest interval, and how many gold labels the rarest label will have."""
        chances: Floats = probabilities(self._before, size, self._worth)[self._order]
        return expected_width(self._predicted, chances), float(
            (chances @ self._predicted.probabilities).min()
        )

    def _size_for(self, target: float) -> int:
        """The smallest sample with an interval that is as narrow."""
        low, high = 2, len(self._order)
        if (narrowest := self._expected(high)[0]) > target:
            raise MeasureError(
                "no gold sample of these items makes the interval as narrow",
                where="target",
                expected=f"a width of {narrowest:.3f} or more, which labels of all {high:,} items lead to",
                found=f"{target:g}",
                fix="collect more items, or accept a wider interval",
            )
        while low < high:
            middle = (low + high) // 2
            width, rarest = self._expected(middle)
            low, high = (low, middle) if width <= target and rarest >= FEWEST_EVENTS else (middle + 1, high)
        return low

    def _chosen(self) -> Design:
        """The design, as the first round had it."""
        wanted, has_labels = self._given["design"], bool(self._predicted.answers.any())
        if self._state.design is not None:
            first = self._state.design["design"]
            if wanted not in (None, first):
                raise QuaverError(
                    "a later round is drawn like the first",
                    where="design",
                    expected=f"{first} sampling",
                    found=f"{wanted} sampling",
                    fix="leave the design out; it is recorded in gold/design.json",
                )
            return first
        if wanted == "stratified" and not has_labels:
            raise QuaverError(
                "no model has labelled these items yet",
                where="design",
                expected="simple sampling",
                found="strata of the models' labels",
                fix="collect labels first (`quaver run`), or draw a simple sample",
            )
        return wanted or ("stratified" if has_labels else "simple")

    def _design_file(self, seed: int | None) -> DesignFile:
        """The design's document, before the round that comes."""
        if self._state.design is None:
            return {
                "form": "quaver gold 1",
                "seed": derive(self._source.spec.seed, "gold") if seed is None else seed,
                "design": self._design,
                "by": STRATA[self._design],
                "floor": FLOOR,
                "how": HOW,
                "rounds": [],
                "rule": "adjudicator",
                "taken": [],
            }
        if seed not in (None, self._state.design["seed"]):
            raise QuaverError(
                "a later round is drawn with the seed of the first",
                where="seed",
                expected=str(self._state.design["seed"]),
                found=str(seed),
                fix="leave the seed out",
            )
        return self._state.design


def _labels(source: StudySource) -> pl.DataFrame | None:
    """The labels that models have given; None where there are none."""
    if source.can_ask and not source.files.responses.exists():
        return None
    try:
        return scan(source).select("item", "evaluator", "label").collect()
    except StoreError:
        return None


def coders_of(names: Sequence[str]) -> list[str]:
    """Coders' names, each once."""
    result = [name.strip() for name in ([names] if isinstance(names, str) else names)]
    if not result or not all(result) or len({*result}) < len(result) or any("(" in name for name in result):
        raise QuaverError(
            "coders need names that tell them apart",
            where="coders",
            expected="each name once, without brackets",
            found=", ".join(map(repr, result)) or "none",
        )
    return result


def now() -> str:
    """The time, as it is recorded."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
