"""The one place where a model's answers become responses.

Whatever a model does, each request that it took ends in one response per call, or in an error that ends the
work with this model. Earlier answers are kept in either case.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from quaver.core.calls import Call, Request, Response
from quaver.core.model import Answered, AnswersInGroups, Model
from quaver.core.response_validation import (
    FailedItems,
    error_line,
    error_response,
    failed_response,
    is_bare,
    is_interrupt,
    printable,
    valid_responses,
)
from quaver.errors import ModelError, QuaverError

_NONE = error_response("no answer: the model stopped before this request")


def taken(model: Model, requests: Iterable[Request]) -> Iterator[Answered]:
    """A model's answers one by one; see `taken_in_groups`."""
    for group in taken_in_groups(model, requests):
        yield from group


def taken_in_groups(model: Model, requests: Iterable[Request]) -> Iterator[Sequence[Answered]]:
    """A model's answers as it hands them over: for each request, one valid response per call.

    A request that makes the model raise gets error responses, and the model continues with the next one.
    """
    given = _Given(requests)
    failed = FailedItems("the model", model.identity)
    while True:
        try:
            for group in _groups(model, given):
                failed.clear()
                yield from given.settled(group)
            yield from given.rest(_NONE)
            return
        except (QuaverError, GeneratorExit):
            raise
        except BaseException as error:  # anything else that a model raises concerns its last request
            if is_interrupt(error) or given.raised is not None:
                raise
            if not given.outstanding:
                raise ModelError(
                    "the model failed before it was asked anything",
                    where=printable(model.identity()),
                    found=error_line(error),
                ) from error
            response = failed_response(error)
            failed.note(given.latest, response)
            yield from given.rest(response)
            failed.check(response.error)


def _groups(model: Model, requests: Iterable[Request]) -> Iterable[Sequence[object]]:
    if isinstance(model, AnswersInGroups):
        return model.answer_groups(requests)
    return ((answered,) for answered in model.answer(requests))


class _Given:
    """The requests that a model draws, and those that it has not answered yet.

    Args:
        requests: The requests to draw from.

    Attributes:
        outstanding: Requests that were drawn and have no answer.
        raised: The exception that drawing raised, if any.
    """

    def __init__(self, requests: Iterable[Request]) -> None:
        self._requests = iter(requests)
        self.outstanding: dict[int, Request] = {}
        self.raised: BaseException | None = None

    @property
    def latest(self) -> Request:
        """The request that was drawn last, of those without an answer."""
        return next(reversed(self.outstanding.values()))

    def __next__(self) -> Request:
        return next(iter(self))

    def __iter__(self) -> Iterator[Request]:  # each a generator of its own, since a model may close it
        outstanding = self.outstanding
        try:
            for request in self._requests:
                outstanding[id(request)] = request
                yield request
        except GeneratorExit:
            raise
        except BaseException as error:
            self.raised = error
            raise

    def settled(self, group: Sequence[object]) -> Iterator[Sequence[Answered]]:
        """The original requests, with their responses; those before a breach of the contract are kept."""
        answereds: list[Answered] = []
        outstanding = self.outstanding
        try:
            for answered in group:
                if type(answered) is tuple and len(answered) == 2 and id(answered[0]) in outstanding:
                    request, responses = answered
                    is_one = type(responses) is list and len(responses) == len(request.calls) == 1
                    if is_one and is_bare(responses[0]):  # as nearly all are: nothing else is to be checked
                        del outstanding[id(request)]
                        answereds.append(answered)
                        continue
                answereds.append(self._settled(answered))
        except ModelError:
            yield answereds
            raise
        yield answereds

    def _settled(self, answered: object) -> Answered:
        """The original request, with its responses."""
        if not isinstance(answered, tuple) or len(answered) != len(("request", "responses")):
            raise _breach("it gave " + printable(answered))
        request = self._find(answered[0])
        if request is None:
            raise _breach("it answered a request that it was not given, or answered one twice")
        return request, valid_responses(request, answered[1])

    def rest(self, response: Response) -> Iterator[Sequence[Answered]]:
        """Answer all outstanding requests with the same response."""
        while self.outstanding:
            _, request = self.outstanding.popitem()
            yield [(request, [response] * len(request.calls))]

    def _find(self, request: object) -> Request | None:
        """The original request, even if the model returns a copy."""
        asked = self.outstanding.pop(id(request), None)
        if asked is None and isinstance(request, Request):
            same = (
                request_id
                for request_id, asked in list(self.outstanding.items())
                if asked.calls == request.calls
            )
            asked = self.outstanding.pop(next(same, 0), None) or self._part(request.calls)
        return asked

    def _part(self, calls: Sequence[Call]) -> Request | None:
        """The part of an outstanding request with these calls; what is left of it stays outstanding."""
        for name, whole in list(self.outstanding.items()):
            first = whole.calls.index(calls[0]) if calls and calls[0] in whole.calls else len(whole.calls)
            end = first + len(calls)
            if calls and whole.calls[first:end] == tuple(calls):
                del self.outstanding[name]
                for left in (whole.calls[:first], whole.calls[end:]):
                    if left:
                        rest = whole.part(left)
                        self.outstanding[id(rest)] = rest
                return whole.part(whole.calls[first:end])
        return None


def _breach(found: str) -> ModelError:
    return ModelError(
        "the model breaks its contract",
        expected="each request once, with a list of its responses",
        found=found,
        fix="correct the plug-in; `pytest --pyargs quaver.testing` tests the contract of models",
    )
