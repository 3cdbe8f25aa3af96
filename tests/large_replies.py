"""Replies of gigabytes from a server on this machine, and how much the process grows that reads them.

``python -m tests.large_replies`` sends each kind to each way in which Quaver reads replies, and prints by
how much.
"""

import socket
import subprocess
import sys
import threading
import zlib
from contextlib import closing, contextmanager, suppress

__all__ = ["KINDS", "MOST", "READERS", "growth", "sending"]

MOST = 200_000_000
"""Bytes by which a reply may make the process grow."""

_SENT = 2**32
_BLOCK = b"x" * 2**16
_CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def _chunked(status, block=_BLOCK, more=""):
    yield f"HTTP/1.1 {status}\r\n{more}Transfer-Encoding: chunked\r\n\r\n".encode()
    for _ in range(_SENT // 2**16):
        yield b"%x\r\n%b\r\n" % (len(block), block)


def _packed(encodings):
    """Gigabytes, packed as often as is said; they have no end, so that no checksum is wrong."""
    block = _BLOCK * 16
    for at, name in enumerate(encodings.split(", ")):
        packer = zlib.compressobj(wbits=15 if name == "deflate" else 31)
        head = packer.compress(b"") + packer.flush(zlib.Z_FULL_FLUSH)
        part = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
        block = head + part * (1 if at else 4096)
    yield f"HTTP/1.1 200 OK\r\nContent-Encoding: {encodings}\r\nConnection: close\r\n\r\n".encode()
    yield block


def _endless(head, part):
    yield head
    for _ in range(_SENT // len(part)):
        yield part


def _whole(body):
    yield b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    yield body


KINDS = {
    "chunks": lambda: _chunked("200 OK"),
    "an error's chunks": lambda: _chunked("400 Bad Request"),
    "a failure's chunks": lambda: _chunked("503 Unavailable"),
    "lines": lambda: _chunked("200 OK", b'{"a": 1}\n' * 7000),
    "empty lines": lambda: _chunked("200 OK", b"\n" * 2**16),
    "no end": lambda: _endless(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", _BLOCK),
    "gzip": lambda: _packed("gzip"),
    "gzip twice": lambda: _packed("gzip, gzip"),
    "deflate": lambda: _packed("deflate"),
    "deflate in gzip": lambda: _packed("deflate, gzip"),
    "a header": lambda: _endless(b"HTTP/1.1 200 OK\r\nx: ", _BLOCK),
    "headers": lambda: _endless(b"HTTP/1.1 200 OK\r\n", b"x-y: z\r\n" * 2**13),
    "a status": lambda: _endless(b"HTTP/1.1 200 ", _BLOCK),
    "early replies": lambda: _endless(b"", b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n" * 2**10),
    "a chunk's size": lambda: _endless(_CHUNKED, b"0" * 2**16),
    "a chunk's extension": lambda: _endless(_CHUNKED + b"5;a=", _BLOCK),
    "trailers": lambda: _endless(_CHUNKED + b"2\r\n{}\r\n0\r\n", b"x-y: z\r\n" * 2**13),
    "small lists": lambda: _whole(b"[" + b"[]," * 2_700_000 + b"0]"),
    "deep lists": lambda: _whole(b"[" * 8_000_000),
    "numbers": lambda: _whole(b"[" + b"1," * 1_400_000 + b"0]"),
    "objects": lambda: _whole(b'{"a":' * 1_000_000),
    "wide text": lambda: _whole(b'{"error": {"message": "' + "\U0001f600".encode() * 2_000_000 + b'"}}'),
    "escapes": lambda: _whole(b'{"error": {"message": "' + b"\\u00e9" * 1_300_000 + b'"}}'),
}  # fmt: skip
"""What is sent, by what it is."""

_CHAT = """
from quaver.models.{module} import {name}
from quaver.testing.requests import one, request
model = {name}(model="m", base_url={url!r}, timeout=60, retries=0, patience=1)
def work(): print(one(model, request()).finish)
"""
_BATCH = """
from quaver.models.served.batch_http import OpenAIBatches, _object
from quaver.models.served.server_faults import Address
http = OpenAIBatches(lambda: ({{}}, "a key"), None, Address({url!r}, "the model", "KEY"))
def work(): {work}
"""
READERS = {
    "chat": _CHAT.replace("{module}", "openai_compatible").replace("{name}", "OpenAICompatible"),
    "Claude": _CHAT.replace("{module}", "anthropic").replace("{name}", "Anthropic"),
    "a batch": _BATCH.replace("{work}", 'http._ask("GET", "/b")'),
    "a new batch": _BATCH.replace("{work}", 'http._ask("POST", "/b", {{"a": 1}})'),
    "results": _BATCH.replace("{work}", 'print(sum(len(_object(one)) for one in http._lines("/r")))'),
}
"""How replies are read, by what asks for them."""

_GROWTH = """
import resource, threading, time
def peak():
    (line,) = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024
before, ended = peak(), "done"
def limited():
    time.sleep({seconds})
    print(peak() - before, "still reading", flush=True)
    import os; os._exit(0)
threading.Thread(target=limited, daemon=True).start()
resource.setrlimit(resource.RLIMIT_DATA, (2**31, 2**31))
try:
    work()
except Exception as error:
    ended = type(error).__name__ + ": " + str(error).replace("\\n", " ")[:100]
print(peak() - before, ended)
"""


@contextmanager
def sending(kind):
    """The address of a server that replies so to whatever it is asked."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:

        def reply(peer):
            with peer, suppress(OSError):
                asked = b""
                while b"\r\n\r\n" not in asked:
                    asked += peer.recv(2**16)
                for part in KINDS[kind]():
                    peer.sendall(part)
                peer.shutdown(socket.SHUT_WR)
                peer.recv(1)

        def accept():
            with suppress(OSError):
                while True:
                    threading.Thread(target=reply, args=(server.accept()[0],), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def growth(reader, kind, seconds=15):
    """By how many bytes a process grows that reads such a reply for some time, and how that ended."""
    with sending(kind) as url:
        code = READERS[reader].format(url=url) + _GROWTH.format(seconds=seconds)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if done.returncode or not done.stdout:
        return _SENT, f"exit status {done.returncode}: {done.stderr[-300:]}"
    size, _, ended = done.stdout.splitlines()[-1].partition(" ")
    return int(size), ended


if __name__ == "__main__":
    largest = 0
    for one in sys.argv[1:] or READERS:
        for what in KINDS:
            grown, end = growth(one, what)
            largest = max(largest, grown)
            print(f"{grown / 1e6:7.0f} MB", one, what, end, sep=" | ", flush=True)
    print(f"at most {largest / 1e6:.0f} MB")
