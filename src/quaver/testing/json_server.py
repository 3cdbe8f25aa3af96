"""A server that answers JSON with JSON, for tests of providers: nothing outside the process is reached."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = Callable[[str, dict[str, Any] | None], Any]
"""From a path and the body that was posted there (None: it was fetched) to what is answered."""


class JsonServer:
    """A server on this machine, in a thread; it ends with the process, or when it is closed.

    Args:
        reply: What it answers.
        port: Where it listens; a free port if left out.

    Attributes:
        url: Its address, without a path.
    """

    def __init__(self, reply: Reply, port: int = 0) -> None:
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._answer(reply(self.path, None))

            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                self._answer(reply(self.path, json.loads(self.rfile.read(length))))

            def _answer(self, document: Any) -> None:
                content = json.dumps(document).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - named so by its base
                """Nothing is logged."""

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        """Stop it, and wait until it has stopped."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)
