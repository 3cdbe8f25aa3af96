"""What answers say in each language (``languages.toml``), and the language of texts.

The words of all languages count in every answer, since a model may answer in another language than that of
the texts; a word that negates in one language and means something else in another is left out of the table.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

from quaver.score.parsing.parsed_answer import fold, plain

SPACELESS: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
    "\U00020000-\U000323af"
)
"""The scripts that are written without spaces, as a class of regular expressions."""
_SCRIPTS: Final = {
    "kana": ("[\u3040-\u30ff]", 0.1),
    "hangul": ("[\uac00-\ud7a3]", 0.3),
    "han": ("[\u3400-\u9fff]", 0.25),
    "thai": ("[\u0e00-\u0e7f]", 0.5),
    "greek": ("[\u0370-\u03ff]", 0.5),
    "hebrew": ("[\u0590-\u05ff]", 0.5),
    "devanagari": ("[\u0900-\u097f]", 0.5),
    "bengali": ("[\u0980-\u09ff]", 0.5),
}
"""Scripts that one language is known by, and the share of the letters from which on: words of Chinese and of
Korean have fewer letters than those of other languages beside them."""
_WORD = re.compile(r"[^\W\d_]+")
_SPACELESS = re.compile(f"[{SPACELESS}]")
_READ: Final = 200_000
"""Characters of texts by which their language is recognized."""


@cache
def languages() -> Mapping[str, Mapping[str, Any]]:
    """The table of languages, by code."""
    text = files("quaver.score.parsing").joinpath("languages.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def phrases_in(entry: Mapping[str, Any], kind: str) -> tuple[str, ...]:
    """The words and phrases of one kind in a language, as they stand in a folded answer."""
    return tuple(text for phrase in entry.get(kind, "").split(",") if (text := fold(plain(phrase.strip()))))


@cache
def phrases(kind: str) -> frozenset[str]:
    """The words and phrases of one kind in all languages."""
    return frozenset(text for entry in languages().values() for text in phrases_in(entry, kind))


@cache
def spaced(kind: str) -> frozenset[str]:
    """The phrases of one kind in languages that are written with spaces."""
    return frozenset(text for text in phrases(kind) if not _SPACELESS.match(text))


@cache
def spaceless(kind: str) -> tuple[str, ...]:
    """The phrases of one kind in languages that are written without spaces, the longest first."""
    return tuple(sorted(phrases(kind) - spaced(kind), key=lambda text: (-len(text), text)))


@cache
def phrase_pattern(kind: str, *, at_end: bool = False) -> re.Pattern[str]:
    """The phrases of one kind in all languages: whole words in languages that are written with spaces."""
    whole = "|".join(map(re.escape, sorted(spaced(kind), key=len, reverse=True)))
    pattern = "|".join([rf"(?<!\w)(?:{whole})(?!\w)", *map(re.escape, spaceless(kind))])
    return re.compile(rf"(?:{pattern})\Z" if at_end else pattern)


def language_of(texts: Iterable[str]) -> str | None:
    """The code of the language of some texts, by script, else by frequent words; None where it is unclear.

    >>> language_of(["Der Text ist nicht zu lang.", "Es ist die Frage, ob das so ist."])
    'de'
    >>> language_of(["これは本です", "東京"]), language_of(["ok", "42"])
    ('ja', None)
    """
    sample = fold(plain("\n".join(texts)[:_READ]))
    letters = sum(map(str.isalpha, sample))
    for script, (pattern, least) in _SCRIPTS.items():
        if letters and len(re.findall(pattern, sample)) > least * letters:
            return next(code for code, entry in languages().items() if entry.get("script") == script)
    counts = Counter(_WORD.findall(sample))
    shares = {
        code: sum(counts[word] for word in set(phrases_in(entry, "words"))) / max(1, counts.total())
        for code, entry in languages().items()
    }
    best, second = sorted(shares, key=lambda code: -shares[code])[:2]
    return best if shares[best] >= 0.08 and shares[best] > 1.1 * shares[second] else None
