"""What an odd reply is, and how it is put on the wire."""

import json
from dataclasses import dataclass
from typing import Literal

ANSWER = "yes"
"""What every reply answers that answers at all."""

AUTHORIZATION = b"@authorization@"
"""Stands in a reply for what the client sent as its key."""

Cost = Literal["nothing", "call", "work"]
"""What a reply may cost at most: its call is answered all the same, that call is an error, or the work with
this server ends with an error that says what to do."""


@dataclass(frozen=True, slots=True)
class OddReply:
    """One odd reply.

    Attributes:
        name: What is odd about it.
        wire: All that is sent, from the status line on.
        costs: What it may cost at most.
        stays_open: The connection is left open for a while, as if more were to come.
        resets: The connection is torn down and not closed.
    """

    name: str
    wire: bytes
    costs: Cost
    stays_open: bool = False
    resets: bool = False


def whole(content=ANSWER, **fields):
    """A reply as it should be, log-probabilities and all."""
    top = [{"token": ANSWER, "logprob": -0.25, "bytes": None}, {"token": "no", "logprob": -1.5}]
    places = [{"token": ANSWER, "logprob": -0.25, "bytes": [121, 101, 115], "top_logprobs": top}]
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1760000000,
        "model": "served-1",
        "system_fingerprint": "fp_1",
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": content,
                    "reasoning_content": None,
                    "refusal": None,
                    "tool_calls": None,
                },
                "logprobs": {"content": places},
                "finish_reason": "stop",
            }
        ],
        "usage": {
            "prompt_tokens": 20,
            "completion_tokens": 1,
            "total_tokens": 21,
            "prompt_tokens_details": {"cached_tokens": 8},
            "completion_tokens_details": {"reasoning_tokens": 0},
        },
    } | fields


def on_the_wire(body, *, status="200 OK", headers=(), length="", kind="application/json"):
    """A reply with its head.

    Args:
        body: Bytes as they are, a text in UTF-8, anything else as JSON.
        status: The status line's end.
        headers: Besides type and length.
        length: What is said of the length; an empty string for the truth, None for nothing.
        kind: The content type.
    """
    if isinstance(body, str):
        body = body.encode()
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = [f"HTTP/1.1 {status}".encode(), b"Content-Type: " + kind.encode(), b"Connection: close"]
    if length is not None:
        head.append(b"Content-Length: " + (length or str(len(content))).encode())
    for name, value in headers:
        head.append(name.encode() + b": " + (value if isinstance(value, bytes) else value.encode()))
    return b"\r\n".join(head) + b"\r\n\r\n" + content
