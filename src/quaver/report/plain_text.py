"""Untrusted text made fit for a chart or a file name: one line, printable, not too long."""

from __future__ import annotations

import re
import unicodedata

_VISIBLE = {
    **{code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\t\n\r"},
    **{
        code: f"⟨U+{code:04X}⟩"
        for code in (*range(0x80, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A))
    },
    **{code: f"⟨U+{code:04X}⟩" for code in (0x061C, 0x200E, 0x200F)},
    0x7F: "␡",
}

_HIDDEN = re.compile(f"[{''.join(map(re.escape, map(chr, _VISIBLE)))}]")
"""A search for the few that are there takes a tenth of the time that translating every letter does."""


def one_line(text: object) -> str:
    r"""The text on one line, without what cannot be printed (or be in XML at all).

    >>> one_line("a\x00b\n  c")
    'ab c'
    """
    kept = (c if not unicodedata.category(c).startswith("C") or c.isspace() else "" for c in str(text))
    return " ".join("".join(kept).split())


def shortened(text: object, length: int) -> str:
    """At most ``length`` characters of it, cut in the middle: the ends of names tell most.

    >>> shortened("paraphrase-0001-at-1.5", 12)
    'parap…at-1.5'
    """
    line = one_line(text)
    if len(line) <= length:
        return line
    tail = max(1, length // 2)
    head = max(0, length - 1 - tail)
    return line[:head] + "…" + line[-tail:]


def slug(text: object) -> str:
    """A file name made of it: lower-case letters, digits and hyphens, never a path.

    >>> slug("../../Intra PSS")
    'intra-pss'
    """
    ascii_text = unicodedata.normalize("NFKD", str(text)).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", ascii_text).strip("-")[:60] or "figure"


def visible(text: str) -> str:
    r"""The text with its control characters, and those that turn the reading order, made visible.

    >>> visible("a\x00b\u202e")
    'a␀b⟨U+202E⟩'
    """
    return text if text.isprintable() else _HIDDEN.sub(lambda found: _VISIBLE[ord(found[0])], text)
