"""Two evaluators on the same answers: what the second reads otherwise, and what that does to accuracy.

The answers are the same, so every comparison is paired, answer by answer; intervals resample items.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quaver.errors import MeasureError, UnknownName
from quaver.measure import Frame
from quaver.measure.bootstrap import Floats, Resampling, Statistic, Units, bootstrap
from quaver.measure.intervals import Claim, Interval, estimate, mean_within, undefined
from quaver.measure.means import differing, ratio
from quaver.measure.table import frame_of
from quaver.records import Estimate, LabelSet

__all__ = ["WORTH_A_WARNING", "evaluator_flips", "recovered_share"]

WORTH_A_WARNING: Final = 0.05
"""Two evaluators that read more than this share of the answers otherwise get a warning."""

_ANSWER = ("model", "variant", "decoding", "item", "repeat")
_ACCURACIES = ("first", "repaired", "others")
_FLIPS = ("same", "gained", "lost", "changed")


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs:
    """The answers that both evaluators read, an element each.

    ``first`` and ``second`` are the labels as integers (-1: none), ``item`` places in ``units``,
    ``gold`` the true label (-1: unknown), ``unpaired`` how many answers only one of them read.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    gold: NDArray[np.int64]
    item: NDArray[np.int64]
    units: Units
    unpaired: int

    def sums(self, *counted: NDArray[np.bool_]) -> Floats:
        """How many of an item's answers are marked, shape (items, marks)."""
        size = self.units.items
        columns = [np.bincount(self.item, one, minlength=size) for one in counted]
        return np.stack(columns, axis=1).astype(float)


def evaluator_flips(
    annotations: Frame,
    *,
    first: str,
    second: str,
    labels: LabelSet | None = None,
    by: Sequence[str] = ("variant",),
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    interval: Literal["bca", "percentile"] = "bca",
) -> list[Estimate]:
    """What a second evaluator reads otherwise than a first, and what becomes of accuracy.

    Of each answer, with a the label that the first read and b the second's: *same* (a = b, no label
    included), *gained* (no a, but b), *lost* (a, but no b), *changed* (both, and a ≠ b). For each
    cell three estimates:

    - ``evaluator_flips``: (gained + lost + changed) / answers; ``details`` hold the four counts;
    - ``evaluator_accuracy_gain``: accuracy by the second − accuracy by the first, over answers with
      a gold label, no label being wrong; both accuracies in ``details``. Undefined without gold;
    - ``evaluator_newly_wrong``: of the answers that were right by the first, the share that is wrong
      by the second. Undefined where none was right.

    Args:
        annotations: A row an annotation, of both evaluators; other evaluators' rows are passed over.
        first: The name of the first.
        second: The name of the second.
        labels: Not needed: labels are only compared.
        by: Columns that make the cells.
        confidence: Nominal level.
        resamples: Bootstrap resamples of items.
        seed: Root seed.
        interval: Which interval is given.

    Raises:
        MeasureError: A column is missing, or an evaluator read an answer twice.
        UnknownName: An evaluator has no rows.

    >>> frame = pl.DataFrame({"item": list("uvwx") * 2, "variant": "p", "gold": list("abab") * 2,
    ...     "evaluator": ["x"] * 4 + ["y"] * 4, "label": ["a", None, "a", "b", "b", "b", "a", None]})
    >>> for found in evaluator_flips(frame, first="x", second="y", resamples=0):
    ...     print(found.measure, found.value)
    evaluator_flips 0.75
    evaluator_accuracy_gain -0.25
    evaluator_newly_wrong 0.6666666666666666
    >>> {kind: evaluator_flips(frame, first="x", second="y", resamples=0)[0].details[kind] for kind in _FLIPS}
    {'same': 1, 'gained': 1, 'lost': 1, 'changed': 1}
    """
    resampling = Resampling(confidence, resamples, seed, interval)
    frame = _checked(annotations, (first, second), by)
    cells = frame.partition_by(by, as_dict=True, maintain_order=True) if by else {(): frame}
    found = []
    for key, cell in sorted(cells.items(), key=lambda pair: tuple(map(str, pair[0]))):
        where = dict(zip(by, map(str, key), strict=True))
        found += _flips(_paired(cell, first, second), where, (first, second), resampling)
    return found


def _flips(
    pairs: _Pairs, where: Mapping[str, str], names: tuple[str, str], resampling: Resampling
) -> list[Estimate]:
    a, b, known = pairs.first, pairs.second, pairs.gold >= 0
    kinds = (a == b, (a < 0) & (b >= 0), (a >= 0) & (b < 0), (a >= 0) & (b >= 0) & (a != b))
    right, now = known & (a == pairs.gold), known & (b == pairs.gold)
    everything = np.ones(a.size, bool)
    answers, other, judged, was, gain, harmed = pairs.sums(
        everything, ~kinds[0], known, right, everything, right & ~now
    ).T
    gain = pairs.sums(now)[:, 0] - was
    claim = Claim(
        "",
        "",
        cell={**where, "first": names[0], "second": names[1]},
        excluded={"read by one evaluator alone": pairs.unpaired} if pairs.unpaired else {},
    )
    counts = {kind: int(marked.sum()) for kind, marked in zip(_FLIPS, kinds, strict=True)}
    share = float(other.sum() / answers.sum()) if a.size else 0.0
    alarm = f"the evaluators read {share:.1%} of the answers otherwise: more than {WORTH_A_WARNING:.0%}"
    per = max(1.0, float(judged.sum()))
    accuracies = {"first": float(was.sum()) / per, "second": float(was.sum() + gain.sum()) / per}
    claims = (
        replace(
            claim,
            measure="evaluator_flips",
            method="share of the answers that the two evaluators read otherwise",
            details=counts,
            warnings=(alarm,) if share > WORTH_A_WARNING else (),
            reason="no answers",
        ),
        replace(
            claim,
            measure="evaluator_accuracy_gain",
            method="accuracy by the second evaluator less that by the first, paired, no label counted wrong",
            details={**accuracies, "answers": int(judged.sum())} if known.any() else {},
            reason="no gold labels",
        ),
        replace(
            claim,
            measure="evaluator_newly_wrong",
            method="share of the answers right by the first evaluator that are wrong by the second",
            details={"right_by_first": int(was.sum()), "newly_wrong": int(harmed.sum())},
            reason="no answer was right by the first evaluator",
        ),
    )
    parts = ((other, answers), (gain, judged), (harmed, was))
    bounds = ((0.0, 1.0), (-1.0, 1.0), (0.0, 1.0))
    return [
        _ratio(one, above, below, pairs.units, resampling, bound)
        for one, (above, below), bound in zip(claims, parts, bounds, strict=True)
    ]


def _ratio(
    claim: Claim,
    above: Floats,
    below: Floats,
    units: Units,
    resampling: Resampling,
    bound: tuple[float, float],
) -> Estimate:
    counted = below > 0
    claim = replace(claim, n=units.touched(counted))
    if not counted.any():
        return undefined(claim, units, resampling)
    draws = bootstrap(ratio(above[:, None], below[:, None]), units, resampling)
    own = np.where(counted, above / np.maximum(below, 1), np.nan)
    value = float(draws.point[0])

    def spread(share: float) -> Interval:
        return mean_within(value, share, *bound)

    return estimate(replace(claim, differing=differing(own, units), spread=spread), draws, units, resampling)


def recovered_share(
    annotations: Frame,
    *,
    first: str,
    second: str,
    variant: str,
    labels: LabelSet | None = None,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    interval: Literal["bca", "percentile"] = "bca",
) -> list[Estimate]:
    """How much of a prompt's gap in accuracy another evaluator closes.

    For each model, with f the variant's accuracy by the first evaluator, r its accuracy by the second
    (repaired), and m the mean over the other variants of their accuracies by the first:
    (r − f) / (m − f). Over models, by two means that differ and are named: the ratio of means,
    (mean r − mean f) / (mean m − mean f), and the mean of ratios. Undefined where there is no gap
    to recover (m ≤ f), no other variant, or no gold labels; the mean of ratios leaves out models without a
    gap, counted. No label is wrong. Intervals resample items, all models and variants together.

    Args:
        annotations: A row an annotation, of both evaluators.
        first: The evaluator under suspicion.
        second: The evaluator that repairs it.
        variant: The variant whose gap it is.
        labels: Not needed: labels are only compared.
        confidence: Nominal level.
        resamples: Bootstrap resamples of items.
        seed: Root seed.
        interval: Which interval is given.

    Returns:
        ``recovered_share`` for each model, then ``recovered_share_ratio_of_means`` and
        ``recovered_share_mean_of_ratios``.

    Raises:
        MeasureError: A column is missing, or an evaluator read an answer twice.
        UnknownName: An evaluator has no rows, or there is no such variant.
    """
    resampling = Resampling(confidence, resamples, seed, interval)
    frame = _checked(annotations, (first, second), ("model", "variant"))
    if variant not in (known := sorted(frame["variant"].unique())):
        raise UnknownName("variant", variant, known, where="variant")
    models = sorted(frame["model"].unique())
    codes = {item: place for place, item in enumerate(sorted(frame["item"].unique()))}
    units = Units(len(codes))
    counts = [
        _accuracy_counts(frame.filter(pl.col("model") == model), codes, (first, second), variant)
        for model in models
    ]
    draws = bootstrap(_recovered(counts), units, resampling)
    names = ["recovered_share"] * len(models)
    names += ["recovered_share_ratio_of_means", "recovered_share_mean_of_ratios"]
    parts = np.array([one(np.ones((1, units.items)))[0] for one in map(_accuracies, counts)])
    without = int((~(parts[:, 2] > parts[:, 0])).sum())
    found = []
    for at, name in enumerate(names):
        own = at < len(models)
        cell = {"variant": variant, "first": first, "second": second}
        accuracies = dict(zip(_ACCURACIES, parts[at].tolist(), strict=True)) if own else {}
        claim = Claim(
            name,
            "(repaired − first) / (mean of the other variants − first), accuracies, no label counted wrong",
            cell={**cell, "model": models[at]} if own else cell,
            excluded={"model without a gap": without} if name.endswith("ratios") and without else {},
            details={kind: value for kind, value in accuracies.items() if np.isfinite(value)},
            reason="no gap to recover",
        )
        found.append(estimate(claim, draws, units, resampling, at))
    return found


def _accuracy_counts(
    frame: pl.DataFrame, codes: Mapping[str, int], names: tuple[str, str], variant: str
) -> list[tuple[Floats, Floats]]:
    """Right answers and answers by item: the variant by either evaluator, then the others by the first."""
    others = sorted(set(frame["variant"].unique()) - {variant})
    wanted = [(variant, names[0]), (variant, names[1]), *((other, names[0]) for other in others)]
    found = []
    for which, evaluator in wanted:
        rows = frame.filter(
            (pl.col("variant") == which) & (pl.col("evaluator") == evaluator) & pl.col("gold").is_not_null()
        )
        item = np.array([codes[one] for one in rows["item"]], dtype=np.int64)
        right = (rows["label"] == rows["gold"]).fill_null(False).to_numpy()
        asked = np.bincount(item, minlength=len(codes)).astype(np.float64)
        found.append((np.bincount(item, right, minlength=len(codes)).astype(np.float64), asked))
    return found


def _accuracies(counts: Sequence[tuple[Floats, Floats]]) -> Statistic:
    """First, repaired, and the mean of the others."""
    parts = ratio(np.stack([one[0] for one in counts], 1), np.stack([one[1] for one in counts], 1))

    def statistic(weights: Floats) -> Floats:
        values = parts(weights)
        others = values[:, 2:].mean(1) if values.shape[1] > 2 else np.full(len(values), np.nan)
        return np.stack([values[:, 0], values[:, 1], others], 1)

    return statistic


def _recovered(counts: Sequence[Sequence[tuple[Floats, Floats]]]) -> Statistic:
    """Each model's share, then the ratio of means and the mean of ratios."""
    parts = [_accuracies(one) for one in counts]

    def statistic(weights: Floats) -> Floats:
        values = np.stack([part(weights) for part in parts], 1)
        shares = _share(values)
        gaps = np.isfinite(shares)
        mean = np.where(gaps, shares, 0.0).sum(1) / np.where(gaps.any(1), gaps.sum(1), np.nan)
        return np.concatenate([shares, _share(values.mean(1, keepdims=True)), mean[:, None]], 1)

    return statistic


def _share(values: Floats) -> Floats:
    first, repaired, others = values[..., 0], values[..., 1], values[..., 2]
    gap = others - first
    return np.asarray(np.where(gap > 0, (repaired - first) / np.where(gap > 0, gap, 1), np.nan))


def _checked(annotations: Frame, evaluators: tuple[str, str], by: Sequence[str]) -> pl.DataFrame:
    frame = frame_of(annotations)
    for name in ("item", "evaluator", "label", *by):
        if name not in frame.columns:
            raise MeasureError(
                "a column is missing", where="annotations", expected=name, found=", ".join(frame.columns)
            )
    if "gold" not in frame.columns:
        frame = frame.with_columns(gold=pl.lit(None, pl.String))
    texts = dict.fromkeys((*_ANSWER, *by, "evaluator", "label", "gold"))
    frame = frame.with_columns(pl.col(name).cast(pl.String) for name in texts if name in frame.columns)
    known = sorted(frame["evaluator"].drop_nulls().unique())
    for name in evaluators:
        if name not in known:
            raise UnknownName("evaluator", name, known, where="annotations")
    frame = frame.filter(pl.col("evaluator").is_in(evaluators))
    places = [name for name in _ANSWER if name in frame.columns]
    if frame.select(*places, "evaluator").is_duplicated().any():
        raise MeasureError(
            "an evaluator has read an answer twice",
            where="annotations",
            expected=f"one row for each {', '.join(places)} and evaluator",
            found="several",
        )
    return frame


def _paired(frame: pl.DataFrame, first: str, second: str) -> _Pairs:
    places = [name for name in _ANSWER if name in frame.columns]
    sides = [frame.filter(pl.col("evaluator") == name) for name in (first, second)]
    right = sides[1].select(*places, other="label")
    both = sides[0].join(right, on=places, how="inner", nulls_equal=True)
    labels = sorted({*both["label"], *both["other"], *both["gold"]} - {None})
    codes = {label: code for code, label in enumerate(labels)}
    items = {item: place for place, item in enumerate(sorted(frame["item"].unique()))}

    def coded(column: str, table: Mapping[str, int]) -> NDArray[np.int64]:
        return np.array([table.get(value, -1) for value in both[column]], dtype=np.int64)

    return _Pairs(
        coded("label", codes),
        coded("other", codes),
        coded("gold", codes),
        coded("item", items),
        Units(len(items)),
        sides[0].height + sides[1].height - 2 * both.height,
    )
