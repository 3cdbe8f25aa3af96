"""A study whose truth is known: texts, their true labels, and labels with planted faults.

It shares no code with the measures. `Plan` says what is planted, `planted` draws a study, and `true_values`
takes from very many texts what its intervals should cover.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Chances = float | tuple[float, ...]
"""One chance for all prompts, or one for each."""

MANY = 40_000
"""As many texts say what is true."""


@dataclass(frozen=True)
class Groups:
    """Texts that come in groups.

    Attributes:
        count: How many groups.
        uneven: Whether the sizes fall as 1, 1/2, 1/3, … do, instead of being equal.
        misread: The share of groups whose texts are labelled wrong more often than others; drawn anew for
            each study, unless `bad` names them.
        wrong: The share of their texts that every prompt labels wrong.
        bad: The groups that are misread in every study.
        missed: The share of the texts in bad groups which have the second label and get the first.
        drift: The chance that a prompt labels a text of a bad group anew.
        differ: Whether the first label is frequent in some groups and rare in others.
        declared: How the study file names the column: ``group`` (texts were drawn by it), ``groups`` (texts
            are compared by it), or an empty text (not at all).
        silent: The share of the texts in bad groups that never get a label.
    """

    count: int
    uneven: bool = False
    misread: float = 0.0
    wrong: float = 0.0
    bad: tuple[int, ...] = ()
    missed: float = 0.0
    drift: float = 0.0
    differ: bool = False
    declared: str = ""
    silent: float = 0.0


@dataclass(frozen=True)
class Scale:
    """Labels that are steps of a scale: a text lies somewhere on it.

    Attributes:
        level: The level of measurement.
        noise: By how many steps a prompt's reading of a text is off (a standard deviation).
        shared: The same for a part that all prompts have in common.
        bias: How many steps too high the labels are, by prompt.
        factor: What the readings are multiplied by.
        skipped: The step that is never given; the one below stands in its place.
    """

    level: str
    noise: float = 0.0
    shared: float = 0.0
    bias: Chances = 0.0
    factor: float = 1.0
    skipped: int | None = None


@dataclass(frozen=True)
class Plan:
    """What is planted.

    Attributes:
        texts: How many texts.
        prompts: How many prompts.
        repeats: How often each prompt asks about a text.
        shares: The shares of the true labels.
        scale: Of labels with an order.
        wrong: The share of texts that every prompt labels wrong, in the same way.
        noise: The chance that a prompt labels a text anew, by prompt.
        again: The chance that a repeat is labelled anew.
        confused: By label: the label given instead, and how often.
        lost: By label: the label given instead, and how often by each prompt, whatever the others do.
        always: The prompts whose every answer is the first label.
        pulled: The chance that a prompt gives the label of its own number, whatever the text says.
        groups: Of texts that come in groups.
        missing: The chance that an answer has no label, by prompt.
        hard: The share of texts that are hard; all prompts label half of them wrong.
        hard_missing: Whether hard texts never get a label.
        lengths: Whether texts have 5 to 40 words, instead of 12.
        hard_long: Whether hard texts are the longest.
        refused: The label whose texts never get one.
        gold: The share of texts with a gold label.
        gold_wrong: The share of gold labels that are wrong.
        coders: How many people label each text, each wrong as often as `coder_wrong` says.
        coder_wrong: See `coders`.
        copies: How often each text occurs.
        near: Whether copies differ in a word.
    """

    texts: int = 200
    prompts: int = 5
    repeats: int = 1
    shares: tuple[float, ...] = (0.4, 0.3, 0.3)
    scale: Scale | None = None
    wrong: float = 0.03
    noise: Chances = 0.02
    again: float = 0.0
    confused: Mapping[int, tuple[int, float]] = field(default_factory=dict, hash=False)
    lost: Mapping[int, tuple[int, float]] = field(default_factory=dict, hash=False)
    always: tuple[int, ...] = ()
    pulled: float = 0.0
    groups: Groups | None = None
    missing: Chances = 0.0
    hard: float = 0.0
    hard_missing: bool = False
    lengths: bool = False
    hard_long: bool = False
    refused: int | None = None
    gold: float = 1.0
    gold_wrong: float = 0.0
    coders: int = 0
    coder_wrong: float = 0.0
    copies: int = 1
    near: bool = False

    @property
    def codes(self) -> tuple[str, ...]:
        """The labels."""
        return tuple(f"l{at}" if self.scale is None else str(at) for at in range(len(self.shares)))


@dataclass(frozen=True)
class Planted:
    """A study's texts and labels; −1 is no label.

    Attributes:
        truth: The true label of each text.
        labels: Text × prompt × repeat.
        gold: What stands in the column of gold labels.
        coders: Text × person.
        group: The group of each text.
        misread: The groups that are misread.
        original: Which text a text is a copy of.
        words: How many words an original has.
    """

    truth: Ints
    labels: Ints
    gold: Ints
    coders: Ints
    group: Ints
    misread: frozenset[int]
    original: Ints
    words: Ints


def planted(plan: Plan, rng: np.random.Generator) -> Planted:
    """Draw a study."""
    n, kinds = plan.texts // plan.copies, len(plan.shares)
    group, misread = _grouped(plan.groups, n, rng)
    if plan.scale is None:
        truth = _truth(plan, group, rng)
        labels = _labels(plan, truth, rng)
    else:
        truth, labels = _scaled(plan.scale, kinds, (n, plan.prompts), rng)
        if plan.confused:  # on a scale whatever a prompt reads
            changed = np.arange(kinds)
            for label, (instead, _) in plan.confused.items():
                changed[label] = instead
            labels = changed[labels]
    if plan.groups is not None:
        in_bad = np.isin(group, list(misread))
        labels = _in_groups(plan.groups, truth, labels, in_bad, kinds, rng)
    hard = rng.random(n) < plan.hard
    words = rng.integers(5, 41, n) if plan.lengths else np.full(n, 12)
    if plan.hard_long:
        words = np.where(hard, rng.integers(35, 41, n), np.minimum(words, 36))
    labels = np.where((hard & (rng.random(n) < 0.5))[:, None], _other(truth, kinds, rng)[:, None], labels)
    labels = np.repeat(labels[..., None], plan.repeats, 2)
    labels = _anew(labels, plan.again, kinds, rng)
    bare = rng.random(labels.shape) < np.broadcast_to(plan.missing, plan.prompts)[None, :, None]
    if plan.hard_missing:
        bare |= hard[:, None, None]
    if plan.groups is not None and plan.groups.silent:
        bare |= (in_bad & (rng.random(n) < plan.groups.silent))[:, None, None]
    if plan.refused is not None:
        bare |= (truth == plan.refused)[:, None, None]
    gold, coders = _gold(plan, truth, rng)
    original = np.repeat(np.arange(n), plan.copies)
    return Planted(
        truth[original],
        np.where(bare, -1, labels)[original],
        gold[original],
        coders[original],
        group[original],
        misread,
        original,
        words,
    )


def _grouped(groups: Groups | None, n: int, rng: np.random.Generator) -> tuple[Ints, frozenset[int]]:
    if groups is None:
        return np.zeros(n, int), frozenset()
    sizes = 1 / np.arange(1, groups.count + 1) if groups.uneven else np.ones(groups.count)
    ends = np.round(np.cumsum(sizes / sizes.sum()) * n)
    group = np.searchsorted(ends, np.arange(n), side="right")
    drawn = np.flatnonzero(rng.random(groups.count) < groups.misread)
    return group, frozenset(groups.bad) | frozenset(drawn.tolist())


def _truth(plan: Plan, group: Ints, rng: np.random.Generator) -> Ints:
    truth = rng.choice(len(plan.shares), group.size, p=plan.shares)
    if plan.groups is not None and plan.groups.differ:
        truth = np.where(rng.random(group.size) < (group % 4) / 5, 0, truth)
    return truth


def _labels(plan: Plan, truth: Ints, rng: np.random.Generator) -> Ints:
    """Text × prompt: what is common to all prompts first, then what each does."""
    n, kinds = truth.size, len(plan.shares)
    common = np.where(rng.random(n) < plan.wrong, _other(truth, kinds, rng), truth)
    for label, (instead, often) in plan.confused.items():
        common = np.where((truth == label) & (rng.random(n) < often), instead, common)
    labels = np.repeat(common[:, None], plan.prompts, 1)
    if plan.confused:  # what is never given is not given anew either
        never = [label for label, (_, often) in plan.confused.items() if often == 1]
        given = np.setdiff1d(np.arange(kinds), never) if len(never) < 2 else np.arange(kinds)
    else:
        given = np.arange(kinds)
    fresh = given[rng.integers(0, given.size, labels.shape)]
    labels = np.where(rng.random(labels.shape) < np.broadcast_to(plan.noise, plan.prompts), fresh, labels)
    for label, (instead, often) in plan.lost.items():
        is_lost = (truth == label)[:, None] & (rng.random(labels.shape) < often)
        labels = np.where(is_lost, instead, labels)
    own = np.arange(plan.prompts) % kinds
    labels = np.where(rng.random(labels.shape) < plan.pulled, own, labels)
    labels[:, list(plan.always)] = 0
    return labels


def _scaled(scale: Scale, kinds: int, size: tuple[int, int], rng: np.random.Generator) -> tuple[Ints, Ints]:
    place = rng.random(size[0]) * kinds
    bias = np.broadcast_to(scale.bias, size[1])
    shared = rng.normal(0, scale.shared, size[0])
    read = (place + shared)[:, None] * scale.factor + bias + rng.normal(0, scale.noise, size)
    given = np.clip(np.floor(read), 0, kinds - 1).astype(int)
    if scale.skipped is not None:
        given = np.where(given == scale.skipped, scale.skipped - 1, given)
    return np.floor(place).astype(int), given


def _in_groups(
    groups: Groups,
    truth: Ints,
    labels: Ints,
    bad: npt.NDArray[np.bool_],
    kinds: int,
    rng: np.random.Generator,
) -> Ints:
    n = truth.size
    wrong = bad & (rng.random(n) < groups.wrong)
    labels = np.where(wrong[:, None], _other(truth, kinds, rng)[:, None], labels)
    missed = bad & (truth == 1) & (rng.random(n) < groups.missed)
    labels = np.where(missed[:, None], 0, labels)
    drifted = bad[:, None] & (rng.random(labels.shape) < groups.drift)
    return np.where(drifted, rng.integers(0, kinds, labels.shape), labels)


def _other(truth: Ints, kinds: int, rng: np.random.Generator) -> Ints:
    """Another label than the true one."""
    return (truth + rng.integers(1, kinds, truth.size)) % kinds


def _anew(labels: Ints, chance: float, kinds: int, rng: np.random.Generator) -> Ints:
    return np.where(rng.random(labels.shape) < chance, rng.integers(0, kinds, labels.shape), labels)


def _gold(plan: Plan, truth: Ints, rng: np.random.Generator) -> tuple[Ints, Ints]:
    n, kinds = truth.size, len(plan.shares)
    by = np.repeat(truth[:, None], plan.coders, 1)
    for person in range(plan.coders):
        by[:, person] = np.where(rng.random(n) < plan.coder_wrong, _other(truth, kinds, rng), truth)
    gold = np.where(rng.random(n) < plan.gold_wrong, _other(truth, kinds, rng), truth)
    if plan.coders:  # the label of most; of none where they tie
        votes = np.stack([(by == label).sum(1) for label in range(kinds)], 1)
        most = votes.max(1)
        gold = np.where((votes == most[:, None]).sum(1) == 1, votes.argmax(1), -1)
    known = rng.permutation(n) < round(plan.gold * n)
    return np.where(known, gold, -1), by


@cache
def true_values(plan: Plan) -> dict[str, Any]:
    """What very many texts show: by quantity, and in ``recall`` and ``precision`` by label.

    ``wrong``: the share of labels that differ from the true ones; ``off gold``: from the gold labels;
    ``prompts``, ``repeats``: the share of pairs of labels that differ; ``missing``: the share of answers
    without a label.
    """
    groups = plan.groups
    if groups is not None and groups.misread:  # each study draws others: as if each text had its own
        groups = replace(groups, count=MANY, uneven=False)
    gold = float(plan.gold > 0)  # a sample of gold labels at random says the same
    many = replace(plan, texts=MANY * plan.copies, groups=groups, gold=gold)
    study = planted(many, np.random.default_rng(20_000))
    labels, truth = study.labels, study.truth[:, None, None]
    given = labels >= 0
    judged = given & (study.gold >= 0)[:, None, None]
    found: dict[str, Any] = {
        "wrong": _share(labels != truth, given),
        "off gold": _share(labels != study.gold[:, None, None], judged),
        "missing": 1 - given.mean(),
        "prompts": _differing(labels, 1),
        "repeats": _differing(labels, 2),
        "recall": [_share(labels == at, given & (truth == at)) for at in range(len(plan.shares))],
        "precision": [_share((truth == at) & (labels == at), labels == at) for at in range(len(plan.shares))],
    }
    return found


def _share(of: npt.NDArray[np.bool_], among: npt.NDArray[np.bool_]) -> float:
    among = np.broadcast_to(among, of.shape)
    return float(of[among].mean()) if among.any() else float("nan")


def _differing(labels: Ints, axis: int) -> float:
    """The share of pairs along an axis that differ, of those with two labels."""
    differ = total = 0
    for one, other in combinations(range(labels.shape[axis]), 2):
        first, second = labels.take(one, axis), labels.take(other, axis)
        both = (first >= 0) & (second >= 0)
        differ += int((both & (first != second)).sum())
        total += int(both.sum())
    return differ / total if total else float("nan")
