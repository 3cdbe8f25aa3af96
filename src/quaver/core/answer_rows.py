"""Answers by the thousand, column by column, so that no record is made for one that repeats another."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from quaver.core.records import Response
from quaver.core.response_validation import valid_tokens

Row = tuple[int, int, int, Response, Response | None]
"""Condition position, item position, repeat, response, and the quoted response if a follow-up quotes one."""

Said = tuple[Any, ...]
"""What came back: text, finish, error, thinking, tokens (as JSON, or parsed), and whatever follows."""


class AnswerRows:
    """Some answers with their places in the design; iterating gives each as a `Row`.

    Args:
        conditions: The positions of their conditions.
        items: The positions of their items.
        repeats: Which repeat each is.
        said: What came back.
        about: What the answer said that a follow-up quotes; None for an answer that is no such follow-up.
        whole: Makes the response of what came back.
    """

    __slots__ = ("about", "conditions", "items", "repeats", "said", "whole")

    def __init__(
        self,
        conditions: Sequence[int],
        items: Sequence[int],
        repeats: Sequence[int],
        said: Sequence[Said],
        about: Sequence[Said | None],
        whole: Callable[[Said], Response],
    ) -> None:
        self.conditions, self.items, self.repeats = conditions, items, repeats
        self.said, self.about, self.whole = said, about, whole

    @classmethod
    def of(cls, rows: Sequence[Row]) -> AnswerRows:
        """The answers in rows."""
        conditions, items, repeats, said, about = zip(*rows, strict=True) if rows else ((), (), (), (), ())
        quoted = [None if one is None else said_by(one) for one in about]
        return cls(conditions, items, repeats, [said_by(one) for one in said], quoted, _kept)

    def __len__(self) -> int:
        return len(self.said)

    def __iter__(self) -> Iterator[Row]:
        said = map(self.whole, self.said)
        about = (None if one is None else self.whole(one) for one in self.about)
        return zip(self.conditions, self.items, self.repeats, said, about, strict=True)

    def at(self, places: Sequence[int]) -> AnswerRows:
        """Those at some places."""
        if len(places) == len(self):
            return self
        columns: Sequence[Sequence[Any]] = (self.conditions, self.items, self.repeats, self.said, self.about)
        conditions, items, repeats, said, about = ([one[at] for at in places] for one in columns)
        return AnswerRows(conditions, items, repeats, said, about, self.whole)


def said_by(response: Response) -> Said:
    """What came back in a response."""
    one = response
    return one.text, one.finish, one.error, one.thinking, one.tokens, one


def _kept(said: Said) -> Response:
    response: Response = said[-1]
    return response


def tokens_of(tokens: Any) -> tuple[Any, ...]:
    """Tokens as they are kept: JSON, or parsed already."""
    if isinstance(tokens, str):
        return valid_tokens(json.loads(tokens))
    return tokens or ()
