"""Servers that answer as providers document it: what each refuses, ignores, caps, blocks and cuts off.

A kind of provider is a function of what is asked; it returns a status, a document (or bytes) and headers.
Every request is kept, so that a test can hold what Quaver reports against what was sent.
"""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from quaver.study.session import Study

TEXTS = 12


def study(folder, model, decoding, **more):
    """A study of a dozen texts, asked of a model at an address."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [f"{n},This is {'good' if n % 2 else 'bad'} number {n}.\n" for n in range(TEXTS)]
    (folder / "texts.csv").write_text("id,text\n" + "".join(rows))
    document = {
        "task": {"labels": ["pos", "neg"]},
        "items": {"source": str(folder / "texts.csv"), "id": "id", "text": "{{ text }}"},
        "prompt": {"instruction": "Is it pos or neg?", "system": "You label."},
        "models": [{"name": "m", "use": "openai_compatible", "model": "m", "patience": 10} | model],
        "decoding": {"d": decoding},
        "repeats": 1,
        "measures": ["compliance"],
        **more,
    }
    return Study.open(document, folder=folder / "study")


def label_in(body):
    """The right label of the text that is asked about."""
    return "pos" if "good" in json.dumps(body) else "neg"


def error(status, message, code=None, param=None):
    """An error in OpenAI's form."""
    return status, {
        "error": {"message": message, "type": "invalid_request_error", "code": code, "param": param}
    }


def chat(body, text=None, finish="stop", **more):
    """A completion; ``thought`` are its tokens of thinking."""
    thought = more.pop("thought", 0)
    usage = {"prompt_tokens": 20, "completion_tokens": thought + 2}
    if thought:
        usage["completion_tokens_details"] = {"reasoning_tokens": thought}
    message = {"role": "assistant", "content": label_in(body) if text is None else text}
    choice = {"index": 0, "message": message | more.pop("message", {}), "finish_reason": finish}
    return 200, {"model": "served-1", "choices": [choice], "usage": usage, **more}


def refusing(*fields, form="Unsupported parameter: '{}' is not supported with this model."):
    """A provider that refuses some fields, one at a time."""

    def answer(body, path, n):
        for field in fields:
            if field in body:
                return error(400, form.format(field), "unsupported_parameter", field)
        return chat(body)

    return answer


def reasoning(body, path, n):
    """One that refuses ``max_tokens`` by name, temperatures by value, and thinks within the limit."""
    if "max_tokens" in body:
        return error(
            400, "'max_tokens' is not supported. Use 'max_completion_tokens' instead.", None, "max_tokens"
        )
    if body.get("temperature", 1) != 1:
        return error(400, "'temperature' does not support 0 with this model; only the default (1) is.")
    return thinking(body, path, n)


def thinking(body, path, n):
    """One that takes everything and thinks for 700 to 1,600 tokens within the limit."""
    limit = body.get("max_completion_tokens") or body.get("max_tokens") or 10**9
    thought = 700 + 100 * (n % 10)
    if thought + 2 > limit:
        return chat(body, "", "length", thought=limit - 2)
    return chat(body, thought=thought)


def capping(body, path, n):
    """One that takes no more than 100 tokens."""
    if body.get("max_tokens", 0) > 100:
        return error(400, "max_tokens is too large: this model supports at most 100 completion tokens.")
    return chat(body)


def schemaless(body, path, n):
    """One that cannot be held to a schema, and says so without a field's name."""
    return (
        error(400, "This model does not support structured outputs.")
        if "response_format" in body
        else chat(body)
    )


def systemless(body, path, n):
    """One without a system role."""
    if any(one["role"] == "system" for one in body["messages"]):
        return error(400, "messages[0].role: system role is not supported with this model")
    return chat(body)


def blocking(status, message, code=None):
    """One that takes every text but the third."""

    def answer(body, path, n):
        return error(status, message, code) if "number 3." in json.dumps(body) else chat(body)

    return answer


def responses_only(body, path, n):
    """A model that is in the Responses API alone."""
    if not path.endswith("/responses"):
        return error(404, "This model is only supported in v1/responses and not in v1/chat/completions.")
    output = [
        {"type": "reasoning"},
        {"type": "message", "content": [{"type": "output_text", "text": label_in(body)}]},
    ]
    usage = {"input_tokens": 9, "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 3}}
    return 200, {"object": "response", "model": "served-1", "output": output, "usage": usage}


def claude(body, path, n):
    """One that speaks Anthropic's Messages, and refuses a temperature."""
    if "temperature" in body:
        return 400, {"type": "error", "error": {"message": "`temperature` is deprecated for this model."}}
    content = [{"type": "text", "text": label_in(body)}]
    usage = {"input_tokens": 20, "output_tokens": 2}
    return 200, {
        "type": "message",
        "model": "served-1",
        "content": content,
        "stop_reason": "end_turn",
        "usage": usage,
    }


def gemini(body, path, n):
    """Google's own API."""
    assert path.endswith("/models/m:generateContent")
    candidate = {"content": {"parts": [{"text": label_in(body)}]}, "finishReason": "STOP"}
    usage = {"promptTokenCount": 9, "candidatesTokenCount": 1}
    return 200, {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "served-1"}


def routing(body, path, n):
    """A router that names the host that answered, and has none for a seed."""
    if (body.get("provider") or {}).get("require_parameters") and "seed" in body:
        return error(404, "No endpoints found that can handle the requested parameters.", 404)
    return chat(body, provider="DeepInfra" if n % 2 else "Together")


def limiting_for(seconds):
    """One that asks for a pause in its body alone, once in six requests."""

    def answer(body, path, n):
        if n % 6:
            return chat(body)
        details = [{"retryDelay": f"{seconds}s"}]
        return 429, [{"error": {"code": 429, "message": "Quota exceeded: 20 a minute.", "details": details}}]

    return answer


def gone(body, path, n):
    """A model that its provider takes away while it is asked."""
    return chat(body) if n <= 12 else error(404, "The model `m` has been deprecated.", "model_not_found")


class Rig:
    """A provider in a thread.

    Args:
        kind: What it answers.
        says: What it answers to GET, by path: how a local server says what it is.

    Attributes:
        sent: Every body, with its path and the headers that hold keys.
    """

    def __init__(self, kind, says=None):
        self.sent = []
        rig, lock = self, threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_): ...

            def do_GET(self):
                known = {"/v1/models": {"data": [{"id": "m"}]}, **(says or {})}
                self._reply(*((200, known[self.path]) if self.path in known else error(404, "not found")))

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)))
                keys = ("authorization", "x-api-key", "api-key", "x-goog-api-key")
                with lock:
                    rig.sent.append(
                        (self.path, {k: self.headers[k] for k in keys if k in self.headers}, body)
                    )
                    n = len(rig.sent)
                self._reply(*kind(body, self.path.partition("?")[0], n))

            def _reply(self, status, document, headers=None):
                content = document if isinstance(document, bytes) else json.dumps(document).encode()
                self.send_response(status)
                for name, value in {"content-type": "application/json", **(headers or {})}.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def root(self):
        """Its address without a path."""
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def url(self):
        """Its address."""
        return f"{self.root}/v1"

    def close(self):
        """Stop it."""
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def rigged(kind, says=None):
    """A provider while a test runs."""
    rig = Rig(kind, says)
    try:
        yield rig
    finally:
        rig.close()
