"""Which part of a response is its answer: thinking, chat marks and invisible characters are removed.

The rules, for every evaluator alike:

1. Thinking is removed. It stands between an opening mark (``<think>``, ``<thinking>``,
   ``<thought>``, ``<reasoning>``, ``<scratchpad>``, the same in ``[ ]`` or ``◁ ▷``, or
   ``<|channel|>analysis``) and its closing mark (``</think>`` and so on, or
   ``<|channel|>final<|message|>``), in upper or lower case. Thinking that is never closed extends to the
   end of the response. If a closing mark has no opening mark, because the chat template wrote it,
   everything before the closing mark is thinking.
2. The answer ends at the first mark that ends a turn: ``<|im_end|>``, ``<|endoftext|>``,
   ``<|eot_id|>``, ``<|end|>``, ``<|return|>``, ``<end_of_turn>``, ``</s>``.
3. Invisible characters (controls, zero-width, direction marks, soft hyphens) and Arabic vowel marks are
   removed; curly quotes become straight and no-break spaces become spaces; full-width, circled and
   mathematical letters and digits become plain ones; accents are composed (NFC). Letters of other
   scripts that only look alike are not changed.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from copy import copy
from functools import cache
from typing import Any

from quaver.core.calls import Response
from quaver.core.labels import SIGNS

_NAMES = "think|thinking|thought|thoughts|reasoning|scratchpad"
_THINKING = re.compile(
    rf"(?P<open>[<\[◁](?:{_NAMES})[>\]▷]|<\|channel\|>(?:analysis|commentary))"
    rf"|[<\[◁]/(?:{_NAMES})[>\]▷]|<\|channel\|>final<\|message\|>",
    re.IGNORECASE,
)
_IN_MARKS = ("think", "thought", "reasoning", "scratchpad", "channel")
_TURN_END = re.compile(r"<\|im_end\|>|<\|endoftext\|>|<\|eot_id\|>|<\|end\|>|<\|return\|>|<end_of_turn>|</s>")
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\ufe00-\ufe0f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f\ud800-\udfff\u0640\u064b-\u0652\u0670]"
)
_EXPLANATION = re.compile(r"\bexplanation\b")
_MARKS_KEPT = 8
_SHORT = 1000
_FIRST_PLANE = 0xFFFF
_BEYOND = re.compile("[\U00010000-\U0010ffff]")


def _lookalikes_of_ascii() -> dict[int, str]:
    table = {ord(c): "'" for c in "‘’ʼ‛"} | {ord(c): '"' for c in "“”„‟«»"}
    table |= {ord(c): " " for c in "\xa0\u2007\u202f\u3000"}
    for first, last in ((0x2460, 0x24FF), (0xFF01, 0xFF5E), (0x1D400, 0x1D7FF)):
        for code in range(first, last + 1):
            simple = unicodedata.normalize("NFKC", chr(code))
            if len(simple) == 1:
                table[code] = simple
    return table


_PLAIN = _lookalikes_of_ascii()
# Looking for one of them is ten times as fast as translating a text that has none, where those beyond the
# first plane are looked for apart.
_TO_TRANSLATE = (
    re.compile(f"[{''.join(chr(code) for code in _PLAIN if code <= _FIRST_PLANE)}]"),
    re.compile("[\U0001d400-\U0001d7ff]"),
)


_SIGN = re.compile(f"[{re.escape(''.join(map(chr, SIGNS)))}]")


@cache
def _mark_run(last: int) -> re.Pattern[str]:
    """Runs of combining marks, up to a code point, that are too long to be writing.

    Composing sorts such a run in quadratic time (100,000 marks take seconds), so the rest of it is
    dropped before. Counting the marks takes 50 ms: only long answers in other scripts wait for it.
    """
    marks = "".join(chr(code) for code in range(0x300, last + 1) if unicodedata.combining(chr(code)))
    return re.compile(f"([{marks}]{{{_MARKS_KEPT}}})[{marks}]+")


def plain(text: str) -> str:
    """The text without invisible characters, with plain forms of letters, quotes and spaces (rule 3).

    >>> plain("\ufeffＡ\u200b “ok”")
    'A "ok"'
    """
    if text.isascii():
        return text if text.isprintable() else _INVISIBLE.sub("", text)
    text = _INVISIBLE.sub("", text)
    if any(some.search(text) for some in _TO_TRANSLATE):
        text = text.translate(_PLAIN)
    if len(text) > _SHORT:
        # The engine is ten times as fast with a class that has no characters beyond the first plane.
        last = sys.maxunicode if _BEYOND.search(text) else _FIRST_PLANE
        text = _mark_run(last).sub(r"\1", text)
    return unicodedata.normalize("NFC", text)


def fold(text: str) -> str:
    """The text in lower case, each character in its place, so that positions stay true.

    Characters that stand for another in any label are that other: dashes, Turkish i without its dot, forms
    of an Arabic letter (``core.labels``).

    >>> fold("İYİ Σίσυφος IRKÇI ırkçı")
    'iyi σίσυφοσ irkçi irkçi'
    """
    if text.isascii():
        return text.lower()
    # Looking for a sign is ten times as fast as translating; lower case may bring one (a final sigma).
    text = (text.translate(SIGNS) if _SIGN.search(text) else text).lower()
    return text.translate(SIGNS) if _SIGN.search(text) else text


def without_thinking(text: str) -> tuple[str, str | None, bool]:
    """A text without its thinking, that thinking (rule 1), and whether it was still open at the end.

    >>> without_thinking("<think>A or B?</think>B")
    ('B', 'A or B?', False)
    >>> without_thinking("so it is A.</think> B")
    (' B', 'so it is A.', False)
    >>> without_thinking("<think>A or")
    ('', 'A or', True)
    """
    if "<" not in text and "[" not in text and "◁" not in text:
        return text, None, False
    small = text.lower()
    if not any(name in small for name in _IN_MARKS):
        return text, None, False
    kept: list[str] = []
    thought: list[str] = []
    opened = False
    start = 0
    for mark in _THINKING.finditer(text):
        opens = mark["open"] is not None
        if not opens and not opened:  # the chat template opened it: all so far was thinking
            thought += kept
            kept.clear()
        (kept if opens and not opened else thought).append(text[start : mark.start()])
        opened, start = opens, mark.end()
    if not start:
        return text, None, False
    (thought if opened else kept).append(text[start:])
    return "".join(kept), "".join(thought), opened


class Answer:
    """What an evaluator reads: the answer in a response.

    Args:
        response: What came back, as far as the evaluator is shown it (see `Evaluator`).
        about: For a follow-up, the response that it quotes.
        thought: Whether the model returned thinking apart from it, where the response does not hold it.

    Attributes:
        text: The answer by the three rules of this module, without white space around it.
        response: As given.
        about: As given.
        thought: Whether there was thinking beside the answer.
        mentions: The forms of labels that were looked for last, and where they were found.
        unfinished: Whether that thinking was never closed, so that no answer began.
    """

    __slots__ = ("_folded", "about", "mentions", "response", "text", "thought", "unfinished")

    mentions: tuple[Any, Any] | None
    _folded: str | None

    def __init__(
        self, response: Response, about: Response | None = None, *, thought: bool | None = None
    ) -> None:
        text = response.text
        self.thought = bool(response.thinking) if thought is None else thought
        self.unfinished = False
        if "<" in text or "[" in text or "◁" in text:
            text, thinking, self.unfinished = without_thinking(text)
            self.thought = self.thought or thinking is not None
            if "<" in text:
                text = _TURN_END.split(text, maxsplit=1)[0]
        self.text = plain(text).strip()
        self.response, self.about = response, about
        self._folded = self.mentions = None

    @property
    def folded(self) -> str:
        """`text` in lower case, character by character in the same place."""
        if self._folded is None:
            self._folded = fold(self.text)
        return self._folded

    def cut(self, end: int) -> Answer:
        """The answer up to a place in its text."""
        shorter = copy(self)
        shorter.text = self.text[:end].strip()
        shorter._folded = shorter.mentions = None
        return shorter

    def before_explanation(self) -> Answer:
        """The answer up to the word "explanation", whatever its case."""
        match = _EXPLANATION.search(self.folded)
        return self.cut(match.start()) if match else self
