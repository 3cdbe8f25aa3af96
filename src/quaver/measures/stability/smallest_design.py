"""How dependable a planned design's labels are, and the smallest design that is dependable enough."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from quaver.estimation.bootstrap import Floats
from quaver.estimation.cells import guarded
from quaver.estimation.encoding import Ints
from quaver.estimation.means import quotient

_MOST = (1000, 100)
"""The largest numbers of variants and repeats that a design is sought among."""


class Plan(NamedTuple):
    """How many of each an item's label is to be taken from."""

    variants: int = 1
    repeats: int = 1
    models: int = 1


@guarded
def dependability(components: Mapping[str, float], plan: Plan, *, relative: bool = False) -> float | None:
    """Φ of a planned design, or with ``relative`` Eρ²; None where there is no variance.

    Args:
        components: Variance components by source: ``"item"``, ``"item × variant"``, ``"repeat"`` …; negative
            ones count as 0. A source ``"…, repeat"`` holds both, and repeats are not taken to lower it.
        plan: How many variants, repeats and models, as a ``quaver.measures.stability.smallest_design.Plan``.
        relative: Leave out what shifts all items alike.

    Returns:
        Between 0 and 1.

    σ²(item) = 0.3, σ²(item × variant) = 0.1, σ²(repeat) = 0.2: Φ = 0.3 / (0.3 + 0.1/2 + 0.2/4) with two
    variants and two repeats:

    >>> parts = {"item": 0.3, "item × variant": 0.1, "repeat": 0.2}
    >>> round(dependability(parts, Plan(2, 2)), 6)
    0.75
    """
    names = list(components)
    values = np.array([[components[name] for name in names]])
    found = float(dependabilities(values, names, plan, relative=relative)[0])
    return found if np.isfinite(found) else None


def dependabilities(
    components: Floats, names: Sequence[str], plan: Plan, *, relative: bool = False
) -> Floats:
    """`dependability` of several sets of components, shape (samples, sources); NaN without variance."""
    positive = np.maximum(components, 0)
    numbers = {"variant": plan.variants, "model": plan.models}
    error = np.zeros(len(components))
    for index, name in enumerate(names):
        if name == "item":
            continue
        alone = name == "repeat"
        if relative and not alone and "item" not in name:
            continue
        # A repeat belongs to one variant and one model.
        of = numbers if alone else {key: number for key, number in numbers.items() if key in name}
        divisor = float(np.prod(list(of.values()))) * (plan.repeats if alone else 1)
        error = error + positive[:, index] / divisor
    item = positive[:, list(names).index("item")]
    total = item + error
    return quotient(item, total, 1e-12)


@guarded
def smallest_design(
    components: Mapping[str, float], target: float, *, models: int = 1
) -> dict[str, float] | None:
    """The fewest answers an item that reach a dependability: how many variants and repeats.

    Args:
        components: As `dependability` takes them.
        target: The dependability to reach.
        models: How many models are used.

    Returns:
        ``variants``, ``repeats`` and the ``dependability`` reached; of designs with as few answers, the one
        that reaches most. None where up to 1000 variants of 100 repeats do not reach it.

    With σ²(item) = 0.3 three answers, each of its own variant, give 0.3 / (0.3 + 0.1/3 + 0.2/3) = 0.75:

    >>> found = smallest_design({"item": 0.3, "item × variant": 0.1, "repeat": 0.2}, 0.75)
    >>> found["variants"], found["repeats"], round(found["dependability"], 6)
    (3, 1, 0.75)
    """
    names = list(components)
    values = np.array([[components[name] for name in names]])
    variants, repeats = (int(one[0]) for one in _smallest(values, names, target, models))
    if not variants:
        return None
    reached = float(dependabilities(values, names, Plan(variants, repeats, models))[0])
    return {"variants": variants, "repeats": repeats, "dependability": reached}


def uncertain_design(
    components: Floats, names: Sequence[str], target: float, models: int, tail: float
) -> dict[str, Any]:
    """How far the smallest design is known, from components as they might have been.

    Returns:
        ``smallest_design_answers``, between how many answers an item (variants × repeats) the smallest design
        lies in all but a share ``tail`` on each side; an end is None where no design reaches the target. And
        ``smallest_design_unreached``, the share of the draws in which none does.

    >>> draws = np.array([[0.3, 0.2], [0.3, 0.3], [0.0, 0.3]])  # 3 answers, 3, and none
    >>> found = uncertain_design(draws, ["item", "repeat"], 0.75, 1, 0.2)
    >>> found["smallest_design_answers"], round(found["smallest_design_unreached"], 3)
    ((2, None), 0.333)
    """
    variants, repeats = _smallest(components, names, target, models)
    answers = np.where(variants > 0, (variants * repeats).astype(np.float64), np.inf)
    ends = np.quantile(answers, [tail, 1 - tail], method="inverted_cdf")
    low, high = (int(end) if np.isfinite(end) else None for end in ends)
    return {
        "smallest_design_answers": (low, high),
        "smallest_design_unreached": float(np.isinf(answers).mean()),
    }


def _smallest(components: Floats, names: Sequence[str], target: float, models: int) -> tuple[Ints, Ints]:
    """Variants and repeats of the smallest design of each sample; 0 where none reaches the target.

    A design reaches it where the error is at most σ²(item)·(1 − target)/target. With r repeats that takes
    (V + R / r) / (that − F) variants: V what more variants divide, R what repeats divide too, F the rest.
    """
    positive = np.maximum(components, 0)
    parts = {
        "fixed": np.zeros(len(positive)),
        "variant": np.zeros(len(positive)),
        "repeat": np.zeros(len(positive)),
    }
    several = any("variant" in name for name in names)
    for index, name in enumerate(names):
        if name != "item":
            kind = "repeat" if name == "repeat" else "variant" if "variant" in name else "fixed"
            parts[kind] += positive[:, index] / (models if name == "repeat" or "model" in name else 1)
    item = positive[:, list(names).index("item")]
    left = (item * (1 - target) / target + 1e-12 - parts["fixed"])[:, None]
    repeats = np.arange(1, _MOST[1] + 1 if "repeat" in names else 2)
    error = parts["variant"][:, None] + parts["repeat"][:, None] / repeats
    needed = np.where(left > 0, np.ceil(error / np.where(left > 0, left, 1) - 1e-9), np.inf)
    needed = np.where(item[:, None] > 1e-12, np.maximum(needed, 1), np.inf)
    needed = np.where(needed <= (_MOST[0] if several else 1), needed, np.inf)
    answers = needed * repeats
    # Of as many answers, more variants reach more; where variants make no difference, one of them does.
    most, fewest = answers.argmin(1), repeats.size - 1 - answers[:, ::-1].argmin(1)
    best = np.where(parts["variant"] > 0, most, fewest)
    variants = np.take_along_axis(needed, best[:, None], 1)[:, 0]
    found = np.isfinite(variants)
    return np.where(found, variants, 0).astype(np.int64), np.where(found, repeats[best], 0)
