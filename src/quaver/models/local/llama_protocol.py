"""Requests to llama.cpp and its replies, as the JSON that its server speaks."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from quaver.core.records import Decoding, Message, Request, Response, Token
from quaver.errors import ModelError
from quaver.models._defaults import before_stop, grammar, plain_text, sendable, too_long
from quaver.models.local.checkpoint import Floats, choose, likeliest, log_probabilities


def request_body(request: Request) -> dict[str, Any]:
    """What a request asks for beside its messages."""
    decoding = request.decoding
    body: dict[str, Any] = {
        "temperature": decoding.temperature,
        "top_p": decoding.top_p,
        "top_k": decoding.top_k,
        "min_p": decoding.min_p,
        "repeat_penalty": decoding.repeat_penalty,
        "max_tokens": decoding.max_tokens,
    }
    if decoding.stop:
        body["stop"] = list(decoding.stop)
    if decoding.logprobs:
        body |= {"logprobs": True, "top_logprobs": decoding.logprobs}
    if request.schema:
        body["json_schema"] = json.loads(request.schema)
    elif request.choices:
        body["grammar"] = grammar(request.choices)
    return body


def begun_answer(messages: Sequence[Message]) -> str:
    """The beginning of the answer, which the engine repeats in its reply."""
    return sendable(messages[-1].content) if messages[-1].role == "assistant" else ""


def continues(messages: Sequence[Message], before: Sequence[Message]) -> bool:
    """Whether a prompt continues a whole earlier one, including a begun answer."""
    if not before:
        return False
    text, start = plain_text(messages), plain_text(before)
    if text is not None:
        return start is not None and text.startswith(start)
    new = [(role, content.strip()) for role, content in messages]
    *whole, (role, last) = [(role, content.strip()) for role, content in before]
    if new[: len(whole)] != whole or len(new) <= len(whole) or new[len(whole)][0] != role:
        return False
    same = new[len(whole)][1]
    if role == "assistant":  # a begun message that continued
        return same.startswith(last)
    return len(new) > len(before) and same == last


def failure_of(reply: Mapping[str, Any]) -> Response | None:
    """The response to a prompt that is too long; other errors end the run."""
    error = reply.get("error")
    if not error:
        return None
    if error.get("type") == "exceed_context_size_error":
        size, room = error.get("n_prompt_tokens"), error.get("n_ctx")
        return too_long(size, room)
    raise ModelError("llama.cpp refused a request", found=str(error.get("message"))[:300])


def responses_of(reply: Mapping[str, Any], read: int | None, begun: str) -> list[Response]:
    """The responses in a reply."""
    usage = reply["usage"]
    prompt = int(usage["prompt_tokens"])
    cached = int(usage.get("prompt_tokens_details", {}).get("cached_tokens", 0))
    answered = int(usage["completion_tokens"])
    choices = sorted(reply["choices"], key=lambda choice: int(choice["index"]))
    drawn = len(choices)
    together = {"completion_tokens_of_request": answered, "answers_of_request": drawn} if drawn > 1 else None
    return [
        Response(
            text=_text(choice).removeprefix(begun),
            finish="length" if choice["finish_reason"] == "length" else "stop",
            thinking=choice.get("message", {}).get("reasoning_content"),
            tokens=_tokens(choice.get("logprobs")),
            prompt_tokens=prompt,
            cached_tokens=cached if read is None else prompt - read,
            completion_tokens=answered if drawn == 1 else None,
            raw=together,
        )
        for choice in choices
    ]


def _text(choice: Mapping[str, Any]) -> str:
    return str(choice["message"]["content"] or "" if "message" in choice else choice["text"])


def _tokens(logprobs: Mapping[str, Any] | None) -> tuple[Token, ...]:
    if not logprobs:
        return ()
    return tuple(
        Token(
            place["token"],
            place["logprob"],
            tuple((top["token"], top["logprob"]) for top in place["top_logprobs"]),
        )
        for place in logprobs["content"]
    )


class Words:
    """How tokens are spelled.

    Args:
        tokenizer: A tokenizer of transformers.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._spelled: dict[int, str] = {}

    def text(self, tokens: Sequence[int]) -> str:
        """The text of tokens, without special ones."""
        decoded: str = self._tokenizer.decode(
            tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return decoded

    def tokens(self, text: str) -> list[int]:
        """A text as tokens, without special ones."""
        result: list[int] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return result

    def spell(self, token: int) -> str:
        """The text of one token; empty for a special one."""
        if token not in self._spelled:
            self._spelled[token] = self.text([token])
        return self._spelled[token]

    def token(self, token: int, logprobs: Floats, count: int) -> Token:
        """A token with its log-probability and the most likely alternatives."""
        top = tuple((self.spell(other), float(logprobs[other])) for other in likeliest(logprobs, count))
        return Token(self.spell(token), float(logprobs[token]), top)


class Draft:
    """One answer.

    Args:
        prompt: The prompt's tokens.
        decoding: How to choose.
        seed: Seeds its own random numbers, one per token.
        words: How tokens are spelled.
        ends: The tokens that end it.
        room: The tokens that the context leaves for it.
    """

    def __init__(
        self,
        prompt: Sequence[int],
        decoding: Decoding,
        seed: int,
        *,
        words: Words,
        ends: Collection[int],
        room: int,
    ) -> None:
        self._prompt, self._decoding, self._words, self._ends = prompt, decoding, words, ends
        self._most = min(decoding.max_tokens, room)
        self._random = np.random.default_rng(seed)
        self._seen = set(prompt) if decoding.repeat_penalty != 1 else set()
        self._tokens: list[int] = []
        self._places: list[Token] = []
        self._text: str | None = None
        self._ended = False

    def take(self, logits: npt.NDArray[np.floating]) -> int | None:
        """Choose the next token.

        Returns:
            The token to read next; None if the answer is complete.
        """
        token = choose(logits, self._decoding, self._random.random(), self._seen)
        self._tokens.append(token)
        if self._decoding.logprobs:
            logprobs = log_probabilities(logits)
            self._places.append(self._words.token(token, logprobs, self._decoding.logprobs))
        if self._decoding.repeat_penalty != 1:
            self._seen.add(token)
        self._ended = token in self._ends or self._stopped()
        return None if self._ended or len(self._tokens) >= self._most else token

    def _stopped(self) -> bool:
        """Whether a stop text has appeared; the answer is cut before the first."""
        if not self._decoding.stop:
            return False
        self._text = before_stop(self._words.text(self._tokens), self._decoding.stop)
        return self._text is not None

    def response(self) -> Response:
        """The answer so far."""
        return Response(
            text=self._words.text(self._tokens) if self._text is None else self._text,
            finish="stop" if self._ended else "length",
            tokens=tuple(self._places),
            prompt_tokens=len(self._prompt),
            cached_tokens=0,
            completion_tokens=len(self._tokens),
        )


def draw_text(texts: Sequence[str], likelihoods: Floats, decoding: Decoding, seed: int) -> tuple[str, Token]:
    """Draw one of the allowed texts from their exact distribution.

    Returns:
        The text, and a token that stands for it, with the log-probabilities of all choices.
    """
    plain = Decoding("", decoding.temperature, decoding.top_p, decoding.top_k, decoding.min_p)
    index = choose(likelihoods, plain, np.random.default_rng(seed).random())
    ranked = likeliest(likelihoods, len(texts))
    top = tuple((texts[other], float(likelihoods[other])) for other in ranked)
    return texts[index], Token(texts[index], float(likelihoods[index]), top)
