"""Output uncertainty: how spread the model's own label probabilities are, at a paraphrase as it stands.

Source: Errica, Siracusano, Sanvito & Bifulco (2025), NAACL, who set it beside sensitivity: a model may be
certain of each answer and yet give another one to every paraphrase.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import polars as pl

from quaver.core.records import Estimate, LabelSet
from quaver.errors import MeasureError
from quaver.estimation.bootstrap import Floats, Resampling, bootstrap
from quaver.estimation.cells import cells, frame_of
from quaver.estimation.column_roles import Columns
from quaver.estimation.intervals import Claim, estimate, mean_within, undefined
from quaver.estimation.means import differing, ratio
from quaver.estimation.measure_protocol import Frame
from quaver.measures.variation.item_sensitivity import PAPER
from quaver.measures.variation.label_shares import ASKING

__all__ = ["output_uncertainty"]


def output_uncertainty(
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
    """Output uncertainty: the mean entropy of the label probabilities, over ln C.

    −Σ_v p(v) ln p(v) / ln C for each answer with C label probabilities, averaged over answers; with
    ``by=["variant"]``, at each paraphrase. Undefined where no answer has probabilities.

    Source: Errica, Siracusano, Sanvito & Bifulco (2025), NAACL, section 3.

    Args:
        annotations: A row an annotation, with a column ``probabilities`` (a list for each row).
        labels: The label set.
        by: Columns that make the cells.
        confidence: Nominal level.
        resamples: Bootstrap resamples.
        seed: Root seed.
        columns: Other names for the frame's columns.
        group: The column whose groups of items are resampled.
        interval: Which interval is given.

    Returns:
        An estimate for each cell.

    Raises:
        MeasureError: The frame or an option cannot be used, or probabilities do not sum to 1.

    >>> frame = pl.DataFrame({"item": [1, 2], "label": ["a", "a"], "probabilities": [[0.5, 0.5], [1.0, 0.0]]})
    >>> output_uncertainty(frame)[0].value
    0.5
    """
    frame = frame_of(annotations)
    resampling = Resampling(confidence, resamples, seed, interval)
    each = _entropies(frame, columns)
    found = []
    for cell in cells(frame, raters=ASKING, by=by, labels=labels, columns=columns, group=group):
        units = cell.units
        own = (
            np.where(cell.rows >= 0, each[cell.rows], np.nan)
            if each.size
            else np.full(cell.rows.shape, np.nan)
        )
        known = np.isfinite(own)
        total = np.where(known, own, 0).sum((1, 2))
        answers = known.sum((1, 2)).astype(np.float64)
        n = units.touched(answers > 0)
        claim = Claim("output_uncertainty", "mean entropy of label probabilities over ln C", PAPER, n=n)
        lost = int((cell.rows >= 0).sum() - answers.sum())
        claim = replace(claim, cell=cell.where, excluded={"no probabilities": lost} if lost else {})
        if not n:
            why = "no label probabilities" if cell.items else "no annotations"
            found.append(undefined(claim, units, resampling, why))
            continue
        draws = bootstrap(ratio(total[:, None], answers[:, None]), units, resampling)
        point = float(draws.point[0])
        item = np.where(answers > 0, total / np.maximum(answers, 1), np.nan)
        claim = replace(
            claim,
            differing=differing(item, units),
            spread=lambda share, point=point: mean_within(point, share),  # type: ignore[misc]
            details={"answers": int(answers.sum()), "sd": _sd(item)},
        )
        found.append(estimate(claim, draws, units, resampling))
    return found


def _sd(values: Floats) -> float | None:
    known = values[np.isfinite(values)]
    return float(known.std(ddof=1)) if known.size > 1 else None


def _entropies(frame: pl.DataFrame, columns: Columns | None) -> Floats:
    """The normalised entropy of each row's probabilities; NaN where it has none."""
    name = (columns or {}).get("probabilities", "probabilities")
    if not isinstance(name, str) or name not in frame.columns or frame[name].null_count() == frame.height:
        return np.full(frame.height, np.nan)
    column, kind = frame[name], frame[name].dtype
    if not isinstance(kind, (pl.List, pl.Array)) or not kind.inner.is_numeric():
        raise MeasureError(
            "no lists of probabilities",
            where="probabilities",
            expected="a list of numbers",
            found=str(kind),
        )
    lists = column.cast(pl.List(pl.Float64)) if isinstance(kind, pl.Array) else column
    sizes = lists.list.len().fill_null(0).to_numpy().astype(np.int64)
    flat = lists.explode().drop_nulls().to_numpy().astype(np.float64) if sizes.sum() else np.zeros(0)
    owner = np.repeat(np.arange(frame.height), sizes)
    if flat.size != owner.size or not np.isfinite(flat).all() or (flat < 0).any():
        raise MeasureError(
            "what is no probability", where="probabilities", expected="finite numbers from 0 to 1"
        )
    total = np.bincount(owner, flat, frame.height)
    wrong = (sizes > 0) & (np.abs(total - 1) > 1e-6)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise MeasureError(
            "probabilities that do not sum to 1",
            where="probabilities",
            expected="1 in every row",
            found=f"{total[row]:.6g} in row {row}",
        )
    inner = flat * np.log(np.where(flat > 0, flat, 1))
    spread = -np.bincount(owner, inner, frame.height)
    return np.asarray(np.where(sizes > 1, np.abs(spread) / np.log(np.maximum(sizes, 2)), np.nan))
