"""Evaluators with a confidence: ``logprob`` from tokens, ``verbal_confidence`` as the model stated it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, Final, Literal

from quaver.core.calls import Response, Token
from quaver.core.records import LabelSet, Reading, Variant
from quaver.score.parsing.evaluator import Answer, Given, Reader, Rule, evaluator_within, no_label
from quaver.score.parsing.label_forms import Forms, forms_of
from quaver.score.parsing.parsed_answer import fold, plain, without_thinking
from quaver.score.parsing.statuses import read_alone, verbal_confidence

_MOST = 1.001  # servers round
_SPACES = " \t\r\n▁ĠĊ"


class LogProb:
    """The likeliest label at the answer's first token, normalised over the label set.

    The first token is the first one after any thinking that is more than white space. This token and
    the likeliest tokens that were returned with it are matched with the variant's answers. White space
    around a token and case do not count, so ``Yes``, ``" yes"`` and ``YES`` are the same, and their
    probabilities are added. A label's token is its whole answer, or else the longest token that begins
    it. A token that begins the answers of several labels without being one of them is shared and counts
    for none.

    ``probabilities`` are those of the labels over their sum (0 for a label that was not among the
    likeliest); the label is the likeliest, ``confidence`` its probability, normalised.
    ``label_coverage`` is the share of the labels that were among the likeliest, ``mass_coverage``
    the sum of their probabilities before normalising. Ambiguous where the two likeliest labels
    are level, or where the shared tokens are as likely as the lead, so that they could reverse it.

    Args:
        normalised: False makes ``confidence`` the raw probability of the label's first token;
            the rest stays as it is.
    """

    reads: ClassVar[Literal["tokens"]] = "tokens"

    def __init__(self, *, normalised: bool = True) -> None:
        self._normalised = normalised

    def reader(self, labels: LabelSet, variant: Variant) -> Reader:
        """Make the reader for one variant's answers."""
        answers = forms_of(labels, variant).answers

        def read(answer: Answer) -> Reading:
            token = first_token(answer.response)
            if token is None:
                return no_label("no log-probabilities of the answer's tokens")
            if not token.top:
                return no_label("no log-probabilities of the likeliest tokens")
            masses, shared = label_masses(token, answers)
            if sum(masses.values()) + shared > _MOST:
                return no_label("log-probabilities of more than 1 together")
            return self._reading(labels.codes, masses, shared)

        return read

    def _reading(self, codes: tuple[str, ...], masses: Mapping[str, float], shared: float) -> Reading:
        total = min(1.0, sum(masses.values()))
        if total <= 0:
            return no_label(
                "only tokens that begin several answers" if shared else "no label among the likeliest"
            )
        probabilities = {code: masses.get(code, 0.0) / sum(masses.values()) for code in codes}
        ranked = sorted(masses.values(), reverse=True)
        lead = ranked[0] - (ranked[1] if len(ranked) > 1 else 0.0)
        coverage = len(masses) / len(codes), total
        if lead <= shared:
            reason = "tokens that begin several answers decide" if shared else "a tie"
            return Reading(None, "ambiguous", reason, False, False, probabilities, None, *coverage)
        label = max(masses, key=lambda code: masses[code])
        confidence = probabilities[label] if self._normalised else min(1.0, masses[label])
        return Reading(label, "valid", None, False, False, probabilities, confidence, *coverage)


def first_token(response: Response) -> Token | None:
    """The first token of the answer that is not white space, or None where there is none.

    Thinking is skipped if it is among the tokens; a model that returns its thinking separately gives
    the tokens of the answer alone.
    """
    tokens = response.tokens
    start = 0
    if "<" in response.text or "[" in response.text or "◁" in response.text:
        start = _after_thinking(tokens)
    for token in tokens[start:]:
        if token.text.strip(_SPACES):
            return token
    return None


def _after_thinking(tokens: tuple[Token, ...]) -> int:
    text = "".join(token.text for token in tokens)
    rest, thinking, unfinished = without_thinking(text)
    if unfinished:
        return len(tokens)
    if thinking is None:
        return 0
    # The answer is the end of the text: count back as many characters.
    left = len(rest)
    for index in range(len(tokens) - 1, -1, -1):
        if left <= 0:
            return index + 1
        left -= len(tokens[index].text)
    return 0


def label_masses(token: Token, answers: Mapping[str, tuple[str, ...]]) -> tuple[dict[str, float], float]:
    """The probability of each label at one position.

    Returns:
        The summed probability by label code, for the labels that a token was found for; and the
        probability of the tokens that begin several labels' answers.

    >>> import math
    >>> top = ((" Yes", math.log(0.5)), ("yes", math.log(0.25)), ("maybe", math.log(0.25)))
    >>> label_masses(Token(" Yes", top[0][1], top), {"yes": ("y",), "no": ("n",)})
    ({'y': 0.75}, 0.0)
    """
    spelled = _spellings(token)
    begun: dict[str, list[str]] = defaultdict(list)
    shared = 0.0
    for text, mass in spelled.items():
        codes = answers.get(text) or {
            code for form, some in answers.items() if form.startswith(text) for code in some
        }
        if len(codes) == 1:
            begun[next(iter(codes))].append(text)
        elif codes:
            shared += mass
    return {code: spelled[max(texts, key=len)] for code, texts in begun.items()}, shared


def _spellings(token: Token) -> dict[str, float]:
    """The probability of each token, those that differ in white space and case taken together."""
    masses: dict[str, float] = defaultdict(float)
    for text, logprob in dict(((token.text, token.logprob), *token.top)).items():
        spelling = fold(plain(text).strip(_SPACES))
        if spelling and logprob <= 0:
            masses[spelling] += math.exp(logprob)
    return masses


_NOT_STORED: Final = Response("", finish="error", error="no answer is stored")


class VerbalConfidence:
    """The label that the answer gives, with the confidence that a follow-up asked for.

    The label, status and marks are those that another evaluator reads in the answer. The confidence
    is the one distinct well-formed number in what the model said when it was asked: a percentage
    (``85%``), a decimal from 0 to 1 with a point, or so many out of 100, tried in this order.
    Several numbers, none, a range, or a number outside 0 to 1 give no confidence, and the reason says
    which.

    Args:
        label: The registered evaluator that reads the label: its name, or ``use`` and its options.
    """

    reads: ClassVar[Literal["pair"]] = "pair"
    of: ClassVar[str] = "verbal_decimal"

    def __init__(self, *, label: Given = "marked_label") -> None:
        self._evaluator = evaluator_within(label, "label")

    def reader(self, labels: LabelSet, variant: Variant) -> Reader:
        """Make the reader for one variant's answers and the follow-ups about them."""
        return Rule(_confident, (self._evaluator.reader(labels, variant), forms_of(labels, variant)))


def _confident(answer: Answer, reader: Reader, forms: Forms) -> Reading:
    reading = read_alone(answer.about or _NOT_STORED, reader, forms)
    confidence, why = verbal_confidence(answer)
    reason = "; ".join(part for part in (reading.reason, why and f"confidence: {why}") if part) or None
    return replace(reading, confidence=confidence, probabilities=None, reason=reason)
