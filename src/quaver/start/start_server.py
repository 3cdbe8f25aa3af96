"""The server of ``quaver start``: the pages and, beside them, the viewer, each behind a token of its own."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from quaver.errors import QuaverError
from quaver.models.local.extras import require
from quaver.start.begun_check import MOST_BYTES, BegunCheck, is_study
from quaver.view.guard import App, Guard, Receive, Scope, Send
from quaver.view.serving import StudyReader, answering, listening, studies_of

if TYPE_CHECKING:
    from fastapi import FastAPI

    from quaver.start.page_frame import Site, StepPage

_POLICY: Final = (
    "default-src 'none'; script-src 'self' 'nonce-{nonce}' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self' ws://{host}; font-src 'self'; form-action 'none'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
"""What a page may load. Its scripts are the library's files and those with a number that is drawn for each
answer. The library evaluates what its own server sends over the socket, which no text is ever part of."""


class Doors:
    """Hands each request to the guard that lets it in.

    Attributes:
        guards: Those of the pages and of the viewers that were opened.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self.guards: list[Guard] = []
        self._viewers: dict[Path, str] = {}
        self._readers: list[StudyReader] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        chosen = next((guard for guard in self.guards if guard.opens(scope)), self.guards[0])
        await chosen(scope, receive, send)

    def viewer(self, path: Path) -> str:
        """The address of the viewer of a study, which is opened once."""
        from quaver.view.application import Viewer

        if path not in self._viewers:
            viewer, token = Viewer(studies_of([path])), secrets.token_urlsafe(24)
            for study in viewer.studies.values():  # each field is one
                self._readers.append(StudyReader(study))
                self._readers[-1].start()
            self.guards.append(Guard(viewer.app(), token, self.port, viewer.reports))
            self._viewers[path] = f"/{token}/"
        return self._viewers[path]

    def close(self) -> None:
        """End what reads the viewers' studies."""
        for reader in self._readers:
            reader.stop()


class Pages:
    """The library's application below a token, with a content policy that has a new number in every answer.

    Args:
        app: The application.
        root: The part of the path that the guard has taken away.
    """

    def __init__(self, app: App, root: str) -> None:
        self._app, self._root = app, root

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        headers = {name.lower(): value for name, value in scope["headers"]}
        if scope.get("method") == "POST" and not 0 < _length(headers) <= MOST_BYTES:
            await send({"type": "http.response.start", "status": 413, "headers": [(b"content-length", b"0")]})
            await send({"type": "http.response.body", "body": b""})
            return
        path = self._root + scope["path"]
        inside = {**scope, "path": path, "raw_path": path.encode(), "root_path": self._root}
        await self._app(inside, receive, _Answer(send, headers[b"host"].decode()).send)


def _length(headers: Mapping[bytes, bytes]) -> int:
    """How long a body says that it is; 0 where it does not."""
    said = headers.get(b"content-length", b"")
    return int(said) if said.isdigit() else 0


class _Answer:
    """What a page is sent: its scripts get the number by which the browser knows them."""

    def __init__(self, send: Send, host: str) -> None:
        self._send, self._host, self._nonce = send, host, secrets.token_urlsafe(16)
        self._begun: MutableMapping[str, Any] | None = None
        self._body = b""

    async def send(self, message: MutableMapping[str, Any]) -> None:
        """Pass a message on, or keep it until the page is whole."""
        if message["type"] == "http.response.start":
            headers = {name.lower(): value for name, value in message["headers"]}
            if headers.get(b"content-type", b"").startswith(b"text/html"):
                self._begun = {**message, "headers": headers}
                return
        if self._begun is None or message["type"] != "http.response.body":
            await self._send(message)
            return
        self._body += message.get("body", b"")
        if not message.get("more_body"):
            # In the page's elements every < is written &lt;, so that no text has a script to be numbered.
            body = self._body.replace(b"<script", b'<script nonce="%s"' % self._nonce.encode())
            # A lost connection is said to those who cannot see the page, too.
            body = body.replace(
                b'popup" class="nicegui-error-popup"', b'popup" role="alert" class="nicegui-error-popup"'
            )
            policy = _POLICY.format(nonce=self._nonce, host=self._host)
            own = {b"content-length": str(len(body)).encode(), b"content-security-policy": policy.encode()}
            headers = {**self._begun["headers"], **own}
            await self._send({**self._begun, "headers": [*headers.items()]})
            await self._send({"type": "http.response.body", "body": body})


def serve(folder: Path, *, port: int | None = None, begun: Callable[[str], None] = print) -> None:
    """Serve the pages about a folder until the process is stopped."""
    if not folder.exists():
        raise QuaverError(
            "there is no such folder", where=str(folder), expected="a folder for your studies, or a table"
        )
    texts = folder if folder.is_file() else BegunCheck(folder).texts_file if is_study(folder) else None
    about = folder if folder.is_file() or (texts and texts.parent == folder.resolve().parent) else None
    folder = folder.resolve().parent if about else folder
    require("start", "nicegui", "uvicorn", "starlette")
    from fastapi import FastAPI
    from nicegui import core, ui

    from quaver.start.model_search import take_kept_keys
    from quaver.start.page_frame import Site

    connection = listening(port)
    number, token = connection.getsockname()[1], secrets.token_urlsafe(24)
    outer, doors = FastAPI(openapi_url=None, docs_url=None, redoc_url=None), Doors(number)
    take_kept_keys()
    site = Site(folder, doors.viewer)
    first = _install(site, outer, about)
    core.app.config.socket_io_js_transports = ["websocket"]
    core.app.config.quasar_config["loadingBar"] = {
        "skipHijack": True
    }  # it has no name for those who cannot see
    ui.run_with(
        outer,
        title="Quaver",
        language="en-US",
        dark=None,
        tailwind=False,
        binding_refresh_interval=None,
        gzip_middleware_factory=None,
        show_welcome_message=False,
        reconnect_timeout=10.0,
    )
    doors.guards.append(Guard(Pages(outer, f"/{token}"), token, number, {}, sockets=True))
    begun(f"http://127.0.0.1:{number}/{token}{first}")
    try:
        answering(doors, connection, lifespan="on")
    finally:
        doors.close()


def _install(site: Site, server: FastAPI, about: Path | None) -> str:
    """Declare the pages; the address of the first, or of the one that goes on with a table or a check."""
    from nicegui import ui

    from quaver.report.page_templates import style
    from quaver.start import asking_pages, codebook_page, labels_page, model_page, texts_page, verdict_page

    ui.add_css(style("screen.css"), shared=True)
    ui.add_css(Path(__file__).with_name("look.css").read_text(encoding="utf-8"), shared=True)
    texts_page.install(site)
    codebook_page.install(site, server)
    labels_page.install(site, server)
    builders: dict[str, Callable[[StepPage], Awaitable[None]]] = {
        "texts": texts_page.texts,
        "codebook": codebook_page.codebook,
        "model": model_page.model,
        "plan": asking_pages.plan,
        "run": asking_pages.asked,
        "verdict": verdict_page.verdict,
        "labels": labels_page.labels,
    }
    for step, build in builders.items():
        _step(site, step, build)
    return texts_page.goes_on_at(site.here, about) if about else "/"


def _step(site: Site, step: str, build: Callable[[StepPage], Awaitable[None]]) -> None:
    from nicegui import ui

    from quaver.start.page_frame import STEPS, StepPage, framed, words

    @ui.page(f"/study/{{name}}/{step}", title=f"{STEPS[step]} · Quaver", response_timeout=60)
    async def shown(name: str) -> None:
        page = StepPage(site, step)
        with framed(step, name):
            page.area()
            with page.reporting():
                page.begun = site.here.begun(name)
                waits = words("p", "Reading …").props('role="status"')
                await ui.context.client.connected()  # the steps are there at once, however large the table is
                try:
                    await build(page)
                finally:
                    waits.delete()
