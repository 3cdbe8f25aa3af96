"""What may be vouched for of each label that is given, and of each prompt.

Labels can be right on average while one of them is mostly wrong where it is given, or while one prompt turns
a class into another. So each is looked at by itself, with intervals that hold for all of them at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from quaver.core.records import Estimate
from quaver.estimation.bootstrap import Floats, Ratio
from quaver.estimation.means import quotient
from quaver.estimation.statistic import Statistic
from quaver.measures.stability.label_pairs import PromptAnswers

_RIGHT = "share of a label's uses that are the gold label"
_OTHERS = "share of the labels that differ from the gold label, without the labels left out"
_WORSE = "share of a prompt's labels that are wrong less that of the other prompts', on the same items"
_APART = "how much more a prompt's labels differ from the other prompts' than these do among themselves"

FEWEST_PROMPTS = 3
"""Of fewer prompts none deviates: of two that differ, either may."""


def given_labels(answers: PromptAnswers, most: float) -> Iterator[Estimate]:
    """How often each label is right where it is given.

    ``label_right`` (``label`` in the cell) is the precision of a label over all prompts; in the details
    ``uses``, its share of the labels, and ``texts``. ``others_wrong`` is the share of wrong labels among
    those that are left where each label is left out (``without`` in the details, ``share`` what they are of
    all labels) that is surely wrong in more than ``most`` of its uses. Undefined without gold labels.
    """
    gold, codes = answers.gold, answers.labels[:-1]
    if gold is None:
        return
    known = np.isfinite(gold[:, :1])
    given = np.where(known, answers.counts.sum(1)[:, :-1], 0.0)
    right = given * np.nan_to_num(gold)[:, :-1]
    whole = float(given.sum())
    parts = []
    used = [index for index in range(len(codes)) if given[:, index].any()]
    for index in used:
        share = answers.share(right[:, index], given[:, index], _RIGHT)
        details = {"uses": float(given[:, index].sum()) / whole, "texts": int((given[:, index] > 0).sum())}
        share = replace(share, where={"label": codes[index]}, details=details)
        parts.append(answers.estimated("label_right", share, prompts=len(used)))
    yield from parts
    without = [
        index
        for index, part in zip(used, parts, strict=True)
        if part.high is not None and part.high < 1 - most
    ]
    left = np.delete(given, without, 1).sum(1), np.delete(given - right, without, 1).sum(1)
    if without and left[0].any():
        others = answers.share(left[1], left[0], _OTHERS)
        share_left_out = 1 - float(left[0].sum()) / whole
        named = {"without": [codes[index] for index in without], "share": share_left_out}
        yield answers.estimated("others_wrong", replace(others, details=named))


def deviating_prompts(answers: PromptAnswers) -> Iterator[Estimate]:
    """How far each prompt is from the others, where there are three or more.

    ``prompt_worse`` (``variant`` in the cell), where gold labels are known: the mean over items of the share
    of the prompt's labels that are wrong less the mean share of the other prompts'; on a scale, of how far
    they are off. ``prompt_apart``, without gold labels: the share of pairs of a label of this prompt and one
    of another that differ, less that of pairs of two other prompts. In the details ``source``, ``target`` and
    ``moved``: of the texts with the first label (the gold label, else the modal one), the share that this
    prompt gives the second, and ``usual``, the share that the others do.
    """
    labels = answers.counts[:, :, :-1]
    prompts = labels.shape[1]
    if prompts < FEWEST_PROMPTS:
        return
    each = labels.sum(2)
    reference = _reference(answers)
    alike = (
        np.eye(labels.shape[2])
        if answers.alike is None
        else answers.alike[: labels.shape[2], : labels.shape[2]]
    )
    if answers.gold is not None:
        off = each - np.einsum("ivk,ik->iv", labels, reference @ alike)
        away = quotient(off, np.where(reference.sum(1, keepdims=True) > 0, each, 0.0))
        name, method = "prompt_worse", _WORSE
    else:
        away = _from_others(labels, alike)
        name, method = "prompt_apart", _APART
    for index, variant in enumerate(answers.variants):
        others = np.delete(away, index, 1)
        seen = np.isfinite(others).sum(1)
        gap = away[:, index] - quotient(np.nansum(others, 1), seen)
        both = np.isfinite(gap)
        if not both.any():
            continue
        statistic = Statistic(
            method=method,
            under=Ratio(np.where(both, gap, 0.0)[:, None], both.astype(float)[:, None]),
            ends=(-1.0, 1.0),
            where={"variant": variant},
            details=_move(labels, reference, index, answers.labels),
        )
        yield answers.estimated(name, statistic, prompts=prompts)


def _reference(answers: PromptAnswers) -> Floats:
    """Each item's gold label as ones and zeros, else its modal one; zeros alone where there is none."""
    if answers.gold is not None:
        return np.nan_to_num(answers.gold)[:, :-1]
    whole = answers.counts[:, :, :-1].sum(1)
    modal = np.eye(whole.shape[1])[whole.argmax(1)]
    return np.where(whole.sum(1, keepdims=True) > 0, modal, 0.0)


def _from_others(labels: Floats, alike: Floats) -> Floats:
    """For each item and prompt, the share of pairs of its labels and the other prompts' that differ."""
    whole = labels.sum(1, keepdims=True)
    others = whole - labels
    pairs = labels.sum(2) * others.sum(2)
    agree = (labels * (others @ alike)).sum(2)
    return quotient(pairs - agree, pairs)


def _move(labels: Floats, reference: Floats, prompt: int, codes: Any) -> dict[str, Any]:
    """Which label a prompt turns into which more often than the others do, most of all."""
    own = reference.T @ labels[:, prompt]
    others = reference.T @ np.delete(labels, prompt, 1).sum(1)
    mine, usual = (quotient(part, part.sum(1, keepdims=True)) for part in (own, others))
    extra = np.nan_to_num((mine - usual) * own.sum(1, keepdims=True))
    np.fill_diagonal(extra, 0.0)
    source, target = np.unravel_index(int(extra.argmax()), extra.shape)
    if extra[source, target] <= 0:
        return {}
    return {
        "source": codes[source],
        "target": codes[target],
        "moved": float(mine[source, target]),
        "usual": float(np.nan_to_num(usual[source, target])),
    }
