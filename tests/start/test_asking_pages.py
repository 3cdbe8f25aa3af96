"""What a server says when it fails is text on the page of the run, with what to do about it."""

import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from threading import Thread

import pytest
from tests.chromium import browser
from tests.start.started import started
from tests.start.walk import REFORM, Walk

__all__ = ["browser"]

pytestmark = pytest.mark.long
pytest.importorskip("nicegui")

HOSTILE = "<img src=x onerror=window.ran=1> {{ 7 * 7 }} <script>window.ran=2</script> \u202e[x](javascript:1)"


@contextmanager
def failing():
    """A server that refuses every third request for its length, and the 60th for good, in hostile words."""
    numbers = count()

    class Fails(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            self.say(200, {"data": [{"id": "gpt-5-mini"}]})

        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            number = next(numbers)
            if number == 60:
                self.say(400, {"error": {"message": HOSTILE}})
            elif number % 3 == 0:
                code = "context_length_exceeded"
                self.say(400, {"error": {"message": HOSTILE, "code": code}})
            else:
                message = {"role": "assistant", "content": "favor"}
                self.say(200, {"choices": [{"index": 0, "finish_reason": "stop", "message": message}]})

        def say(self, status, document):
            content = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format, *args):  # noqa: A002 - named so by its base
            """Nothing is logged."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Fails) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


def test_what_a_failing_server_says_is_text(browser, tmp_path):
    with failing() as url, started(tmp_path, {"OPENAI_BASE_URL": url}) as address:
        walk = Walk(browser, address)
        walk.upload(REFORM)
        walk.to_the_model()
        walk.click("text=Next: the plan")
        walk.at("plan")
        walk.click("button:has-text('Ask ')")
        walk.at("run")
        said = walk.page.locator("pre.qv-doubt")
        said.wait_for()
        assert "<img src=x onerror=window.ran=1> {{ 7 * 7 }}" in said.inner_text()
        walk.click("text=Go on asking")
        walk.page.locator("text=See the verdict").wait_for()
        failed = walk.page.locator("table", has_text="what to do").inner_text()
        assert "context" in failed
        walk.page.locator("button:has-text('that failed')").wait_for()
        assert walk.page.evaluate("window.ran") is None
        assert "49" not in said.all_inner_texts()
        walk.context.close()
    assert walk.wrong == []
