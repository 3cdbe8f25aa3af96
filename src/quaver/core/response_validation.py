"""What a model hands over, made into a response that every stage can rely on.

A model is somebody else's: a server, a plug-in, a user's function. Its answer is a text or it is none; what
goes with an answer (counts, names, log-probabilities) is of the right kind or left out.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Final

from quaver.core.records import Response, Token

__all__ = ["MOST_TOKENS", "count", "failed", "shown", "sound", "sound_tokens", "stops", "told", "utf8"]

MOST_TOKENS: Final = 10**9
"""More than any prompt or answer has; a count beyond it is none."""

_LONGEST_ERROR, _LONGEST_NAME = 500, 300
"""Characters."""

_LARGEST = 1e300
"""Whole numbers beyond it are none to what reckons with floating-point numbers."""

_DEEPEST = 20
"""Levels of what a model says besides."""

_ROWS: Final = (tuple, list)

_FINISHES: Final = ("stop", "length", "content_filter", "error")


def sound(response: object) -> Response:
    """A response whose fields are what ``Response`` says.

    Args:
        response: What a model gave.

    Returns:
        The same, where it is sound; without what goes with its answer and is odd; an error that says why,
        where the answer itself is odd.

    >>> sound(Response("yes", prompt_tokens=-3, served_model={"a": 1}))
    ... # doctest: +ELLIPSIS
    Response(text='yes', finish='stop', ... prompt_tokens=None, ... served_model=None, fingerprint=None)
    >>> sound("yes").error
    'the model gave a str, not a Response'
    """
    if not isinstance(response, Response):
        return _failure(f"the model gave {_kind(response)}, not a Response")
    if not isinstance(response.text, str):
        return _failure(f"the model gave {_kind(response.text)} as its text")
    if response.finish not in _FINISHES:
        return _failure("the model does not say how its answer ended: " + shown(response.finish))
    prompt = count(response.prompt_tokens)
    cached = count(response.cached_tokens)
    if cached and (prompt is None or cached > prompt):
        cached = None
    return Response(
        text=utf8(response.text),
        finish=response.finish,
        error=None if response.error is None else shown(response.error),
        thinking=utf8(response.thinking) if isinstance(response.thinking, str) else None,
        tokens=sound_tokens(response.tokens),
        prompt_tokens=prompt,
        cached_tokens=cached,
        completion_tokens=count(response.completion_tokens),
        latency=_seconds(response.latency),
        raw=_raw(response.raw) if response.raw else None,
        thinking_tokens=count(response.thinking_tokens),
        served_model=_name(response.served_model),
        fingerprint=_name(response.fingerprint),
    )


def failed(error: BaseException) -> Response:
    """The response to a call during which something was raised."""
    return _failure(told(error))


def stops(error: BaseException) -> bool:
    """Whether it is the user who ends the work: anything else that is raised is a call's own.

    Ctrl-C reaches the main thread alone; what another thread sees was raised by what runs there.
    """
    return isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread()


def told(error: BaseException) -> str:
    """What was raised, in a line: whatever its own words are, and also where it has none."""
    kind = type(error).__name__
    try:
        words = str(error)
    except Exception:  # an error of somebody else's may fail at this too
        words = ""
    return shown(f"{kind}: {words}" if words else kind)


def shown(value: object) -> str:
    r"""Anything as a text of bounded length that does nothing to a terminal.

    >>> shown("red\x1b[31m"), shown(None)
    ('red\\x1b[31m', 'None')
    """
    try:
        text = value if isinstance(value, str) else repr(value)
    except Exception:
        text = _kind(value)
    text = text[:_LONGEST_ERROR]
    if not text.isprintable():
        text = "".join(one if one.isprintable() or one == "\n" else repr(one)[1:-1] for one in text)
    return text[:_LONGEST_ERROR]


def count(value: object) -> int | None:
    """A number of tokens, or None where it is no such number.

    >>> count(3), count(3.0), count(True), count("3"), count(-1), count(10**30)
    (3, 3, None, None, None, None)
    """
    if type(value) is not int:
        if isinstance(value, bool) or not (isinstance(value, float) and value.is_integer()):
            return None
        value = int(value)
    return value if 0 <= value <= MOST_TOKENS else None


def sound_tokens(places: object) -> tuple[Token, ...]:
    """The tokens of an answer, where each has a text and a log-probability; none otherwise.

    One of the likeliest that has neither is left out: the others say what they say without it.

    >>> sound_tokens([["a", -0.5, [["a", -0.5], [None, -1.0]]]])
    (Token(text='a', logprob=-0.5, top=(('a', -0.5),)),)
    >>> sound_tokens([["a", -0.5, []], [None, -0.5, []]])
    ()
    """
    found = []
    for place in _listed(places):
        if not isinstance(place, _ROWS) or len(place) != len(Token._fields):
            return ()
        own, top = _pair(place[:2]), place[2]
        if own is None:
            return ()
        pairs = [one for pair in _listed(top) if (one := _pair(pair)) is not None]
        found.append(Token(*own, tuple(pairs)))
    return tuple(found)


def utf8(text: str) -> str:
    r"""A text that can be written as UTF-8: half a character, which cannot be, becomes its escape.

    >>> utf8("a\ud83d")
    'a\\ud83d'
    """
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _failure(why: str) -> Response:
    return Response("", finish="error", error=why)


def _pair(pair: Any) -> tuple[str, float] | None:
    """A token and its log-probability; None where it is anything else. Called a hundred times an answer."""
    if not isinstance(pair, _ROWS) or len(pair) != 2:
        return None
    text, logprob = pair
    if not isinstance(logprob, float) and (type(logprob) is not int or abs(logprob) > _LARGEST):
        return None
    if not isinstance(text, str) or not -math.inf <= logprob < math.inf:  # NaN is neither
        return None
    return (text if text.isascii() else utf8(text)), logprob


def _listed(value: object) -> Sequence[Any]:
    return value if isinstance(value, _ROWS) else ()


def _seconds(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < MOST_TOKENS else None


def _name(value: object) -> str | None:
    return utf8(value[:_LONGEST_NAME]) or None if isinstance(value, str) else None


def _raw(value: object) -> dict[str, Any] | None:
    """What else the model sent, as JSON that any program reads."""
    found = _json(value, _DEEPEST)
    if not isinstance(found, dict):
        return None
    written, answers = "completion_tokens_of_request", "answers_of_request"
    if not (count(found.get(answers, 1)) and count(found.get(written, 0)) is not None):
        found = {name: one for name, one in found.items() if name not in (written, answers)}
    return found or None


def _json(value: object, levels: int) -> Any:
    if isinstance(value, str):
        return utf8(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return value if abs(value) < _LARGEST else None  # None for NaN and infinities too
    if levels and isinstance(value, Mapping):
        return {utf8(str(name)): _json(one, levels - 1) for name, one in value.items()}
    if levels and isinstance(value, list | tuple):
        return [_json(one, levels - 1) for one in value]
    return shown(value)


def _kind(value: object) -> str:
    name = type(value).__name__
    return f"an {name}" if name[0] in "aeiouAEIOU" else f"a {name}"
