"""How a label may be written in an answer, and where an answer writes one.

The rules, for every evaluator that looks for labels in text:

1. A label is written as the variant's answer for it, or as its name, code or a synonym. The
   variant's answers win: where one label's answer is another's code (letters swapped, digits), it
   is read as the answer. A name, code or synonym that two labels share belongs to both, and
   finding it is ambiguous; so is an answer that two labels share.
2. Case does not count, except for one-letter forms (rule 5). White space, hyphens and
   underscores inside a form may stand for each other. A name that begins with a code
   (``501: Environment``, ``2. Health``) is also found by its code alone, by the rest alone, or with
   another sign between the two, unless another label is written in that way.
3. A form is found only as a whole word: where it begins or ends with a letter or digit, no other letter,
   digit or combining mark may touch it. Scripts that are written without spaces (Chinese, Japanese, Thai,
   Lao, Khmer, Burmese) are exempt, and may touch a form of another script. Korean particles and the
   Turkish copula may follow a form; Arabic and Hebrew articles and prefixes may precede one. If two forms
   begin at the same place, the longest is found, and no form is found inside it: "very positive" is not
   "positive". If one label is the negation of another ("not toxic", "non-toxic"), "isn't toxic" is read
   as that label.
4. A number is found only as a whole: not in a decimal (``0.5``), with a sign (``-1``), in ``1,000``, in a
   percentage, in a range (``1-5``, ``1 to 5``) or as a total (the 5 in ``4/5``, ``4 of 5`` and ``4 out of
   5``). ``4.0`` is ``4``.
5. A single letter is found if it is a capital; a small letter is found only if it has a line to itself or
   is set off as a choice (``a)``, ``a:``, ``(a]``, ``"a"``). ``A`` is an article if it begins a sentence
   and a word in lower case follows (other than or, and, but, is, was, would, seems, looks, because,
   since, as), or if it is right after a quotation mark and before a word. ``I`` is a pronoun if a word in
   lower case or an apostrophe follows.
6. A form after a negation does not count as a mention of its label, nor does a form before one in
   languages that put the negation last. The table below has the negations of 30 languages (not, n't,
   without, than, instead of; nicht, kein; no; pas; не; 不; ではなく; 이 아니; değil …). Up to two words
   such as a, the, any, very, really, is or vote for may be between a negation and the form. A form that
   "or" or "nor" joins to a negated form is negated too. (A form that begins with a negation, such as
   "not relevant", is found first.)
7. Only the first 10,000 forms in an answer count.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain, islice
from typing import Final, NamedTuple

from quaver.core.labels import code_and_name
from quaver.core.number_format import composed
from quaver.core.records import LabelSet, Variant
from quaver.score.parsing.languages import SPACELESS, languages, phrases, phrases_in, spaced, spaceless
from quaver.score.parsing.parsed_answer import Answer, fold, plain

# Combining marks by block: a vowel sign belongs to its word, as a letter does.
_MARKS = (
    r"\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f"
    r"\u0900-\u0903\u093a-\u094f\u0981-\u0983\u09bc-\u09cd"
)
_HANGUL = "\uac00-\ud7a3"
_SPACELESS = re.compile(f"[{SPACELESS}]")
_KOREAN, _SEMITIC = re.compile(f"[{_HANGUL}]"), re.compile("[\u0590-\u06ff]")
# What may not touch a form: a letter or digit, but of a script without spaces.
_LETTER = rf"[^\W_{SPACELESS}]"
_LATIN_LETTER = rf"[^\W_{SPACELESS}{_HANGUL}]"
_GAP: Final = " \t\n\r\"'*_`(-"
_BEFORE: Final = 64
"""How far before a form a negation with its words can begin."""
_MOST: Final = 10_000
_MOST_BETWEEN: Final = 2
_AFTER_CHOICE = "or|and|but|is|was|would|seems|looks|because|since|as"
_JOINED = re.compile(r"[\s\"'*_`]*(?:\b(?:or|nor)\b|/)[\s\"'*_`(]*(?:an?\s)?")


@cache
def _negated_behind() -> re.Pattern[str]:
    return re.compile(rf"[\s\"'*_`)]*(?:{'|'.join(map(re.escape, sorted(phrases('after'))))})(?!\w{{12}})")


def is_negated(folded: str, start: int, end: int | None = None) -> bool:
    """Whether a negation stands right before a place in a folded text, or right behind it (rule 6)."""
    before = folded[max(0, start - _BEFORE) : start]
    tail = before.rstrip(_GAP)
    words = tail.rsplit(None, 1)
    last = words[-1].lstrip("\"'*_`(") if words else ""
    if last in _last_words() or last.endswith("n't"):
        gap = before[len(tail) :]  # a list's next entry is another sentence
        is_next = gap[:3] in ("\n* ", "\n- ") or (last == "no" and gap[:1] == "\n")
        return len(gap) in (1, 2, 3) and not is_next and _ends_in_negation(tail)
    if folded.isascii():
        return False
    if tail.endswith(spaceless("not")):
        return True
    return end is not None and _negated_behind().match(folded, end) is not None


@cache
def _last_words() -> frozenset[str]:
    """The words in which a negation ends, or what may stand between it and a form."""
    return frozenset(phrase.rsplit(" ", 1)[-1] for kind in ("not", "between") for phrase in spaced(kind))


def _ends_in_negation(text: str) -> bool:
    """Whether the last words of a text are a negation, with what may stand between it and a form."""
    words = text.split()[-5:]
    skipped = 0
    while words:
        last = words[-1].lstrip("\"'*_`(")
        ends = {" ".join([*words[-some:-1], last]) for some in range(1, 5)}
        if last.endswith("n't") or not spaced("not").isdisjoint(ends):
            return True
        length = next(
            (some for some in (3, 2, 1) if " ".join([*words[-some:-1], last]) in spaced("between")), 0
        )
        if not length or skipped == _MOST_BETWEEN:
            return False
        words, skipped = words[:-length], skipped + 1
    return False


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
        letter = _LATIN_LETTER if form[0].isascii() else _LETTER
        whole = rf"(?<!{letter}{written})(?<![{_MARKS}]{written})"
        if _SEMITIC.match(form[0]):
            whole = "|".join([whole, *(rf"(?<=\b{some}{written})" for some in _glued("ar", "he"))])
        pattern += f"(?:{whole})"
    if _has_edge(form[-1]):
        pattern += _right_edge(form[-1])
    if form[0].isdigit():
        pattern += rf"(?<!\d[.,]{written})(?<![-–−+]{written})(?<!\d [-–−] {written})(?<!\d to {written})"
        pattern += rf"(?<!\d/{written})(?<!\d / {written})(?<!\d of {written})(?<!out of {written})"
    if form[-1].isdigit():
        pattern += r"(?!,\d|\.(?!0++(?![\d.,]))\d)(?!\s?%|\sper\s?cent\b)(?! ?[-–−] ?\d)(?!\sto\s\d)"
    return pattern


def _right_edge(char: str) -> str:
    """What may not follow a form that ends in a letter; Korean particles and the Turkish copula may."""
    letter = _LATIN_LETTER if char.isascii() else _LETTER
    edge = rf"(?!{letter}|[{_MARKS}]|'\w)"
    glued = "|".join(_glued("ko")) if _KOREAN.match(char) else rf"(?:{'|'.join(_glued('tr'))})(?!\w)"
    return rf"(?:{edge}|(?={glued}))" if char.isalpha() else edge


def _glued(*codes: str) -> tuple[str, ...]:
    """The affixes of some languages that may touch a form."""
    return tuple(phrase for code in codes for phrase in phrases_in(languages()[code], "glued"))


def _has_edge(char: str) -> bool:
    return char.isalnum() and not _SPACELESS.match(char)


def letter_patterns(small: str) -> list[str]:
    """The patterns of a letter in text as it is, for case tells a choice from an article (rule 5)."""
    great = small.upper()
    capital = rf"{great}(?<!{_LATIN_LETTER}{great})(?<![{_MARKS}]{great})" + _right_edge(small)
    if great == "A":
        capital += rf"(?!(?<=[\"'`]{great}) \w)(?:(?! (?!(?:{_AFTER_CHOICE})\b)[a-z])|(?<=[^.!?\s] {great}))"
    if great == "I":
        capital += r"(?! [a-z])"
    alone = rf"{small}(?<![^\r\n]{small})(?=[.,;]?[ \t]*(?m:$))"
    set_off = rf"""{small}(?<![^\s("'*`\[]{small})(?=[)\]:"*`]|'(?!\w))"""
    return [capital, alone, set_off]


Codes = tuple[str, ...]

_SEPARATOR = re.compile(r"(?<=\S)[\s_-](?=\S)")
_AROUND = " \t\r\n\"'`*_()[]{}<>.,:;!?#$。！、，«»「」『』【】"
_SET_OFF = re.compile(r"[\s\"'`*_(\[{<>$:=#]*(?:[-•–]\s+)?[\"'`*_(\[{<$]*")
_BULLET = re.compile(r"^(?:[-•–+]+\s+|[→⇒➔✅✔✓☑☒●◉]\s*)")
_DENIALS: Final = ("not ", "non ", "non", "isn't ", "is not ")
_MORE: Final = 8
"""Characters by which a form may be longer than the longest: the decimals of a whole number, other signs."""
_ZEROS = re.compile(r"([+-]?\d+)\.0+")
JOINT = re.compile(
    rf"[\s\"'*_`)\]}}>-]*(?:\b(?:{'|'.join(map(re.escape, sorted(spaced('or'))))})\b"
    rf"|{'|'.join(map(re.escape, spaceless('or')))}|[,/|&،])[\s\"'*_`(\[{{<-]*"
    r"(?:\b(?:or|and)\b\s*)?[\"'*_`(\[]*"
)
"""What joins labels to a list, in folded text."""
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


def codes_of(mentions: Iterable[Mention]) -> set[str]:
    """The codes of the labels that are mentioned."""
    return set(chain.from_iterable(mention.codes for mention in mentions))


class Forms:
    """The forms of a task's labels under one variant.

    Args:
        labels: The task's label set.
        answers: What the variant asks for, by label code: authoritative (rule 1).
        longest: Leave out forms of more characters than this.

    Attributes:
        answers: Codes by folded answer, the variant's answers alone.
        table: Codes by folded form, all of them.
    """

    def __init__(self, labels: LabelSet, answers: Mapping[str, str], longest: int | None = None) -> None:
        self.answers = _claims((text, code) for code, text in answers.items() if code in labels.codes)
        others, parts = list[tuple[str, str]](), list[tuple[str, str]]()
        for label in labels.labels:
            for text in (label.name, label.code, *label.synonyms):
                others.append((text, label.code))
                parts += ((part, label.code) for part in code_and_name(text) or ())
        table = _claims(others) | self.answers
        for form, codes in _claims(parts).items():
            if len(codes) == 1:
                table.setdefault(form, codes)
        denials = [(form, *form.split(" ", 1)) for form in table if form.startswith(("not ", "non ", "no "))]
        for form, _, of in denials:
            if of in table:  # where one label denies another, "isn't toxic" is "non-toxic"
                table = {f"{denial}{of}": table[form] for denial in _DENIALS} | table
        self.table = {form: codes for form, codes in table.items() if longest is None or len(form) <= longest}
        self._longest = max(map(len, self.table), default=0)
        letters = sorted(form for form in self.table if len(form) == 1 and form.upper() != form)
        words = sorted(self.table.keys() - set(letters), key=len, reverse=True)
        self._words = _either(map(word_pattern, words))
        self._letters = _either(pattern for letter in letters for pattern in letter_patterns(letter))

    def whole(self, text: str) -> Codes:
        """The codes of the label whose form a text is, whatever its case; none where it is no form."""
        text = composed(text)  # what JSON escapes is not composed with the answer
        if len(text) > self._longest + _MORE:
            return ()
        text = fold(plain(text))
        codes = self.table.get(text) or self.table.get(_SEPARATOR.sub(" ", text), ())
        if not codes and (whole := _ZEROS.fullmatch(text)):
            codes = self.table.get(whole[1], ())
        if not codes and (coded := code_and_name(text)):
            codes, of_rest = map(self.whole, coded)
            codes = codes if codes == of_rest else ()
        return codes

    def mentions(self, answer: Answer, start: int = 0) -> Sequence[Mention]:
        """Where an answer writes a label, in order of place from a start, negated ones included."""
        if not start and answer.mentions is not None and answer.mentions[0] is self:
            mentions: Sequence[Mention] = answer.mentions[1]
            return mentions
        mentions = [*self._mentions(answer, start)]
        if not start:
            answer.mentions = self, mentions
        return mentions

    def _mentions(self, answer: Answer, start: int) -> Iterator[Mention]:
        folded, denied, table = answer.folded, -1, self.table
        for begin, end, form in self._places(answer, start):
            joined = denied >= 0 and _JOINED.fullmatch(folded, denied, begin)
            if joined or is_negated(folded, begin, end):
                denied = end
                yield Mention(begin, end, ())
            else:
                denied = -1
                yield Mention(begin, end, table.get(form) or self._codes(form))

    def _places(self, answer: Answer, start: int) -> list[tuple[int, int, str]]:
        """Where forms stand, negated or not; none overlaps with one before, and the longest comes first."""
        places: list[tuple[int, int, str]] = []
        for pattern, text in self._patterns(answer):
            for match in islice(pattern.finditer(text, start), _MOST):
                places.append((*match.span(), match[0]))
        if self._words is None or self._letters is None:
            return places
        kept, done = [], 0
        for place in sorted(places, key=lambda place: (place[0], -place[1])):
            if place[0] >= done:
                done = place[1]
                kept.append(place)
        return kept

    def given(self, answer: Answer, start: int) -> Codes:
        """The codes of the label with which an answer goes on at a place, as behind "Answer:".

        What sets a form off (white space, quotes, brackets, marks of emphasis) is skipped, a
        letter may be small where it ends the line, and a form that is joined to another label's by
        "or", "and", a comma or a slash is not given.
        """
        start = _SET_OFF.match(answer.text, start).end()  # type: ignore[union-attr]
        mention = self._at(answer, start)
        if mention is None:
            line = answer.text[start : start + _LINE].partition("\n")[0]
            return self.whole(bare(line))
        joint = JOINT.match(answer.folded, mention.end)
        other = self._at(answer, joint.end()) if joint else None
        return mention.codes if other is None or other.codes == mention.codes else ()

    def _at(self, answer: Answer, start: int) -> Mention | None:
        longest = None
        for pattern, text in self._patterns(answer):
            match = pattern.match(text, start)
            if match and (longest is None or match.end() > longest.end):
                longest = Mention(match.start(), match.end(), self._codes(match[0]))
        return longest

    def _patterns(self, answer: Answer) -> Iterator[tuple[re.Pattern[str], str]]:
        """The patterns of words and of letters, each with the text in which it stands."""
        if self._words:
            yield self._words, answer.folded
        if self._letters:
            yield self._letters, answer.text

    def last(self, answer: Answer) -> Codes:
        """The codes of the last label that an answer mentions; none where it mentions none."""
        size, window = len(answer.text), 1000
        while True:
            # A form or a negation may be cut where the window begins: these places do not count.
            start = max(0, size - window)
            edge = start + _BEFORE if start else 0
            named = [m.codes for m in self.mentions(answer, start) if m.codes and m.start >= edge]
            if named or not start:
                return named[-1] if named else ()
            window *= 4

    def first(self, answer: Answer) -> Codes:
        """The codes of the first label that an answer mentions; none where it mentions none."""
        return next((mention.codes for mention in self.mentions(answer) if mention.codes), ())

    def distinct(self, answer: Answer) -> set[str]:
        """The codes of all labels that an answer mentions."""
        return codes_of(self.mentions(answer))

    def _codes(self, form: str) -> Codes:
        return self.table.get(form) or (self.whole(form) if form else ())


def _either(patterns: Iterable[str]) -> re.Pattern[str] | None:
    joined = "|".join(patterns)
    return re.compile(joined) if joined else None


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
