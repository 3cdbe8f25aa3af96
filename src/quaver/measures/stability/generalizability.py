"""Where the variance is: items, variants, models, repeats; and how many of these a reliable design needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from quaver.agreement.stratified_alpha import rarest_labels, scaled, stray_labels
from quaver.core.presentation import Presentation
from quaver.core.records import Estimate, Level
from quaver.core.seeds import derive
from quaver.errors import MeasureError
from quaver.estimation.bootstrap import Draws, Floats, covariance_without_one
from quaver.estimation.cell import Cell
from quaver.estimation.cells import Missing
from quaver.estimation.declaration import measure
from quaver.estimation.intervals import mean_within
from quaver.estimation.inversion import deviations
from quaver.estimation.reading import Reading
from quaver.estimation.statistic import Statistic
from quaver.measures.stability.smallest_design import (
    Plan,
    dependabilities,
    dependability,
    smallest_design,
    uncertain_design,
)
from quaver.measures.stability.variance_components import Pairs, Sources

_REFERENCE = (
    "Brennan (2001), Generalizability Theory, ch. 3-4; components by symmetric sums: Koch (1968), "
    "Technometrics 10, 551-558; nominal labels as indicators: Light & Margolin (1971), JASA 66, 534-544"
)


@measure(
    section="factors",
    better="higher",
    parts={"_component": Presentation()},
    source=_REFERENCE,
    missing=("drop", "category"),
    compares=("model", "variant"),
    treatments=("level",),
    estimands=("fixed", "population"),
    of_a_set=True,
)
def generalizability(
    reading: Reading,
    *,
    variants: int = 1,
    repeats: int = 1,
    models: int = 1,
    target: float = 0.8,
    level: Level | None = None,
    missing: Missing,
) -> Iterator[Estimate]:
    """Variance components of items, variants, models and repeats, and the dependability of a planned design.

    Items, variants and models are crossed and random; repeats are nested in them; facets with one value in a
    cell play no part; decodings are kept apart, and their pairs of answers pooled. The variance of a nominal
    label is that of its indicators, ½ Σ_v (x_v − y_v)², so that a component is in units of the probability
    that two answers differ; other levels use the labels' numbers (ordinal: places).

    With D(S) the mean of ½(x − y)² over the pairs of answers that share exactly the facets S, D(∅) − D(S) is
    the sum of the components within S, and D(all) the repeats' own: unbiased, and not in need of balance.
    Dependability Φ = σ²(item) / (σ²(item) + Σ σ²(A) / n(A)), where n(A) multiplies the planned numbers of the
    facets in A; it is that of the mean of the indicators (vote shares), not of the majority's label.

    Undefined where there are fewer than two items, no facet or repeat, or no variation. Intervals are over
    items, for these variants and models; that of Φ is over variants too with ``estimand="population"``.

    Args:
        variants: Planned number of variants of each item's label.
        repeats: Planned number of repeats of each variant.
        models: Planned number of models.
        target: The dependability that ``details["smallest_design"]`` is to reach; ``smallest_design_answers``
            are the ends of its interval in answers an item (variants × repeats; None: none reaches it), and
            ``smallest_design_unreached`` how probable it is that none does, both over other items like these.
        level: Level of measurement; by default the label set's, nominal without one.
        missing: ``"drop"``, or ``"category"`` (nominal only).

    Returns:
        For each cell ``generalizability`` (Φ of the plan; ``relative`` in its details is Eρ², in which what
        shifts all items alike does no harm), and ``generalizability_component`` for each source of variance,
        named in the cell as ``source``; a negative component is given as it is, and counts as 0 in Φ.

    Two items, two repeats, all the same within an item: all variance is the items':

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 1, 2, 2], "repeat": [0, 1, 0, 1], "label": list("aabb")})
    >>> [(e.cell.get("source", ""), e.value) for e in generalizability(frame, resamples=0)]
    [('', 1.0), ('item', 1.0), ('repeat', 0.0)]
    """
    plan = _plan(variants, repeats, models, target)
    for cell in reading.cells(raters=("repeat",), within=("decoding", "variant", "model"), missing=missing):
        of, values = scaled(cell.labels, level, cell.label_set, missing)
        values = np.arange(len(cell.labels), dtype=np.float64) if of == "ordinal" else values
        said = Statistic(
            method=f"dependability of {plan.variants} variants × {plan.repeats} repeats × {plan.models} "
            f"models, {of} labels; items, variants and models as random facets",
            excluded=cell.counted if missing == "drop" else {},
        )
        for statistic in _statistics(Pairs(cell, values, reading.columns), plan, target, said):
            found = cell.estimated(statistic)
            below = not statistic.part and found.low is not None and found.low < 0
            yield replace(found, low=0.0) if below else found


def _plan(variants: int, repeats: int, models: int, target: float) -> Plan:
    for name, number in (("variants", variants), ("repeats", repeats), ("models", models)):
        if not isinstance(number, (int, np.integer)) or number < 1:
            raise MeasureError("not a number of them", where=name, expected="1 or more", found=repr(number))
    if not 0 < target < 1:
        raise MeasureError(
            "not a dependability", where="target", expected="a number between 0 and 1", found=repr(target)
        )
    return Plan(variants, repeats, models)


def _statistics(pairs: Pairs, plan: Plan, target: float, said: Statistic) -> Iterator[Statistic]:
    """Dependability, and each component after it."""
    cell, said = pairs.cell, replace(said, n=pairs.units_answered)
    if pairs.units_answered < 2:
        why = "fewer than two items" if pairs.units_answered else "no answer has a label"
        yield replace(said, reason=why if cell.items else "no annotations")
        return
    sources = Sources(pairs)
    if not sources.complete or not (sources.repeated or pairs.facets):
        several = sources.repeated or pairs.facets
        why = "no pairs of answers for some source of variance" if several else "fewer than two raters"
        yield replace(said, reason=why)
        return
    names = sources.labels

    def under(weights: Floats) -> Floats:
        parts = sources.components(weights)
        return np.concatenate([dependabilities(parts, names, plan)[:, None], parts], 1)

    draws = cell.draws(under)
    point = draws.point
    if not np.isfinite(point[0]):
        yield replace(said, reason="no variation")
        return
    parts = dict(zip(names, (float(value) for value in point[1:]), strict=True))
    total = sum(max(0.0, value) for value in parts.values())
    warnings: list[str] = [*stray_labels(cell, cell.counts().sum(1))]
    if negative := [name for name, value in parts.items() if value < -1e-12]:
        warnings.append(f"negative components count as 0: {', '.join(negative)}")
    if not sources.repeated:
        warnings.append("without repeats their variance cannot be separated from the last interaction's")
    said = replace(said, rarest=rarest_labels(cell.counts().sum(1), cell.units))
    yield replace(
        said,
        under=under,
        differing=cell.units.touched(pairs.differ),
        warnings=tuple(warnings),
        ends=(-1.0, 1.0),  # near 0 it varies as if it went on below, where it counts as 0
        spread=mean_within,
        details={
            "components": parts,
            "relative": dependability(parts, plan, relative=True),
            "plan": plan._asdict(),
            "target": target,
            "smallest_design": smallest_design(parts, target, models=plan.models),
            **_uncertain(cell, draws, names, target, plan.models),
        },
    )
    for index, (name, part) in enumerate(parts.items()):
        yield replace(
            said,
            part="_component",
            method=f"variance component of {name}",
            where={"source": name},
            under=under,
            column=index + 1,
            details={"share": max(0.0, part) / total},
        )


def _uncertain(cell: Cell, draws: Draws, names: Sequence[str], target: float, models: int) -> dict[str, Any]:
    """How far the smallest design is known; nothing where nothing is resampled."""
    left, resampling = draws.jackknife[:, 1:], cell.resampling
    left = left[np.isfinite(left).all(1)]
    if len(left) < 2:
        return {}
    noise = deviations(
        covariance_without_one(left),
        draws=resampling.resamples,
        freedom=len(left) - 1,
        seed=derive(resampling.seed, "smallest design"),
    )
    return uncertain_design(draws.point[1:] + noise, names, target, models, resampling.tail)
