"""What differs between two prompts, word by word; an item's own text is one word."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any

_WORDS = re.compile(r"\s+|\w+|[^\w\s]")
_MOST_WORDS = 3_000
_SHORTEST_TEXT = 12

Part = tuple[str, str]


def diffed(
    before: Sequence[dict[str, Any]], after: Sequence[dict[str, Any]], text: str = ""
) -> list[dict[str, Any]]:
    """The messages of two prompts with what differs.

    Args:
        before: The messages of the other prompt: role and content.
        after: Those of the prompt that is shown.
        text: The item's text.

    Returns:
        For each message its role and ``parts``: pairs of ``=``, ``-`` (only before) or ``+`` (only after) and
        a text.
    """
    found = []
    for at in range(max(len(before), len(after))):
        old = before[at] if at < len(before) else None
        new = after[at] if at < len(after) else None
        parts = list(parts_of(old["content"] if old else "", new["content"] if new else "", text))
        found.append({"role": (new or old or {}).get("role", ""), "parts": [list(part) for part in parts]})
    return found


def parts_of(before: str, after: str, text: str = "") -> Iterator[Part]:
    """Two texts as the parts that they share and those that only one has.

    >>> list(parts_of("Is it good?", "Is it bad?"))
    [('=', 'Is it '), ('-', 'good'), ('+', 'bad'), ('=', '?')]
    """
    first, second = _tokens(before, text), _tokens(after, text)
    if max(len(first), len(second)) > _MOST_WORDS:
        first, second = before.splitlines(keepends=True), after.splitlines(keepends=True)
    if max(len(first), len(second)) > _MOST_WORDS:
        yield from ((sign, one) for sign, one in (("-", before), ("+", after)) if one)
        return
    for kind, a, b, c, d in SequenceMatcher(None, first, second, autojunk=False).get_opcodes():
        if kind == "equal":
            yield "=", "".join(first[a:b])
            continue
        if b > a:
            yield "-", "".join(first[a:b])
        if d > c:
            yield "+", "".join(second[c:d])


def _tokens(prompt: str, text: str) -> list[str]:
    if len(text) < _SHORTEST_TEXT or text not in prompt:
        return _WORDS.findall(prompt)
    before, _, after = prompt.partition(text)
    return [*_WORDS.findall(before), text, *_WORDS.findall(after)]
