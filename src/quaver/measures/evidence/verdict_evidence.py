"""What verdict and recommendation rest on, from one frame of annotations: all of it from counted answers.

Among it is how prompts stand beside each other: which deviate, and whether the labels of some can be used
where others' cannot.

Two ways lead to a prompt. Where gold labels are known, one prompt may clearly be right more often than the
others (the *best* prompt). Without them, a few prompts may differ from all others, which agree (the *odd*
prompts and the *rest*). Either way the same data first single out a prompt and then speak for it, so it is
tested as the most extreme of several: the best prompt's intervals hold for all prompts at once (Bonferroni),
and so does the test that shows a prompt to be odd.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import polars as pl
from scipy import special

from quaver.core.records import Estimate, LabelSet, Numbers
from quaver.estimation.cells import Frame, guarded
from quaver.estimation.coded_columns import frame_of
from quaver.estimation.grouped_items import by_unit, item_groups
from quaver.estimation.intervals import clopper_pearson
from quaver.estimation.jackknife import Floats, Ratio, Resampling
from quaver.estimation.means import quotient
from quaver.estimation.statistic import Sampler, Statistic
from quaver.measures.evidence.counted_answers import (
    AnswerTable,
    Disagreements,
    answer_tables,
    holding_zero,
    label_flips,
    label_shifts,
    like,
)
from quaver.measures.evidence.judged_labels import WRONG, agreement_with_gold, correctness, vouched_parts

_KINDS: Final = {
    "failed_calls": "share of calls that ended in an error",
    "unlabelled_answers": "share of calls whose answer has no label",
    "truncated_answers": "share of calls whose answer was cut off at max_tokens",
}


@guarded
def verdict_evidence(
    annotations: Frame,
    factors: Sequence[str] = (),
    *,
    labels: LabelSet,
    compared: Sequence[str] = (),
    coders: Sequence[str] = (),
    group: str | None = None,
    seed: int = 0,
) -> list[Estimate]:
    """What is known of the labels of each model (in the cell).

    Args:
        annotations: A row a call, of one evaluator.
        factors: Columns of the prompt's factors, whose levels may move labels.
        labels: The label set; a label outside it is none.
        compared: Columns of items, each group of which is looked at by itself.
        coders: Columns of coders' labels.
        group: The column that groups the items.
        seed: Of the random signs in `label_shifts`.

    Returns:
        What `answer_quality`, `label_flips`, `label_shifts`, `judged_labels.correctness`,
        `judged_labels.vouched_parts`, `deviating_prompts` and `prompt_choice`
        give; what may be vouched for also of each prompt that may be chosen, with ``variant`` in the cell.
        An estimate without a value says why.

    Two items, two prompts; one item's label flips. Of the two pairs of prompts about one item one differs,
    and so does one of the two pairs of prompts about two items:

    >>> from quaver.core.records import Label
    >>> frame = pl.DataFrame({"item": [1, 1, 2, 2], "variant": list("vwvw"), "label": list("aaab")})
    >>> codes = LabelSet(tuple(Label(code, code) for code in "ab"))
    >>> flips = {one.measure: one.value for one in verdict_evidence(frame, labels=codes)}
    >>> flips["flips_prompts"], flips["flips_chance"], flips["flips_agreement"]
    (0.5, 0.5, 0.0)
    """
    frame = frame_of(annotations)
    estimates = answer_quality(frame, factors, group=group)
    for table in answer_tables(frame, labels, group, seed):
        estimates += _of_model(table, factors, compared, coders)
    return estimates


def _of_model(
    table: AnswerTable, factors: Sequence[str], compared: Sequence[str], coders: Sequence[str]
) -> Iterator[Estimate]:
    asked = table.answered
    labelled = asked.labelled
    yield from label_flips(labelled)
    yield from correctness(table)
    if not isinstance(table.labels, Numbers):  # no label's share moves
        yield from label_shifts(labelled, factors)
    yield from vouched_parts(asked, compared, coders)
    yield from deviating_prompts(asked)
    choice = [*prompt_choice(asked)]
    yield from choice
    named = (estimate.cell.get("variant", estimate.details.get("prompt", "")) for estimate in choice)
    for prompt in sorted({str(name) for name in named if name}):
        alone = asked.of_prompts([asked.prompts.index(prompt)])
        for estimate in vouched_parts(alone, compared, coders):
            yield replace(estimate, cell={**estimate.cell, "variant": prompt})


@guarded
def evidence_of_groups(annotations: Frame, column: str, *, labels: LabelSet, seed: int = 0) -> list[Estimate]:
    """What may be vouched for of each group of a column's items, model by model."""
    return [
        estimate
        for table in answer_tables(frame_of(annotations), labels, seed=seed)
        for estimate in vouched_parts(table, [column])
        if estimate.cell.get("group") == column
    ]


def answer_quality(
    frame: pl.DataFrame, factors: Sequence[str] = (), *, group: str | None = None
) -> list[Estimate]:
    """Of all calls of each model: how many failed, gave no label, were cut off.

    One denominator for the three, the calls: ``failed_calls``, ``unlabelled_answers`` (an answer came, and no
    label could be taken from it) and ``truncated_answers``. In the details: ``times`` and ``calls``, and
    ``items``, of how many items every call is one; for the unlabelled ``statuses``, and ``by`` and ``shares``
    of the factor over whose levels their share ranges furthest; for those cut off ``unlabelled``, how many of
    them have no label.

    One call of four failed, one answer has no label:

    >>> statuses = ["valid", "valid", "no_label", "error"]
    >>> frame = pl.DataFrame({"item": [1, 2, 3, 4], "label": ["a", "b", None, None], "status": statuses})
    >>> [(one.measure, one.value) for one in answer_quality(frame)]
    [('failed_calls', 0.25), ('unlabelled_answers', 0.25), ('truncated_answers', 0.0)]
    """
    groups = item_groups(frame, group)
    estimates: list[Estimate] = []
    for (model,), calls in _marked(frame, factors).group_by("model", maintain_order=True):
        items = calls.group_by("item", maintain_order=True).agg(pl.len(), pl.col(*_KINDS).sum())
        sampler = Sampler(groups.units(items["item"].to_list()), Resampling(), where={"model": str(model)})
        asked = items["len"].to_numpy().astype(float)
        for kind, method in _KINDS.items():
            times = items[kind].to_numpy().astype(float)
            counted = {"times": times.sum(), "calls": asked.sum(), "items": (times == asked).sum()}
            details = {**_details(calls, kind, factors), **{name: int(n) for name, n in counted.items()}}
            ratio = Ratio(times[:, None], asked[:, None])
            share = Statistic(part=kind, method=method, under=ratio, ends=(0.0, 1.0), details=details)
            estimates.append(sampler.estimated(share))
    return estimates


def _marked(frame: pl.DataFrame, factors: Sequence[str]) -> pl.DataFrame:
    """The columns that are needed, with one of Booleans for each kind."""
    absent = {"model": "", "status": "no_label", "truncated": False}
    missing = [pl.lit(value).alias(name) for name, value in absent.items() if name not in frame.columns]
    columns = {"item", "model", "status", "label", *(name for name in factors if name in frame.columns)}
    calls = frame.with_columns(*missing)
    texts = calls.select(pl.col(*columns).cast(pl.String), pl.col("truncated").cast(pl.Boolean))
    filled = [pl.col(name).fill_null(value) for name, value in absent.items()]
    bare = pl.col("label").is_null()
    failed = bare & (pl.col("status") == "error")
    return texts.with_columns(*filled).with_columns(
        failed_calls=failed, unlabelled_answers=bare & ~failed, truncated_answers=pl.col("truncated")
    )


def _details(calls: pl.DataFrame, kind: str, factors: Sequence[str]) -> Mapping[str, Any]:
    """Of answers cut off how many have no label; of those without one their statuses, and by which factor."""
    if kind == "truncated_answers":
        both = calls.filter(pl.col("truncated_answers") & pl.col("unlabelled_answers"))
        return {"unlabelled": both.height}
    if kind == "failed_calls":
        return {}
    statuses = calls.filter(pl.col(kind))["status"].value_counts()
    ordered = statuses.sort("count", "status", descending=[True, False])
    details: dict[str, Any] = {"statuses": dict(ordered.iter_rows())}
    widest = -1.0
    for factor in (name for name in factors if name in calls.columns):
        levels = (
            calls.drop_nulls(factor).group_by(factor).agg(share=pl.col(kind).mean()).sort("share", factor)
        )
        span = float(levels["share"][-1] - levels["share"][0]) if levels.height > 1 else -1.0
        if span > widest:
            widest = span
            details |= {"by": factor, "shares": dict(levels.iter_rows())}
    return details


_MUTE: Final = 0.1
"""A prompt is left out where surely more than this of its answers have no label."""

_STEADY: Final = 0.8
"""An odd prompt that agrees with the others less than this is broken."""

_ODD: Final = 4
"""Of as many prompts one may be odd."""

_FEWEST: Final = 3
"""Of fewer prompts none deviates: of two that differ, either may."""

_ENDS: Final = (-1.0, 1.0)


def deviating_prompts(table: AnswerTable) -> Iterator[Estimate]:
    """How far each prompt is from the others, where there are three or more.

    ``prompt_worse`` (``variant`` in the cell), where gold labels are known: the mean over items of the share
    of the prompt's labels that are wrong less the mean share of the other prompts'; on a scale, of how far
    they are off. ``prompt_apart``, without gold labels: the share of pairs of a label of this prompt and one
    of another that differ, less that of pairs of two other prompts. In the details ``source``, ``target`` and
    ``moved``: of the texts with the first label (the gold label, else the modal one), the share that this
    prompt gives the second, and ``usual``, the share that the others do.
    """
    if len(table.prompts) < _FEWEST:
        return
    labels, gold = table.counts[:, :, :-1], table.gold
    modal = np.eye(labels.shape[2])[table.given.argmax(1)] * np.asarray(table.given.any(1))[:, None]
    reference = gold if table.judged.any() else modal
    shared: dict[str, Any] = {"together": len(table.prompts)}
    if table.judged.any():
        each = labels.sum(2)
        off = each - np.einsum("ivk,ik->iv", labels, like(gold, table.alike))
        wrong = quotient(off, np.where(table.judged[:, None], each, 0.0))
    apart = Disagreements([stratum[:, :, :-1] for stratum in table.strata], table.alike).apart
    for index, variant in enumerate(table.prompts):
        details = _move(labels, reference, index, table.labels.codes)
        if table.judged.any():
            method = (
                "share of a prompt's labels that are wrong less that of the other prompts', on the same items"
            )
            gap = wrong[:, index] - _mean_of(np.delete(wrong, index, 1))
            yield from _paired(
                table, "prompt_worse", method, gap, where={"variant": variant}, details=details, **shared
            )
            continue
        method = "how much more a prompt's labels differ from the other prompts' than these among themselves"
        estimate = table.number(
            "prompt_apart",
            method,
            apart,
            column=index,
            ends=_ENDS,
            where={"variant": variant},
            details=details,
            **shared,
        )
        if estimate.value is not None:
            yield estimate


def _paired(table: AnswerTable, name: str, method: str, gap: Floats, **given: Any) -> Iterator[Estimate]:
    """The mean of differences over the items that have one; nothing where none has."""
    both = np.isfinite(gap)
    if both.any():
        yield table.share(name, method, np.where(both, gap, 0.0), both, ends=_ENDS, **given)


def _mean_of(shares: Floats) -> Floats:
    """Each item's mean over the prompts that have a share."""
    return quotient(np.nansum(shares, 1), np.isfinite(shares).sum(1))


def _move(labels: Floats, reference: Floats, prompt: int, codes: Sequence[str]) -> dict[str, Any]:
    """Which label a prompt turns into which more often than the others do, most of all."""
    own = reference.T @ labels[:, prompt]
    others = reference.T @ np.delete(labels, prompt, 1).sum(1)
    moved, usual = (np.nan_to_num(quotient(part, part.sum(1, keepdims=True))) for part in (own, others))
    extra = (moved - usual) * own.sum(1, keepdims=True)
    np.fill_diagonal(extra, 0.0)
    source, target = (int(place) for place in np.unravel_index(int(extra.argmax()), extra.shape))
    if extra[source, target] <= 0:
        return {}
    shares = {"moved": float(moved[source, target]), "usual": float(usual[source, target])}
    return {"source": codes[source], "target": codes[target], **shares}


def prompt_choice(table: AnswerTable) -> Iterator[Estimate]:
    """The prompt to choose, and what speaks for it. Calls that failed take no part.

    - ``broken_prompts``: the share of prompts that are odd and agree with the others below 0.8. Its upper end
      is the exact one-sided bound on the share of prompts like these that are, 1 − 0.05^(1/n) where none is.

    Where some are odd:

    - ``rest_agreement``: agreement of the labels of all other prompts (`label_flips`).
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
    if len(table.prompts) < 2:
        return
    mute = _mute(table)
    kept = [index for index in range(len(table.prompts)) if index not in mute]
    odd = _odd(table, kept)
    left = [index for index in kept if index not in odd]
    yield _broken(table, mute, odd)
    if (mute or odd) and len(left) > 1:
        yield from _rest(table, mute, odd, left)
    if table.judged.any():
        yield from _best(table)


def _mute(table: AnswerTable) -> list[int]:
    """The prompts of whose answers surely too many have no label."""
    each = [
        table.share("mute", "", answers[:, -1], answers.sum(1), together=len(table.prompts)).low or 0.0
        for answers in np.moveaxis(table.counts, 1, 0)
    ]
    return [index for index, low in enumerate(each) if low > _MUTE]


def _odd(table: AnswerTable, kept: Sequence[int]) -> list[int]:
    """The prompts, of those kept, whose labels surely differ more from the others' than these do."""
    odd: list[int] = []
    for _ in range(len(kept) // _ODD):
        left = [index for index in kept if index not in odd]
        apart = Disagreements([stratum[:, left, :-1] for stratum in table.strata], table.alike).apart
        values = apart(np.ones((1, len(table.items))))[0]
        if not np.isfinite(values).any():
            break
        place = int(np.nanargmax(values))
        low = table.number("odd", "", apart, column=place, ends=_ENDS, together=len(left)).low
        if low is None or low <= 0:
            break
        odd.append(left[place])
    return odd


def _broken(table: AnswerTable, mute: Sequence[int], odd: Sequence[int]) -> Estimate:
    """The share of prompts that are broken, and of how many like these one could be."""
    pairs = Disagreements([stratum[:, :, :-1] for stratum in table.strata], table.alike)
    everyone = np.ones((1, len(table.items)))
    chance, differ = float(pairs.chance(everyone)[0]), pairs.from_others(everyone)[0]
    broken = len(mute) + sum(bool(differ[index] > (1 - _STEADY) * chance) for index in odd)
    prompts, level = len(table.prompts), table.resampling.confidence_level
    return Estimate(
        "broken_prompts",
        broken / prompts,
        0.0,
        clopper_pearson(broken, prompts, 2 * level - 1).high,
        confidence_level=level,
        n=prompts,
        unit="prompt",
        method="share of prompts that are odd and hardly agree with the others; exact one-sided bound",
        cell={"model": table.model},
    )


def _rest(
    table: AnswerTable, mute: Sequence[int], odd: Sequence[int], left: Sequence[int]
) -> Iterator[Estimate]:
    """What the other prompts' labels are like, where some prompts are odd."""
    rest = table.of_prompts(left)
    differ = Disagreements([stratum[:, :, :-1] for stratum in rest.strata]).from_others(
        np.ones((1, len(rest.items)))
    )[0]
    chosen = int(np.argmin(_wrong_by_prompt(rest) if table.judged.any() else np.nan_to_num(differ, nan=2.0)))
    details = {
        "without": [table.prompts[index] for index in (*mute, *odd)],
        "mute": [table.prompts[index] for index in mute],
        "prompts": len(left),
        "prompt": rest.prompts[chosen],
    }
    agreement = next(one for one in label_flips(rest.labelled) if one.measure == "flips_agreement")
    yield replace(agreement, measure="rest_agreement", details={**agreement.details, **details})
    answers = rest.counts.sum(1)
    method = "share of the answers to these prompts that have no label"
    yield rest.share("rest_unlabelled", method, answers[:, -1], answers.sum(1), details=details)
    if table.judged.any():
        labels = np.where(rest.judged[:, None], rest.given, 0.0)
        yield rest.share("rest_wrong", WRONG, (labels * (1 - rest.gold)).sum(1), labels.sum(1))
        yield agreement_with_gold(rest, "rest_gold_agreement")


def _errors(table: AnswerTable) -> tuple[Floats, Floats]:
    """Wrong answers and all answers, shape (items, prompts), of items with a gold label."""
    asked = np.where(table.judged[:, None], table.counts.sum(2), 0.0)
    right = (table.counts[:, :, :-1] * table.gold[:, None]).sum(2)
    return np.where(table.judged[:, None], asked - right, 0.0), asked


def _wrong_by_prompt(table: AnswerTable) -> Floats:
    """Each prompt's share of wrong answers; 1 of a prompt without answers."""
    wrong, asked = _errors(table)
    return np.nan_to_num(quotient(wrong.sum(0), asked.sum(0)), nan=1.0)


def _best(table: AnswerTable) -> Iterator[Estimate]:
    """What speaks for the prompt that is right most often."""
    best, prompts = int(np.argmin(_wrong_by_prompt(table))), len(table.prompts)
    alone = table.of_prompts([best])
    where, about = {"variant": table.prompts[best]}, {"prompts": prompts}
    wrong, asked = (part[:, 0] for part in _errors(alone))
    method = "share of answers that differ from the gold label, unanswered ones wrong"
    yield alone.share("best_prompt_wrong", method, wrong, asked, together=prompts, details=about, where=where)
    agreement = agreement_with_gold(alone, "best_prompt_gold_agreement", together=prompts)
    yield replace(agreement, cell={**agreement.cell, **where})
    shares = quotient(*_errors(table))
    gap = _mean_of(np.delete(shares, best, 1)) - shares[:, best]
    method = "mean share of wrong answers of the other prompts less that of this one, on the same items"
    details = {**about, "p": _p(table, shares, best)}
    given: dict[str, Any] = {"together": prompts, "details": details, "where": where}
    for estimate in _paired(table, "best_prompt_better", method, gap, **given):
        yield holding_zero(estimate, table.resampling.tail)


def _p(table: AnswerTable, shares: Floats, best: int) -> float:
    """The chance that the best of prompts which are alike is right so much more often.

    Under exchangeable prompts each has the variance of all, which is the pooled one, (1/K)·Σ_g Σ_v e_gv² over
    the units' sums of e_uv, an item's share less its mean over prompts. The best prompt's own variance would
    be too small where errors are few, because it was chosen for having few: at 30 items and 10% errors a
    t test takes one of five equal prompts for better in 20% of simulated studies, this one in under 2.5%.
    """
    apart = np.nan_to_num(shares - _mean_of(shares)[:, None])
    sums = by_unit(apart, table.units)
    deviation = float(np.sqrt((sums**2).sum() / shares.shape[1]))
    z = -float(sums[:, best].sum()) / deviation if deviation > 0 else 0.0
    tail = float(special.stdtr(max(1, len(sums) - 1), -z))
    return float(min(1.0, shares.shape[1] * tail))
