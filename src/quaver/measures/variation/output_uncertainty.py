"""Output uncertainty: how spread the model's own label probabilities are, at a paraphrase as it stands.

Source: Errica, Siracusano, Sanvito & Bifulco (2025), NAACL, who set it beside sensitivity: a model may be
certain of each answer and yet give another one to every paraphrase.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from quaver.agreement.stratified_alpha import rarest_labels, stray_labels
from quaver.core.records import Estimate
from quaver.errors import MeasureError
from quaver.estimation.bootstrap import Floats
from quaver.estimation.confidences import arranged
from quaver.estimation.declaration import measure
from quaver.estimation.gathered import Gathered
from quaver.estimation.means import share_of
from quaver.estimation.reading import Reading
from quaver.estimation.statistic import Statistic
from quaver.measures.variation.item_sensitivity import PAPER
from quaver.measures.variation.label_shares import ASKING


@measure(source=PAPER, estimands=("fixed", "population", "next"))
def output_uncertainty(reading: Reading) -> Iterator[Estimate]:
    """Output uncertainty: the mean entropy of the label probabilities, over ln C.

    −Σ_v p(v) ln p(v) / ln C for each answer with C label probabilities, averaged over answers; with
    ``by=["variant"]``, at each paraphrase. It reads the column ``probabilities``, a list for each row.
    Undefined where no answer has probabilities.

    Raises:
        MeasureError: Probabilities do not sum to 1.

    >>> frame = pl.DataFrame({"item": [1, 2], "label": ["a", "a"], "probabilities": [[0.5, 0.5], [1.0, 0.0]]})
    >>> output_uncertainty(frame)[0].value
    0.5
    """
    gathered, name = reading.gathered, (reading.columns or {}).get("probabilities", "probabilities")
    each = gathered.kept(("entropies", str(name)), lambda: _entropies(gathered, name))
    for cell in reading.cells(raters=ASKING):
        own = arranged(each, cell)
        known = np.isfinite(own)
        answers = known.sum((1, 2))
        total = np.where(known, own, 0).sum((1, 2))
        lost = int((cell.rows >= 0).sum() - answers.sum())
        found = Statistic(
            method="mean entropy of label probabilities over ln C",
            excluded={"no probabilities": lost} if lost else {},
            reason="no label probabilities" if cell.items else "no annotations",
        )
        if answers.any():
            item = total[answers > 0] / answers[answers > 0]
            sd = float(item.std(ddof=1)) if item.size > 1 else None
            counts = cell.counts().sum(1)  # uncertainty differs most by label
            found = replace(
                found,
                rarest=rarest_labels(counts, cell.units),
                warnings=stray_labels(cell, counts),
                details={"answers": int(answers.sum()), "sd": sd},
            )
        yield cell.estimated(share_of(cell, total, answers, found))


def _entropies(gathered: Gathered, name: str | Sequence[str]) -> Floats:
    """The normalised entropy of each row's probabilities; NaN where it has none."""
    if not isinstance(name, str) or name not in gathered.columns:
        return np.full(gathered.height, np.nan)
    found, row = [np.empty(0)], 0
    for column in gathered.pieces(name):
        found.append(_normalised(column, row))
        row += column.len()
    return np.concatenate(found)


def _normalised(column: pl.Series, before: int) -> Floats:
    """The normalised entropies of some rows, so many before them."""
    kind, height = column.dtype, column.len()
    if column.null_count() == height:
        return np.full(height, np.nan)
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
    owner = np.repeat(np.arange(height), sizes)
    if flat.size != owner.size or not np.isfinite(flat).all() or (flat < 0).any():
        raise MeasureError(
            "a value that is not a probability", where="probabilities", expected="finite numbers from 0 to 1"
        )
    total = np.bincount(owner, flat, height)
    wrong = (sizes > 0) & (np.abs(total - 1) > 1e-6)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise MeasureError(
            "probabilities that do not sum to 1",
            where="probabilities",
            expected="1 in every row",
            found=f"{total[row]:.6g} in row {before + row}",
        )
    inner = flat * np.log(np.where(flat > 0, flat, 1))
    spread = -np.bincount(owner, inner, height)
    return np.asarray(np.where(sizes > 1, np.abs(spread) / np.log(np.maximum(sizes, 2)), np.nan))
