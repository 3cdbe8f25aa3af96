"""What stands between calls and labels: calls that failed, answers without a label, answers cut off."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

import polars as pl

from quaver.core.records import Estimate
from quaver.estimation.declaration import measure
from quaver.estimation.means import share_of
from quaver.estimation.measure_input import MeasureInput
from quaver.estimation.statistic import Cell, Statistic
from quaver.measures.variation.label_shares import ASKING

MOST_REASONS: Final = 12
"""The most frequent reasons for failure are kept apart, the rest are taken together."""
_QUOTED = re.compile(r'"[^"]*"…?')
_OTHERS = "other reasons"


@measure(estimands=("fixed", "population"))
def compliance(data: MeasureInput) -> Iterator[Estimate]:
    """The share of valid answers, which are those that did what the prompt asked.

    Compliance = valid answers / answers. The evaluator's rule decides what a valid answer contains. Atreja et
    al. ask for exactly one label of the set (the first, where a task allows several) where labels were asked
    for, and for scores of the labels that sum to 0.99 to 1.01 where scores were: the rules of ``label_match``
    and ``label_scores``. Scores that are tied are valid, although they give no label. Labels outside the
    label set are not. Without a column of statuses, the answers with a label are the valid ones. Undefined
    where there are no answers.

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
        names = list(map(data.column, ("status", "reason")))
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
