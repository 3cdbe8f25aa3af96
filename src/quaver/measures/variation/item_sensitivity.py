"""Sensitivity: how much the label of one item moves when the question is reworded.

Source: Errica, Siracusano, Sanvito & Bifulco (2025), What Did I Do Wrong? Quantifying LLMs' Sensitivity
and Consistency to Prompt Engineering, NAACL 2025, section 3.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from quaver.agreement.stratified_alpha import scaled
from quaver.core.records import OF_SETS, Estimate, Level
from quaver.errors import MeasureError
from quaver.estimation.bootstrap import Floats, Ratio
from quaver.estimation.cells import Missing, guarded
from quaver.estimation.declaration import measure
from quaver.estimation.means import entropy, jackknifed_entropy, over_strata, quotient
from quaver.estimation.measure_input import MeasureInput
from quaver.estimation.rank_correlation import spearman
from quaver.estimation.statistic import Cell, Statistic, never_labelled

PAPER = "Errica, Siracusano, Sanvito & Bifulco (2025), NAACL, section 3"

STRATA = ("model", "decoding", "repeat")
"""Within these the variants are one set of rephrasings."""

Convention = Literal["recommended", "paper"]
"""``"paper"``: as its authors compute it; ``"recommended"``: as each measure's docstring says."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Labels on a scale, on which some are further from each other than others.

    Attributes:
        order: The labels from the lowest, as places in the cell's labels.
        steps: From each to the next, as shares of the whole scale.
    """

    order: NDArray[np.intp]
    steps: Floats

    @classmethod
    def of(cls, cell: Cell, level: Level, missing: Missing) -> Scale | None:
        """The scale of a cell's labels at a level of measurement; None of nominal ones.

        Raises:
            MeasureError: The labels have no numbers or no order, or those without a label have no place.
        """
        _, numbers = scaled(cell.labels, level, cell.label_set, missing)
        if level == "nominal":
            return None
        if level in OF_SETS:
            raise MeasureError(
                "sets of labels lie on no scale",
                where="level",
                expected="nominal, ordinal, interval or ratio",
                found=level,
            )
        places = np.arange(len(cell.labels), dtype=np.float64) if numbers is None else numbers
        order = np.argsort(places, kind="stable")
        return cls(order, np.diff(places[order]) / max(float(np.ptp(places)), 1e-300))

    def upto(self, shares: Floats) -> Floats:
        """The share of the answers up to each step, shape (…, steps)."""
        return np.cumsum(shares[..., self.order], -1)[..., :-1]


@dataclass(frozen=True, slots=True)
class Entropies:
    """Normalised entropies of the items of one cell, averaged over its strata; on a scale, mean distances.

    Attributes:
        plain: Each item's sensitivity in each stratum, shape (items, strata); NaN where there is none.
        corrected: The same, jackknifed.
        predictions: Q, the number of predictions behind each.
    """

    plain: Floats
    corrected: Floats
    predictions: Floats

    @classmethod
    def of(cls, counts: Floats, scale: Scale | None = None) -> Entropies:
        """From label counts, shape (items, strata, labels); labels are the C of the norm ln C."""
        predictions = counts.sum(2)
        norm = np.log(counts.shape[2]) if counts.shape[2] > 1 else np.nan
        if scale is None:
            plain, corrected = entropy(counts) / norm, jackknifed_entropy(counts) / norm
        else:
            upto = scale.upto(counts / np.maximum(predictions, 1)[:, :, None])
            plain = 4 * (upto * (1 - upto)) @ scale.steps + 0 * norm
            corrected = plain * predictions / np.maximum(predictions - 1, 1)
        enough = predictions >= 2
        return cls(np.where(enough, plain, np.nan), np.where(enough, corrected, np.nan), predictions)

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
    return quotient(total, known.sum(1))


@measure(
    title="How readily the label changes with the prompt: sensitivity",
    axis="sensitivity (0: never changes)",
    section="sensitivity",
    better="lower",
    ends=(0.0, 1.0),
    source=PAPER,
    missing=("drop", "category"),
    compares=("variant",),
    treatments=("convention",),
    estimands=("population", "fixed"),
    of_a_set=True,
)
def sensitivity(
    data: MeasureInput,
    *,
    convention: Convention = "recommended",
    missing: Missing | None = None,
    level: Level = "nominal",
    classes: bool = False,
) -> list[Estimate]:
    """Sensitivity: the mean over items of the entropy of the labels that the variants gave.

    s(x) = −Σ_v p(v | x) ln p(v | x) / ln C, with p(v | x) the share of the Q variants that labelled item x
    with v, and C the number of labels of the label set (one more where answers without a label are one).
    Computed within each repeat (of each model and decoding), and averaged over those. Undefined where no
    item has two predictions, or there is one label only.

    The plug-in entropy grows with Q: values of unequal Q must not be compared. ``details["corrected"]``
    holds the jackknifed one with its interval; ``sd`` the standard deviation over items, ``by_class`` the
    mean of each gold label's items, ``predictions`` the range of Q, ``labels`` C.

    Args:
        convention: ``"paper"`` is ``missing="category"``, as the authors' code has it.
        missing: ``"drop"`` (the default) or ``"category"``.
        level: ``"nominal"``: labels are the same or not. Of labels on a scale (``"ordinal"``, ``"interval"``,
            ``"ratio"``) it is twice the mean distance of two answers over the length of the scale: 1 where
            half of them stand at each end.
        classes: Whether each gold label's items get an estimate of their own after the overall one, with the
            label under ``"class"`` in the cell.

    One item split two to two over four labels (ln 2 / ln 4), another unanimous:

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 1, 1, 1, 2, 2, 2, 2], "variant": [1, 2, 3, 4] * 2,
    ...                       "label": list("aabbcccc"), "gold": list("aaaadddd")})
    >>> sensitivity(frame)[0].value
    0.25
    """
    missing = check_convention(convention, missing)
    estimates: list[Estimate] = []
    for cell in data.cells(raters=("variant",), within=STRATA, gold=True, missing=missing):
        treated = f"{unlabelled(missing)}; convention: {convention}"
        scale = Scale.of(cell, level, missing)
        values = Entropies.of(cell.counts(), scale)
        what = f"label entropy over ln {len(cell.labels)}"
        if scale is not None:
            what = f"twice the mean distance of two answers over the {level} scale"
        statistic = Statistic(
            method=f"mean over items of {what} ({treated})",
            excluded=dict(cell.counted) if missing == "drop" else {},
            warnings=never_labelled(cell) if missing == "category" else (),
        )
        estimates.append(cell.estimated(_of_items(cell, values, statistic)))
        gold = np.full(len(cell.items), -1) if cell.gold is None or not classes else cell.gold
        for code in np.unique(gold[gold >= 0]).tolist():
            one = replace(statistic, where={"class": cell.labels[code]})
            estimates.append(cell.estimated(_of_items(cell, values.only(gold == code), one)))
    return unequal(estimates)


def check_convention(convention: Convention, missing: Missing | None) -> Missing:
    """What the unanswered count as, under a convention."""
    if convention not in ("recommended", "paper"):
        raise MeasureError(
            "unknown convention", where="convention", expected="recommended or paper", found=repr(convention)
        )
    default: Missing = "category" if convention == "paper" else "drop"
    if missing is not None and (
        missing not in ("drop", "category") or (convention == "paper" and missing != default)
    ):
        raise MeasureError(
            "answers without a label cannot be treated in this way",
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
    ranges = ", ".join(f"{low:g}" if low == high else f"{low:g} to {high:g}" for low, high in sorted(seen))
    warning = (
        f"cells rest on unequal numbers of predictions an item ({ranges}): do not compare the plain values"
    )
    return [replace(e, warnings=(*e.warnings, warning)) if e.value is not None else e for e in estimates]


def _of_items(cell: Cell, entropies: Entropies, statistic: Statistic) -> Statistic:
    """The statistic of the items that have entropies."""
    known = np.isfinite(entropies.plain)
    excluded = dict(statistic.excluded)
    if lost := int((entropies.predictions < 2).all(1).sum()):
        excluded["item with fewer than two predictions"] = lost
    statistic = replace(statistic, n=cell.units.touched(np.asarray(known.any(1))), excluded=excluded)
    if not statistic.n:
        why = "fewer than two labels" if len(cell.labels) < 2 else "fewer than two variants"
        return replace(statistic, reason=why if cell.items else "no annotations", warnings=())
    q, one = entropies.predictions[known], known.astype(float)
    under = over_strata(Ratio(np.where(known, entropies.corrected, 0), one))
    corrected = cell.estimated(replace(statistic, method=f"{statistic.method}, jackknifed", under=under))
    details: dict[str, Any] = {
        "corrected": corrected.value,
        "corrected_interval": None if corrected.low is None else (corrected.low, corrected.high),
        "sd": float(np.nanstd(entropies.items, ddof=1)) if np.isfinite(entropies.items).sum() > 1 else None,
        "labels": len(cell.labels),
        "predictions": (float(q.min()), float(q.max())),
        "by_class": by_class(entropies.items, cell),
    }
    warnings = statistic.warnings
    if q.min() < q.max():
        warnings += (
            f"items have between {q.min():g} and {q.max():g} predictions, with whose number the plain value "
            f"grows; jackknifed, which allows for that, it is {corrected.value:.3g}",
        )
    return replace(
        statistic,
        under=over_strata(Ratio(np.where(known, entropies.plain, 0), one)),
        details=details,
        warnings=warnings,
        ends=(0.0, 1.0),
        values=entropies.items,
    )


_METHOD = (
    "Pearson’s correlation of sensitivity and consistency over classes and cells; interval by Fisher’s z"
)


@guarded
def sensitivity_with_consistency(
    sensitivities: Sequence[Estimate],
    consistencies: Sequence[Estimate],
    *,
    floor: float = 0.05,
    confidence_level: float = 0.95,
) -> Estimate:
    """The correlation of sensitivity and consistency over the classes of all cells.

    Where nothing moves, sensitivity is about 0 whatever the consistency; classes whose sensitivity is under
    ``floor`` are left out and counted. The interval takes the classes for independent, which those of one
    model are not quite. Undefined for fewer than three classes, or where one side does not vary.

    Args:
        sensitivities: Of `sensitivity`, with ``by_class`` in their details.
        consistencies: Of `consistency`, of the same cells.
        floor: The least sensitivity that counts.
        confidence_level: Nominal level.

    Returns:
        Pearson's correlation. ``details`` has ``rank_correlation`` (Spearman's) and ``classes``: the cell,
        class, ``sensitivity``, ``consistency`` of each, and whether it was ``counted``.

    Raises:
        MeasureError: An estimate is of another measure.

    >>> def of(measure, values):
    ...     return [Estimate(measure, 0.5, details={"by_class": values})]
    >>> found = sensitivity_with_consistency(
    ...     of("sensitivity", {"a": 0.2, "b": 0.4, "c": 0.6, "d": 0.01}),
    ...     of("consistency", {"a": 0.9, "b": 0.8, "c": 0.7, "d": 0.1}))
    >>> round(found.value, 12), found.n, found.excluded
    (-1.0, 3, {'class with a sensitivity under 0.05': 1})
    """
    _check(sensitivities, "sensitivity")
    _check(consistencies, "consistency")
    classes = list(_classes(sensitivities, consistencies, floor))
    x = np.array([class_name["sensitivity"] for class_name in classes if class_name["counted"]])
    y = np.array([class_name["consistency"] for class_name in classes if class_name["counted"]])
    lost = len(classes) - x.size
    said: dict[str, Any] = {
        "measure": "sensitivity_with_consistency",
        "confidence_level": confidence_level,
        "n": x.size,
        "unit": "class and cell",
        "method": _METHOD,
        "reference": PAPER,
        "excluded": {f"class with a sensitivity under {floor:g}": lost} if lost else {},
    }
    details: dict[str, Any] = {"classes": classes, "floor": floor}
    if x.size < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        why = "fewer than three classes" if x.size < 3 else "no variation"
        return Estimate(value=None, reason=why, details=details, **said)
    r = float(np.clip(np.corrcoef(x, y)[0, 1], -1, 1))
    details["rank_correlation"] = spearman(x, y, permutations=0).value
    low = high = None
    if x.size > 3 and abs(r) < 1 - 1e-12:
        z = float(scipy.special.ndtri(0.5 + confidence_level / 2)) / math.sqrt(x.size - 3)
        low, high = math.tanh(math.atanh(r) - z), math.tanh(math.atanh(r) + z)
    return Estimate(value=r, low=low, high=high, details=details, **said)


def _check(estimates: Sequence[Estimate], measure: str) -> None:
    if other := sorted({estimate.measure for estimate in estimates} - {measure}):
        raise MeasureError(
            "estimates of another measure", where="estimates", expected=measure, found=", ".join(other)
        )


def _classes(
    sensitivities: Sequence[Estimate], consistencies: Sequence[Estimate], floor: float
) -> Iterator[Mapping[str, Any]]:
    alike = {
        tuple(sorted(estimate.cell.items())): estimate.details.get("by_class", {})
        for estimate in consistencies
    }
    for estimate in sensitivities:
        own = estimate.details.get("by_class", {})
        other = alike.get(tuple(sorted(estimate.cell.items())), {})
        for name, value in own.items():
            if "class" not in estimate.cell and name in other:
                yield {
                    "cell": dict(estimate.cell),
                    "class": name,
                    "sensitivity": value,
                    "consistency": other[name],
                    "counted": value >= floor,
                }
