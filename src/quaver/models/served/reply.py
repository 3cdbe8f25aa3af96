"""What comes back: a server's JSON as responses."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from quaver.models.served.body import LABEL
from quaver.models.served.faults import Passing
from quaver.records import Response, Token

__all__ = ["read_reply"]

_FAILED = frozenset(["error", "insufficient_system_resource", "abort"])
"""Ends that are a fault of the server's, told in an answer."""


def read_reply(
    content: bytes, *, n: int, logprobs: int, begun: str = "", wrapped: Sequence[str] = ()
) -> list[Response]:
    """The responses in a reply.

    Args:
        content: The reply's body.
        n: How many answers were asked for.
        logprobs: How many of the likeliest tokens were asked for.
        begun: What the model was to go on with: some servers give it back before what is new.
        wrapped: The choices, where the label was asked for inside a JSON object: it is taken out, and
            what came is kept in ``raw``.

    Raises:
        Passing: The reply is empty, cut, no JSON, or holds fewer answers than were asked for.
    """
    reply = _parsed(content)
    choices = reply.get("choices")
    if not isinstance(choices, list) or len(choices) < n or not all(map(_is_choice, choices)):
        raise Passing("the reply holds no answer" if n == 1 else f"the reply holds fewer than {n} answers")
    usage = reply.get("usage") or {}
    prompt, written = usage.get("prompt_tokens"), usage.get("completion_tokens")
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens")
    thought = (usage.get("completion_tokens_details") or {}).get("reasoning_tokens")
    responses: list[Response] = []
    for choice in sorted(choices, key=lambda choice: int(choice.get("index") or 0))[:n]:
        response = _response(choice, logprobs)
        response = replace(
            response,
            text=response.text.removeprefix(begun),
            prompt_tokens=prompt if not responses else prompt and 0,  # it was read, and is paid, once
            cached_tokens=cached if not responses else cached and 0,
            completion_tokens=written if n == 1 else None,
            thinking_tokens=thought if n == 1 else None,
            raw={"completion_tokens_of_request": written, "answers_of_request": n} if n > 1 else None,
            served_model=reply.get("model"),
            fingerprint=reply.get("system_fingerprint"),
        )
        responses.append(_unwrapped(response, wrapped) if wrapped else response)
    return responses


def _parsed(content: bytes) -> dict[str, Any]:
    if not content.strip():
        raise Passing("the reply is empty")
    try:
        reply = json.loads(content)
    except ValueError:
        begins = content[:60].decode("utf-8", "replace")
        raise Passing(f"the reply is not JSON: {begins!r}") from None
    if not isinstance(reply, dict):
        raise Passing("the reply is not an object")
    error = reply.get("error")
    if error and not reply.get("choices"):
        told = error.get("message") if isinstance(error, dict) else error
        raise Passing(f"the reply is an error: {str(told)[:200]}")
    return reply


def _is_choice(choice: object) -> bool:
    if not isinstance(choice, dict):
        return False
    if choice.get("finish_reason") in _FAILED:
        return False
    return isinstance(choice.get("message"), dict) or isinstance(choice.get("text"), str)


def _response(choice: Mapping[str, Any], logprobs: int) -> Response:
    message = choice.get("message") or {"content": choice.get("text")}
    text, thinking = _spoken(message.get("content"))
    thinking = message.get("reasoning_content") or message.get("reasoning") or thinking
    if not text and message.get("refusal"):
        text = str(message["refusal"])
    reason = choice.get("finish_reason")
    finish: Literal["stop", "length", "content_filter"] = "stop"
    error = None
    if reason == "length":
        finish = "length"
    elif reason == "content_filter":
        finish, error = "content_filter", "the server's content filter stopped the answer"
    return Response(
        text=text,
        finish=finish,
        error=error,
        thinking=str(thinking) if thinking else None,
        tokens=_tokens(choice.get("logprobs"), logprobs) if logprobs else (),
    )


def _spoken(content: object) -> tuple[str, str]:
    """The answer, and the thinking where a server sends both as parts of one list."""
    if isinstance(content, str) or content is None:
        return content or "", ""
    text, thinking = "", ""
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, dict) and part.get("type") == "thinking":
            inner = part.get("thinking")
            thinking += inner if isinstance(inner, str) else _spoken(inner)[0]
        elif isinstance(part, dict):
            text += str(part.get("text") or "")
        else:
            text += str(part)
    return text, thinking


def _tokens(logprobs: object, most: int) -> tuple[Token, ...]:
    """Tokens from either form: a list of positions, or lists beside each other."""
    if not isinstance(logprobs, dict):
        return ()
    content = logprobs.get("content")
    if isinstance(content, list):
        return tuple(
            Token(
                place["token"],
                place["logprob"],
                _likeliest(((top["token"], top["logprob"]) for top in place.get("top_logprobs") or ()), most),
            )
            for place in content
        )
    texts = logprobs.get("tokens") or []
    tops = logprobs.get("top_logprobs") or [{}] * len(texts)
    return tuple(
        Token(text, logprob, _likeliest((top or {}).items(), most))
        for text, logprob, top in zip(texts, logprobs.get("token_logprobs") or [], tops, strict=False)
        if logprob is not None
    )


def _likeliest(pairs: Any, most: int) -> tuple[tuple[str, float], ...]:
    return tuple(sorted(pairs, key=lambda pair: -pair[1])[:most])


def _unwrapped(response: Response, choices: Sequence[str]) -> Response:
    """Take the label out of its JSON object, with the tokens that spell it."""
    try:
        label = json.loads(response.text)[LABEL]
    except (ValueError, TypeError, KeyError):
        return response
    if label not in choices:
        return response
    raw = dict(response.raw or {}) | {"content": response.text}
    return replace(response, text=label, tokens=_spelling(response, json.dumps(label)[1:-1]), raw=raw)


def _spelling(response: Response, label: str) -> tuple[Token, ...]:
    """The tokens from the one in which the label begins to the one in which it ends."""
    start = response.text.find(label, response.text.find(":"))
    end, at, kept = start + len(label), 0, []
    if "".join(token.text for token in response.tokens)[: len(response.text)] != response.text:
        return ()
    for token in response.tokens:
        if at < end and at + len(token.text) > start:
            kept.append(token)
        at += len(token.text)
    return tuple(kept)
