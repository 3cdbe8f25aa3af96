"""How far two different labels count as agreement: the weights of the kappas and of Gwet's coefficient."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeVar

import numpy as np

from quaver.core.labels import folded
from quaver.core.records import BY_PAIRS, Level
from quaver.errors import MeasureError
from quaver.estimation.jackknife import Floats

Weights = Literal["linear", "quadratic"] | Mapping[str, Mapping[str, float]]
"""Weights by name, or a table of one's own: of each label, the weight of each label beside it."""


ValueT = TypeVar("ValueT")
DefaultT = TypeVar("DefaultT")


def agreement_weights(
    labels: Sequence[str], level: Level, values: Floats | None = None, weights: Weights | None = None
) -> Floats:
    """How far each two labels count as agreement: 1 on the diagonal, 0 where nothing is further apart.

    With v the labels' numbers, or at the ordinal level their places: linear 1 − |v_k − v_l| / range;
    quadratic 1 − ((v_k − v_l) / range)². If neither is named, those of the level: nominal, 0 for two labels
    that differ; ordinal, 1 − C(|k − l| + 1, 2) / C(q, 2); interval, quadratic; ratio, 1 − ((v_k − v_l) /
    (v_k + v_l))², relative to the largest; sets of labels, 1 − their distance. Source: Gwet (2014), ch. 3.

    Args:
        labels: The labels in order.
        level: Level of measurement.
        values: The labels' numbers, where the level needs them; of sets, their distances.
        weights: Which weights; by default, those of the level.

    Raises:
        MeasureError: The labels have no order, or are not those of the table.

    >>> agreement_weights("abc", "ordinal")[0].round(3).tolist()
    [1.0, 0.667, 0.0]
    >>> agreement_weights("abc", "ordinal", weights="linear")[0].tolist()
    [1.0, 0.5, 0.0]
    """
    if isinstance(weights, Mapping):
        return _own(labels, weights)
    if weights is not None and level in {"nominal", *BY_PAIRS}:
        raise MeasureError(
            "labels without an order have no such weights",
            where="weights",
            expected="the ordinal, interval or ratio level, or a table of weights",
            found=f"{weights} weights at the {level} level",
        )
    if level in BY_PAIRS:
        assert values is not None
        return 1 - values
    if level == "nominal" or len(labels) < 2:
        return np.eye(len(labels))
    places = np.arange(len(labels), dtype=np.float64) if values is None else values
    apart = np.abs(places[:, None] - places)
    if weights == "linear":
        loss = apart
    elif weights == "quadratic" or level == "interval":
        loss = apart**2
    elif level == "ordinal":
        loss = apart * (apart + 1) / 2
    else:
        total = places[:, None] + places
        loss = (apart / np.where(total > 0, total, 1)) ** 2
    return 1 - loss / max(float(loss.max()), np.finfo(float).tiny)


def _own(labels: Sequence[str], table: Mapping[str, Mapping[str, float]]) -> Floats:
    """The weights that a table gives each two labels."""
    weights = np.eye(len(labels))
    for k, label in enumerate(labels):
        row = _named(label, table, {})
        for el, other in enumerate(labels):
            weight = _named(other, row, None)
            if weight is None:
                raise MeasureError(
                    f"no weight of {label!r} beside {other!r}",
                    where="weights",
                    expected=f"a row and a column for each of {', '.join(labels)}",
                    found=f"rows for {', '.join(map(str, table)) or 'nothing'}",
                )
            weights[k, el] = weight
    wrong = (weights != weights.T) | ~((weights >= 0) & (weights <= 1)) | (weights < np.eye(len(labels)))
    if wrong.any():
        k, el = np.argwhere(wrong)[0].tolist()
        raise MeasureError(
            "these are not weights of agreement",
            where="weights",
            expected="1 for a label with itself, 0 to 1 for two labels, the same in both directions",
            found=f"{labels[k]!r} beside {labels[el]!r}: {weights[k, el]:g}, "
            f"the other way {weights[el, k]:g}",
        )
    return weights


def _named(label: str, entries: Mapping[str, ValueT], default: DefaultT) -> ValueT | DefaultT:
    """The entry of a table for a label, however its name is written."""
    names = {folded(str(name)): name for name in entries} | {str(name): name for name in entries}
    name = names.get(label, names.get(folded(label)))
    return default if name is None else entries[name]
