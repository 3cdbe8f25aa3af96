"""How prompts stand beside each other: which deviate, and which may be chosen where others cannot be used.

Two ways lead to a prompt. Where gold labels are known, one prompt may clearly be right more often than the
others (the *best* prompt). Without them, a few prompts may differ from all others, which agree (the *odd*
prompts and the *rest*). Either way the same data first single out a prompt and then speak for it, so it is
tested as the most extreme of several: the best prompt's intervals hold for all prompts at once (Bonferroni),
and so does the test that shows a prompt to be odd.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import polars as pl
from scipy import special

from quaver.core.records import Estimate, LabelSet
from quaver.estimation.declaration import measure
from quaver.estimation.grouped_items import by_unit
from quaver.estimation.intervals import clopper_pearson
from quaver.estimation.jackknife import Floats, Ratio
from quaver.estimation.means import quotient
from quaver.estimation.measure_input import judge
from quaver.estimation.statistic import Cell, Statistic
from quaver.measures.correctness.accuracy import accuracy
from quaver.measures.correctness.robustness import differences
from quaver.measures.evidence.beside_gold import gold
from quaver.measures.evidence.judged_answers import LEVEL, ModelAnswers, at_once, complement
from quaver.measures.evidence.label_flips import Pairs, by_prompt, flips, like, likeness
from quaver.measures.variation.label_movement import deviation_shares, deviations
from quaver.measures.variation.label_shares import label_shares

_MUTE: Final = 0.1
"""A prompt is left out where surely more than this of its answers have no label."""

_STEADY: Final = 0.8
"""An odd prompt that agrees with the others less than this is broken."""

_ODD: Final = 4
"""Of as many prompts one may be odd."""

_FEWEST: Final = 3
"""Of fewer prompts none deviates: of two that differ, either may."""

_ENDS: Final = (-1.0, 1.0)


@measure(raters=("decoding", "repeat"), within=("variant",), gold=True)
def prompt_worse(cell: Cell) -> Iterator[Statistic]:
    """The share of a prompt's labels that are wrong, minus that of the other prompts, on the same items.

    The mean over items of the share of the prompt's labels that are wrong minus the mean share of the other
    prompts; on a scale, their distance from the gold label takes the place of the share. The details say to
    which labels the prompt's labels move (`_moved`).

    >>> frame = {"item": [1, 1, 2, 2], "variant": list("vwvw"), "label": list("abaa"), "gold": list("aaaa")}
    >>> [one.value for one in prompt_worse(frame)]
    [-0.5, 0.5]
    """
    labels, true = cell.counts(), np.eye(len(cell.labels))[np.maximum(cell.gold_codes, 0)]
    true *= (cell.gold_codes >= 0)[:, None]
    given = labels.sum(2) * true.sum(1, keepdims=True)
    right = np.einsum("ivk,ik->iv", labels, like(true, likeness(cell.label_set)))
    wrong = quotient(given - right, given)
    defined = np.isfinite(wrong)
    others = defined.sum(1, keepdims=True) - defined
    gap = wrong - quotient(np.nansum(wrong, 1, keepdims=True) - np.nan_to_num(wrong), others)
    both = np.isfinite(gap)
    under = Ratio(np.where(both, gap, 0.0), both.astype(float))
    for column, where in enumerate(cell.strata):
        yield Statistic(
            method="share of a prompt's labels that are wrong less that of the others, on the same items",
            under=under,
            column=column,
            ends=_ENDS,
            where=where,
            details=_moved(cell, labels, true, column),
        )


@measure(raters=("repeat",), within=("decoding", "variant"))
def prompt_apart(cell: Cell) -> Iterator[Statistic]:
    """How much more a prompt's labels differ from the other prompts' than these do among themselves.

    The share of pairs that differ, among pairs of a label of this prompt and one of another, minus that among
    pairs of two other prompts. In the details: ``differ`` and ``flips``, the first share by the level of
    measurement and for plain labels; ``chance``, what it would be for any two items; and to which labels the
    prompt's labels move (`_moved`).

    >>> frame = {"item": [1, 1, 1, 2, 2, 2], "variant": list("vwxvwx"), "label": list("aababb")}
    >>> [one.value for one in prompt_apart(frame)]
    [0.25, -0.5, 0.25]
    """
    prompts, counts = by_prompt(cell)
    pairs, plain = Pairs(counts, likeness(cell.label_set)), Pairs(counts)
    everyone, apart = np.ones((1, len(cell.items))), pairs.apart
    labels = counts.sum(0)
    given = labels.sum(1)
    modal = np.eye(len(cell.labels))[given.argmax(1)] * given.any(1)[:, None]
    chance = float(pairs.chance(everyone)[0])
    for column, prompt in enumerate(prompts):
        shares = {"differ": pairs, "flips": plain}
        shown = {name: float(of.from_others(everyone)[0, column]) for name, of in shares.items()}
        yield Statistic(
            method="how much more a prompt's labels differ from the others' than these among themselves",
            under=apart,
            column=column,
            ends=_ENDS,
            where={"variant": prompt},
            details={**shown, "chance": chance, **_moved(cell, labels, modal, column)},
        )


def _moved(cell: Cell, labels: Floats, reference: Floats, prompt: int) -> dict[str, Any]:
    """Which label a prompt turns into which more often than the others do, most of all.

    ``moved``: of the texts with the label ``source`` (the gold label, else the modal one), the share that
    this prompt gives ``target``; ``usual``, the share that the others do.
    """
    own = reference.T @ labels[:, prompt]
    others = reference.T @ np.delete(labels, prompt, 1).sum(1)
    moved, usual = (np.nan_to_num(quotient(part, part.sum(1, keepdims=True))) for part in (own, others))
    extra = (moved - usual) * own.sum(1, keepdims=True)
    np.fill_diagonal(extra, 0.0)
    source, target = map(int, np.unravel_index(int(extra.argmax()), extra.shape))
    if extra[source, target] <= 0:
        return {}
    shares = {"moved": float(moved[source, target]), "usual": float(usual[source, target])}
    return {"source": cell.labels[source], "target": cell.labels[target], **shares}


def deviating_prompts(answers: ModelAnswers) -> Iterator[Estimate]:
    """How far each prompt is from the others, where there are three or more.

    ``prompt_worse`` where gold labels are known, else ``prompt_apart``, with ``variant`` in the cell.
    """
    if len(answers.prompts) >= _FEWEST:
        gaps = answers.take(prompt_worse if answers.has_gold else prompt_apart)
        estimates = [gap for gap in gaps if gap.value is not None]
        yield from at_once(estimates, len(answers.prompts))


def prompts_seen(answers: ModelAnswers) -> Iterator[Estimate]:
    """How each prompt does by itself, with ``variant`` in the cell. Calls that failed take no part.

    - ``prompt_right``: with gold labels, its accuracy, an answer without a label being wrong; on a scale
      ``prompt_agreement``, its agreement with the gold labels beyond chance.
    - ``prompt_usual``: of several prompts, how often it gives the label that the same item gets most often.
    - ``prompt_unlabelled``: the share of its answers without a label, with no interval; in the details
      ``labels``, the share of each among its labels.
    """
    by = ["variant"]
    names = {"accuracy": "prompt_right", "gold_agreement": "prompt_agreement"}
    if answers.has_gold and likeness(answers.labels) is None:
        right = answers.take(accuracy, missing="wrong", by=by)
    else:
        right = answers.take(gold, by=by) if answers.has_gold else []
    yield from (
        replace(estimate, measure=names[estimate.measure]) for estimate in right if estimate.measure in names
    )
    deviating = deviations(answers.calls, group=answers.group) if len(answers.prompts) > 1 else None
    for estimate in [] if deviating is None else deviation_shares(deviating):
        if "variant" in estimate.cell:
            usual = complement(estimate, "prompt_usual")
            yield replace(usual, cell={"model": answers.model, **estimate.cell})
    shares: dict[str, dict[str, float]] = {}
    if not answers.labels.are_numbers and not answers.labelled.calls.is_empty():
        plain = LabelSet(answers.labels.labels)
        for share in answers.labelled.take(label_shares, labels=plain, resamples=0, by=by):
            shares.setdefault(share.cell["variant"], {})[share.cell["label"]] = share.number
    of_calls = answers.calls.group_by("variant").agg(pl.col("label").is_null().mean(), pl.len())
    for prompt, bare, calls in of_calls.sort("variant").iter_rows():
        yield Estimate(
            "prompt_unlabelled",
            float(bare),
            n=calls,
            unit="answer",
            method="share of a prompt's answers that have no label",
            cell={"model": answers.model, "variant": prompt},
            details={"labels": shares.get(prompt, {})},
        )


def prompt_choice(answers: ModelAnswers) -> Iterator[Estimate]:
    """The prompt to choose, and the estimates that support it. Calls that failed are left out.

    - ``broken_prompts``: the share of prompts that are odd and agree with the others below 0.8. Its upper end
      is the exact one-sided bound on the share of prompts like these that are, 1 − 0.05^(1/n) where none is.

    Where some are odd:

    - ``rest_agreement``: agreement of the labels of all other prompts (`flips`).
      In the details ``without``, the odd prompts; ``mute``, those of them without labels; ``prompts``, how
      many are left; and ``prompt``, of these the one that is right most often, or else agrees most with the
      others.
    - ``rest_unlabelled``: the share of their answers that have no label.
    - ``rest_wrong`` and ``rest_gold_agreement``: of their labels, where gold labels are known.

    A prompt is odd if surely more than 10% of its answers have no label; or if its labels surely differ more
    from the others' than these do among themselves. Of the latter, one prompt in four may be odd.

    With gold labels, of the prompt that is right most often (``variant`` in the cell; an answer without a
    label is wrong):

    - ``best_prompt_wrong``: the share of its answers that are wrong;
    - ``best_prompt_gold_agreement``: its labels' agreement with gold labels beyond chance;
    - ``best_prompt_better``: how far its share is below the mean of the other prompts' shares, item by item.
      Its interval reaches 0 where ``p`` in the details, of prompts that are all alike, is above 0.025.
    """
    if len(answers.prompts) < 2:
        return
    # The prompts of whose answers surely too many have no label
    is_bare, together = pl.col("label").is_null(), len(answers.prompts)
    bare = answers.shares("mute", "", is_bare, by=["variant"], together=together)
    surely = {share.cell["variant"] for share in bare if (share.low or 0.0) > _MUTE}
    mute = [prompt for prompt in answers.prompts if prompt in surely]
    odd = _odd(answers, mute)
    yield _broken(answers, mute, odd)
    without = [*mute, *(gap.cell["variant"] for gap in odd)]
    left = [prompt for prompt in answers.prompts if prompt not in without]
    if len(left) > 1 and without:
        named = {"without": without, "mute": mute, "prompts": len(left)}
        yield from _rest(answers.where(pl.col("variant").is_in(left)), named)
    if answers.has_gold:
        # What speaks for the prompt that is right most often
        prompts = len(answers.prompts)
        best = _most_right(answers)
        where, about = {"variant": best.cell["variant"]}, {"prompts": prompts}
        (share,) = at_once([best], prompts)
        yield replace(complement(share, "best_prompt_wrong"), details=about)
        alone = answers.where(pl.col("variant") == where["variant"])
        (agreement,) = at_once(alone.take(gold)[:1], prompts)
        yield replace(agreement, measure="best_prompt_gold_agreement", cell={**agreement.cell, **where})
        gaps = answers.take(differences, missing="wrong")
        own = [gap for gap in gaps if gap.value is not None and gap.cell.get("variant") == where["variant"]]
        for better in at_once(own, prompts):
            details = {**about, "p": _p(answers, where["variant"])}
            better = replace(better, measure="best_prompt_better", details=details)
            is_sure = details["p"] <= (1 - LEVEL) / 2 or better.low is None
            yield better if is_sure else replace(better, low=min(better.low or 0.0, 0.0))


def _odd(answers: ModelAnswers, mute: Sequence[str]) -> list[Estimate]:
    """The prompts, of those with labels, that surely differ more from the others than these do."""
    kept = answers.where(~pl.col("variant").is_in(mute)).labelled
    gaps = [gap for gap in kept.take(prompt_apart) if gap.value is not None]
    differing = [gap for gap in at_once(gaps, len(gaps)) if gap.low is not None and gap.low > 0]
    return sorted(differing, key=lambda gap: -gap.number)[: len(gaps) // _ODD]


def _broken(answers: ModelAnswers, mute: Sequence[str], odd: Sequence[Estimate]) -> Estimate:
    """The share of prompts that are broken, and of how many like these one could be."""
    apart = [gap for gap in odd if gap.details["differ"] > (1 - _STEADY) * gap.details["chance"]]
    broken, prompts = len(mute) + len(apart), len(answers.prompts)
    return Estimate(
        "broken_prompts",
        broken / prompts,
        0.0,
        clopper_pearson(broken, prompts, 2 * LEVEL - 1).high,
        confidence_level=LEVEL,
        n=prompts,
        unit="prompt",
        method="share of prompts that are odd and hardly agree with the others; exact one-sided bound",
        cell={"model": answers.model},
    )


def _rest(rest: ModelAnswers, named: dict[str, Any]) -> Iterator[Estimate]:
    """What the other prompts' labels are like, where some prompts are odd."""
    if rest.has_gold:
        chosen = _most_right(rest)
    else:
        chosen = min(rest.labelled.take(prompt_apart, resamples=0), key=lambda gap: gap.details["flips"])
    details = {**named, "prompt": chosen.cell["variant"]}
    agreement = next(
        estimate for estimate in rest.labelled.take(flips) if estimate.measure == "flips_agreement"
    )
    yield replace(agreement, measure="rest_agreement", details={**agreement.details, **details})
    method = "share of the answers to these prompts that have no label"
    for bare in rest.shares("rest_unlabelled", method, pl.col("label").is_null()):
        yield replace(bare, details=details)
    if rest.has_gold:
        right, *_ = rest.take(accuracy, missing="drop")
        yield complement(right, "rest_wrong")
        yield replace(rest.take(gold)[0], measure="rest_gold_agreement")


def _most_right(answers: ModelAnswers) -> Estimate:
    """The accuracy of the prompt that is right most often, the first of several."""
    each = answers.take(accuracy, by=["variant"], missing="wrong")
    right = [share for share in each if share.measure == "accuracy"]
    return max(right, key=lambda share: (share.number, -answers.prompts.index(share.cell["variant"])))


def _p(answers: ModelAnswers, best: str) -> float:
    """The chance that the best of prompts which are alike is right so much more often.

    Under exchangeable prompts each has the variance of all, which is the pooled one, (1/K)·Σ_g Σ_v e_gv² over
    the units' sums of e_uv, an item's share less its mean over prompts. The best prompt's own variance would
    be too small where errors are few, because it was chosen for having few: at 30 items and 10% errors a
    t test takes one of five equal prompts for better in 20% of simulated studies, this one in under 2.5%.
    """
    cell = answers.by_prompt()
    judged = judge(cell, "wrong")
    right, asked = (part.sum(2).astype(float) for part in (judged.right, judged.asked))
    shares = quotient(asked - right, asked)
    column = [where["variant"] for where in cell.strata].index(best)
    mean = quotient(np.nansum(shares, 1), np.isfinite(shares).sum(1))
    sums = by_unit(np.nan_to_num(shares - mean[:, None]), cell.units)
    deviation = float(np.sqrt((sums**2).sum() / shares.shape[1]))
    z = -float(sums[:, column].sum()) / deviation if deviation > 0 else 0.0
    tail = float(special.stdtr(max(1, len(sums) - 1), -z))
    return float(min(1.0, shares.shape[1] * tail))
