"""The function that answered the kept studies. Its source is part of the keys: it may never be edited."""

from __future__ import annotations

from typing import Any

__all__ = ["annotate"]


def annotate(text: str, prompt: str, messages: list[dict[str, Any]]) -> str:
    """Answers as a small model might, the same to the same."""
    if "no answer" in text:
        raise ValueError("nothing to say")
    if "certain" in messages[-1]["content"]:
        return "0.8"
    label = "positive" if "love" in text or "fine" in text else "negative"
    return f"I would say {label}." if "opinion" in prompt else label
