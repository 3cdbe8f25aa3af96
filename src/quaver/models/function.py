"""``function``: any Python function ``annotate(text, prompt) -> str``, as promptstability takes it."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
from typing import Any

from quaver.errors import ModelError
from quaver.models import Abilities, Answered
from quaver.records import Message, Prompt, Request, Response

__all__ = ["Function"]

_MOST_FAILURES = 20


def _compiled(function: Any) -> str | None:
    """What a function without a source does, as Python holds it."""
    code = getattr(function, "__code__", None)
    if code is None:
        return None
    return repr((code.co_code, code.co_names, [c for c in code.co_consts if not inspect.iscode(c)]))


def _takes_messages(function: Callable[..., Any]) -> bool:
    """Whether it has an argument ``messages`` beside the text and the prompt.

    Raises:
        ModelError: It cannot be called with these.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a builtin without a signature
        return False
    takes = "messages" in signature.parameters
    try:
        signature.bind("", "", **({"messages": []} if takes else {}))
    except TypeError as error:
        raise ModelError(
            "the function does not take what it is given",
            where=getattr(function, "__qualname__", str(function)),
            expected="annotate(text, prompt), or annotate(text, prompt, messages)",
            found=f"{signature}: {error}",
            fix="give it these arguments; others need a default",
        ) from None
    return takes


class Function:
    """A function of the item's text and the prompt.

    Args:
        annotate: Called as ``annotate(text, prompt)`` for every call, with the item's text and the
            instruction and postfix, which it puts together as it likes (the study's layout and system
            message do not reach it). One with an argument ``messages`` is also given all that a chat
            model would see, as a list of ``{"role": …, "content": …}``; follow-ups need that. What it
            raises becomes an error response; twenty failures in a row end the run.
        version: Of what the function does, where its source does not show it (a server behind it, a
            global). A new version asks everything again.

    Two functions count as the same model where their source code and ``version`` are the same.
    """

    def __init__(self, *, annotate: Callable[..., str], version: str = "") -> None:
        self._annotate = annotate
        self._sees_messages = _takes_messages(annotate)
        self.abilities = Abilities(conversation=self._sees_messages)
        self._version = version

    def identity(self) -> str:
        """Name, source and version of the function."""
        annotate: Any = self._annotate
        while isinstance(annotate, partial):
            annotate = annotate.func
        written = annotate if hasattr(annotate, "__qualname__") else type(annotate)
        name = written.__qualname__
        try:
            source = inspect.getsource(written)
        except (OSError, TypeError):  # a builtin, something typed at a prompt
            source = _compiled(written) or name
        return f"function {name} {sha256(source.encode()).hexdigest()[:16]} {self._version}".strip()

    def provenance(self) -> Mapping[str, Any]:
        """Name, hash of the source, version."""
        return {"engine": "function", "identity": self.identity(), "version": self._version}

    def prepare(self, repeats: int) -> None:
        """Nothing to make ready."""

    def answer(self, requests: Iterable[Request]) -> Iterator[Answered]:
        """Call the function once for every call."""
        failures = 0
        for request in requests:
            responses = []
            for _ in request.calls:
                response = self._call(request.prompt)
                failures = failures + 1 if response.finish == "error" else 0
                responses.append(response)
            yield request, responses
            if failures >= _MOST_FAILURES:
                raise ModelError(
                    f"the function failed {failures} times in a row",
                    where=self.identity(),
                    found=responses[-1].error,
                    fix="mend it; `quaver run --retry-errors` then asks again for what failed",
                )

    def _call(self, prompt: Prompt) -> Response:
        seen = {"messages": [one._asdict() for one in prompt.messages]} if self._sees_messages else {}
        started = time.perf_counter()
        try:
            answer = self._annotate(prompt.text, prompt.question, **seen)
        except Exception as error:  # whatever a user's function raises is that call's result
            return Response("", finish="error", error=f"{type(error).__name__}: {error}"[:500])
        seconds = time.perf_counter() - started
        if answer is None:
            return Response("", latency=seconds)
        return Response(str(answer), latency=seconds)

    def count_tokens(self, prompts: Sequence[Sequence[Message]]) -> list[int] | None:
        """A function does not say what it reads."""
        return None

    def close(self) -> None:
        """Nothing to let go of."""
