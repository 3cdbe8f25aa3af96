"""Answers by the thousand, column by column, so that no record is made for one that repeats another."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from quaver.core.records import Response
from quaver.core.response_validation import valid_tokens

Row = tuple[int, int, int, Response, Response | None]
"""Condition position, item position, repeat, response, and the quoted response if a follow-up quotes one."""

Values = tuple[Any, ...]
"""What came back: text, finish, error, thinking, tokens (as JSON, or parsed), and whatever follows."""

SHOWN = 5
"""How many of these values an evaluator may be shown."""


class Said(NamedTuple):
    """What came back, a column for each value that an evaluator may be shown."""

    texts: Sequence[str] = ()
    finishes: Sequence[Any] = ()
    errors: Sequence[str | None] = ()
    thinkings: Sequence[str | None] = ()
    tokens: Sequence[Any] = ()


class AnswerRows:
    """Some answers with their places in the design; iterating gives each as a `Row`.

    Args:
        places: The positions of their conditions, those of their items, and which repeat each is.
        said: What came back.
        about: What the answers said that follow-ups quote, None for an answer that is no such follow-up;
            None where no answer is.
        whole: Makes the response at a place among the answers.
        quoted: Makes the response that a follow-up at a place quotes.
    """

    __slots__ = ("_quoted", "about", "conditions", "items", "repeats", "said", "whole")

    def __init__(
        self,
        places: Sequence[Sequence[int]],
        said: Said,
        about: Sequence[Values | None] | None,
        whole: Callable[[int], Response],
        quoted: Callable[[int], Response],
    ) -> None:
        self.conditions, self.items, self.repeats = places
        self.said, self.about, self.whole, self._quoted = said, about, whole, quoted

    @classmethod
    def of(cls, rows: Sequence[Row]) -> AnswerRows:
        """The answers in rows."""
        conditions, items, repeats, responses, about = zip(*rows, strict=True) if rows else ((),) * 5
        said = Said(*zip(*map(_values, responses), strict=True)) if rows else Said()
        quoted = [None if one is None else _values(one) for one in about] if any(about) else None
        places = conditions, items, repeats
        return cls(places, said, quoted, responses.__getitem__, about.__getitem__)

    def __len__(self) -> int:
        return len(self.conditions)

    def __iter__(self) -> Iterator[Row]:
        about = self.about or (None,) * len(self)
        for at, place in enumerate(zip(self.conditions, self.items, self.repeats, strict=True)):
            yield (*place, self.whole(at), None if about[at] is None else self._quoted(at))

    def at(self, places: Sequence[int]) -> AnswerRows:
        """Those at some places."""
        if len(places) == len(self):
            return self
        position = (self.conditions, self.items, self.repeats)
        return AnswerRows(
            [[column[at] for at in places] for column in position],
            Said._make([column[at] for at in places] for column in self.said),
            self.about and [self.about[at] for at in places],
            lambda at: self.whole(places[at]),
            lambda at: self._quoted(places[at]),
        )


def _values(response: Response) -> Values:
    return response.text, response.finish, response.error, response.thinking, response.tokens


def tokens_of(tokens: Any) -> tuple[Any, ...]:
    """Tokens as they are kept: JSON, or parsed already."""
    if isinstance(tokens, str):
        return valid_tokens(json.loads(tokens))
    return tokens or ()
