"""What users of labels lose by a change: overall, in each class and group, and classes that nobody gets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import polars as pl

from quaver.collect.store.tallies import WRITTEN
from quaver.comparison.alignment import Sides
from quaver.comparison.difference_verdict import FAMILY, LOST, Verdict
from quaver.comparison.flipped_items import modal_labels
from quaver.core.column_names import column_of
from quaver.core.number_format import rounded
from quaver.core.records import Estimate
from quaver.estimation.intervals import clopper_pearson
from quaver.study.analysis.study_estimates import own_measurements
from quaver.study.session import Study
from quaver.study.sources.study_plugins import Measurement

_FEWEST: Final = 3
"""Items that had a label before, below which its loss is reported and does not fail a bound."""

_MOST_LEVELS: Final = 20
"""Levels of a column of groups, above which they are not judged one by one."""

_TWICE: Final = 2.0
"""How many times as often as the other items those of a lost class may change by themselves."""


def family_of(study: Study, frame: pl.DataFrame, sides: Sides, left_out: list[str]) -> list[Measurement]:
    """The measures of what users lose: all of which more is better, and all between 0 and 1.

    Accuracy and the share of answers with a label, overall; recall in each class; accuracy in each level of
    the declared groups, but for the groups that intervals resample.
    """
    names = ("accuracy", "recall", "compliance") if _has_gold(sides.before) else ("compliance",)
    first = {one.measure: one for one in reversed(own_measurements(study.source, names, frame))}
    of = {name: _over(first[name], sides.keys) for name in names if first[name].failed is None}
    found = list(of.values())
    for name in study.spec.items.groups if "accuracy" in of else ():
        column = column_of("group", name)
        if name == study.spec.group or column not in sides.before.columns:
            continue
        levels = sides.before[column].n_unique()
        if levels > _MOST_LEVELS:
            left_out.append(f"losses by {name}, which has {levels} levels")
        elif levels > 1:
            found.append(_over(of["accuracy"], (*sides.keys, column)))
    return found


def of_first_evaluator(study: Study, sides: Sides) -> Sides:
    """The sides as the study's first evaluator reads them."""
    there = set(sides.before["evaluator"])
    first = next((one.title for one in study.spec.evaluators if one.title in there), min(there))
    own = pl.col("evaluator") == first
    return replace(sides, before=sides.before.filter(own), after=sides.after.filter(own))


def _over(one: Measurement, by: Sequence[str]) -> Measurement:
    options = {**one.options, "by": tuple(by)}
    return one._replace(options=options, named={}, only={}, flagged="with", evaluator=None)


def _has_gold(frame: pl.DataFrame) -> bool:
    return "gold" in frame.columns and frame["gold"].null_count() < frame.height


def lost_classes(sides: Sides, labels: Sequence[str], place: Mapping[str, str], tail: float) -> list[Verdict]:
    """The classes that were answered before and are not any more, in each cell.

    Those of c items that had the label all changed. If items of the class change by themselves at most twice
    as often as the others (at most d of these do, at 95%), the probability of this is (2 d)ᶜ at most; if
    either side is as likely to have the label, 0.5ᶜ. A loss is shown where the smaller of the two, times the
    number of classes and cells, is below the tail and c is at least three.

    Args:
        sides: The annotations before and after.
        labels: The labels that both sides know.
        place: What their cells say besides.
        tail: How often it may be wrong that a class is lost.
    """
    both = modal_labels(sides)
    cells = both.partition_by(sides.keys, as_dict=True, maintain_order=True)
    after = sides.after.select(*sides.keys, "label").unique()
    given = {tuple(row) for row in after.iter_rows()}
    known = [label for label in labels if label in set(both["before"].drop_nulls())]
    found = []
    for key, items in cells.items():
        for label in known:
            had = items.filter(pl.col("before") == label)
            if had.is_empty() or (*key, label) in given:
                continue
            others = items.filter(pl.col("before").ne_missing(label))
            moved = int(others["before"].ne_missing(others["after"]).sum())
            churn = clopper_pearson(moved, others.height, 0.9).high if others.height else 1.0
            chance = min(min(1.0, _TWICE * churn), 0.5) ** had.height * len(known) * len(cells)
            shown = had.height >= _FEWEST and chance < tail
            cell = {**place, **dict(zip(sides.keys, map(str, key), strict=True)), "label": label}
            details = {LOST: had.height, "before": had.height / items.height, "after": 0.0, "chance": chance}
            one = Estimate(
                "label_shares", -had.height / items.height, n=items.height, cell=cell, details=details
            )
            found.append(Verdict("loss" if shown else "cannot tell", one, 0.0, None, "higher"))
    return found


def of_family(found: Sequence[Estimate], sides: Sides) -> list[Estimate]:
    """The differences, marked as those that the bound ``loss`` is about, with their class or group."""
    return [
        replace(one, details={**one.details, FAMILY: [name for name in one.cell if name not in sides.keys]})
        for one in found
        if one.value is not None
    ]


def spending(before: Study, after: Study) -> list[str]:
    """What a call of the second study takes, where that is a tenth more or less than in the first."""
    first, second = _of_a_call(before), _of_a_call(after)
    found = []
    for name, what in _SPENT.items():
        old, new = first.get(name), second.get(name)
        if old and new and abs(new / old - 1) >= _TENTH:
            found.append(f"{what}: {rounded(new)} in the mean, before {rounded(old)} ({new / old - 1:+.0%}).")
            if name == "completion":
                break  # tokens say what characters would
    return found


def _of_a_call(study: Study) -> dict[str, float | None]:
    """Means over a study's stored answers, but for errors; nothing where there are only labels."""
    if not (study.source.has_answers and study.source.files.responses.exists()):
        return {}
    with study.source.answers() as store, store.reading() as reader:
        row = reader.execute(_MEANS).fetchone()
    return dict(zip(_SPENT, row, strict=True))


_SPENT: Final = {
    "prompt": "Tokens of a prompt",
    "completion": "Tokens of an answer",
    "characters": "Characters of an answer",
}
_MEANS: Final = f"""
    SELECT avg(r.prompt_tokens), avg({WRITTEN}), avg(length(r.text))
    FROM calls c JOIN responses r ON r.id = c.response WHERE r.finish != 'error'"""
_TENTH: Final = 0.1
