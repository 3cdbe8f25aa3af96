"""Which score in an answer belongs to which label."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from quaver.core.annotations import Reading
from quaver.score.parsing.label_forms import Mention
from quaver.score.parsing.readings import ambiguous, no_label

_SENTENCE_END = re.compile(r"[.?!](?:\s|\Z)|\n")
_CLAUSE_END = re.compile(r"[,;]")


class Score(NamedTuple):
    """A number from 0 to 1 in an answer: where it begins and ends, and its value."""

    start: int
    end: int
    value: float


class _Pairs(NamedTuple):
    """Scores by label, and how many are in a different clause from their label."""

    scores: Mapping[str, float]
    apart: int


def paired(text: str, mentions: Sequence[Mention], scores: Sequence[Score]) -> Mapping[str, float] | Reading:
    """The score of each label that an answer names; a reading without a label if the pairing is unclear.

    Args:
        text: The answer.
        mentions: Where it names labels; at least one.
        scores: Its scores, in order.
    """
    named = [code for mention in mentions for code in mention.codes]
    distinct = dict.fromkeys(named)
    if len(scores) < len(distinct):
        return no_label("a label without a score")
    if len(named) == len(distinct) == len(scores):
        # One score for each label: however they alternate, their order is the same.
        found = dict(zip(distinct, (score.value for score in scores), strict=True))
        return found if _sums(found) else _NO_SUM
    ways = [_beside(text, mentions, scores, behind=behind) for behind in (True, False)]
    whole = [way for way in ways if way is not None and way.scores.keys() == distinct.keys()]
    summing = [way for way in whole if _sums(way.scores)]
    if not summing:
        return _NO_SUM if whole else no_label("a label without a score of its own")
    nearest = min(way.apart for way in summing)
    likely = [way.scores for way in summing if way.apart == nearest]
    if any(way != likely[0] for way in likely):
        return ambiguous(distinct, "could each have the other's score")
    return likely[0]


_NO_SUM = no_label("scores that do not sum to 1")


def _sums(scores: Mapping[str, float]) -> bool:
    # The sum of decimals may miss the bound by a rounding error.
    return 0.99 - 1e-9 <= sum(scores.values()) <= 1.01 + 1e-9


def _beside(
    text: str, mentions: Sequence[Mention], scores: Sequence[Score], *, behind: bool
) -> _Pairs | None:
    """The scores right after their labels, or right before them; None if a label would have two."""
    places: list[Mention | Score] = sorted([*mentions, *scores], key=lambda place: place.start)
    found: dict[str, float] = {}
    apart = 0
    for one, other in pairwise(places):
        mention, score = (one, other) if behind else (other, one)
        if not isinstance(mention, Mention) or not isinstance(score, Score):
            continue
        gap = text[one.end : other.start]
        if _SENTENCE_END.search(gap):
            continue
        apart += bool(_CLAUSE_END.search(gap))
        for code in mention.codes:
            if found.setdefault(code, score.value) != score.value:
                return None
    return _Pairs(found, apart)
