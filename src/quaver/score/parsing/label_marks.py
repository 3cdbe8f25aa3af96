r"""Where an answer marks one of the labels that it names as its answer.

The marks, the strongest first; the words are those of all languages in ``languages.toml``:

1. *final*: behind "final answer:", "my final verdict is" and the like, in ``\boxed{…}`` or ``[[…]]``.
2. *announced*: behind "answer:", "label =", "the answer is" or another noun of its kind, in a field or tag of
   such a name, beside a box that is ticked ("[x]", "✓", "yes").
3. *alone*: the label has a line, a bold phrase, a field or a tag of any name to itself.
4. *chosen*: "I would say", "classified as", behind an arrow, or the only label of a sentence that begins with
   "therefore", "overall" or another word that concludes.
5. *scored*: each label that is named has a probability, these sum to 1, and the label's is the highest.
6. *first*: the answer begins with the label, and punctuation or a reason follows.

Where the answer takes itself back ("wait", "on reflection") and goes on to mark one label, that one counts.
No mark counts where the label is one of a list ("positive, negative or neutral"; several lines that each
begin with another label), is asked about ("positive?"), or was struck out. The following is no mention of a
label at all: an unticked box, the number of a list or a step, a digit that counts ("1 hashtag"), "no"
before a noun, "none of …".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import groupby, pairwise
from typing import Final

from quaver.score.parsing.label_forms import JOINT, Codes, Forms, Mention, codes_of
from quaver.score.parsing.languages import phrase_pattern, phrases
from quaver.score.parsing.parsed_answer import Answer

FINAL, ANNOUNCED, ALONE, CHOSEN, SCORED, FIRST = range(1, 7)
HOW: Final = dict(enumerate(("final", "announced", "alone", "chosen", "scored", "first"), 1))

_NEAR = 120
_ARROWS = r"(?:[→⇒➔➜]|[-=]{1,2}>)"
_REASONS = "because|since|as"
_PRONOUNS = "it|this|that|the|they|he|she|we|i"
_BOX = r"(?:(?P<ticked>[\[(] ?[xX✓✔•] ?[\])]|[☑✅✔✓☒🗹◉●🔘]{})|[\[(] {{0,3}}[\])]|[☐❌✗✘○◯⬜⚪□]{})"
_BOX_BEFORE = re.compile(_BOX.format("", "") + r"[^\S\n]*[*_`\"']*\Z")
_WORD_ENDS = r"(?=[\s\"'*_`|]*(?:\Z|[\n,;.|}\])]))"
_ASKING = r"(?:[^.?!\n]{0,60}\?[^\S\n]?)?"
_BOX_BEHIND = re.compile(
    r"[\"'*_`]*[^\S\n]?(?:[:=|–—-][^\S\n]?)?[\"'*_`]*"
    + _BOX.format(*(rf"|{_ASKING}\b(?:{words}){_WORD_ENDS}" for words in ("yes|true", "no|false"))),
    re.IGNORECASE,
)
_SCORE = re.compile(
    r"[\s\"'*_`)]*[:=|(–-]?[\s\"'*_`(]*(?P<number>\d{1,3}(?:\.\d{1,9})?|\.\d{1,9})"
    r"(?:\s?(?P<percent>%)|\s?/\s?(?P<total>10|100|5)\b|(?![\w%/.]))"
)
_TICK_WORDS: Final = frozenset(("yes", "no", "true", "false"))
_DRESS = re.compile(r"[\[(~<]|[^\x00-\x7f]|\b(?:yes|no|true|false)\b", re.IGNORECASE)
_STRUCK = re.compile(r"(?:~~|<del>|<s>|<strike>)\Z")
_BOXED = re.compile(r"(?:\\boxed\{(?:\\text\{|\\textbf\{|\\mathrm\{)?|\[\[)\s?[\"'*_`(]*\Z")
_TAG = re.compile(r"<([a-z][a-z0-9_ -]{0,30})>[\s\"'*_`(\[]*\Z")
_TAG_END = re.compile(r"[\s\"'*_`)\].]*</")
_ARROW = re.compile(rf"{_ARROWS}[\s\"'*_`(\[]*\Z")
_CHANGE = re.compile(rf"[\s\"'*_`]*{_ARROWS}[\s\"'*_`]*")
_IN_NAME = re.compile(r"_[^\W_]")
# A line may be blank: what begins one looks no further than its own end, or many would take for ever.
_NUMBERED = re.compile(r"(?m)^[^\S\n]*(?:step )?\d{1,2}[.):]\s")
_STEP = re.compile(
    r"(?:\b(?:step|criterion|rule|point|reason|argument|item|part|section|question|example|text|tweet|option)"
    r"|\bno\.|#)\s?\Z"
)
_LIST_NUMBER = re.compile(r"[.)](?:\s+\S+\s+\S|\s*\Z)")
_COUNTED = re.compile(
    rf" (?!(?:{_REASONS}|for|and|or|but|is|was|out|of|on|in|if|would|seems|to|stars?|points?|here|the|it"
    r"|this)\b)[a-z]"
)
_DETERMINER = re.compile(rf" (?!(?:{_REASONS}|{_PRONOUNS}|but|and|or|is|was|would|there)\b)[a-z]|[- ]one\b")
_ASKED = re.compile(r"[\"'*_`)\]]*\?")
_CLOSED = re.compile(
    r"(?:[\"'*_`)\]]|\.0+)*\s?"
    rf"(?:\Z|\n|[.!;,](?!\d)|\s[-–—]\s|\s?\(|:\s?[^\d\s.]|\s(?:{_REASONS}|for)\b)"
)
_KEYED = re.compile(r"[\"'*_`)\]]*\s?[:=]")
_ENDED = re.compile(r"(?:[\"'*_`)\]]|\.0+)*\s?(?:\Z|\n|[.!;,])")
_BEGUN = re.compile(r"(?:\A|[\n.!?;]\s*)[\s\"'*_`(\[#>•·-]*\Z")
_REVERSED = re.compile(
    r"\b(?:wait|actually|(?:up)?on (?:reflection|review|second thought|a second reading)|correction|i correct"
    r"|changed my mind|(?:scratch|strike) that|reconsider|re-?evaluate|i take that back|hmm+|oops"
    r"|my mistake)\b[\W_]*(?:no\b[\W_]*)?(?:(?:it's|it is|this is|that's) )?"
)
_REST = re.compile(r"\bout of \d+\b|\bconfidence\b|/\s?\d+\b|\d*\.\d+|\d+\s?%|[\W_]")
_QUOTED = re.compile(r"[\"'`]\s*(?:[,}\]]|\Z)")
_BESIDE_KEY = re.compile(r"[:=]\s*[\"']?[\w -]{1,30}[\"']?\s*[,;][\w\s\"'-]*[:=]\Z")
_SENTENCE = re.compile(r"[.!?。！？\n](?=\s|[^\x00-\x7f]|\Z)")
_KEY_BREAK = re.compile(r"[.;!?\n,{}<>|。！？；]|\s[-–—]\s|[-*•]\s")
_CLAUSE = re.compile(r"[.!?;,。！，、\n](?=\s|[^\x00-\x7f]|\Z)")
_PARENTHESIS = re.compile(r"\([^()]{0,80}\)")
_WORDS = re.compile(r"[^\W_]+(?:'[a-z]+)?")
_CONTINUED = re.compile(
    r"\n[^\S\n]*(?:text|review|tweet|question|q|input|sentence|example|headline|comment|post|document|passage|premise|statement|title"
    r"|abstract|instruction|user|human)\s?\d*\s?:"
)
_BOLD = (("**", "**"), ("__", "__"), ("<b>", "</b>"), ("<strong>", "</strong>"))


Mark = tuple[int, Mention]
"""The strength of a mark, 1 to 5 as this module numbers them, and the mention that has it."""


def continued(answer: Answer, forms: Forms) -> Answer:
    """An answer without the next text with which a base model goes on behind a first line that is a label."""
    if "\n" not in answer.text or (match := _CONTINUED.search(answer.folded)) is None:
        return answer
    first = answer.cut(match.start())
    lines = first.text.strip().splitlines()
    ends = (lines[0], lines[-1].rpartition(":")[2]) if lines else ()
    return first if any(forms.whole(line.strip(" .*\"'`")) for line in ends) else answer


def named(answer: Answer, forms: Forms) -> tuple[set[str], set[str], int, bool]:
    """The labels that an answer names, and where it names several, those of them that it marks most.

    Returns:
        The labels that are named; those that have the strongest mark; the strength of that mark, 0 without
        one; and whether any mention was left out: negated, struck out or no mention of the label.
    """
    every = forms.mentions(answer)
    mentions = [*_meant(answer, every)]
    codes = codes_of(mentions)
    marks = [] if len(codes) < 2 else _last_marks(answer, mentions, [*_marks(answer, mentions)])
    best = min((strength for strength, _ in marks), default=0)
    marked = codes_of(mention for strength, mention in marks if strength == best)
    return codes, marked, best, len(mentions) < len(every)


def _last_marks(answer: Answer, mentions: Sequence[Mention], marks: Sequence[Mark]) -> Sequence[Mark]:
    """The marks behind where an answer takes itself back, where they are of one label; else all marks."""
    turn = max(_REVERSED.finditer(answer.folded, 0, mentions[-1].end), key=re.Match.start, default=None)
    if turn is None:
        return marks
    later = [mark for mark in marks if mark[1].start >= turn.start()]
    if not later:
        folded, last = answer.folded, mentions[-1]
        begun = turn.end() == last.start or _BEGUN.search(folded, turn.start(), last.start)
        later = [(ALONE, last)] if begun and _ENDED.match(folded, last.end) else []
    return later if len({mention.codes for _, mention in later}) == 1 else marks


def marks_of(answer: Answer, forms: Forms) -> Sequence[Mark]:
    """The marks of an answer, however many labels it names."""
    mentions = [*_meant(answer, forms.mentions(answer))]
    return [*_marks(answer, mentions)] if mentions else []


@cache
def _none_of(form: str) -> tuple[str, ...]:
    """How "none of these" begins where a form is only its beginning."""
    return tuple(phrase for phrase in phrases("none") if phrase.startswith(form) and phrase != form)


def _meant(answer: Answer, mentions: Sequence[Mention]) -> Iterator[Mention]:
    """The mentions that say something of the answer's label."""
    folded, text = answer.folded, answer.text
    numbered = len(mentions) > 1 and len(_NUMBERED.findall(folded)) > 1
    is_dressed = _DRESS.search(text) is not None
    ticks = _ticks(answer, mentions) if is_dressed else {}
    denied = -9
    for mention in mentions:
        start, end = mention.start, mention.end
        gap = folded[denied:start] if denied >= 0 and start - denied <= 3 else ""
        if not mention.codes or ("(" in gap and not re.search(r"\w", gap)):
            denied = end
            continue
        if not ticks.get(start, True) or (is_dressed and _STRUCK.search(text, max(0, start - 24), start)):
            continue
        form = folded[start:end]
        if form.isdigit() and _is_number_of_list(folded, start, end, numbered=numbered):
            continue
        if form == "no" and _DETERMINER.match(folded, end):
            continue
        if not folded.startswith(_none_of(form), start):
            yield mention


def _ticks(answer: Answer, mentions: Sequence[Mention]) -> dict[int, bool]:
    """Whether the box beside a mention is ticked, by where the mention begins; of those that have a box.

    Boxes stand behind the labels where one stands behind the first, and none before it.
    """
    text = answer.text
    words = not _TICK_WORDS.isdisjoint(answer.folded[mention.start : mention.end] for mention in mentions)
    if not mentions or (words and len(mentions) == 1):
        return {}  # "❌ No"
    boxes = [_BOX_BEFORE.search(text, max(0, mention.start - 24), mention.start) for mention in mentions]
    if boxes[0] is None and _BOX_BEHIND.match(text, mentions[0].end):
        boxes = [_BOX_BEHIND.match(text, mention.end) for mention in mentions]
    ticks = {}
    for mention, box in zip(mentions, boxes, strict=True):
        if box and not (words and box[0][-1].isalpha()):
            ticks[mention.start] = box["ticked"] is not None
    return ticks


def _highest(answer: Answer, mentions: Sequence[Mention]) -> Iterator[Mark]:
    """The mention with the highest of the probabilities of all labels that are named, if they are such."""
    values, is_sure = [], len({mention.codes for mention in mentions}) > 2
    for mention in mentions:
        score = _SCORE.match(answer.text, mention.end)
        if score is None:
            return
        values.append(float(score["number"]) / (100 if score["percent"] else float(score["total"] or 1)))
        is_sure = is_sure or "." in score[0] or "%" in score[0]
    if len(values) < 2 or not 0.98 <= sum(values) <= 1.02:
        return
    best = max(values)
    if is_sure and values.count(best) == 1:
        yield SCORED, mentions[values.index(best)]


def _is_number_of_list(folded: str, start: int, end: int, *, numbered: bool) -> bool:
    """Whether a number counts something, or numbers a step or a list."""
    before = folded[max(0, start - 24) : start]
    if _STEP.search(before) or _COUNTED.match(folded, end):
        return True
    begins = not before.rpartition("\n")[2].strip(" \t*#-")
    return numbered and begins and _LIST_NUMBER.match(folded, end) is not None


def _marks(answer: Answer, mentions: Sequence[Mention]) -> Iterator[Mark]:
    listed, ticks = _listed(answer, mentions), _ticks(answer, mentions)
    lines = _lines(answer, mentions)
    leading = {mention.codes for mention, begun, _ in lines if begun}
    alone = {codes for _, _, codes in lines if codes}
    for (mention, begun, own), in_list in zip(lines, listed, strict=True):
        if in_list or _ASKED.match(answer.folded, mention.end):
            continue
        strength = ANNOUNCED if ticks.get(mention.start) else _strength(answer, mention)
        if strength is None and ((own and len(alone) == 1) or _is_bold(answer, mention)):
            strength = ALONE
        if strength is not None:
            yield strength, mention
        elif begun and mention is mentions[0] and _is_first(answer, mentions, leading):
            yield FIRST, mention
    if _is_concluded(answer, mentions):
        yield CHOSEN, mentions[-1]
    yield from _highest(answer, mentions)


def _listed(answer: Answer, mentions: Sequence[Mention]) -> list[bool]:
    """Which mentions are joined to one of another label."""
    listed = [False] * len(mentions)
    for index, (mention, other) in enumerate(pairwise(mentions)):
        gap = answer.folded[mention.end : other.start][:_NEAR]
        is_name = _IN_NAME.match(answer.folded, other.end) and '"' in gap
        if mention.codes == other.codes or is_name or len(gap) == _NEAR:
            continue
        if _CHANGE.fullmatch(gap) or JOINT.fullmatch(answer.folded, mention.end, other.start):
            listed[index] = listed[index + 1] = True
    return listed


def _lines(answer: Answer, mentions: Sequence[Mention]) -> list[tuple[Mention, bool, Codes]]:
    """Whether each mention begins its line, and the label that has a line to itself."""
    text = answer.text
    result: list[tuple[Mention, bool, Codes]] = []
    for begin, group in groupby(mentions, lambda mention: text.rfind("\n", 0, mention.start) + 1):
        some = [*group]
        beside, at = "", begin
        for mention in some:
            beside += text[at : mention.start]
            at = mention.end
        beside += text[at:].partition("\n")[0][:200]
        is_alone = len({mention.codes for mention in some}) == 1 and _is_nothing(beside[:400])
        begun = _is_nothing(text[begin : some[0].start][-40:])
        for mention in some:
            result.append((mention, begun and mention is some[0], mention.codes if is_alone else ()))
    return result


def _is_nothing(text: str) -> bool:
    """Whether the words beside a label add nothing."""
    return not _REST.sub("", text.lower())


def _strength(answer: Answer, mention: Mention) -> int | None:
    """The strength of a mention, by the words right before it."""
    start = mention.start
    near = answer.folded[max(0, start - _NEAR) : start]
    line = near.rpartition("\n")[2]
    if _BOXED.search(line):
        return FINAL
    if (tag := _TAG.search(line)) and _TAG_END.match(answer.folded, mention.end):
        return _of_key(tag[1]) or ALONE
    if _ARROW.search(line):
        return CHOSEN
    bare = line.rstrip(" \t\"'*_`(“[{<$「『【")
    if bare.endswith((":", "=", "|")):
        return _behind_colon(answer, mention, bare)
    return _behind_verb(bare)


def _behind_colon(answer: Answer, mention: Mention, bare: str) -> int | None:
    key = _KEY_BREAK.split(_PARENTHESIS.sub("", bare.rstrip(" :=|*_\"'`")))[-1]
    strength = _of_key(key)
    if strength is not None or bare[-1] == "|":
        return strength
    words = _WORDS.findall(key)
    if not 0 < len(words) <= 3 or not phrases("aside").isdisjoint(words):
        return None
    rest = answer.text[mention.end :].partition("\n")[0][:80]
    quoted = bare[-1] == ":" and _QUOTED.match(rest)
    return ALONE if quoted or (_is_nothing(rest) and not _BESIDE_KEY.search(bare)) else None


def _of_key(key: str) -> int | None:
    """The strength of a label behind a key, by its words."""
    key = key.replace("_", " ")
    words = {*_WORDS.findall(key), *key.split()}
    if words & phrases("earlier") or len(words) > 14:
        return None
    is_answer = phrase_pattern("answer").search(key)
    if phrase_pattern("final").search(key) and (is_answer or len(words) == 1):
        return FINAL
    return ANNOUNCED if is_answer else None


def _behind_verb(bare: str) -> int | None:
    """The strength of a label behind "the answer is", "I choose" or "classified as"."""
    tail = _SENTENCE.split(bare)[-1].replace("*", "").rstrip()
    for chosen in phrase_pattern("choose").finditer(tail):
        after = tail[chosen.end() :].split()
        if len(after) <= 3 and {"over", "als"}.isdisjoint(after):
            return CHOSEN
    if phrase_pattern("is", at_end=True).search(tail):
        strength = _of_key(_KEY_BREAK.split(tail)[-1])
        return CHOSEN if strength == ANNOUNCED else strength
    return None


def _is_bold(answer: Answer, mention: Mention) -> bool:
    """Whether the label is all that a bold phrase holds."""
    text = answer.text
    line_start = text.rfind("\n", max(0, mention.start - 400), mention.start) + 1
    before = text[line_start : mention.start]
    for sign, end_sign in _BOLD:
        opens = before.rfind(sign)
        if opens < 0 or (sign == end_sign and before.count(sign) % 2 == 0):
            continue
        close = text.find(end_sign, mention.end, mention.end + 80)
        if close < 0:
            continue
        inside = before[opens + len(sign) :], text[mention.end : close]
        if all(_says_no_more(part, mention, answer) for part in inside):
            return True
    return False


def _says_no_more(part: str, mention: Mention, answer: Answer) -> bool:
    """Whether a part of a phrase holds no word but another form of the same label."""
    words = part.strip(" .:)(-–—\"'`")
    if not re.search(r"\w", words):
        return True
    return answer.mentions is not None and bool(answer.mentions[0].whole(words) == mention.codes)


def _is_first(answer: Answer, mentions: Sequence[Mention], leading: set[Codes]) -> bool:
    """Whether an answer begins with its label, rather than with the first of several."""
    folded, mention = answer.folded, mentions[0]
    if re.search(r"\d", folded[: mention.start]) or not _CLOSED.match(folded, mention.end):
        return False
    if _REVERSED.search(folded, mention.end):
        return False
    others = [other for other in mentions if other.codes != mention.codes]
    if not others:
        return True
    if len(leading) > 1 or all(_KEYED.match(folded, some.end) for some in (mention, others[0])):
        return False
    return not any(
        _BEGUN.search(folded, max(0, other.start - 12), other.start) and _ENDED.match(folded, other.end)
        for other in others
    )


def _is_concluded(answer: Answer, mentions: Sequence[Mention]) -> bool:
    """Whether the last sentence begins with a word that concludes, and names one label alone."""
    folded, last = answer.folded, mentions[-1]
    ends = [match.end() for match in _SENTENCE.finditer(folded, max(0, last.start - 400), last.start)]
    if not ends and last.start >= 400:
        return False
    begin = ends[-1] if ends else 0
    if len({mention.codes for mention in mentions if mention.start >= begin}) != 1:
        return False
    sentence = folded[begin : last.start].lstrip(" \t\n*_#>-\"'")
    clause = _CLAUSE.split(sentence)[-1].lstrip()
    return phrase_pattern("so").match(sentence) is not None or (
        len(clause.split()) < 4
        and phrase_pattern("so").match(clause) is not None
        and _ENDED.match(folded, last.end) is not None
    )
