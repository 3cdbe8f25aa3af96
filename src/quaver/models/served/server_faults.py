"""What a server's failures mean: temporary, the prompt's own, or fatal."""

from __future__ import annotations

import json
import re
import socket
import ssl
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from quaver.core.calls import Response
from quaver.core.response_validation import error_response, printable
from quaver.errors import MissingKey, ModelError, RateLimited, Unavailable
from quaver.models.served.pace import retry_after

_PASSING = frozenset([408, 409, 425])
_OVERFLOW = re.compile(
    r"context.{0,20}(length|size|window|limit)|maximum (input|prompt) length|too many (input )?tokens"
    r"|(prompt|input|request) is too (long|large)|reduce the length",
    re.IGNORECASE,
)
_ROOM = re.compile(r"context length is ([\d,]+) tokens\b.*?([\d,]+) (?:input tokens|in the messages)")
_SPENT = frozenset(["insufficient_quota", "billing_hard_limit_reached", "billing_not_active"])


_POOR = re.compile("credit balance is too low|credits are depleted", re.IGNORECASE)
"""Anthropic's words for an empty account, which come with status 400, and Google's, with 429."""


_ADDRESS = "its address (`base_url:`, --base-url)"


class Passing(Exception):
    """A temporary fault: a retry may succeed.

    Args:
        reason: What happened.
        limited: The server asks for fewer calls.
        busy: It is overloaded.
        unreached: Nothing answers at its address.
        wait: Seconds that it asks to wait.
        status: The status of the reply; 0 if none came, or if it was not an error.
        fix: What to do if it persists; empty if unknown.

    Attributes:
        billed: Whether the server may have billed the call.
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


_OF_TEXTS = frozenset([400, 403, 413, 422, 451])
"""Statuses with which a server may refuse one text and take the others."""


class Refused(ModelError):
    """The server rejects a request; others may be answered.

    Args:
        error: What to raise where all requests are rejected alike.
        status: The status of the reply.
        words: The provider's own sentence.
        field: The field of the request that it names.
    """

    def __init__(self, error: ModelError, status: int = 0, words: str = "", field: str = "") -> None:
        super().__init__(
            error.problem, where=error.where, expected=error.expected, found=error.found, fix=error.fix
        )
        self.error, self.status, self.words, self.field = error, status, words, field

    @property
    def may_be_the_texts(self) -> bool:
        """Whether the text may be at fault rather than the server or what every request asks."""
        return self.status in _OF_TEXTS

    @property
    def response(self) -> Response:
        """The response to a call whose text is at fault."""
        return error_response(f"refused by the provider: {self.words or self.found or self.problem}")


def refused_text(words: str) -> Response:
    """The response to a call whose text the provider does not take."""
    return Response("", finish="content_filter", error=f"refused by the provider: {words}"[:500])


@dataclass(frozen=True, slots=True)
class Address:
    """What errors say about a server.

    Attributes:
        url: Its address, without secrets.
        model: The model asked for.
        key: The environment variable that holds its key; empty if it takes none.
        has_key: Whether that variable is set.
        start: The command that starts such a server; empty for services.
        bound: Whether the key in that variable belongs to this address.
    """

    url: str
    model: str
    key: str = ""
    has_key: bool = False
    start: str = ""
    bound: bool = True

    def silent(self, fault: Passing) -> Unavailable:
        """The error if no usable answer comes."""
        start = self.start.replace("MODEL", self.model)
        fix = f"start it ({start}), or correct {_ADDRESS}" if start else ""
        if fault.unreached and not fix:
            fix = f"check that it runs and that no firewall or proxy blocks it, or correct {_ADDRESS}"
        return Unavailable(
            "the server does not answer",
            where=self.url,
            found=fault.reason,
            fix=fault.fix or fix or "read its log, then run again; the run continues where it stopped",
        )

    def page(self) -> Unavailable:
        """The error if a web page answers."""
        return Unavailable(
            "a web page answers there, not a model's server",
            where=self.url,
            found=f"HTML at {self.url}/models",
            fix="correct `base_url:` (most addresses end in /v1); a login page means that a "
            "key or a network is missing",
        )


def read_failure(
    status: int, headers: Mapping[str, str], content: bytes, address: Address
) -> Response | Passing | ModelError:
    """What an error reply means.

    Returns:
        A response if the prompt itself is at fault, a ``Passing`` fault, or the error that ends the work with
        this model.
    """
    error = _error(content)
    stated = error.get("message") or error.get("detail") or ""
    message, codes = (
        printable(" ".join(str(stated).split())[:300]),
        {str(error.get(name)) for name in ("code", "type")},
    )
    summary = f"HTTP {status}" + (f": {message}" if message else "")
    if (
        status in (400, 413, 422)
        and (codes & {"context_length_exceeded", "exceed_context_size_error"} or _OVERFLOW.search(message))
        and not room_in(message)
    ):
        return error_response(f"context overflow: {message or summary}")
    if status in _OF_TEXTS and _is_of_text(codes, message):
        return refused_text(message or summary)
    if status in (400, 429) and _POOR.search(message):
        status = 402
    if status == 429 and not codes & _SPENT:
        wait = retry_after(headers)
        return Passing(summary, limited=True, wait=_wait_in(content) if wait is None else wait, status=status)
    if (status >= 500 and status != _NOT_MADE) or status < 200 or status in _PASSING:
        return Passing(summary, busy=status in (503, 529), wait=retry_after(headers), status=status)
    if 300 <= status < 400:
        # Redirects are not followed: a key is for the server that the study names
        where = headers.get("location", "").partition("?")[0][:200]
        where = "" if "@" in where else where
        return ModelError(
            "the server redirects elsewhere",
            where=address.url,
            found=f"HTTP {status}" + (f", to {where}" if where else ""),
            fix="if the model is there, give that address as `base_url:`, up to and including /v1",
        )
    field = error.get("param")
    refused = _refusal(status, message, address)
    if isinstance(refused, RateLimited) or status == 401 or (status == 404 and not _SENTENCE.search(message)):
        return refused
    return Refused(refused, status, message, field if isinstance(field, str) else "")


def room_in(message: str) -> int:
    """The tokens of answer for which a prompt leaves room, as a server says where more are asked for.

    >>> room_in("This model's maximum context length is 4096 tokens and your request has 96 input tokens.")
    4000
    """
    match = _ROOM.search(message)
    return max(0, int(match[1].replace(",", "")) - int(match[2].replace(",", ""))) if match else 0


_NOT_MADE = 501
_WAIT = re.compile(rb'"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"|(?:retry|try again) in (\d+(?:\.\d+)?) ?s')


def _wait_in(content: bytes) -> float | None:
    """Seconds that a reply's body asks to wait."""
    match = _WAIT.search(content)
    return float(match[1] or match[2]) if match else None


def _is_of_text(codes: Collection[str], message: str) -> bool:
    hints = refusal_hints()["text"]
    return not {*hints["codes"]}.isdisjoint(codes) or bool(re.search(hints["sentence"], message, re.I))


@cache
def refusal_hints() -> Mapping[str, Any]:
    """Words that help to find what a refusal is about."""
    return tomllib.loads((files("quaver.models.served") / "refusals.toml").read_text("utf-8"))


def _refusal(status: int, message: str, address: Address) -> ModelError:
    answer = f"HTTP {status}" + (f": {message}" if message else "")
    if status == 401 or (status == 403 and not _OF_ACCOUNTS.search(message)):
        if not address.has_key:
            return MissingKey(
                "the server requires a key",
                where=address.url,
                found=answer if status == 403 else f"HTTP {status}",
                fix=f"put it in the environment variable {address.key}"
                if address.key and address.bound
                else "name the environment variable that holds this address's key: `key: NAME` beside the "
                "model, or --key-from NAME",
            )
        # Services repeat part of the key in their message, so it is not passed on.
        return ModelError(
            "the server rejects the key",
            where=address.url,
            found=answer if status == 403 else f"HTTP {status}",
            fix=f"check the environment variable {address.key}, and that its account may use {address.model}",
        )
    if status == 404 and not _SENTENCE.search(message):
        return ModelError(
            f"there is no model {address.model!r} at this address",
            where=address.url,
            found=answer,
            fix="check `model:` and `base_url:` (most addresses end in /v1)",
        )
    if status in (402, 429):
        return RateLimited(
            "the account has no credit left",
            where=address.url,
            found=answer,
            fix="add credit and run again; the run continues where it stopped",
        )
    return ModelError(
        f"the server rejects the request{f': {message}' if message else ''}",
        where=address.url,
        found=f"HTTP {status}",
        fix="do what it says, for example with another `model:`; what is stored is kept"
        if status in (403, 404) or _OF_ACCOUNTS.search(message)
        else "change what it names in the decoding, or give the field another value with `body:` (null "
        "leaves it out)",
    )


_OF_ACCOUNTS = re.compile(
    r"verif|region|country|location|territory|terms|agreement|flagged|moderat", re.IGNORECASE
)
"""What a server says with 403 when nothing is wrong with the key."""


_SENTENCE = re.compile(r"deprecat|retired|no endpoints|only supported|not supported|parameter", re.IGNORECASE)
"""What a server says with 404 when it knows the model."""


def _error(content: bytes) -> dict[str, Any]:
    """The error object in a reply, however the server wraps it."""
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


_LONGEST = 300


def lost(error: BaseException, host: str) -> Passing:
    """The fault if no reply came."""
    causes = list(_causes(error))
    for kind, what, fix in _KINDS:
        cause = next((cause for cause in causes if isinstance(cause, kind)), None)
        if cause is not None:
            words = getattr(cause, "verify_message", "") or getattr(cause, "strerror", "") or str(cause)
            reason = what.format(host=host, words=words)
            return Passing(printable(reason)[:_LONGEST], unreached=True, fix=fix)
    # The client's own classes mislead: a cut connection is a ConnectTimeout.
    last = next((cause for cause in causes if str(cause)), error)
    return Passing(printable(f"{type(last).__name__}: {last}")[:_LONGEST], unreached=_is_connecting(causes))


def was_dropped(error: BaseException) -> bool:
    """Whether a connection was closed before any of a reply came."""
    dropped = ("ServerDisconnectedError", "ClientConnectionResetError", "ConnectionResetError")
    return any(type(cause).__name__ in dropped for cause in _causes(error))


_KINDS = (
    (
        socket.gaierror,
        "no address is known for {host} (DNS): {words}",
        "correct the name in the server's address (`base_url:`, --base-url), or join the network that knows "
        "it",
    ),
    (
        ssl.SSLCertVerificationError,
        "the certificate of {host} is not trusted: {words}",
        "name a file with its authority's certificate in the environment variable SSL_CERT_FILE, or correct "
        "the name in the server's address (`base_url:`, --base-url)",
    ),
    (
        ssl.SSLError,
        "no encrypted connection (TLS) to {host}: {words}",
        "write `http://` in the server's address (`base_url:`, --base-url) if it is not encrypted; otherwise "
        "correct its port",
    ),
    (ConnectionRefusedError, "nothing listens at {host} (connection refused)", ""),
)
"""Causes, their meaning and their fix; an empty fix means to start the server."""


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The causes of an error, itself last."""
    seen: set[int] = set()
    left: list[BaseException | None] = [error]
    base_exceptions: list[BaseException] = []
    while left:
        cause = left.pop()
        if cause is not None and id(cause) not in seen:
            seen.add(id(cause))
            base_exceptions.append(cause)
            left += [cause.__context__, getattr(cause, "os_error", None), cause.__cause__]
    return reversed(base_exceptions)


def _is_connecting(causes: list[BaseException]) -> bool:
    """Whether no connection was made."""
    return any(
        "Connector" in type(error).__name__ or "ConnectionTimeout" in type(error).__name__ for error in causes
    )
