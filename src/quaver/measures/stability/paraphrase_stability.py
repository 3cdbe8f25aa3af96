"""The paraphrases one by one: how stable each is, and how far it agrees with the original."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import polars as pl

from quaver.agreement.stratified_alpha import Setting
from quaver.core.records import Estimate, LabelSet, Level
from quaver.errors import MeasureError
from quaver.estimation.bootstrap import Resampling
from quaver.estimation.cell import Cell
from quaver.estimation.cells import Missing, frame_of
from quaver.estimation.column_roles import Columns
from quaver.estimation.intervals import undefined
from quaver.estimation.measure_protocol import Frame, compares
from quaver.measures.stability.partial_alphas import Part, each_alpha
from quaver.measures.stability.prompt_stability import CONDITION, PAPER, WITHIN_REPEAT

__all__ = ["original_agreement", "paraphrase_stability"]


@compares("variant")
def paraphrase_stability(
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
    """Each paraphrase's own stability: `intra_pss` of every variant apart.

    Krippendorff's alpha with the repeats as raters, within each model and decoding, averaged over those.

    Undefined where alpha is. Source: Barrie, Palaiologou & Törnberg (2024), arXiv:2407.02039; alpha:
    Krippendorff (2019), Content Analysis, 4th ed., ch. 12.

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
        An estimate for each cell and variant; the cell holds the variant.

    Raises:
        MeasureError: The frame or an option cannot be used.

    >>> frame = pl.DataFrame({"item": [1, 2, 3] * 2, "repeat": [0] * 3 + [1] * 3, "label": list("aababb")})
    >>> [(e.cell, round(e.value, 3)) for e in paraphrase_stability(frame.with_columns(variant=pl.lit("v")))]
    [({'variant': 'v'}, 0.444)]
    """
    resampling = Resampling(confidence, resamples, seed, interval)
    setting = Setting(annotations, resampling, labels, by, level, missing, columns, group)
    found: list[Estimate] = []
    for cell in setting.cells(("repeat",), CONDITION):
        method = "Krippendorff's alpha of one variant, repeats as raters"
        claim = setting.claim("paraphrase_stability", method, PAPER, cell)
        role = (columns or {}).get("variant", "variant")
        names = [role] if isinstance(role, str) else list(role)
        paraphrases: dict[tuple[tuple[str, str], ...], list[int]] = {}
        for index, stratum in enumerate(cell.strata):
            which = tuple((name, stratum[name]) for name in names if name in stratum)
            paraphrases.setdefault(which, []).append(index)
        if not paraphrases:
            found.append(undefined(replace(claim, n=0), cell.units, resampling, "no annotations"))
            continue
        parts = [
            Part(replace(claim, cell={**cell.where, **dict(which)}), strata)
            for which, strata in paraphrases.items()
        ]
        found += each_alpha(setting, cell, cell.counts(), parts)
    return found


@compares("variant")
def original_agreement(
    annotations: Frame,
    *,
    labels: LabelSet | None = None,
    by: Sequence[str] = (),
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    level: Level | None = None,
    missing: Missing = "drop",
    original: str | None = None,
    columns: Columns | None = None,
    group: str | None = None,
    interval: Literal["bca", "percentile"] = "bca",
) -> list[Estimate]:
    """Agreement of each paraphrase with the original one: their alpha, as two raters.

    Computed within each repeat (of each model and decoding) and averaged over those. ``details`` has the
    share of answers on which the two agree. Undefined where no original is known.

    Source: Barrie, Palaiologou & Törnberg (2024), arXiv:2407.02039; alpha: Krippendorff (2019), Content
    Analysis, 4th ed., ch. 12.

    Args:
        annotations: A row an annotation; see `quaver.estimation.measure_protocol.Measure`.
        labels: The label set.
        by: Columns that make the cells.
        confidence: Nominal level.
        resamples: Bootstrap resamples.
        seed: Root seed.
        level: Level of measurement; by default the label set's, nominal without one.
        missing: ``"drop"``, or ``"category"``: an answer without a label is one more label (nominal only).
        original: The original variant; without it, the one that a Boolean column ``original`` marks.
        columns: Other names for the frame's columns.
        group: The column whose groups of items are resampled.
        interval: Which interval is given.

    Returns:
        An estimate for each cell and variant but the original; the cell holds the variant.

    Raises:
        MeasureError: The frame or an option cannot be used.

    >>> frame = pl.DataFrame({"item": [1, 2, 3] * 2, "variant": list("ooowww"), "label": list("aababb")})
    >>> [(e.cell, round(e.value, 3)) for e in original_agreement(frame, original="o")]
    [({'variant': 'w'}, 0.444)]
    """
    resampling = Resampling(confidence, resamples, seed, interval)
    setting = Setting(annotations, resampling, labels, by, level, missing, columns, group)
    marked = [] if original else _marked(setting)
    found: list[Estimate] = []
    for cell in setting.cells(("variant",), WITHIN_REPEAT):
        found += _with_original(setting, cell, original or _only(marked, cell))
    return found


def _marked(setting: Setting) -> list[str]:
    """The variants that the column ``original`` marks as such; none where there is no such column."""
    frame = frame_of(setting.annotations)
    variant = setting.column("variant")
    if "original" not in frame.columns or variant not in frame.columns:
        return []
    marks = frame["original"].cast(pl.String).str.to_lowercase().is_in(["true", "1"])
    return sorted(frame.filter(marks)[variant].cast(pl.String).unique().to_list())


def _only(marked: Sequence[str], cell: Cell) -> str | None:
    """The one of the marked variants that a cell has; the only one where it has none of them."""
    here = [name for name in marked if name in cell.raters] or marked
    if len(here) > 1:
        raise MeasureError(
            "several variants are marked as the original",
            where="annotations['original']",
            expected="one in each cell",
            found=", ".join(here),
            fix="put what else varies into by, or name it: original=…",
        )
    return here[0] if here else None


def _with_original(setting: Setting, cell: Cell, original: str | None) -> list[Estimate]:
    base = setting.claim(
        "original_agreement",
        "Krippendorff's alpha of a variant and the original, mean over repeats",
        PAPER,
        cell,
    )
    if original is None or original not in cell.raters:
        why = "no original paraphrase is named" if original is None else f"no answers to {original!r}"
        why = why if cell.items else "no annotations"
        return [undefined(replace(base, n=0), cell.units, setting.resampling, why)]
    others = [index for index, name in enumerate(cell.raters) if name != original]
    if not others:
        return [undefined(replace(base, n=0), cell.units, setting.resampling, "no other paraphrase")]
    size = len(cell.labels)
    given = (cell.codes[..., None] == np.arange(size)).astype(np.float64)
    first = cell.raters.index(original)
    counts = given[:, :, others] + given[:, :, [first]]
    parts = []
    for place, index in enumerate(others):
        one, two = cell.codes[:, :, first], cell.codes[:, :, index]
        both = (one >= 0) & (two >= 0)
        details: dict[str, Any] = {"original": original}
        if both.any():
            details["same"] = float((one == two)[both].mean())
        claim = replace(base, cell={**cell.where, "variant": cell.raters[index]}, details=details)
        parts.append(Part(claim, [s * len(others) + place for s in range(counts.shape[1])]))
    flat = counts.reshape(len(cell.items), counts.shape[1] * len(others), size)
    return each_alpha(setting, cell, flat, parts)
