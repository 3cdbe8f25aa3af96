"""Engines that the suites ask: a server with the bundled model, one that answers JSON, other weights."""

import json
import subprocess
import sys
import threading
from functools import cache, lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory

from quaver.models.local.extras import cores, spin_briefly
from quaver.models.local.weights import find_weights

NAME = "smollm2-135m-instruct"
CONTEXT = 256
SLOTS = 4


def started(*, context=CONTEXT, slots=SLOTS):
    """A server of one's own; it ends when it is let go of."""
    spin_briefly()
    import xllamacpp

    flash = xllamacpp.llama_flash_attn_type
    params = xllamacpp.CommonParams()
    params.model.path = str(find_weights(NAME))
    params.n_parallel, params.n_ctx = slots, context * slots
    params.flash_attn_type = flash.LLAMA_FLASH_ATTN_TYPE_DISABLED
    params.kv_unified = False
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = cores() or -1
    params.warmup = False
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = cores() or -1
    params.verbosity = -1
    return xllamacpp.Server(params)


@cache
def _shared():
    return started()


def base_url():
    """The address of the server that the tests share."""
    return f"{_shared().listening_address}/v1"


class JsonServer:
    """A server on this machine, in a thread; it ends with the process, or when it is closed.

    Args:
        reply: What it answers.
        port: Where it listens; a free port if left out.

    Attributes:
        url: Its address, without a path.
    """

    def __init__(self, reply, port=0):
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                self._answer(reply(self.path, None))

            def do_POST(self):
                length = int(self.headers["Content-Length"])
                self._answer(reply(self.path, json.loads(self.rfile.read(length))))

            def _answer(self, document):
                content = json.dumps(document).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format, *args):  # noqa: A002 - named so by its base
                """Nothing is logged."""

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self):
        """Stop it, and wait until it has stopped."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)


FOLDER = TemporaryDirectory(prefix="quaver-older-")


@lru_cache
def _older(name):
    """A copy that says it splits texts as GPT-2 does, which differs in rare places alone."""
    path = Path(FOLDER.name) / f"{name}.gguf"
    script = [sys.executable, "-m", "gguf.scripts.gguf_new_metadata", "--force", "--pre-tokenizer", "gpt-2"]
    weights = str(find_weights("smollm2-135m-instruct"))
    subprocess.run([*script, "--general-name", name, weights, str(path)], check=True, capture_output=True)
    return path


def older_smollm2():
    """Options of an engine that loads the copy."""
    return {"model": str(_older("one")), "context": 256}


def another_older():
    """Options of the same with other bytes in the file."""
    return {"model": str(_older("other")), "context": 256}
