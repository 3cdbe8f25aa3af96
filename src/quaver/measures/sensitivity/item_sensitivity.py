"""Sensitivity: how much the label of one item moves when the question is reworded.

Source: Errica, Siracusano, Sanvito & Bifulco (2025), What Did I Do Wrong? Quantifying LLMs' Sensitivity
and Consistency to Prompt Engineering, NAACL 2025, section 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from quaver.core.records import Estimate, LabelSet
from quaver.errors import MeasureError
from quaver.estimation.bootstrap import Floats, Resampling, bootstrap
from quaver.estimation.cell import Cell, never_labelled
from quaver.estimation.cells import Missing, cells
from quaver.estimation.column_roles import Columns
from quaver.estimation.entropy import entropy, jackknifed_entropy
from quaver.estimation.intervals import Claim, estimate, mean_within, undefined
from quaver.estimation.means import differing, over_strata, ratio
from quaver.estimation.measure_protocol import Frame, compares

__all__ = [
    "PAPER",
    "STRATA",
    "Convention",
    "by_class",
    "check_convention",
    "sensitivity",
    "unequal",
    "unlabelled",
]

PAPER = "Errica, Siracusano, Sanvito & Bifulco (2025), NAACL, section 3"

STRATA = ("model", "decoding", "repeat")
"""Within these the variants are one set of rephrasings."""

Convention = Literal["recommended", "paper"]
"""``"paper"``: as its authors compute it; ``"recommended"``: as each measure's docstring says."""


@dataclass(frozen=True, slots=True)
class Entropies:
    """Normalised entropies of the items of one cell, averaged over its strata.

    Attributes:
        plain: Each item's sensitivity in each stratum, shape (items, strata); NaN where there is none.
        corrected: The same, jackknifed.
        predictions: Q, the number of predictions behind each.
    """

    plain: Floats
    corrected: Floats
    predictions: Floats

    @classmethod
    def of(cls, counts: Floats) -> Entropies:
        """From label counts, shape (items, strata, labels); labels are the C of the norm ln C."""
        predictions = counts.sum(2)
        norm = np.log(counts.shape[2]) if counts.shape[2] > 1 else np.nan
        enough = predictions >= 2
        plain = np.where(enough, entropy(counts) / norm, np.nan)
        return cls(plain, np.where(enough, jackknifed_entropy(counts) / norm, np.nan), predictions)

    def only(self, items: NDArray[np.bool_]) -> Entropies:
        """Those of some items; the others have none."""
        keep = items[:, None]
        return Entropies(
            *(np.where(keep, part, np.nan) for part in (self.plain, self.corrected, self.predictions))
        )

    @property
    def items(self) -> Floats:
        """Each item's sensitivity, the mean over the strata where it has one."""
        return mean_defined(self.plain)


def mean_defined(values: Floats) -> Floats:
    """Row means over what is not NaN; NaN for a row without."""
    known = np.isfinite(values)
    total = np.where(known, values, 0).sum(1)
    return np.asarray(np.where(known.any(1), total / np.maximum(known.sum(1), 1), np.nan))


@compares("variant")
def sensitivity(
    annotations: Frame,
    *,
    labels: LabelSet | None = None,
    by: Sequence[str] = (),
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    convention: Convention = "recommended",
    missing: Missing | None = None,
    classes: bool = False,
    columns: Columns | None = None,
    group: str | None = None,
    interval: Literal["bca", "percentile"] = "bca",
) -> list[Estimate]:
    """Sensitivity: the mean over items of the entropy of the labels that the variants gave.

    s(x) = −Σ_v p(v | x) ln p(v | x) / ln C, with p(v | x) the share of the Q variants that labelled item x
    with v, and C the number of labels (one more where the unanswered are a label). Computed within each
    repeat (of each model and decoding), and averaged over those. Undefined where no item has two
    predictions, or there is one label only.

    The plug-in entropy grows with Q: values of unequal Q must not be compared. ``details["corrected"]``
    holds the jackknifed one with its interval; ``sd`` the standard deviation over items, ``by_class`` the
    mean of each gold label's items, ``predictions`` the range of Q, ``labels`` C.

    Source: Errica, Siracusano, Sanvito & Bifulco (2025), NAACL, section 3.

    Args:
        annotations: A row an annotation; see `quaver.estimation.measure_protocol.Measure`.
        labels: The label set, whose size is C; without it, the labels and gold labels that occur.
        by: Columns that make the cells.
        confidence: Nominal level.
        resamples: Bootstrap resamples.
        seed: Root seed.
        convention: ``"paper"`` is ``missing="category"``, as the authors' code has it.
        missing: ``"drop"`` (the default) or ``"category"``.
        classes: Whether each gold label's items get an estimate of their own after the overall one, with the
            label under ``"class"`` in the cell.
        columns: Other names for the frame's columns.
        group: The column whose groups of items are resampled.
        interval: Which interval is given.

    Returns:
        An estimate for each cell.

    Raises:
        MeasureError: The frame or an option cannot be used.

    One item split two to two over four labels (ln 2 / ln 4), another unanimous:

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 1, 1, 1, 2, 2, 2, 2], "variant": [1, 2, 3, 4] * 2,
    ...                       "label": list("aabbcccc"), "gold": list("aaaadddd")})
    >>> sensitivity(frame)[0].value
    0.25
    """
    missing = check_convention(convention, missing)
    resampling = Resampling(confidence, resamples, seed, interval)
    found = cells(
        annotations,
        raters=("variant",),
        within=STRATA,
        by=by,
        labels=labels,
        columns=columns,
        group=group,
        missing=missing,
        gold=True,
    )
    asked: list[Estimate] = []
    for cell in found:
        values = Entropies.of(cell.counts())
        asked.append(_sensitivity(cell, values, resampling, missing, convention))
        gold = np.full(len(cell.items), -1) if cell.gold is None or not classes else cell.gold
        for code in np.unique(gold[gold >= 0]).tolist():
            own = replace(cell, where={**cell.where, "class": cell.labels[code]})
            asked.append(_sensitivity(own, values.only(gold == code), resampling, missing, convention))
    return unequal(asked)


def check_convention(convention: Convention, missing: Missing | None) -> Missing:
    """What the unanswered count as, under a convention.

    Raises:
        MeasureError: The convention is unknown, or the two contradict each other.
    """
    if convention not in ("recommended", "paper"):
        raise MeasureError(
            "unknown convention", where="convention", expected="recommended or paper", found=repr(convention)
        )
    default: Missing = "category" if convention == "paper" else "drop"
    if missing is not None and (
        missing not in ("drop", "category") or (convention == "paper" and missing != default)
    ):
        raise MeasureError(
            "the unanswered cannot be treated so",
            where="missing",
            expected="category, under the paper's convention"
            if convention == "paper"
            else "drop or category",
            found=repr(missing),
        )
    return missing or default


def unlabelled(missing: Missing) -> str:
    """How answers without a label are treated, for a method."""
    if missing == "category":
        return "an answer without a label counts as one more label"
    return "answers without a label are left out"


def by_class(values: Floats, cell: Cell) -> dict[str, float]:
    """The mean of item values for each gold label that has any."""
    if cell.gold is None:
        return {}
    known = np.isfinite(values)
    classes = [(name, known & (cell.gold == code)) for code, name in enumerate(cell.labels)]
    return {name: float(values[items].mean()) for name, items in classes if items.any()}


def unequal(estimates: list[Estimate]) -> list[Estimate]:
    """Warn where the cells of one call rest on unequal numbers of predictions."""
    seen = {e.details["predictions"] for e in estimates if e.value is not None}
    if len(seen) < 2:
        return estimates
    told = ", ".join(f"{low:g}" if low == high else f"{low:g} to {high:g}" for low, high in sorted(seen))
    warning = (
        f"cells rest on unequal numbers of predictions an item ({told}): do not compare the plain values"
    )
    return [replace(e, warnings=(*e.warnings, warning)) if e.value is not None else e for e in estimates]


def _sensitivity(
    cell: Cell, found: Entropies, resampling: Resampling, missing: Missing, convention: Convention
) -> Estimate:
    units = cell.units
    known = np.isfinite(found.plain)
    n = units.touched(np.asarray(known.any(1)))
    excluded = dict(cell.counted) if missing == "drop" else {}
    if lost := int((found.predictions < 2).all(1).sum()):
        excluded["item with fewer than two predictions"] = lost
    treated = unlabelled(missing)
    claim = Claim(
        "sensitivity",
        f"mean over items of label entropy over ln {len(cell.labels)} ({treated}; convention: {convention})",
        PAPER,
        cell=cell.where,
        excluded=excluded,
        n=n,
    )
    if not n:
        why = "fewer than two labels" if len(cell.labels) < 2 else "fewer than two variants"
        return undefined(claim, units, resampling, why if cell.items else "no annotations")
    q = found.predictions[known]
    one = known.astype(float)
    corrected = estimate(
        replace(claim, method=f"{claim.method}, jackknifed", warnings=()),
        bootstrap(over_strata(ratio(np.where(known, found.corrected, 0), one)), units, resampling),
        units,
        resampling,
    )
    details: dict[str, Any] = {
        "corrected": corrected.value,
        "corrected_interval": None if corrected.low is None else (corrected.low, corrected.high),
        "sd": float(np.nanstd(found.items, ddof=1)) if np.isfinite(found.items).sum() > 1 else None,
        "labels": len(cell.labels),
        "predictions": (float(q.min()), float(q.max())),
        "by_class": by_class(found.items, cell),
    }
    warnings = never_labelled(cell) if missing == "category" else ()
    if q.min() < q.max():
        warnings += (
            f"items have between {q.min():g} and {q.max():g} predictions, with whose number the plain value "
            f"grows; jackknifed, which allows for that, it is {corrected.value:.3g}",
        )
    draws = bootstrap(over_strata(ratio(np.where(known, found.plain, 0), one)), units, resampling)
    value = float(draws.point[0])
    claim = replace(
        claim,
        details=details,
        warnings=warnings,
        differing=differing(found.items, units),
        spread=partial(mean_within, value),
    )
    return estimate(claim, draws, units, resampling)
