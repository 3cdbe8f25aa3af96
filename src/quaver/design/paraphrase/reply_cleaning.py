"""Extracts the paraphrase from a model's reply."""

from __future__ import annotations

import re

_THINKING = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_MARK = re.compile(r"^\s*(?:[-*•–—]|\(?\d{1,2}[.):]|\(?[a-zA-Z][.)])\s+")
_LEAD = re.compile(
    r"^\s*(?:\**(?:new|rewritten|reworded|rephrased|revised|alternative|paraphrased?)\b[^:\n]{0,40}:\**|"
    r"(?:sure|certainly|of course|here(?:'s| is| are))\b[^:\n]{0,80}:[ \t]*\n|"
    r"(?:sure|certainly|of course|here(?:'s| is| are))\b[^:\n]{0,80}"
    r"(?:version|wording|phrasing|paraphrase|instruction)s?\**:)\s*",
    re.IGNORECASE,
)
_QUOTES = (("“", "”"), ("‘", "’"), ("«", "»"), ("„", "“"), ('"', '"'), ("'", "'"), ("`", "`"), ("**", "**"))


def cleaned(answer: str, original: str) -> str:
    r"""A paraphrase without what models add: thinking, lead-ins, list marks, quotation marks.

    Args:
        answer: The model's reply.
        original: The text to reword. If it is a single line, only the reply's first line counts: the rest is
            second thoughts or further paraphrases.

    >>> cleaned('Sure, here is one:\n1. "Is it good or bad?"\n2. Good?', "Good or bad?")
    'Is it good or bad?'
    """
    text = _LEAD.sub("", _THINKING.sub("", answer).strip())
    lines = [line.strip() for line in text.splitlines()]
    kept = [line for line in lines if line]
    if "\n" not in original.strip():
        kept = kept[:1]
    elif kept:
        kept = lines[lines.index(kept[0]) : len(lines) - lines[::-1].index(kept[-1])]
    return _unquoted(_MARK.sub("", _unquoted("\n".join(kept)) if kept else "")).strip()


def _unquoted(text: str) -> str:
    """A text without quotation marks around all of it."""
    text = text.strip()
    for opening, closing in _QUOTES:
        inside = text[len(opening) : len(text) - len(closing)]
        whole = inside and text == opening + inside + closing
        if whole and opening not in inside and closing not in inside:
            return inside.strip()
    return text
