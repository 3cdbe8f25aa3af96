r"""Where an answer marks one of the labels that it names as its answer.

The marks, the strongest first; the words are those of all languages in ``languages.toml``:

1. *final*: behind "final answer:", "my final verdict is" and the like, in ``\boxed{…}`` or ``[[…]]``.
2. *announced*: behind "answer:", "label =", "the answer is" or another noun of its kind, in a field or tag of
   such a name, in a box that is ticked.
3. *alone*: the label has a line, a bold phrase, a field or a tag of any name to itself.
4. *chosen*: "I would say", "classified as", behind an arrow, or the only label of a sentence that begins with
   "therefore", "overall" or another word that concludes.
5. *first*: the answer begins with the label, and punctuation or a reason follows.

No mark counts where the label is one of a list ("positive, negative or neutral"; several lines that each
begin with another label), is asked about ("positive?"), or was struck out. The following is no mention of a
label at all: an unticked box, the number of a list or a step, a digit that counts ("1 hashtag"), "no"
before a noun, "none of …".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Final

from quaver.score.parsing.label_forms import JOINT, Codes, Forms, Mention
from quaver.score.parsing.languages import phrases, spaced, spaceless
from quaver.score.parsing.parsed_answer import Answer

FINAL, ANNOUNCED, ALONE, CHOSEN, FIRST = range(1, 6)
HOW: Final = {FINAL: "final", ANNOUNCED: "announced", ALONE: "alone", CHOSEN: "chosen", FIRST: "first"}

_NEAR = 120
_TICKED = re.compile(r"(?:[\[(]\s?[xX✓✔]\s?[\])]|[☑✅✔✓☒🗹◉●🔘])[\s*_`\"']*\Z")
_UNTICKED = re.compile(r"(?:[\[(]\s{0,3}[\])]|[☐❌✗✘○◯⬜⚪□])[\s*_`\"']*\Z")
_DRESS = re.compile(r"[\[(~<]|[^\x00-\x7f]")
_STRUCK = re.compile(r"(?:~~|<del>|<s>|<strike>)\Z")
_BOXED = re.compile(r"(?:\\boxed\{(?:\\text\{|\\textbf\{|\\mathrm\{)?|\[\[)\s?[\"'*_`(]*\Z")
_TAG = re.compile(r"<([a-z][a-z0-9_ -]{0,30})>[\s\"'*_`(\[]*\Z")
_TAG_END = re.compile(r"[\s\"'*_`)\].]*</")
_ARROW = re.compile(r"(?:[→⇒➔➜]|[-=]{1,2}>)[\s\"'*_`(\[]*\Z")
_CHANGE = re.compile(r"[\s\"'*_`]*(?:[→⇒➔➜]|[-=]{1,2}>)[\s\"'*_`]*")
_IN_NAME = re.compile(r"_[^\W_]")
_STEP = re.compile(
    r"(?:\b(?:step|criterion|rule|point|reason|argument|item|part|section|question|example|text|tweet|option)"
    r"|\bno\.|#)\s?\Z"
)
_LIST_NUMBER = re.compile(r"[.)](?:\s+\S+\s+\S|\s*\Z)")
_COUNTED = re.compile(
    r" (?!(?:because|since|as|for|and|or|but|is|was|out|of|on|in|if|would|seems|to|stars?|points?|here|the|it"
    r"|this)\b)[a-z]"
)
_DETERMINER = re.compile(
    r" (?!(?:because|since|as|it|this|that|the|they|he|she|we|i|but|and|or|is|was|would|there)\b)[a-z]"
    r"|[- ]one\b"
)
_ASKED = re.compile(r"[\"'*_`)\]]*\?")
_CLOSED = re.compile(
    r"(?:[\"'*_`)\]]|\.0+)*\s?(?:\Z|\n|[.!;,](?!\d)|\s[-–—]\s|\s?\(|:\s?[^\d\s.]|\s(?:because|since|as|for)\b)"
)
_KEYED = re.compile(r"[\"'*_`)\]]*\s?[:=]")
_ENDED = re.compile(r"(?:[\"'*_`)\]]|\.0+)*\s?(?:\Z|\n|[.!;,])")
_BEGUN = re.compile(r"(?:\A|[\n.!?;]\s*)[\s\"'*_`(\[#>•·-]*\Z")
_REVERSED = re.compile(
    r"\b(?:wait|actually|on reflection|on second thought|correction|i correct|changed my mind|scratch that"
    r"|let me reconsider)\b"
)
_REST = re.compile(
    r"[\s\"'*_`()\[\]{}<>.,:;!?#$/|=~→⇒•·–—+\\-]|\.0\b|/\s?\d+\b|\bout of \d+\b|\bconfidence\b|\d*\.\d+"
    r"|\d+\s?%"
)
_OTHER_KEYS: Final = frozenset(
    {
        "alternative",
        "alternatives",
        "second",
        "runner",
        "other",
        "unlikely",
        "least",
        "not",
        "text",
        "review",
        "tweet",
        "input",
        "first",
    }
)
_SENTENCE = re.compile(r"[.!?。！？\n](?=\s|[^\x00-\x7f]|\Z)")
_KEY_BREAK = re.compile(r"[.;!?\n,{}<>|。！？；]|\s[-–—]\s|[-*•]\s")
_PARENTHESIS = re.compile(r"\([^()]{0,80}\)")
_WORDS = re.compile(r"[^\W_]+(?:'[a-z]+)?")
_CONTINUED = re.compile(
    r"\n\s*(?:text|review|tweet|question|q|input|sentence|example|headline|comment|post|document|passage|premise|statement|title"
    r"|abstract|instruction|user|human)\s?\d*\s?:"
)


Mark = tuple[int, Mention]
"""The strength of a mark, 1 to 5 as this module numbers them, and the mention that has it."""


def continued(answer: Answer, forms: Forms) -> Answer:
    """An answer without the next text with which a base model goes on behind a first line that is a label."""
    if "\n" not in answer.text or (match := _CONTINUED.search(answer.folded)) is None:
        return answer
    first = answer.cut(match.start())
    return first if forms.whole(first.text.partition("\n")[0].strip(" .*\"'`")) else answer


def named(answer: Answer, forms: Forms) -> tuple[set[str], set[str], int, bool]:
    """The labels that an answer names, and where it names several, those of them that it marks most.

    Returns:
        The labels that are named; those that have the strongest mark; the strength of that mark, 0 without
        one; and whether any mention was left out: negated, struck out or no mention of the label.
    """
    every = forms.mentions(answer)
    mentions = [*_meant(answer, every)]
    codes = {code for mention in mentions for code in mention.codes}
    marks = [] if len(codes) < 2 else [*_marks(answer, mentions)]
    best = min((strength for strength, _ in marks), default=0)
    marked = {code for strength, mention in marks if strength == best for code in mention.codes}
    return codes, marked, best, len(mentions) < len(every)


def marks_of(answer: Answer, forms: Forms) -> Sequence[Mark]:
    """The marks of an answer, however many labels it names."""
    mentions = [*_meant(answer, forms.mentions(answer))]
    return [*_marks(answer, mentions)] if mentions else []


@cache
def _none_of(form: str) -> tuple[str, ...]:
    """How "none of these" begins where a form is only its beginning."""
    return tuple(sorted(one for one in phrases("none") if one.startswith(form) and one != form))


def _meant(answer: Answer, mentions: Sequence[Mention]) -> Iterator[Mention]:
    """The mentions that say something of the answer's label."""
    folded, text = answer.folded, answer.text
    numbered = len(mentions) > 1 and len(re.findall(r"(?m)^\s*(?:step )?\d{1,2}[.):]\s", folded)) > 1
    is_dressed = _DRESS.search(text) is not None
    denied = -9
    for mention in mentions:
        start, end = mention.start, mention.end
        gap = folded[denied:start] if denied >= 0 and start - denied <= 3 else ""
        if not mention.codes or ("(" in gap and not re.search(r"\w", gap)):
            denied = end
            continue
        if is_dressed:
            before = text[max(0, start - 24) : start]
            if _UNTICKED.search(before) or _STRUCK.search(before):
                continue
        form = folded[start:end]
        if form.isdigit() and _is_number_of_list(folded, start, end, numbered=numbered):
            continue
        if form == "no" and _DETERMINER.match(folded, end):
            continue
        if not folded.startswith(_none_of(form), start):
            yield mention


def _is_number_of_list(folded: str, start: int, end: int, *, numbered: bool) -> bool:
    """Whether a number counts something, or numbers a step or a list."""
    before = folded[max(0, start - 24) : start]
    if _STEP.search(before) or _COUNTED.match(folded, end):
        return True
    begins = not before.rpartition("\n")[2].strip(" \t*#-")
    return numbered and begins and _LIST_NUMBER.match(folded, end) is not None


def _marks(answer: Answer, mentions: Sequence[Mention]) -> Iterator[Mark]:
    listed = _listed(answer, mentions)
    lines = _lines(answer, mentions)
    leading = {mention.codes for mention, begun, _ in lines if begun}
    alone = {codes for _, _, codes in lines if codes}
    for (mention, begun, own), in_list in zip(lines, listed, strict=True):
        if in_list or _ASKED.match(answer.folded, mention.end):
            continue
        strength = _strength(answer, mention)
        if strength is None and own and len(alone) == 1:
            strength = ALONE
        if strength is None and _is_bold(answer, mention):
            strength = ALONE
        if strength is not None:
            yield strength, mention
        elif begun and mention is mentions[0] and _is_first(answer, mention, mentions, leading):
            yield FIRST, mention
    yield from _concluded(answer, mentions)


def _listed(answer: Answer, mentions: Sequence[Mention]) -> list[bool]:
    """Which mentions are joined to one of another label."""
    listed = [False] * len(mentions)
    for index, (one, other) in enumerate(pairwise(mentions)):
        gap = answer.folded[one.end : other.start][:_NEAR]
        is_name = _IN_NAME.match(answer.folded, other.end) and '"' in gap
        if one.codes == other.codes or is_name or len(gap) == _NEAR:
            continue
        if _CHANGE.fullmatch(gap) or JOINT.fullmatch(answer.folded, one.end, other.start):
            listed[index] = listed[index + 1] = True
    return listed


def _lines(answer: Answer, mentions: Sequence[Mention]) -> list[tuple[Mention, bool, Codes]]:
    """Of each mention whether its line begins with it, and the label that has the line to itself."""
    text = answer.text
    result: list[tuple[Mention, bool, Codes]] = []
    some: list[Mention] = []
    end = -1

    def close() -> None:
        if not some:
            return
        begin = text.rfind("\n", 0, some[0].start) + 1
        rest, at = [], begin
        for mention in some:
            rest.append(text[at : mention.start])
            at = mention.end
        rest.append(text[at:end][:200])
        same = {mention.codes for mention in some}
        own = same.pop() if len(same) == 1 and not _REST.sub("", "".join(rest)[:400].lower()) else ()
        begun = not _REST.sub("", text[begin : some[0].start][-40:])
        result.extend((mention, begun and mention is some[0], own) for mention in some)

    for mention in mentions:
        if mention.start >= end:
            close()
            some = []
            end = text.find("\n", mention.end)
            end = len(text) if end < 0 else end
        some.append(mention)
    close()
    return result


def _strength(answer: Answer, mention: Mention) -> int | None:
    """The strength of a mention by what stands right before it."""
    start = mention.start
    near = answer.folded[max(0, start - _NEAR) : start]
    line = near.rpartition("\n")[2]
    if _BOXED.search(line):
        return FINAL
    if (tag := _TAG.search(line)) and _TAG_END.match(answer.folded, mention.end):
        return _of_key(tag[1]) or ALONE
    if _TICKED.search(answer.text[max(0, start - 24) : start]):
        return ANNOUNCED
    if _ARROW.search(line):
        return CHOSEN
    bare = line.rstrip(" \t\"'*_`(“[{<$「『【")
    if bare.endswith((":", "=", "|")):
        return _behind_colon(answer, mention, bare)
    return _behind_verb(bare)


def _behind_colon(answer: Answer, mention: Mention, bare: str) -> int | None:
    key = _KEY_BREAK.split(_PARENTHESIS.sub("", bare.rstrip(" :=|*_\"'`")))[-1]
    strength = _of_key(key)
    if strength is not None:
        return strength
    words = _WORDS.findall(key)
    rest = answer.text[mention.end :].partition("\n")[0][:80]
    quoted = re.match(r"[\"'`]\s*(?:[,}\]]|\Z)", rest) is not None and bare[-1] == ":"
    whole = quoted or not _REST.sub("", rest.lower())
    return ALONE if whole and 0 < len(words) <= 3 and not _OTHER_KEYS & {*words} and bare[-1] != "|" else None


def _of_key(key: str) -> int | None:
    """The strength of a label behind a key, by its words."""
    words = {word for part in _WORDS.findall(key) for word in (part, *part.split("_"))}
    words |= {*key.replace("_", " ").split()}
    if (
        words & {"first", "initial", "possible", "alternative", "second", "other", "options", "labels"}
        or len(words) > 14
    ):
        return None
    is_final = bool(words & spaced("final")) or any(one in key for one in spaceless("final"))
    is_answer = bool(words & spaced("answer")) or any(one in key for one in spaceless("answer"))
    is_answer = is_answer or any(one in key for one in spaced("answer") if " " in one)
    if is_final and (is_answer or len(words) == 1):
        return FINAL
    return ANNOUNCED if is_answer else None


def _behind_verb(bare: str) -> int | None:
    """The strength of a label behind "the answer is", "I choose" or "classified as"."""
    sentence = _SENTENCE.split(bare)[-1]
    tail = sentence.rstrip()
    words = tail.replace("*", "").split()
    if not words:
        return None
    last = {words[-1], " ".join(words[-2:]), " ".join(words[-3:])}
    ending = " ".join(words[-6:])
    if not _choosing_words().isdisjoint(words[-6:]) and (
        chosen := next((one for one in _choosing() if one in ending), "")
    ):
        after = ending.rpartition(chosen)[2]
        if len(after.split()) <= 3 and "over" not in after.split():
            return CHOSEN
    if last & spaced("is"):
        strength = _of_key(_KEY_BREAK.split(tail)[-1])
        return strength if strength == FINAL else CHOSEN if strength else None
    glued = next((one for one in spaceless("is") if tail.endswith(one)), "")
    if glued and (strength := _of_key(_KEY_BREAK.split(tail)[-1])):
        return strength if strength == FINAL else CHOSEN
    return None


@cache
def _choosing_words() -> frozenset[str]:
    return frozenset(one.split(" ", 1)[0] for one in phrases("choose"))


@cache
def _choosing() -> tuple[str, ...]:
    return tuple(sorted(phrases("choose"), key=lambda one: (-len(one), one)))


def _is_bold(answer: Answer, mention: Mention) -> bool:
    """Whether the label is all that a bold phrase holds."""
    line_start = answer.text.rfind("\n", max(0, mention.start - 400), mention.start) + 1
    before = answer.text[line_start : mention.start]
    for sign, end_sign in (("**", "**"), ("__", "__"), ("<b>", "</b>"), ("<strong>", "</strong>")):
        opens = before.rfind(sign)
        if opens < 0 or (sign == end_sign and before.count(sign) % 2 == 0):
            continue
        close = answer.text.find(end_sign, mention.end, mention.end + 80)
        inside = before[opens + len(sign) :], answer.text[mention.end : close]
        if close >= 0 and not any(re.search(r"\w", _without(part, mention, answer)) for part in inside):
            return True
    return False


def _without(part: str, mention: Mention, answer: Answer) -> str:
    """A part of a phrase without another form of the same label."""
    answer_forms = answer.mentions
    words = part.strip(" .:)(-–—\"'`")
    if answer_forms and words and answer_forms[0].whole(words) == mention.codes:
        return ""
    return words


def _is_first(answer: Answer, mention: Mention, mentions: Sequence[Mention], leading: set[Codes]) -> bool:
    """Whether an answer begins with its label, rather than with the first of several."""
    if re.search(r"\d", answer.folded[: mention.start]) or not _CLOSED.match(answer.folded, mention.end):
        return False
    if _REVERSED.search(answer.folded, mention.end):
        return False
    others = [other for other in mentions if other.codes != mention.codes]
    if not others:
        return True
    if len(leading) > 1 or all(_KEYED.match(answer.folded, some.end) for some in (mention, others[0])):
        return False
    return not any(
        _BEGUN.search(answer.folded, max(0, other.start - 12), other.start)
        and _ENDED.match(answer.folded, other.end)
        for other in others
    )


def _concluded(answer: Answer, mentions: Sequence[Mention]) -> Iterator[Mark]:
    """The only label of the last sentence that begins with a word that concludes."""
    folded = answer.folded
    last = mentions[-1]
    begin = max(
        (match.end() for match in _SENTENCE.finditer(folded, max(0, last.start - 400), last.start)),
        default=-1,
    )
    begin = 0 if begin < 0 and last.start < 400 else begin
    if begin < 0:
        return
    sentence = folded[begin : last.start].lstrip(" \t\n*_#>-\"'")
    some = [mention for mention in mentions if mention.start >= begin]
    if len({mention.codes for mention in some}) == 1 and _concludes(sentence):
        yield CHOSEN, last


def _concludes(sentence: str) -> bool:
    words = _WORDS.findall(sentence[:60])
    starts = {" ".join(words[:length]) for length in range(1, 5)}
    return bool(starts & spaced("so")) or sentence.startswith(spaceless("so"))
