"""Why labels may be unstable: the probable causes, with what in a study speaks for and against each.

The rules are few and stated. An answer is *unlike* where it differs from its item's most frequent label
or has none (`deviation_tables`). Such answers count as concentrated where a fifth of the items (or variants)
holds at least half of them; as spread where it holds at most a third. Nothing here proves a cause: it says
where to look.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil

import polars as pl

from quaver.core.deviation_tables import Deviations
from quaver.core.number_format import points as in_points
from quaver.core.records import Estimate
from quaver.report.estimate_index import NO_LABEL, Results, strongest_factor
from quaver.report.findings.finding import STABLE
from quaver.report.page_numbers import printed
from quaver.report.table_rows import Table

__all__ = ["Cause", "causes", "causes_table", "unstable"]

_SCORES = ("intra_pss", "inter_pss", "pooled_pss", "inter_model")
_FIFTH = 5
_CONCENTRATED, _SPREAD = 0.5, 1 / 3
_MOVES = 0.2
_BETTER = 0.1
"""Accuracy above that of always giving the most frequent gold label."""


@dataclass(slots=True)
class Cause:
    """A probable cause.

    Attributes:
        name: What it is called.
        meaning: What it would mean.
        remedy: What helps where it is the cause.
        speaks_for: What in the study is as it would be, were this the cause.
        against: What is not.
        unknown: What the study cannot say about it, and why.
    """

    name: str
    meaning: str
    remedy: str
    speaks_for: list[str] = field(default_factory=list)
    against: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


def unstable(results: Results) -> list[Estimate]:
    """The stability scores of the first evaluator's labels that are below 0.8."""
    known = [one for measure in _SCORES for one in results.main(measure)]
    return [one for one in known if one.value is not None and one.value < STABLE]


def causes(results: Results, found: Deviations | None) -> list[Cause]:
    """The probable causes of low stability, the one that most speaks for first.

    Args:
        results: The study.
        found: Its unlike answers.

    Returns:
        None of them where no stability score is below 0.8, or there are no annotations.
    """
    if found is None or not unstable(results):
        return []
    instruction = Cause(
        "An ambiguous instruction",
        "the question can be understood in several ways, and its paraphrase decides in which",
        "say in the prompt what decides a doubtful case, define each label, fix the answer’s format; then "
        "run what changed",
    )
    data = Cause(
        "Unsuitable data",
        "some texts do not hold what is asked for, or hold several things at once",
        "read the worst items below; split, shorten or leave out those that a person cannot label either",
    )
    construct = Cause(
        "A vague construct",
        "the categories themselves overlap, so that two labels are both right",
        "merge or redefine the labels that are taken for each other; have people label some of the items",
    )
    model = Cause(
        "A weak model",
        "the model cannot do the task and answers by accident or by format",
        "compare with another model on the same items; a stronger one that is stable speaks for this cause",
    )
    _by_items(found, data, construct, model)
    _by_variants(results.moved, found, instruction)
    _by_repeats(results, instruction, model)
    _by_pairs(results, found, construct, model)
    _by_class(results, found, construct)
    _by_accuracy(results, model)
    _by_model(found, model, data)
    known = [instruction, data, construct, model]
    return sorted(known, key=lambda one: len(one.against) - len(one.speaks_for))


def causes_table(found: Sequence[Cause]) -> Table:
    """The causes as a table, to be written beside the page."""
    rows = tuple((c.name, *("; ".join(p) for p in (c.speaks_for, c.against, c.unknown))) for c in found)
    return Table(("cause", "speaks for it", "speaks against it", "not known"), rows, name="causes")


def _by_items(found: Deviations, data: Cause, construct: Cause, model: Cause) -> None:
    held = found.items_held
    if held is None:
        for one in (data, construct):
            one.unknown.append(
                "too few items, or none that moves, to tell whether the instability sits in some"
            )
        return
    worst = ceil(found.items.height / _FIFTH)
    few = f"the worst {worst} of {found.items.height} items"
    said = f"{few} hold {_percent(held)} of the answers unlike their item’s"
    if held >= _CONCENTRATED:
        data.speaks_for.append(said)
        construct.speaks_for.append(said + " (some items lie between categories)")
        model.against.append("most items are labelled alike every time: " + said)
    elif held <= _SPREAD:
        data.against.append(said + ": the instability is spread over all items")
        model.speaks_for.append(said + ": it is spread over all items")
    else:
        data.unknown.append(said + ", neither few nor all")


def _by_variants(moved: Sequence[Estimate], found: Deviations, instruction: Cause) -> None:
    top = strongest_factor(moved)
    spans = [
        m for m in moved if m.measure == "label_range" and m.cell.get("factor") == top and m.value is not None
    ]
    if top is not None and spans and top not in ("decoding", "model"):
        span = spans[0].value or 0.0
        said = f"by {top} alone a label’s share moves by {in_points(span)}"
        (instruction.speaks_for if span >= _MOVES else instruction.against).append(said)
    if found.variants.height < 2:
        instruction.unknown.append("one prompt only: what another would give is not known")
        return
    held = found.variants_held
    if held is None:
        return
    worst = ceil(found.variants.height / _FIFTH)
    said = (
        f"the worst {worst} of {found.variants.height} variants hold {_percent(held)} of the unlike answers"
    )
    if held >= _CONCENTRATED:
        instruction.speaks_for.append(said)
    elif held <= _SPREAD:
        instruction.against.append(said + ": all paraphrases share in it")


def _by_repeats(results: Results, instruction: Cause, model: Cause) -> None:
    again, otherwise = (_coarsest(results, name) for name in ("intra_pss", "inter_pss"))
    if not again:
        model.unknown.append(
            "the same question was not asked twice (or gave no score), so accident is not measured"
        )
        return
    least, most = _ends(again)
    alpha = _between(printed(least), printed(most))
    said = f"asked again in the same words, it agrees with itself at α = {alpha}"
    if most < STABLE:
        model.speaks_for.append(f"{said} only")
        instruction.against.append(f"{said} only: no paraphrase is needed to move it")
    elif least < STABLE:
        model.unknown.append(f"{said}: stable in some conditions only")
    else:
        model.against.append(said)
        if otherwise and _ends(otherwise)[0] < STABLE:
            words = _between(*(printed(end) for end in _ends(otherwise)))
            instruction.speaks_for.append(f"{said}, and in other words at {words}")


def _by_pairs(results: Results, found: Deviations, construct: Cause, model: Cause) -> None:
    if not found.total:
        return
    sums: dict[tuple[str, str], int] = {}
    for mode, label, answers in found.pairs.iter_rows():
        one, other = sorted((mode, label))
        sums[one, other] = sums.get((one, other), 0) + answers
    without = sum(n for pair, n in sums.items() if NO_LABEL in pair) / found.total
    if without >= _CONCENTRATED:
        model.speaks_for.append(f"{_percent(without)} of the unlike answers are about having a label at all")
    labels = {pair: n for pair, n in sums.items() if NO_LABEL not in pair}
    if len(results.label_names) < 3:
        construct.unknown.append(
            "with two labels it cannot be seen whether some labels are taken for each other"
        )
    elif labels:
        pair = max(labels, key=lambda known: labels[known])
        share = labels[pair] / sum(labels.values())
        names = " and ".join(f"“{results.label_name(code)}”" for code in pair)
        said = f"{names} taken for each other make up {_percent(share)} of the changes between labels"
        if share >= _CONCENTRATED:
            construct.speaks_for.append(said)
        else:
            construct.against.append(said + ": no pair stands out")


def _by_class(results: Results, found: Deviations, construct: Cause) -> None:
    rates = found.classes.filter(pl.col("items") >= 2).select("gold", "share")
    if rates.height < 2:
        construct.unknown.append(
            "without gold labels in two classes it cannot be seen whether one is unstable"
        )
        return
    (worst, high), (best, low) = rates.row(0), rates.row(-1)
    said = (
        f"items of the gold label “{results.label_name(worst)}” move in {_percent(high)} of answers, "
        f"those of “{results.label_name(best)}” in {_percent(low)}"
    )
    (construct.speaks_for if high >= 2 * low and high > 0 else construct.against).append(said)


def _by_accuracy(results: Results, model: Cause) -> None:
    known = [one for one in results.main("accuracy") if one.value is not None]
    majority = [one.details.get("majority") for one in known]
    if not known or not isinstance(majority[0], float):
        model.unknown.append("accuracy is not known, so it cannot be seen whether the model can do the task")
        return
    least, most = _ends(known)
    over = "" if len(known) == 1 else f" over {len(known)} conditions"
    always = f"always giving the most frequent gold label is right in {_percent(majority[0])}"
    said = f"accuracy is {_between(_percent(least), _percent(most))}{over}; {always}"
    if most <= majority[0]:
        model.speaks_for.append(said)
    elif least >= majority[0] + _BETTER:
        model.against.append(said)
    else:
        model.unknown.append(said + ": hardly better" + (", or not everywhere" if len(known) > 1 else ""))


def _by_model(found: Deviations, model: Cause, data: Cause) -> None:
    if found.models.height < 2:
        model.unknown.append("one model only: whether another is stable on these items is not known")
        return
    worst, best = found.models.row(0, named=True), found.models.row(-1, named=True)
    said = (
        f"of the answers of {worst['model']} {_percent(worst['share'])} are unlike their item’s, of those of "
        f"{best['model']} {_percent(best['share'])}"
    )
    if worst["share"] >= 2 * best["share"] and worst["share"] > 0:
        model.speaks_for.append(said)
        data.against.append(said + ", on the same items")
    else:
        model.against.append(said + ": the models are alike in this")


def _coarsest(results: Results, measure: str) -> list[Estimate]:
    """The estimates of the coarsest cells that have a value."""
    known = [one for one in results.main(measure) if one.value is not None]
    coarsest = min((len(one.cell) for one in known), default=0)
    return [one for one in known if len(one.cell) == coarsest]


def _ends(some: Sequence[Estimate]) -> tuple[float, float]:
    values = [one.value or 0.0 for one in some]
    return min(values), max(values)


def _between(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"


def _percent(share: float) -> str:
    return printed(share, percent=True)
