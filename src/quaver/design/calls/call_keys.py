"""How the key of a call is made. The recipe has a number, which the lock records.

Stored answers are found by their keys. Whoever changes what goes into a key, or in which order, raises its
number here and that of the tables (``response_tables.VERSION``).
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Protocol

from quaver.core.records import Message


class State(Protocol):
    """A hash that can be continued."""

    def copy(self) -> State:
        """A copy of its present state."""
        ...

    def update(self, data: bytes, /) -> None:
        """Add data."""
        ...

    def digest(self) -> bytes:
        """The hash."""
        ...


class Recipe:
    """The recipe: BLAKE2b, 16 bytes.

    It covers the served model's identity, the terms (decoding, allowed answers or JSON schema), the messages,
    the occurrence of all these in the design, and the number of the repeat. The key of a follow-up that
    quotes an answer covers the key of the quoted call instead of occurrence and repeat.
    """

    def condition(self, identity: str, terms: str, twins_before: int = 0, occasion: str = "") -> State:
        """The part that a condition's calls share.

        Args:
            identity: The served model's identity.
            terms: The terms of its calls.
            twins_before: The number of earlier conditions with the same variant, identity and terms.
            occasion: When they are asked, where the same calls are asked again on purpose.
        """
        state = blake2b(_asked(identity, terms), digest_size=16)
        if occasion:
            state.update(f"\x1e{occasion}\x1e".encode())
        if twins_before:
            state.update(_number(twins_before))
        return state

    def request(
        self, condition: State, messages: Iterable[Message], occurrence: int, repeats: int
    ) -> tuple[bytes, list[bytes]]:
        """A hash of what a request's calls share, and their keys.

        Args:
            condition: The part that its condition's calls share.
            messages: The messages of its prompt.
            occurrence: How often these messages occur earlier in the design.
            repeats: How many calls it has.
        """
        state = condition.copy()
        state.update(b"".join([_bytes(*message) for message in messages]) + _number(occurrence))
        shared = state.digest()
        if repeats == 1:  # a copy would take as long as the key
            state.update(_FIRST)
            return shared, [state.digest()]
        keys = []
        for repeat in range(repeats):
            one = state.copy()
            one.update(_number(repeat))
            keys.append(one.digest())
        return shared, keys

    def follow_up(self, condition: State, added: Sequence[Message], followed: bytes) -> bytes:
        """The key of a follow-up that quotes an answer.

        Args:
            condition: The part that its condition's calls share.
            added: The messages after the prompt, including the answer.
            followed: The key of the call whose answer it quotes.
        """
        state = condition.copy()
        state.update(b"".join([_bytes(*message) for message in added]))
        state.update(followed)
        return state.digest()


_number = struct.Struct("<I").pack
_FIRST = _number(0)


def _asked(identity: str, terms: str) -> bytes:
    """A JSON list: the identity, then the parts of the terms."""
    return f"[{json.dumps(identity)}, {terms[1:]}".encode()


def _bytes(role: str, content: str) -> bytes:
    """What the hash has of a message."""
    return f"{role}\x1f{len(content)}\x1f{content}".encode("utf-8", "surrogatepass")


RECIPE = 1
"""The number of the recipe."""
