"""Two evaluators on the same answers: what the second reads differently, and what that does to accuracy.

The answers are the same, so every comparison is paired, answer by answer; intervals resample items.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from quaver.core.presentation import Presentation
from quaver.core.records import Estimate
from quaver.errors import MeasureError, UnknownName
from quaver.estimation.declaration import measure
from quaver.estimation.means import share_of
from quaver.estimation.reading import Reading
from quaver.estimation.statistic import Cell, Statistic
from quaver.measures.variation.label_shares import ASKING

WORTH_A_WARNING: Final = 0.05
"""Two evaluators that read more than this share of the answers differently get a warning."""

_FLIPS = ("same", "gained", "lost", "changed")


@measure(
    title="How many answers get a different label from another evaluator",
    axis="share of answers with a different label",
    section="answers",
    unit="share",
    better="lower",
    compares=("evaluator",),
    pairs_evaluators=True,
    parts={
        "_accuracy_first": Presentation(
            title="Accuracy by the first of two evaluators",
            axis="share of correct answers",
            unit="share",
            better="higher",
            drawn="table",
        ),
        "_accuracy_second": Presentation(
            title="Accuracy by the second of two evaluators",
            axis="share of correct answers",
            unit="share",
            better="higher",
            drawn="table",
        ),
        "_accuracy_gain": Presentation(
            title="What another evaluator adds to accuracy",
            axis="difference in accuracy",
            unit="difference",
            better="higher",
            null=0.0,
        ),
        "_newly_wrong": Presentation(
            title="How many correct answers are wrong by another evaluator",
            axis="share of the correct answers",
            unit="share",
            better="lower",
            drawn="table",
        ),
    },
)
def evaluator_flips(
    reading: Reading, *, first: str | None = None, second: str | None = None
) -> Iterator[Estimate]:
    """What a second evaluator reads differently from a first, and what becomes of accuracy.

    Of each answer, with a the label that the first read and b the second's: *same* (a = b, no label
    included), *gained* (no a, but b), *lost* (a, but no b), *changed* (both, and a ≠ b). For each
    cell and pair of evaluators five estimates:

    - ``evaluator_flips``: (gained + lost + changed) / answers; ``details`` hold the four counts. More than
      5% gets a warning;
    - ``evaluator_flips_accuracy_first``, ``evaluator_flips_accuracy_second``: right answers / answers with
      a gold label, no label being wrong, by either;
    - ``evaluator_flips_accuracy_gain``: the second's accuracy less the first's, paired;
    - ``evaluator_flips_newly_wrong``: of the answers that were right by the first, the share that is wrong
      by the second.

    Undefined where there are no two evaluators, no gold labels (the last four), or no answer was right
    by the first (the last). Only answers that both have read count. ``by`` cannot hold the evaluator.
    Intervals resample items.

    Args:
        first: The first evaluator; by default the first by name, in a study the study's first.
        second: The second; by default each of the others in turn.

    Returns:
        Five estimates for each cell and pair; the cell holds ``first`` and ``second``.

    Raises:
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
    parts = reading.cells(raters=("evaluator",), within=ASKING, gold=True)
    pairs = pairs_of(parts, first, second)
    for cell in parts:
        if not pairs:
            yield cell.estimated(
                Statistic(method="two evaluators compared", n=0, reason="fewer than two evaluators")
            )
        for one, other in pairs:
            yield from _Pair(cell, one, other).estimates()


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

    def __init__(self, cell: Cell, first: str, second: str) -> None:
        self._cell, self._names = cell, (first, second)
        (a, read_a), (b, read_b) = labels_by(cell, first), labels_by(cell, second)
        self._both = read_a & read_b
        self._unpaired = int((read_a ^ read_b).sum())
        gold = (np.full(len(cell.items), -1) if cell.gold is None else cell.gold)[:, None]
        self._judged = self._both & (gold >= 0)
        self._right, self._now = self._judged & (a == gold), self._judged & (b == gold)
        given, other = a >= 0, b >= 0
        kinds = (a == b, ~given & other, given & ~other, given & other & (a != b))
        self._kinds = [kind & self._both for kind in kinds]

    def estimates(self) -> Iterator[Estimate]:
        """The five."""
        yield self._flips()
        yield from map(self._cell.estimated, self._accuracies())

    def _accuracies(self) -> Iterator[Statistic]:
        was, now, judged = (marked.sum(1) for marked in (self._right, self._now, self._judged))
        gold = Statistic(
            method="accuracy, no label counted wrong",
            reason="no gold labels" if self._both.any() else "no answer was read by both",
        )
        first, second = (f"accuracy by {name}, no label counted wrong" for name in self._names)
        gain = "accuracy by the second evaluator less that by the first, paired, no label counted wrong"
        yield self._share(was, judged, replace(gold, part="_accuracy_first", method=first))
        yield self._share(now, judged, replace(gold, part="_accuracy_second", method=second))
        yield self._share(now - was, judged, replace(gold, part="_accuracy_gain", method=gain), low=-1.0)
        newly = replace(
            gold,
            part="_newly_wrong",
            method="share of the answers right by the first evaluator that are wrong by the second",
        )
        if judged.any():
            newly = replace(newly, reason="no answer was right by the first evaluator")
        yield self._share((self._right & ~self._now).sum(1), was, newly)

    def _flips(self) -> Estimate:
        counts = {kind: int(marked.sum()) for kind, marked in zip(_FLIPS, self._kinds, strict=True)}
        flips = Statistic(
            method="share of the answers that the two evaluators read differently",
            reason="no answer was read by both",
            details=counts,
        )
        flipped = (self._both & ~self._kinds[0]).sum(1)
        found = self._cell.estimated(self._share(flipped, self._both.sum(1), flips))
        if found.value is None or found.value <= WORTH_A_WARNING:
            return found
        first, second = self._names
        warning = (
            f"{first} and {second} read {found.value:.1%} of the answers differently: "
            f"more than {WORTH_A_WARNING:.0%}"
        )
        return replace(found, warnings=(warning, *found.warnings))

    def _share(
        self, above: NDArray[np.int64], below: NDArray[np.int64], said: Statistic, *, low: float = 0.0
    ) -> Statistic:
        """The statistic Σ above / Σ below over items."""
        first, second = self._names
        said = replace(
            said,
            where={"first": first, "second": second},
            excluded={"read by one evaluator alone": self._unpaired} if self._unpaired else {},
            details={**said.details, "answers": int(below.sum()), "counted": int(above.sum())},
        )
        return share_of(self._cell, above, below, said, low=low)


def labels_by(cell: Cell, evaluator: str) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """An evaluator's label codes in a cell whose raters are evaluators, and which answers it has read.

    Both of shape items × strata; a code is -1 where no label was read.
    """
    if evaluator not in cell.raters:
        shape = cell.codes.shape[:2]
        return np.full(shape, -1, np.int32), np.zeros(shape, bool)
    at = cell.raters.index(evaluator)
    return cell.codes[:, :, at], cell.rows[:, :, at] >= 0
