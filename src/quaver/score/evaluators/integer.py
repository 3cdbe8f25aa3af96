"""``integer``: the whole number in the answer."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice

from quaver.core.annotations import Reading
from quaver.core.records import LabelSet, Variant
from quaver.score.parsing.evaluator import Answer, Reader
from quaver.score.parsing.finder import is_negated
from quaver.score.parsing.many_answers import read_where
from quaver.score.parsing.readings import ambiguous, no_label, valid

# It begins with a digit, which makes searching fast; what precedes it is checked by look-behind.
_NUMBER = re.compile(
    r"(?P<digits>\d(?<![\w.,].)(?:\d{0,2}+(?:,\d{3})++|\d*+))(?:\.0++)?"
    r"(?![\w%]|[.,]\d|\s?%|\sper\s?cent| ?[-–−] ?\d|\sto\s\d)"
)
_SIGN = re.compile(r"(?<![\w.,])[+−-]\Z")
# What makes the number after it the end of a range or a total instead of an answer.
_NOT_BEFORE = re.compile(r"(?:\d ?[-–−] ?|/ ?|\bout of\s|\bto\s|\bof\s|\bin\s)\Z")
_JOINED = re.compile(r"\s(?:or|nor)\s(?:an?\s)?")
_LOOK_BACK = 8
_MOST = 10_000
_NONE = no_label("no whole number")


class Integer:
    """The one label whose number is in the answer.

    A label's number is its answer in this variant, else its code, name or ``value``, where that is
    a whole number. Numbers in the answer are whole numbers in digits, with or without a sign,
    thousands commas and a decimal part of zeros: ``3``, ``-1``, ``1,000``, ``4.0``; no percentages,
    other decimals, ends of ranges (``1-5``, ``1 to 5``) or totals (the 5 in ``4/5``, ``4 out of 5``,
    ``4 of 5``, ``4 in 5``), nor numbers behind a negation (rule 6 of ``label_forms``). Numbers that
    are no label's do not count. Two labels' numbers are ambiguous. The first 10,000 numbers count.
    """

    def reader(self, labels: LabelSet, variant: Variant) -> Reader:
        """Make the reader for one variant's answers."""
        return _reader(tuple(sorted(_numbers(labels, variant).items())))


class _IntegerReader:
    def __init__(self, numbers: tuple[tuple[int, tuple[str, ...]], ...]) -> None:
        self._numbers = dict(numbers)

    def __call__(self, answer: Answer) -> Reading:
        found: dict[int, None] = {}
        denied = -1  # where the last negated number ends
        for match in islice(_NUMBER.finditer(answer.text), _MOST):
            start = match.start()
            sign = _SIGN.search(answer.text, max(0, start - 1), start)
            start -= sign is not None
            joined = denied >= 0 and _JOINED.fullmatch(answer.folded, denied, start)
            if joined or is_negated(answer.folded, start):
                denied = match.end()
            elif not _NOT_BEFORE.search(answer.folded, max(0, start - _LOOK_BACK), start):
                found[_value(match, sign is not None and sign[0] != "+")] = None
        codes = {code for number in found for code in self._numbers.get(number, ())}
        if len(codes) == 1:
            return valid(codes.pop())
        if codes:
            return ambiguous(codes)
        return no_label("no label has this number") if found else _NONE

    def many(self, answers: Sequence[Answer]) -> list[Reading]:
        return read_where(answers, string.digits, self, _NONE)


@lru_cache(maxsize=256)
def _reader(numbers: tuple[tuple[int, tuple[str, ...]], ...]) -> _IntegerReader:
    """The reader of some labels' numbers, one for all variants that share them."""
    return _IntegerReader(numbers)


def _value(match: re.Match[str], negative: bool) -> int:
    # Python refuses to parse thousands of digits, which takes quadratic time; no label has that many.
    digits = match["digits"].replace(",", "")[:30]
    return -int(digits) if negative else int(digits)


def _numbers(labels: LabelSet, variant: Variant) -> dict[int, tuple[str, ...]]:
    """Label codes by number; where one label's answer is another's code, the answer wins."""
    claims: dict[int, tuple[str, ...]] = {}
    for rank in ("answer", "code", "name", "value"):
        taken = dict(claims)
        for label in labels.labels:
            texts = {"answer": variant.answers.get(label.code, ""), "code": label.code, "name": label.name}
            number = label.value if rank == "value" else _whole(texts[rank])
            if number is not None and number == int(number) and number not in taken:
                claims[int(number)] = (*claims.get(int(number), ()), label.code)
    return claims


def _whole(text: str) -> int | None:
    text = text.strip()
    match = _NUMBER.fullmatch(text.removeprefix("+").removeprefix("-").removeprefix("−"))
    return _value(match, text[0] in "-−") if match else None
