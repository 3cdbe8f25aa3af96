"""What stands between calls and labels: calls that failed, answers without a label, answers cut off."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np
import polars as pl

from quaver.agreement.disagreement import Disagreement
from quaver.agreement.stratified_alpha import ranged, stray_labels
from quaver.core.records import Estimate
from quaver.estimation.bootstrap import Floats, Ratio
from quaver.estimation.declaration import measure
from quaver.estimation.means import over_strata, share_of
from quaver.estimation.measure_input import MeasureInput
from quaver.estimation.statistic import Cell, Statistic
from quaver.measures.variation.label_shares import ASKING

MOST_REASONS: Final = 12
"""The most frequent reasons for failure are kept apart, the rest are taken together."""
_QUOTED = re.compile(r'"[^"]*"…?')
_OTHERS = "other reasons"


@measure(
    title="How many answers have a label",
    axis="share of valid answers",
    section="answers",
    unit="share",
    better="higher",
    source="Atreja et al. (2025), Proceedings of ICWSM 19, doi:10.1609/icwsm.v19i1.35807",
    estimands=("fixed", "population"),
)
def compliance(data: MeasureInput) -> Iterator[Estimate]:
    """The share of valid answers: of those, that is, that did as they were asked.

    Compliance = valid answers / answers. What an answer must hold is the evaluator's rule. Atreja et al. ask
    for exactly one label of the set (the first, where a task allows several) where labels were asked for, and
    for scores of the labels that sum to 0.99 to 1.01 where scores were: the rules of ``label_match`` and
    ``label_scores``. Scores that are tied are valid, although they give no label. Labels outside the label
    set are not. Without a column of statuses, the answers with a label are the valid ones. Undefined where
    there are no answers.

    For each factor level instead of each variant: ``by=["definition"]``.

    Returns:
        An estimate for each cell. Its ``details`` count the answers, those without a label by status
        (``without a label``), and those that are not valid by status and reason (``failures``, the twelve
        most frequent; what a reason quotes from an answer, and which labels it names, is left out).

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 3, 4], "label": ["a", None, "a", "b"],
    ...                       "status": ["valid", "ambiguous", "valid", "valid"],
    ...                       "reason": [None, "2 labels found: a, b", None, None]})
    >>> compliance(frame)[0].value, compliance(frame)[0].details["failures"]
    (0.75, {'ambiguous: 2 labels found': 1})
    """
    reasons = _Reasons(data)
    for cell in data.cells(raters=ASKING):
        asked = ((cell.codes >= 0) | cell.unanswered).sum((1, 2))
        details = {
            "answers": int(asked.sum()),
            "without a label": dict(cell.counted),
            "failures": reasons.counted(cell),
        }
        statistic = Statistic(
            method="share of valid answers", n=cell.units.count, details=details, reason="no annotations"
        )
        yield cell.estimated(share_of(cell, cell.valid.sum((1, 2)), asked, statistic))


class _Reasons:
    """Why answers are not valid, by the frame's row."""

    def __init__(self, data: MeasureInput) -> None:
        names = [data.column(role) for role in ("status", "reason")]
        self._kinds = [data.gathered[name] for name in names if name is not None]

    def counted(self, cell: Cell) -> dict[str, int]:
        """The most frequent, each with its status, and how many others there are."""
        rows = cell.rows[cell.unanswered & ~cell.undecided]
        if not self._kinds:
            return {"no label": rows.size} if rows.size else {}
        kinds = zip(*(column.gather(rows).cast(pl.String) for column in self._kinds), strict=True)
        counts: Counter[str] = Counter()
        for parts, count in Counter(kinds).items():
            counts[": ".join(_alike(part) for part in parts if part) or "no label"] += count
        common = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        rest = sum(count for _, count in common[MOST_REASONS:])
        return dict(common[:MOST_REASONS]) | ({_OTHERS: rest} if rest else {})


def _alike(reason: str) -> str:
    """A reason without what it quotes and lists, so that alike ones are counted together."""
    return _QUOTED.sub("…", reason).partition(": ")[0].strip()


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
            statistic = self._said("accuracy", end, "share of right answers", "no gold labels")
            yield share_of(self._cell, above, self._asked * known, statistic)

    def shares(self) -> Iterator[Statistic]:
        """Each label's share of all answers."""
        for index, label in enumerate(self._cell.labels):
            given = self._counts[:, :, index].sum(1)
            for end, above in zip(_ENDS, (given, given + self._lost), strict=True):
                statistic = self._said("share", end, "share of all answers", "no annotations")
                yield share_of(self._cell, above, self._asked, replace(statistic, where={"label": label}))

    def agreement(self) -> Iterator[Statistic]:
        """The share of pairs of answers that agree."""
        for end, counts in zip(_ENDS, self._filled, strict=True):
            m = counts.sum(2)
            several = m > 1
            own = np.where(several, (counts * (counts - 1)).sum(2) / np.maximum(m * (m - 1), 1), 0.0)
            known = several.any(1)
            statistic = self._said(
                "agreement", end, "share of pairs of answers that agree", "fewer than two answers"
            )
            yield replace(
                statistic,
                under=over_strata(Ratio(own, several.astype(np.float64))) if known.any() else None,
                n=self._cell.units.touched(known),
                ends=(0.0, 1.0),
            )

    def alpha(self) -> Iterator[Statistic]:
        """Krippendorff's nominal alpha."""
        for end, counts in zip(_ENDS, self._filled, strict=True):
            method = "Krippendorff's alpha, nominal, its agreement"
            model = Disagreement(counts)
            if not (model.strata and model.pairable.any()):
                yield self._said("alpha", end, method, "fewer than two answers")
                continue
            statistic = self._said("alpha", end, method, "no variation")
            n = self._cell.units.touched(np.asarray(model.pairable.any(1)))
            stray = stray_labels(self._cell, self._counts.sum(1))
            under = over_strata(model.alphas)
            statistic = ranged(statistic, model, range(model.strata))
            yield replace(statistic, under=under, n=n, warnings=stray)

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
