"""``function``: any Python function ``annotate(text, prompt) -> str``, as promptstability takes it.

It may be ``async def``: its calls then run concurrently.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from hashlib import sha256
from numbers import Number
from textwrap import dedent
from typing import Any, Literal

from pydantic import BaseModel, PositiveInt

from quaver.core.calls import Prompt, Request, Response, constructor
from quaver.core.conversation import Conversing, Coroutines, answers_of, finished
from quaver.core.media import KINDS
from quaver.core.model import Abilities, Answered
from quaver.core.number_format import enumeration
from quaver.core.response_validation import FailedItems, error_response, failed_response, is_interrupt
from quaver.errors import ModelError
from quaver.models._defaults import Defaults

_GROUP, _TOGETHER = 256, 0.001
"""Requests, and seconds, that are answered together at most; a slow function's are passed on singly."""

_RESPONSE = constructor(Response)
_LATENCY = Response._fields.index("latency")
_BEFORE_LATENCY, _AFTER_LATENCY = Response("")[1:_LATENCY], Response("")[_LATENCY + 1 :]


def _meaning(source: str) -> str:
    r"""Source code without what changes no answer: comments, layout, docstrings.

    >>> _meaning("def f(x):\n    return x") == _meaning("def f( x ):  # why\n    'What.'\n    return x")
    True
    """
    try:
        tree = ast.parse(dedent(source))
    except SyntaxError:  # a lambda in the middle of an expression
        return source
    for node in ast.walk(tree):
        kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        if isinstance(node, kinds) and ast.get_docstring(node):
            del node.body[0]
    return ast.dump(tree)


def _compiled(function: Any) -> str | None:
    """The compiled code of a function without a source."""
    code = getattr(function, "__code__", None)
    if code is None:
        return None
    return repr((code.co_code, code.co_names, [c for c in code.co_consts if not inspect.iscode(c)]))


_BESIDE = ("messages", *KINDS)
"""Arguments of a function that receive more than the text and the prompt."""


def takes_text_alone(function: Callable[..., Any]) -> bool:
    """Whether a function takes the text and no prompt."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a builtin without a signature
        return False
    return _fits(signature, "") and not _fits(signature, "", "")


def _fits(signature: inspect.Signature, *texts: str) -> bool:
    named: dict[str, list[Any]] = {name: [] for name in _BESIDE if name in signature.parameters}
    try:
        signature.bind(*texts, **named)
    except TypeError:
        return False
    return True


def _beside(function: Callable[..., Any]) -> frozenset[str]:
    """What a function takes beside the text and the prompt: ``messages``, and the kinds of files."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return frozenset()
    if not (_fits(signature, "", "") or _fits(signature, "")):
        raise ModelError(
            "the function has other arguments",
            where=getattr(function, "__qualname__", str(function)),
            expected="annotate(text), annotate(text, prompt), and further arguments only of the names "
            + enumeration(_BESIDE),
            found=str(signature),
            fix="give it these arguments, and a default for any other",
        )
    return frozenset(_BESIDE) & signature.parameters.keys()


def _kind_of_function(function: Callable[..., Any]) -> Literal["plain", "async"]:
    """Whether a function returns its answer or must be awaited."""
    while isinstance(function, partial):
        function = function.func
    parts = (function, getattr(function, "__call__", None))  # noqa: B004 - an object's own
    if any(inspect.isgeneratorfunction(part) or inspect.isasyncgenfunction(part) for part in parts):
        raise ModelError(
            "the function yields its answer instead of returning it",
            where=getattr(function, "__qualname__", type(function).__qualname__),
            expected="a function that returns one text",
            found="a generator",
            fix='collect what it yields and return it whole: `return "".join(parts)`',
        )
    return "async" if any(map(inspect.iscoroutinefunction, parts)) else "plain"


async def _awaited(answer: Awaitable[Any], started: float) -> Response:
    try:
        value = await answer
    except BaseException as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():  # nobody waits for it
            raise
        return failed_response(error)
    return _response(value, time.perf_counter() - started)


def _response(answer: object, seconds: float) -> Response:
    """A function's result as a response."""
    if answer is None:
        return Response("", latency=seconds)
    if isinstance(answer, str):
        return _RESPONSE((str.__str__(answer), *_BEFORE_LATENCY, seconds, *_AFTER_LATENCY))
    if isinstance(answer, Number):
        return Response(str(answer), latency=seconds)
    kind = type(answer).__name__
    record = answer.model_dump(mode="json") if isinstance(answer, BaseModel) else answer
    if isinstance(record, Mapping):
        try:
            return Response(json.dumps(record, ensure_ascii=False), latency=seconds)
        except (TypeError, ValueError) as error:
            return error_response(f"the function returned {kind} that is not JSON: {error}", latency=seconds)
    return error_response(f"the function returned {kind} instead of a text", latency=seconds)


class Function(Defaults):
    """A function of the item's text and the prompt.

    Args:
        annotate: Called as ``annotate(text, prompt)`` for every call, with the item's text and the
            instruction with its postfix, which it combines as it likes (it does not see the study's layout
            and system message). If it has an argument ``messages``, that receives everything a chat model
            would see, as a list of ``{"role": …, "content": …}``; follow-ups need it. Arguments ``images``,
            ``pdf`` and ``audio`` receive the item's files, each as a list of bytes. A function that holds
            its own prompt is called as ``annotate(text)``. An exception becomes an error response. It returns
            a text, a number, a dictionary or pydantic model (kept as JSON, for a task with fields), or None
            (an empty answer); anything else is an error response, too. The run ends where the first eight
            calls fail alike, of different items, and where twenty different items fail in a row. An
            ``async def`` is called concurrently.
        version: A version of the function, for what its source does not show (a server behind it, a global).
            A new version asks everything again.
        concurrency: Maximum number of concurrent calls of an ``async def``.

    Two functions are the same model if their source code, without comments and docstrings, and ``version``
    are the same.
    """

    def __init__(
        self,
        *,
        annotate: Callable[..., Any],
        version: str = "",
        concurrency: PositiveInt = 10,
    ) -> None:
        self._annotate: Callable[..., Any] = annotate
        if _kind_of_function(annotate) == "async":
            self.conversation = self._conversation
        self._concurrency = concurrency
        self._beside, self._has_own_prompt = _beside(annotate), takes_text_alone(annotate)
        types = [KINDS[kind] for kind in self._beside & KINDS.keys()]
        self.abilities = Abilities(
            conversation="messages" in self._beside, media=frozenset[str]().union(*types)
        )
        self._version = version

    def identity(self) -> str:
        """Name, source and version of the function."""
        annotate: Any = self._annotate
        while isinstance(annotate, partial):
            annotate = annotate.func
        written = annotate if hasattr(annotate, "__qualname__") else type(annotate)
        name = written.__qualname__
        try:
            source = _meaning(inspect.getsource(written))
        except (OSError, TypeError):  # a builtin, or typed at a prompt
            source = _compiled(written) or name
        return f"function {name} {sha256(source.encode()).hexdigest()[:16]} {self._version}".strip()

    def provenance(self) -> Mapping[str, Any]:
        """Name, hash of the source, version."""
        return {"engine": "function", "identity": self.identity(), "version": self._version}

    def answer(self, requests: Iterable[Request]) -> Iterator[Answered]:
        """Call the function once for every call; an ``async def`` concurrently."""
        if isinstance(self, Conversing):
            return answers_of(self, requests)
        return (answered for group in self._groups(requests, 1) for answered in group)

    def answer_groups(self, requests: Iterable[Request]) -> Iterator[Sequence[Answered]]:
        """Answer requests in groups of as many as a fast function answers in a millisecond."""
        if isinstance(self, Conversing):
            return ([answered] for answered in answers_of(self, requests))
        return self._groups(requests, _GROUP)

    def _groups(self, requests: Iterable[Request], most: int) -> Iterator[Sequence[Answered]]:
        clock = time.perf_counter
        failed = FailedItems("the function", self.identity)
        group, began = list[Answered](), clock()
        for request in requests:
            responses = [self._call(request.prompt) for _ in request.calls]
            group.append((request, responses))
            for response in responses:
                if failed or response.finish == "error":
                    failed.note(request, response)
            if len(group) >= most or failed or clock() - began > _TOGETHER:
                yield group
                group, began = [], clock()
            failed.check(responses[-1].error)
        if group:
            yield group

    def _asked(self, prompt: Prompt) -> Any:
        """What the function returns, called with what it takes."""
        texts = (prompt.text,) if self._has_own_prompt else (prompt.text, prompt.question)
        if not self._beside:
            return self._annotate(*texts)
        beside: dict[str, list[Any]] = {kind: [] for kind in self._beside}
        if "messages" in self._beside:
            beside["messages"] = [message._asdict() for message in prompt.messages]
        for medium in prompt.media:
            beside[medium.kind].append(medium.content())
        return self._annotate(*texts, **beside)

    def _call(self, prompt: Prompt) -> Response:
        started = time.perf_counter()
        try:
            answer = self._asked(prompt)
        except BaseException as error:  # an exception is that call's result
            if is_interrupt(error):
                raise
            return failed_response(error)
        if type(answer) is not str and inspect.isawaitable(answer):  # of a function that is not marked async
            return finished(_awaited(answer, started))
        return _response(answer, time.perf_counter() - started)

    @asynccontextmanager
    async def _conversation(self) -> AsyncIterator[Coroutines]:
        """Nothing needs opening."""
        yield Coroutines(self._answered, self._concurrency, FailedItems("the function", self.identity))

    async def _answered(self, request: Request) -> Response:
        prompt, started = request.prompt, time.perf_counter()
        return await _awaited(self._asked(prompt), started)
