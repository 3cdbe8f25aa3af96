"""What the answers without a label could have done to a result: its worst case and its best."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

import numpy as np

from quaver.agreement.disagreement import Disagreement
from quaver.core.records import Estimate, LabelSet
from quaver.estimation.bootstrap import Floats, Resampling, Weighted, bootstrap
from quaver.estimation.cell import Cell
from quaver.estimation.cells import cells
from quaver.estimation.column_roles import Columns
from quaver.estimation.intervals import Claim, estimate, mean_within, undefined
from quaver.estimation.means import differing, over_strata, ratio
from quaver.estimation.measure_protocol import Frame

__all__ = ["missing_bounds"]

_REFERENCE = "Horowitz & Manski (2000), Journal of the ASA 95, 77-84"
_ENDS = ("least", "most")


def missing_bounds(
    annotations: Frame,
    *,
    labels: LabelSet | None = None,
    by: Sequence[str] = (),
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    columns: Columns | None = None,
    group: str | None = None,
    interval: Literal["bca", "percentile"] = "bca",
) -> list[Estimate]:
    """Accuracy, label shares and agreement, had the answers without a label been the worst or the best.

    For each cell, each as ``…_least`` and ``…_most``, over all answers:

    - ``missing_bounds_accuracy``: every missing label wrong, and right;
    - ``missing_bounds_share``, a label each: no missing label is this one, and all of them are;
    - ``missing_bounds_agreement``: the mean over items of the share of pairs of answers that agree,
      Σ_v n_v (n_v − 1) / (m (m − 1)), with every missing label the rarest in the item's answers so far, and
      the commonest; no other labels give less, or more;
    - ``missing_bounds_alpha``: Krippendorff's nominal alpha of these two.

    With nothing missing the two are one. Undefined: accuracy without gold labels, agreement where no item
    has two answers, alpha without variation. Agreement is among all prompts and repeats of a cell. The
    intervals resample items and know nothing of the bounds: an interval for both is from the low end of the
    least to the high end of the most.

    Source: Horowitz & Manski (2000), Journal of the ASA 95, 77-84.

    Args:
        annotations: A row an annotation; see `quaver.estimation.measure_protocol.Measure`.
        labels: The label set; without it, the labels that occur.
        by: Columns that make the cells.
        confidence: Nominal level.
        resamples: Bootstrap resamples.
        seed: Root seed.
        columns: Other names for the frame's columns.
        group: The column whose groups of items are resampled.
        interval: Which interval is given.

    Returns:
        Six estimates for each cell, and two for each of its labels.

    Raises:
        MeasureError: The frame or an option cannot be used.

    Of four answers one is missing and two of the others are right:

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 3, 4], "label": ["a", None, "a", "b"], "gold": list("aaaa")})
    >>> [(e.measure, e.value) for e in missing_bounds(frame)[:2]]
    [('missing_bounds_accuracy_least', 0.5), ('missing_bounds_accuracy_most', 0.75)]
    """
    resampling = Resampling(confidence, resamples, seed, interval)
    parts = cells(
        annotations,
        raters=("variant", "repeat"),
        within=("model", "decoding"),
        by=by,
        labels=labels,
        columns=columns,
        group=group,
        gold=True,
    )
    return [found for cell in parts for found in _Bounds(cell, resampling).estimates()]


class _Bounds:
    """One cell's label counts, with what is missing."""

    def __init__(self, cell: Cell, resampling: Resampling) -> None:
        self._cell, self._resampling = cell, resampling
        self._counts = cell.counts()
        self._missing = cell.unanswered.sum(2).astype(np.float64)

    def estimates(self) -> Iterator[Estimate]:
        """Accuracy, shares, agreement, alpha."""
        cell, counts, missing = self._cell, self._counts, self._missing
        if not counts.size:
            claim = Claim("missing_bounds", "results with the missing labels filled in", cell=cell.where, n=0)
            yield undefined(
                claim, cell.units, self._resampling, "no annotations" if not cell.items else "no labels"
            )
            return
        lost = missing.sum(1)
        asked = counts.sum((1, 2)) + lost
        gold = np.full(len(cell.items), -1) if cell.gold is None else cell.gold
        known = gold >= 0
        right = np.where(known, np.take_along_axis(counts.sum(1), np.maximum(gold, 0)[:, None], 1)[:, 0], 0.0)
        ends = (right, right + lost * known)
        method = "share of right answers"
        yield from self._ratios("accuracy", method, ends, asked * known, "no gold labels")
        for at, label in enumerate(cell.labels):
            given = counts[:, :, at].sum(1)
            yield from self._ratios(
                "share", "share of all answers", (given, given + lost), asked, "no annotations", label
            )
        filled = (_apart(counts, missing), _together(counts, missing))
        yield from self._agreement(filled)
        yield from self._alpha(filled)

    def _claim(self, kind: str, end: str, method: str, reason: str) -> Claim:
        told = {"answers": int(self._counts.sum() + self._missing.sum()), "missing": int(self._missing.sum())}
        return Claim(
            f"missing_bounds_{kind}_{end}",
            f"{method}, the missing labels filled in to make it {end}",
            _REFERENCE,
            cell=self._cell.where,
            details=told,
            reason=reason,
        )

    def _ratios(
        self,
        kind: str,
        method: str,
        ends: Sequence[Floats],
        asked: Floats,
        why: str,
        label: str | None = None,
    ) -> Iterator[Estimate]:
        for end, above in zip(_ENDS, ends, strict=True):
            claim = self._claim(kind, end, method, why)
            if label is not None:
                claim = replace(claim, cell={**(claim.cell or {}), "label": label})
            own = np.where(asked > 0, above / np.maximum(asked, 1), np.nan)
            yield self._estimate(claim, own, ratio(above[:, None], asked[:, None]))

    def _agreement(self, filled: Sequence[Floats]) -> Iterator[Estimate]:
        for end, counts in zip(_ENDS, filled, strict=True):
            m = counts.sum(2)
            pairs = np.maximum(m * (m - 1), 1)
            own = np.where(m > 1, (counts * (counts - 1)).sum(2) / pairs, 0.0)
            several = (m > 1).astype(np.float64)
            claim = self._claim(
                "agreement", end, "share of pairs of answers that agree", "fewer than two answers"
            )
            item = np.where(several.any(1), own.sum(1) / np.maximum(several.sum(1), 1), np.nan)
            yield self._estimate(claim, item, over_strata(ratio(own, several)))

    def _alpha(self, filled: Sequence[Floats]) -> Iterator[Estimate]:
        units = self._cell.units
        for end, counts in zip(_ENDS, filled, strict=True):
            claim = self._claim("alpha", end, "Krippendorff's alpha, nominal, its agreement", "no variation")
            model = Disagreement(counts)
            if not (model.strata and model.pairable.any()):
                yield undefined(claim, units, self._resampling, "fewer than two answers")
                continue
            draws = bootstrap(over_strata(model.alphas), units, self._resampling)
            yield estimate(
                replace(claim, n=units.touched(model.pairable.any(1))), draws, units, self._resampling
            )

    def _estimate(self, claim: Claim, own: Floats, statistic: Weighted) -> Estimate:
        units, counted = self._cell.units, np.isfinite(own)
        claim = replace(claim, n=units.touched(counted))
        if not counted.any():
            return undefined(claim, units, self._resampling)
        draws = bootstrap(statistic, units, self._resampling)
        spread = partial(mean_within, float(draws.point[0]))
        claim = replace(claim, differing=differing(own, units), spread=spread)
        return estimate(claim, draws, units, self._resampling)


def _together(counts: Floats, missing: Floats) -> Floats:
    """Every missing label the commonest among the item's answers, of level ones the stratum's rarest."""
    order = np.argsort(counts.sum(0), axis=-1, kind="stable")
    order = np.broadcast_to(order[None], counts.shape)
    place = np.take_along_axis(counts, order, 2).argmax(2)[:, :, None]
    best = np.take_along_axis(order, place, 2)
    filled = counts.copy()
    np.put_along_axis(filled, best, np.take_along_axis(counts, best, 2) + missing[:, :, None], 2)
    return filled


def _apart(counts: Floats, missing: Floats) -> Floats:
    """Each missing label in turn the rarest among the item's answers, of level ones the stratum's commonest.

    (The expected disagreement is the larger the more even the labels are, and alpha with it.)
    """
    order = np.argsort(-counts.sum(0), axis=-1, kind="stable")
    order = np.broadcast_to(order[None], counts.shape)
    tallies = np.take_along_axis(counts, order, 2)
    left = missing.copy()
    while (left > 0).any():
        at = tallies.argmin(2)[:, :, None]
        more = np.take_along_axis(tallies, at, 2) + (left > 0)[:, :, None]
        np.put_along_axis(tallies, at, more, 2)
        left = left - 1
    filled = np.empty_like(counts)
    np.put_along_axis(filled, order, tallies, 2)
    return filled
