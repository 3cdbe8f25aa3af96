"""A server that answers in JSON where a request holds it to a schema, and only there."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["Held", "answer_of", "held_server"]


def answer_of(body: dict[str, Any]) -> str:
    """What it answers: decided by the prompt and the seed, in JSON where a schema is sent along."""
    prompt = "\n".join(message["content"] for message in body["messages"])
    number = int(sha256(f"{prompt}|{body.get('seed')}".encode()).hexdigest()[:8], 16)
    told = (body.get("response_format") or {}).get("json_schema")
    if "certain" in body["messages"][-1]["content"]:
        return f"0.{number % 10}"
    if told is None:
        choices = (body.get("structured_outputs") or {}).get("choice") or ("positive", "negative")
        return str(choices[number % len(choices)])
    ((field, one),) = told["schema"]["properties"].items()
    return json.dumps({field: one["enum"][number % len(one["enum"])]})


class Held:
    """What the server saw: the bodies, in the order in which they came."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []


@contextmanager
def held_server(port: int = 0) -> Iterator[tuple[str, Held]]:
    """Its base URL, and what it saw, for as long as the block runs."""
    held = Held()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._send({"data": [{"id": "tiny"}]} if self.path == "/v1/models" else {"version": "1.2.3"})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            held.bodies.append(body)
            text = answer_of(body)
            choice: dict[str, Any] = {"index": 0, "finish_reason": "stop", "message": {"content": text}}
            if body.get("logprobs"):
                top = [{"token": text, "logprob": -0.25}, {"token": "other", "logprob": -1.75}]
                place = {"token": text, "logprob": -0.25, "top_logprobs": top[: body["top_logprobs"]]}
                choice["logprobs"] = {"content": [place]}
            usage = {"prompt_tokens": 40, "completion_tokens": 4, "total_tokens": 44}
            self._send({"model": "tiny-1", "system_fingerprint": "fp-1", "choices": [choice], "usage": usage})

        def _send(self, document: dict[str, Any]) -> None:
            content = json.dumps(document).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
            """Nothing is logged."""

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", held
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
