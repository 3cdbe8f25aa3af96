"""Agreement in annotations that Quaver did not collect: a frame with columns of any name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from quaver.agreement.alpha import krippendorff_alpha
from quaver.agreement.chance_agreement import cohen_kappa, fleiss_kappa, gwet_ac, percent_agreement
from quaver.agreement.ratings import label_set_of
from quaver.core.records import Estimate, LabelSet, Level
from quaver.estimation.bootstrap import Resampling
from quaver.estimation.cells import Missing, cells

_COEFFICIENTS = (krippendorff_alpha, percent_agreement, fleiss_kappa, cohen_kappa, gwet_ac)


def agreement_of(
    annotations: Any,
    *,
    item: str = "item",
    rater: str | Sequence[str] = "rater",
    label: str = "label",
    by: Sequence[str] = (),
    labels: LabelSet | Sequence[Any] | None = None,
    level: Level | None = None,
    missing: Missing = "drop",
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    group: str | None = None,
    interval: Literal["bca", "percentile"] = "bca",
) -> list[Estimate]:
    """Krippendorff's alpha, percent agreement, the kappas and Gwet's coefficient of a long frame.

    Args:
        annotations: A row an annotation.
        item: Its column of items.
        rater: Its column, or columns, of raters.
        label: Its column of labels.
        by: Columns whose combinations are measured apart.
        labels: The valid labels, in order: others count as missing, and are counted.
        level: Level of measurement; nominal, or the label set's.
        missing: ``"drop"``, or ``"category"``: one more label (nominal only).
        confidence: Nominal level of the intervals.
        resamples: Bootstrap resamples of items.
        seed: Root seed.
        group: Resample the groups of items in this column.
        interval: Which interval is given.

    Returns:
        Five estimates for each cell.

    Raises:
        MeasureError: The frame or an option cannot be used.
    """
    resampling = Resampling(confidence, resamples, seed, interval)
    at = level or (labels.level if isinstance(labels, LabelSet) else "nominal")
    label_set = label_set_of(labels, at)
    found = cells(
        annotations,
        raters=("rater",),
        by=by,
        labels=label_set,
        columns={"item": item, "rater": rater, "label": label},
        group=group,
        missing=missing,
    )
    rated = [replace(cell, label_set=label_set) for cell in found]
    return [one.of(cell, resampling, at, missing) for cell in rated for one in _COEFFICIENTS]
