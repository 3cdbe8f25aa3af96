"""Replies whose body is not the JSON that was to be expected, or not quite."""

import gzip
import json
import zlib

from tests.models.odd_replies.odd_reply import ANSWER, AUTHORIZATION, OddReply, on_the_wire, whole

_WHOLE = json.dumps(whole()).encode()
_SHARES = (1, 10, 25, 50, 75, 90, 99)


def bodies():
    """Odd bodies under an ordinary head."""
    for name, body in _none().items():
        yield OddReply(name, on_the_wire(body), "call")
    for share in _SHARES:
        cut = _WHOLE[: len(_WHOLE) * share // 100]
        yield OddReply(f"JSON that ends after {share}%", on_the_wire(cut), "call")
    for name, (reply, costs) in _answers().items():
        yield OddReply(name, on_the_wire(reply), costs)
    for name, kind, events in _streams():
        yield OddReply(name, on_the_wire(events, kind=kind), "call")
    for kind in ("text/html", "text/plain", "text/event-stream", "application/octet-stream", "odd"):
        yield OddReply(f"a good reply as {kind}", on_the_wire(_WHOLE, kind=kind), "nothing")
    for name, encoding, body, costs in _compressed():
        head = [("Content-Encoding", encoding)]
        yield OddReply(name, on_the_wire(body, headers=head), costs)


def _none():
    """What is no reply at all."""
    return {
        "an empty body": b"",
        "white space": b" \r\n\t ",
        "one NUL": b"\0",
        "only a byte order mark": b"\xef\xbb\xbf",
        "null": b"null",
        "a number": b"42",
        "a text": b'"yes"',
        "the answer without JSON": b"yes",
        "an empty list": b"[]",
        "a list of replies": b"[" + _WHOLE + b"]",
        "an empty object": b"{}",
        "a page": b"<!DOCTYPE html><html><body><h1>502 Bad Gateway</h1></body></html>",
        "a page to log in": b"<html><script>location='https://login.invalid/?t="
        + AUTHORIZATION
        + b"'</script>",
        "XML": b"<?xml version='1.0'?><error><code>SlowDown</code></error>",
        "a Python dict": str(whole()).encode(),
        "JSON with a comment": b"// a reply\n" + _WHOLE,
        "JSON behind a guard": b")]}',\n" + _WHOLE,
        "two replies": _WHOLE + _WHOLE,
        "a reply with a tail": _WHOLE + b"\n-- end --",
        "bytes of no encoding": b"\xff\xfe\xfd" * 40,
        "Latin-1 in JSON": _WHOLE.replace(b"chatcmpl", b"caf\xe9"),
        "deep lists": b"[" * 100_000,
        "deep objects": b'{"a":' * 50_000,
        "a number of 5,000 digits": _WHOLE.replace(b": 21", b": " + b"9" * 5_000),
        "an error that names the key": b'{"error": {"message": "no such key: ' + AUTHORIZATION + b'"}}',
        "an error in words": b'{"error": "overloaded"}',
        "an error in FastAPI's words": b'{"detail": [{"loc": ["body", "n"], "msg": "too many"}]}',
        "a reply of another protocol": b'{"type": "message", "content": [{"type": "text", "text": "yes"}]}',
        "a reply of Ollama's own": b'{"message": {"role": "assistant", "content": "yes"}, "done": true}',
        "a reply of Gemini's own": b'{"candidates": [{"content": {"parts": [{"text": "yes"}]}}]}',
        "a job and no reply": b'{"id": "job-1", "status": "queued"}',
    }


def _answers():
    """Replies that hold an answer of some kind."""
    first = whole()["choices"][0]
    parts = [{"type": "text", "text": "y"}, {"type": "text", "text": "es"}]
    thought = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "yes"},
    ]
    found = {
        "no choices": (whole(choices=[]), "call"),
        "more choices than asked for": (whole(choices=[first, first, first]), "nothing"),
        "choices that all have index 0": (whole(choices=[first, first]), "nothing"),
        "choices by name": (whole(choices={"0": first}), "call"),
        "a choice as plain text": (whole(choices=[{"text": ANSWER, "index": 0}]), "nothing"),
        "a choice with an empty message": (whole(choices=[{"message": {}, "index": 0}]), "call"),
        "a delta and no message": (whole(choices=[{"delta": {"content": ANSWER}}]), "call"),
        "no content and a tool call": (_tool(), "call"),
        "no content and a stop": (whole(None), "call"),
        "no content, and thinking": (_said(content=None, reasoning_content="hm"), "call"),
        "the answer in parts": (whole(parts), "nothing"),
        "thinking and the answer in parts": (whole(thought), "nothing"),
        "a part that is no text": (whole([{"type": "image_url", "image_url": {"url": "x"}}]), "call"),
        "parts of odd kinds": (whole([1, None, [2], {"text": {"value": "x"}}, {"text": 3}]), "call"),
        "a refusal": (_said(content=None, refusal="I cannot."), "call"),
        "a refusal that is an object": (_said(content=None, refusal={"why": "no"}), "call"),
        "an error beside the answer": (whole(error={"message": "half of it"}), "nothing"),
        "a million characters": (whole("yes " * 250_000), "call"),
        "half a character": (whole("yes \ud83d"), "call"),
        "half a character at the seam of two tokens": (_seam(), "call"),
        "control characters": (whole("\x1b[31myes\x1b[0m\x00\x9b2J\x07\r\n\x7f"), "call"),
        "characters that turn the text round": (whole("\u202eyes\u2066\u200f"), "call"),
        "a script": (whole("<script>alert(1)</script>yes{{ 7 * 7 }}"), "call"),
        "a formula": (whole("=HYPERLINK(1)"), "call"),
        "the key in the answer": (whole(f"yes {AUTHORIZATION.decode()}"), "call"),
        "a field twice": (b'{"model": "a", ' + _WHOLE[1:], "nothing"),
        "content twice": (_WHOLE.replace(b'"content": "yes"', b'"content": 1, "content": "yes"'), "nothing"),
        "fields that nobody knows": (whole(**{f"x{n}": [n] * 5 for n in range(2_000)}), "nothing"),
        "a byte order mark before it": (b"\xef\xbb\xbf" + _WHOLE, "nothing"),
        "white space around it": (b"\n\n  " + _WHOLE + b"\n\n\n", "nothing"),
        "UTF-16": (json.dumps(whole()).encode("utf-16"), "call"),
        "tokens that do not spell the answer": (_tokens([{"token": "no", "logprob": -0.1}]), "nothing"),
        "tokens as numbers": (_tokens([{"token": 12, "logprob": -0.1, "top_logprobs": []}]), "nothing"),
        "a token that is likelier than 1": (_tokens([{"token": ANSWER, "logprob": 3.0}]), "nothing"),
        "20,000 tokens": (_tokens([{"token": "a", "logprob": -1.0}] * 20_000), "nothing"),
        "log-probabilities in lists": (_lists(["yes"], [-0.2], [{"yes": -0.2}]), "nothing"),
        "log-probabilities in lists of two lengths": (_lists(["y", "es"], [-0.2], [None, {}]), "nothing"),
        "lists of log-probabilities with odd values": (_lists([1], ["x"], [["y"]]), "nothing"),
        "likeliest tokens as a list of pairs": (_lists(["yes"], [-0.2], [[["yes", -0.2]]]), "nothing"),
        "more cached tokens than tokens": (_used(prompt_tokens_details={"cached_tokens": 900}), "nothing"),
        "more thinking than writing": (_used(completion_tokens_details={"reasoning_tokens": 9}), "nothing"),
    }  # fmt: skip
    for ending in ("error", "abort", "insufficient_system_resource", "tool_calls", "function_call", "odd"):
        found[f"an answer that ended with {ending}"] = (_ended(ending), "call")
    for ending in ("length", "content_filter", "eos", "STOP", "end_turn"):
        found[f"an answer that ended with {ending}"] = (_ended(ending), "call")
    return found


def _said(**message):
    reply = whole()
    reply["choices"][0]["message"] |= message
    return reply


def _ended(reason):
    reply = whole()
    reply["choices"][0]["finish_reason"] = reason
    return reply


def _tool():
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    reply = _said(content=None, tool_calls=[call])
    reply["choices"][0]["finish_reason"] = "tool_calls"
    return reply


def _tokens(places):
    reply = whole()
    reply["choices"][0]["logprobs"] = {"content": places}
    return reply


def _seam():
    reply = whole("\U0001f600")
    halves = [{"token": half, "logprob": -0.1, "top_logprobs": []} for half in ("\ud83d", "\ude00")]
    reply["choices"][0]["logprobs"] = {"content": halves}
    return reply


def _lists(tokens, logprobs, tops):
    reply = whole()
    lists = {"tokens": tokens, "token_logprobs": logprobs, "top_logprobs": tops}
    reply["choices"][0]["logprobs"] = lists
    return reply


def _used(**usage):
    reply = whole()
    reply["usage"] |= usage
    return reply


def _streams():
    """What a server sends bit by bit that was not asked to."""
    bits = [{"choices": [{"index": 0, "delta": {"content": bit}}]} for bit in ("y", "es")]
    events = "".join(f"data: {json.dumps(bit)}\n\n" for bit in bits)
    yield "a stream of events", "text/event-stream", events + "data: [DONE]\n\n"
    yield "a stream of events that ends early", "text/event-stream", events[:-20]
    yield "a stream of pings", "text/event-stream", ": ping\n\n" * 50
    yield "an event with an error", "text/event-stream", 'event: error\ndata: {"error": {"message": "x"}}\n\n'
    yield "lines of JSON", "application/x-ndjson", "".join(f"{json.dumps(bit)}\n" for bit in bits)


def _compressed():
    squeezed = gzip.compress(_WHOLE)
    yield "gzip that is gzip", "gzip", squeezed, "nothing"
    yield "gzip that is plain", "gzip", _WHOLE, "call"
    yield "gzip that ends early", "gzip", squeezed[:-20], "call"
    yield "gzip with a broken middle", "gzip", squeezed[:40] + b"\0" * 20 + squeezed[60:], "call"
    yield "gzip twice", "gzip", gzip.compress(squeezed), "call"
    yield "deflate that is gzip", "deflate", squeezed, "call"
    yield "deflate without its head", "deflate", zlib.compress(_WHOLE)[2:-4], "call"
    yield "plain that says br", "br", _WHOLE, "call"
    yield "plain that says zstd", "zstd", _WHOLE, "call"
    yield "an encoding that nobody knows", "odd", _WHOLE, "nothing"
    yield "gzip that is not announced", "identity", squeezed, "call"
    yield "gzip of 100 MB of spaces", "gzip", gzip.compress(b" " * 100_000_000, 9), "call"
