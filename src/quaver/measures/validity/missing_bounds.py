"""What the answers without a label could have done to a result: its worst case and its best."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from quaver.agreement.disagreement import Disagreement
from quaver.agreement.stratified_alpha import ranged, rarest_labels, stray_labels
from quaver.estimation.bootstrap import Floats
from quaver.estimation.cell import Cell
from quaver.estimation.declaration import measure
from quaver.estimation.intervals import mean_within
from quaver.estimation.means import differing, over_strata, ratio, share_of
from quaver.estimation.statistic import Statistic, enough_groups

_ENDS = ("least", "most")


@measure(
    source="Horowitz & Manski (2000), Journal of the ASA 95, 77-84",
    raters=("variant", "repeat"),
    within=("model", "decoding"),
    gold=True,
)
def missing_bounds(cell: Cell) -> Iterator[Statistic]:
    """Accuracy, label shares and agreement, had the answers without a label been the worst or the best.

    For each cell, each as ``…_least`` and ``…_most``, over all answers:

    - ``missing_bounds_accuracy``: every missing label wrong, and right;
    - ``missing_bounds_share``, a label each: no missing label is this one, and all of them are;
    - ``missing_bounds_agreement``: the mean over items of the share of pairs of answers that agree,
      Σ_v n_v (n_v − 1) / (m (m − 1)), with every missing label the rarest in the item's answers so far, and
      the most frequent; no other labels give less, or more;
    - ``missing_bounds_alpha``: Krippendorff's nominal alpha of these two.

    With nothing missing the two are one. Undefined: accuracy without gold labels, agreement where no item
    has two answers, alpha without variation. Agreement is among all prompts and repeats of a cell. The
    intervals resample items and know nothing of the bounds: an interval for both is from the low end of the
    least to the high end of the most.

    Returns:
        Six estimates for each cell, and two for each of its labels.

    Of four answers one is missing and two of the others are right:

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 3, 4], "label": ["a", None, "a", "b"], "gold": list("aaaa")})
    >>> [(e.measure, e.value) for e in missing_bounds(frame)[:2]]
    [('missing_bounds_accuracy_least', 0.5), ('missing_bounds_accuracy_most', 0.75)]
    """
    counts, missing = cell.counts(), cell.unanswered.sum(2).astype(np.float64)
    if not counts.size:
        why = "no labels" if cell.items else "no annotations"
        yield Statistic(method="results with the missing labels filled in", n=0, reason=why, source="")
        return
    bounds = _Bounds(cell, counts, missing)
    yield from bounds.accuracy()
    yield from bounds.shares()
    yield from bounds.agreement()
    yield from bounds.alpha()


class _Bounds:
    """One cell's label counts, with what is missing."""

    def __init__(self, cell: Cell, counts: Floats, missing: Floats) -> None:
        self._cell, self._counts = cell, counts
        self._lost = missing.sum(1)
        self._asked = counts.sum((1, 2)) + self._lost
        self._filled = (_apart(counts, missing), _together(counts, missing))
        self._answers = {"answers": int(counts.sum() + missing.sum()), "missing": int(missing.sum())}

    def accuracy(self) -> Iterator[Statistic]:
        """The share of right answers."""
        gold = np.full(len(self._cell.items), -1) if self._cell.gold is None else self._cell.gold
        known = gold >= 0
        given = np.take_along_axis(self._counts.sum(1), np.maximum(gold, 0)[:, None], 1)[:, 0]
        right = np.where(known, given, 0.0)
        for end, above in zip(_ENDS, (right, right + self._lost * known), strict=True):
            said = self._said("accuracy", end, "share of right answers", "no gold labels")
            yield share_of(self._cell, above, self._asked * known, said)

    def shares(self) -> Iterator[Statistic]:
        """Each label's share of all answers."""
        for at, label in enumerate(self._cell.labels):
            given = self._counts[:, :, at].sum(1)
            for end, above in zip(_ENDS, (given, given + self._lost), strict=True):
                said = self._said("share", end, "share of all answers", "no annotations")
                yield share_of(self._cell, above, self._asked, replace(said, where={"label": label}))

    def agreement(self) -> Iterator[Statistic]:
        """The share of pairs of answers that agree."""
        for end, counts in zip(_ENDS, self._filled, strict=True):
            m = counts.sum(2)
            several = m > 1
            own = np.where(several, (counts * (counts - 1)).sum(2) / np.maximum(m * (m - 1), 1), 0.0)
            known = several.any(1)
            item = np.where(known, own.sum(1) / np.maximum(several.sum(1), 1), np.nan)
            said = self._said(
                "agreement", end, "share of pairs of answers that agree", "fewer than two answers"
            )
            yield replace(
                said,
                under=over_strata(ratio(own, several.astype(np.float64))) if known.any() else None,
                n=self._cell.units.touched(known),
                differing=differing(item, self._cell.units) if known.any() else None,
                ends=(0.0, 1.0),
                spread=mean_within,
            )

    def alpha(self) -> Iterator[Statistic]:
        """Krippendorff's nominal alpha."""
        for end, counts in zip(_ENDS, self._filled, strict=True):
            method = "Krippendorff's alpha, nominal, its agreement"
            model = Disagreement(counts)
            if not (model.strata and model.pairable.any()):
                yield self._said("alpha", end, method, "fewer than two answers")
                continue
            said = self._said("alpha", end, method, "no variation")
            n = self._cell.units.touched(np.asarray(model.pairable.any(1)))
            rarest = rarest_labels(self._counts.sum(1), self._cell.units)
            stray = stray_labels(self._cell, self._counts.sum(1))
            under = over_strata(model.alphas)
            said = ranged(said, model, range(model.strata))
            enough = enough_groups(self._cell.units)
            yield replace(said, under=under, n=n, rarest=rarest, least_rare_groups=enough, warnings=stray)

    def _said(self, kind: str, end: str, method: str, reason: str) -> Statistic:
        return Statistic(
            part=f"_{kind}_{end}",
            method=f"{method}, the missing labels filled in to make it {end}",
            reason=reason,
            details=self._answers,
        )


def _together(counts: Floats, missing: Floats) -> Floats:
    """Every missing label the most frequent among the item's answers, of level ones the stratum's rarest."""
    order = np.argsort(counts.sum(0), axis=-1, kind="stable")
    order = np.broadcast_to(order[None], counts.shape)
    place = np.take_along_axis(counts, order, 2).argmax(2)[:, :, None]
    best = np.take_along_axis(order, place, 2)
    filled = counts.copy()
    np.put_along_axis(filled, best, np.take_along_axis(counts, best, 2) + missing[:, :, None], 2)
    return filled


def _apart(counts: Floats, missing: Floats) -> Floats:
    """Each missing label in turn the rarest among the item's answers, of level ones the stratum's modal one.

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
