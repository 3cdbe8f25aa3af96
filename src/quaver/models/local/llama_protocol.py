"""Requests to llama.cpp and its replies, as the JSON that its server speaks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from quaver.core.records import Message, Request, Response, Token
from quaver.errors import ModelError
from quaver.models._defaults import grammar, plain_text, sendable, too_long


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
