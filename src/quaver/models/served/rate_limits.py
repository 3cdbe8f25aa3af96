"""The limits that a server reports in its headers."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import NamedTuple

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_EPOCH = 10.0**9
"""A larger number of seconds is a point in time; no pause is longer."""


class Limits(NamedTuple):
    """What is left of the limits, and the seconds until they are reset; None if not reported.

    Attributes:
        requests: Remaining requests.
        requests_reset: Seconds until the limit on requests is reset.
        tokens: Remaining tokens.
        tokens_reset: Seconds until the limit on tokens is reset.
    """

    requests: float | None
    requests_reset: float | None
    tokens: float | None
    tokens_reset: float | None


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a server asks to wait.

    >>> retry_after({"retry-after": "2"}), retry_after({"retry-after-ms": "250"}), retry_after({})
    (2.0, 0.25, None)
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return min(milliseconds / 1000, _EPOCH)
    given = headers.get("retry-after")
    if not given:
        return None
    seconds = _seconds(given)
    if seconds is not None:
        return seconds
    try:
        return max(0.0, parsedate_to_datetime(given).timestamp() - time.time())
    except ValueError:
        return None


def read_limits(headers: Mapping[str, str]) -> Limits | None:
    """The limits in a reply's headers, or None.

    >>> read_limits({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1m30s"})
    Limits(requests=0.0, requests_reset=90.0, tokens=None, tokens_reset=None)
    """
    requests = _first(headers, "x-ratelimit-remaining-requests", "x-ratelimit-remaining")
    tokens = _first(headers, "x-ratelimit-remaining-tokens")
    if requests is None and tokens is None:
        return None
    return Limits(
        _number(requests),
        _seconds(_first(headers, "x-ratelimit-reset-requests", "x-ratelimit-reset")),
        _number(tokens),
        _seconds(_first(headers, "x-ratelimit-reset-tokens")),
    )


def _first(headers: Mapping[str, str], *names: str) -> str | None:
    return next((headers[name] for name in names if name in headers), None)


def _number(text: str | None) -> float | None:
    try:
        number = math.nan if text is None else float(text)
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None


def _seconds(text: str | None) -> float | None:
    """``20ms``, ``6m0s``, a number of seconds, or a point in time."""
    number = _number(text)
    if text is None or number is None:
        parts = _DURATION.findall(text or "")
        number = sum(float(count) * _SECONDS[unit] for count, unit in parts)
        return min(number, _EPOCH) if parts else None
    if number > _EPOCH * 1000:
        number /= 1000
    return min(max(0.0, number - time.time()), _EPOCH) if number > _EPOCH else number
