"""Evaluators that read numbers: a score for each label."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import NamedTuple

from quaver.core.records import LabelSet, Reading, Variant
from quaver.errors import SpecError, UnknownName
from quaver.score.parsing.evaluator import (
    Answer,
    Given,
    Reader,
    Rule,
    ambiguous,
    evaluator_within,
    no_label,
    tied,
)
from quaver.score.parsing.label_forms import Forms, Mention, codes_of, forms_of

_SENTENCE_END = re.compile(r"[.?!](?:\s|\Z)|\n")
_CLAUSE_END = re.compile(r"[,;]")


class Score(NamedTuple):
    """A number from 0 to 1 in an answer: where it begins and ends, and its value."""

    start: int
    end: int
    value: float


def paired(text: str, mentions: Sequence[Mention], scores: Sequence[Score]) -> Mapping[str, float] | Reading:
    """The score of each label that an answer names; a reading without a label if the pairing is unclear."""
    named = [code for mention in mentions for code in mention.codes]
    distinct = dict.fromkeys(named)
    if len(scores) < len(distinct):
        return no_label("a label without a score")
    if len(named) == len(distinct) == len(scores):
        # One score for each label: however they alternate, their order is the same.
        by_label = dict(zip(distinct, (score.value for score in scores), strict=True))
        return by_label if _sums(by_label) else _NO_SUM
    ways = [_beside(text, mentions, scores, behind=behind) for behind in (True, False)]
    whole = [way for way in ways if way is not None and way[0].keys() == distinct.keys()]
    summing = [way for way in whole if _sums(way[0])]
    if not summing:
        return _NO_SUM if whole else no_label("a label without a score of its own")
    nearest = min(apart for _, apart in summing)
    likely = [numbers for numbers, apart in summing if apart == nearest]
    if any(way != likely[0] for way in likely):
        return ambiguous(distinct, "could each have the other's score")
    return likely[0]


_NO_SUM = no_label("scores that do not sum to 1")


def _sums(scores: Mapping[str, float]) -> bool:
    # The sum of decimals may miss the bound by a rounding error.
    return 0.99 - 1e-9 <= sum(scores.values()) <= 1.01 + 1e-9


def _beside(
    text: str, mentions: Sequence[Mention], scores: Sequence[Score], *, behind: bool
) -> tuple[Mapping[str, float], int] | None:
    """The scores right after their labels, or right before them, and how many are in another clause.

    None if a label would have two.
    """
    places: list[Mention | Score] = sorted([*mentions, *scores], key=lambda place: place.start)
    numbers: dict[str, float] = {}
    apart = 0
    for earlier, other in pairwise(places):
        mention, score = (earlier, other) if behind else (other, earlier)
        if not isinstance(mention, Mention) or not isinstance(score, Score):
            continue
        gap = text[earlier.end : other.start]
        if _SENTENCE_END.search(gap):
            continue
        apart += bool(_CLAUSE_END.search(gap))
        for code in mention.codes:
            if numbers.setdefault(code, score.value) != score.value:
                return None
    return numbers, apart


# It begins with one of three characters, which makes searching fast; what precedes it is checked by
# look-behind. Possessive, so that a run of digits is scanned once.
_SCORE = re.compile(
    r"[01.](?<![\w.,%+−-].)(?:(?<=[01])(?:\.\d++)?|(?<=\.)\d++)"
    r"(?![\w%]|[.,]\d|\s?%|\s?[-–−/]\s?\.?\d|\s(?:to|(?:out\s)?of|in)\s\.?\d|\sper\s?cent)"
)
# What makes the number after it a bound, the end of a range or a total instead of a score.
_SCORES_NOT_BEFORE = re.compile(
    r"(?:\d\s?[-–−/]|(?:\A|\s)[<>≤≥]=?|\b(?:out\sof|\d\s(?:to|of|in)|than|above|below|over|under|least|most))"
    r"\s?\Z"
    r"|\bbetween\s[\d.]{1,6}\sand\s\Z"
)
_BETWEEN = re.compile(r"between\s\Z")
_AFTER_LIST_NUMBER = re.compile(r"[.)]\s")
_SCORES_LOOK_BACK = 24
_SCORES_MOST = 1000
_SCORES_NONE = no_label("no score")


class LabelScores:
    """The label with the highest score, if the answer gives each label a score between 0 and 1.

    The labels are those that the answer names (rules of ``label_forms``). The scores are its
    numbers from 0 to 1: not percentages, signed numbers, numbers with a comma, parts of a range or a
    ratio, bounds ("more than 0.5"), list markers, nor a number that is a label's form. Where each label
    is named once and there are as many scores, the first label has the first score and so on. Otherwise
    each score belongs to the label that is named right before it, or else right after it, within a
    sentence and a line; where both could be meant, the answer is ambiguous. Valid where each label that
    is named has one score and these sum to 0.99 to 1.01. Where two labels share the highest score, the
    answer is valid and gives no label. ``probabilities`` are the scores over their sum, ``confidence`` is
    the highest score as given.

    A lone score gives a label only if the prompt or ``score_of`` says whose score it is. With two
    labels, an answer that has one number from 0 to 1 (once or several times) and does not name the
    other label gives the scored label from the threshold on, and the other label below it.
    Where the variant asked for an explanation, the text from the word "explanation" on is left out.

    Args:
        threshold: For a lone score.
        score_of: The code of the label that a lone score is of, where the prompt does not say.
    """

    def __init__(self, *, threshold: float = 0.5, score_of: str | None = None) -> None:
        if not 0 <= threshold <= 1:
            raise SpecError(
                "the threshold is not a probability",
                where="threshold",
                expected="a number from 0 to 1",
                found=str(threshold),
            )
        self._threshold = threshold
        self._score_of = score_of

    def reader(self, labels: LabelSet, variant: Variant) -> Reader:
        """Make the reader for one variant's answers.

        Raises:
            UnknownName: ``score_of`` is no label.
            SpecError: The prompt asks for the score of another label, or there are more than two labels.
        """
        of = self._label(labels.codes, variant)
        return Rule(_scored, (forms_of(labels, variant), labels.codes, of, self._threshold, variant.explains))

    def _label(self, codes: Sequence[str], variant: Variant) -> str:
        """The code of the label that a lone score belongs to; empty if none is named."""
        of = self._score_of
        if of is not None and of not in codes:
            raise UnknownName("label", of, codes, where="score_of")
        if of is not None and len(codes) != 2:
            raise SpecError(
                "one score cannot choose between more than two labels",
                where="score_of",
                expected="two labels",
                found=", ".join(codes),
            )
        if of is not None and variant.score_of not in ("", of):
            raise SpecError(
                "the prompt asks for the score of another label",
                where="score_of",
                expected=variant.score_of,
                found=of,
                fix="leave it out: the prompt says whose score it asks for",
            )
        return of or variant.score_of


def _scored(
    answer: Answer, forms: Forms, codes: tuple[str, ...], of: str, threshold: float, explains: bool
) -> Reading:
    if explains:
        answer = answer.before_explanation()
    mentions = [mention for mention in forms.mentions(answer) if mention.codes]
    scores = list(islice(_scores(answer, mentions), _SCORES_MOST))
    named = codes_of(mentions)
    if named and named != {of}:
        reading = paired(answer.text, mentions, scores)
        return reading if isinstance(reading, Reading) else _highest(reading, codes)
    lone = {score.value for score in scores}
    if len(lone) != 1:
        return no_label("scores without a label") if lone else _SCORES_NONE
    if not of:
        return no_label("a lone score, and nothing says of which label: score_of does")
    score = lone.pop()
    other = next(code for code in codes if code != of)
    label = of if score >= threshold else other
    probabilities = {of: score, other: 1 - score}
    return Reading(label, "valid", "a lone score", False, False, probabilities, probabilities[label])


def _scores(answer: Answer, mentions: Sequence[Mention]) -> Iterator[Score]:
    text, named = answer.text, {mention.start for mention in mentions}
    for number in islice(_SCORE.finditer(text), _SCORES_MOST):
        start = number.start()
        if start in named or _is_list_marker(text, number):
            continue
        before = answer.folded[max(0, start - _SCORES_LOOK_BACK) : start]
        if _SCORES_NOT_BEFORE.search(before) or _BETWEEN.search(before):
            continue
        # More digits do not change the number, but parsing them takes more than linear time.
        value = float(number[0][:100])
        if value <= 1:
            yield Score(start, number.end(), value)


def _is_list_marker(text: str, number: re.Match[str]) -> bool:
    begins_line = number.start() == 0 or text[number.start() - 1] == "\n"
    return begins_line and _AFTER_LIST_NUMBER.match(text, number.end()) is not None


def _highest(scores: Mapping[str, float], codes: Sequence[str]) -> Reading:
    total = sum(scores.values())
    best = max(scores.values())
    winners = [code for code, score in scores.items() if score == best]
    probabilities = {code: scores.get(code, 0.0) / total for code in codes}
    if len(winners) > 1:
        return tied(winners, probabilities)
    return Reading(winners[0], "valid", None, False, False, probabilities, best)


class ByOutput:
    """Reads labels by one rule and scores by another, whichever the variant asked for.

    Where it asked for a label, ``label_match`` reads; where it asked for scores, ``label_scores`` does. The
    options name other evaluators, or the same ones with options:
    ``label: {use: label_match, several: first}``.

    Args:
        label: The evaluator of answers that are a label.
        score: The evaluator of answers that are a score for each label, or for one.
    """

    def __init__(self, *, label: Given = "label_match", score: Given = "label_scores") -> None:
        self._by_output = {
            "label": evaluator_within(label, "label"),
            "score": evaluator_within(score, "score"),
        }

    def reader(self, labels: LabelSet, variant: Variant) -> Reader:
        """Make the reader for one variant's answers."""
        return self._by_output[variant.output].reader(labels, variant)
