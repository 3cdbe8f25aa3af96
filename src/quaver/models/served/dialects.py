"""The APIs in which a server can be asked: requests as each one's JSON, its replies as chat completions.

A dialect says where each knob stands in a request. What a server has refused is taken from there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from quaver.core.records import Decoding, Message, Request
from quaver.core.response_validation import token_count
from quaver.models._defaults import turns
from quaver.models.served.presets import Preset
from quaver.models.served.server_options import CHAT, PLAIN, ROOM, body_of, is_plain, one_of
from quaver.models.served.server_reply import object_in, objects_in

_DEFAULTS = Decoding("")


@dataclass(frozen=True, slots=True)
class Knobs:
    """What a study file says of every request to a model, beside the decoding.

    Attributes:
        effort: How much the model should think before it answers, in the provider's words; empty for its
            own default.
        thinking: Tokens for thinking, ``adaptive``, or 0 where nothing is said of it.
        cache: Whether prompts are marked for Anthropic's cache.
    """

    effort: str = ""
    thinking: int | str = 0
    cache: bool = False


@dataclass(frozen=True, slots=True)
class Dialect:
    """An API.

    Attributes:
        name: What the record calls it.
        body: Makes the body for a call.
        completion: Turns a reply into a chat completion; None where it is one.
        fields: Where each knob may stand in a body.
        path: The path of a request, below the base URL.
    """

    name: str
    body: Callable[[Preset, str, Request, Knobs], dict[str, Any]]
    path: Callable[[str, Sequence[Message]], str]
    fields: Mapping[str, tuple[str, ...]]
    completion: Callable[[Mapping[str, Any]], dict[str, Any]] | None = None


def _chat_body(server: Preset, model: str, request: Request, knobs: Knobs) -> dict[str, Any]:
    body = body_of(server, model, request)
    return body | ({"reasoning_effort": knobs.effort} if knobs.effort else {})


CHAT_API: Final = Dialect(
    "chat/completions",
    _chat_body,
    lambda model, messages: PLAIN if is_plain(messages) else CHAT,
    {
        "temperature": ("temperature",),
        "top_p": ("top_p",),
        "effort": ("reasoning_effort", "reasoning.effort", "think"),
        "thinking": ("thinking", "reasoning.max_tokens", "chat_template_kwargs"),
        "seed": ("seed", "random_seed"),
        "max_tokens": ("max_tokens", "max_completion_tokens"),
        "stop": ("stop",),
        "schema": ("response_format", "structured_outputs", "grammar", "regex"),
        "logprobs": ("top_logprobs", "logprobs"),
    },
)


def _responses_body(server: Preset, model: str, request: Request, knobs: Knobs) -> dict[str, Any]:
    """A request of OpenAI's Responses API, which takes no seed and no stop."""
    chat = body_of(server, model, request)
    body: dict[str, Any] = {
        "model": model,
        "input": chat.get("messages") or chat.get("prompt"),
        "store": False,
        "max_output_tokens": request.decoding.max_tokens,
        **{name: chat[name] for name in ("temperature", "top_p") if name in chat},
        **{name: value for name, value in server.body.items() if value is not None and name != "provider"},
    }
    form = object_in(object_in(chat.get("response_format")).get("json_schema"))
    if form:
        body["text"] = {"format": {"type": "json_schema", **form}}
        body["max_output_tokens"] += 0 if request.schema else ROOM
    if request.decoding.logprobs:
        body |= {"top_logprobs": request.decoding.logprobs, "include": ["message.output_text.logprobs"]}
    return body | ({"reasoning": {"effort": knobs.effort}} if knobs.effort else {})


def _of_response(reply: Mapping[str, Any]) -> dict[str, Any]:
    parts = [
        part
        for item in objects_in(reply.get("output"))
        if item.get("type") == "message"
        for part in objects_in(item.get("content"))
    ]
    why = object_in(reply.get("incomplete_details")).get("reason")
    ends = {"max_output_tokens": "length", "content_filter": "content_filter"}.get(str(why), "stop")
    message: dict[str, Any] = {"content": "".join(str(part.get("text") or "") for part in parts)}
    if refusals := [part["refusal"] for part in parts if isinstance(part.get("refusal"), str)]:
        message["refusal"] = refusals[0]
    tokens = [one for part in parts for one in objects_in(part.get("logprobs"))]
    choice = {"index": 0, "message": message, "finish_reason": ends}
    usage = object_in(reply.get("usage"))
    return {
        "model": reply.get("model"),
        "choices": [choice | ({"logprobs": {"content": tokens}} if tokens else {})]
        if "output" in reply
        else [],
        "usage": {
            "prompt_tokens": usage.get("input_tokens"),
            "completion_tokens": usage.get("output_tokens"),
            "prompt_tokens_details": usage.get("input_tokens_details"),
            "completion_tokens_details": usage.get("output_tokens_details"),
        },
        "error": reply.get("error"),
    }


RESPONSES_API: Final = Dialect(
    "responses",
    _responses_body,
    lambda model, messages: "/responses",
    {
        "temperature": ("temperature",),
        "top_p": ("top_p",),
        "effort": ("reasoning.effort",),
        "max_tokens": ("max_output_tokens",),
        "schema": ("text.format",),
        "logprobs": ("top_logprobs",),
    },
    _of_response,
)

EFFORTS: Final = {"none": 0, "minimal": 1024, "low": 1024, "medium": 8192, "high": 24576}
"""Tokens of thinking by effort, as Google documents it for models before Gemini 3."""


def _gemini_body(server: Preset, model: str, request: Request, knobs: Knobs) -> dict[str, Any]:
    """A request as Gemini's ``GenerateContentRequest``."""
    decoding, said = request.decoding, turns(request.prompt.messages)
    system = [{"text": one["content"]} for one in said if one["role"] == "system"]
    contents = [
        {"role": "model" if one["role"] == "assistant" else "user", "parts": [{"text": one["content"]}]}
        for one in said
        if one["role"] != "system"
    ]
    config: dict[str, Any] = {"temperature": decoding.temperature, "maxOutputTokens": decoding.max_tokens}
    if decoding.top_p != _DEFAULTS.top_p:
        config["topP"] = decoding.top_p
    if decoding.stop:
        config["stopSequences"] = list(decoding.stop)
    if request.schema or request.choices:
        schema = json.loads(request.schema) if request.schema else one_of(request.choices)
        config |= {"responseMimeType": "application/json", "responseJsonSchema": schema}
        config["maxOutputTokens"] += 0 if request.schema else ROOM
    if effort := knobs.effort or str(server.body.get("reasoning_effort") or ""):
        older = model.removeprefix("models/").startswith(("gemini-1", "gemini-2"))
        budget = {"thinkingBudget": EFFORTS[effort]} if older and effort in EFFORTS else None
        config["thinkingConfig"] = budget or {"thinkingLevel": effort}
    found: dict[str, Any] = {"contents": contents, "generationConfig": config}
    return found | ({"systemInstruction": {"parts": system}} if system else {})


_FILTERED = frozenset(
    ["SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "IMAGE_SAFETY"]
)


def of_gemini(found: Mapping[str, Any]) -> dict[str, Any]:
    """Gemini's ``GenerateContentResponse`` as a chat completion, so that both are read by the same rules."""
    candidates = objects_in(found.get("candidates"))
    feedback, usage = object_in(found.get("promptFeedback")), object_in(found.get("usageMetadata"))
    choices = [_candidate(index, one) for index, one in enumerate(candidates)]
    if not choices and feedback.get("blockReason"):
        choices = [{"index": 0, "message": {"content": ""}, "finish_reason": "content_filter"}]
    read = token_count(usage.get("promptTokenCount"))
    counts = [token_count(usage.get(name)) for name in ("candidatesTokenCount", "thoughtsTokenCount")]
    return {
        "model": found.get("modelVersion"),
        "choices": choices,
        "usage": {
            "prompt_tokens": read,
            "completion_tokens": None if counts == [None, None] else sum(count or 0 for count in counts),
            "prompt_tokens_details": {"cached_tokens": token_count(usage.get("cachedContentTokenCount"))},
            "completion_tokens_details": {"reasoning_tokens": counts[1]},
        },
        "error": found.get("error"),
    }


def _candidate(index: int, candidate: Mapping[str, Any]) -> dict[str, Any]:
    texts: dict[bool, str] = {False: "", True: ""}
    for part in objects_in(object_in(candidate.get("content")).get("parts")):
        if isinstance(part.get("text"), str):
            texts[part.get("thought") is True] += part["text"]
    reason = str(candidate.get("finishReason"))
    ends = "length" if reason == "MAX_TOKENS" else "content_filter" if reason in _FILTERED else "stop"
    message = {"content": texts[False]} | ({"reasoning_content": texts[True]} if texts[True] else {})
    return {"index": index, "message": message, "finish_reason": ends}


def _generate(model: str, messages: Sequence[Message]) -> str:
    return f"/models/{quote(model.removeprefix('models/'), safe='')}:generateContent"


GEMINI_API: Final = Dialect(
    "generateContent",
    _gemini_body,
    _generate,
    {
        "temperature": ("generationConfig.temperature",),
        "top_p": ("generationConfig.topP",),
        "effort": ("generationConfig.thinkingConfig",),
        "max_tokens": ("generationConfig.maxOutputTokens",),
        "stop": ("generationConfig.stopSequences",),
        "schema": ("generationConfig.responseJsonSchema",),
    },
    of_gemini,
)

_MARK = {"type": "ephemeral"}


def _messages_body(server: Preset, model: str, request: Request, knobs: Knobs) -> dict[str, Any]:
    """A request of Anthropic's Messages API; thinking takes neither temperature nor cut-offs."""
    decoding, thinking = request.decoding, knobs.thinking
    said = turns(request.prompt.messages)
    system = "\n\n".join(one["content"] for one in said if one["role"] == "system")
    body: dict[str, Any] = {
        "model": model,
        "max_tokens": decoding.max_tokens + (thinking if isinstance(thinking, int) else 0),
        "messages": [one for one in said if one["role"] != "system"],
    }
    if system:
        mark = {"cache_control": _MARK} if knobs.cache else {}
        body["system"] = [{"type": "text", "text": system} | mark]
    if knobs.cache:
        body["cache_control"] = _MARK  # marks the last block: repeats read it all
    if thinking:
        budget = {"type": "enabled", "budget_tokens": thinking}
        body["thinking"] = {"type": "adaptive"} if thinking == "adaptive" else budget
    else:
        body["temperature"] = decoding.temperature
        for name in ("top_p", "top_k"):
            if getattr(decoding, name) != getattr(_DEFAULTS, name):
                body[name] = getattr(decoding, name)
    if decoding.stop:
        body["stop_sequences"] = list(decoding.stop)
    configured: dict[str, Any] = {"effort": knobs.effort} if knobs.effort else {}
    if request.schema or request.choices:
        schema = json.loads(request.schema) if request.schema else one_of(request.choices)
        configured["format"] = {"type": "json_schema", "schema": schema}
        body["max_tokens"] += 0 if request.schema else ROOM
    extra = dict(server.body)
    if configured or isinstance(extra.get("output_config"), Mapping):
        extra["output_config"] = {**configured, **object_in(extra.get("output_config"))}
    return {name: value for name, value in (body | extra).items() if value is not None}


_ENDS = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}


def _of_message(reply: Mapping[str, Any]) -> dict[str, Any]:
    if reply.get("type") != "message" or not isinstance(reply.get("content"), list):
        return {"choices": [], "error": reply.get("error")}
    blocks, usage = objects_in(reply["content"]), object_in(reply.get("usage"))
    read, made, cached = (
        token_count(usage.get(name))
        for name in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    )
    details = object_in(usage.get("output_tokens_details"))
    thought = _joined(blocks, "thinking")
    message = {"content": _joined(blocks, "text")} | ({"reasoning_content": thought} if thought else {})
    reason = str(reply.get("stop_reason"))
    return {
        "model": reply.get("model"),
        "choices": [{"index": 0, "message": message, "finish_reason": _ENDS.get(reason, "stop")}],
        "usage": {
            "prompt_tokens": None if read is None else read + (made or 0) + (cached or 0),
            "completion_tokens": usage.get("output_tokens"),
            "prompt_tokens_details": {"cached_tokens": cached},
            "completion_tokens_details": {"reasoning_tokens": details.get("thinking_tokens")},
        },
        "filter": object_in(reply.get("stop_details")).get("category"),
        "raw": {"cache_creation_input_tokens": made} if made else None,
    }


def _joined(blocks: Sequence[Mapping[str, Any]], kind: str) -> str:
    return "".join(str(block.get(kind) or "") for block in blocks if block.get("type") == kind)


MESSAGES: Final = "/v1/messages"

MESSAGES_API: Final = Dialect(
    "messages",
    _messages_body,
    lambda model, messages: MESSAGES,
    {
        "temperature": ("temperature",),
        "top_p": ("top_p",),
        "effort": ("output_config.effort",),
        "thinking": ("thinking",),
        "max_tokens": ("max_tokens",),
        "stop": ("stop_sequences",),
        "schema": ("output_config.format",),
    },
    _of_message,
)

DIALECTS: Final[Mapping[str, Dialect]] = {
    "chat": CHAT_API,
    "responses": RESPONSES_API,
    "gemini": GEMINI_API,
    "messages": MESSAGES_API,
}
