"""How a label may be written in an answer, and where an answer writes one.

The rules, for every evaluator that looks for labels in text:

1. A label is written as the variant's answer for it, or as its name, code or a synonym. The
   variant's answers win: where one label's answer is another's code (letters swapped, digits), it
   is read as the answer. A name, code or synonym that two labels share belongs to both, and
   finding it is ambiguous; so is an answer that two labels share.
2. Case does not count, except for one-letter forms (rule 5). White space, a hyphen or an underscore
   inside a form may each stand for the other.
3. A form is found as a whole word: no letter, digit or combining mark touches it where its own
   edge is a letter or digit. Scripts that are written without spaces (Chinese, Japanese, Thai, Lao,
   Khmer, Burmese) have no such edges. Where two forms begin at one place the longest is found, and
   what lies inside a form that was found is not found again: "very positive" is not "positive".
4. A number is found as a whole: not in a decimal (``0.5``), with a sign (``-1``), in ``1,000``, in a
   percentage, in a range (``1-5``, ``1 to 5``) or as a total (the 5 in ``4/5``, ``4 of 5`` and ``4 out of
   5``).
5. One letter is found where it is a capital, else only where it has a line to itself or is set off
   as a choice (``a)``, ``a:``, ``(a]``, ``"a"``). ``A`` that begins a sentence and is followed by a
   word in lower case is an article (but before or, and, but, is, was, would, seems, looks, because,
   since, as), and so is one right behind a quote and before a word; ``I`` followed by a word in
   lower case or an apostrophe is a pronoun.
6. A form behind a negation is no mention of its label. Negations are not, n't, cannot, never,
   neither, nor, non, no, without, than, less, hardly, instead of, opposite of, lack of, far from,
   no longer, anything but; up to two of a, an, the, any, either, be, contain, have, express, show,
   really, very, quite, so, too, as, entirely, completely, overly, necessarily, clearly,
   particularly, at all, vote for, voting for, voted for, choose, pick, select, call it, call this,
   say it is, say it's, say this is, describe it as, consider it, classify it as, label it as, rate
   it may stand between, and what "or" and "nor" join to the form is negated too. In Chinese they
   are 不是, 并不, 并非, 没有, 不, 非, right before the form. (A form that begins with a negation, such as
   "not relevant", is found first.)
7. The first 10,000 places of an answer count.
"""

from __future__ import annotations

import heapq
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain, islice
from typing import NamedTuple

import numpy as np
import polars as pl

from quaver.core.number_format import composed
from quaver.core.records import LabelSet, Variant
from quaver.score.parsing.many_answers import ManyAnswers
from quaver.score.parsing.parsed_answer import Answer, fold, plain

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
        match = self._all.match(text, start)
        return match if match and match[1] else None

    def texts(self, text: str) -> set[str]:
        """What was found, each once."""
        return {match[1] for match in self.matches(text)}


def before(text: str, start: int) -> str:
    """The part of a text in which a negation of the form at a place can stand."""
    return text[max(0, start - BEFORE) : start + _LONGEST_NEGATION]


def may_negate(texts: pl.Series) -> pl.Series:
    """Which texts, in lower case, may hold a negation."""
    held = texts.str.contains_any(list(_IN_NEGATIONS))
    series = held.arg_true()
    doubtful = series.filter(texts.gather(series).str.contains(_NEGATED))
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
    chars = [
        r"[\s_-]" if char == " " and index in inner else re.escape(char) for index, char in enumerate(form)
    ]
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


Codes = tuple[str, ...]

_SEPARATOR = re.compile(r"(?<=\S)[\s_-](?=\S)")
_AROUND = " \t\r\n\"'`*_()[]{}<>.,:;!?#$"
_SET_OFF = re.compile(r"[\s\"'`*_(\[{<>$:=#]*(?:[-•–]\s+)?[\"'`*_(\[{<$]*")
_BULLET = re.compile(r"^[-•–+]+\s+")
_JOINT = re.compile(r"[\s\"'`*_)\]}>]*(?:\b(?:or|and|to)\b|[,/|&])[\s\"'`*_(\[{<]*", re.IGNORECASE)
_LINE = 200


class Mention(NamedTuple):
    """A place in an answer where a label is written.

    Attributes:
        start: Where it begins in the answer's text.
        end: Where it ends.
        codes: The label's code; several where labels share the form; none behind a negation.
    """

    start: int
    end: int
    codes: Codes


class Forms:
    """The forms of a task's labels under one variant.

    Args:
        labels: The task's label set.
        answers: What the variant asks for, by label code: authoritative (rule 1).
        longest: Leave out forms of more characters than this.

    Attributes:
        answers: Codes by folded answer, the variant's answers alone.
        table: Codes by folded form, all of them.
        words: A simple answer (see `ManyAnswers`) that has none of them in lower case, and does not match
            ``letter``, has no form.
        letter: A regular expression of Rust's for the forms that are letters; empty without any.
    """

    def __init__(self, labels: LabelSet, answers: Mapping[str, str], longest: int | None = None) -> None:
        self.answers = _claims((text, code) for code, text in answers.items() if code in labels.codes)
        others = ((text, x.code) for x in labels.labels for text in (x.name, x.code, *x.synonyms))
        table = _claims(others) | self.answers
        self.table = {form: codes for form, codes in table.items() if longest is None or len(form) <= longest}
        self._longest = max(map(len, self.table), default=0)
        letters = sorted(form for form in self.table if len(form) == 1 and form.upper() != form)
        words = sorted(self.table.keys() - set(letters), key=len, reverse=True)
        self._words = Finder([word_pattern(form) for form in words], folded=True) if words else None
        self.words = sorted({max(form.split(" "), key=len) for form in words})
        self.letter = simple_letters(letters)
        patterns = [pattern for letter in letters for pattern in letter_patterns(letter)]
        self._letters = Finder(patterns, folded=False) if letters else None
        self._apart = not any(set(letters) & set(re.findall(r"\w+", word)) for word in words)

    def whole(self, text: str) -> Codes:
        """The codes of the label whose form a text is, whatever its case; none where it is no form."""
        text = composed(text)  # what JSON escapes is not composed with the answer
        if len(text) > self._longest:
            return ()
        text = fold(text)
        return self.table.get(text) or self.table.get(_SEPARATOR.sub(" ", text), ())

    def mentions(self, answer: Answer, start: int = 0) -> Iterator[Mention]:
        """Where an answer writes a label, in order of place from a start, negated ones included."""
        words = self._found(self._words, answer.folded, start) if self._words else iter(())
        letters = self._found(self._letters, answer.text, start) if self._letters else iter(())
        if not self._letters:
            return words
        return _merged(words, letters) if self._words else letters

    def given(self, answer: Answer, start: int) -> Codes:
        """The codes of the label with which an answer goes on at a place, as behind "Answer:".

        What sets a form off (white space, quotes, brackets, marks of emphasis) is passed over, a
        letter may be small where it ends the line, and a form that is joined to another label's by
        "or", "and", a comma or a slash is not given.
        """
        start = _SET_OFF.match(answer.text, start).end()  # type: ignore[union-attr]
        mention = self._at(answer, start)
        if mention is None:
            line = answer.text[start : start + _LINE].partition("\n")[0]
            return self.whole(bare(line))
        joint = _JOINT.match(answer.text, mention.end)
        other = self._at(answer, joint.end()) if joint else None
        return mention.codes if other is None or other.codes == mention.codes else ()

    def _at(self, answer: Answer, start: int) -> Mention | None:
        found = [
            Mention(match.start(), match.end(), self._codes(match[1]))
            for finder, text in ((self._words, answer.folded), (self._letters, answer.text))
            if finder and (match := finder.match(text, start))
        ]
        return max(found, key=lambda mention: mention.end) if found else None

    def last(self, answer: Answer) -> Codes:
        """The codes of the last label that an answer mentions; none where it mentions none."""
        size, window = len(answer.text), 1000
        while True:
            # A form or a negation may be cut where the window begins: these places do not count.
            start = max(0, size - window)
            edge = start + BEFORE if start else 0
            found = [m.codes for m in self.mentions(answer, start) if m.codes and m.start >= edge]
            if found or not start:
                return found[-1] if found else ()
            window *= 4

    def first(self, answer: Answer) -> Codes:
        """The codes of the first label that an answer mentions; none where it mentions none."""
        if self._words and not self._letters:
            return self._codes(self._words.first(answer.folded))
        return next((mention.codes for mention in self.mentions(answer) if mention.codes), ())

    def firsts(self, answers: ManyAnswers, places: Sequence[int]) -> list[Codes | None]:
        """The codes of the first label that each of some answers mentions; None where it may be negated."""
        matches = _searched(self._words, answers.folded, places)
        if self._letters:
            letters = _searched(self._letters, answers.texts, places)
            matches = [*map(_earlier, matches, letters)]
        folded = answers.folded.gather(np.array(places, np.intp)).to_list()
        near = [
            before(text, match.start()) if match else "" for match, text in zip(matches, folded, strict=True)
        ]
        negated = may_negate(pl.Series(near, dtype=pl.String))
        return [
            None if doubtful else self._codes(match[1]) if match else ()
            for match, doubtful in zip(matches, negated, strict=True)
        ]

    def distincts(self, answers: ManyAnswers, places: Sequence[int]) -> list[set[str] | None]:
        """The codes of all labels that each of some answers mentions; None where any may be negated."""
        chosen = np.array(places, np.intp)
        folded = answers.folded.gather(chosen)
        doubtful = may_negate(folded).to_list() if self._apart else [True] * len(places)
        result: list[set[str] | None] = [None] * len(places)
        as_is = answers.texts.gather(chosen) if self._letters else folded
        for index, (text, written) in enumerate(zip(folded, as_is, strict=True)):
            if doubtful[index]:
                continue
            forms = {*self._words.every(text)} if self._words else set()
            forms |= {*self._letters.every(written)} if self._letters else set()
            result[index] = {code for form in forms for code in self._codes(form)} if forms else None
        return result

    def distinct(self, answer: Answer) -> set[str]:
        """The codes of all labels that an answer mentions."""
        if not self._apart:
            return {code for mention in self.mentions(answer) for code in mention.codes}
        found = self._words.texts(answer.folded) if self._words else set()
        if self._letters:
            found |= self._letters.texts(answer.text)
        return {code for form in found for code in self._codes(form)}

    def _codes(self, form: str) -> Codes:
        return self.table.get(form) or (self.whole(form) if form else ())

    def _found(self, finder: Finder, text: str, start: int) -> Iterator[Mention]:
        return (
            Mention(match.start(), match.end(), self._codes(match[1]))
            for match in finder.matches(text, start)
        )


def _searched(finder: Finder | None, texts: pl.Series, places: Sequence[int]) -> list[re.Match[str] | None]:
    if finder is None:
        return [None] * len(places)
    return finder.firsts(texts.gather(np.array(places, np.intp)).to_list())


def _earlier(one: re.Match[str] | None, other: re.Match[str] | None) -> re.Match[str] | None:
    """Which of two places comes first; the longer of two that begin together."""
    if one is None or other is None:
        return one or other
    return min(one, other, key=lambda match: (match.start(), -match.end()))


def _merged(words: Iterator[Mention], letters: Iterator[Mention]) -> Iterator[Mention]:
    end = 0
    for mention in heapq.merge(words, letters, key=lambda mention: (mention.start, -mention.end)):
        if mention.start >= end:
            end = mention.end
            yield mention


def bare(text: str) -> str:
    """A text without what sets an answer off: quotes, brackets, emphasis, bullets, stops.

    >>> bare("- **(B).**")
    'B'
    """
    return _BULLET.sub("", text.strip(_AROUND)).strip(_AROUND)


def forms_of(labels: LabelSet, variant: Variant, *, longest: int | None = None) -> Forms:
    """The forms of a task's labels under one variant, made once for all that share its answers."""
    return _forms_of(labels, tuple(variant.answers.items()), longest)


@lru_cache(maxsize=256)
def _forms_of(labels: LabelSet, answers: tuple[tuple[str, str], ...], longest: int | None) -> Forms:
    return Forms(labels, dict(answers), longest)


def _claims(pairs: Iterable[tuple[str, str]]) -> dict[str, Codes]:
    """The codes that claim each form, in the order in which they do."""
    claims: dict[str, dict[str, None]] = defaultdict(dict)
    for text, code in pairs:
        form = _SEPARATOR.sub(" ", " ".join(fold(plain(text)).split()))
        if form:
            claims[form][code] = None
    return {form: tuple(codes) for form, codes in claims.items()}
