"""A server that speaks OpenAI's protocol and labels docs/tutorials/reform.xlsx, not without errors."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from threading import Event
from typing import Any

from tests.local_engines import JsonServer

__all__ = ["SIGNS", "stance_server", "truth"]

SIGNS = {
    "favor": ("about time", "count me in", "best idea in years", "finally some air"),
    "against": ("no thanks", "keep it as it is", "they should be ashamed", "a waste of money"),
    "none": ("what day is it", "my train was late", "who won the match", "pizza tonight"),
}


def truth(text: str) -> str:
    """The label that a post deserves."""
    return next(label for label, signs in SIGNS.items() if any(one in text for one in signs))


def _chance(text: str) -> float:
    return int(sha256(text.encode()).hexdigest()[:8], 16) / 2**32


def answer(prompt: str) -> str:
    """The label; on one post in twenty it depends on the prompt, and one answer in a hundred names none."""
    post, label = prompt[prompt.index(" #") :][:7], truth(prompt)
    if _chance(post) < 0.05 and _chance(prompt) < 0.5:
        label = next(one for one in sorted(SIGNS, key=lambda one: _chance(post + one)) if one != label)
    wording = _chance(prompt + "?")
    return "I cannot say." if wording < 0.01 else f"Label: {label}." if wording < 0.3 else label


@contextmanager
def stance_server(seconds: float = 0.0, gate: Event | None = None) -> Iterator[str]:
    """Its base URL, for as long as the block runs; each post takes it so long, and until a gate opens."""

    def reply(path: str, body: dict[str, Any] | None) -> dict[str, Any]:
        if body is None:
            return {"data": [{"id": "gpt-5-mini"}]}
        time.sleep(seconds)
        if gate is not None:
            gate.wait(120)
        text = answer("\n".join(one["content"] for one in body["messages"]))
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        usage = {"prompt_tokens": 60, "completion_tokens": 5, "total_tokens": 65}
        return {"model": "gpt-5-mini", "choices": [choice], "usage": usage}

    server = JsonServer(reply)
    try:
        yield f"{server.url}/v1"
    finally:
        server.close()
