"""Well-formed JSON in which one field holds what it should not."""

import copy
import json

from tests.models.odd_replies.odd_reply import OddReply, on_the_wire, whole

_VALUES = {
    "null": "null",
    "true": "true",
    "zero": "0",
    "minus one": "-1",
    "one and a half": "1.5",
    "10**30": "1" + "0" * 30,
    "1e400": "1e400",
    "NaN": "NaN",
    "minus Infinity": "-Infinity",
    "an empty text": '""',
    "another text": '"odd"',
    "a number as text": '"12"',
    "half a character": r'"\ud83d"',
    "control characters": r'"\u0000\u001b[31m\u009b2J\u202e"',
    "a long text": '"' + "long " * 20_000 + '"',
    "an empty list": "[]",
    "a list in a list": "[[1]]",
    "an empty object": "{}",
    "an object": '{"a": 1}',
    "a list of objects": '[{"a": 1}]',
    "deep lists": "[" * 300 + "]" * 300,
}
"""Odd values by name, as JSON is written; some of them no JSON of the standard's."""

_MARK = "@odd@"

_ROOT = ("id", "object", "created", "model", "system_fingerprint", "usage")
_USAGE = ("prompt_tokens", "completion_tokens", "total_tokens", "prompt_tokens_details")
_PLACE = ("token", "logprob", "bytes", "top_logprobs")
_FIRST = ("choices", 0)
_PLACES = (*_FIRST, "logprobs", "content")

_FAILURES = ((400, "work"), (500, "call"))

_GOES_WITH = (
    *((name,) for name in _ROOT),
    *(("usage", name) for name in _USAGE),
    ("usage", "completion_tokens_details"),
    ("usage", "prompt_tokens_details", "cached_tokens"),
    ("usage", "completion_tokens_details", "reasoning_tokens"),
    (*_FIRST, "index"),
    (*_FIRST, "message", "role"),
    (*_FIRST, "message", "reasoning_content"),
    (*_FIRST, "message", "refusal"),
    (*_FIRST, "message", "tool_calls"),
    (*_FIRST, "logprobs"),
    _PLACES,
    (*_PLACES, 0),
    *((*_PLACES, 0, name) for name in _PLACE),
    (*_PLACES, 0, "top_logprobs", 0),
    (*_PLACES, 0, "top_logprobs", 0, "token"),
    (*_PLACES, 0, "top_logprobs", 0, "logprob"),
)
"""What goes with an answer: whatever stands there, the answer is one."""

_ANSWER = (
    ("choices",),
    _FIRST,
    (*_FIRST, "message"),
    (*_FIRST, "message", "content"),
    (*_FIRST, "finish_reason"),
)
"""What the answer itself is made of."""


def fields():
    """Replies in which one field is missing or holds an odd value."""
    both = ((_GOES_WITH, "nothing"), (_ANSWER, "call"))
    for paths, costs in both:
        for path in paths:
            named = ".".join(str(part) for part in path)
            yield OddReply(f"{named} is missing", on_the_wire(_without(whole(), path)), costs)
            for name, value in _VALUES.items():
                yield OddReply(f"{named} is {name}", on_the_wire(_with(whole(), path, value)), costs)


def failures():
    """Failures whose error object holds odd values, or is none."""
    for status, costs in _FAILURES:
        error = {"message": "it went wrong", "code": "odd", "type": "odd"}
        for name, value in _VALUES.items():
            bodies = {
                f"error.{field}": _with({"error": error}, ("error", field), value) for field in error
            } | {"error": _with({"error": None}, ("error",), value), "the body": value}
            for place, body in bodies.items():
                wire = on_the_wire(body, status=f"{status} Odd")
                yield OddReply(f"{status}, {place} is {name}", wire, costs)
    for name, value in _VALUES.items():
        yield OddReply(
            f"200, error is {name}", on_the_wire(_with({"error": None}, ("error",), value)), "call"
        )


def _with(reply, path, value):
    """The reply as JSON, with some JSON put in at a path."""
    changed = copy.deepcopy(reply)
    place = changed
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = _MARK
    return json.dumps(changed).replace(json.dumps(_MARK), value)


def _without(reply, path):
    changed = copy.deepcopy(reply)
    place = changed
    for part in path[:-1]:
        place = place[part]
    del place[path[-1]]
    return json.dumps(changed)
