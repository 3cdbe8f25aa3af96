"""The protocol of a model: it turns requests into responses.

To add one, write a class with the methods of ``Model`` in its own file and register it under
``quaver.models``; ``pytest --pyargs quaver.testing`` then checks that it keeps this contract.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from quaver.core.calls import Message, Request, Response

Answered = tuple[Request, list[Response]]
"""A request with one response for each of its calls, in their order."""


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a model can do; a study that asks for more is refused before anything is sent.

    Attributes:
        logprobs: The most log-probabilities that it returns at a position; 0 if it returns none.
        constraint: It can be constrained to a choice among answers.
        seed: The same request with the same seed draws the same answer.
        system: It reads a system message.
        plain: It continues a text that is sent without a chat template.
        schema: It can be constrained to a JSON schema.
        decoding: The parameters of a decoding (``top_k``, …) that it supports beside temperature and
            max_tokens; a study must leave the others at their defaults.
        conversation: It sees the turns before its last question.
        continues: It continues an assistant's message that was begun for it.
        local: It runs on this machine, free of charge.
        media: The media types of pictures, pages and recordings that it takes.
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
    media: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Needs:
    """What a study needs from a model.

    Attributes:
        logprobs: The most log-probabilities at a position.
        constraint: A choice among answers as constraint.
        schema: A JSON schema as constraint.
        seed: The same answer for the same seed.
        varied: Knobs that the study varies (``temperature``, …), with their lowest and highest value.
    """

    logprobs: int = 0
    constraint: bool = False
    schema: bool = False
    seed: bool = False
    varied: Mapping[str, tuple[float, float]] = field(default_factory=dict)


class Model(Protocol):
    """Answers requests. Its constructor takes the options of the study file as keyword arguments.

    Constructing a model is cheap: it loads weights and reaches servers when they are first needed.
    """

    abilities: Abilities

    def identity(self) -> str:
        """What is served: everything about the model that can change an answer, and nothing else.

        It is part of every call's key: stored responses are reused as long as it stays the same.
        """
        ...

    def provenance(self) -> Mapping[str, Any]:
        """What a reviewer wants to know about it: names, versions, hashes. Never a key."""
        ...

    def prepare(self, repeats: int) -> None:
        """Get ready, before the first request, for requests of up to ``repeats`` calls."""
        ...

    def answer(self, requests: Iterable[Request]) -> Iterator[Answered]:
        """Answer requests in any order.

        A request that this model cannot answer (too long, filtered) yields responses that say so; a model
        that can no longer answer anything raises a ``ModelError``. Before it does, it yields what it has: of
        a request that was answered in part, ``request.part(calls)`` with their responses. Requests are drawn
        only as fast as they are processed, so that ending their iterator ends the work.
        """
        ...

    def count_tokens(self, prompts: Sequence[Sequence[Message]]) -> list[int] | None:
        """The number of tokens of each prompt as the model reads it; None if it does not know."""
        ...

    def close(self) -> None:
        """Release weights and connections; a later request acquires them again."""
        ...


@runtime_checkable
class Probed(Protocol):
    """A model that may silently ignore a parameter: a server."""

    def probe(self, needs: Needs) -> None:
        """Test, at the start of a run, what the study needs.

        Raises:
            ModelError: It cannot be reached, or does not support what the study requires.
        """
        ...


@runtime_checkable
class AnswersInGroups(Protocol):
    """A model that answers so fast that passing answers on one by one would take longer than asking.

    A process that is killed loses the group that it is working on, so a group takes about a millisecond.
    """

    def answer_groups(self, requests: Iterable[Request]) -> Iterator[Sequence[Answered]]:
        """Answer requests as ``answer`` does, a few at a time."""
        ...


@runtime_checkable
class Keyed(Protocol):
    """A model that may need a key."""

    def check_key(self) -> None:
        """See that the key is there, without using it.

        Raises:
            MissingKey: It is not in the environment.
        """
        ...


@runtime_checkable
class Billed(Protocol):
    """A model that somebody may have to pay for: one behind a server."""

    @property
    def is_free(self) -> bool:
        """Whether the server says that nobody has to pay."""
        ...
