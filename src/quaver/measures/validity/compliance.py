"""How often the answers follow the instructions, and what they do instead."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final, Literal

import polars as pl

from quaver.core.records import Estimate, LabelSet
from quaver.estimation.bootstrap import Resampling, bootstrap
from quaver.estimation.cell import Cell
from quaver.estimation.cells import cells, frame_of
from quaver.estimation.column_roles import Columns
from quaver.estimation.confidences import column_for
from quaver.estimation.intervals import Claim, estimate, mean_within, undefined
from quaver.estimation.means import differing, ratio
from quaver.estimation.measure_protocol import Frame
from quaver.measures.sensitivity.label_shares import ASKING

__all__ = ["MOST_REASONS", "compliance"]

_REFERENCE = "Atreja et al. (2025), Proceedings of ICWSM 19, doi:10.1609/icwsm.v19i1.35807"
MOST_REASONS: Final = 12
"""The commonest reasons for failure are told apart, the rest are taken together."""
_QUOTED = re.compile(r'"[^"]*"…?')
_OTHERS = "other reasons"


def compliance(
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
    """The share of valid answers: of those, that is, that did as they were asked.

    Compliance = valid answers / answers. What an answer must hold is the evaluator's rule. Atreja et al. ask
    for exactly one label of the set (the first, where a task allows several) where labels were asked for, and
    for scores of the labels that sum to 0.99 to 1.01 where scores were: the rules of ``label_match`` and
    ``label_scores``. Scores that are tied are valid, although they give no label. Without a column of
    statuses, the answers with a label are the valid ones. Undefined where there are no answers. The interval
    resamples items.

    For each factor level instead of each variant: ``by=["definition"]``.

    Source: Atreja et al. (2025), Proceedings of ICWSM 19, doi:10.1609/icwsm.v19i1.35807.

    Args:
        annotations: A row an annotation; see `quaver.estimation.measure_protocol.Measure`.
        labels: The label set: labels outside it are not valid.
        by: Columns that make the cells.
        confidence: Nominal level.
        resamples: Bootstrap resamples.
        seed: Root seed.
        columns: Other names for the frame's columns.
        group: The column whose groups of items are resampled.
        interval: Which interval is given.

    Returns:
        An estimate for each cell. Its ``details`` count the answers, those without a label by status
        (``without a label``), and those that are not valid by status and reason (``failures``, the commonest
        twelve; what a reason quotes from an answer, and which labels it names, is left out).

    Raises:
        MeasureError: The frame or an option cannot be used.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 3, 4], "label": ["a", None, "a", "b"],
    ...                       "status": ["valid", "ambiguous", "valid", "valid"],
    ...                       "reason": [None, "2 labels found: a, b", None, None]})
    >>> compliance(frame)[0].value, compliance(frame)[0].details["failures"]
    (0.75, {'ambiguous: 2 labels found': 1})
    """
    resampling = Resampling(confidence, resamples, seed, interval)
    frame = frame_of(annotations)
    reasons = _Reasons(frame, columns)
    found = []
    for cell in cells(frame, raters=ASKING, by=by, labels=labels, columns=columns, group=group):
        answered = cell.valid.sum((1, 2)).astype(float)
        asked = ((cell.codes >= 0) | cell.unanswered).sum((1, 2)).astype(float)
        units = cell.units
        details = {
            "answers": int(asked.sum()),
            "without a label": dict(cell.counted),
            "failures": reasons.counted(cell),
        }
        claim = Claim(
            "compliance",
            "share of valid answers",
            _REFERENCE,
            cell=cell.where,
            n=units.count,
            details=details,
        )
        if not cell.items:
            found.append(undefined(claim, units, resampling, "no annotations"))
            continue
        draws = bootstrap(ratio(answered[:, None], asked[:, None]), units, resampling)
        value = float(draws.point[0])
        claim = replace(
            claim,
            differing=differing(answered / asked, units),
            spread=partial(mean_within, value),
        )
        found.append(estimate(claim, draws, units, resampling))
    return found


class _Reasons:
    """Why answers are not valid, by the frame's row."""

    def __init__(self, frame: pl.DataFrame, columns: Columns | None) -> None:
        names = [column_for(frame, role, columns) for role in ("status", "reason")]
        self._told = [frame[name].cast(pl.String) for name in names if name is not None]

    def counted(self, cell: Cell) -> dict[str, int]:
        """The commonest, each with its status, and how many others there are."""
        rows = cell.rows[cell.unanswered & ~cell.undecided]
        if not self._told:
            return {"no label": rows.size} if rows.size else {}
        told = zip(*(column.gather(rows) for column in self._told), strict=True)
        counts: Counter[str] = Counter()
        for parts, count in Counter(told).items():
            counts[": ".join(_alike(part) for part in parts if part) or "no label"] += count
        common = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        rest = sum(count for _, count in common[MOST_REASONS:])
        return dict(common[:MOST_REASONS]) | ({_OTHERS: rest} if rest else {})


def _alike(reason: str) -> str:
    """A reason without what it quotes and lists, so that alike ones are counted together."""
    return _QUOTED.sub("…", reason).partition(": ")[0].strip()
