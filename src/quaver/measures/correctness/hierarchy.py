"""Labels with parents: how often the label is right at each level of the hierarchy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from quaver.core.label_values import SEPARATOR, labels_in, lineages
from quaver.core.records import OF_SETS, Label, LabelSet
from quaver.estimation.cells import Missing
from quaver.estimation.declaration import measure
from quaver.estimation.jackknife import Floats
from quaver.estimation.means import quotient, share_of
from quaver.estimation.measure_input import judge, treatment
from quaver.estimation.statistic import Cell, Statistic
from quaver.measures.correctness.f1 import confusion, f1_statistic
from quaver.measures.variation.label_shares import ASKING


@measure(
    missing=("wrong", "drop"), raters=ASKING, gold=True, estimands=("fixed", "population"), of_classes=True
)
def hierarchy(cell: Cell, *, missing: Missing) -> Iterator[Statistic]:
    """Accuracy, macro F1 and Cohen's kappa at each level of labels that have parents.

    At depth d, labels and gold labels are replaced by what they fall under at that depth, the broadest being
    depth 1; a label that is less deep stays as it is. ``hierarchy_accuracy`` is right answers / answers about
    items with a gold label, ``hierarchy_f1`` the macro F1 (as in ``f1``), and ``hierarchy_kappa`` is (p_o −
    p_e) / (1 − p_e), with p_o the accuracy and p_e = Σ_l (share of the answers with l) (share of their gold
    labels that are l). Of labels that are sets each label of a set counts as what it falls under, and there
    is no kappa. Labels without parents are all at depth 1. Undefined where no item has a gold label or
    nothing was answered; kappa also where answers and gold labels are one and the same label throughout.

    Returns:
        For each cell and depth an estimate of each, with the depth in the cell.

    Wages and unions fall under work. The second answer is wrong, but right at depth 1:

    >>> from quaver.core.records import Label, LabelSet
    >>> codes = ("work", ""), ("wages", "work"), ("unions", "work"), ("war", "")
    >>> labels = LabelSet(tuple(Label(code, code, parent=parent) for code, parent in codes))
    >>> frame = {"item": [1, 2], "label": ["war", "wages"], "gold": ["war", "unions"]}
    >>> [(one.measure, one.cell["depth"], one.value) for one in hierarchy(frame, labels=labels)][::3]
    [('hierarchy_accuracy', '1', 1.0), ('hierarchy_accuracy', '2', 0.5)]
    """
    labels = cell.label_set or LabelSet(tuple(Label(label, label) for label in cell.labels))
    lines = lineages(labels)
    for depth in range(1, 1 + max(map(len, lines.values()), default=1)):
        broad = _at_depth(cell, labels, {code: line[:depth][-1] for code, line in lines.items()})
        judged = judge(broad, missing)
        how = f"of labels at depth {depth}, unanswered {treatment(missing)}"
        shared = Statistic(
            part="_accuracy",
            method=f"share of right answers {how}",
            reason=judged.reason,
            excluded=judged.excluded,
            where={"depth": str(depth)},
            details={"labels": len(broad.labels)},
        )
        right, asked = judged.right.sum((1, 2)), judged.asked.sum((1, 2))
        yield share_of(broad, right, asked, shared)
        if judged.reason:
            continue
        counts = confusion(broad, judged)[1]
        shared = replace(shared, n=asked > 0)
        f1 = replace(shared, part="_f1", method=f"macro F1 {how}", ends=(0.0, 1.0))
        yield replace(f1, under=f1_statistic(counts))
        if labels.level not in OF_SETS:
            kappa = replace(shared, part="_kappa", method=f"Cohen's kappa {how}", ends=(-1.0, 1.0))
            yield replace(kappa, under=partial(_kappa, counts), reason="no variation")


def _at_depth(cell: Cell, labels: LabelSet, broader: Mapping[str, str]) -> Cell:
    """A cell whose labels are what each falls under at a depth."""

    def above(code: str) -> str:
        members = labels_in(code) if labels.level in OF_SETS else (code,)
        return SEPARATOR.join(sorted({broader.get(member, member) for member in members})) or code

    merged = list(map(above, cell.labels))
    codes = list(dict.fromkeys(merged))
    possible = dict.fromkeys(map(above, labels.codes))
    places = np.array([*map(codes.index, merged), -1])  # -1 stays -1
    return replace(
        cell,
        grid=places[cell.grid].astype(np.int32),
        gold=places[cell.gold_codes].astype(np.int32),
        labels=tuple(codes),
        label_set=LabelSet(tuple(Label(code, code) for code in possible), labels.level),
    )


def _kappa(counts: Floats, weights: Floats) -> Floats:
    """Cohen's kappa of answers and gold labels, from the counts of `confusion`, under item weights."""
    right, given, gold = np.moveaxis(np.tensordot(weights, counts, 1), 2, 0)
    asked = gold.sum(1)
    chance = quotient((given * gold).sum(1), asked**2)
    return quotient(quotient(right.sum(1), asked) - chance, 1 - chance, 1e-12)[:, None]
