"""Comparing while the second study is asked: in rounds, and no more once the verdict is clear.

How many items each round has is fixed before the first answer, and the rounds share the comparison's error:
see `quaver.sequential.spent_error`. A betting interval would hold without assuming anything, and be 1.8 to 3
times as wide as an ordinary one where few answers change, against 1.1 to 1.8 times.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import polars as pl

from quaver.comparison.bounds import Bound, Judgement
from quaver.comparison.call_costs import COSTS
from quaver.comparison.comparison_result import Comparison, RoundAt
from quaver.core.annotations import FIELD
from quaver.errors import QuaverError
from quaver.sequential.betting_interval import RARE
from quaver.sequential.spent_error import round_sizes, tails_of_rounds, times_as_wide
from quaver.study.analysis.field_source import whole_of
from quaver.study.collection.rounds import Design
from quaver.study.collection.study_run import CATEGORIES, run_part, texts_by_label
from quaver.study.session import Study
from quaver.study.sources.study_file_source import asking

FIRST: Final = 50
"""Items of the first round, if they are enough; each further one has twice as many."""

_MEANS: Final = ("accuracy", "compliance", *COSTS)
"""Measures to which each item counts alike, whatever its label."""

At = Callable[[Sequence[str], float], Comparison]
"""Compares some items, with intervals that leave out a tail on either side."""


def compare_in_rounds(
    before: pl.DataFrame,
    after: Study,
    bounds: Sequence[Bound],
    single: float,
    share: Callable[[Comparison], float],
    at: At,
) -> Comparison:
    """Ask a study in rounds until its comparison with the annotations of another is decided."""
    source = asking(whole_of(after.source))  # one answer has all fields
    Study(source).variants.make()
    design = Design(source.experiment, source.spec.seed)
    alike = bool(bounds) and all(bound.measure in _MEANS for bound in bounds)
    least = 1 if alike else _enough_of_each_label(_categories(before, after), design.ids(design.whole))
    sizes = [size for size in round_sizes(FIRST, design.whole.items, 2.0) if size >= least]
    tails: list[float] = []
    for number, size in enumerate(sizes, 1):
        part = replace(design.whole, items=size)
        outcome = run_part(source, partial(design.request, part))
        if outcome.ended != "finished":
            raise QuaverError(
                "the second study's run ended before its round was asked",
                where=str(after.folder),
                found=outcome.ended,
                fix="remove what ended it and compare again; nothing that was answered is asked again",
            )
        items = design.ids(part)
        tails = tails or tails_of_rounds(sizes, 2 * share(at(items, single)))
        tail = tails[number - 1]
        comparison = at(items, tail)
        clear = is_decided(comparison)
        if clear or size == sizes[-1]:
            wider = times_as_wide(tail, single)
            there = RoundAt(number, len(sizes), size, sizes[-1], clear, tail, wider)
            return replace(comparison, round=there)
    raise AssertionError("the last round returns")


def _categories(frame: pl.DataFrame, study: Study) -> list[pl.DataFrame]:
    """The annotations whose labels are categories, those of each field by themselves."""
    if not study.fields:
        return [frame] if study.experiment.labels.level in CATEGORIES else []
    names = [name for name, one in study.fields.items() if one.experiment.labels.level in CATEGORIES]
    return [frame.filter(pl.col(FIELD) == name) for name in names]


def _enough_of_each_label(before: Sequence[pl.DataFrame], order: Sequence[str]) -> int:
    """How many items in an order it takes until each label has 20: as most frequent answer and as gold label.

    With fewer, the tails of a normal interval do not hold at the levels of early rounds.
    """
    places = {item: number for number, item in enumerate(order, 1)}
    found = [1]
    for frame in before:
        lists = texts_by_label(frame)
        if "gold" in frame.columns:
            lists += texts_by_label(frame.select("item", label="gold"))
        for items in lists:
            own = sorted(places[item] for item in items if item in places)
            found.append(own[RARE - 1] if len(own) >= RARE else len(order))
    return max(found)


def is_decided(comparison: Comparison) -> bool:
    """Whether further items could hardly change what comes of the bounds; without bounds, the verdicts."""
    if not comparison.judgements:
        kinds = {verdict.kind for verdict in comparison.verdicts} - {"undefined"}
        return bool(kinds) and "cannot tell" not in kinds
    ends = [_ends(judgement) for judgement in comparison.judgements]
    return any(one is False for one in ends) or all(one is True for one in ends)


def _ends(judgement: Judgement) -> bool | None:
    """Whether a bound is shown to hold (True) or to fail (False); None while it may still be either."""
    bound = judgement.bound
    other = replace(bound, sign=">" if bound.sign == "<" else "<")
    good, bad = (bound, other) if bound.kind == "unless" else (other, bound)
    if any(bad.beyond(estimate) for estimate in judgement.judged):
        return False
    return True if all(good.beyond(estimate) for estimate in judgement.judged) else None
