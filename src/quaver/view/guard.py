"""Who may ask the viewer and for what: the token, the page it is given, and the parameters of a request."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping
from hashlib import sha256
from hmac import compare_digest
from html import escape
from pathlib import Path
from typing import Any, Final

from quaver._secrets import Keys
from quaver.errors import QuaverError
from quaver.view.grid_view import Shape
from quaver.view.viewed_study import Asked

_IMPORT = re.compile(
    r'^import (?:\{(?P<names>[^}]*)\}|\* as (?P<whole>\w+)) from "\./(?P<file>[\w.-]+)";$', re.MULTILINE
)
_EXPORT = re.compile(
    r"^export (?P<kind>(?:async )?function\*?|const|let|class) (?P<name>[\w$]+)", re.MULTILINE
)
_START = "start.js"


def one_file(page: Path, data: Any, title: str) -> str:
    """The page with its data."""
    style = (page / "look.css").read_text(encoding="utf-8").replace("</style", "<\\/style")
    script = bundled(page)
    html = (page / "index.html").read_text(encoding="utf-8")
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; img-src data:; "
        "form-action 'none'; base-uri 'none'"
    )
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    html = html.replace('<meta charset="utf-8">', f'<meta charset="utf-8">\n{head}', 1)
    html = re.sub(r"<title>.*?</title>", lambda _: f"<title>{escape(title)}</title>", html, count=1)
    html = html.replace('<link rel="stylesheet" href="page/look.css">', f"<style>{style}</style>", 1)
    parts = (
        f'<script type="application/json" id="quaver-data">{inert(data)}</script>\n<script>{script}</script>'
    )
    return html.replace('<script type="module" src="page/start.js"></script>', parts, 1)


def inert(data: Any) -> str:
    r"""JSON in plain ASCII that cannot end the element it stands in, without the value of any key.

    >>> inert({"a": "</script>é"})
    '{"a":"\\u003c/script\\u003e\\u00e9"}'
    """
    text = Keys().out_of(json.dumps(data, separators=(",", ":"), default=str))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def bundled(page: Path) -> str:
    """All modules as one script; each is a function that is called once and returns what it exports."""
    parts = [_wrapped(name, text) for name, text in _in_order(page)]
    return '"use strict";\nconst modules = {};\n' + "\n".join(parts).replace("</script", "<\\/script")


def _in_order(page: Path) -> Iterator[tuple[str, str]]:
    """The modules, each after those that it imports."""
    done: set[str] = set()

    def visited(name: str) -> Iterator[tuple[str, str]]:
        if name in done:
            return
        done.add(name)
        text = (page / name).read_text(encoding="utf-8")
        for one in _IMPORT.finditer(text):
            yield from visited(one["file"])
        yield name, text

    yield from visited(_START)


def _wrapped(name: str, text: str) -> str:
    exports = [one["name"] for one in _EXPORT.finditer(text)]
    body = _EXPORT.sub(lambda one: f"{one['kind']} {one['name']}", _IMPORT.sub(_taken, text))
    return f"modules[{json.dumps(name)}] = (() => {{\n{body}\nreturn {{ {', '.join(exports)} }};\n}})();"


def _taken(one: re.Match[str]) -> str:
    what = one["whole"] or "{" + re.sub(r"\bas\b", ":", one["names"]) + "}"
    return f"const {what} = modules[{json.dumps(one['file'])}];"


def _digest(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

MARK: Final = b"x-quaver-view"
"""The header that requests must have which change something; other sites cannot send it unasked."""

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
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


class Guard:
    """Lets through what the page asks, without the token in its path; everything else gets an empty 404.

    Args:
        app: The application.
        token: The first part of the path.
        port: Where the server listens.
        reports: The paths of reports inside the application, by the first part of their own addresses.
    """

    def __init__(self, app: App, token: str, port: int, reports: Mapping[str, str]) -> None:
        self._app, self._token = app, token.encode()
        self._reports = {ticket.encode(): path for ticket, path in reports.items()}
        self._hosts = {f"{host}:{port}".encode() for host in ("127.0.0.1", "localhost")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        rest = self._rest(scope)
        if scope["type"] != "http" or rest is None:
            await _refuse(scope, send)
            return
        inside = {**scope, "path": rest, "raw_path": rest.encode(), "root_path": ""}

        async def sent(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                own = {name.lower(): value for name, value in message.get("headers", ())}
                message["headers"] = [*{**_HEADERS, **own}.items()]
            await send(message)

        await self._app(inside, receive, sent)

    def _rest(self, scope: Scope) -> str | None:
        """The path without the token; None where nothing may be answered."""
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
        allowed = self._is_own(headers, scope.get("method", ""), bool(rest))
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
        return method in _SAFE or (method in ("POST", "DELETE") and headers.get(MARK) == [b"1"])


async def _refuse(scope: Scope, send: Send) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008})
        return
    headers = [(b"content-length", b"0"), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": 404, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


class Parameters:
    """What a request asks.

    Args:
        query: What stands behind the question mark.
        path: The parts of the path that have names.
        body: What was sent with it.
    """

    def __init__(self, query: Mapping[str, str], path: Mapping[str, Any], body: bytes = b"") -> None:
        self._query, self._path, self.content = query, path, body

    def path(self, name: str) -> str:
        """A part of the path; empty where there is none."""
        return str(self._path.get(name, ""))

    def text(self, name: str) -> str:
        """A parameter; empty if it is left out."""
        return self._query.get(name, "")

    def flag(self, name: str) -> bool:
        """A parameter that is on or off."""
        return self._query.get(name, "") in ("1", "true", "yes")

    def number(self, name: str, otherwise: int, *, most: int = 1 << 40) -> int:
        """A whole number from 0 on, no more than ``most``."""
        text = self._query.get(name, "")
        if not text:
            return otherwise
        if not (text.isascii() and text.isdigit() and len(text) < 16):
            raise QuaverError("this is not a number", where=name, expected="a whole number", found=text)
        return min(int(text), most)

    def asked(self) -> Asked:
        """The view that it asks for."""
        return Asked(
            query=self.text("q").strip(),
            evaluator=self.text("e"),
            shape=Shape(
                sort=self.text("sort") or "item",
                by=self.text("by") or "design",
                matching=self.text("columns") == "matching",
                folded=self.text("fold") == "repeat",
            ),
            models=self.text("model"),
            prompts=self.text("prompt"),
            decodings=self.text("decoding"),
            repeats=self.text("repeat"),
        )

    def body(self) -> dict[str, Any]:
        """The JSON object that was sent; empty if nothing was."""
        try:
            found = json.loads(self.content or b"{}")
        except (ValueError, RecursionError) as error:
            raise QuaverError("this is not JSON", where="body", found=str(error)) from None
        if not isinstance(found, dict):
            raise QuaverError("this is not a JSON object", where="body", found=type(found).__name__)
        return found

    def whole_number(self, name: str) -> int:
        """A whole number in the JSON object, from 0 on."""
        value = self.body().get(name)
        if type(value) is not int or not 0 <= value < 1 << 40:
            found = json.dumps(value)[:80]
            raise QuaverError("this is not a number", where=name, expected="a whole number", found=found)
        return value
