"""Whether the labels of some prompts can be used where those of others cannot.

Two ways lead to a prompt. Where gold labels are known, one prompt may clearly be right more often than the
others (the *best* prompt). Without them, a few prompts may differ from all others, which agree (the *odd*
prompts and the *rest*). Either way the same data first single out a prompt and then speak for it, so it is
tested as the most extreme of several: the best prompt's intervals hold for all prompts at once (Bonferroni),
and so does the test that shows a prompt to be odd.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy import special

from quaver.core.records import Estimate, LabelSet
from quaver.estimation.bootstrap import Floats, Ratio, Resampling, Units, Weighted
from quaver.estimation.cells import Frame, guarded
from quaver.estimation.gathered import frame_of
from quaver.estimation.grouped_items import item_groups
from quaver.estimation.intervals import clopper_pearson, mean_within
from quaver.estimation.means import quotient
from quaver.estimation.statistic import Statistic
from quaver.measures.stability.label_pairs import (
    NO_LABEL_CODE,
    LabelPairs,
    Pairs,
    PromptAnswers,
    likeness,
    prepared,
)
from quaver.measures.stability.vouched_parts import gold_agreement

_RESAMPLES = 500
_MUTE = 0.1
"""A prompt is left out where surely more than this of its answers have no label."""

_STEADY = 0.8
"""An odd prompt that agrees with the others less than this is broken."""

_ODD = 4
"""Of as many prompts one may be odd."""

_ENDS = (-1.0, 1.0)
_AROUND = partial(mean_within, low=-1.0, high=1.0)


@guarded
def prompt_choice(
    annotations: Frame,
    *,
    labels: LabelSet,
    group: str | None = None,
    resamples: int = _RESAMPLES,
    seed: int = 0,
) -> list[Estimate]:
    """The prompt to choose, model by model, and what speaks for it.

    Calls that failed take no part. For each model with several prompts:

    - ``broken_prompts``: the share of them that are odd and agree with the others below 0.8. Its upper end is
      the exact one-sided bound on the share of prompts like these that are, 1 − 0.05^(1/n) where none is.

    For each that has odd ones:

    - ``rest_agreement``: agreement of the labels of all other prompts (`flips`: 1 − D_prompts / D_chance).
      In the details ``without``, the odd prompts; ``mute``, those of them without labels; ``prompts``, how
      many are left; and ``prompt``, of these the one that is right most often, or else agrees most with the
      others.
    - ``rest_unlabelled``: the share of their answers that have no label.
    - ``rest_wrong`` and ``rest_gold_agreement``: of their labels, where gold labels are known.

    A prompt is odd if surely more than 10% of its answers have no label; or if its labels surely differ more
    from the others' than these do among themselves. Of the latter, one prompt in four may be odd.

    For each model with several prompts and gold labels, of the prompt that is right most often (``variant``
    in the cell; an answer without a label is wrong):

    - ``best_prompt_wrong``: the share of its answers that are wrong;
    - ``best_prompt_gold_agreement``: its labels' agreement with gold labels beyond chance;
    - ``best_prompt_better``: how far its share is below the mean of the other prompts' shares, item by item.
      Its interval reaches 0 where ``p`` in the details, of prompts that are all alike, is above 0.025.

    Returns:
        The estimates; none where there is nothing to choose.

    Four prompts of which the last labels every item differently:

    >>> import polars as pl
    >>> from quaver.core.records import Label
    >>> rows = [(item, prompt, "ab"[(item + (prompt == "z")) % 2]) for item in range(30) for prompt in "wxyz"]
    >>> frame = pl.DataFrame(rows, schema=["item", "variant", "label"], orient="row")
    >>> found = prompt_choice(frame, labels=LabelSet((Label("a", "a"), Label("b", "b"))))
    >>> [(one.measure, one.value, one.details.get("without")) for one in found]
    [('broken_prompts', 0.25, None), ('rest_agreement', 1.0, ['z']), ('rest_unlabelled', 0.0, ['z'])]
    """
    frame = frame_of(annotations)
    groups = item_groups(frame, group)
    resampling = Resampling(resamples=resamples, seed=seed)
    estimates: list[Estimate] = []
    if not resamples:
        return estimates
    for (model,), part in prepared(frame, labels).group_by("model", maintain_order=True):
        answers = PromptAnswers(
            part, (*labels.codes, NO_LABEL_CODE), groups, str(model), resampling, likeness(labels)
        )
        if len(answers.variants) > 1:
            estimates += [*_rest(answers), *_best(answers)]
    return estimates


def _rest(answers: PromptAnswers) -> Iterator[Estimate]:
    """What the other prompts' labels are like, where some prompts are odd."""
    mute = _mute(answers)
    kept = [index for index in range(len(answers.variants)) if index not in mute]
    odd = _odd(answers, kept) if len(kept) >= _ODD else []
    kept = [index for index in kept if index not in odd]
    yield _broken(answers, mute, odd)
    if not (mute or odd) or len(kept) < 2:
        return
    pairs = LabelPairs(tuple(Pairs(stratum[:, kept, :-1]) for stratum in answers.strata), answers.alike)
    details = {
        "without": [answers.variants[index] for index in (*mute, *odd)],
        "mute": [answers.variants[index] for index in mute],
        "prompts": len(kept),
        "prompt": answers.variants[_chosen(answers, kept, pairs)],
    }
    agreement = Statistic(
        method="agreement of the labels of these prompts, 1 − D_prompts / D_chance",
        under=pairs.under,
        column=3,
        reason="every label is the same",
        ends=(-1.0, 1.0),
        spread=pairs.spreads()["agreement"],
        details=details,
    )
    yield answers.estimated("rest_agreement", agreement)
    some = answers.counts[:, kept].sum(1)
    bare = answers.share(some[:, -1], some.sum(1), "share of the answers to these prompts that have no label")
    yield replace(answers.estimated("rest_unlabelled", bare), details=details)
    if answers.gold is not None:
        known = np.isfinite(answers.gold[:, :1])
        yield from _correct(answers, "rest", np.where(known, some[:, :-1], 0.0))


def _broken(answers: PromptAnswers, mute: Sequence[int], odd: Sequence[int]) -> Estimate:
    """The share of prompts that are broken, and of how many like these one could be."""
    pairs = LabelPairs(tuple(Pairs(stratum[:, :, :-1], answers.alike) for stratum in answers.strata))
    chance = float(pairs.under(np.ones((1, len(answers.items))))[0, 2])
    each = [one.with_each for one in pairs.strata]
    whole, agree = (sum(one[at].sum(0) for one in each) for at in (0, 1))
    differ = 1 - agree / np.maximum(whole, 1)
    broken = len(mute) + sum(bool(differ[index] > (1 - _STEADY) * chance) for index in odd)
    prompts, level = len(answers.variants), answers.resampling.confidence_level
    return Estimate(
        "broken_prompts",
        broken / prompts,
        0.0,
        clopper_pearson(broken, prompts, 2 * level - 1).high,
        confidence_level=level,
        n=prompts,
        unit="prompt",
        method="share of prompts that are odd and hardly agree with the others; exact one-sided bound",
        cell={"model": answers.model},
    )


def _mute(answers: PromptAnswers) -> list[int]:
    """The prompts of whose answers surely too many have no label."""
    result = []
    for index in range(len(answers.variants)):
        own = answers.counts[:, index]
        statistic = answers.share(own[:, -1], own.sum(1), "share of a prompt's answers that have no label")
        low = answers.estimated("mute", statistic, prompts=len(answers.variants)).low
        result += [index] if low is not None and low > _MUTE else []
    return result


def _odd(answers: PromptAnswers, kept: Sequence[int]) -> list[int]:
    """The prompts, of those kept, whose labels surely differ more from the others' than these do."""
    odd: list[int] = []
    for _ in range(len(kept) // _ODD):
        left = [index for index in kept if index not in odd]
        apart = _apart([stratum[:, left, :-1] for stratum in answers.strata], answers.alike)
        values = apart(np.ones((1, len(answers.items))))[0]
        if len(left) <= _ODD - 1 or not np.isfinite(values).any():
            break
        position = int(np.nanargmax(values))
        statistic = Statistic(
            method="how much more it differs", under=apart, column=position, ends=_ENDS, spread=_AROUND
        )
        low = answers.estimated("odd", statistic, prompts=len(left)).low
        if low is None or low <= 0:
            break
        odd.append(left[position])
    return odd


def _apart(strata: Sequence[Floats], alike: Floats | None) -> Weighted:
    """How far each prompt's labels differ more from the others' than these do among themselves."""
    each = [Pairs(stratum, alike).with_each for stratum in strata]
    pairs = np.asarray(sum(one[0] for one in each))
    agree = np.asarray(sum(one[1] for one in each))

    def under(weights: Floats) -> Floats:
        whole, differ = weights @ pairs, weights @ (pairs - agree)
        others = whole.sum(1, keepdims=True) / 2 - whole
        beside = differ.sum(1, keepdims=True) / 2 - differ
        known = (whole > 0) & (others > 0)
        own = differ / np.where(known, whole, 1) - beside / np.where(known, others, 1)
        return np.asarray(np.where(known, own, np.nan))

    return under


def _chosen(answers: PromptAnswers, kept: Sequence[int], pairs: LabelPairs) -> int:
    """Of the prompts that are left, the one that is right most often, or else agrees most with the others."""
    if answers.gold is not None:
        return kept[int(np.argmin(_means(*_wrong(answers))[list(kept)]))]
    each = [one.with_each for one in pairs.strata]
    differ = np.asarray(sum((own - agree).sum(0) for own, agree in each))
    return kept[int(np.argmin(differ / np.maximum(sum(own.sum(0) for own, _ in each), 1)))]


def _wrong(answers: PromptAnswers) -> tuple[Floats, Floats]:
    """Wrong answers and all answers, shape (items, prompts), of items with a gold label."""
    gold = answers.gold
    assert gold is not None
    known = np.isfinite(gold[:, :1])
    asked = np.where(known, answers.counts.sum(2), 0.0)
    right = (answers.counts * np.nan_to_num(gold)[:, None]).sum(2)
    return np.where(known, asked - right, 0.0), asked


def _means(wrong: Floats, asked: Floats) -> Floats:
    """Each prompt's share of wrong answers; 1 of a prompt without answers."""
    whole = asked.sum(0)
    return np.where(whole > 0, wrong.sum(0) / np.maximum(whole, 1), 1.0)


def _correct(answers: PromptAnswers, name: str, counts: Floats, prompts: int = 1) -> Iterator[Estimate]:
    """How many of some labels are wrong, and what they agree with the gold labels beyond chance."""
    assert answers.gold is not None
    gold = np.nan_to_num(answers.gold)[:, : counts.shape[1]]
    wrong, whole = (counts * (1 - gold)).sum(1), counts.sum(1)
    share = answers.share(wrong, whole, "share of labels that differ from the gold label")
    yield answers.estimated(f"{name}_wrong", share, prompts=prompts)
    statistic = Statistic(
        method="Cohen's kappa of labels and gold labels",
        n=answers.units.touched(whole > 0),
    )
    alike = answers.alike
    if alike is not None and len(alike) < counts.shape[1]:  # no label is like no other
        alike = np.pad(alike, (0, 1))
        alike[-1, -1] = 1.0
    beyond = gold_agreement(statistic, counts, gold, alike)
    yield answers.estimated(f"{name}_gold_agreement", beyond, prompts=prompts)


def _best(answers: PromptAnswers) -> Iterator[Estimate]:
    """What speaks for the prompt that is right most often."""
    if answers.gold is None:
        return
    wrong, asked = _wrong(answers)
    shares = quotient(wrong, asked)
    best, prompts = int(np.argmin(_means(wrong, asked))), len(answers.variants)
    where = {"variant": answers.variants[best]}
    known = np.isfinite(answers.gold[:, :1])
    for estimate in _correct(answers, "best_prompt", np.where(known, answers.counts[:, best], 0.0), prompts):
        yield replace(
            estimate, cell={**estimate.cell, **where}, details={**estimate.details, "prompts": prompts}
        )
    others = np.delete(shares, best, 1)
    there = np.isfinite(others).sum(1)
    apart = quotient(np.nansum(others, 1), there) - shares[:, best]
    both = np.isfinite(apart)
    better = Statistic(
        method="mean share of wrong answers of the other prompts less that of this one, on the same items",
        under=Ratio(np.where(both, apart, 0.0)[:, None], both.astype(float)[:, None]),
        n=answers.units.touched(both),
        ends=_ENDS,
        spread=_AROUND,
        where=where,
        details={"prompts": prompts, "p": _p(shares, best, answers.units)},
    )
    yield _with_its_test(answers.estimated("best_prompt_better", better, prompts=prompts), answers)


def _p(shares: Floats, best: int, units: Units) -> float:
    """The chance that the best of prompts which are alike is right so much more often.

    Under exchangeable prompts each has the variance of all, which is the pooled one, (1/K)·Σ_g Σ_v e_gv² over
    the units' sums of e_uv, an item's share less its mean over prompts. The best prompt's own variance would
    be too small where errors are few, because it was chosen for having few: at 30 items and 10% errors a
    t test takes one of five equal prompts for better in 20% of simulated studies, this one in under 2.5%.
    """
    known = np.isfinite(shares)
    means = np.where(known, shares, 0.0).sum(1, keepdims=True) / np.maximum(known.sum(1, keepdims=True), 1)
    apart = np.where(known, shares - means, 0.0)
    sums = apart if units.clusters is None else _summed(apart, units.clusters)
    deviation = float(np.sqrt((sums**2).sum() / shares.shape[1]))
    z = -float(sums[:, best].sum()) / deviation if deviation > 0 else 0.0
    tail = float(special.stdtr(max(1, len(sums) - 1), -z))
    return float(min(1.0, shares.shape[1] * tail))


def _summed(apart: Floats, clusters: NDArray[np.int64]) -> Floats:
    sums = np.zeros((int(clusters.max()) + 1, apart.shape[1]))
    np.add.at(sums, clusters, apart)
    return sums


def _with_its_test(estimate: Estimate, answers: PromptAnswers) -> Estimate:
    """With an interval that holds 0 where the test of equal prompts does not reject them."""
    if estimate.low is None or estimate.details["p"] <= answers.resampling.tail:
        return estimate
    return replace(estimate, low=min(estimate.low, 0.0))
