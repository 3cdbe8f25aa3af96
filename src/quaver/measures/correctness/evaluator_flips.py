"""Two sides of the same items: evaluators that read one answer differently, and differences in accuracy.

The answers are the same, so every comparison is paired, answer by answer; intervals resample items.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy import special

from quaver.core.records import Estimate
from quaver.core.rows import Presentation
from quaver.errors import MeasureError, UnknownName
from quaver.estimation.arrangement import UnknownColumn
from quaver.estimation.bootstrap import Floats, Ratio, Units
from quaver.estimation.cells import Missing, guarded
from quaver.estimation.declaration import measure
from quaver.estimation.means import quotient, share_of
from quaver.estimation.measure_input import Judged, MeasureInput, judge, treatment
from quaver.estimation.multiple_testing import adjusted
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
    data: MeasureInput, *, first: str | None = None, second: str | None = None
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
    parts = data.cells(raters=("evaluator",), within=ASKING, gold=True)
    pairs = pairs_of(parts, first, second)
    for cell in parts:
        if not pairs:
            yield cell.estimated(
                Statistic(method="two evaluators compared", n=0, reason="fewer than two evaluators")
            )
        for one, other in pairs:
            yield from _Pair(cell, one, other).estimates()


def pairs_of(parts: Sequence[Cell], first: str | None, second: str | None) -> list[tuple[str, str]]:
    """The evaluators to compare: a first one with one or all of the others."""
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
        gold = cell.gold_codes[:, None]
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
        estimate = self._cell.estimated(self._share(flipped, self._both.sum(1), flips))
        if estimate.value is None or estimate.value <= WORTH_A_WARNING:
            return estimate
        first, second = self._names
        warning = (
            f"{first} and {second} read {estimate.value:.1%} of the answers differently: "
            f"more than {WORTH_A_WARNING:.0%}"
        )
        return replace(estimate, warnings=(warning, *estimate.warnings))

    def _share(
        self, above: NDArray[np.int64], below: NDArray[np.int64], statistic: Statistic, *, low: float = 0.0
    ) -> Statistic:
        """The statistic Σ above / Σ below over items."""
        first, second = self._names
        statistic = replace(
            statistic,
            where={"first": first, "second": second},
            excluded={"read by one evaluator alone": self._unpaired} if self._unpaired else {},
            details={**statistic.details, "answers": int(below.sum()), "counted": int(above.sum())},
        )
        return share_of(self._cell, above, below, statistic, low=low)


def labels_by(cell: Cell, evaluator: str) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """An evaluator's label codes in a cell whose raters are evaluators, and which answers it has read.

    Both of shape items × strata; a code is -1 where no label was read.
    """
    if evaluator not in cell.raters:
        shape = cell.codes.shape[:2]
        return np.full(shape, -1, np.int32), np.zeros(shape, bool)
    index = cell.raters.index(evaluator)
    return cell.codes[:, :, index], cell.rows[:, :, index] >= 0


_MCNEMAR = (
    "McNemar (1947), Psychometrika 12, 153-157; clustered: Durkalski et al. (2003), Stat. in Med. 22, 2417"
)


@measure(
    title="How much more often one is correct than another, on the same items",
    axis="difference in accuracy",
    section="accuracy",
    unit="difference",
    better="higher",
    null=0.0,
    source=_MCNEMAR,
    missing=("wrong", "drop"),
    compares=("variant", "text"),
    estimands=("fixed", "population"),
)
def differences(
    data: MeasureInput,
    *,
    between: str | Sequence[str] = "variant",
    reference: str | None = None,
    missing: Missing,
) -> Iterator[Estimate]:
    """Each condition's accuracy less that of a reference, or of all others, on the same items.

    Mean over items of d_u = (share right in the condition) − (share right in the reference; without one,
    the mean over the other conditions), over items that both answered. Paired: the interval resamples
    items, each with both its sides. Undefined where there are fewer than two conditions, or no such items.

    In ``details``: ``p`` of McNemar's test (see `mcnemar`), and ``p_holm``, adjusted for the comparisons
    in the cell (Holm 1979), which the interval is not; ``accuracy`` and ``reference_accuracy`` on these
    items.

    Args:
        between: The column (or columns) whose values are the conditions: ``"variant"``, ``"model"``, a
            factor …
        reference: The condition to compare the others with: its columns' values, joined by ``" | "``.

    Returns:
        An estimate for each cell and condition (but the reference); the cell holds the condition.

    Raises:
        UnknownColumn: The reference does not occur.

    Of four items v gets all right and w two: two discordant pairs, all one way, p = 2·0.5² = 0.5:

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 3, 4] * 2, "variant": ["v"] * 4 + ["w"] * 4,
    ...                       "label": list("aaaa" "aabb"), "gold": ["a"] * 8})
    >>> found = differences(frame, reference="w")[0]
    >>> found.cell, found.value, found.details["p"]
    ({'variant': 'v'}, 0.5, 0.5)
    """
    conditions = (between,) if isinstance(between, str) else tuple(between)
    raters = [role for role in ASKING if role not in conditions]
    method = f"paired difference in accuracy, unanswered {treatment(missing)}"
    for cell in data.cells(raters=raters, within=conditions, gold=True):
        statistics = _differences(cell, judge(cell, missing), reference, Statistic(method=method, n=0))
        yield from adjusted([_with_its_test(cell.estimated(statistic)) for statistic in statistics])


def _with_its_test(estimate: Estimate) -> Estimate:
    """With an interval that holds 0 where McNemar's test, which is exact, does not reject it."""
    if (
        estimate.low is None
        or estimate.high is None
        or estimate.details["p"] <= 1 - estimate.confidence_level
    ):
        return estimate
    return replace(estimate, low=min(estimate.low, 0.0), high=max(estimate.high, 0.0))


def _differences(
    cell: Cell, judged: Judged, reference: str | None, statistic: Statistic
) -> Iterator[Statistic]:
    names = [" | ".join(where.values()) for where in cell.strata]
    statistic = replace(statistic, excluded=judged.excluded)
    if reference is not None and cell.strata and reference not in names:
        raise UnknownColumn(reference, names, where="reference")
    asked = judged.asked.sum(2).astype(np.float64)
    right = judged.right.sum(2).astype(np.float64)
    if judged.reason or (asked > 0).any(0).sum() < 2:
        yield replace(statistic, reason=judged.reason or "fewer than two conditions")
        return
    own = quotient(right, asked)
    other = _others(own) if reference is None else own[:, [names.index(reference)]]
    apart = own - other
    known = np.isfinite(apart)
    under = Ratio(np.where(known, apart, 0), known.astype(float))
    single = bool((asked <= 1).all()) and (reference is not None or len(names) == 2)
    for index, name in enumerate(names):
        if name == reference:
            continue
        some = known[:, index]
        one = replace(statistic, where=cell.strata[index], n=cell.units.touched(some))
        if not some.any():
            yield replace(one, reason="no items that both answered")
            continue
        beside = np.broadcast_to(other, own.shape)[some, index]
        yield replace(
            one,
            under=under,
            column=index,
            ends=(-1.0, 1.0),
            details={
                "against": reference or "the mean of the others",
                **({"hypothesis": "equal accuracy"} if len(names) == 2 else {}),  # either side of one test
                "accuracy": float(own[some, index].mean()),
                "reference_accuracy": float(beside.mean()),
                **mcnemar(apart[some, index], _units(cell.units, some), single=single),
            },
        )


def _others(own: Floats) -> Floats:
    """The mean over the other columns, of those that are defined."""
    known = np.isfinite(own)
    total, count = np.where(known, own, 0).sum(1, keepdims=True), known.sum(1, keepdims=True)
    left = count - known
    rest = total - np.where(known, own, 0)
    return quotient(rest, left)


def _units(units: Units, some: Any) -> Any:
    return None if units.clusters is None else units.clusters[some]


@guarded
def mcnemar(apart: Floats, clusters: Any = None, *, single: bool = True) -> dict[str, Any]:
    """Whether answers to the same items are right equally often in two conditions.

    With one answer on each side and items on their own: the exact binomial test on the discordant pairs.
    With repeats, or groups of items, the pairs in a unit depend on each other: χ² = (Σ_k d_k)² / Σ_k d_k²
    with one degree of freedom, where d_k is unit k's sum of differences (Durkalski et al. 2003); with one
    pair a unit that is McNemar's own χ².

    Args:
        apart: Each item's share right in one condition less that in the other.
        clusters: Each item's group, where groups are the units.
        single: Whether each item has one answer on each side.

    Returns:
        ``p`` and ``test``; for the exact test ``better`` and ``worse`` (discordant pairs), else ``chi2``.

    Nine items better and one worse, p = 2·(1 + 10)/2¹⁰:

    >>> round(mcnemar(np.array([1.0] * 9 + [-1.0] + [0.0] * 5))["p"] * 1024, 9)
    22.0
    """
    if single and clusters is None:
        better, worse = int((apart > 0).sum()), int((apart < 0).sum())
        tail = float(special.bdtr(min(better, worse), better + worse, 0.5)) if better + worse else 1.0
        return {"p": min(1.0, 2 * tail), "test": "exact McNemar", "better": better, "worse": worse}
    sums = apart if clusters is None else np.bincount(clusters, apart)
    square = float((sums**2).sum())
    chi2 = float(sums.sum() ** 2 / square) if square > 1e-15 else 0.0
    return {"p": float(special.chdtrc(1, chi2)), "test": "McNemar by unit", "chi2": chi2}
