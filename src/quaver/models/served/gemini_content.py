"""Requests in Gemini's own format, which its batches take; replies in OpenAI's, in which they are read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from quaver.core.records import Decoding, Request
from quaver.core.response_validation import token_count
from quaver.errors import SpecError
from quaver.models._prompts import turns
from quaver.models.served.request_body import ROOM, one_of

_DEFAULTS = Decoding("")
_BUDGETS = {"none": 0, "minimal": 1024, "low": 1024, "medium": 8192, "high": 24576}
"""Tokens of thinking by ``reasoning_effort``, as Google documents it for models before Gemini 3."""

_FILTERED = frozenset(
    ["SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "IMAGE_SAFETY"]
)


def generate_content(model: str, request: Request, body: Mapping[str, Any]) -> dict[str, Any]:
    """A request as Gemini's ``GenerateContentRequest``.

    Args:
        model: The model's name.
        request: The request.
        body: The extra fields of the study file; only ``reasoning_effort`` has a counterpart.
    """
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
    if len(request.calls) > 1:
        config["candidateCount"] = len(request.calls)
    if request.schema or request.choices:
        schema = json.loads(request.schema) if request.schema else one_of(request.choices)
        config |= {"responseMimeType": "application/json", "responseJsonSchema": schema}
        config["maxOutputTokens"] += 0 if request.schema else ROOM
    if effort := body.get("reasoning_effort"):
        config["thinkingConfig"] = _thinking(model, str(effort))
    found: dict[str, Any] = {"contents": contents, "generationConfig": config}
    return found | ({"systemInstruction": {"parts": system}} if system else {})


def check_body(body: Mapping[str, Any]) -> None:
    """Check that the extra fields of the study file have a counterpart in a batch.

    Raises:
        SpecError: One has not.
    """
    unknown = sorted(name for name, value in body.items() if name != "reasoning_effort" and value is not None)
    effort = body.get("reasoning_effort")
    if unknown or (effort is not None and effort not in _BUDGETS):
        raise SpecError(
            "Gemini's batches do not take this field",
            where="body",
            expected=f"reasoning_effort, with one of {', '.join(_BUDGETS)}",
            found=unknown[0] if unknown else f"reasoning_effort: {effort}",
            fix="leave it out, or ask this model without batches",
        )


def _thinking(model: str, effort: str) -> dict[str, Any]:
    if model.removeprefix("models/").startswith(("gemini-1", "gemini-2")):
        return {"thinkingBudget": _BUDGETS[effort]}
    return {"thinkingLevel": effort}


def as_completion(found: Mapping[str, Any]) -> dict[str, Any]:
    """Gemini's ``GenerateContentResponse`` as a chat completion, so that both are read by the same rules."""
    candidates = found.get("candidates")
    candidates = [one for one in candidates if isinstance(one, dict)] if isinstance(candidates, list) else []
    feedback, usage = found.get("promptFeedback"), found.get("usageMetadata")
    usage = usage if isinstance(usage, dict) else {}
    choices = [_choice(at, one) for at, one in enumerate(candidates)]
    if not choices and isinstance(feedback, dict) and feedback.get("blockReason"):
        choices = [{"index": 0, "message": {"content": ""}, "finish_reason": "content_filter"}]
    read = token_count(usage.get("promptTokenCount"))
    counts = [token_count(usage.get(name)) for name in ("candidatesTokenCount", "thoughtsTokenCount")]
    return {
        "model": found.get("modelVersion"),
        "choices": choices,
        "usage": {
            "prompt_tokens": read,
            "completion_tokens": None if counts == [None, None] else sum(one or 0 for one in counts),
            "prompt_tokens_details": {"cached_tokens": token_count(usage.get("cachedContentTokenCount"))},
            "completion_tokens_details": {"reasoning_tokens": counts[1]},
        },
    }


def _choice(at: int, candidate: Mapping[str, Any]) -> dict[str, Any]:
    content = candidate.get("content")
    parts = content.get("parts") if isinstance(content, dict) else None
    parts = [one for one in parts if isinstance(one, dict)] if isinstance(parts, list) else []
    texts: dict[bool, str] = {False: "", True: ""}
    for one in parts:
        if isinstance(one.get("text"), str):
            texts[one.get("thought") is True] += one["text"]
    reason = str(candidate.get("finishReason"))
    ends = "length" if reason == "MAX_TOKENS" else "content_filter" if reason in _FILTERED else "stop"
    message = {"content": texts[False]} | ({"reasoning_content": texts[True]} if texts[True] else {})
    return {"index": at, "message": message, "finish_reason": ends}
