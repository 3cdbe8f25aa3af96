"""How a label may be written in an answer, and where an answer writes one.

The rules, for every evaluator that looks for labels in text:

1. A label is written as the variant's answer for it, or as its name, code or a synonym. The
   variant's answers win: where one label's answer is another's code (letters swapped, digits), it
   is read as the answer. A name, code or synonym that two labels share belongs to both, and
   finding it is ambiguous; so is an answer that two labels share.
2. Case does not count, except for one-letter forms (rule 5). White space, a hyphen or an underscore
   inside a form may each stand for the other.
3. A form is found as a whole word: no letter, digit, underscore or combining mark touches it where
   its own edge is one. Scripts that are written without spaces (Chinese, Japanese, Thai, Lao,
   Khmer, Burmese) have no such edges. Where two forms begin at one place the longest is found, and
   what lies inside a form that was found is not found again: "very positive" is not "positive".
4. A number is found as a whole: not in a decimal (``0.5``), with a sign (``-1``), in ``1,000``, in a
   percentage or in a range (``1-5``).
5. One letter is found where it is a capital, else only where it has a line to itself or is set off
   as a choice (``a)``, ``a:``, ``(a]``, ``"a"``). ``A`` that begins a sentence and is followed by a
   word in lower case is an article; ``I`` followed by such a word or an apostrophe is a pronoun.
6. A form behind a negation is no mention of its label. Negations are not, n't, cannot, never,
   neither, nor, non, no, without, than, instead of, opposite of, lack of, far from, no longer; up to
   two of a, an, the, be, really, very, quite, so, too, as, necessarily, clearly, particularly may
   stand between. (A form that begins with a negation, such as "not relevant", is found first.)
7. The first 10,000 places of an answer count.
"""

from __future__ import annotations

import heapq
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from quaver.records import LabelSet, Variant
from quaver.score.answer import Answer, fold, plain

__all__ = ["Forms", "Mention", "forms_of"]

Codes = tuple[str, ...]

# Combining marks by block: a vowel sign belongs to its word, as a letter does.
_WORD = (
    r"\w\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f"
    r"\u0900-\u0903\u093a-\u094f\u0981-\u0983\u09bc-\u09cd"
)
_SPACELESS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_SEPARATOR = re.compile(r"(?<=\S)[\s_-](?=\S)")
_NEGATIONS = (
    *("not", "cannot", "never", "neither", "nor", "non", "no", "without", "than"),
    *("instead of", "opposite of", "lack of", "far from", "no longer"),
)
_GAP = r"""[\s"'*_`(-]"""
_BEFORE = 64
_MOST = 10_000
_BETWEEN = "an|a|the|be|really|very|quite|so|too|as|necessarily|clearly|particularly"


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

    Attributes:
        answers: Codes by folded answer, the variant's answers alone.
        table: Codes by folded form, all of them.
    """

    def __init__(self, labels: LabelSet, answers: Mapping[str, str]) -> None:
        self.answers = _claims((text, code) for code, text in answers.items() if code in labels.codes)
        others = ((text, x.code) for x in labels.labels for text in (x.name, x.code, *x.synonyms))
        self.table = _claims(others) | self.answers
        letters = sorted(form for form in self.table if _is_letter(form))
        words = sorted(self.table.keys() - set(letters), key=len, reverse=True)
        self._words = _Finder([_word(form) for form in words], str.lower) if words else None
        self._letters = _Finder([p for x in letters for p in _letter(x)], str) if letters else None
        self._apart = not any(set(letters) & set(re.findall(r"\w+", word)) for word in words)

    def whole(self, text: str) -> Codes:
        """The codes of the label whose form a text is, whatever its case; none where it is no form.

        Args:
            text: Without anything around the form.
        """
        text = fold(text)
        return self.table.get(text) or self.table.get(_SEPARATOR.sub(" ", text), ())

    def mentions(self, answer: Answer) -> Iterator[Mention]:
        """Where an answer writes a label, in order of place, negated ones included."""
        words = self._found(self._words, answer.folded) if self._words else iter(())
        letters = self._found(self._letters, answer.text) if self._letters else iter(())
        if not self._letters:
            return words
        return _merged(words, letters) if self._words else letters

    def first(self, answer: Answer) -> Codes:
        """The codes of the first label that an answer mentions; none where it mentions none."""
        return next((mention.codes for mention in self.mentions(answer) if mention.codes), ())

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

    def _found(self, finder: _Finder, text: str) -> Iterator[Mention]:
        return (Mention(match.start(), match.end(), self._codes(match[1])) for match in finder.matches(text))


def _merged(words: Iterator[Mention], letters: Iterator[Mention]) -> Iterator[Mention]:
    end = 0
    for mention in heapq.merge(words, letters, key=lambda mention: (mention.start, -mention.end)):
        if mention.start >= end:
            end = mention.end
            yield mention


def forms_of(labels: LabelSet, variant: Variant) -> Forms:
    """The forms of a task's labels under one variant, made once for all that share its answers."""
    return _forms_of(labels, tuple(variant.answers.items()))


@lru_cache(maxsize=256)
def _forms_of(labels: LabelSet, answers: tuple[tuple[str, str], ...]) -> Forms:
    return Forms(labels, dict(answers))


def _claims(pairs: Iterable[tuple[str, str]]) -> dict[str, Codes]:
    """The codes that claim each form, in the order in which they do."""
    claims: dict[str, dict[str, None]] = defaultdict(dict)
    for text, code in pairs:
        form = _SEPARATOR.sub(" ", " ".join(fold(plain(text)).split()))
        if form:
            claims[form][code] = None
    return {form: tuple(codes) for form, codes in claims.items()}


class _Finder:
    """Finds the patterns in a text, as group 1, and the negations with one of them, without it.

    Most answers of a long study hold one label or none. The patterns alone can be searched by the
    letters that they begin with, many times faster than with the negations: so these come second,
    and only from a little before the first place.
    """

    def __init__(self, patterns: list[str], cased: Callable[[str], str]) -> None:
        forms = "|".join(patterns)
        self._forms = re.compile(forms)
        self._all = re.compile(rf"({forms})|{_negation(cased)}(?:{forms})")

    def matches(self, text: str) -> Iterator[re.Match[str]]:
        first = self._forms.search(text)
        if not first:
            return iter(())
        return islice(self._all.finditer(text, max(0, first.start() - _BEFORE)), _MOST)

    def texts(self, text: str) -> set[str]:
        return {match[1] for match in self.matches(text)}


def _negation(cased: Callable[[str], str]) -> str:
    # Most characters begin no negation: one look at the first letter saves fifteen.
    first = "".join(sorted({word[0] for word in _NEGATIONS}))
    first += "" if cased is str.lower else first.upper()
    nots = "|".join(rf"{word}(?<!\w{word})" for word in _NEGATIONS)
    flags = "" if cased is str.lower else "i"
    return rf"""(?=[{first}])(?{flags}:(?:{nots}|n't){_GAP}{{1,3}}(?:(?:{_BETWEEN})\s){{0,2}}){_GAP}{{0,2}}"""


def _is_letter(form: str) -> bool:
    return len(form) == 1 and form.upper() != form


# What must not stand before a form is looked at behind it, where the form's length is known: a
# pattern that begins with a letter is searched for by it.


def _word(form: str) -> str:
    """The pattern of a form in folded text (rules 2 to 4)."""
    inner = range(1, len(form) - 1)
    chars = [r"[\s_-]" if char == " " and at in inner else re.escape(char) for at, char in enumerate(form)]
    written = "".join(chars)
    pattern = written
    if _has_edge(form[0]):
        pattern += rf"(?<![{_WORD}]{written})"
    if form[0].isdigit():
        pattern += rf"(?<!\d[.,]{written})(?<![-–−+]{written})"
    if form[-1].isdigit():
        pattern += r"(?![.,]\d)(?!\s?%)(?![-–]\d)"
    if _has_edge(form[-1]):
        pattern += rf"(?![{_WORD}])(?!'\w)"
    return pattern


def _has_edge(char: str) -> bool:
    return (char.isalnum() or char == "_") and not _SPACELESS.match(char)


def _letter(small: str) -> list[str]:
    """The patterns of a letter in text as it is, for case tells a choice from an article (rule 5)."""
    great = small.upper()
    capital = rf"{great}(?<![{_WORD}]{great})(?![{_WORD}])(?!'\w)"
    if great == "A":
        capital += rf"(?:(?! [a-z])|(?<=[^.!?\s] {great}))"
    if great == "I":
        capital += r"(?! [a-z])"
    alone = rf"{small}(?<![^\r\n]{small})(?=[.,;]?[ \t]*(?m:$))"
    set_off = rf"""{small}(?<![^\s("'*`\[]{small})(?=[)\]:"*`]|'(?!\w))"""
    return [capital, alone, set_off]
