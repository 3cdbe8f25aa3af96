"""Functions that label a text without being handed a prompt: theirs is inside."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

_CALLED = inspect.signature(lambda text, prompt: None)


def has_own_prompt(annotate: Callable[..., Any]) -> bool:
    """Whether a function takes the text alone."""
    try:
        signature = inspect.signature(annotate)
    except (TypeError, ValueError):  # a builtin without a signature
        return False
    return _takes(signature, "") and not _takes(signature, "", "")


def _takes(signature: inspect.Signature, *arguments: str) -> bool:
    try:
        signature.bind(*arguments)
    except TypeError:
        return False
    return True


def with_prompt(annotate: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the text alone as one that is handed a prompt too, and known by the same source."""
    if inspect.iscoroutinefunction(annotate):

        @wraps(annotate)
        async def awaited(text: str, prompt: str) -> Any:
            return await annotate(text)

        awaited.__signature__ = _CALLED  # type: ignore[attr-defined]
        return awaited

    @wraps(annotate)
    def called(text: str, prompt: str) -> Any:
        return annotate(text)

    called.__signature__ = _CALLED  # type: ignore[attr-defined]
    return called
