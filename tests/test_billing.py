"""What a server bills for replies that become no answer is spent: counted, stored, held against the cap."""

import json
import random
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from tests.studies import written

from quaver.study.session import Study

ITEMS = "id,text,truth\n" + "".join(f"{n},Number {n}.,positive\n" for n in range(40))
STUDY = {
    "task": {"labels": ["positive", "negative"]},
    "items": {"source": "items.csv", "id": "id", "text": "{{ text }}", "gold": "truth"},
    "prompt": {"instruction": "Is this positive or negative?"},
    "decoding": {"drawn": {"temperature": 0.7}},
    "measures": ["compliance"],
}
USAGE = {"prompt_tokens": 40, "completion_tokens": 5, "total_tokens": 45}


def good():
    message = {"role": "assistant", "content": "positive"}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return json.dumps({"usage": USAGE, "model": "m", "choices": [choice]}).encode()


UNUSABLE = {
    "no choices": lambda: json.dumps({"choices": [], "usage": USAGE}).encode(),
    "cut": lambda: good()[:-20],
    "an error inside": lambda: json.dumps({"error": {"message": "upstream"}, "usage": USAGE}).encode(),
}


class Billing:
    """What the server billed, and how many replies it sent."""

    def __init__(self):
        self.tokens = self.replies = self.unusable = 0
        self.lock = threading.Lock()


@contextmanager
def billing(share, kinds):
    """A server that bills every reply, and of whose replies a share cannot be used."""
    billed, draw = Billing(), random.Random(1)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            self._send(b'{"data": [{"id": "m"}]}')

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with billed.lock:
                asked = "positive or negative" in body["messages"][-1]["content"]
                faulty = asked and draw.random() < share
                content = UNUSABLE[draw.choice(kinds)]() if faulty else good()
                billed.tokens += USAGE["total_tokens"]
                billed.replies += 1
                billed.unusable += faulty
            self._send(content)

        def _send(self, content):
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format, *args):  # noqa: A002 - the base class names it so
            """Nothing is logged."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", billed
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


def study(folder, url, **changes):
    model = {"name": "m", "use": "openai_compatible", "model": "m", "base_url": url, "price": 0}
    model |= {"concurrency": 8, "patience": 60}
    return Study.open(written(folder, json.dumps({**STUDY, "models": [model], **changes}), ITEMS))


@pytest.mark.long
@pytest.mark.parametrize("kind", UNUSABLE)
def test_every_reply_that_was_billed_is_counted(tmp_path, kind):
    with billing(0.3, [kind]) as (url, billed):
        outcome = study(tmp_path, url).run()
        now = study(tmp_path, url).status()
    assert outcome.missing == 0
    assert billed.unusable > 5
    assert now.tokens == outcome.tokens == billed.tokens
    assert (now.sent, now.received) == (billed.replies, billed.replies)
    assert now.discarded_tokens == 45 * now.discarded == billed.tokens - 45 * 40
    assert now.discarded >= billed.unusable


@pytest.mark.long
def test_a_cap_holds_what_was_billed(tmp_path):
    with billing(0.3, list(UNUSABLE)) as (url, billed):
        outcome = study(tmp_path, url, budget={"tokens": 1200}).run()
        again = study(tmp_path, url, budget={"tokens": 1900}).run()
    assert outcome.ended == again.ended == "tokens"
    assert outcome.tokens <= 1200 + 8 * 45, "what was in flight"
    assert billed.tokens == again.tokens <= 1900 + 8 * 45


def test_a_server_that_sends_nothing_of_use_is_not_paid_for_ever(tmp_path):
    with billing(1.0, ["no choices"]) as (url, billed):
        outcome = study(tmp_path, url, budget={"tokens": 400}).run()
    assert outcome.ended == "tokens"
    assert outcome.errors == outcome.done > 0
    assert outcome.tokens == billed.tokens <= 400 + 8 * 45
