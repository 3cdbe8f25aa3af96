"""The edits from which ``surface`` draws: for each kind, the places in a text that it could change."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple


class Edit(NamedTuple):
    """A place that could be changed, and its possible replacements."""

    start: int
    end: int
    instead: tuple[str, ...]


Free = Sequence[tuple[int, int]]
"""Start and end of the parts of a text that may be changed."""

_CONTRACTIONS = {
    "cannot": "can't",
    "do not": "don't",
    "does not": "doesn't",
    "did not": "didn't",
    "is not": "isn't",
    "are not": "aren't",
    "was not": "wasn't",
    "were not": "weren't",
    "has not": "hasn't",
    "have not": "haven't",
    "will not": "won't",
    "would not": "wouldn't",
    "should not": "shouldn't",
    "it is": "it's",
    "that is": "that's",
    "what is": "what's",
    "who is": "who's",
    "there is": "there's",
    "you are": "you're",
    "they are": "they're",
    "we are": "we're",
    "i am": "I'm",
    "you will": "you'll",
    "you have": "you've",
}
_EXPANSIONS = {short.lower(): long for long, short in _CONTRACTIONS.items()}

_KEYBOARD = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_BESIDE = {
    key: row[max(0, at - 1) : at] + row[at + 1 : at + 2] for row in _KEYBOARD for at, key in enumerate(row)
}


def _found(pattern: str, text: str, free: Free, flags: int = re.IGNORECASE) -> Iterator[re.Match[str]]:
    """Matches that lie within the parts that may be changed."""
    for found in re.finditer(pattern, text, flags):
        if any(start <= found.start() and found.end() <= end for start, end in free):
            yield found


def _articles(text: str, free: Free) -> Iterator[Edit]:
    """Leaves an article out, or swaps it."""
    for found in _found(r"(?<![\w'’])(the|an?)(\s+)(?=\w)", text, free):
        word = found.group(1)
        other = "the" if word.lower() != "the" else ("an" if text[found.end()].lower() in "aeiou" else "a")
        yield Edit(found.start(), found.end(), ("", _as(word, other) + found.group(2)))


def _contractions(text: str, free: Free) -> Iterator[Edit]:
    """Contracts or expands."""
    for table in (_CONTRACTIONS, _EXPANSIONS):
        names = "|".join(re.escape(name).replace(r"\ ", r"\s+") for name in table)
        for found in _found(rf"(?<![\w'’])(?:{names})(?![\w'’])", text.replace("’", "'"), free):
            known = table[" ".join(found.group().lower().split())]
            yield Edit(found.start(), found.end(), (_as(found.group(), known),))


def _politeness(text: str, free: Free) -> Iterator[Edit]:
    """Adds or removes a please or thank-you."""
    courtesies = list(_found(r"(?<!\w)(?:,\s*)?please,?\s*(?!\w*\{)", text, free))
    for found in courtesies:
        yield Edit(found.start(), found.end(), ("",))
    start = len(text) - len(text.lstrip())
    if courtesies or not text.strip():
        return
    first = re.match(r"[A-Z][a-z]*\b", text[start:])
    if first and any(begin <= start and start + first.end() <= end for begin, end in free):
        lower = first.group().lower()
        yield Edit(start, start + first.end(), (f"Please: {lower}", f"Could you tell me: {lower}"))
    else:
        yield Edit(start, start, ("Please: ", "Could you tell me: "))
    end = len(text.rstrip())
    yield Edit(end, end, (" Thank you.", " Thanks!", " Please."))


def _punctuation(text: str, free: Free) -> Iterator[Edit]:
    """Leaves a mark out, doubles it, or replaces it."""
    others = {
        ".": ("", "!"),
        "?": ("", "??", "."),
        ",": ("", ";"),
        ":": (" -", ";"),
        ";": (",", "."),
        "!": ("", "."),
    }
    for found in _found(r"(?<=[\w)\"'”’}])[.?,:;!](?=\s|\Z)", text, free):
        yield Edit(found.start(), found.end(), others[found.group()])


def _casing(text: str, free: Free) -> Iterator[Edit]:
    """Capitalises a word, or changes the case of its first letter."""
    for found in _found(r"(?<![\w'’])[a-z]{2,}(?![\w'’])", text, free):
        word = found.group()
        options = {word.upper(), word.lower(), word[0].swapcase() + word[1:]} - {word}
        yield Edit(found.start(), found.end(), tuple(sorted(options)))


def _spacing(text: str, free: Free) -> Iterator[Edit]:
    """Adds a space or a line break."""
    for found in _found(r"(?<=\S) (?=\S)", text, free):
        yield Edit(found.start(), found.end(), ("  ", "\n"))
    for found in _found(r"(?<=\w)(?=[?!.](?:\s|\Z))", text, free):
        yield Edit(found.start(), found.end(), (" ",))


def _typos(text: str, free: Free) -> Iterator[Edit]:
    """Swaps, doubles, drops or mistypes a letter inside a word of four letters or more."""
    for found in _found(r"(?<![\w'’])[a-z]{4,}(?![\w'’])", text, free):
        word = found.group()
        made = []
        for at in range(1, len(word) - 1):
            head, letter, tail = word[:at], word[at], word[at + 1 :]
            made += [head + tail, head + letter * 2 + tail]
            made += [head + beside + tail for beside in _BESIDE[letter.lower()]]
            if at + 1 < len(word) - 1:
                made.append(head + tail[0] + letter + tail[1:])
        yield Edit(found.start(), found.end(), tuple(one for one in dict.fromkeys(made) if one != word))


def _as(model: str, word: str) -> str:
    """A word with a capital if the model has one."""
    return word[:1].upper() + word[1:] if model[:1].isupper() else word


EDITS: Mapping[str, Callable[[str, Free], Iterator[Edit]]] = {
    "articles": _articles,
    "casing": _casing,
    "contractions": _contractions,
    "politeness": _politeness,
    "punctuation": _punctuation,
    "spacing": _spacing,
    "typos": _typos,
}
"""Kind -> the places that it could change."""
