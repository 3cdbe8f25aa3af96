"""Why labels may be unstable: the probable causes, with the evidence of a study for and against each.

The rules are few and stated. An answer *deviates* if it differs from its item's modal label or has no label
(`Deviations`). Deviations count as concentrated where a fifth of the items (or variants) holds at least half
of them, and as spread out where it holds at most a third. Nothing here proves a cause: it says where to look.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Literal, NamedTuple

import polars as pl

from quaver.core.estimate_frame import Deviations
from quaver.core.number_format import percent
from quaver.core.number_format import points as in_points
from quaver.core.records import Estimate
from quaver.core.rows import defined, of_measures
from quaver.report.estimate_index import NO_LABEL, Results, strongest_factor
from quaver.report.findings.verdicts import STEADY as STABLE
from quaver.report.page_words import printed
from quaver.report.table_rows import Table

_SCORES = ("intra_pss", "inter_pss", "pooled_pss", "inter_model")
_FIFTH = 5
_CONCENTRATED, _SPREAD = 0.5, 1 / 3
_MOVES = 0.2
_BETTER = 0.1
"""Accuracy above that of always giving the most frequent gold label."""

Rule = Literal["items", "factor", "variants", "repeats", "prompts", "pairs", "classes", "accuracy", "models"]


class Evidence(NamedTuple):
    """One observation: the rule that made it, its number (None if there is none), and its sentence."""

    rule: Rule
    value: float | None
    text: str


@dataclass(slots=True)
class Cause:
    """A probable cause.

    Attributes:
        name: Its name.
        meaning: What it would mean.
        remedy: What helps if it is the cause.
        speaks_for: The evidence for it.
        against: The evidence against it.
        unknown: What the study cannot say about it, and why.
    """

    name: str
    meaning: str
    remedy: str
    speaks_for: list[Evidence] = field(default_factory=list)
    against: list[Evidence] = field(default_factory=list)
    unknown: list[Evidence] = field(default_factory=list)

    def supported(self, rule: Rule, value: float, text: str) -> None:
        """Something speaks for it."""
        self.speaks_for.append(Evidence(rule, value, text))

    def opposed(self, rule: Rule, value: float, text: str) -> None:
        """Something speaks against it."""
        self.against.append(Evidence(rule, value, text))

    def left_open(self, rule: Rule, text: str, value: float | None = None) -> None:
        """Something is not known."""
        self.unknown.append(Evidence(rule, value, text))

    @property
    def likely(self) -> bool:
        """Whether more speaks for it than against it."""
        return len(self.speaks_for) > len(self.against)


def unstable(results: Results) -> list[Estimate]:
    """The stability scores of the first evaluator's labels that are below 0.8."""
    estimates = [estimate for measure in _SCORES for estimate in results.main(measure)]
    return [estimate for estimate in defined(estimates) if estimate.number < STABLE]


def causes(results: Results, deviations: Deviations | None) -> list[Cause]:
    """The probable causes of low stability, the one with most evidence first.

    Returns:
        Nothing if no stability score is below 0.8, or there are no annotations.
    """
    if deviations is None or not unstable(results):
        return []
    instruction = Cause(
        "An ambiguous instruction",
        "the question can be understood in several ways, and the paraphrase decides which",
        "say in the prompt how to decide doubtful cases, define each label, fix the format of the answer; "
        "then run what changed",
    )
    data = Cause(
        "Unsuitable data",
        "some texts do not contain what the question asks for, or contain several things at once",
        "read the worst items below; split, shorten or leave out those that a person cannot label either",
    )
    construct = Cause(
        "A vague construct",
        "the categories overlap, so that two labels are both correct",
        "merge or redefine the labels that are confused with each other; have people label some of the items",
    )
    model = Cause(
        "A weak model",
        "the model cannot do the task and answers by accident or by format",
        "compare with another model on the same items; a stronger one that is stable speaks for this cause",
    )
    _by_items(deviations, data, construct, model)
    _by_variants(results.moved, deviations, instruction)
    _by_repeats(results, instruction, model)
    _by_pairs(results, deviations, construct, model)
    _by_class(results, deviations, construct)
    _by_accuracy(results, model)
    _by_model(deviations, model, data)
    known = [instruction, data, construct, model]
    return sorted(known, key=lambda cause: len(cause.against) - len(cause.speaks_for))


def causes_table(found: Sequence[Cause]) -> Table:
    """The causes as a table, written beside the page."""
    rows = tuple(
        (c.name, *("; ".join(one.text for one in part) for part in (c.speaks_for, c.against, c.unknown)))
        for c in found
    )
    return Table(("cause", "speaks for it", "speaks against it", "not known"), rows, name="causes")


def _by_items(deviations: Deviations, data: Cause, construct: Cause, model: Cause) -> None:
    held = deviations.items_held
    if held is None:
        why = "too few items, or none whose labels change, to see whether some change more than others"
        for cause in (data, construct):
            cause.left_open("items", why)
        return
    worst = ceil(deviations.items.height / _FIFTH)
    text = (
        f"{worst} of the {deviations.items.height} items account for {percent(held)} of the labels "
        "that change"
    )
    if held >= _CONCENTRATED:
        data.supported("items", held, text)
        some = f"{text} (some items lie between categories)"
        construct.supported("items", held, some)
        most = f"most items get the same label every time: {text}"
        model.opposed("items", held, most)
    elif held <= _SPREAD:
        every = f"{text}: the instability is spread over all items"
        data.opposed("items", held, every)
        model.supported("items", held, every)
    else:
        data.left_open("items", f"{text}, neither few nor all", held)


def _by_variants(estimates: Sequence[Estimate], deviations: Deviations, instruction: Cause) -> None:
    top = strongest_factor(estimates)
    ranges = [
        estimate for estimate in of_measures(estimates, "label_range") if estimate.cell["factor"] == top
    ]
    span = next((estimate.number for estimate in defined(ranges)), None)
    if span is not None and top not in ("decoding", "model"):
        text = f"{top} alone moves the share of a label by {in_points(span)}"
        add = instruction.supported if span >= _MOVES else instruction.opposed
        add("factor", span, text)
    if deviations.variants.height < 2:
        text = "there is one prompt only, so the labels of another are not known"
        instruction.left_open("variants", text)
        return
    held = deviations.variants_held
    if held is None:
        return
    worst = ceil(deviations.variants.height / _FIFTH)
    prompts = deviations.variants.height
    text = f"{worst} of the {prompts} prompts account for {percent(held)} of the labels that change"
    if held >= _CONCENTRATED:
        instruction.supported("variants", held, text)
    elif held <= _SPREAD:
        instruction.opposed("variants", held, f"{text}: all of them share in it")


def _by_repeats(results: Results, instruction: Cause, model: Cause) -> None:
    repeats, prompts = (results.coarsest(name) for name in ("intra_pss", "inter_pss"))
    if not repeats:
        text = "the same question was not asked twice (or gave no score), so chance is not measured"
        model.left_open("repeats", text)
        return
    least, most = _ends(repeats)
    text = (
        f"the same prompt, asked again, agrees with itself at α = {_between(printed(least), printed(most))}"
    )
    if most < STABLE:
        model.supported("repeats", most, text)
        unmoved = f"{text}: no other prompt is needed to change it"
        instruction.opposed("repeats", most, unmoved)
    elif least < STABLE:
        model.left_open("repeats", f"{text}: stable in some conditions only", least)
    else:
        model.opposed("repeats", least, text)
        if prompts and _ends(prompts)[0] < STABLE:
            lowest = _ends(prompts)[0]
            other = _between(*(printed(end) for end in _ends(prompts)))
            text = f"{text}, and with other prompts at {other}"
            instruction.supported("prompts", lowest, text)


def _by_pairs(results: Results, deviations: Deviations, construct: Cause, model: Cause) -> None:
    if not deviations.total:
        return
    sums: dict[tuple[str, str], int] = {}
    for mode, label, answers in deviations.pairs.iter_rows():
        one, other = sorted((mode, label))
        sums[one, other] = sums.get((one, other), 0) + answers
    without = sum(n for pair, n in sums.items() if NO_LABEL in pair) / deviations.total
    if without >= _CONCENTRATED:
        text = f"{percent(without)} of the changes are between a label and none"
        model.supported("pairs", without, text)
    labels = {pair: n for pair, n in sums.items() if NO_LABEL not in pair}
    if len(results.label_names) < 3:
        text = "with two labels it cannot be seen whether some labels are confused with each other"
        construct.left_open("pairs", text)
    elif labels:
        pair = max(labels, key=lambda known: labels[known])
        share = labels[pair] / sum(labels.values())
        names = " with ".join(f"“{results.label_name(code)}”" for code in pair)
        text = f"confusing {names} makes up {percent(share)} of the changes between labels"
        if share >= _CONCENTRATED:
            construct.supported("pairs", share, text)
        else:
            construct.opposed("pairs", share, f"{text}: no pair stands out")


def _by_class(results: Results, deviations: Deviations, construct: Cause) -> None:
    rates = deviations.classes.filter(pl.col("items") >= 2).select("gold", "share")
    if rates.height < 2:
        text = "without gold labels in two classes it cannot be seen whether one is unstable"
        construct.left_open("classes", text)
        return
    (worst, high), (best, low) = rates.row(0), rates.row(-1)
    text = (
        f"{percent(high)} of the answers about items with the gold label “{results.label_name(worst)}” "
        f"change, {percent(low)} of those with “{results.label_name(best)}”"
    )
    add = construct.supported if high >= 2 * low and high > 0 else construct.opposed
    add("classes", high, text)


def _by_accuracy(results: Results, model: Cause) -> None:
    estimates = defined(results.main("accuracy"))
    majority = [estimate.details.get("majority") for estimate in estimates]
    if not estimates or not isinstance(majority[0], float):
        text = "accuracy is not known, so it cannot be seen whether the model can do the task"
        model.left_open("accuracy", text)
        return
    least, most = _ends(estimates)
    over = "" if len(estimates) == 1 else f" over {len(estimates)} conditions"
    text = (
        f"accuracy is {_between(percent(least), percent(most))}{over}; always giving the most frequent gold "
        f"label is correct in {percent(majority[0])}"
    )
    if most <= majority[0]:
        model.supported("accuracy", most, text)
    elif least >= majority[0] + _BETTER:
        model.opposed("accuracy", least, text)
    else:
        text += ": hardly better" + (", or not everywhere" if len(estimates) > 1 else "")
        model.left_open("accuracy", text, least)


def _by_model(deviations: Deviations, model: Cause, data: Cause) -> None:
    if deviations.models.height < 2:
        text = "there is one model only, so it is not known whether another is stable on these items"
        model.left_open("models", text)
        return
    worst, best = deviations.models.row(0, named=True), deviations.models.row(-1, named=True)
    text = (
        f"{percent(worst['share'])} of the answers of {worst['model']} change, "
        f"{percent(best['share'])} of those of {best['model']}"
    )
    if worst["share"] >= 2 * best["share"] and worst["share"] > 0:
        model.supported("models", worst["share"], text)
        data.opposed("models", worst["share"], f"{text}, on the same items")
    else:
        model.opposed("models", worst["share"], f"{text}: the models are alike in this")


def _ends(estimates: Sequence[Estimate]) -> tuple[float, float]:
    values = [estimate.number for estimate in estimates]
    return min(values), max(values)


def _between(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"
