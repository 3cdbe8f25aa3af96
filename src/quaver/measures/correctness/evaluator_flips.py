"""Two evaluators on the same answers: what the second reads otherwise, and what that does to accuracy.

The answers are the same, so every comparison is paired, answer by answer; intervals resample items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from quaver.core.records import Estimate, LabelSet
from quaver.errors import MeasureError, UnknownName
from quaver.estimation.bootstrap import Floats, Resampling, bootstrap
from quaver.estimation.cell import Cell
from quaver.estimation.cells import cells
from quaver.estimation.column_roles import Columns
from quaver.estimation.intervals import Claim, Interval, estimate, mean_within, undefined
from quaver.estimation.means import differing, ratio
from quaver.estimation.measure_protocol import Frame, compares
from quaver.measures.variation.label_shares import ASKING

__all__ = ["WORTH_A_WARNING", "evaluator_flips", "labels_by", "pairs_of"]

WORTH_A_WARNING: Final = 0.05
"""Two evaluators that read more than this share of the answers otherwise get a warning."""

_FLIPS = ("same", "gained", "lost", "changed")
_ALONE = "fewer than two evaluators"


@compares("evaluator")
def evaluator_flips(
    annotations: Frame,
    *,
    labels: LabelSet | None = None,
    by: Sequence[str] = (),
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    first: str | None = None,
    second: str | None = None,
    columns: Columns | None = None,
    group: str | None = None,
    interval: Literal["bca", "percentile"] = "bca",
) -> list[Estimate]:
    """What a second evaluator reads otherwise than a first, and what becomes of accuracy.

    Of each answer, with a the label that the first read and b the second's: *same* (a = b, no label
    included), *gained* (no a, but b), *lost* (a, but no b), *changed* (both, and a ≠ b). For each
    cell and pair of evaluators five estimates:

    - ``evaluator_flips``: (gained + lost + changed) / answers; ``details`` hold the four counts. More than
      5 % gets a warning;
    - ``evaluator_flips_accuracy_first``, ``evaluator_flips_accuracy_second``: right answers / answers with
      a gold label, no label being wrong, by either;
    - ``evaluator_flips_accuracy_gain``: the second's accuracy less the first's, paired;
    - ``evaluator_flips_newly_wrong``: of the answers that were right by the first, the share that is wrong
      by the second.

    Undefined where there are no two evaluators, no gold labels (the last four), or no answer was right
    by the first (the last). Only answers that both have read count. Intervals resample items.

    Source: the definition.

    Args:
        annotations: A row an annotation, of all evaluators; see `quaver.estimation.measure_protocol.Measure`.
        labels: The label set.
        by: Columns that make the cells; not the evaluator.
        confidence: Nominal level.
        resamples: Bootstrap resamples.
        seed: Root seed.
        first: The first evaluator; by default the first by name, in a study the study's first.
        second: The second; by default each of the others in turn.
        columns: Other names for the frame's columns.
        group: The column whose groups of items are resampled.
        interval: Which interval is given.

    Returns:
        Five estimates for each cell and pair; the cell holds ``first`` and ``second``.

    Raises:
        MeasureError: The frame or an option cannot be used.
        UnknownName: An evaluator has no rows.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": list("uvwx") * 2, "gold": list("abab") * 2,
    ...     "evaluator": ["x"] * 4 + ["y"] * 4, "label": ["a", None, "a", "b", "b", "b", "a", None]})
    >>> found = evaluator_flips(frame, resamples=0)
    >>> for one in found:
    ...     print(one.measure.removeprefix("evaluator_flips"), round(one.value, 3))
     0.75
    _accuracy_first 0.75
    _accuracy_second 0.5
    _accuracy_gain -0.25
    _newly_wrong 0.667
    >>> {kind: found[0].details[kind] for kind in _FLIPS}
    {'same': 1, 'gained': 1, 'lost': 1, 'changed': 1}
    """
    resampling = Resampling(confidence, resamples, seed, interval)
    parts = cells(
        annotations,
        raters=("evaluator",),
        within=ASKING,
        by=by,
        labels=labels,
        columns=columns,
        group=group,
        gold=True,
    )
    pairs = pairs_of(parts, first, second)
    found: list[Estimate] = []
    for cell in parts:
        if not pairs:
            claim = Claim("evaluator_flips", "two evaluators compared", cell=cell.where, n=0)
            found.append(undefined(claim, cell.units, resampling, _ALONE))
        for one, other in pairs:
            found += _Pair(cell, one, other, resampling).estimates()
    return found


def pairs_of(parts: Sequence[Cell], first: str | None, second: str | None) -> list[tuple[str, str]]:
    """The evaluators to compare: a first one with one or all of the others.

    Args:
        parts: Cells whose raters are evaluators.
        first: By default the first by name.
        second: By default each of the others.

    Raises:
        MeasureError: An evaluator would be compared with itself.
        UnknownName: An evaluator has no rows.
    """
    known = sorted({name for cell in parts for name in cell.raters})
    for role, name in (("first", first), ("second", second)):
        if name is not None and name not in known:
            raise UnknownName("evaluator", name, known, where=role, fix="quaver rescore STUDY --evaluator …")
    if first is not None and first == second:
        raise MeasureError(
            "an evaluator is compared with itself", where="second", expected="another", found=first
        )
    one = first or next((name for name in known if name != second), None)
    others = [second] if second else [name for name in known if name != one]
    return [(one, other) for other in others] if one else []


class _Pair:
    """Two evaluators' labels of the answers of a cell, arrays of items × strata."""

    def __init__(self, cell: Cell, first: str, second: str, resampling: Resampling) -> None:
        self._cell, self._names, self._resampling = cell, (first, second), resampling
        (a, read_a), (b, read_b) = labels_by(cell, first), labels_by(cell, second)
        self._both = read_a & read_b
        self._unpaired = int((read_a ^ read_b).sum())
        gold = (np.full(len(cell.items), -1) if cell.gold is None else cell.gold)[:, None]
        self._judged = self._both & (gold >= 0)
        self._right, self._now = self._judged & (a == gold), self._judged & (b == gold)
        given, other = a >= 0, b >= 0
        kinds = (a == b, ~given & other, given & ~other, given & other & (a != b))
        self._kinds = [kind & self._both for kind in kinds]

    def estimates(self) -> list[Estimate]:
        """The five."""
        was, now, judged, answers = map(_by_item, (self._right, self._now, self._judged, self._both))
        flipped = answers - _by_item(self._kinds[0])
        wrong = _by_item(self._right & ~self._now)
        gold = "no gold labels" if answers.any() else "no answer was read by both"
        first, second = self._names
        return [
            self._flips(flipped, answers),
            self._ratio("_accuracy_first", f"accuracy by {first}", was, judged, gold),
            self._ratio("_accuracy_second", f"accuracy by {second}", now, judged, gold),
            self._ratio(
                "_accuracy_gain",
                "accuracy by the second evaluator less that by the first, paired",
                now - was,
                judged,
                gold,
                low=-1.0,
            ),
            self._ratio(
                "_newly_wrong",
                "share of the answers right by the first evaluator that are wrong by the second",
                wrong,
                was,
                "no answer was right by the first evaluator" if judged.any() else gold,
            ),
        ]

    def _flips(self, flipped: Floats, answers: Floats) -> Estimate:
        counts = {kind: int(marked.sum()) for kind, marked in zip(_FLIPS, self._kinds, strict=True)}
        share = float(flipped.sum() / max(1.0, answers.sum()))
        first, second = self._names
        told = f"{first} and {second} read {share:.1%} of the answers otherwise"
        method = "share of the answers that the two evaluators read otherwise"
        found = self._ratio("", method, flipped, answers, "no answer was read by both", counts)
        if share > WORTH_A_WARNING:
            return replace(found, warnings=(f"{told}: more than {WORTH_A_WARNING:.0%}", *found.warnings))
        return found

    def _ratio(
        self,
        kind: str,
        method: str,
        above: Floats,
        below: Floats,
        reason: str,
        details: dict[str, int] | None = None,
        low: float = 0.0,
    ) -> Estimate:
        """The estimate of Σ above / Σ below over items."""
        cell, units, resampling = self._cell, self._cell.units, self._resampling
        counted = below > 0
        claim = Claim(
            f"evaluator_flips{kind}",
            method + (", no label counted wrong" if "accuracy" in kind else ""),
            cell={**cell.where, "first": self._names[0], "second": self._names[1]},
            excluded={"read by one evaluator alone": self._unpaired} if self._unpaired else {},
            details={**(details or {}), "answers": int(below.sum()), "counted": int(above.sum())},
            n=units.touched(counted),
            reason=reason,
        )
        if not counted.any():
            return undefined(claim, units, resampling)
        draws = bootstrap(ratio(above[:, None], below[:, None]), units, resampling)
        own = np.where(counted, above / np.maximum(below, 1), np.nan)
        value = float(draws.point[0])

        def spread(share: float) -> Interval:
            return mean_within(value, share, low)

        claim = replace(claim, differing=differing(own, units), spread=spread)
        return estimate(claim, draws, units, resampling)


def labels_by(cell: Cell, evaluator: str) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """An evaluator's label codes in a cell whose raters are evaluators, and which answers it has read.

    Both of shape items × strata; a code is -1 where no label was read.
    """
    if evaluator not in cell.raters:
        shape = cell.codes.shape[:2]
        return np.full(shape, -1, np.int32), np.zeros(shape, bool)
    at = cell.raters.index(evaluator)
    return cell.codes[:, :, at], cell.rows[:, :, at] >= 0


def _by_item(marked: NDArray[np.bool_]) -> Floats:
    return np.asarray(marked.sum(1), np.float64)
