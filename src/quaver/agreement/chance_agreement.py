"""Percent agreement and the kappas: what stands beside alpha, which one dominant label makes misleading.

All are (p_a − p_e) / (1 − p_e), with p_a the weighted share of agreeing pairs of ratings,

    p_a = mean over items with r_i ≥ 2 ratings of Σ_k r_ik (Σ_l w_kl r_il − 1) / (r_i (r_i − 1)),

and differ in p_e, the agreement that chance would give. Weights w are 1 for the same label, otherwise 0
(nominal), or grow towards 1 with nearness at the other levels.
Source: Gwet (2014), Handbook of Inter-Rater Reliability, 4th ed., chs. 2-5, whose treatment of missing
ratings this is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np

from quaver.agreement.ratings import label_set_of, read_ratings
from quaver.agreement.stratified_alpha import scaled
from quaver.core.records import Estimate, LabelSet, Level
from quaver.estimation.bootstrap import Floats, Resampling, Weighted, bootstrap
from quaver.estimation.cell import Cell
from quaver.estimation.cells import Missing
from quaver.estimation.intervals import Claim, estimate, mean_within, undefined
from quaver.estimation.means import over_strata

__all__ = [
    "KINDS",
    "agreement_weights",
    "cohen_kappa",
    "fleiss_kappa",
    "gwet_ac",
    "kappa_of",
    "percent_agreement",
]

Kind = Literal["percent_agreement", "fleiss_kappa", "cohen_kappa", "gwet_ac"]

KINDS: dict[Kind, tuple[str, str]] = {
    "percent_agreement": ("share of agreeing pairs of ratings", "Gwet (2014), ch. 2"),
    "fleiss_kappa": ("Fleiss' kappa", "Fleiss (1971), Psychological Bulletin 76, 378-382"),
    "cohen_kappa": ("Cohen's kappa, mean over pairs of raters", "Cohen (1960); Light (1971) for more raters"),
    "gwet_ac": ("Gwet's agreement coefficient", "Gwet (2008), BJMSP 61, 29-48; (2014), ch. 5"),
}


def agreement_weights(size: int, level: Level, values: Floats | None = None) -> Floats:
    """How far each pair of labels counts as agreement: 1 on the diagonal.

    Nominal: identity. Ordinal: 1 − C(|k − l| + 1, 2) / C(q, 2). Interval: 1 − ((v_k − v_l) / range)².
    Ratio: 1 − ((v_k − v_l) / (v_k + v_l))², relative to the largest. Source: Gwet (2014), ch. 3.

    >>> agreement_weights(3, "ordinal")[0].round(3).tolist()
    [1.0, 0.667, 0.0]
    """
    if level == "nominal" or size < 2:
        return np.eye(size)
    if level == "ordinal":
        apart = np.abs(np.arange(size)[:, None] - np.arange(size))
        loss = apart * (apart + 1) / 2.0
    else:
        assert values is not None
        loss = (values[:, None] - values) ** 2
        if level == "ratio":
            total = (values[:, None] + values) ** 2
            loss = loss / np.where(total > 0, total, 1)
    return np.asarray(1 - loss / max(float(loss.max()), np.finfo(float).tiny))


def _pairwise(counts: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Each item's share of agreeing pairs, 0 where it has none, and whether it has any."""
    r = counts.sum(1)
    paired = (r >= 2).astype(float)
    share = (counts * (counts @ weights - 1)).sum(1) / np.maximum(r * (r - 1), 1)
    return share * paired, paired


def _of_shares(counts: Floats, weights: Floats, expected: Callable[[Floats], Floats]) -> Weighted:
    """(p_a − p_e) / (1 − p_e), with p_e from the mean over items of their shares of labels."""
    share, paired = _pairwise(counts, weights)
    r = counts.sum(1)
    own, rated = counts / np.maximum(r, 1)[:, None], (r > 0).astype(float)

    def statistic(w: Floats) -> Floats:
        agreed = w @ share / (w @ paired)
        chance = expected(w @ own / (w @ rated)[:, None])
        room = 1 - chance
        return np.asarray(
            np.where(room > 1e-12, (agreed - chance) / np.where(room > 0, room, 1), np.nan)[:, None]
        )

    return statistic


def _cohen(cell: Cell, weights: Floats) -> Weighted:
    """Kappa of each pair of raters, over the items that both rated.

    A rater's shares of labels depend on the other rater through the items alone that this one rated: they
    are summed once for all raters who rated the same items, and a rater's pairs are done together.
    """
    codes, size = cell.codes[:, 0], len(cell.labels)
    items = len(codes)
    known = codes >= 0
    given = (codes[:, :, None] == np.arange(size)).astype(float)
    rated, of = np.unique(known, axis=1, return_inverse=True)
    of = of.ravel()
    order = np.argsort(of, kind="stable")

    def statistic(w: Floats) -> Floats:
        found = [np.full((len(w), 0), np.nan)]
        for place, one in enumerate(order[:-1]):
            two = order[place + 1 :]
            if not place or of[one] != of[order[place - 1]]:
                among = given[:, two] * known[:, one, None, None]
                others = (w @ among.reshape(items, -1)).reshape(len(w), -1, size)
            patterns, which = np.unique(of[two], return_inverse=True)
            own = given[:, one, None, :] * rated[:, patterns, None]
            p = (w @ own.reshape(items, -1)).reshape(len(w), -1, size)[:, which]
            both = known[:, one, None] & known[:, two]
            agreed = w @ np.where(both, weights[codes[:, one, None], codes[:, two]], 0)
            found.append(_kappas(agreed, p, others[:, -two.size :], weights))
        return np.concatenate(found, 1)

    return over_strata(statistic)


def _kappas(agreed: Floats, p: Floats, q: Floats, weights: Floats) -> Floats:
    """Kappa from sums over the items that both raters rated; NaN where chance alone agrees, or nobody rated.

    Args:
        agreed: The weights of the pairs of labels, shape (samples, pairs).
        p: The labels of one rater, shape (samples, pairs, labels).
        q: Those of the other.
        weights: Shape (labels, labels).
    """
    n = p @ np.ones(p.shape[2])
    n = np.where(n > 0, n, np.nan)
    room = 1 - np.einsum("spl,spl->sp", (p.reshape(-1, p.shape[2]) @ weights).reshape(p.shape), q) / n**2
    return np.asarray(np.where(room > 1e-12, (agreed / n - 1 + room) / np.where(room > 0, room, 1), np.nan))


def _statistic(kind: Kind, cell: Cell, weights: Floats) -> Weighted:
    counts, q = cell.counts()[:, 0], len(cell.labels)
    if kind == "cohen_kappa":
        return _cohen(cell, weights)
    if kind == "fleiss_kappa":
        return _of_shares(counts, weights, lambda p: np.asarray(((p @ weights) * p).sum(1)))
    if kind == "gwet_ac":
        spread = weights.sum() / (q * (q - 1)) if q > 1 else np.inf
        return _of_shares(counts, weights, lambda p: np.asarray(spread * (p * (1 - p)).sum(1)))
    return _of_shares(counts, weights, lambda p: np.zeros(len(p)))


def kappa_of(
    kind: Kind,
    cell: Cell,
    resampling: Resampling,
    level: Level = "nominal",
    label_set: LabelSet | None = None,
    missing: Missing = "drop",
) -> Estimate:
    """One of the coefficients, of a cell with one stratum."""
    level, values = scaled(cell.labels, level, label_set, missing)
    units, method = cell.units, KINDS[kind]
    counts = cell.counts()[:, 0] if cell.codes.size else np.zeros((0, len(cell.labels)))
    weights = agreement_weights(len(cell.labels), level, values)
    share, paired = _pairwise(counts, weights)
    name: str = kind if kind != "gwet_ac" else "gwet_ac1" if level == "nominal" else "gwet_ac2"
    claim = Claim(
        name,
        f"{method[0]}, {level} weights",
        method[1],
        cell=cell.where,
        excluded=cell.counted if missing == "drop" else {},
        differing=units.touched((paired > 0) & (share < 1 - 1e-12)),
        n=units.touched(paired > 0),
        details={"level": level, "raters": len(cell.raters)},
    )
    if not paired.any():
        return undefined(
            claim, units, resampling, "fewer than two raters" if cell.items else "no annotations"
        )
    if kind == "gwet_ac" and len(cell.labels) < 2:
        return undefined(claim, units, resampling, "fewer than two labels")
    draws = bootstrap(_statistic(kind, cell, weights), units, resampling)
    value = float(draws.point[0])
    low = -1.0 if kind != "percent_agreement" else 0.0
    claim = replace(claim, reason="no variation", spread=partial(mean_within, value, low=low))
    return estimate(claim, draws, units, resampling)


def _measure(
    kind: Kind,
    ratings: Any,
    level: Level,
    confidence: float,
    resamples: int,
    seed: int,
    options: dict[str, Any],
) -> Estimate:
    resampling = Resampling(confidence, resamples, seed, options.pop("interval"))
    labels = label_set_of(options.pop("labels"), level)
    cell = read_ratings(ratings, labels=labels, **options)
    return kappa_of(kind, cell, resampling, level, labels, options["missing"])


def percent_agreement(
    ratings: Any,
    level: Level = "nominal",
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    *,
    item: str | None = None,
    rater: str | Sequence[str] | None = None,
    label: str | None = None,
    labels: LabelSet | Sequence[Any] | None = None,
    missing: Missing = "drop",
    groups: str | Sequence[Any] | None = None,
    interval: Literal["bca", "percentile"] = "bca",
) -> Estimate:
    """Percent agreement: the share of pairs of ratings of one item that agree.

    p_a of this module, the mean over items. Undefined where no item has two ratings.

    Args:
        ratings: As `quaver.agreement.krippendorff_alpha` takes them.
        level: Level of measurement, which gives the weights (`agreement_weights`).
        confidence: Nominal level of the interval.
        resamples: Bootstrap resamples of items.
        seed: Root seed.
        item: The long frame's column of items.
        rater: Its column, or columns, of raters.
        label: Its column of labels.
        labels: The labels in order; others count as missing.
        missing: ``"drop"``, or ``"category"``: one more label (nominal only).
        groups: Resample these groups of items.
        interval: Which interval is given.

    Returns:
        One estimate; undefined with a reason where it has no value.

    Raises:
        MeasureError: The ratings or an option cannot be used.

    >>> percent_agreement([["a", "a"], ["a", "b"], ["b", "b"], ["b", "b"]]).value
    0.75
    """
    told = {"item": item, "rater": rater, "label": label, "labels": labels, "missing": missing}
    told |= {"groups": groups, "interval": interval}
    return _measure("percent_agreement", ratings, level, confidence, resamples, seed, told)


def fleiss_kappa(
    ratings: Any,
    level: Level = "nominal",
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    *,
    item: str | None = None,
    rater: str | Sequence[str] | None = None,
    label: str | None = None,
    labels: LabelSet | Sequence[Any] | None = None,
    missing: Missing = "drop",
    groups: str | Sequence[Any] | None = None,
    interval: Literal["bca", "percentile"] = "bca",
) -> Estimate:
    """Fleiss' kappa: chance gives each rating from the labels' overall shares.

    p_e = Σ_kl w_kl π_k π_l, with π_k the mean over items of the share of their ratings that are k.
    Undefined where no item has two ratings, or all ratings are the same (``no variation``).

    Args:
        ratings: As `quaver.agreement.krippendorff_alpha` takes them.
        level: Level of measurement, which gives the weights (`agreement_weights`).
        confidence: Nominal level of the interval.
        resamples: Bootstrap resamples of items.
        seed: Root seed.
        item: The long frame's column of items.
        rater: Its column, or columns, of raters.
        label: Its column of labels.
        labels: The labels in order; others count as missing.
        missing: ``"drop"``, or ``"category"``: one more label (nominal only).
        groups: Resample these groups of items.
        interval: Which interval is given.

    Returns:
        One estimate; undefined with a reason where it has no value.

    Raises:
        MeasureError: The ratings or an option cannot be used.

    p_a = 3/4, π = (3/8, 5/8), p_e = 34/64:

    >>> round(fleiss_kappa([["a", "a"], ["a", "b"], ["b", "b"], ["b", "b"]]).value, 6)  # 14 / 30
    0.466667
    """
    told = {"item": item, "rater": rater, "label": label, "labels": labels, "missing": missing}
    told |= {"groups": groups, "interval": interval}
    return _measure("fleiss_kappa", ratings, level, confidence, resamples, seed, told)


def cohen_kappa(
    ratings: Any,
    level: Level = "nominal",
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    *,
    item: str | None = None,
    rater: str | Sequence[str] | None = None,
    label: str | None = None,
    labels: LabelSet | Sequence[Any] | None = None,
    missing: Missing = "drop",
    groups: str | Sequence[Any] | None = None,
    interval: Literal["bca", "percentile"] = "bca",
) -> Estimate:
    """Cohen's kappa: chance gives each rater's rating from that rater's own shares of labels.

    p_e = Σ_kl w_kl p_k q_l, of the items that both raters rated; with more than two raters, the mean over
    their pairs for which it is defined (Light 1971). Undefined where no two raters rated an item, or each
    rater used one label, the same one (``no variation``).

    Args:
        ratings: As `quaver.agreement.krippendorff_alpha` takes them.
        level: Level of measurement, which gives the weights (`agreement_weights`).
        confidence: Nominal level of the interval.
        resamples: Bootstrap resamples of items.
        seed: Root seed.
        item: The long frame's column of items.
        rater: Its column, or columns, of raters.
        label: Its column of labels.
        labels: The labels in order; others count as missing.
        missing: ``"drop"``, or ``"category"``: one more label (nominal only).
        groups: Resample these groups of items.
        interval: Which interval is given.

    Returns:
        One estimate; undefined with a reason where it has no value.

    Raises:
        MeasureError: The ratings or an option cannot be used.

    p_a = 3/4, p = (1/2, 1/2), q = (1/4, 3/4), p_e = 1/2:

    >>> cohen_kappa([["a", "a"], ["a", "b"], ["b", "b"], ["b", "b"]]).value
    0.5
    """
    told = {"item": item, "rater": rater, "label": label, "labels": labels, "missing": missing}
    told |= {"groups": groups, "interval": interval}
    return _measure("cohen_kappa", ratings, level, confidence, resamples, seed, told)


def gwet_ac(
    ratings: Any,
    level: Level = "nominal",
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    *,
    item: str | None = None,
    rater: str | Sequence[str] | None = None,
    label: str | None = None,
    labels: LabelSet | Sequence[Any] | None = None,
    missing: Missing = "drop",
    groups: str | Sequence[Any] | None = None,
    interval: Literal["bca", "percentile"] = "bca",
) -> Estimate:
    """Gwet's AC1 (nominal) or AC2 (other levels): chance is agreement on items that are hard to label.

    p_e = Σ_kl w_kl / (q (q − 1)) · Σ_k π_k (1 − π_k), with q labels and π as in Fleiss' kappa. It stays high
    where one label dominates, where the kappas and alpha collapse. Undefined where no item has two ratings
    or there is one label only: name the labels that could have been given in ``labels``.

    Args:
        ratings: As `quaver.agreement.krippendorff_alpha` takes them.
        level: Level of measurement, which gives the weights (`agreement_weights`).
        confidence: Nominal level of the interval.
        resamples: Bootstrap resamples of items.
        seed: Root seed.
        item: The long frame's column of items.
        rater: Its column, or columns, of raters.
        label: Its column of labels.
        labels: The labels in order; others count as missing.
        missing: ``"drop"``, or ``"category"``: one more label (nominal only).
        groups: Resample these groups of items.
        interval: Which interval is given.

    Returns:
        One estimate; undefined with a reason where it has no value.

    Raises:
        MeasureError: The ratings or an option cannot be used.

    p_a = 3/4, π = (3/8, 5/8), p_e = 2 / 2 · 2 · 15/64 = 15/32:

    >>> round(gwet_ac([["a", "a"], ["a", "b"], ["b", "b"], ["b", "b"]]).value, 6)  # 9 / 17
    0.529412
    """
    told = {"item": item, "rater": rater, "label": label, "labels": labels, "missing": missing}
    told |= {"groups": groups, "interval": interval}
    return _measure("gwet_ac", ratings, level, confidence, resamples, seed, told)
