"""Looks at successive versions against one baseline, kept in the study's folder: what each may still spend.

A gate that is run at every commit looks many times. Its looks share one error, `1 - confidence_level`,
whichever version they are at: see `quaver.sequential.spent_error`. A look at labels that were looked at
before, judged by the same bounds, is that look again and spends nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from math import sqrt
from typing import Any

import numpy as np
import polars as pl

from quaver.comparison.bounds import Bound
from quaver.comparison.difference_verdict import FAMILY, worded
from quaver.core.records import Estimate
from quaver.sequential.spent_error import Look, share_of_look, tail_of_look, times_as_wide
from quaver.study.sources.study_folder import StudyFolder

PLANNED = 100
"""Looks at versions against one baseline that share most of the error, unless the user says how many."""

_LABELS = ("model", "decoding", "variant", "evaluator", "item", "repeat", "label", "status")


@dataclass(frozen=True, slots=True)
class LookAt:
    """One of many looks against the same baseline.

    Attributes:
        number: From 1.
        planned: How many were planned.
        level: Of its intervals.
        wider: How many times as wide these are as intervals that are looked at once.
        error: How often the whole sequence may err.
        spent: How much of the sequence's error this look and those before it may have used.
        again: Whether the same labels were looked at before; the look then spent nothing.
    """

    number: int
    planned: int
    level: float
    wider: float
    error: float
    spent: float
    again: bool

    @property
    def sentence(self) -> str:
        """Which look it is, and what it was judged by, in words."""
        return worded("look", self)


class Looks:
    """The looks at one baseline, in a study's folder.

    Args:
        files: The folder's files.
        baseline: The annotations of the baseline.
        planned: How many looks are planned.
        error: How often the whole sequence may err.
    """

    def __init__(self, files: StudyFolder, baseline: pl.DataFrame, planned: int, error: float) -> None:
        self._files, self._planned, self._error = files, planned, error
        self._baseline = digest_of(baseline)
        self._known: list[dict[str, Any]] = list(files.read("looks.json").get("looks", ()))
        self._earlier = [one for one in self._known if one["baseline"] == self._baseline]

    def allowed(self, judging: int) -> float:
        """The tail that the next look may spend on each of the differences that it judges."""
        return self._error * self._share / max(1, judging)

    def look(
        self,
        after: pl.DataFrame,
        bounds: Sequence[Bound],
        estimates: Sequence[Estimate],
        items: Sequence[str],
        judged_by: float | None = None,
    ) -> LookAt:
        """The level at which this look's differences are judged; the look is kept."""
        judged, labels = judged_differences(bounds, estimates), digest_of(after)
        texts = sorted({f"{bound.kind} {bound.text}" for bound in bounds})
        for number, one in enumerate(self._earlier, 1):
            if (one["labels"], one["bounds"], one["error"]) == (labels, texts, self._error):
                return self._look(number, judged_by or one["tail"], again=True)
        number, units = len(self._earlier) + 1, _hashed(sorted(items))
        share, allowed = self._share, self.allowed(len(judged))
        left_out = {key: None if judged_by else _left_out(estimate) for key, estimate in judged.items()}
        tails = [tail_of_look(allowed, self._looks(key, units), now) for key, now in left_out.items()]
        tail = min(tails, default=allowed)
        kept = {key: None if now is None else _short(now) for key, now in left_out.items()}
        self._earlier.append(
            {
                "baseline": self._baseline,
                "labels": labels,
                "time": datetime.now(UTC).isoformat(timespec="seconds"),
                "bounds": texts,
                "error": self._error,
                "share": share,
                "tail": tail,
                "items": units,
                "left_out": kept,
            }
        )
        self._files.write("looks.json", {"looks": [*self._known, self._earlier[-1]]})
        return self._look(number, judged_by or tail, again=False)

    def _looks(self, key: str, units: str) -> list[Look]:
        """The earlier looks at one difference; those at other items are not tied to this one."""
        return [
            Look(one["tail"], np.array(values) if one["items"] == units and values else None)
            for one in self._earlier
            if key in one["left_out"]
            for values in [one["left_out"][key]]
        ]

    def _look(self, number: int, tail: float, *, again: bool) -> LookAt:
        wider = times_as_wide(tail, self._error / 2)
        return LookAt(number, self._planned, 1 - 2 * tail, wider, self._error, self._spent, again)

    @property
    def _share(self) -> float:
        """What the next look gets of the whole error."""
        return min(share_of_look(len(self._earlier) + 1, self._planned), max(0.0, 1 - self._spent))

    @property
    def _spent(self) -> float:
        return float(sum(one["share"] for one in self._earlier))


def digest_of(frame: pl.DataFrame) -> str:
    """A short hash of a frame's labels, whatever the order of its rows."""
    names = [name for name in _LABELS if name in frame.columns]
    rows = frame.select(pl.col(names).cast(pl.String)).sort(names, nulls_last=True)
    return _hashed(rows.rows())


def _hashed(document: Any) -> str:
    text = json.dumps(document, ensure_ascii=True)
    return blake2b(text.encode(), digest_size=12).hexdigest()


def judged_differences(bounds: Sequence[Bound], estimates: Sequence[Estimate]) -> dict[str, Estimate]:
    """The differences that a look judges, by what they are and on which side they err."""
    judged: dict[str, Estimate] = {}
    sides: dict[int, set[str]] = {}
    for bound in bounds:
        for estimate in bound.judged(estimates):
            sides.setdefault(id(estimate), set()).add(bound.sign)
    for estimate in estimates:
        alone = set() if FAMILY in estimate.details else {"<", ">"}
        here = sides.get(id(estimate), set()) if bounds else alone
        cell = ", ".join(f"{column}={level}" for column, level in sorted(estimate.cell.items()))
        if estimate.low is not None:
            judged |= {f"{estimate.measure} {side}: {cell}": estimate for side in sorted(here)}
    return judged


def _left_out(estimate: Estimate) -> Any:
    """The difference with each unit left out, where it varies."""
    values = None if estimate.draws is None else estimate.draws.jackknife
    return values if values is not None and len(values) > 1 and np.isfinite(values).all() else None


def _short(values: Any) -> list[float]:
    """The values about their mean, of length 1, in five digits: enough to see how looks are tied."""
    apart = values - values.mean()
    length = sqrt(float(apart @ apart)) or 1.0
    return [float(f"{value:.5g}") for value in apart / length]
