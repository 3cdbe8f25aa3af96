"""What a verdict may vouch for: labels beside gold labels, by label, class and group; items without a label.

A class that is rare, a label that is seldom given, or a group that is small, may be wrong throughout while
nearly all labels are right. So each is looked at by itself, with intervals that hold for all of them at once
(Bonferroni).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np
import polars as pl

from quaver.agreement.disagreement import members, scale
from quaver.core.records import OF_SETS, UNORDERED, Estimate, Numbers
from quaver.estimation.intervals import mean_within
from quaver.estimation.jackknife import Floats, Ratio
from quaver.measures.evidence.counted_answers import AnswerTable, Mask, short_of
from quaver.measures.validity.item_clusters import LENGTH, associated, traits

_LEVELS: Final = 50
"""Of a column with more values no group is looked at by itself."""

_KAPPA: Final = "Cohen's kappa of labels and gold labels, weighted by the level of measurement"
_BIAS: Final = "mean difference of labels and gold labels, in standard deviations of the gold labels"
WRONG: Final = "share of labels that differ from the gold label"
_FOUND: Final = "share of the answers to items of a class that give this class"


def correctness(table: AnswerTable) -> Iterator[Estimate]:
    """How a model's labels compare with the gold labels, over all of them.

    ``wrong_labels``, the share of labels that are not the item's gold label, with the most frequent wrong one
    in the details; ``gold_agreement``, what they agree beyond chance (`agreement_with_gold`); ``gold_bias``,
    of labels that have an order, how much higher than the gold labels they are, in standard deviations of
    these; ``gold_total``, of numbers that are not below 0, by what share of the gold labels' sum the labels
    add up to more; and ``correct_answers``, the share of answers that are the gold label, one without a
    label, or a call that failed, being wrong: what the measure ``accuracy`` with ``missing: wrong`` is over
    all prompts.
    """
    judged = table.of_items(table.judged)
    labelled = judged.labelled
    if not labelled.items:
        why = "no gold labels" if table.given.any() else "no answer has a label"
        for name, method in (("wrong_labels", WRONG), ("gold_agreement", _KAPPA), ("gold_bias", _BIAS)):
            yield labelled.number(name, method, None, n=0, reason=why)
    else:
        given, gold = labelled.given, labelled.gold
        wrong, whole = (given * (1 - gold)).sum(1), given.sum(1)
        by_label = (given * (1 - gold)).sum(0)
        details: dict[str, Any] = {}
        if wrong.any():
            most = int(by_label.argmax())
            details = {"label": table.labels.codes[most], "share": float(by_label[most] / wrong.sum())}
            details |= {"wrong": int(wrong.sum()), "judged": int(whole.sum())}
        yield labelled.share("wrong_labels", WRONG, wrong, whole, details=details)
        yield agreement_with_gold(labelled, "gold_agreement")
        yield _bias(labelled)
        if isinstance(table.labels, Numbers):
            yield from _total(labelled, table.labels)
    method = "share of right answers, unanswered ones wrong"
    asked = judged.counts.sum((1, 2)) + judged.failed
    right = (judged.given * judged.gold).sum(1)
    yield judged.share("correct_answers", method, right, asked, reason="no gold labels")


def agreement_with_gold(table: AnswerTable, name: str, together: int = 1) -> Estimate:
    """Cohen's kappa of labels and gold labels: 1 − D_wrong / D_chance; weighted where labels have an order.

    D_wrong is the share of labels that are not the item's gold label, and D_chance what it would be if labels
    had nothing to do with the items: 1 − Σ_k p_k q_k, with p_k the share of label k among the labels and q_k
    among the gold labels, an item's counting as often as it has labels. Source: Cohen (1960), Educational and
    Psychological Measurement 20, 37-46. Of ten items two are b; one of these is called a:
    1 − 0.1 / (1 − 0.9 · 0.8 − 0.1 · 0.2) = 0.6154.
    """
    given = np.where(table.judged[:, None], table.given, 0.0)
    like = table.gold if table.alike is None else table.gold @ table.alike
    each, right = given.sum(1), (given * like).sum(1)
    true = like * each[:, None]

    def shares(weights: Floats) -> tuple[Floats, Floats]:
        total = np.maximum(weights @ each, 1e-12)
        chance = 1 - ((weights @ given) * (weights @ true)).sum(1) / total**2
        return 1 - weights @ right / total, chance

    def under(weights: Floats) -> Floats:
        wrong, chance = shares(weights)
        varied = chance > 1e-9
        return np.asarray(np.where(varied, 1 - wrong / np.where(varied, chance, 1), np.nan)[:, None])

    wrong, chance = (float(share[0]) for share in shares(np.ones((1, len(each)))))
    return table.number(
        name,
        _KAPPA,
        under,
        n=table.units.touched(each > 0),
        ends=(-1.0, 1.0),
        spread=short_of(wrong, chance),
        reason="every label and gold label is the same",
        together=together,
    )


def _bias(table: AnswerTable) -> Estimate:
    """How much higher than the gold labels the labels are, in standard deviations of the gold labels."""
    labels, n = table.labels, table.units.count
    if labels.level in UNORDERED:
        return table.number("gold_bias", _BIAS, None, n=n, reason="labels without an order")
    values = scale(labels.codes, labels.level, labels)
    at = np.arange(len(labels.codes), dtype=np.float64) if values is None else values
    true = table.gold @ at
    deviation = float(true.std())
    if deviation <= 0:
        return table.number("gold_bias", _BIAS, None, n=n, reason="every gold label is the same")
    whole = table.given.sum(1)
    apart = (table.given @ at - whole * true) / deviation
    furthest = float(np.ptp(at)) / deviation
    under = Ratio(apart[:, None], whole[:, None])
    return table.number(
        "gold_bias", _BIAS, under, n=n, spread=partial(mean_within, low=-furthest, high=furthest)
    )


def _total(table: AnswerTable, numbers: Numbers) -> Iterator[Estimate]:
    """By what share of the gold labels' sum the labels add up to more; nothing where some are below 0."""
    at = np.array([label.value or 0.0 for label in numbers.labels])
    true = table.gold @ at
    if (true < 0).any() or not true.any():
        return
    whole = table.given.sum(1) * true
    apart = table.given @ at - whole
    method = "sum of the labels less that of the gold labels, as a share of this"
    yield table.number("gold_total", method, Ratio(apart[:, None], whole[:, None]), n=table.units.count)


def vouched_parts(
    table: AnswerTable, compared: Sequence[str] = (), coders: Sequence[str] = (), most: float = 0.15
) -> Iterator[Estimate]:
    """How often each class is found, each label is right, and how each group is labelled.

    Calls that failed take no part; an answer without a label is not the gold label.

    - ``class_found`` (``label`` in the cell): of the answers to items of this class, the share that give it,
      its recall; in the details ``found``, in how many of the items any answer gives it, of ``texts``, and
      ``parts``, how many intervals hold at once.
    - ``group_wrong`` (``group`` and ``level``): the share of answers to a group's items that are not the gold
      label.
    - ``group_class_found`` (``group``, ``level`` and ``label``): the recall of a class in a group.
    - ``group_agreement`` (``group`` and ``level``), of labels that have an order, instead: 1 − D_group /
      D_chance, how far a group's labels are from the gold labels, by the disagreement of their level, with
      D_chance that of all items (`agreement_with_gold`).
    - ``step_given`` (``label``), of each step of a scale that gold labels have and no answer gives: 0, with
      ``texts`` in the details. A step that is given is not looked at by itself: its neighbour is nearly as
      good.
    - ``label_right`` (``label``): the precision of a label over all prompts; in the details ``uses``, its
      share of the labels, and ``texts``. ``others_wrong``: the share of wrong labels among those that are
      left where each label is left out (``without`` in the details, ``share`` what they are of all labels)
      that is surely wrong in more than ``most`` of its uses.
    - ``label_kept`` (``label``), without gold labels: of the answers with this label, the share that another
      prompt's answer about the same item agrees with (specific agreement: Σ pairs of answers to two prompts
      that both have it / Σ pairs of which the first has it).
    - ``unlabelled_texts``: the share of items that no answer labels; known without gold labels. What most of
      them have in common and others have not is in the details: ``trait`` in words, and by how many of them
      it is ``shared``.
    - ``coders_differ``: the share of coders' labels that differ from what most other coders gave.
    """
    answered = table.answered
    if not answered.items:
        return
    columns = [name for name in compared if name in table.frame.columns]
    people = [name for name in coders if name in table.frame.columns]
    lengths = [LENGTH] if LENGTH in table.frame.columns and table.groups.name is None else []
    wanted = list(dict.fromkeys((*columns, *people, *lengths)))
    of_items = pl.DataFrame({"item": answered.items}, schema={"item": pl.String}).join(
        answered.frame.select("item", *wanted).unique("item"), on="item", how="left", maintain_order="left"
    )
    yield _unlabelled(answered, of_items.select(*columns, *lengths))
    if len(people) > 1:
        yield _between_coders(answered, of_items.select(people))
    groups = [*_groups(of_items.select(columns))]
    if answered.alike is None or answered.labels.level in OF_SETS:
        each = _members(answered)
        if answered.judged.any():
            yield from _of_classes(answered, each, groups)
            yield from _of_labels(answered, each, most)
        else:
            yield from _kept(answered, each)
    elif answered.judged.any():
        yield from _on_a_scale(answered, groups)


def _unlabelled(table: AnswerTable, of_items: pl.DataFrame) -> Estimate:
    """The share of items without any label, and what these have in common."""
    bare, everyone = ~np.asarray(table.given.any(1)), np.ones(len(table.items), bool)
    if LENGTH in of_items.columns:
        of_items = of_items.with_columns(pl.col(LENGTH).cast(pl.Float64))
    details: dict[str, Any] = {"texts": int(bare.sum()), "of": len(bare)}
    for common in associated(bare, everyone, traits(of_items)):
        shared = int((bare & common.trait.items).sum())
        if common.inside > common.outside and 2 * shared > bare.sum():
            details |= {"trait": common.trait.words, "shared": shared}
            break
    method = "share of the items that have no label in any answer"
    return table.share("unlabelled_texts", method, bare, everyone, details=details)


def _between_coders(table: AnswerTable, people: pl.DataFrame) -> Estimate:
    """How often a coder's label is not the one that most of the others gave; ties of these do not count."""
    differ, compared = np.zeros(people.height), np.zeros(people.height)
    for row, labels in enumerate(people.iter_rows()):
        given = [label for label in labels if label is not None]
        for place, label in enumerate(given):
            others = Counter(given[:place] + given[place + 1 :]).most_common(2)
            if others and (len(others) == 1 or others[0][1] > others[1][1]):
                compared[row] += 1
                differ[row] += label != others[0][0]
    method = "share of coders' labels that differ from the label that most of the others gave"
    return table.share("coders_differ", method, differ, compared, details={"coders": people.width})


def _groups(levels: pl.DataFrame) -> Iterator[tuple[dict[str, str], Mask]]:
    """Each group of each column, and which items are in it."""
    for column in levels.columns:
        names = levels[column].drop_nulls().unique().sort().to_list()
        if 1 < len(names) <= _LEVELS:
            for level in names:
                inside = (levels[column] == level).fill_null(value=False).to_numpy()
                yield {"group": column, "level": level}, inside


_Members = tuple[Sequence[str], Floats]
"""The labels one by one, a set counting for each of its labels; and which each code has, (codes, labels)."""


def _members(table: AnswerTable) -> _Members:
    codes = table.labels.codes
    return members(codes) if table.labels.level in OF_SETS else (codes, np.eye(len(codes)))


def _kept(table: AnswerTable, each: _Members) -> Iterator[Estimate]:
    """How often another prompt gives a label that one prompt gives."""
    labels, held = each
    both = whole = np.zeros((len(table.items), len(labels)))
    for stratum in table.strata:
        having = stratum[:, :, :-1] @ held  # items × prompts × labels
        answers = stratum[:, :, :-1].sum(2, keepdims=True)
        both = both + having.sum(1) ** 2 - (having**2).sum(1)
        whole = whole + (having * (answers.sum(1, keepdims=True) - answers)).sum(1)
    used = np.flatnonzero(whole.any(0)).tolist()
    for index in used:
        yield table.share(
            "label_kept",
            "share of the answers with a label that an answer to another prompt agrees with",
            both[:, index],
            whole[:, index],
            together=len(used),
            where={"label": labels[index]},
            details={"texts": int((whole[:, index] > 0).sum())},
        )


def _of_classes(
    table: AnswerTable, each: _Members, groups: Sequence[tuple[dict[str, str], Mask]]
) -> Iterator[Estimate]:
    """What gold labels show of each class, each group, and each class of a group."""
    asked, right = table.counts.sum((1, 2)) * table.judged, (table.given * table.gold).sum(1)
    labels, held = each
    truth, given = table.gold @ held, table.given @ held
    everyone = np.ones(len(asked), bool)
    parts: list[tuple[str, dict[str, str], Floats, Mask]] = []
    for where, inside in [({}, everyone), *groups]:
        if where:
            parts.append(("group_wrong", where, asked - right, inside))
        name = "group_class_found" if where else "class_found"
        for index, code in enumerate(labels):
            parts.append((name, {**where, "label": code}, given[:, index], inside & (truth[:, index] > 0)))
    parts = [part for part in parts if asked[part[3]].any()]
    for name, where, count, inside in parts:
        above, below = np.where(inside, count, 0.0), np.where(inside, asked, 0.0)
        method = _FOUND if "label" in where else "share of the answers that are not the gold label"
        details = {"texts": int((below > 0).sum()), "parts": len(parts), "found": int((above > 0).sum())}
        yield table.share(name, method, above, below, together=len(parts), details=details, where=where)


def _of_labels(table: AnswerTable, each: _Members, most: float) -> Iterator[Estimate]:
    """How often each label is right where it is given, and how many of the others are wrong."""
    labels, held = each
    given = np.where(table.judged[:, None], table.given, 0.0) @ held
    right, whole = given * (table.gold @ held), max(1.0, float(given.sum()))
    used, without = [index for index in range(given.shape[1]) if given[:, index].any()], []
    for index in used:
        about = {"uses": float(given[:, index].sum()) / whole, "texts": int((given[:, index] > 0).sum())}
        estimate = table.share(
            "label_right",
            "share of a label's uses that are the gold label",
            right[:, index],
            given[:, index],
            together=len(used),
            details=about,
            where={"label": labels[index]},
        )
        without += [index] if estimate.high is not None and estimate.high < 1 - most else []
        yield estimate
    left = np.delete(given, without, 1).sum(1)
    if without and left.any() and table.alike is None:
        wrong = left - np.delete(right, without, 1).sum(1)
        named = [labels[index] for index in without]
        details: dict[str, Any] = {"without": named, "share": 1 - float(left.sum()) / whole}
        yield table.share(
            "others_wrong", f"{WRONG}, without the labels left out", wrong, left, details=details
        )


def _on_a_scale(table: AnswerTable, groups: Sequence[tuple[dict[str, str], Mask]]) -> Iterator[Estimate]:
    """What gold labels show of each group where labels have an order, and which steps are never given."""
    assert table.alike is not None
    gold, given = table.gold, np.where(table.judged[:, None], table.given, 0.0)
    stepless = table.labels.level in UNORDERED or isinstance(table.labels, Numbers)
    for index, code in enumerate(() if stepless else table.labels.codes):
        texts = int((gold[:, index] > 0).sum())
        if texts and not table.given[:, index].any():
            method = "share of the answers to items of a step that give it"
            none = np.zeros(len(gold))
            details = {"texts": texts}
            yield table.share(
                "step_given", method, none, gold[:, index], details=details, where={"label": code}
            )
    like, each = gold @ table.alike, given.sum(1)
    apart = each - (given * like).sum(1)
    chance = 1 - float((given.sum(0) * (like * each[:, None]).sum(0)).sum()) / max(each.sum(), 1.0) ** 2
    groups = [(where, inside) for where, inside in groups if (inside & (each > 0)).any()]
    for where, inside in groups if chance > 0 else ():
        details = {"texts": int((inside & (each > 0)).sum()), "parts": len(groups)}
        method = "1 − disagreement of a group's labels and gold labels / that of all by chance"
        above, below = np.where(inside, apart, 0.0), np.where(inside, each, 0.0)
        off = table.share("group_agreement", method, above, below, together=len(groups), where=where)
        ends = off.value, off.high, off.low
        value, low, high = (None if end is None else 1 - end / chance for end in ends)
        yield replace(off, value=value, low=low, high=high, details=details)
