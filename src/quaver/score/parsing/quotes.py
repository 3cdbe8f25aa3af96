"""Where the words that an answer quotes stand in the text, or that they do not.

A quote is sought in three steps, the first that finds it:

1. ``exact``: it stands there character by character;
2. ``alike``: its letters and digits do, one behind the other, whatever their case and whatever stands between
   them (spaces, line breaks, quotation marks, dashes, hyphens at the end of a line). Parts with an ellipsis
   between them are sought one by one, each behind the one before, in the shortest stretch that has them;
3. ``fuzzy``: at least 12 letters and digits are 85% like a stretch of the text (by the longest common
   subsequence of both), and no word is another one: of a word of six letters or more 60% are there in their
   place, of three to five one, of a number all, and nowhere do two letters more or five other ones stand in a
   row. So a quote may lack words and have wrong letters, as scanned texts have, but may add no word.

Any other is ``invented``, and an answer without one has ``none``. The first stretch counts that begins and
ends as words do; a part of a word counts only where it is long, or in a script without spaces.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz
from rapidfuzz.distance import LCSseq

from quaver.score.parsing.parsed_answer import fold, plain

Place = tuple[str, int | None, int | None, float | None]
"""How a quote was found, where it begins and ends in the text, and how like the text it is."""

NONE: Final[Place] = ("none", None, None, None)
INVENTED: Final[Place] = ("invented", None, None, None)

_ELLIPSIS = re.compile(r"\s*[\[(]?\s*(?:…|\.\s?\.\s?\.+)\s*[\])]?\s*")
_LEAST_FUZZY, _MOST_FUZZY, _NEAR, _LIKE = 12, 4_000, 0.6, 0.85
_SLACK, _LONG, _OTHER, _MORE = 8, 10, 5, 2
_MOST_PLACES = 200
"""Places of a part that are tried; an answer may quote one letter of a long text a thousand times."""
_WORD = re.compile(r"[^\W_]+")
_NOT_IN_WORDS = re.compile(r"[\W_]+")


class QuotedText:
    r"""A text in which quotes are sought.

    Args:
        text: The text.

    >>> text = QuotedText("We will cut\ntaxes, and we will build no new roads.")
    >>> text.place("we will cut taxes"), text.place("We will cut … no new roads")
    (('alike', 0, 17, 1.0), ('alike', 0, 49, 1.0))
    >>> text.place("and we wi1l build no new roads")[:3], text.place("we will build many new roads")[0]
    (('fuzzy', 19, 49), 'invented')
    """

    def __init__(self, text: str) -> None:
        self.text = text

    def place(self, quote: str | None) -> Place:
        """Where a quote stands."""
        if not quote or not quote.strip():
            return NONE
        quote = quote.strip()
        if (start := next(_occurring(self.text, quote, self._is_edge), None)) is not None:
            return "exact", start, start + len(quote), 1.0
        if (place := next(self._alike(quote), None)) is not None:
            return place
        parts = [part for part in _ELLIPSIS.split(quote) if _WORD.search(part)]
        if len(parts) > 1:
            return self._in_parts(parts)
        return self._fuzzy(quote) if parts else NONE

    def places(self, quotes: Sequence[str]) -> list[Place]:
        """Where several quotes stand: of words that are quoted again, the next place where they occur."""
        before, places = Counter[str](), list[Place]()
        for quote in quotes:
            here = _occurring(self.text, quote, self._is_edge)
            start = next(islice(here, before[quote], None), None) if before[quote] else None
            place = self.place(quote) if start is None else ("exact", start, start + len(quote), 1.0)
            places.append(place)
            before[quote] += 1
        return places

    def _in_parts(self, parts: Sequence[str]) -> Place:
        """The shortest stretch in which the parts of a quote with an ellipsis follow each other."""
        longest = max(range(len(parts)), key=lambda at: len(parts[at]))
        places = [[*islice(self._alike(part), _MOST_PLACES)] or [self._fuzzy(part)] for part in parts]
        stretches = list[Place]()
        for anchor in places[longest][: 1 + _MOST_PLACES // len(parts)]:
            chain = [anchor]
            for others in reversed(places[:longest]):
                start = chain[0][1] or 0
                chain.insert(0, next((at for at in reversed(others) if (at[2] or 0) <= start), INVENTED))
            for others in places[longest + 1 :]:
                end = chain[-1][2] or 0
                chain.append(next((at for at in others if (at[1] or 0) >= end), INVENTED))
            if INVENTED not in chain:
                kind = "fuzzy" if any(how == "fuzzy" for how, *_ in chain) else "alike"
                score = sum(len(part) * (place[3] or 0.0) for part, place in zip(parts, chain, strict=True))
                stretches.append((kind, chain[0][1], chain[-1][2], score / sum(map(len, parts))))
        return min(stretches, key=lambda place: (place[2] or 0) - (place[1] or 0), default=INVENTED)

    def _alike(self, quote: str) -> Iterator[Place]:
        """Where its letters and digits stand."""
        wanted = _letters(quote)[0]
        if wanted:
            for begin in _occurring(self._letters[0], wanted, self._is_edge_of_letters):
                yield ("alike", *self._stretch(begin, begin + len(wanted)), 1.0)

    def _fuzzy(self, quote: str) -> Place:
        """The stretch that is most like it, if it is like enough."""
        wanted, at = _letters(quote)
        letters, _ = self._letters
        if not _LEAST_FUZZY <= len(wanted) <= _MOST_FUZZY or len(letters) < len(wanted) * _LIKE:
            return INVENTED
        near = fuzz.partial_ratio_alignment(wanted, letters, score_cutoff=100 * _NEAR)
        if near is None:
            return INVENTED
        edges = [*self._edges(near.dest_start, near.dest_end)] or [(near.dest_start, near.dest_end)]
        start, end = max(edges, key=lambda edge: fuzz.ratio(wanted, letters[slice(*edge)]))
        score = fuzz.ratio(wanted, letters[start:end]) / 100
        if score < _LIKE or _adds_words(quote, at, wanted, letters[start:end]):
            return INVENTED
        return "fuzzy", *self._stretch(start, end), score

    def _edges(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Stretches of letters near one that begin and end as words do."""
        slack = max(_SLACK, (end - start) // 5)
        starts, ends = (
            of[np.abs(of - at) <= slack] for of, at in zip(self._words, (start, end), strict=True)
        )
        for first in starts.tolist():
            for last in ends.tolist():
                if first < last:
                    yield first, last

    @cached_property
    def _letters(self) -> tuple[str, NDArray[np.intp]]:
        return _letters(self.text)

    @cached_property
    def _words(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Where words begin and end, among the letters."""
        at = self._letters[1]
        gaps = np.flatnonzero(np.diff(at, prepend=-2, append=len(self.text) + 1) > 1)
        return gaps[:-1], gaps[1:]

    def _stretch(self, start: int, end: int) -> tuple[int, int]:
        """The place in the text of a run of letters."""
        at = self._letters[1]
        return int(at[start]), int(at[end - 1]) + 1

    def _is_edge(self, at: int) -> bool:
        """Whether no word goes on across a place in the text."""
        text = self.text
        return not (0 < at < len(text) and text[at - 1].isalnum() and text[at].isalnum())

    def _is_edge_of_letters(self, at: int) -> bool:
        places = self._letters[1]
        return not 0 < at < len(places) or places[at] - places[at - 1] > 1 or self._is_edge(int(places[at]))


def _occurring(text: str, part: str, is_edge: Callable[[int], bool]) -> Iterator[int]:
    """Where a part stands in a text as whole words; where it does nowhere and is long, the first place."""
    first = at = text.find(part)
    as_words = False
    while at >= 0:
        if is_edge(at) and is_edge(at + len(part)):
            as_words = True
            yield at
        at = text.find(part, at + 1)
    has_case = part.lower() != part.upper()
    if not as_words and first >= 0 and (len(part) >= _LONG or not (has_case or part.isdecimal())):
        yield first


def _letters(text: str) -> tuple[str, NDArray[np.intp]]:
    """The letters and digits of a text in lower case, and the place of each."""
    if text.isascii():
        folded = text.lower()
        letters = _NOT_IN_WORDS.sub("", folded)
        codes = np.frombuffer(folded.encode("ascii"), np.uint8)
        return letters, np.flatnonzero(_IS_LETTER[codes])
    kept_letters, places = list[str](), list[int]()
    for at, character in enumerate(text):
        for letter in fold(plain(unicodedata.normalize("NFKD", character))):
            if letter.isalnum():
                kept_letters.append(letter)
                places.append(at)
    return "".join(kept_letters), np.array(places, np.intp)


_IS_LETTER = np.array([chr(code).isalnum() for code in range(128)])


def _adds_words(quote: str, at: NDArray[np.intp], wanted: str, part: str) -> bool:
    """Whether a quote has words that the stretch has not: letters more than it, or other ones in a row."""
    places, before = np.full(len(wanted), -1), (0, 0)
    blocks = [block for block in LCSseq.opcodes(wanted, part) if block.tag == "equal"]
    ends = [(block.src_start, block.dest_start, block.src_end, block.dest_end) for block in blocks]
    for src, dest, src_end, dest_end in [*ends, (len(wanted), len(part), len(wanted), len(part))]:
        if src_end - src == 1 and src_end < len(wanted):
            continue  # one letter is the same by chance
        own, there = src - before[0], dest - before[1]
        if own >= _OTHER or own - there >= _MORE:
            return True
        places[src:src_end] = range(dest, dest_end)
        before = src_end, dest_end
    for word in _WORD.finditer(quote):
        stands = places[np.searchsorted(at, word.start()) : np.searchsorted(at, word.end())]
        letters = stands >= 0
        share = letters.mean() if letters.size else 1.0
        if share < (0.6 if letters.size > 5 else 0.1 if letters.size > 2 else 0.0):
            return True
        if letters.any() and np.ptp(stands[letters]) >= 2 * letters.size:  # strewn over other words
            return True
        if word[0].isdecimal() and letters.size > 1 and share < 1:
            return True
    return False
