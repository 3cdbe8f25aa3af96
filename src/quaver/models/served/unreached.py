"""Why no reply came: the cause inside a client's error, and its fix."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator

from quaver.core.response_validation import printable
from quaver.models.served.server_faults import Passing

_LONGEST = 300


def lost(error: BaseException, host: str) -> Passing:
    """The fault if no reply came."""
    causes = list(_causes(error))
    for kind, what, fix in _KINDS:
        cause = next((one for one in causes if isinstance(one, kind)), None)
        if cause is not None:
            words = getattr(cause, "verify_message", "") or getattr(cause, "strerror", "") or str(cause)
            reason = what.format(host=host, words=words)
            return Passing(printable(reason)[:_LONGEST], unreached=True, fix=fix)
    # The client's own classes mislead: a cut connection is a ConnectTimeout.
    last = next((one for one in causes if str(one)), error)
    return Passing(printable(f"{type(last).__name__}: {last}")[:_LONGEST], unreached=_is_connecting(causes))


def was_dropped(error: BaseException) -> bool:
    """Whether a connection was closed before any of a reply came."""
    dropped = ("ServerDisconnectedError", "ClientConnectionResetError", "ConnectionResetError")
    return any(type(one).__name__ in dropped for one in _causes(error))


_KINDS = (
    (
        socket.gaierror,
        "no address is known for {host} (DNS): {words}",
        "correct the name in `base_url:`, or join the network that knows it",
    ),
    (
        ssl.SSLCertVerificationError,
        "the certificate of {host} is not trusted: {words}",
        "name a file with its authority's certificate in the environment variable SSL_CERT_FILE, or correct "
        "the name in `base_url:`",
    ),
    (
        ssl.SSLError,
        "no encrypted connection (TLS) to {host}: {words}",
        "write `http://` in `base_url:` if the server is not encrypted; otherwise correct its port",
    ),
    (ConnectionRefusedError, "nothing listens at {host} (connection refused)", ""),
)
"""Causes, their meaning and their fix; an empty fix means to start the server."""


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The causes of an error, itself last."""
    seen: set[int] = set()
    left: list[BaseException | None] = [error]
    found: list[BaseException] = []
    while left:
        one = left.pop()
        if one is not None and id(one) not in seen:
            seen.add(id(one))
            found.append(one)
            left += [one.__context__, getattr(one, "os_error", None), one.__cause__]
    return reversed(found)


def _is_connecting(causes: list[BaseException]) -> bool:
    """Whether no connection was made."""
    return any(
        "Connector" in type(one).__name__ or "ConnectionTimeout" in type(one).__name__ for one in causes
    )
