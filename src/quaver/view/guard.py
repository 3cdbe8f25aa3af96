"""Who may ask the viewer: the token, the host, the site that a request comes from."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from hmac import compare_digest
from typing import Any, Final

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

MARK: Final = b"x-quaver-view"
"""The header that requests must have which change something; other sites cannot send it unasked."""

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self'; "
    "connect-src 'self'; font-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)

_HEADERS: Final[Mapping[bytes, bytes]] = {
    b"content-security-policy": POLICY.encode(),
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"permissions-policy": b"camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    b"cache-control": b"no-store",
}
_SAFE = ("GET", "HEAD")
_SOCKET = "web socket"


class Guard:
    """Lets through what the page asks, without the token in its path; everything else gets an empty 404.

    Args:
        app: The application.
        token: The first part of the path.
        port: Where the server listens.
        reports: The paths of reports inside the application, by the first part of their own addresses.
        sockets: Whether the page may open a web socket.
    """

    def __init__(
        self, app: App, token: str, port: int, reports: Mapping[str, str], *, sockets: bool = False
    ) -> None:
        self._app, self._token = app, token.encode()
        self._kinds = ("http", "websocket") if sockets else ("http",)
        self._reports = {ticket.encode(): path for ticket, path in reports.items()}
        self._hosts = {f"{host}:{port}".encode() for host in ("127.0.0.1", "localhost")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        rest = self._rest(scope)
        if rest is None:
            await _refuse(scope, send)
            return
        inside = {**scope, "path": rest, "raw_path": rest.encode(), "root_path": ""}

        async def sent(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                own = {name.lower(): value for name, value in message.get("headers", ())}
                message["headers"] = [*{**_HEADERS, **own}.items()]
            await send(message)

        await self._app(inside, receive, sent)

    def opens(self, scope: Scope) -> bool:
        """Whether it lets a request through."""
        return scope["type"] == "lifespan" or self._rest(scope) is not None

    def _rest(self, scope: Scope) -> str | None:
        """The path without the token; None where nothing may be answered."""
        if scope["type"] not in self._kinds:
            return None
        first, slash, rest = scope.get("path", "").removeprefix("/").partition("/")
        given = first.encode("utf-8", "surrogatepass")
        inside = f"/{rest}" if compare_digest(given, self._token) else None
        if inside in self._reports.values():
            return None
        for ticket, path in self._reports.items():
            if compare_digest(given, ticket) and not rest:
                inside = path
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope.get("headers", ()):
            headers.setdefault(name.lower(), []).append(value)
        method = scope.get("method", "") if scope["type"] == "http" else _SOCKET
        allowed = self._is_own(headers, method, bool(rest))
        return inside if allowed and slash else None

    def _is_own(self, headers: Mapping[bytes, list[bytes]], method: str, inner: bool) -> bool:
        hosts, origins = headers.get(b"host", []), headers.get(b"origin", [])
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return False
        if any(origin.lower() != b"http://" + hosts[0].lower() for origin in origins):
            return False
        # A browser says where a request comes from; only what a person opens may come from elsewhere.
        if any(site not in (b"same-origin", b"none") for site in headers.get(b"sec-fetch-site", [])):
            opened = method == "GET" and headers.get(b"sec-fetch-mode") == [b"navigate"] and not inner
            if not opened:
                return False
        if method == _SOCKET:  # which a browser opens from any site, and says from which
            return len(origins) == 1
        return method in _SAFE or (method in ("POST", "DELETE") and headers.get(MARK) == [b"1"])


async def _refuse(scope: Scope, send: Send) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008})
        return
    headers = [(b"content-length", b"0"), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": 404, "headers": headers})
    await send({"type": "http.response.body", "body": b""})
