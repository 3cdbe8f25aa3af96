"""How the key of a call is made: the recipe has a number, which stands in the lock and in the store.

Stored answers are found by their keys. A change of what goes into one, or in which order, is therefore a new
recipe with the next number: the old one stays here, so that ``design.rekeying`` can tell which new key the
answer under an old one has.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Protocol

from quaver.core.records import Message

__all__ = ["RECIPE", "RECIPES", "Recipe", "State"]


class State(Protocol):
    """A hash that goes on."""

    def copy(self) -> State:
        """As it is now."""
        ...

    def update(self, data: bytes, /) -> None:
        """Take something in."""
        ...

    def digest(self) -> bytes:
        """What it comes to."""
        ...


class Recipe:
    """The first recipe: BLAKE2b, 16 bytes.

    Of the served model's identity, the terms (decoding, allowed answers or JSON schema), the messages, which
    occurrence of all these in the design it is, and the repeat's number. The key of a follow-up that quotes
    an answer takes in the key of the call that it follows instead of occurrence and repeat.
    """

    def condition(self, identity: str, terms: str, twins_before: int = 0) -> State:
        """What the calls of a condition have in common.

        Args:
            identity: Of the served model.
            terms: Of its calls.
            twins_before: How many conditions before it have the same variant, identity and terms.
        """
        state = blake2b(_asked(identity, terms), digest_size=16)
        if twins_before:
            state.update(struct.pack("<I", twins_before))
        return state

    def request(self, condition: State, messages: Iterable[Message], occurrence: int) -> State:
        """What the calls of a request have in common.

        Args:
            condition: Of the request.
            messages: Of its prompt.
            occurrence: How often these messages have occurred in the design before.
        """
        state = condition.copy()
        _take_in(state, messages)
        state.update(struct.pack("<I", occurrence))
        return state

    def call(self, request: State, repeat: int) -> bytes:
        """The key of one repeat."""
        state = request.copy()
        state.update(struct.pack("<I", repeat))
        return state.digest()

    def follow_up(self, condition: State, added: Sequence[Message], followed: bytes) -> bytes:
        """The key of a follow-up that quotes an answer.

        Args:
            condition: Of the follow-up.
            added: The messages behind the prompt, with the answer in them.
            followed: The key of the call that is followed.
        """
        state = condition.copy()
        _take_in(state, added)
        state.update(followed)
        return state.digest()


def _asked(identity: str, terms: str) -> bytes:
    """A JSON list: the identity and, behind it, the terms' own parts."""
    return f"[{json.dumps(identity)}, {terms[1:]}".encode()


def _take_in(state: State, messages: Iterable[Message]) -> None:
    for role, content in messages:
        state.update(f"{role}\x1f{len(content)}\x1f{content}".encode("utf-8", "surrogatepass"))


RECIPES: Mapping[int, Recipe] = {1: Recipe()}
"""Every recipe that answers were ever stored under, by its number."""

RECIPE = 1
"""The number of today's."""
