"""Bounds that a comparison must not cross: ``accuracy < -0.02``, judged by their intervals."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import polars as pl

from quaver.comparison.alignment import Pair, modal_labels
from quaver.comparison.difference_verdict import FAMILY, LOSS, LOST, Bound, Verdict, owner, worded
from quaver.core import registry
from quaver.core.column_names import column_of
from quaver.core.label_values import SEPARATOR
from quaver.core.number_format import short_name
from quaver.core.records import OF_SETS, Estimate
from quaver.core.rows import defined, measure_of
from quaver.errors import MeasureError, QuaverError, UnknownName
from quaver.estimation.intervals import clopper_pearson
from quaver.estimation.jackknife import Resampling
from quaver.measures.validity.conclusions import ESTIMATED
from quaver.study.analysis.study_measures import measurements
from quaver.study.session import Study
from quaver.study.sources.study_plugins import Measurement

CONCLUDED: Final = ESTIMATED
"""What a bound may name beside measures and their estimates: conclusions."""

_PART = re.compile(r",(?=[^,=]+=|\s*$)")  # a level may hold commas
_BOUND = re.compile(r"\s*(\w+)\s*(?:\[(.*)\])?\s*([<>])\s*([-+]?(?:\d+\.?\d*|\.\d+))\s*")


@dataclass(frozen=True, slots=True)
class Judgement:
    """A bound, and what came of it.

    Attributes:
        bound: The bound.
        judged: The differences that it is about, with the intervals that it was judged by.
        failed: Those for which it fails.
    """

    bound: Bound
    judged: Sequence[Estimate]
    failed: Sequence[Estimate]

    @property
    def held(self) -> bool:
        """Whether nothing failed."""
        return not self.failed

    @property
    def verdict(self) -> str:
        """The bound, and what came of it, in words."""
        return worded("bound", self)

    def document(self) -> dict[str, Any]:
        """The judgement as a mapping for JSON."""
        return {
            "bound": self.bound.text,
            "fail": self.bound.kind,
            "held": self.held,
            "judged": [estimate.document() for estimate in self.judged],
            "failed": [dict(estimate.cell) for estimate in self.failed],
        }


def read_bounds(fail_if: Sequence[str], fail_unless: Sequence[str]) -> list[Bound]:
    """Read the bounds of a comparison."""
    bounds = [read_bound(text, "if") for text in fail_if]
    return bounds + [read_bound(text, "unless") for text in fail_unless]


def read_bound(text: str, kind: Literal["if", "unless"]) -> Bound:
    """Read a bound.

    >>> bound = read_bound("f1_label[label=legal] < -0.02", "if")
    >>> bound.measure, dict(bound.where), bound.sign, bound.limit
    ('f1_label', {'label': 'legal'}, '<', -0.02)
    """
    where = f"--fail-{kind}"
    if text.strip() == LOSS and kind == "if":
        return Bound(LOSS, {}, "<", 0.0, kind, LOSS)
    match = _BOUND.fullmatch(text)
    parts = _PART.split(match[2] or "") if match else []
    pairs = [part.partition("=") for part in parts if part.strip()]
    if not match or any(not (column.strip() and sign) for column, sign, _ in pairs):
        raise QuaverError(
            "this is not a bound",
            where=where,
            expected="a measure, < or >, and a number: accuracy < -0.02, recall[label=yes] < 0; or loss",
            found=text,
        )
    measure, _, sign, limit = match.groups()
    if measure not in CONCLUDED and measure_of(measure) is None:
        raise UnknownName("measure", measure, [*registry.names("measures"), *CONCLUDED, LOSS], where=where)
    levels = {column.strip(): level.strip() for column, _, level in pairs}
    return Bound(measure, levels, "<" if sign == "<" else ">", float(limit), kind, " ".join(text.split()))


def judged(
    bounds: Sequence[Bound],
    estimates: Sequence[Estimate],
    again: Callable[[Resampling], list[Estimate]],
    resampling: Resampling,
) -> list[Judgement]:
    """Judge bounds: together they err as often as one interval would."""
    judging = 0
    for bound in bounds:
        _check(bound, estimates)
        if bound.kind == "if" and bound.measure != LOSS:
            judging += len(bound.judged(estimates))
    wider = estimates
    if judging > 1:  # Bonferroni
        wider = again(replace(resampling, confidence_level=1 - 2 * resampling.tail / judging))
    judgements = []
    for bound in bounds:
        if bound.measure == LOSS:  # judged together (Holm), by their own intervals
            some = bound.judged(estimates)
        else:
            some = list(map(_alone, bound.judged(wider if bound.kind == "if" else estimates)))
        failed = []
        for estimate in some:
            by_chance = estimate.details.get("p_holm", 0.0) >= 1 - estimate.confidence_level
            if not by_chance and bound.beyond(estimate) == (bound.kind == "if"):
                failed.append(estimate)
        judgements.append(Judgement(bound, some, failed))
    return judgements


def _alone(estimate: Estimate) -> Estimate:
    """A difference without Holm's p: its interval is wide enough for all that are judged with it."""
    details = dict(estimate.details)
    details.pop("p_holm", None)
    return replace(estimate, details=details)


def _check(bound: Bound, estimates: Sequence[Estimate]) -> None:
    """Refuse a bound that judges nothing."""
    where = f"--fail-{bound.kind} {bound.text!r}"
    some = bound.judged(estimates)
    if not some:
        about = bound.about(estimates)
        names, cells = dict[str, None](), []
        for estimate in estimates:
            if owner(estimate.measure) == owner(bound.measure):
                names[estimate.measure] = None
                levels = (f"{column}={short_name(level)}" for column, level in estimate.cell.items())
                cells.append(", ".join(levels))
        if names and bound.measure not in (*names, owner(bound.measure)):
            raise UnknownName("estimate", bound.measure, list(names), where=where)
        why = sorted({estimate.reason or ", ".join(estimate.warnings) for estimate in about})
        raise MeasureError(
            "this bound cannot be judged: none of its differences has an interval",
            where=where,
            found="; ".join(why) or f"no such cell; there are {'; '.join(cells[:5]) or 'none'}",
        )
    ranges = [estimate.details["range"] for estimate in some if estimate.details.get("range")]
    if len(ranges) < len(some):
        return
    lows, highs = zip(*ranges, strict=True)
    low, high = min(lows), max(highs)
    below = bound.sign == "<"
    never = bound.limit <= low if below else bound.limit >= high
    always = bound.limit > high if below else bound.limit < low
    if never or always:
        held = never == (bound.kind == "if")
        raise MeasureError(
            "this bound cannot be violated" if held else "nothing can satisfy this bound",
            where=where,
            expected=f"a number between {low:g} and {high:g}, where the difference lies",
            found=f"{bound.limit:g}",
        )


_FEWEST: Final = 3
"""Items that had a label before, below which its loss is reported and does not fail a bound."""

_MOST_LEVELS: Final = 20
"""Levels of a column of groups, above which they are not judged one by one."""

_TWICE: Final = 2.0
"""How many times as often as the other items those of a lost class may change by themselves."""


_LOST: Final = ("accuracy", "recall", "compliance", "accuracy_mean_error")
"""The estimates of what users lose; the other ones that these measures give say it once more."""


def family_of(study: Study, frame: pl.DataFrame, pair: Pair, left_out: list[str]) -> list[Measurement]:
    """The measures of what users lose.

    Accuracy and the share of answers with a label, overall; recall in each class; accuracy in each level of
    the declared groups, but for the groups that intervals resample. Accuracy of numbers says how far they are
    from the gold numbers too, and no number is a class.
    """
    names = ["compliance"]
    if "gold" in pair.before.columns and pair.before["gold"].count():
        names = ["accuracy", "recall", "compliance"]
        if study.experiment.labels.are_numbers:
            names.remove("recall")
    measurements_of: dict[str, Measurement] = {}
    for measurement in measurements(study.source, names, frame):
        if measurement.failed is None:
            measurements_of.setdefault(measurement.measure, _over(measurement, pair.keys))
    family = [measurements_of[name] for name in names if name in measurements_of]
    for name in study.spec.items.groups if "accuracy" in measurements_of else ():
        column = column_of("group", name)
        if name == study.spec.group or column not in pair.before.columns:
            continue
        levels = pair.before[column].n_unique()
        if levels > _MOST_LEVELS:
            left_out.append(f"losses by {name}, which has {levels} levels")
        elif levels > 1:
            family.append(_over(measurements_of["accuracy"], (*pair.keys, column)))
    return family


def _over(measurement: Measurement, by: Sequence[str]) -> Measurement:
    options = {**measurement.options, "by": tuple(by)}
    return measurement._replace(options=options, named={}, only={}, evaluator=None)


def lost_classes(pair: Pair, tail: float) -> list[Verdict]:
    """The classes that were answered before and are not any more, in each cell; of sets alone or in a set.

    Those of c items that had the label all changed. If items of the class change by themselves at most twice
    as often as the others (at most d of these do, at 95%), the probability of this is (2 d)ᶜ at most; if
    either side is as likely to have the label, 0.5ᶜ. A loss is shown where the smaller of the two, times the
    number of classes and cells, is below the tail and c is at least three.
    """
    between = SEPARATOR if pair.classes.level in OF_SETS else "\n"
    both = modal_labels(pair).with_columns(
        had=pl.col("before").str.split(between), moved=pl.col("before").ne_missing(pl.col("after"))
    )
    cells = both.partition_by(pair.keys, as_dict=True, maintain_order=True)
    after = pair.after.select(*pair.keys, pl.col("label").str.split(between)).explode("label")
    given = set(after.unique().iter_rows())
    before = set(both["had"].explode())
    known = [label for label in pair.classes.codes if label in before]
    verdicts = []
    for key, items in cells.items():
        cell = {**pair.place, **dict(zip(pair.keys, map(str, key), strict=True))}
        for label in known:
            has = items["had"].list.contains(label).fill_null(value=False)
            count, others = int(has.sum()), items.filter(~has)
            if not count or (*key, label) in given:
                continue
            churn = 1.0
            if others.height:
                churn = clopper_pearson(int(others["moved"].sum()), others.height, 0.9).high
            chance = min(1.0, _TWICE * churn, 0.5) ** count * len(known) * len(cells)
            share = count / items.height
            details = {LOST: count, "before": share, "after": 0.0, "chance": chance}
            where = {**cell, "label": label}
            lost = Estimate("label_shares", -share, n=items.height, cell=where, details=details)
            is_shown = count >= _FEWEST and chance < tail
            verdicts.append(Verdict("loss" if is_shown else "cannot tell", lost, 0.0, "higher"))
    return verdicts


def of_family(estimates: Sequence[Estimate], pair: Pair) -> list[Estimate]:
    """The differences, marked as those that the bound ``loss`` is about, with their class or group."""
    marked = []
    for estimate in defined(estimates):
        if estimate.measure in _LOST:
            parts = [name for name in estimate.cell if name not in pair.keys]
            marked.append(replace(estimate, details={**estimate.details, FAMILY: parts}))
    return marked
