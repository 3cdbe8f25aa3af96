"""Prompt stability scores: how far the same question, or the same question reworded, gets the same label.

Source: Barrie, Palaiologou & Törnberg (2024), Prompt Stability Scoring for Text Annotation with Large
Language Models, arXiv:2407.02039, sections 3.1 (intra) and 3.2 (inter).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from quaver.measure import Frame
from quaver.measure.bootstrap import Resampling
from quaver.measure.intervals import Claim
from quaver.measure.stability import mean_alpha, scaled
from quaver.measure.table import Columns, Missing, cells
from quaver.records import Estimate, LabelSet, Level

__all__ = ["PAPER", "inter_pss", "intra_pss"]

PAPER = "Barrie, Palaiologou & Törnberg (2024), arXiv:2407.02039"

CONDITION = ("model", "variant", "decoding")


def intra_pss(
    annotations: Frame,
    *,
    labels: LabelSet | None = None,
    by: Sequence[str] = (),
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    level: Level | None = None,
    missing: Missing = "drop",
    columns: Columns | None = None,
    group: str | None = None,
    interval: Literal["bca", "percentile"] = "bca",
) -> list[Estimate]:
    """Intra-prompt stability: Krippendorff's alpha with the repeats of one prompt as raters.

    Computed within each condition (model × variant × decoding) and averaged over a cell's conditions.
    Undefined where alpha is in every condition (see `quaver.measure.agreement`). The interval resamples
    items, the same ones in all conditions; it holds for these wordings and says nothing about others.

    Args:
        annotations: A row an annotation; see `quaver.measure.Measure`.
        labels: The label set.
        by: Columns that make the cells; ``("model", "variant", "decoding")`` for each prompt's own.
        confidence: Nominal level.
        resamples: Bootstrap resamples.
        seed: Root seed.
        level: Level of measurement; by default the label set's, nominal without one.
        missing: ``"drop"``, or ``"category"``: an answer without a label is one more label (nominal only).
        columns: Other names for the frame's columns.
        group: The column whose groups of items are resampled.
        interval: Which interval is given.

    Returns:
        An estimate for each cell.

    Raises:
        MeasureError: The frame or an option cannot be used.

    Three items, two repeats, one disagreement: D = 2·1, N = (3, 3), n = 6, so alpha = 1 − 5·2/18:

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 3] * 2, "repeat": [0] * 3 + [1] * 3, "label": list("aababb")})
    >>> round(intra_pss(frame)[0].value, 6)
    0.444444
    """
    resampling = Resampling(confidence, resamples, seed, interval)
    found = []
    for cell in cells(
        annotations,
        raters=("repeat",),
        within=CONDITION,
        by=by,
        labels=labels,
        columns=columns,
        group=group,
        missing=missing,
    ):
        of, values = scaled(cell.labels, level, labels, missing)
        claim = Claim(
            "intra_pss",
            "Krippendorff's alpha, repeats as raters, mean over conditions",
            PAPER,
            cell=cell.where,
            excluded=cell.counted if missing == "drop" else {},
            details={"repeats": len(cell.raters), "wordings": "fixed"},
        )
        found.append(mean_alpha(claim, cell.counts(), cell.units, resampling, of, values, "condition"))
    return found


def inter_pss(
    annotations: Frame,
    *,
    labels: LabelSet | None = None,
    by: Sequence[str] = (),
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    level: Level | None = None,
    missing: Missing = "drop",
    columns: Columns | None = None,
    group: str | None = None,
    interval: Literal["bca", "percentile"] = "bca",
) -> list[Estimate]:
    """Inter-prompt stability: Krippendorff's alpha with the variants of a prompt as raters.

    Computed across variants within each repeat (of each model and decoding) and averaged over those.
    Undefined where alpha is in every one of them. The interval resamples items, with the wordings as they
    are: it says nothing about the next wording.

    Args:
        annotations: A row an annotation; see `quaver.measure.Measure`.
        labels: The label set.
        by: Columns that make the cells, for instance the paraphrases' temperature.
        confidence: Nominal level.
        resamples: Bootstrap resamples.
        seed: Root seed.
        level: Level of measurement; by default the label set's, nominal without one.
        missing: ``"drop"``, or ``"category"``: an answer without a label is one more label (nominal only).
        columns: Other names for the frame's columns: ``{"variant": "wording"}`` takes wordings as raters.
        group: The column whose groups of items are resampled.
        interval: Which interval is given.

    Returns:
        An estimate for each cell.

    Raises:
        MeasureError: The frame or an option cannot be used.

    >>> import polars as pl
    >>> variants = ["v"] * 3 + ["w"] * 3
    >>> frame = pl.DataFrame({"item": [1, 2, 3] * 2, "variant": variants, "label": list("aababb")})
    >>> round(inter_pss(frame)[0].value, 6)
    0.444444
    """
    resampling = Resampling(confidence, resamples, seed, interval)
    found = []
    for cell in cells(
        annotations,
        raters=("variant",),
        within=("model", "decoding", "repeat"),
        by=by,
        labels=labels,
        columns=columns,
        group=group,
        missing=missing,
    ):
        of, values = scaled(cell.labels, level, labels, missing)
        claim = Claim(
            "inter_pss",
            "Krippendorff's alpha, variants as raters, within each repeat, mean over repeats",
            PAPER,
            cell=cell.where,
            excluded=cell.counted if missing == "drop" else {},
            details={"variants": len(cell.raters), "wordings": "fixed"},
        )
        found.append(mean_alpha(claim, cell.counts(), cell.units, resampling, of, values, "repeat"))
    return found
