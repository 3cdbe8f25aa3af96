"""What a verdict may vouch for: how often each class is found, how each group is labelled, what has no label.

A class that is rare, or a group that is small, may be labelled wrong throughout while nearly all labels are
right. So each is looked at by itself, with intervals that hold for all of them at once (Bonferroni).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quaver.core.records import UNORDERED, Estimate, LabelSet, Numbers
from quaver.estimation.bootstrap import Floats, Resampling
from quaver.estimation.cells import Frame, guarded
from quaver.estimation.gathered import frame_of
from quaver.estimation.grouped_items import item_groups
from quaver.estimation.intervals import Interval, mean_within
from quaver.estimation.statistic import Statistic
from quaver.measures.stability.given_labels import deviating_prompts, given_labels
from quaver.measures.stability.label_pairs import NO_LABEL_CODE, PromptAnswers, likeness, prepared
from quaver.measures.validity.common_traits import LENGTH, associated, traits

_RESAMPLES = 500
_FOUND = "share of the answers to items of a class that give this class"
_WRONG = "share of the answers to a group's items that are not the gold label"
_OFF = "1 − disagreement of a group's labels and gold labels / that of all by chance"
_GIVEN = "share of the answers to items of a step that give it"
_BARE = "share of the items that have no label in any answer"
_APART = "share of coders' labels that differ from the label that most of the others gave"
_LEVELS = 50
"""Of a column with more values no group is looked at by itself."""


@guarded
def vouched_parts(
    annotations: Frame,
    *,
    labels: LabelSet,
    compared: Sequence[str] = (),
    coders: Sequence[str] = (),
    group: str | None = None,
    resamples: int = _RESAMPLES,
    seed: int = 0,
    most: float = 0.15,
) -> list[Estimate]:
    """How often each class is found and how each group is labelled, where gold labels are known.

    Calls that failed take no part; an answer without a label is not the gold label. For each model:

    - ``class_found`` (``label`` in the cell): of the answers to items of this class, the share that give it,
      its recall; in the details ``found``, in how many of the items any answer gives it, of ``texts``, and
      ``parts``, how many intervals hold at once.
    - ``group_wrong`` (``group`` and ``level``): the share of answers to a group's items that are not the gold
      label.
    - ``group_class_found`` (``group``, ``level`` and ``label``): the recall of a class in a group.
    - ``group_agreement`` (``group`` and ``level``), of labels that have an order, instead: 1 − D_group /
      D_chance, how far a group's labels are from the gold labels, by the disagreement of their level, with
      D_chance that of all items (`gold_agreement`).
    - ``step_given`` (``label``), of each step of a scale that gold labels have and no answer gives: 0, with
      ``texts`` in the details. A step that is given is not looked at by itself: its neighbour is nearly as
      good.
    - ``unlabelled_texts``: the share of items that no answer labels; known without gold labels. What most of
      them have in common and others have not is in the details: ``trait`` in words, and by how many of them
      it is ``shared``.
    - ``label_right``, ``others_wrong``, ``prompt_worse`` and ``prompt_apart``: see `given_labels`.
    - ``coders_differ``: the share of coders' labels that differ from what most other coders gave.

    The intervals of classes and groups hold for all of a model at once.

    Three items of class b, two of which are called a:

    >>> from quaver.core.records import Label
    >>> rows = [(at, "v", "aaab"[at], "abbb"[at]) for at in range(4)]
    >>> frame = pl.DataFrame(rows, schema=["item", "variant", "label", "gold"], orient="row")
    >>> found = vouched_parts(frame, labels=LabelSet((Label("a", "a"), Label("b", "b"))))
    >>> [(one.cell.get("label"), round(one.value, 3)) for one in found if one.measure == "class_found"]
    [('a', 1.0), ('b', 0.333)]
    """
    frame = frame_of(annotations)
    groups, resampling = item_groups(frame, group), Resampling(resamples=resamples, seed=seed)
    columns, people = ([one for one in some if one in frame.columns] for some in (compared, coders))
    lengths = [LENGTH] if LENGTH in frame.columns else []
    of_items = frame.select(pl.col("item", *columns, *people).cast(pl.String), *lengths).unique("item")
    estimates: list[Estimate] = []
    for (model,), part in prepared(frame, labels).group_by("model", maintain_order=True):
        codes, alike = (*labels.codes, NO_LABEL_CODE), likeness(labels)
        answers = PromptAnswers(part, codes, groups, str(model), resampling, alike)
        known = pl.DataFrame({"item": answers.items}).join(of_items, on="item", how="left")
        estimates.append(_unlabelled(answers, known, columns, alone=group is None))
        if len(people) > 1:
            estimates.append(_between_coders(answers, known.select(people)))
        if answers.gold is not None:
            of_gold = _of_gold if alike is None else _on_a_scale
            estimates += of_gold(answers, labels, known.select(columns))
            estimates += given_labels(answers, most) if alike is None else ()
        estimates += deviating_prompts(answers)
    return estimates


def _unlabelled(
    answers: PromptAnswers, frame: pl.DataFrame, columns: Sequence[str], *, alone: bool
) -> Estimate:
    """The share of items without any label, and what these have in common.

    Their lengths are looked at only where items stand alone: one author's may all be long.
    """
    bare = answers.counts[:, :, :-1].sum((1, 2)) == 0
    looked_at = traits(frame.select(*columns, *((LENGTH,) if alone and LENGTH in frame.columns else ())))
    common = [
        one
        for one in associated(bare, np.ones(len(bare), bool), looked_at)
        if one.inside > one.outside and 2 * int((bare & one.trait.items).sum()) > bare.sum()
    ]
    shared: dict[str, Any] = {}
    if common:
        trait = common[0].trait
        shared = {"trait": trait.words, "shared": int((bare & trait.items).sum())}
    statistic = answers.share(bare.astype(float), np.ones(len(bare)), _BARE)
    details = {"texts": int(bare.sum()), "of": len(bare), **shared}
    return answers.estimated("unlabelled_texts", replace(statistic, details=details))


def _between_coders(answers: PromptAnswers, people: pl.DataFrame) -> Estimate:
    """How often a coder's label is not the one that most of the others gave; ties of these do not count."""
    differ, compared = np.zeros(people.height), np.zeros(people.height)
    for index, row in enumerate(people.iter_rows()):
        given = [label for label in row if label is not None]
        for position, own in enumerate(given):
            others = Counter(given[:position] + given[position + 1 :]).most_common(2)
            if not others or (len(others) == 2 and others[0][1] == others[1][1]):
                continue
            compared[index] += 1
            differ[index] += own != others[0][0]
    statistic = answers.share(differ, compared, _APART)
    return answers.estimated("coders_differ", replace(statistic, details={"coders": people.width}))


def _of_gold(answers: PromptAnswers, labels: LabelSet, levels: pl.DataFrame) -> Iterator[Estimate]:
    """What gold labels show of each class, each group, and each class of a group."""
    assert answers.gold is not None
    gold = np.nan_to_num(answers.gold)[:, :-1]
    asked = answers.counts.sum((1, 2)) * np.isfinite(answers.gold[:, 0])
    right = (answers.counts.sum(1)[:, :-1] * gold).sum(1)
    everyone = np.ones(len(asked), dtype=bool)
    parts: list[tuple[str, dict[str, str], NDArray[np.bool_]]] = [("class_found", {}, everyone)]
    for where, own in _groups(levels):
        parts += [("group_wrong", where, own), ("group_class_found", where, own)]
    cells: list[tuple[str, dict[str, str], Floats, Floats]] = []
    for name, where, own in parts:
        if name == "group_wrong":
            cells.append((name, where, np.where(own, asked - right, 0.0), np.where(own, asked, 0.0)))
            continue
        for index, code in enumerate(labels.codes):
            of_class = own & (gold[:, index] > 0)
            cell = {**where, "label": code}
            cells.append((name, cell, np.where(of_class, right, 0.0), np.where(of_class, asked, 0.0)))
    cells = [one for one in cells if one[3].any()]
    for name, where, part, whole in cells:
        statistic = answers.share(part, whole, _WRONG if name == "group_wrong" else _FOUND)
        details = {"texts": int((whole > 0).sum()), "parts": len(cells)}
        if name != "group_wrong":
            details["found"] = int((part > 0).sum())
        statistic = replace(statistic, details=details, where=where)
        yield answers.estimated(name, statistic, prompts=len(cells))


def _groups(levels: pl.DataFrame) -> Iterator[tuple[dict[str, str], NDArray[np.bool_]]]:
    """Each group of each column, and which items are in it."""
    for column in levels.columns:
        known = levels[column].drop_nulls().unique().sort().to_list()
        if 1 < len(known) <= _LEVELS:
            for level in known:
                own = (levels[column] == level).fill_null(value=False).to_numpy()
                yield {"group": column, "level": level}, own


def _on_a_scale(answers: PromptAnswers, labels: LabelSet, levels: pl.DataFrame) -> Iterator[Estimate]:
    """What gold labels show of each group where labels have an order, and which steps are never given."""
    assert answers.gold is not None
    assert answers.alike is not None
    gold, given = np.nan_to_num(answers.gold)[:, :-1], answers.counts.sum(1)[:, :-1]
    judged = np.where(np.isfinite(answers.gold[:, :1]), given, 0.0)
    stepless = labels.level in UNORDERED or isinstance(labels, Numbers)
    for index, code in enumerate(() if stepless else labels.codes):
        texts = int((gold[:, index] > 0).sum())
        if texts and not given[:, index].any():
            nothing = answers.share(np.zeros(len(gold)), gold[:, index], _GIVEN)
            yield answers.estimated(
                "step_given", replace(nothing, where={"label": code}, details={"texts": texts})
            )
    like, each = gold @ answers.alike, judged.sum(1)
    apart = each - (judged * like).sum(1)
    chance = 1 - float((judged.sum(0) * (like * each[:, None]).sum(0)).sum()) / max(each.sum(), 1.0) ** 2
    groups = [(where, own) for where, own in _groups(levels) if (own & (each > 0)).any()]
    for where, own in groups:
        if chance > 0:
            off = answers.share(np.where(own, apart, 0.0), np.where(own, each, 0.0), _OFF)
            details = {"texts": int((own & (each > 0)).sum()), "parts": len(groups)}
            estimate = answers.estimated("group_agreement", replace(off, where=where), prompts=len(groups))
            yield _turned(estimate, chance, details)


def _turned(estimate: Estimate, chance: float, details: dict[str, int]) -> Estimate:
    """The agreement of a disagreement that chance gives its own share of."""
    value, low, high = (
        None if end is None else 1 - end / chance for end in (estimate.value, estimate.high, estimate.low)
    )
    return replace(estimate, value=value, low=low, high=high, details=details)


def gold_agreement(
    statistic: Statistic, counts: Floats, gold: Floats, alike: Floats | None = None
) -> Statistic:
    """Cohen's kappa of labels and gold labels: 1 − D_wrong / D_chance; weighted where labels have an order.

    D_wrong is the share of labels that are not the item's gold label, and D_chance what it would be if labels
    had nothing to do with the items: 1 − Σ_k p_k q_k, with p_k the share of label k among the labels and q_k
    among the gold labels, an item's counting as often as it has labels. Source: Cohen (1960), Educational and
    Psychological Measurement 20, 37-46.

    Of ten items two are b; one of these is called a: 1 − 0.1 / (1 − 0.9 · 0.8 − 0.1 · 0.2):

    >>> found = gold_agreement(Statistic(method=""), np.eye(2)[[0] * 9 + [1]], np.eye(2)[[0] * 8 + [1] * 2])
    >>> round(float(found.under(np.ones((1, 10)))[0, 0]), 4)
    0.6154
    """
    like = gold if alike is None else gold @ alike
    each, right = counts.sum(1), (counts * like).sum(1)
    true = like * each[:, None]

    def shares(weights: Floats) -> tuple[Floats, Floats]:
        total = np.maximum(weights @ each, 1e-12)
        chance = 1 - ((weights @ counts) * (weights @ true)).sum(1) / total**2
        return 1 - weights @ right / total, chance

    def under(weights: Floats) -> Floats:
        wrong, chance = shares(weights)
        known = chance > 1e-9
        return np.asarray(np.where(known, 1 - wrong / np.where(known, chance, 1), np.nan)[:, None])

    spread = _spread(*(float(one[0]) for one in shares(np.ones((1, len(each))))))
    reason = "every label and gold label is the same"
    return replace(statistic, under=under, reason=reason, ends=(-1.0, 1.0), spread=spread)


def _spread(wrong: float, chance: float) -> Callable[[float, float], Interval]:
    """Where it may lie, by the share of further items whose label is wrong."""

    def within(value: float, share: float) -> Interval:
        if not chance:
            return Interval(-1.0, 1.0)
        ends = mean_within(wrong, share)
        return Interval(max(-1.0, 1 - ends.high / chance), 1 - ends.low / chance)

    return within
