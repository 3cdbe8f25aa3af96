"""The APIs in which a server can be asked: requests as each one's JSON, its replies as chat completions.

A dialect says where each knob stands in a request. What a server has refused is taken from there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote

from quaver.core.calls import Message, Request
from quaver.core.instrument import KNOBS
from quaver.core.media import KINDS, Medium
from quaver.core.records import Decoding
from quaver.core.response_validation import token_count
from quaver.errors import ItemError
from quaver.models._defaults import grammar, sendable, turns
from quaver.models.served.presets import Preset
from quaver.models.served.server_reply import LABEL, object_in, objects_in

_DEFAULTS = Decoding("")
_CUTS = ("top_p", "top_k", "min_p", "repeat_penalty", "stop")
"""The options of a decoding that stay away from a request at their defaults."""

ROOM = 16
"""Tokens of a JSON object around a label, which do not count towards ``max_tokens``."""

CHAT, PLAIN, MESSAGES = "/chat/completions", "/completions", "/v1/messages"

Values = dict[str, Any]
"""What a call asks of each knob."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """An API.

    Attributes:
        name: What the record calls it.
        prompt: Makes the body without the knobs, whose values it may change.
        path: The path of a request, below the base URL.
        fields: Where each knob stands in a body, and where else it may.
        form: A JSON schema in the API's terms.
        completion: Turns a reply into a chat completion; None where it is one.
        media: Makes the part of a message that shows a medium, by its media type.
    """

    name: str
    prompt: Callable[[Preset, str, Request, Values], dict[str, Any]]
    path: Callable[[str, Sequence[Message]], str]
    fields: Mapping[str, tuple[str, ...]]
    form: Callable[[dict[str, Any]], dict[str, Any]]
    completion: Callable[[Mapping[str, Any]], dict[str, Any]] | None = None
    media: Mapping[str, Callable[[Medium], dict[str, Any]]] = field(default_factory=dict)

    def body(self, server: Preset, model: str, request: Request) -> dict[str, Any]:
        """The body that asks for an answer to a call."""
        values = _values(server, request)
        body = self.prompt(server, model, request, values)
        for knob, fields in self.fields.items():
            if (value := values.get(knob)) is not None:
                put(body, fields[0], self.form(value) if knob == "schema" else value)
        for name, value in server.body.items():
            if name in _OF_CHAT and self.name != "chat/completions":
                continue
            if name in NESTED and isinstance(value, dict):
                value = {**object_in(body.get(name)), **value}
            body[name] = value
        return {name: value for name, value in body.items() if value is not None}


_OF_CHAT = ("provider", "reasoning_effort")
"""Fields of a study file that other APIs have elsewhere, or not at all."""

NESTED = ("reasoning", "text", "generationConfig", "output_config", "stream_options")
"""Fields of a request that hold others."""


def _values(server: Preset, request: Request) -> Values:
    """What a call asks of each knob; without those that are left to the provider."""
    decoding = request.decoding
    values: Values = {"temperature": decoding.temperature, "max_tokens": decoding.max_tokens}
    for option in _CUTS:
        if (value := getattr(decoding, option)) != getattr(_DEFAULTS, option):
            values[option] = value
    if decoding.temperature:
        values["seed"] = request.seed
    values["logprobs"] = decoding.logprobs or None
    values["effort"] = server.effort or server.body.get("reasoning_effort")
    values["thinking"] = server.thinking or None
    if request.schema and server.schema:
        values["schema"] = {"name": "json", "strict": True, "schema": json.loads(request.schema)}
    elif request.choices and server.choice == "json_schema":
        values["schema"] = {
            "name": LABEL,
            "strict": True,
            "schema": {
                "type": "object",
                "properties": {LABEL: {"type": "string", "enum": list(request.choices)}},
                "required": [LABEL],
                "additionalProperties": False,
            },
        }
        values["max_tokens"] += ROOM
    return values


def asked_of(server: Preset, request: Request) -> dict[str, Any]:
    """What a study asks of each knob, as the record has it; None where it asks for nothing."""
    values = _values(server, request)
    asked = {knob: values.get(knob) for knob in KNOBS} | {"max_tokens": request.decoding.max_tokens}
    asked["seed"] = True if request.decoding.temperature else None
    asked["stop"] = list(request.decoding.stop) or None
    asked["schema"] = "schema" if request.schema else "labels" if request.choices else None
    return asked


def is_plain(messages: Sequence[Message]) -> bool:
    """Whether a prompt goes without a chat template."""
    return any(role == "plain" for role, _ in messages)


def at(body: Mapping[str, Any], field: str) -> Any:
    """The value of a field; None where there is none."""
    value: Any = body
    for name in field.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def put(body: dict[str, Any], field: str, value: Any) -> None:
    """Set a field; None takes it away, and what held nothing else."""
    outer, _, leaf = field.rpartition(".")
    inside = {**body.get(outer, {})} if outer else body  # what the study file says is shared by all requests
    if value is None:
        inside.pop(leaf, None)
    else:
        inside[leaf] = value
    if outer and inside:
        body[outer] = inside
    elif outer:
        del body[outer]


def _said(request: Request, dialect: Dialect, text: str = "text") -> list[dict[str, Any]]:
    """A conversation's turns; those that show media have parts, the media first.

    Args:
        request: The call.
        dialect: Makes the parts.
        text: The type of a part that holds a text; empty where it has none.

    Raises:
        ItemError: A file cannot be sent.
    """
    said: list[dict[str, Any]] = []
    parts: list[dict[str, Any]] = []
    media = iter(request.prompt.media)
    for message in request.prompt.messages:
        if message.role == "media":
            medium = next(media)
            if medium.type not in dialect.media:
                raise ItemError("this server takes no such file", where=medium.name[:120], found=medium.type)
            parts.append(dialect.media[medium.type](medium))
            continue
        turn: dict[str, Any] = {**turns([message])[0]}
        if parts:
            words = {"type": text, "text": turn["content"]} if text else {"text": turn["content"]}
            turn["content"] = [*parts, words]
        said.append(turn)
        parts = []
    return said


# ---------------------------------------------------------------------- OpenAI's chat completions


def _chat_prompt(server: Preset, model: str, request: Request, values: Values) -> dict[str, Any]:
    messages, plain = request.prompt.messages, is_plain(request.prompt.messages)
    body: dict[str, Any] = {"model": model}
    if plain:
        body["prompt"] = "\n\n".join(sendable(content) for _, content in messages)
    else:
        body["messages"] = _said(request, CHAT_API)
        if server.continues == "flag" and messages[-1].role == "assistant":
            body |= {"continue_final_message": True, "add_generation_prompt": False}
    body["max_tokens" if plain else server.length] = values.pop("max_tokens")
    if "seed" in values and server.seed:
        body[server.seed] = values["seed"]
    most = min(values["logprobs"] or 0, server.logprobs)
    if most:
        body |= {"logprobs": most} if plain else {"logprobs": True, "top_logprobs": most}
    for option, name in server.options.items():
        # A local server may have other defaults; a service gets only the options that differ.
        value = getattr(request.decoding, option) if server.local else values.get(option)
        if value or (value is not None and option != "stop"):
            body[name] = server.top_k_off if option == "top_k" and not value else value
    for knob in ("seed", "logprobs", *_CUTS):
        values.pop(knob, None)
    if request.choices and "schema" not in values:
        body |= _choice(server, request.choices)
    return body


def _choice(server: Preset, choices: Sequence[str]) -> dict[str, Any]:
    """The field that restricts a local server to one of several answers."""
    match server.choice:
        case "structured_outputs":
            return {"structured_outputs": {"choice": list(choices)}}
        case "grammar":
            return {"grammar": grammar(choices)}
        case "regex":
            return {"regex": "(" + "|".join(map(re.escape, choices)) + ")"}
    return {}


def _image_url(medium: Medium) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": medium.uri()}}


def _input_audio(medium: Medium) -> dict[str, Any]:
    form = "wav" if medium.type == "audio/wav" else "mp3"
    return {"type": "input_audio", "input_audio": {"data": medium.base64(), "format": form}}


CHAT_API: Final = Dialect(
    "chat/completions",
    _chat_prompt,
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
    lambda form: {"type": "json_schema", "json_schema": form},
    media=dict.fromkeys(KINDS["images"], _image_url)
    | {"audio/wav": _input_audio, "audio/mpeg": _input_audio},
)


# ---------------------------------------------------------------------- OpenAI's responses


def _responses_prompt(server: Preset, model: str, request: Request, values: Values) -> dict[str, Any]:
    """A request of OpenAI's Responses API, which takes no seed and no stop."""
    messages = request.prompt.messages
    said: Any = _said(request, RESPONSES_API, "input_text")
    if is_plain(messages):
        said = "\n\n".join(sendable(content) for _, content in messages)
    body: dict[str, Any] = {"model": model, "input": said, "store": False}
    return body | ({"include": ["message.output_text.logprobs"]} if values["logprobs"] else {})


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
    tokens = [token for part in parts for token in objects_in(part.get("logprobs"))]
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


def _input_image(medium: Medium) -> dict[str, Any]:
    return {"type": "input_image", "image_url": medium.uri()}


RESPONSES_API: Final = Dialect(
    "responses",
    _responses_prompt,
    lambda model, messages: "/responses",
    {
        "temperature": ("temperature",),
        "top_p": ("top_p",),
        "effort": ("reasoning.effort",),
        "max_tokens": ("max_output_tokens",),
        "schema": ("text.format",),
        "logprobs": ("top_logprobs",),
    },
    lambda form: {"type": "json_schema", **form},
    _of_response,
    dict.fromkeys(KINDS["images"], _input_image),
)


# ---------------------------------------------------------------------- Gemini's own

EFFORTS: Final = {"none": 0, "minimal": 1024, "low": 1024, "medium": 8192, "high": 24576}
"""Tokens of thinking by effort, as Google documents it for models before Gemini 3."""


def _gemini_prompt(server: Preset, model: str, request: Request, values: Values) -> dict[str, Any]:
    """A request as Gemini's ``GenerateContentRequest``."""
    body: dict[str, Any] = {"contents": []}
    for turn in _said(request, GEMINI_API, ""):
        content = turn["content"]
        parts = [{"text": content}] if isinstance(content, str) else content
        if turn["role"] == "system":
            body.setdefault("systemInstruction", {"parts": []})["parts"] += parts
        else:
            role = "model" if turn["role"] == "assistant" else "user"
            body["contents"].append({"role": role, "parts": parts})
    if "schema" in values:
        body["generationConfig"] = {"responseMimeType": "application/json"}
    if effort := values["effort"]:
        older = model.removeprefix("models/").startswith(("gemini-1", "gemini-2"))
        budget = {"thinkingBudget": EFFORTS[effort]} if older and effort in EFFORTS else None
        values["effort"] = budget or {"thinkingLevel": effort}
    return body


_FILTERED = frozenset(
    ["SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "IMAGE_SAFETY"]
)


def of_gemini(reply: Mapping[str, Any]) -> dict[str, Any]:
    """Gemini's ``GenerateContentResponse`` as a chat completion, so that both are read by the same rules."""
    candidates = objects_in(reply.get("candidates"))
    feedback, usage = object_in(reply.get("promptFeedback")), object_in(reply.get("usageMetadata"))
    choices = [_candidate(index, candidate) for index, candidate in enumerate(candidates)]
    if not choices and feedback.get("blockReason"):
        choices = [{"index": 0, "message": {"content": ""}, "finish_reason": "content_filter"}]
    read = token_count(usage.get("promptTokenCount"))
    counts = [token_count(usage.get(name)) for name in ("candidatesTokenCount", "thoughtsTokenCount")]
    return {
        "model": reply.get("modelVersion"),
        "choices": choices,
        "usage": {
            "prompt_tokens": read,
            "completion_tokens": None if counts == [None, None] else sum(count or 0 for count in counts),
            "prompt_tokens_details": {"cached_tokens": token_count(usage.get("cachedContentTokenCount"))},
            "completion_tokens_details": {"reasoning_tokens": counts[1]},
        },
        "filter": feedback.get("blockReason")
        or next((candidate.get("finishReason") for candidate in candidates), None),
        "error": reply.get("error"),
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


def _inline(medium: Medium) -> dict[str, Any]:
    media_type = "audio/mp3" if medium.type == "audio/mpeg" else medium.type  # as Google calls it
    return {"inline_data": {"mime_type": media_type, "data": medium.base64()}}


def _generate(model: str, messages: Sequence[Message]) -> str:
    return f"/models/{quote(model.removeprefix('models/'), safe='')}:generateContent"


GEMINI_API: Final = Dialect(
    "generateContent",
    _gemini_prompt,
    _generate,
    {
        "temperature": ("generationConfig.temperature",),
        "top_p": ("generationConfig.topP",),
        "effort": ("generationConfig.thinkingConfig",),
        "max_tokens": ("generationConfig.maxOutputTokens",),
        "stop": ("generationConfig.stopSequences",),
        "schema": ("generationConfig.responseJsonSchema",),
    },
    lambda form: dict(form["schema"]),
    of_gemini,
    dict.fromkeys({*KINDS["images"], *KINDS["audio"], *KINDS["pdf"]} - {"image/gif"}, _inline),
)


# ---------------------------------------------------------------------- Anthropic's messages

_MARK = {"type": "ephemeral"}


def _messages_prompt(server: Preset, model: str, request: Request, values: Values) -> dict[str, Any]:
    """A request of Anthropic's Messages API; thinking takes neither temperature nor cut-offs."""
    said = _said(request, MESSAGES_API)
    system = "\n\n".join(turn["content"] for turn in said if turn["role"] == "system")
    body: dict[str, Any] = {"model": model, "messages": [turn for turn in said if turn["role"] != "system"]}
    mark = {"cache_control": _MARK} if server.cache else {}
    if system:
        body["system"] = [{"type": "text", "text": system} | mark]
    if thinking := values["thinking"]:
        budget = 0 if thinking == "adaptive" else thinking
        values["max_tokens"] += budget
        values["thinking"] = {"type": "enabled", "budget_tokens": budget} if budget else {"type": "adaptive"}
        for knob in ("temperature", "top_p", "top_k"):
            values.pop(knob, None)
    return body | mark  # beside the messages it marks the last block: repeats read it all


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


def _block(medium: Medium) -> dict[str, Any]:
    kind = "image" if medium.type in KINDS["images"] else "document"
    return {"type": kind, "source": {"type": "base64", "media_type": medium.type, "data": medium.base64()}}


MESSAGES_API: Final = Dialect(
    "messages",
    _messages_prompt,
    lambda model, messages: MESSAGES,
    {
        "temperature": ("temperature",),
        "top_p": ("top_p",),
        "top_k": ("top_k",),
        "effort": ("output_config.effort",),
        "thinking": ("thinking",),
        "max_tokens": ("max_tokens",),
        "stop": ("stop_sequences",),
        "schema": ("output_config.format",),
    },
    lambda form: {"type": "json_schema", "schema": form["schema"]},
    _of_message,
    dict.fromkeys({*KINDS["images"], *KINDS["pdf"]}, _block),
)

DIALECTS: Final[Mapping[str, Dialect]] = {
    "chat": CHAT_API,
    "responses": RESPONSES_API,
    "gemini": GEMINI_API,
    "messages": MESSAGES_API,
}
