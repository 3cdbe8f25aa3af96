"""What a server's failures mean: which pass, which are the prompt's own, and which end the work."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quaver.core.records import Response
from quaver.core.response_validation import printable
from quaver.errors import MissingKey, ModelError, RateLimited, Unavailable
from quaver.models.served.rate_limits import retry_after

__all__ = ["Address", "Passing", "Refused", "read_failure"]

_PASSING = frozenset([408, 409, 425])
_OVERFLOW = re.compile(
    r"context.{0,20}(length|size|window|limit)|maximum (input|prompt) length|too many (input )?tokens"
    r"|(prompt|input|request) is too (long|large)|reduce the length",
    re.IGNORECASE,
)
_FILTERED = frozenset(["content_filter", "content_policy_violation", "invalid_prompt"])
_SPENT = frozenset(["insufficient_quota", "billing_hard_limit_reached", "billing_not_active"])


class Passing(Exception):
    """A fault that may be gone the next time.

    Args:
        reason: What happened.
        limited: The server asks to be called less often.
        busy: It has more to do than it can.
        unreached: Nothing answers at its address.
        wait: Seconds for which it wants to be left alone.
        status: Of the reply; 0 where none came, or one that was no error.
        fix: What to do should it not pass; empty where that is not known.

    Attributes:
        billed: The server may have billed what it sent.
    """

    def __init__(
        self,
        reason: str,
        *,
        limited: bool = False,
        busy: bool = False,
        unreached: bool = False,
        wait: float | None = None,
        status: int = 0,
        fix: str = "",
    ) -> None:
        super().__init__(reason)
        self.reason, self.limited, self.busy, self.unreached = reason, limited, busy, unreached
        self.wait, self.status, self.fix, self.billed = wait, status, fix, False


class Refused(ModelError):
    """The server does not do what a request asks for; another request may be answered."""


@dataclass(frozen=True, slots=True)
class Address:
    """What an error says of a server.

    Attributes:
        url: Where it is, without anything secret.
        model: The model that is asked for there.
        key: The environment variable that holds its key; empty where it takes none.
        has_key: Whether that variable is set.
        start: How such a server is started; empty where somebody else runs it.
    """

    url: str
    model: str
    key: str = ""
    has_key: bool = False
    start: str = ""

    def silent(self, fault: Passing) -> Unavailable:
        """The error where nothing, or nothing of use, answers there."""
        start = self.start.replace("MODEL", self.model)
        fix = f"start it ({start}), or correct `base_url:`" if start else ""
        if fault.unreached and not fix:
            fix = "see whether it runs and what stands between (a firewall, a proxy), or correct `base_url:`"
        return Unavailable(
            "the server does not answer",
            where=self.url,
            found=fault.reason,
            fix=fault.fix or fix or "see what its own log says; run again, and it goes on from there",
        )

    def page(self) -> Unavailable:
        """The error where a page for people is what answers there."""
        return Unavailable(
            "what answers there is a web page, not a model's server",
            where=self.url,
            found=f"HTML at {self.url}/models",
            fix="correct `base_url:` (most addresses end in /v1); a page that asks to log in means that a "
            "key or a network is missing",
        )


def read_failure(
    status: int, headers: Mapping[str, str], content: bytes, address: Address
) -> Response | Passing | ModelError:
    """What a reply that is not an answer means.

    Args:
        status: Of the reply.
        headers: Of the reply.
        content: The reply's body.
        address: Where it came from.

    Returns:
        A response where the prompt itself is at fault, a ``Passing`` fault, or the error that ends the
        work with this model.
    """
    error = _error(content)
    message, codes = _message(error), {str(error.get(name)) for name in ("code", "type")}
    told = f"HTTP {status}" + (f": {message}" if message else "")
    if status in (400, 413, 422) and (
        codes & {"context_length_exceeded", "exceed_context_size_error"} or _OVERFLOW.search(message)
    ):
        return Response("", finish="error", error=f"context overflow: {message or told}"[:500])
    if status in (400, 403, 422) and (codes & _FILTERED or "content management policy" in message):
        return Response("", finish="content_filter", error=f"content filter: {message or told}"[:500])
    if status == 429 and not codes & _SPENT:
        return Passing(told, limited=True, wait=retry_after(headers), status=status)
    if status >= 500 or status < 200 or status in _PASSING:
        return Passing(told, busy=status in (503, 529), wait=retry_after(headers), status=status)
    if 300 <= status < 400:
        return _sends_elsewhere(status, headers.get("location", ""), address)
    return _refusal(status, message, address)


def _refusal(status: int, message: str, address: Address) -> ModelError:
    found = f"HTTP {status}" + (f": {message}" if message else "")
    if status in (401, 403):
        if not address.has_key:
            return MissingKey(
                "the server wants a key",
                where=address.url,
                found=f"HTTP {status}",
                fix=f"put it in the environment variable {address.key}"
                if address.key
                else "name the environment variable that holds it with `key:`",
            )
        # Services repeat part of the key in what they say: it is not passed on.
        return ModelError(
            "the server does not accept the key",
            where=address.url,
            found=f"HTTP {status}",
            fix=f"check the environment variable {address.key}, and that its owner may use {address.model}",
        )
    if status == 404:
        return ModelError(
            f"the server knows no model {address.model!r}, or nothing is at this address",
            where=address.url,
            found=found,
            fix="check `model:` and `base_url:` (most addresses end in /v1)",
        )
    if status in (402, 429):
        return RateLimited(
            "the account has no credit left",
            where=address.url,
            found=found,
            fix="add credit and run again; it goes on from there",
        )
    return Refused(
        "the server refuses what is asked",
        where=address.url,
        found=found,
        fix="change what it names in the decoding, or give the field another value with `body:` (null "
        "leaves it out)",
    )


def _sends_elsewhere(status: int, location: str, address: Address) -> ModelError:
    """Nothing is sent on: a key is for the server that the study names."""
    # What stands in a query or before an @ may be secret.
    where = location.partition("?")[0][:200]
    where = "" if "@" in where else where
    return ModelError(
        "the server sends elsewhere",
        where=address.url,
        found=f"HTTP {status}" + (f", to {where}" if where else ""),
        fix="if that is where the model is, give its address as `base_url:`, up to and with /v1",
    )


def _error(content: bytes) -> dict[str, Any]:
    """The error object in a reply, whatever the server's way of wrapping one."""
    try:
        reply = json.loads(content)
    except (ValueError, RecursionError):
        return {"message": content[:200].decode("utf-8", "replace")}
    if isinstance(reply, list) and reply:
        reply = reply[0]
    if not isinstance(reply, dict):
        return {"message": str(reply)}
    error = reply.get("error", reply)
    return error if isinstance(error, dict) else {"message": str(error)}


def _message(error: Mapping[str, Any]) -> str:
    found = error.get("message") or error.get("detail") or ""
    return printable(" ".join(str(found).split())[:300])
