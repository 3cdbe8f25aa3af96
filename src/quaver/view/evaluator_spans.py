"""Where in an answer an evaluator read its label: the characters without which it would read something else.

An evaluator only says what it read. What it rests on is found by covering up one place after another: the
labels that the answer mentions first, then its words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from quaver.core.annotations import Reading
from quaver.core.records import LabelSet, Response, Variant
from quaver.score.parsing.evaluator import Answer, Reader
from quaver.score.parsing.label_forms import forms_of
from quaver.score.parsing.parsed_answer import plain

_LONGEST = 50_000
_MOST_MENTIONS, _MOST_WORDS = 100, 300
_WORD = re.compile(r"[^\W_]+(?:[.,][^\W_]+)*")
_COVER = "▮"

Span = tuple[int, int]


class Spans(NamedTuple):
    """Where a label was read.

    Attributes:
        places: The first character of each place, and the one after its last, in the response's text.
        exact: Whether the label is read there and nowhere else; otherwise one of these places was enough.
    """

    places: tuple[Span, ...] = ()
    exact: bool = True


def spans_of(response: Response, reader: Reader, labels: LabelSet, variant: Variant) -> Spans:
    """The characters of a response's text that a reader's label rests on; none where they cannot be found."""
    answer = Answer(response)
    if not answer.text or len(answer.text) > _LONGEST:
        return Spans()
    mentions = [
        (one.start, one.end)
        for one in islice(forms_of(labels, variant).mentions(answer), _MOST_MENTIONS)
        if one.codes
    ]
    words = [one.span() for one in islice(_WORD.finditer(answer.text), _MOST_WORDS)]
    whole = _said(reader(answer))
    for candidates in (mentions, words):
        needed = tuple(one for one in candidates if _said(reader(_covered(answer, [one]))) != whole)
        if needed:
            return _in_response(Spans(needed, True), answer, response)
        if candidates and _said(reader(_covered(answer, candidates))) != whole and candidates is mentions:
            return _in_response(Spans(tuple(candidates), False), answer, response)
    return Spans()


def _said(reading: Reading) -> tuple[object, ...]:
    return reading.label, reading.status, reading.confidence


def _covered(answer: Answer, places: Sequence[Span]) -> Answer:
    text = answer.text
    for start, end in reversed(places):
        text = f"{text[:start]}{_COVER * (end - start)}{text[end:]}"
    other = answer.cut(len(answer.text))
    other.text = text
    return other


def _in_response(found: Spans, answer: Answer, response: Response) -> Spans:
    """The same places in the text as it came, of which an answer is a part in plainer characters."""
    at = _places_in(response.text, answer.text)
    places = [(at[start], at[end - 1] + 1) for start, end in found.places if end - 1 in at and start in at]
    return Spans(tuple(places), found.exact)


def _places_in(raw: str, text: str) -> dict[int, int]:
    """For each character of an answer its place in the text as it came, as far as it can be found."""
    start = raw.rfind(text)
    if start >= 0:
        return {at: start + at for at in range(len(text))}
    best: dict[int, int] = {}
    for begin in _beginnings(raw, text):
        found = _aligned(raw, begin, text)
        if len(found) == len(text):
            return found
        best = max(best, found, key=len)
    return best


def _beginnings(raw: str, text: str) -> Iterator[int]:
    """Where an answer may begin, the last place first: what comes before it was thinking."""
    first = text[0]
    places = [at for at, char in enumerate(raw) if plain(char)[:1] == first]
    yield from islice(reversed(places), 50)


def _aligned(raw: str, begin: int, text: str) -> dict[int, int]:
    found: dict[int, int] = {}
    done = 0
    for at in range(begin, len(raw)):
        if done == len(text):
            break
        for char in plain(raw[at]):
            if done < len(text) and text[done] == char:
                found[done] = at
                done += 1
            elif found:
                return found
    return found
