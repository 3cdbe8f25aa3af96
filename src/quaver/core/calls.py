"""What a model is asked, and what comes back: messages, prompts, calls, requests, responses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final, Literal, NamedTuple, TypeVar

from quaver.core.media import Medium
from quaver.core.records import Decoding

_Record = TypeVar("_Record", bound=tuple[Any, ...])


def constructor(kind: type[_Record]) -> Callable[[Iterable[Any]], _Record]:
    """Makes a named tuple of all its values in order, unchecked; for what is made by the million.

    >>> constructor(Message)(["user", "Is this good?"])
    Message(role='user', content='Is this good?')
    """
    return partial(tuple.__new__, kind)  # two to three times as fast as to call the class


class Message(NamedTuple):
    """One turn of the conversation that a model sees.

    If the last turn is the assistant's, the model continues it and returns what it adds. A ``plain`` message
    stands alone: a text that is sent without a chat template. A ``media`` message says in JSON which picture,
    page or recording the user shows with the next message.
    """

    role: Literal["system", "user", "assistant", "plain", "media"]
    content: str


class Prompt(NamedTuple):
    """A variant filled in with an item.

    Attributes:
        messages: What the model sees.
        text: The item's text in it.
        question: The instruction and postfix in it, for models that combine text and question themselves.
        media: The medium of each of its ``media`` messages, in their order.
    """

    messages: tuple[Message, ...]
    text: str
    question: str
    media: tuple[Medium, ...] = ()


class Call(NamedTuple):
    """A condition, an item and a repeat.

    Attributes:
        key: 16 bytes: a hash of everything that decides the answer (``call_plan``).
        condition: Position of the condition in the plan.
        item: Position of the item in the plan.
        repeat: From 0.
        parent: The key of the call whose answer this one quotes; None if it quotes none.
    """

    key: bytes
    condition: int
    item: int
    repeat: int
    parent: bytes | None = None


class Request(NamedTuple):
    """The calls that share a prompt and a decoding, sent to a model together.

    Attributes:
        model: The model's name in the study.
        prompt: What the model sees.
        decoding: How it answers.
        choices: The only answers allowed; empty if the decoding has no constraint.
        seed: The seed of the first call; the next call's is one higher, and so on.
        calls: One for each repeat.
        schema: JSON schema that the answers must follow; empty for none.
    """

    model: str
    prompt: Prompt
    decoding: Decoding
    choices: tuple[str, ...]
    seed: int
    calls: tuple[Call, ...]
    schema: str = ""

    def part(self, calls: tuple[Call, ...]) -> Request:
        """The same request for some of its calls, with the seed of the first of them.

        Args:
            calls: Consecutive repeats among its own.
        """
        return self._replace(calls=calls, seed=self.seed + calls[0].repeat - self.calls[0].repeat)


UNFOLLOWED: Final = ("error", "content_filter")
"""Endings of answers that no follow-up quotes."""


class Token(NamedTuple):
    """One position of an answer: the token, its log-probability, and the most likely tokens there.

    Log-probabilities are natural logarithms of the model's own distribution, before temperature and any cut,
    unless the model's documentation says otherwise.
    """

    text: str
    logprob: float
    top: tuple[tuple[str, float], ...]


class Response(NamedTuple):
    """What came back, raw and whole.

    Attributes:
        text: The answer; empty if there is none.
        finish: Why it ended: ``stop``, ``length``, ``content_filter`` or ``error``.
        error: What went wrong, if ``finish`` is ``error`` or ``content_filter``.
        thinking: What a reasoning model returned apart from its answer.
        tokens: The answer's tokens with their log-probabilities, if the study asks for them.
        prompt_tokens: Tokens of the prompt. When a server draws several answers to one prompt, the first
            answer has them and the others none: they are read and paid for once.
        cached_tokens: How many of these the engine did not need to read again.
        completion_tokens: Tokens written: those of the answer and of any thinking.
        latency: Seconds from sending to the answer, shared evenly by a request's calls.
        raw: Anything else that the model sent. When a server counts the answers to one prompt together,
            ``completion_tokens_of_request`` and ``answers_of_request`` are here.
        thinking_tokens: How many of ``completion_tokens`` were thinking.
        served_model: The model that answered, as the server names it.
        fingerprint: The server's name for the exact configuration that answered.
        instrument: What was asked, sent and honoured of each knob, as ``core.instrument`` writes it.
    """

    text: str
    finish: Literal["stop", "length", "content_filter", "error"] = "stop"
    error: str | None = None
    thinking: str | None = None
    tokens: tuple[Token, ...] = ()
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    completion_tokens: int | None = None
    latency: float | None = None
    raw: Mapping[str, Any] | None = None
    thinking_tokens: int | None = None
    served_model: str | None = None
    fingerprint: str | None = None
    instrument: str | None = None
