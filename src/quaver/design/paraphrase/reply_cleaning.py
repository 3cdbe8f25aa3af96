"""From what a model says when it is asked for a paraphrase to the paraphrase."""

from __future__ import annotations

import re

__all__ = ["cleaned"]

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
    r"""A paraphrase without what models put around it: thinking, lead-ins, list marks, quotation marks.

    Args:
        answer: What the model wrote.
        original: What it was to reword. Of an answer to a single line only the first line is taken: what
            follows are second thoughts, or the next paraphrase.

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
    """Without the quotation marks around the whole of it."""
    text = text.strip()
    for opening, closing in _QUOTES:
        inside = text[len(opening) : len(text) - len(closing)]
        whole = inside and text == opening + inside + closing
        if whole and opening not in inside and closing not in inside:
            return inside.strip()
    return text
