"""The interval of inter-prompt stability that also speaks of paraphrases nobody has tried yet.

Items and paraphrases are both drawn with replacement. Two copies of one paraphrase agree by birth, so pairs
of them are left out: with paraphrase w drawn c_w times, an item that m of the drawn paraphrases labelled has
m² − Σ_w c_w² pairs in place of m (m − 1), and alpha is

    1 − (n − 1) Σ_u w_u m_u S_u / (m_u² − Σ_w c_w²) / Σ_vk N_v N_k δ²(v, k),   S_u = Σ_vk n_uv n_uk δ²(v, k),

which is alpha itself where every c_w is 1. The draws of both follow Owen (2007), The pigeonhole
bootstrap, Annals of Applied Statistics 1, 386-411, whose intervals err on the wide side.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from quaver.core.records import Level
from quaver.estimation.bootstrap import Floats, Resampling, Units
from quaver.estimation.one_thread import one_thread

_ENTRIES = 2**23
_STREAM = "wording"
"""The name that these draws' seed is derived from: under another one every interval would be another."""


@one_thread()
def two_way_alphas(
    codes: NDArray[np.int32],
    labels: int,
    units: Units,
    resampling: Resampling,
    level: Level,
    values: Floats | None,
) -> Floats:
    """Bootstrap values of the mean over strata of alpha, items and paraphrases drawn anew each time.

    Args:
        codes: (items, strata, paraphrases), -1 for none; the same paraphrases are drawn in every stratum.
        labels: How many labels there are.
        units: What is resampled beside the paraphrases.
        resampling: How.
        level: Level of measurement.
        values: The labels' numbers, at the interval and ratio levels.

    Returns:
        One value a resample; NaN where it is undefined.
    """
    items, strata, paraphrases = codes.shape
    drawn = np.concatenate(list(Units(paraphrases, name=_STREAM).weights(resampling)))
    found = []
    start = 0
    for block in units.weights(resampling):
        size = max(1, _ENTRIES // max(1, items * labels))
        for low in range(0, len(block), size):
            weights = block[low : low + size]
            copies = drawn[start : start + len(weights)]
            start += len(weights)
            alphas = [_alphas(codes[:, s], labels, weights, copies, level, values) for s in range(strata)]
            found.append(_mean(np.stack(alphas, 1)))
    return np.concatenate(found) if found else np.empty(0)


def _mean(values: Floats) -> Floats:
    defined = np.isfinite(values)
    count = defined.sum(1)
    return np.where(count > 0, np.where(defined, values, 0).sum(1) / np.maximum(count, 1), np.nan)


def _alphas(
    codes: NDArray[np.int32],
    labels: int,
    weights: Floats,
    copies: Floats,
    level: Level,
    values: Floats | None,
) -> Floats:
    """Alpha of one stratum for each sample of items and paraphrases."""
    items = len(codes)
    given = (codes >= 0).astype(float)
    which = np.stack([(codes == label) for label in range(labels)], 1).astype(float)
    # counts: (samples, items, labels), how often each label was given by the drawn paraphrases.
    counts = (copies @ which.reshape(items * labels, -1).T).reshape(len(copies), items, labels)
    m = copies @ given.T
    pairs = m**2 - (copies**2) @ given.T
    counts *= (pairs > 0)[:, :, None]
    totals = np.einsum("bu,buv->bv", weights, counts)
    n = totals.sum(1)
    disagreement = _disagreement(counts, totals, level, values)
    share = np.where(pairs > 0, m / np.where(pairs > 0, pairs, 1), 0)
    observed = (weights * disagreement * share).sum(1)
    expected = _disagreement(totals[:, None], totals, level, values)[:, 0]
    defined = expected > 1e-9 * np.maximum(n, 1) ** 2 * (np.maximum(n, 1) ** 2 if level == "ordinal" else 1)
    alpha = 1 - (n - 1) * observed / np.where(defined, expected, 1)
    return np.asarray(np.where(defined, alpha, np.nan))


def _disagreement(counts: Floats, totals: Floats, level: Level, values: Floats | None) -> Floats:
    """Σ_vk n_v n_k δ²(v, k) for each sample and item."""
    m = counts.sum(2)
    if level == "nominal":
        return np.asarray(m**2 - (counts**2).sum(2))
    if level == "ratio":
        assert values is not None
        total = values[:, None] + values
        delta = ((values[:, None] - values) / np.where(total > 0, total, 1)) ** 2
        return np.asarray(((counts @ delta) * counts).sum(2))
    if level == "interval":
        assert values is not None
        place = np.broadcast_to(values - values.mean(), totals.shape)
    else:
        place = np.cumsum(totals, 1) - totals / 2 - totals.sum(1, keepdims=True) / 2
    first, second = np.einsum("buv,bv->bu", counts, place), np.einsum("buv,bv->bu", counts, place**2)
    return np.asarray(2 * (m * second - first**2))
