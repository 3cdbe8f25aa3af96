"""What the host and the snapshot that answer change: flips between two of them, beyond those within one.

A router passes requests on to hosts whose copies of a model differ (in precision, for one), and a provider
replaces a snapshot under the same name. Answers of both are then mixed in one study.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from quaver.core.annotations import SERVED
from quaver.core.records import Estimate
from quaver.estimation.coded_columns import Ints
from quaver.estimation.declaration import measure
from quaver.estimation.jackknife import Floats
from quaver.estimation.means import quotient
from quaver.estimation.measure_input import MeasureInput, arranged
from quaver.estimation.statistic import Cell, Statistic

_PAIRS: Final = 200
"""About so many pairs of prompts are compared; of more prompts, each with those that follow it."""

_NAMES: Final = {"served_host": "host", "served_snapshot": "snapshot"}


@measure()
def served_flips(data: MeasureInput) -> Iterator[Estimate]:
    """How many more labels flip between two hosts (or two snapshots) of a model than within one.

    Of two answers to one prompt about one item, or to two prompts about it, D_apart is the share that differ
    where two hosts gave them, D_same where one host did. ``served_flips_host`` is Σ_s w_s (D_apart − D_same)
    / Σ_s w_s over the pairs s of prompts (a prompt with itself among them), w_s = n_apart n_same / (n_apart +
    n_same): the risk difference of Mantel and Haenszel, which prompts that one host answered more often than
    another do not bias. ``served_flips_snapshot`` is the same for the model and fingerprint that the server
    names. In the details: ``explained``, the share of all flips that would not occur if one host had
    answered. Undefined where one host answered, or no pair of prompts has pairs of both kinds.

    Returns:
        For each cell an estimate of each column that the annotations have (``served_host``,
        ``served_snapshot``), an undefined one where they have neither.

    Four answers to one prompt about each of two items, two by each host; the hosts disagree about the second:

    >>> frame = {"item": [1] * 4 + [2] * 4, "repeat": [0, 1, 2, 3] * 2, "label": list("aaaaaabb"),
    ...     "served_host": ["Together", "Together", "DeepInfra", "DeepInfra"] * 2}
    >>> (found,) = served_flips(frame)
    >>> found.measure, found.value  # 4 of 8 pairs of two hosts differ, none of 4 pairs of one
    ('served_flips_host', 0.5)
    """
    sources = {
        column: data.gathered[column].cast(str).rank("dense").cast(float).fill_null(np.nan).to_numpy()
        for column in SERVED
        if column in data.gathered.columns
    }
    for cell in data.cells(raters=("repeat",), within=("model", "decoding", "variant")):
        for column, codes in sources.items():
            yield cell.estimated(_between(cell, arranged(codes, cell), _NAMES[column]))
        if not sources:
            nowhere = np.full(cell.codes.shape, np.nan)
            yield cell.estimated(_between(cell, nowhere, _NAMES[SERVED[0]]))


def _between(cell: Cell, sources: Floats, name: str) -> Statistic:
    """What pairs of answers of two sources have more of flips than pairs of one."""
    answered = np.isfinite(sources) & (cell.codes >= 0)
    there = np.unique(sources[answered])
    statistic = Statistic(
        part=f"_{name}",
        method=f"share of pairs of answers that differ, of two {name}s less of one, by pair of prompts",
        reason=f"one {name} answered" if len(there) else f"no {name} is known",
        n=0,
        ends=(-1.0, 1.0),
    )
    if len(there) < 2:
        return statistic
    counts = _counted(cell, np.where(answered, sources, -1).astype(np.int64))
    apart, apart_differ, same, same_differ = counts
    if not ((apart.sum(0) > 0) & (same.sum(0) > 0)).any():
        return replace(statistic, reason="no two answers to compare within one and between two")
    under = partial(_gap, counts)
    flips = float(apart_differ.sum() + same_differ.sum())
    explained = float(under(np.ones((1, len(cell.items))))[0, 0]) * float(apart.sum()) / max(1.0, flips)
    return replace(
        statistic,
        under=under,
        reason=None,
        n=(apart + same).any(1),
        details={"sources": len(there), "explained": max(0.0, min(1.0, explained))},
    )


def _gap(counts: Sequence[Floats], weights: Floats) -> Floats:
    """Σ_s w_s (D_apart − D_same) / Σ_s w_s, with w_s = apart_s same_s / (apart_s + same_s)."""
    apart, apart_differ, same, same_differ = (weights @ count for count in counts)
    both = apart + same
    above = quotient(apart_differ * same - same_differ * apart, both)
    weight = np.nansum(quotient(apart * same, both), 1, keepdims=True)
    return quotient(np.nansum(above, 1, keepdims=True), weight)


def _counted(cell: Cell, sources: Ints) -> list[Floats]:
    """Pairs of answers of two sources, those that differ, of one, those that differ: by item and prompts."""
    settings = [(where.get("model"), where.get("decoding")) for where in cell.strata]
    reach = max(1, _PAIRS // max(1, len(settings)))
    columns: list[list[NDArray[np.float64]]] = [[], [], [], []]
    for first, setting in enumerate(settings):
        for second in range(first, min(first + reach + 1, len(settings))):
            if settings[second] == setting:
                for column, counted in zip(columns, _of_pair(cell, sources, first, second), strict=True):
                    column.append(counted)
    empty = np.zeros((len(cell.items), 0))
    return [np.stack(column, 1) if column else empty for column in columns]


def _of_pair(cell: Cell, sources: Ints, first: int, second: int) -> Iterator[Floats]:
    """By item: pairs of two sources, those that differ, pairs of one source, those that differ."""
    defined = (sources[:, first, :, None] >= 0) & (sources[:, second, None, :] >= 0)
    if first == second:
        defined &= np.triu(np.ones(defined.shape[1:], bool), 1)
    apart = sources[:, first, :, None] != sources[:, second, None, :]
    differ = cell.codes[:, first, :, None] != cell.codes[:, second, None, :]
    for kind in (defined & apart, defined & ~apart):
        yield kind.sum((1, 2), dtype=np.float64)
        yield (kind & differ).sum((1, 2), dtype=np.float64)
