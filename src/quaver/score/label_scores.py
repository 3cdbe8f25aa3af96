"""``label_scores``: a score for each label, or one for a binary task."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice

from quaver.errors import SpecError, UnknownName
from quaver.records import LabelSet, Reading, Variant
from quaver.score import Answer, Reader
from quaver.score.explanation import before_explanation
from quaver.score.forms import Mention, forms_of
from quaver.score.reading import ambiguous, no_label

__all__ = ["LabelScores"]

# It begins with one of three characters, by which the engine finds it fast; what stands before is looked at
# behind it. Possessive, so that a run of digits is looked at once.
_SCORE = re.compile(
    r"[01.](?<![\w.,%+−-].)(?:(?<=[01])(?:\.\d++)?|(?<=\.)\d++)(?![\w%]|[.,]\d|\s?%|\s?[-–−/]\s?\d|\sto\s\d)"
)
_AFTER_LIST_NUMBER = re.compile(r"[.)]\s")
_MOST = 1000


class LabelScores:
    """Labels and scores between 0 and 1, paired in their order; the label with the highest score.

    The labels are those that the answer names, each once, in order of their first place (rules of
    ``quaver.score.forms``). The scores are its numbers from 0 to 1: not percentages, signed numbers,
    numbers with a comma, parts of a range, a ratio or a list marker, nor a number that is a label's
    form. The first label has the first score and so on. Valid where at least one label is named,
    each has a score, and these sum to 0.99 to 1.01; ambiguous where two share the highest score.
    ``probabilities`` are the scores over their sum, ``confidence`` is the highest score as given.

    With two labels, an answer that names neither and holds exactly one number from 0 to 1 is
    the score of one of them: that label from the threshold on, else the other.
    Where the variant asked for an explanation, the text from the word "explanation" on is left out.

    Args:
        threshold: For a lone score.
        score_of: The code of the label that a lone score is of; the last of the two by default.
    """

    def __init__(self, *, threshold: float = 0.5, score_of: str | None = None) -> None:
        if not 0 <= threshold <= 1:
            raise SpecError(
                "the threshold is no probability",
                where="evaluators: label_scores: threshold",
                expected="a number from 0 to 1",
                found=str(threshold),
            )
        self._threshold = threshold
        self._score_of = score_of

    def reader(self, labels: LabelSet, variant: Variant) -> Reader:
        """Make the reader for one variant's answers.

        Raises:
            UnknownName: ``score_of`` is no label.
        """
        codes = labels.codes
        if self._score_of is not None and self._score_of not in codes:
            raise UnknownName("label", self._score_of, codes, where="evaluators: label_scores: score_of")
        forms = forms_of(labels, variant)

        def read(answer: Answer) -> Reading:
            if variant.explains:
                answer = before_explanation(answer)
            mentions = [mention for mention in forms.mentions(answer) if mention.codes]
            places = _first_places(mentions)
            scores = list(islice(_scores(answer.text, mentions), len(codes) if places else 2))
            if not places:
                return self._lone(scores, codes)
            if len(scores) < len(places):
                return no_label("a label without a score")
            return _paired(dict(zip(places, scores, strict=False)), codes)

        return read

    def _lone(self, scores: list[float], codes: tuple[str, ...]) -> Reading:
        if len(codes) != 2 or len(scores) != 1:
            return no_label("no label in the text" if not scores else "scores without a label")
        of = self._score_of or codes[-1]
        other = next(code for code in codes if code != of)
        score = scores[0]
        label = of if score >= self._threshold else other
        probabilities = {of: score, other: 1 - score}
        return Reading(label, "valid", "a lone score", False, False, probabilities, probabilities[label])


def _first_places(mentions: list[Mention]) -> dict[str, None]:
    return dict.fromkeys(code for mention in mentions for code in mention.codes)


def _scores(text: str, mentions: list[Mention]) -> Iterator[float]:
    named = {mention.start for mention in mentions}
    for number in islice(_SCORE.finditer(text), _MOST):
        if number.start() in named or _is_list_marker(text, number):
            continue
        # A number of more digits is as large, and costs more than linear time to read.
        value = float(number[0][:100])
        if value <= 1:
            yield value


def _is_list_marker(text: str, number: re.Match[str]) -> bool:
    begins_line = number.start() == 0 or text[number.start() - 1] == "\n"
    return begins_line and _AFTER_LIST_NUMBER.match(text, number.end()) is not None


def _paired(scores: Mapping[str, float], codes: tuple[str, ...]) -> Reading:
    total = sum(scores.values())
    # The sum of decimals may miss the bound by a rounding error.
    if not 0.99 - 1e-9 <= total <= 1.01 + 1e-9:
        return no_label("scores that do not sum to 1")
    best = max(scores.values())
    winners = [code for code, score in scores.items() if score == best]
    if len(winners) > 1:
        return ambiguous(winners, "share the highest score")
    probabilities = {code: scores.get(code, 0.0) / total for code in codes}
    return Reading(winners[0], "valid", None, False, False, probabilities, best)
