"""Where answers are taken from a model: the one place at which they become responses.

Whatever a model does, each request that it took ends in one response a call, or in an error that ends the
work with this model: what it answered before is kept either way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from quaver.core.model import Answered, Model
from quaver.core.records import Request, Response
from quaver.core.response_validation import (
    error_line,
    failed_response,
    is_interrupt,
    printable,
    valid_response,
)
from quaver.errors import ModelError, QuaverError

__all__ = ["taken"]

_MOST_FAILURES = 20
"""Times in a row that a model may break down before it is given up."""

_NONE = Response("", finish="error", error="the model ended without an answer to this")


def taken(model: Model, requests: Iterable[Request]) -> Iterator[Answered]:
    """What a model answers, each request with one sound response a call.

    A request during which the model raised is answered by an error, and the model goes on with the next.

    Args:
        model: The model.
        requests: What is asked.

    Raises:
        ModelError: The model says that it is of no use, breaks down again and again, or answers what it
            was not asked.
    """
    given = _Given(requests)
    failures, last = 0, ""
    while failures < _MOST_FAILURES:
        try:
            for answered in model.answer(given):
                failures = 0
                yield given.settled(answered)
            yield from given.rest(_NONE)
            return
        except (QuaverError, GeneratorExit):
            raise
        except BaseException as error:  # whatever else a model raises is about what it was asked last
            if is_interrupt(error) or given.raised is not None:
                raise
            if not given.outstanding:
                raise ModelError(
                    "the model failed before it was asked",
                    where=printable(model.identity()),
                    found=error_line(error),
                ) from error
            failures, last = failures + 1, error_line(error)
            yield from given.rest(failed_response(error))
    raise ModelError(
        f"the model failed {failures} times in a row",
        where=printable(model.identity()),
        found=last,
        fix="fix it; `quaver run --retry-errors` then asks again for what failed",
    )


class _Given:
    """Requests as a model draws them, and those among them that it has not answered yet.

    Args:
        requests: What is drawn from.

    Attributes:
        outstanding: What was drawn and has no answer.
        raised: What drawing raised; None as long as it did not.
    """

    def __init__(self, requests: Iterable[Request]) -> None:
        self._requests = iter(requests)
        self.outstanding: dict[int, Request] = {}
        self.raised: BaseException | None = None

    def __iter__(self) -> _Given:
        return self

    def __next__(self) -> Request:
        try:
            request = next(self._requests)
        except StopIteration:
            raise
        except BaseException as error:
            self.raised = error
            raise
        self.outstanding[id(request)] = request
        return request

    def settled(self, answered: object) -> Answered:
        """A request as it was asked, with its responses.

        Raises:
            ModelError: It is no answer to any request.
        """
        if not isinstance(answered, tuple) or len(answered) != len(("request", "responses")):
            raise _breach("it gave " + printable(answered))
        request = self._find(answered[0])
        if request is None:
            raise _breach("it answered a request that it was not asked, or one twice")
        responses, calls = answered[1], len(request.calls)
        if not isinstance(responses, list | tuple) or len(responses) != calls:
            given = (
                f"{len(responses)} responses" if isinstance(responses, list | tuple) else printable(responses)
            )
            why = f"the model gave {given} to {calls} calls"
            return request, [Response("", finish="error", error=why)] * calls
        return request, [valid_response(response) for response in responses]

    def rest(self, response: Response) -> Iterator[Answered]:
        """Answer what has no answer yet with one and the same response."""
        while self.outstanding:
            _, request = self.outstanding.popitem()
            yield request, [response] * len(request.calls)

    def _find(self, request: object) -> Request | None:
        """The request that was asked, also where a copy of it comes back."""
        found = self.outstanding.pop(id(request), None)
        if found is None and isinstance(request, Request):
            same = (one for one, asked in list(self.outstanding.items()) if asked.calls == request.calls)
            found = self.outstanding.pop(next(same, 0), None)
        return found


def _breach(found: str) -> ModelError:
    return ModelError(
        "the model does not keep to what a model is to do",
        expected="each request that it was asked, once, with a list of its responses",
        found=found,
        fix="correct the plug-in; `pytest --pyargs quaver.testing` tests what holds for a model",
    )
