"""What llama.cpp says in reply, as the JSON that its server speaks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from quaver.core.records import Message, Request, Response
from quaver.errors import ModelError
from quaver.models._defaults import plain_text, sendable, too_long
from quaver.models.served.server_reply import response_in


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


def responses_of(reply: Mapping[str, Any], request: Request, read: int | None) -> list[Response]:
    """The responses in a reply."""
    usage = reply["usage"]
    prompt, answered = int(usage["prompt_tokens"]), int(usage["completion_tokens"])
    cached = int(usage.get("prompt_tokens_details", {}).get("cached_tokens", 0))
    drawn, begun = (
        len(reply["choices"]),
        (
            sendable(request.prompt.messages[-1].content)
            if request.prompt.messages[-1].role == "assistant"
            else ""
        ),
    )
    together = {"completion_tokens_of_request": answered, "answers_of_request": drawn} if drawn > 1 else None
    return [
        response_in(
            choice,
            request.decoding.logprobs,
            begun,
            prompt_tokens=prompt,
            cached_tokens=cached if read is None else prompt - read,
            completion_tokens=answered if drawn == 1 else None,
            raw=together,
        )
        for choice in sorted(reply["choices"], key=lambda choice: int(choice["index"]))
    ]
