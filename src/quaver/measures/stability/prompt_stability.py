"""Prompt stability scores: how far the same question, or the same question reworded, gets the same label.

Source: Barrie, Palaiologou & Törnberg (2024), Prompt Stability Scoring for Text Annotation with Large
Language Models, arXiv:2407.02039, sections 3.1 (intra) and 3.2 (inter).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from quaver.agreement.stratified_alpha import Setting, mean_alpha
from quaver.core.records import Estimate, LabelSet, Level
from quaver.errors import MeasureError
from quaver.estimation.answer_views import View
from quaver.estimation.bootstrap import Resampling
from quaver.estimation.cell import Cell
from quaver.estimation.cells import Missing
from quaver.estimation.column_roles import Columns
from quaver.estimation.intervals import percentile
from quaver.estimation.measure_protocol import Frame, compares
from quaver.measures.stability.random_paraphrases import two_way_alphas

__all__ = ["CONDITION", "PAPER", "WITHIN_REPEAT", "inter_model", "inter_pss", "intra_pss", "pooled_pss"]

PAPER = "Barrie, Palaiologou & Törnberg (2024), arXiv:2407.02039"

CONDITION = ("model", "variant", "decoding")
WITHIN_REPEAT = ("model", "decoding", "repeat")

FEW_PARAPHRASES = 10


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
    view: View = "original",
    across: str | None = None,
    columns: Columns | None = None,
    group: str | None = None,
    interval: Literal["bca", "percentile"] = "bca",
) -> list[Estimate]:
    """Intra-prompt stability: Krippendorff's alpha with the repeats of one prompt as raters.

    Computed within each condition (model × variant × decoding) and averaged over a cell's conditions.
    Undefined where alpha is in every condition (see `quaver.agreement.alpha`). The interval resamples
    items, the same ones in all conditions; it holds for these paraphrases and says nothing about others.

    Source: Barrie, Palaiologou & Törnberg (2024), arXiv:2407.02039.

    Args:
        annotations: A row an annotation; see `quaver.estimation.measure_protocol.Measure`.
        labels: The label set.
        by: Columns that make the cells; ``("model", "variant", "decoding")`` for each prompt's own.
        confidence: Nominal level.
        resamples: Bootstrap resamples.
        seed: Root seed.
        level: Level of measurement; by default the label set's, nominal without one.
        missing: ``"drop"``, or ``"category"``: an answer without a label is one more label (nominal only).
        view: Which annotations: ``"filtered"`` to those with a label, ``"balanced"`` to as many of these at
            each level of ``across``, ``"matched"`` to items valid at all levels (`estimation.answer_views`).
        across: The column whose levels the last two make alike; by default the repeats.
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
    setting = Setting(annotations, resampling, labels, by, level, missing, columns, group, view, across)
    method = "Krippendorff's alpha, repeats as raters, mean over conditions"
    return [
        _alpha(setting, cell, "intra_pss", method, "condition", repeats=len(cell.raters))
        for cell in setting.cells(("repeat",), CONDITION)
    ]


@compares("variant")
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
    view: View = "original",
    across: str | None = None,
    paraphrases: Literal["fixed", "random"] = "fixed",
    columns: Columns | None = None,
    group: str | None = None,
    interval: Literal["bca", "percentile"] = "bca",
) -> list[Estimate]:
    """Inter-prompt stability: Krippendorff's alpha with the variants of a prompt as raters.

    Computed across variants within each repeat (of each model and decoding) and averaged over those.
    Undefined where alpha is in every one of them. Two intervals: with the paraphrases fixed, items alone are
    resampled, and it says nothing about the next paraphrase; with the paraphrases random, both are
    (`quaver.measures.stability.random_paraphrases`). Both are in ``details``, as ``paraphrases_fixed`` and
    ``paraphrases_random``.

    Source: Barrie, Palaiologou & Törnberg (2024), arXiv:2407.02039.

    Args:
        annotations: A row an annotation; see `quaver.estimation.measure_protocol.Measure`.
        labels: The label set.
        by: Columns that make the cells, for instance the paraphrases' temperature.
        confidence: Nominal level.
        resamples: Bootstrap resamples.
        seed: Root seed.
        level: Level of measurement; by default the label set's, nominal without one.
        missing: ``"drop"``, or ``"category"``: an answer without a label is one more label (nominal only).
        view: Which annotations: ``"filtered"`` to those with a label, ``"balanced"`` to as many of these at
            each level of ``across``, ``"matched"`` to items valid at all levels (`estimation.answer_views`).
        across: The column whose levels the last two make alike; by default the repeats.
        paraphrases: Which of the two intervals the estimate gives.
        columns: Other names for the frame's columns: ``{"variant": "paraphrase"}`` makes these the raters.
        group: The column whose groups of items are resampled.
        interval: How the interval with the paraphrases fixed is made; the other is a percentile interval.

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
    if paraphrases not in ("fixed", "random"):
        raise MeasureError(
            "unknown choice", where="paraphrases", expected="fixed or random", found=repr(paraphrases)
        )
    resampling = Resampling(confidence, resamples, seed, interval)
    setting = Setting(annotations, resampling, labels, by, level, missing, columns, group, view, across)
    method = "Krippendorff's alpha, variants as raters, within each repeat, mean over repeats"
    found = []
    for cell in setting.cells(("variant",), WITHIN_REPEAT):
        fixed = _alpha(setting, cell, "inter_pss", method, "repeat", variants=len(cell.raters))
        found.append(_both(setting, cell, fixed, paraphrases))
    return found


def _alpha(setting: Setting, cell: Cell, measure: str, method: str, strata: str, **details: int) -> Estimate:
    level, values = setting.scaled(cell)
    claim = setting.claim(measure, method, PAPER, cell, **details)
    return mean_alpha(claim, cell.counts(), cell.units, setting.resampling, level, values, strata)


def _both(setting: Setting, cell: Cell, fixed: Estimate, paraphrases: str) -> Estimate:
    """Put the interval with random paraphrases beside the one with fixed ones."""
    if fixed.value is None or not setting.resampling.resamples:
        return fixed
    level, values = setting.scaled(cell)
    draws = two_way_alphas(cell.codes, len(cell.labels), cell.units, setting.resampling, level, values)
    ends = percentile(draws, setting.resampling.tail)
    ends = None if ends is None or ends.high - ends.low <= 1e-12 else ends
    plain = None if fixed.low is None else (fixed.low, fixed.high)
    details = {**fixed.details, "paraphrases_fixed": plain, "paraphrases_random": ends and tuple(ends)}
    if paraphrases == "fixed":
        return replace(fixed, details=details)
    warnings = fixed.warnings
    if len(cell.raters) < FEW_PARAPHRASES:
        warnings += (f"{len(cell.raters)} paraphrases say little about others: the interval is rough",)
    if ends is None:
        return replace(
            fixed,
            low=None,
            high=None,
            details=details,
            warnings=(
                *warnings,
                "no draw of paraphrases differs, so there is no interval for others",
            ),
        )
    point = fixed.value
    method = fixed.method.partition(";")[0]
    return replace(
        fixed,
        low=min(ends.low, point),
        high=max(ends.high, point),
        unit=f"{fixed.unit} and variant",
        method=f"{method}; percentile interval, {setting.resampling.resamples} resamples of both",
        details=details,
        warnings=warnings,
    )


@compares("variant")
def pooled_pss(
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
    """Pooled prompt stability: alpha with every variant in every repeat as a rater of its own.

    Pairs of repeats of one paraphrase are among its pairs, so it lies between the intra- and the
    inter-prompt score and is neither. Computed within each model and decoding and averaged over those.

    Undefined where alpha is. Source: Barrie, Palaiologou & Törnberg (2024), arXiv:2407.02039.

    Args:
        annotations: A row an annotation; see `quaver.estimation.measure_protocol.Measure`.
        labels: The label set.
        by: Columns that make the cells.
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

    Three raters, one pair of which differs on one of two items: D = 2, N = (2, 4), alpha = 1 − 5·2/16:

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2] * 3, "variant": list("vvvvww"), "repeat": [0, 0, 1, 1, 0, 0],
    ...                       "label": list("abbbab")})
    >>> pooled_pss(frame)[0].value
    0.375
    """
    resampling = Resampling(confidence, resamples, seed, interval)
    setting = Setting(annotations, resampling, labels, by, level, missing, columns, group)
    method = "Krippendorff's alpha, every variant and repeat a rater, pooled"
    return [
        _alpha(setting, cell, "pooled_pss", method, "model and decoding", columns=len(cell.raters))
        for cell in setting.cells(("variant", "repeat"), ("model", "decoding"))
    ]


@compares("model")
def inter_model(
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
    """Inter-model agreement: Krippendorff's alpha with the models as raters.

    Computed within each variant, decoding and repeat and averaged over those. Undefined with one model.

    Source: Krippendorff (2019), Content Analysis, 4th ed., ch. 12.

    Args:
        annotations: A row an annotation; see `quaver.estimation.measure_protocol.Measure`.
        labels: The label set.
        by: Columns that make the cells.
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

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 3] * 2, "model": list("pppqqq"), "label": list("aababb")})
    >>> round(inter_model(frame)[0].value, 6)
    0.444444
    """
    resampling = Resampling(confidence, resamples, seed, interval)
    setting = Setting(annotations, resampling, labels, by, level, missing, columns, group)
    method = "Krippendorff's alpha, models as raters, mean over variants, decodings and repeats"
    found = []
    for cell in setting.cells(("model",), ("variant", "decoding", "repeat")):
        estimate = _alpha(setting, cell, "inter_model", method, "prompt", models=len(cell.raters))
        alone = estimate.value is None and len(cell.raters) == 1
        found.append(replace(estimate, reason="fewer than two models") if alone else estimate)
    return found
