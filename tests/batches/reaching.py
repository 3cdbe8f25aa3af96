"""Puts a provider where the network would be: a server on this machine."""

import json
import threading
from collections.abc import Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from unittest.mock import patch
from urllib.parse import urlsplit

from quaver.models.served import batch_http
from quaver.models.served.http_pool import HttpPool

__all__ = ["Answer", "Asked", "Broken", "reaching"]

NOWHERE = "127.0.0.1:1"
"""Where nothing listens."""


@dataclass(frozen=True)
class Asked:
    """A request that arrived.

    Attributes:
        url: The path and the query.
        headers: The headers, whose names are in lower case.
    """

    method: str
    url: str
    headers: Mapping[str, str]
    content: bytes

    @property
    def path(self):
        return urlsplit(self.url).path


@dataclass(frozen=True)
class Answer:
    """What is answered."""

    status: int
    content: bytes
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def json(cls, document, status=200):
        return cls(status, json.dumps(document).encode())


class Broken(Exception):
    """The connection breaks off without a reply."""


@contextmanager
def reaching(provider, before=lambda: True, after=lambda: None):
    """Whatever is sent to a provider of batches goes to this one.

    Args:
        provider: Answers.
        before: Called before each request; whether it arrives.
        after: Called once a reply has begun.
    """
    errors = []

    class Handler(BaseHTTPRequestHandler):
        def answer(self):
            content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            try:
                reply = provider(Asked(self.command, self.path, headers, content))
            except Broken:
                return
            except BaseException as error:
                errors.append(error)
                raise
            self.send_response(reply.status)
            for name, value in {**reply.headers, "Content-Length": len(reply.content)}.items():
                self.send_header(name, str(value))
            self.end_headers()
            self.wfile.write(reply.content)

        do_GET = do_POST = answer  # noqa: N815

        def log_message(self, *_):
            pass

    class Diverted(HttpPool):
        @asynccontextmanager
        async def sent(self, method, url, *more):
            is_there = before()
            parts = urlsplit(url)
            here = f"127.0.0.1:{server.server_port}" if is_there else NOWHERE
            url = parts._replace(scheme="http", netloc=here).geturl()
            async with super().sent(method, url, *more) as reply:
                after()
                yield reply

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            with patch.object(batch_http, "opened", lambda: Diverted(1, 5.0, 30.0)):
                yield
        finally:
            server.shutdown()
    assert not errors, errors
