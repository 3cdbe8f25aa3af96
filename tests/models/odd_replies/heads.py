"""Replies with an odd status line, odd headers, or no end."""

import json

from tests.models.odd_replies.odd_reply import AUTHORIZATION, OddReply, on_the_wire, whole

_WHOLE = json.dumps(whole()).encode()
_GOOD = on_the_wire(_WHOLE)
_ERROR = {"error": {"message": "it went wrong", "code": "odd", "type": "odd"}}

_NUMBERS = (
    "0", "-1", "0.5", "", " ", "odd", "nan", "inf", "-inf", "1e308", "1e400", "9" * 400, "1,5", "0x10",
    "99999999999", "1760000000", "Thu, 01 Jan 1970 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT",
    "Mon, 99 Foo 2026 99:99:99 XYZ", "Fri, 31 Dec 99999 23:59:59 GMT",
    "1h", "1ms1s1m", "9999999999d", "\u00bd",
)  # fmt: skip
"""What stands where a number of seconds, or of calls, is to be expected."""


def heads():
    """Odd statuses and headers."""
    yield from _statuses()
    elsewhere = "//elsewhere.invalid/v1?key=secret"
    for location in ("", "/", "http://[", "ftp://x.invalid/", elsewhere, "\u00e9\x1b[2J"):
        yield OddReply(f"307 to {location!r}", _failing("307 Moved", [("Location", location)]), "work")
    yield OddReply("302 without a location", _failing("302 Found"), "work")
    for status, name in (("429", "Retry-After"), ("429", "Retry-After-Ms"), ("503", "Retry-After")):
        for value in _NUMBERS:
            wire = _failing(f"{status} Odd", [(name, value)])
            yield OddReply(f"{status}, {name}: {value[:40]}", wire, "work")
    for name in ("Remaining-Requests", "Reset-Requests", "Remaining-Tokens", "Reset-Tokens"):
        for value in _NUMBERS:
            yield OddReply(f"X-RateLimit-{name}: {value[:40]}", _limited(name, value), "nothing")
    for name, headers, costs in _odd_headers():
        yield OddReply(name, on_the_wire(_WHOLE, headers=headers), costs)
    for length in ("-1", "odd", "1, 2", "9" * 30, "", " 5 x"):
        wire = on_the_wire(_WHOLE, length=length or "\t")
        yield OddReply(f"Content-Length: {length}", wire, "call")
    yield OddReply("half of the length", on_the_wire(_WHOLE, length=str(len(_WHOLE) // 2)), "call")
    yield OddReply("more than the length", on_the_wire(_WHOLE, length=str(len(_WHOLE) + 10)), "call")
    yield OddReply("no length", on_the_wire(_WHOLE, length=None), "nothing")


def _statuses():
    passing = ("408", "409", "425", "500", "502", "504", "520", "529", "599")
    ending = "305", "400", *map(str, range(402, 407)), "410", "411", *map(str, (413, 414, 415, 418, 421))
    for status in (*passing, "999"):
        yield OddReply(f"status {status}", _failing(f"{status} Odd"), "call")
    for status in (*ending, "422", "426", "428", "431", "451", "499", "501"):
        yield OddReply(f"status {status}", _failing(f"{status} Odd"), "work")
    for status in ("201 Created", "202 Accepted", "203 Odd", "206 Partial Content", "226 Odd", "299 Odd"):
        yield OddReply(f"{status[:3]} with the answer", on_the_wire(_WHOLE, status=status), "nothing")
    for status in ("204 No Content", "205 Reset Content", "200 OK"):
        yield OddReply(f"{status[:3]} without a body", on_the_wire(b"", status=status), "call")
    for status in ("400", "413", "422"):
        for message in ("maximum context length is 10", "context window exceeded", "prompt is too long"):
            body = {"error": {"message": message}}
            yield OddReply(f"{status}, {message}", on_the_wire(body, status=f"{status} Odd"), "call")
    for code in ("context_length_exceeded", "content_filter", "content_policy_violation", "invalid_prompt"):
        body = {"error": {"message": "no", "code": code}}
        yield OddReply(f"400, {code}", on_the_wire(body, status="400 Odd"), "call")
    for code in ("insufficient_quota", "billing_hard_limit_reached", "billing_not_active"):
        body = {"error": {"message": "no", "type": code}}
        yield OddReply(f"429, {code}", on_the_wire(body, status="429 Odd"), "work")
    body = {"error": {"message": "Incorrect API key provided: @authorization@"}}
    yield OddReply("401 that repeats the key", on_the_wire(body, status="401 Odd"), "work")
    yield OddReply("500 that repeats the key", on_the_wire(body, status="500 Odd"), "call")
    yield OddReply("404 that repeats the key", on_the_wire(body, status="404 Odd"), "work")


def _odd_headers():
    yield "a header of 6,000 characters", [("X-Long", "x" * 6_000)], "nothing"
    yield "a header of 100,000 characters", [("X-Long", "x" * 100_000)], "call"
    yield "300 headers", [(f"X-{n}", "x") for n in range(300)], "call"
    yield "20,000 headers", [(f"X-{n}", "x") for n in range(20_000)], "call"
    yield "a header in Latin-1", [("X-Odd", b"caf\xe9")], "call"
    yield "a limit in Latin-1", [("X-RateLimit-Remaining-Requests", b"\xe9\xff")], "call"
    yield "a header of control characters", [("X-Odd", b"\x01\x1b[2J\x7f")], "call"
    yield "a header without a name", [("", "odd")], "call"
    yield "a header with a space in its name", [("X Odd", "odd")], "call"
    yield "a header over two lines", [("X-Odd", "a\r\n b")], "call"
    yield "a cookie", [("Set-Cookie", "session=1; HttpOnly")], "nothing"
    yield "a cookie that is none", [("Set-Cookie", "\t;=;;\u00e9")], "call"
    yield "two types", [("Content-Type", "text/html")], "nothing"
    yield "two lengths", [("Content-Length", "5")], "call"
    yield "a length beside chunks", [("Transfer-Encoding", "chunked")], "call"
    yield "the key in a header", [("X-Key", AUTHORIZATION)], "nothing"
    yield "an upgrade", [("Upgrade", "h2c"), ("Connection", "Upgrade")], "nothing"


def lines():
    """What is hardly HTTP."""
    for line in ("HTTP/1.1", "HTTP/1.1 abc OK", "HTTP/1.1 20 OK", "HTTP/1.1 2000 OK", "HTTP/1.1 -200 OK",
                 "HTTP/9.9 200 OK", "ICY 200 OK", "SSH-2.0-OpenSSH_9.6", "220 mail ready", ""):  # fmt: skip
        yield OddReply(f"the line {line!r}", line.encode() + _GOOD[len(b"HTTP/1.1 200 OK") :], "call")
    yield OddReply("a line without a reason", _GOOD.replace(b" OK\r\n", b"\r\n", 1), "nothing")
    yield OddReply("HTTP/1.0", _GOOD.replace(b"HTTP/1.1", b"HTTP/1.0", 1), "nothing")
    yield OddReply("HTTP/0.9", _WHOLE, "call")
    yield OddReply("lines that end in LF alone", _GOOD.replace(b"\r\n", b"\n"), "call")
    yield OddReply("100 Continue before it", b"HTTP/1.1 100 Continue\r\n\r\n" + _GOOD, "nothing")
    yield OddReply(
        "103 Early Hints before it", b"HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n" + _GOOD, "call"
    )
    yield OddReply(
        "101 Switching Protocols", b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", "call"
    )
    yield OddReply("nothing", b"", "call")
    yield OddReply("a reset", b"", "call", resets=True)
    yield OddReply("a reset in the middle", _GOOD[: len(_GOOD) // 2], "call", resets=True)
    yield OddReply("half a head", _GOOD[:40], "call")
    yield OddReply("half a body", _GOOD[:-200], "call")
    yield OddReply("half a body, and silence", _GOOD[:-200], "call", stays_open=True)
    yield OddReply("silence", b"", "call", stays_open=True)
    yield OddReply("random bytes", bytes(n * 37 % 256 for n in range(2_000)), "call")
    yield OddReply("a TLS alert", b"\x15\x03\x01\x00\x02\x02\x28", "call")
    yield OddReply("HTTP/2 frames", b"\x00\x00\x12\x04" + b"\x00" * 30, "call")
    for name, chunks, costs in _chunks():
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        yield OddReply(name, head + chunks, costs)


def _chunks():
    good = b"%x\r\n%b\r\n0\r\n\r\n" % (len(_WHOLE), _WHOLE)
    yield "chunks", good, "nothing"
    yield "chunks with an extension", good.replace(b"\r\n", b";odd=1\r\n", 1), "nothing"
    yield "chunks without an end", good[:-5], "call"
    yield "a chunk of an odd length", b"zz\r\n" + _WHOLE + b"\r\n0\r\n\r\n", "call"
    yield "a chunk of a negative length", b"-5\r\n" + _WHOLE + b"\r\n0\r\n\r\n", "call"
    yield "a chunk that is too long", b"5\r\n" + _WHOLE + b"\r\n0\r\n\r\n", "call"
    yield "a chunk of 2**70 bytes", b"%x\r\n" % 2**70 + _WHOLE, "call"
    yield "single bytes", b"".join(b"1\r\n%c\r\n" % one for one in _WHOLE) + b"0\r\n\r\n", "nothing"


def _failing(status, headers=()):
    return on_the_wire(_ERROR, status=status, headers=headers)


def _limited(name, value):
    """A good reply that says odd things of what is left."""
    limits = {"Remaining-Requests": "0", "Reset-Requests": "0s", name: value}
    return on_the_wire(_WHOLE, headers=[(f"X-RateLimit-{one}", what) for one, what in limits.items()])
