"""Keys are in the environment, and nowhere else: whatever is written about a run goes through here."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

__all__ = ["without_keys"]

_SECRET = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.IGNORECASE)
_SHORTEST = 8
_LOOKS_LIKE_ONE = re.compile(
    r"\b(?:sk|gsk|hf|xai|pk|rk|or|key)[-_][A-Za-z0-9*._-]{8,}|\bAIza[A-Za-z0-9_-]{20,}"
    r"|(?<=Bearer )[A-Za-z0-9._~+/=-]{8,}"
)


def without_keys(text: str, environment: Mapping[str, str] | None = None) -> str:
    """A text with the values of secret variables, and what looks like a key, taken out.

    Args:
        text: The text: an error, an address, a line of the log.
        environment: The variables; this process's by default.

    >>> without_keys("401: hunter2hunter2 is no key", {"MY_API_KEY": "hunter2hunter2"})
    '401: [MY_API_KEY] is no key'
    >>> without_keys("Incorrect API key provided: sk-proj-ab**********cdef.")
    'Incorrect API key provided: [key]'
    """
    for name, value in (os.environ if environment is None else environment).items():
        if len(value) >= _SHORTEST and value in text and _SECRET.search(name):
            text = text.replace(value, f"[{name}]")
    return _LOOKS_LIKE_ONE.sub("[key]", text)
