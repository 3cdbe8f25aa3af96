"""Replies: a server's JSON as responses."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from quaver.core.calls import Request, Response, Token
from quaver.core.meter import TOKENS_A_CHARACTER, Meter, Traffic, reported_usage
from quaver.core.response_validation import printable, token_count, valid_response, valid_tokens
from quaver.errors import ModelError
from quaver.models.served.server_faults import Passing

LABEL = "label"
"""The key of the label, for servers whose only constraint is a JSON schema."""

_FILTERED = ("content_filter", "guardrail", "sensitive")
"""How finish reasons begin that say that a filter stopped the answer."""

_WHOLE = "ask for whole replies: `body: {stream: false}` beside the model, or turn streaming off there"

_FAILED = ("error", "insufficient_system_resource", "abort")
"""Finish reasons that are faults of the server."""


def read_reply(
    content: bytes,
    *,
    logprobs: int,
    begun: str = "",
    wrapped: Sequence[str] = (),
    completion: Callable[[Mapping[str, Any]], dict[str, Any]] | None = None,
) -> tuple[Response, str]:
    """The response in a reply, and the host that answered for the server, where it names one."""
    # A reply as an object
    if not content.strip():
        raise Passing("the reply is empty")
    try:
        reply = json.loads(content)
    except (ValueError, RecursionError):
        if content.startswith(b"data:"):
            raise Passing("the reply is a stream of events", fix=_WHOLE) from None
        begins = content[:60].decode("utf-8", "replace")
        raise Passing(f"the reply is not JSON: {begins!r}") from None
    if not isinstance(reply, dict):
        raise Passing("the reply is not an object")
    error = reply.get("error")
    if error and not reply.get("choices"):
        message = error.get("message") if isinstance(error, dict) else error
        raise Passing(f"the reply is an error: {str(message)[:200]}")
    reply = completion(reply) if completion else reply
    choices = objects_in(reply.get("choices"))
    choices.sort(key=lambda choice: token_count(choice.get("index")) or 0)
    if not choices or not _is_choice(choices[0]):
        raise Passing(_no_answer(reply, choices))
    usage = object_in(reply.get("usage"))
    prompt, written = token_count(usage.get("prompt_tokens")), token_count(usage.get("completion_tokens"))
    cached = token_count(object_in(usage.get("prompt_tokens_details")).get("cached_tokens"))
    thought = object_in(usage.get("completion_tokens_details")).get("reasoning_tokens")
    response = response_in(
        choices[0],
        logprobs,
        begun,
        category=reply.get("filter"),
        prompt_tokens=prompt,
        cached_tokens=cached,
        completion_tokens=written,
        thinking_tokens=thought,
        raw=reply.get("raw"),
        served_model=reply.get("model"),
        fingerprint=reply.get("system_fingerprint"),
    )
    response = unwrapped(response, wrapped) if wrapped else response
    host = reply.get("provider")
    return response, printable(host)[:60] if isinstance(host, str) else ""


def _no_answer(reply: Mapping[str, Any], choices: Sequence[Mapping[str, Any]]) -> str:
    """Why a reply is of no use, with what it holds instead."""
    reason = next((str(choice.get("finish_reason")) for choice in choices), "")
    feedback = reply.get("promptFeedback")  # Gemini's, where it blocks a text
    reason = str(feedback.get("blockReason")) if isinstance(feedback, dict) else reason
    words = reply.get("message") or reply.get("detail") or reply.get("error") or reason
    return "the reply holds no answer" + (f": {printable(words)[:200]}" if words else "")


def object_in(value: object) -> Mapping[str, Any]:
    """An object; an empty one in place of anything else."""
    return value if isinstance(value, dict) else {}


def objects_in(value: object) -> list[dict[str, Any]]:
    """The objects of a list; none in place of anything else."""
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _is_choice(choice: Mapping[str, Any]) -> bool:
    if choice.get("finish_reason") in _FAILED:
        return False
    message = choice.get("message")
    if isinstance(message, dict):
        return _spoken(message.get("content")) is not None
    return isinstance(choice.get("text"), str)


def response_in(
    choice: Mapping[str, Any], logprobs: int, begun: str, category: object = None, **beside: Any
) -> Response:
    """The response in one choice of a chat completion.

    Args:
        choice: The choice.
        logprobs: How many log-probabilities were asked for at each position.
        begun: The beginning of the answer, which some servers repeat.
        category: Why the answer was filtered.
        **beside: What the reply says of all its choices.
    """
    message = object_in(choice.get("message")) or {"content": choice.get("text")}
    text, thinking = _spoken(message.get("content")) or ("", "")
    for name in ("reasoning", "reasoning_content"):
        thinking = "".join(_spoken(message.get(name)) or ()) or thinking
    reason = str(choice.get("finish_reason"))
    finish: Literal["stop", "length", "content_filter"] = "stop"
    error = None
    if not text and isinstance(message.get("refusal"), str):
        text, finish = message["refusal"], "content_filter"
        error = f"refused by the model: {printable(text)[:200]}"
    elif reason == "length":
        finish = "length"
    elif reason.startswith(_FILTERED):
        why = category if isinstance(category, str) else reason.partition(":")[2].strip()
        finish, error = "content_filter", "content filter: the server's stopped the answer"
        error += f" ({printable(why)[:60]})" if why else ""
    return valid_response(
        Response(
            text=text.removeprefix(begun),
            finish=finish,
            error=error,
            thinking=thinking or None,
            tokens=_tokens(object_in(choice.get("logprobs")), logprobs) if logprobs else (),
            **beside,
        )
    )


def _spoken(content: object) -> tuple[str, str] | None:
    """The answer, and the thinking if both are parts of one list; None if it is neither."""
    if isinstance(content, str) or content is None:
        return content or "", ""
    text, thinking = "", ""
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, str):
            text += part
        elif not isinstance(part, dict):
            return None
        elif part.get("type") == "thinking":
            thinking += "".join(_spoken(part.get("thinking")) or ())
        elif isinstance(part.get("text") or "", str):
            text += part.get("text") or ""
        else:
            return None
    return text, thinking


def _tokens(logprobs: Mapping[str, Any], most: int) -> tuple[Token, ...]:
    """Tokens from either form: a list of positions, or parallel lists."""
    content = logprobs.get("content")
    places: list[tuple[Any, Any, list[Any]]]
    if isinstance(content, list):
        given = [(object_in(place), _list(object_in(place).get("top_logprobs"))) for place in content]
        places = [(*_pair(place), [_pair(object_in(top)) for top in tops]) for place, tops in given]
    else:
        texts, values = _list(logprobs.get("tokens")), _list(logprobs.get("token_logprobs"))
        tops = _list(logprobs.get("top_logprobs")) or [None] * len(texts)
        if not len(texts) == len(values) == len(tops):
            return ()
        beside = zip(texts, values, tops, strict=True)
        places = [(*pair, list(object_in(top).items())) for *pair, top in beside if pair[1] is not None]
    return tuple(
        token._replace(top=tuple(sorted(token.top, key=lambda pair: -pair[1])[:most]))
        for token in valid_tokens(places)
    )


def _pair(place: Mapping[str, Any]) -> tuple[Any, Any]:
    return place.get("token"), place.get("logprob")


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def unwrapped(response: Response, choices: Sequence[str]) -> Response:
    """Extract the label from its JSON object, with the tokens that spell it."""
    try:
        label = json.loads(response.text)[LABEL]
    except (ValueError, TypeError, KeyError, RecursionError):
        return response
    if label not in choices:
        return response
    raw = dict(response.raw or {}) | {"content": response.text}
    return response._replace(text=label, tokens=_spelling(response, json.dumps(label)[1:-1]), raw=raw)


def _spelling(response: Response, label: str) -> tuple[Token, ...]:
    """The tokens that overlap the label."""
    start = response.text.find(label, response.text.find(":"))
    end, index, kept = start + len(label), 0, []
    if "".join(token.text for token in response.tokens)[: len(response.text)] != response.text:
        return ()
    for token in response.tokens:
        if index < end and index + len(token.text) > start:
            kept.append(token)
        index += len(token.text)
    return tuple(kept)


_ONE_EACH = Traffic(sent=1, received=1)


class sending:  # noqa: N801
    """Count a request that the block sends, and its reply; a reply that was lost may still be billed."""

    __slots__ = ("_meter", "_request")

    def __init__(self, meter: Meter, request: Request) -> None:
        self._meter, self._request = meter, request

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, fault: BaseException | None, trace: object) -> None:
        if fault is None or isinstance(fault, ModelError) or (isinstance(fault, Passing) and fault.status):
            self._meter.count(_ONE_EACH)
        elif isinstance(fault, Passing) and not fault.unreached:
            longest = float(self._request.decoding.max_tokens)
            read = _prompt(self._request)
            self._meter.count(Traffic(1, 0, 1, estimated_prompt=read, estimated_completion=longest))
            fault.billed = True


class reading:  # noqa: N801
    """Count a reply that the block cannot turn into answers."""

    __slots__ = ("_content", "_meter", "_request")

    def __init__(self, meter: Meter, request: Request, content: bytes) -> None:
        self._meter, self._request, self._content = meter, request, content

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, fault: BaseException | None, trace: object) -> None:
        if not isinstance(fault, Exception):
            return
        usage = reported_usage(self._content)
        begun = not usage and b'"choices"' in self._content
        self._meter.count(
            Traffic(
                discarded=1,
                **usage,
                estimated_prompt=_prompt(self._request) if begun else 0,
                estimated_completion=len(self._content) * TOKENS_A_CHARACTER if begun else 0,
            )
        )
        if isinstance(fault, Passing):
            fault.billed = bool(usage) or begun


def spent_on(response: Response) -> Traffic:
    """The cost of an answer that is not stored: one of a probe."""
    return Traffic(
        discarded=1,
        prompt_tokens=response.prompt_tokens or 0,
        cached_tokens=response.cached_tokens or 0,
        completion_tokens=response.completion_tokens or 0,
    )


def _prompt(request: Request) -> float:
    return sum(len(content) for _, content in request.prompt.messages) * TOKENS_A_CHARACTER
