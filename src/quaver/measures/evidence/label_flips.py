"""How often labels flip: when the same prompt is asked again, when another is, and with the item.

Every one of these is the share of pairs of labels that differ. Pairs are of one model and one decoding:

- two repeats of one prompt about one item: what is left when nothing is changed (noise);
- two prompts about one item: what a change of the prompt does;
- two prompts about two items: what chance would give, were labels independent of the item.

How far the labels follow the items is what the second is short of the third, 1 − D_prompts / D_chance: 1
where prompts never change a label, 0 where two prompts agree about an item no more often than about two
different ones. There, labels that have an order differ by the disagreement of their level of measurement
(`likeness`), so that a step between neighbours weighs little. Marginal shares say nothing of
it: labels that swap among the items leave them as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np

from quaver.agreement.disagreement import members, scale
from quaver.core.records import BY_PAIRS, OF_SETS, LabelSet
from quaver.estimation.coded_columns import label_counts
from quaver.estimation.declaration import measure
from quaver.estimation.intervals import Interval, mean_within
from quaver.estimation.jackknife import Floats, Ratio
from quaver.estimation.means import quotient
from quaver.estimation.statistic import Cell, Statistic


def likeness(labels: LabelSet | None) -> Floats | None:
    """How alike two labels are, by their level of measurement: 1 − δ² / max δ², shape (labels, labels).

    δ is the number of steps between two labels of an ordinal scale, the difference of two values, or for a
    ratio scale (a − b) / (a + b); a label without a value has its place. Of labels that are sets or
    in a tree it is 1 − their distance. None for nominal labels, which are the same or not.

    >>> from quaver.core.records import Label
    >>> likeness(LabelSet(tuple(Label(code, code) for code in "123"), "ordinal"))[0].tolist()
    [1.0, 0.75, 0.0]
    """
    if labels is None or labels.level == "nominal" or len(labels.codes) < 2:
        return None
    values = scale(labels.codes, labels.level, labels)
    if labels.level in BY_PAIRS and values is not None:
        return np.asarray(1 - values)
    at = np.arange(len(labels.codes), dtype=np.float64) if values is None else values
    apart = at[:, None] - at[None, :]
    if labels.level == "ratio":
        total = np.abs(at)[:, None] + np.abs(at)[None, :]
        apart = apart / np.where(total > 0, total, 1.0)
    return np.asarray(1 - apart**2 / (apart**2).max())


def like(counts: Floats, alike: Floats | None) -> Floats:
    """For each label, how many of the counted labels are like it."""
    return counts if alike is None else counts @ alike


def members_of(labels: LabelSet) -> tuple[Sequence[str], Floats]:
    """The labels one by one, a set counting for each in it; and which each code has, (codes, labels)."""
    return members(labels.codes) if labels.level in OF_SETS else (labels.codes, np.eye(len(labels.codes)))


def by_prompt(cell: Cell) -> tuple[list[str], Floats]:
    """The prompts of a cell, and how often each label was given, (decodings, items, prompts, labels)."""
    decodings, prompts = (
        list(dict.fromkeys(where.get(role, "") for where in cell.strata)) for role in ("decoding", "variant")
    )
    table = np.zeros((len(decodings), len(cell.items), len(prompts), len(cell.labels)))
    for place, where in enumerate(cell.strata):
        decoding, prompt = decodings.index(where.get("decoding", "")), prompts.index(where.get("variant", ""))
        table[decoding, :, prompt] = label_counts(cell.grid[:, [place]], len(cell.labels))[:, 0]
    return prompts, table


class Pairs:
    """Pairs of labels, over decodings.

    Args:
        counts: How often each label was given, shape (decodings, items, prompts, labels).
        alike: How alike two labels are, shape (labels, labels); None where only the same label agrees.
    """

    def __init__(self, counts: Floats, alike: Floats | None = None) -> None:
        self._counts, self._alike = counts, alike
        self._whole = counts.sum(3, keepdims=True)
        self._sides = [_pairs(self._whole, None), _pairs(counts, alike)]

    def repeats(self, weights: Floats) -> Floats:
        """The share that differ of two repeats of one prompt."""
        whole, agree = (weights @ side[0] for side in self._sides)
        return 1 - quotient(agree, whole)

    def prompts(self, weights: Floats) -> Floats:
        """The share of pairs of labels from two prompts about one item that differ."""
        whole, agree = (weights @ side[1] for side in self._sides)
        return 1 - quotient(agree, whole)

    def chance(self, weights: Floats) -> Floats:
        """The share of pairs of labels from two prompts about two items that differ."""
        whole = _chance(weights, self._whole, None) - weights**2 @ self._sides[0][1]
        agree = _chance(weights, self._counts, self._alike) - weights**2 @ self._sides[1][1]
        return 1 - quotient(agree, whole)

    def from_others(self, weights: Floats) -> Floats:
        """The share of a prompt's labels that differ from other prompts', shape (samples, prompts)."""
        whole, agree = (weights @ side[2] for side in self._sides)
        return 1 - quotient(agree, whole)

    def apart(self, weights: Floats) -> Floats:
        """How much more each prompt's labels differ from the others' than these do among themselves."""
        whole, agree = (weights @ side[2] for side in self._sides)
        differ = whole - agree
        others, beside = (total.sum(1, keepdims=True) / 2 - total for total in (whole, differ))
        return quotient(differ, whole) - quotient(beside, others)


def _agreeing(counts: Floats, others: Floats, alike: Floats | None) -> Floats:
    return np.asarray((counts * like(others, alike)).sum(-1))


def _pairs(counts: Floats, alike: Floats | None) -> tuple[Floats, Floats, Floats]:
    """By item, the pairs that agree: of two repeats, of two prompts, of each prompt and the others."""
    same, every = _agreeing(counts, counts, alike), counts.sum(2)
    repeats = (same - counts.sum(3)).sum((0, 2))
    prompts = (_agreeing(every, every, alike) - same.sum(2)).sum(0)
    return repeats, prompts, _agreeing(counts, every[:, :, None] - counts, alike).sum(0)


def _chance(weights: Floats, counts: Floats, alike: Floats | None) -> Floats:
    """The pairs of labels of two prompts, about any two items, that agree under item weights."""
    given = np.tensordot(weights, counts, (1, 1))  # samples × decodings × prompts × labels
    every = given.sum(2)
    return np.asarray(_agreeing(every, every, alike).sum(1) - _agreeing(given, given, alike).sum((1, 2)))


_HOW = "share of pairs of labels that differ: "
_FLIPS: Final = {
    "_repeats": (_HOW + "one item, one prompt, two repeats", "no prompt was asked twice"),
    "_prompts": (_HOW + "one item, two prompts", "one prompt only"),
    "_chance": (_HOW + "two items, two prompts", "one prompt or one item only"),
    "_agreement": ("1 − flips_prompts / flips_chance", "one prompt only, or every label is the same"),
    "_noise": (
        "flips_repeats / flips_prompts",
        "no prompt was asked twice, or no label changes with the prompt",
    ),
}
_ENDS: Final = {"_agreement": (-1.0, 1.0), "_noise": (0.0, np.inf)}


@measure(raters=("repeat",), within=("decoding", "variant"))
def flips(cell: Cell) -> Iterator[Statistic]:
    """How far the labels follow the items, and what changes them where they do not.

    ``flips_repeats``, ``flips_prompts`` and ``flips_chance``, the shares of pairs that differ;
    ``flips_agreement``, 1 − D_prompts / D_chance; and ``flips_noise``, D_repeats / D_prompts in decodings
    where prompts were asked twice; for numbers ``flips_total``, by what share their sum exceeds that of the
    items' medians over prompts. Use it on answers with a label.

    Two items, two prompts; one item's label flips. Of the two pairs of prompts about one item one differs,
    and so does one of the two pairs of prompts about two items:

    >>> frame = {"item": [1, 1, 2, 2], "variant": list("vwvw"), "label": list("aaab")}
    >>> [one.value for one in flips(frame)]
    [None, 0.5, 0.5, 0.0, None]
    """
    prompts, counts = by_prompt(cell)
    alike = likeness(cell.label_set)
    plain, levelled = Pairs(counts), Pairs(counts, alike)
    again = Pairs(counts[(counts.sum(3) > 1).any((1, 2))], alike)

    def under(weights: Floats) -> Floats:
        agreement = 1 - quotient(levelled.prompts(weights), levelled.chance(weights), 1e-12)
        noise = quotient(again.repeats(weights), again.prompts(weights), 1e-12)
        shares = plain.repeats(weights), plain.prompts(weights), plain.chance(weights)
        return np.stack([*shares, agreement, noise], 1)

    everyone = np.ones((1, len(cell.items)))
    differ, chance = (float(share(everyone)[0]) for share in (levelled.prompts, levelled.chance))
    number, codes = max(2, len(prompts)), max(2, len(cell.labels))
    worst = number / (number - 1) * (1 - 1 / min(number, codes))  # no more pairs of an item can differ
    spreads: dict[str, Callable[[float, float], Interval]] = {
        "_prompts": partial(mean_within, high=worst),
        "_agreement": short_of(differ, chance, worst),
    }
    for column, (part, (method, reason)) in enumerate(_FLIPS.items()):
        yield Statistic(
            part=part,
            method=method,
            under=under if prompts else None,
            column=column,
            reason=reason if prompts else "no answer has a label",
            n=cell.units.count,
            ends=_ENDS.get(part, (0.0, 1.0)),
            spread=spreads.get(part),
            details={"prompts": len(prompts), "level": cell.label_set.level if cell.label_set else "nominal"},
        )
    if cell.label_set is not None and cell.label_set.are_numbers:
        values = np.array([label.value or 0.0 for label in cell.label_set.labels])
        yield _total(cell, counts.sum((0, 2)), values, len(prompts))


def _total(cell: Cell, counts: Floats, values: Floats, prompts: int) -> Statistic:
    """By what share the numbers add up to more than each item's median over prompts does.

    >>> from quaver.core.records import Label
    >>> codes = "10", "20", "100"
    >>> labels = tuple(Label(code, code, value=float(code)) for code in codes)
    >>> amounts = LabelSet(labels, "ratio", are_numbers=True)
    >>> rows = {"item": [1, 1, 1, 2, 2, 2], "variant": list("uvwuvw"), "label": "10 10 100 20 20 20".split()}
    >>> flips(rows, labels=amounts)[-1].value
    1.0
    """
    method = "sum of the labels beyond that of the items' medians"
    order, whole = np.argsort(values), counts.sum(1)
    statistic = Statistic(part="_total", method=method, n=whole > 0)
    below = np.cumsum(counts[:, order], 1) * 2 >= whole[:, None]
    medians = values[order][below.argmax(1)] * (whole > 0)
    if prompts < 3 or (values < 0).any() or not medians.any():
        return replace(statistic, reason="fewer than three prompts, or no sum to compare")
    means = quotient(counts @ values, whole)
    return replace(statistic, under=Ratio((np.nan_to_num(means) - medians)[:, None], medians[:, None]))


def short_of(share: float, chance: float, worst: float = 1.0) -> Callable[[float, float], Interval]:
    """Where 1 − share / chance may lie, by the share of further items that may differ."""

    def within(value: float, further: float) -> Interval:
        if not chance > 0:
            return Interval(-1.0, 1.0)
        ends = mean_within(share, further, 0.0, worst)
        return Interval(max(-1.0, 1 - ends.high / chance), 1 - ends.low / chance)

    return within


@measure(of_classes=True, raters=("repeat",), within=("decoding", "variant"))
def label_kept(cell: Cell) -> Iterator[Statistic]:
    """How often another prompt gives a label that one prompt gives: specific agreement.

    For each label, Σ pairs of answers to two prompts about one item that both have it / Σ pairs whose first
    answer has it. In the details: ``texts``, the number of items to which it was given. A label that was
    never given has no estimate.

    >>> frame = {"item": [1, 1, 2, 2], "variant": list("vwvw"), "label": list("aaab")}
    >>> [(one.cell["label"], round(one.value, 3)) for one in label_kept(frame)]
    [('a', 0.667), ('b', 0.0)]
    """
    labels, held = members_of(cell.label_set) if cell.label_set else (cell.labels, np.eye(len(cell.labels)))
    counts = by_prompt(cell)[1]
    having, answers = counts @ held, counts.sum(3, keepdims=True)
    both = (having.sum(2) ** 2 - (having**2).sum(2)).sum(0)
    whole = (having * (answers.sum(2, keepdims=True) - answers)).sum((0, 2))
    for index in np.flatnonzero(whole.any(0)).tolist():
        yield Statistic(
            method="share of the answers with a label that an answer to another prompt agrees with",
            under=Ratio(both, whole),
            column=index,
            ends=(0.0, 1.0),
            where={"label": labels[index]},
            details={"texts": int((whole[:, index] > 0).sum())},
        )
