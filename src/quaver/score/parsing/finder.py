"""Finding the forms of labels in text, in time linear in its length.

Rules 2 to 7 of ``quaver.score.parsing.label_forms`` say which places count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain, islice

import polars as pl

# Combining marks by block: a vowel sign belongs to its word, as a letter does.
_MARKS = (
    r"\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f"
    r"\u0900-\u0903\u093a-\u094f\u0981-\u0983\u09bc-\u09cd"
)
_RIGHT_EDGE = rf"(?![^\W_]|[{_MARKS}]|'\w)"
_SPACELESS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_NEGATIONS = (
    *("not", "cannot", "never", "neither", "nor", "non", "no", "without", "than", "less", "hardly"),
    *("instead of", "opposite of", "lack of", "far from", "no longer", "anything but"),
)
_BARE_NEGATIONS = ("不是", "并不", "并非", "没有", "不", "非")
"""Negations of a script without spaces, right before the form."""
_IN_NEGATIONS = (
    *("no", "n't", "never", "neither", "without", "than", "less", "hardly", "instead", "opposite", "lack"),
    *("far from", "anything", "不", "没有", "非"),
)
"""Whatever negates has one of these."""
_GAP = r"""[\s"'*_`(-]"""
_NEGATED = rf"(?:(?:^|[^0-9a-z_])(?:{'|'.join(_NEGATIONS)})|n't){_GAP}|{'|'.join(_BARE_NEGATIONS)}"
"""The same, in the syntax of Rust's ``regex``: a negation without what stands between it and a form."""
_LONGEST_NEGATION = max(map(len, _NEGATIONS))
BEFORE = 64
"""How far before a form a negation with its words can begin."""
_MOST = 10_000
_AFTER_CHOICE = "or|and|but|is|was|would|seems|looks|because|since|as"
_BETWEEN = (
    "an|a|the|any|either|be|contain|have|express|show|really|very|quite|so|too|as|entirely|completely|overly"
    "|necessarily|clearly|particularly|at all|vote for|voting for|voted for|choose|pick|select"
    "|call it|call this|say it is|say it's|say this is|describe it as|consider it|classify it as|label it as"
    "|rate it"
)


class Finder:
    """Finds patterns in a text as group 1, and negated patterns without that group.

    Most answers hold one label or none. Searching the patterns alone by their first letters is many times
    faster than with negations, so negations come second, from a little before the first place.

    Args:
        patterns: Of `word_pattern` or `letter_patterns`; where two match at one place, the first.
        folded: Whether the texts are in lower case.
    """

    def __init__(self, patterns: list[str], *, folded: bool) -> None:
        forms = "|".join(patterns)
        self._forms = re.compile(f"({forms})")
        negated = rf"{_negation(folded)}(?:{forms})(?:\s(?:or|nor)\s(?:{forms})){{0,3}}"
        self._all = re.compile(rf"({forms})|{negated}")

    def matches(self, text: str, start: int = 0) -> Iterator[re.Match[str]]:
        """The first 10,000 places from a start on, in order."""
        first = self._forms.search(text, start)
        if not first:
            return iter(())
        begun = max(start, first.start() - BEFORE)
        if _may_negate(text[begun : first.start() + _LONGEST_NEGATION]):
            return islice(self._all.finditer(text, begun), _MOST)
        return islice(chain((first,), self._all.finditer(text, first.end())), _MOST)

    def first(self, text: str) -> str:
        """The first of these places that is not negated; empty where there is none."""
        first = self._forms.search(text)
        if not first:
            return ""
        begun = max(0, first.start() - BEFORE)
        if not _may_negate(text[begun : first.start() + _LONGEST_NEGATION]):
            return first[1]
        return next((match[1] for match in self.matches(text) if match[1]), "")

    def firsts(self, texts: Sequence[str]) -> list[re.Match[str] | None]:
        """The first of these places in each of many texts, negated or not."""
        return [*map(self._forms.search, texts)]

    def every(self, text: str) -> list[str]:
        """What is found in a text without negations; empty where more is found than counts."""
        found: list[str] = self._forms.findall(text)
        return found if len(found) < _MOST else []

    def match(self, text: str, start: int) -> re.Match[str] | None:
        """The pattern that matches at a place, without negations."""
        found = self._all.match(text, start)
        return found if found and found[1] else None

    def texts(self, text: str) -> set[str]:
        """What was found, each once."""
        return {match[1] for match in self.matches(text)}


def before(text: str, start: int) -> str:
    """The part of a text in which a negation of the form at a place can stand."""
    return text[max(0, start - BEFORE) : start + _LONGEST_NEGATION]


def may_negate(texts: pl.Series) -> pl.Series:
    """Which texts, in lower case, may hold a negation."""
    held = texts.str.contains_any(list(_IN_NEGATIONS))
    some = held.arg_true()
    doubtful = some.filter(texts.gather(some).str.contains(_NEGATED))
    return held.set(held, False).scatter(doubtful, True)


def _may_negate(text: str) -> bool:
    """Whether a text may hold a negation, which is quicker to say than whether it does."""
    return any(map(text.lower().__contains__, _IN_NEGATIONS))


def _negation(folded: bool) -> str:
    # Most characters begin no negation: one look at the first letter saves fifteen.
    first = "".join(sorted({word[0] for word in _NEGATIONS}))
    first += "" if folded else first.upper()
    nots = "|".join(rf"{word}(?<!\w{word})" for word in _NEGATIONS)
    flags = "" if folded else "i"
    spaced = rf"""(?{flags}:(?:{nots}|n't){_GAP}{{1,3}}(?:(?:{_BETWEEN})\s){{0,2}}){_GAP}{{0,2}}"""
    first += "".join({word[0] for word in _BARE_NEGATIONS})
    return rf"(?=[{first}])(?:{spaced}|{'|'.join(_BARE_NEGATIONS)})"


@cache
def _before_negated() -> re.Pattern[str]:
    return re.compile(rf"{_negation(folded=True)}\Z")


def is_negated(folded: str, start: int) -> bool:
    """Whether a negation stands right before a place in a text in lower case (rule 6)."""
    return _before_negated().search(folded, max(0, start - BEFORE), start) is not None


# What must not precede a form is checked by look-behind after it: a pattern that begins with a letter is
# found faster.


def word_pattern(form: str) -> str:
    """The pattern of a form in folded text (rules 2 to 4)."""
    inner = range(1, len(form) - 1)
    chars = [r"[\s_-]" if char == " " and at in inner else re.escape(char) for at, char in enumerate(form)]
    written = "".join(chars)
    pattern = written
    if _has_edge(form[0]):
        pattern += rf"(?<![^\W_]{written})(?<![{_MARKS}]{written})"
    if _has_edge(form[-1]):
        pattern += _RIGHT_EDGE
    if form[0].isdigit():
        pattern += rf"(?<!\d[.,]{written})(?<![-–−+]{written})(?<!\d [-–−] {written})(?<!\d to {written})"
        pattern += rf"(?<!\d/{written})(?<!\d / {written})(?<!\d of {written})(?<!out of {written})"
    if form[-1].isdigit():
        pattern += r"(?![.,]\d)(?!\s?%|\sper\s?cent\b)(?! ?[-–−] ?\d)(?!\sto\s\d)"
    return pattern


def _has_edge(char: str) -> bool:
    return char.isalnum() and not _SPACELESS.match(char)


def letter_patterns(small: str) -> list[str]:
    """The patterns of a letter in text as it is, for case tells a choice from an article (rule 5)."""
    great = small.upper()
    capital = rf"{great}(?<![^\W_]{great})(?<![{_MARKS}]{great}){_RIGHT_EDGE}"
    if great == "A":
        capital += rf"(?!(?<=[\"'`]{great}) \w)(?:(?! (?!(?:{_AFTER_CHOICE})\b)[a-z])|(?<=[^.!?\s] {great}))"
    if great == "I":
        capital += r"(?! [a-z])"
    alone = rf"{small}(?<![^\r\n]{small})(?=[.,;]?[ \t]*(?m:$))"
    set_off = rf"""{small}(?<![^\s("'*`\[]{small})(?=[)\]:"*`]|'(?!\w))"""
    return [capital, alone, set_off]


def simple_letters(letters: Sequence[str]) -> str:
    """A regular expression of Rust's that matches ASCII wherever these patterns do; empty for no letters."""
    small = "".join(letter for letter in letters if letter.isascii())
    if not small:
        return ""
    edge = "[^0-9A-Za-z]"
    behind = r"""[)\]:"'`*]|[.,;]?[ \t]*$"""
    return rf"(?m)(?:^|{edge})(?:[{small.upper()}](?:$|{edge})|[{small}](?:{behind}))"
