"""Models, one engine a file: they turn requests into responses.

To add one, write a class with the methods of ``Model`` in a file of its own and register it under
``quaver.models``; ``pytest --pyargs quaver.testing`` then holds it to this contract.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from quaver.core.records import Condition, Message, Request, Response

__all__ = ["Abilities", "Answered", "Model", "Needs", "Placed", "Probed"]

Answered = tuple[Request, list[Response]]
"""A request with one response for each of its calls, in their order."""


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a model can do; a study that asks for more is refused before anything is sent.

    Attributes:
        logprobs: Most log-probabilities that it returns a position; 0 where it returns none.
        constraint: It can be held to a choice among answers.
        seed: The same request with the same seed draws the same answer.
        system: It reads a system message.
        plain: It goes on from a text that is sent without a chat template.
        schema: It can be held to a JSON schema.
        decoding: Settings of a decoding (``top_k``, …) that it heeds, temperature and max_tokens
            apart; a study may not move the others from their defaults.
        conversation: It sees the turns before its last question.
        continues: It goes on with an assistant's message that was begun for it.
        local: It runs on this machine, for nothing.
    """

    logprobs: int = 0
    constraint: bool = False
    seed: bool = False
    system: bool = True
    plain: bool = False
    schema: bool = False
    decoding: frozenset[str] = frozenset()
    conversation: bool = True
    continues: bool = False
    local: bool = False


@dataclass(frozen=True, slots=True)
class Needs:
    """What a study will ask of a model.

    Attributes:
        repeats: Most calls that a request will hold.
        logprobs: Most log-probabilities a position.
        constraint: To be held to a choice among answers.
        schema: To be held to a JSON schema.
        seed: To draw the same with the same seed.
    """

    repeats: int = 1
    logprobs: int = 0
    constraint: bool = False
    schema: bool = False
    seed: bool = False


class Model(Protocol):
    """Answers requests. Its constructor takes the options of the study file as keyword arguments.

    Constructing one is cheap: weights are loaded and servers reached when they are first needed.
    """

    abilities: Abilities

    def identity(self) -> str:
        """What is served: everything about the model that can change an answer, and nothing else.

        Part of every call's key: stored responses are reused as long as it stays the same.
        """
        ...

    def provenance(self) -> Mapping[str, Any]:
        """What a reviewer wants to know of it: names, versions, hashes. Never a key."""
        ...

    def prepare(self, repeats: int) -> None:
        """Be told, before the first request, the most calls that a request will hold."""
        ...

    def answer(self, requests: Iterable[Request]) -> Iterator[Answered]:
        """Answer requests as they can be taken in, in any order.

        A request that this model cannot answer (too long, filtered) yields responses that say so;
        a model that is of no use any more raises a ``ModelError``. The requests are drawn only as
        fast as they are worked on, so that ending their iterator ends the work.
        """
        ...

    def count_tokens(self, prompts: Sequence[Sequence[Message]]) -> list[int] | None:
        """Tokens of each prompt as the model reads it; None where it cannot tell."""
        ...

    def close(self) -> None:
        """Let go of weights and connections; a later request takes them up again."""
        ...


@runtime_checkable
class Placed(Protocol):
    """A model that goes by what a call is of, and not by its prompt alone."""

    def place(self, conditions: Sequence[Condition], items: Sequence[str]) -> None:
        """Be told which conditions and items (ids) the positions in a call stand for."""
        ...


@runtime_checkable
class Probed(Protocol):
    """A model that may ignore without a word what it is asked: a server."""

    def probe(self, needs: Needs) -> None:
        """Try, at the start of a run and before the first request, what the study will ask for.

        Raises:
            ModelError: It cannot be reached, or does not honour what the study may not do without.
        """
        ...
