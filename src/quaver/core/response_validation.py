"""Turns what a model returns into a response that every stage can rely on.

A model is foreign code: a server, a plug-in, a user's function. An answer that is not a text becomes an
error; what accompanies an answer (counts, names, log-probabilities) is left out if it is not of the right
kind.
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from operator import is_
from typing import Any, Final

from quaver.core.calls import Request, Response, Token
from quaver.errors import ModelError

MOST_TOKENS: Final = 10**9
"""More than any prompt or answer has; a higher count is not a count."""

_MOST_FAILED: Final = 20
"""Different items, without an answer in between, after whose failures a model is given up: one text that a
model cannot take fails with every prompt."""

_ALIKE: Final = 8
"""Calls about more than one item that fail alike, before any is answered, after which it is given up."""

_LONGEST_ERROR, _LONGEST_NAME = 500, 300
"""Characters."""

_LARGEST = 1e300
"""Larger integers do not fit a floating-point number."""

_DEEPEST = 20
"""Nested levels of what a model sends beside its answer."""

_ROWS: Final = (tuple, list)

_LATENCY: Final = Response._fields.index("latency")
_BEFORE: Final = Response("")[1:_LATENCY]
_AFTER: Final = Response("")[_LATENCY + 1 :]
"""What stands before and after the latency of an answer with nothing beside it."""

_FINISHES: Final = ("stop", "length", "content_filter", "error")


def valid_response(response: object) -> Response:
    """A response whose fields have the types of ``Response``.

    Returns:
        The response without invalid additions; an error that says why, if the answer itself is invalid.

    >>> valid_response(Response("yes", prompt_tokens=-3, served_model={"a": 1}))
    ... # doctest: +ELLIPSIS
    Response(text='yes', finish='stop', ... prompt_tokens=None, ... served_model=None, ...)
    >>> valid_response("yes").error
    'the model gave a str, not a Response'
    """
    if not isinstance(response, Response):
        return error_response(f"the model gave {_kind(response)}, not a Response")
    if is_bare(response):
        return response
    if not isinstance(response.text, str):
        return error_response(f"the model gave {_kind(response.text)} as its text")
    if response.finish not in _FINISHES:
        return error_response("the model does not say how its answer ended: " + printable(response.finish))
    prompt = token_count(response.prompt_tokens)
    cached = token_count(response.cached_tokens)
    if cached and (prompt is None or cached > prompt):
        cached = None
    valid = (
        utf8(response.text),
        response.finish,
        None if response.error is None else printable(response.error),
        utf8(response.thinking) if isinstance(response.thinking, str) else None,
        valid_tokens(response.tokens),
        prompt,
        cached,
        token_count(response.completion_tokens),
        _seconds(response.latency),
        _raw(response.raw) if response.raw else None,
        token_count(response.thinking_tokens),
        _name(response.served_model),
        _name(response.fingerprint),
        _record(response.instrument) if isinstance(response.instrument, str) else None,
    )
    return response if all(map(is_, valid, response)) else Response(*valid)


@lru_cache(maxsize=1024)
def _record(text: str) -> str | None:
    """A record of the instrument, if it is one."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return text if isinstance(document, dict) and isinstance(document.get("instrument"), dict) else None


def valid_responses(request: Request, responses: object) -> list[Response]:
    """What a model gave to a request, as one valid response for each of its calls."""
    calls = len(request.calls)
    are_some = isinstance(responses, list | tuple) and not isinstance(responses, Response)
    if not are_some or len(responses) != calls:  # type: ignore[arg-type]
        given = f"{len(responses)} responses" if are_some else printable(responses)  # type: ignore[arg-type]
        return [error_response(f"the model gave {given} to {calls} calls")] * calls
    return [valid_response(response) for response in responses]  # type: ignore[attr-defined]


def is_bare(response: object) -> bool:
    """Whether it is a short answer with nothing beside it but its duration, which most are: it is valid."""
    if type(response) is not Response:
        return False
    text, seconds = response[0], response[_LATENCY]
    return (
        type(text) is str
        and text.isascii()
        and (seconds is None or (type(seconds) is float and 0 <= seconds < MOST_TOKENS))
        and response[1:_LATENCY] == _BEFORE
        and response[_LATENCY + 1 :] == _AFTER
    )


class FailedItems:
    """Failures without an answer in between; where all calls fail alike, the model is given up.

    Args:
        name: What failed, for the error.
        identity: Says which model it is.

    Attributes:
        room: How many more may fail alike until one is answered.
    """

    def __init__(self, name: str, identity: Callable[[], str]) -> None:
        self._name, self._identity = name, identity
        self._items, self._kinds = set[int](), set[str]()
        self.room: float = _ALIKE

    def __bool__(self) -> bool:
        """Whether an answer would be news."""
        return self.room < math.inf or bool(self._items)

    def note(self, request: Request, response: Response) -> None:
        """A call of a request was answered, or failed."""
        if response.finish == "error":
            self._items.add(request.calls[0].item)
            self._kinds.add((response.error or "").partition(":")[0])
            self.room -= 1
        else:
            self.clear()

    def clear(self) -> None:
        """A call was answered."""
        self._items.clear()
        self.room = math.inf

    def check(self, last: str | None) -> None:
        """Give the model up where too many failed; its last error comes first."""
        items = len(self._items)
        if items >= _MOST_FAILED or (self.room <= 0 and items > 1 == len(self._kinds)):
            raise ModelError(
                last or "no call is answered",
                where=printable(self._identity()),
                found=f"{self._name} failed for {items} items in a row",
                fix="fix the cause, then repeat the failed calls: `quaver run STUDY --retry-errors`; "
                "`quaver run STUDY` goes on without them",
            )


def failed_response(error: BaseException) -> Response:
    """The response to a call that raised an error."""
    return error_response(error_line(error))


def is_interrupt(error: BaseException) -> bool:
    """Whether the user is stopping the work; any other error belongs to a call.

    Ctrl-C reaches only the main thread; in another thread, it was the code there that raised it.
    """
    return isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread()


def error_line(error: BaseException) -> str:
    """An error's type and message on one line; a long one is cut in its middle.

    Some libraries name the whole request first, and the provider's sentence last.
    """
    kind = type(error).__name__
    try:
        words = str(error)
    except Exception:  # the message of a foreign error may raise one too
        words = ""
    half = (_LONGEST_ERROR - len(kind)) // 2 - 3
    words = words if len(words) <= 2 * half else f"{words[:half]} … {words[-half:]}"
    return printable(f"{kind}: {words}" if words else kind)


def printable(value: object) -> str:
    r"""Any value as a text of bounded length without control characters.

    >>> printable("red\x1b[31m"), printable(None)
    ('red\\x1b[31m', 'None')
    """
    try:
        text = value if isinstance(value, str) else repr(value)
    except Exception:
        text = _kind(value)
    text = text[:_LONGEST_ERROR]
    if not text.isprintable():
        text = "".join(
            character if character.isprintable() or character == "\n" else repr(character)[1:-1]
            for character in text
        )
    return text[:_LONGEST_ERROR]


def token_count(value: object) -> int | None:
    """A number of tokens, or None if the value is not one.

    >>> [token_count(value) for value in (3, 3.0, True, "3", -1, 10**30)]
    [3, 3, None, None, None, None]
    """
    if type(value) is not int:
        if isinstance(value, bool) or not (isinstance(value, float) and value.is_integer()):
            return None
        value = int(value)
    return value if 0 <= value <= MOST_TOKENS else None


def valid_tokens(places: object) -> tuple[Token, ...]:
    """The tokens of an answer; none of them unless each has a text and a log-probability.

    An invalid alternative at a position is left out; the other alternatives stay.

    >>> valid_tokens([["a", -0.5, [["a", -0.5], [None, -1.0]]]])
    (Token(text='a', logprob=-0.5, top=(('a', -0.5),)),)
    >>> valid_tokens([["a", -0.5, []], [None, -0.5, []]])
    ()
    """
    tokens = []
    for place in _listed(places):
        if not isinstance(place, _ROWS) or len(place) != len(Token._fields):
            return ()
        own, top = _pair(place[:2]), place[2]
        if own is None:
            return ()
        pairs = [token for pair in _listed(top) if (token := _pair(pair)) is not None]
        tokens.append(Token(*own, tuple(pairs)))
    return tuple(tokens)


def utf8(text: str) -> str:
    r"""A text that can be encoded as UTF-8: half of a surrogate pair becomes its escape.

    >>> utf8("a\ud83d")
    'a\\ud83d'
    """
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def error_response(why: str, **beside: Any) -> Response:
    """The response to a call that was not answered; a long reason is cut."""
    return Response("", finish="error", error=why[:_LONGEST_ERROR], **beside)


def _pair(pair: Any) -> tuple[str, float] | None:
    """A token and its log-probability, or None. Called about a hundred times an answer."""
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
    """Anything else that the model sent, as JSON that any program can read."""
    document = _json(value, _DEEPEST)
    if not isinstance(document, dict):
        return None
    written, answers = "completion_tokens_of_request", "answers_of_request"
    if not (token_count(document.get(answers, 1)) and token_count(document.get(written, 0)) is not None):
        document = {name: value for name, value in document.items() if name not in (written, answers)}
    return document or None


def _json(value: object, levels: int) -> Any:
    if isinstance(value, str):
        return utf8(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return value if abs(value) < _LARGEST else None  # None for NaN and infinities too
    if levels and isinstance(value, Mapping):
        return {utf8(str(name)): _json(part, levels - 1) for name, part in value.items()}
    if levels and isinstance(value, list | tuple):
        return [_json(part, levels - 1) for part in value]
    return printable(value)


def _kind(value: object) -> str:
    name = type(value).__name__
    return f"an {name}" if name[0] in "aeiouAEIOU" else f"a {name}"
