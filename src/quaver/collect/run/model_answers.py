"""The one place where a model's answers become responses.

Whatever a model does, each request that it took ends in one response per call, or in an error that ends the
work with this model. Earlier answers are kept in either case.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from quaver.core.model import Answered, Grouped, Model
from quaver.core.records import Call, Decoding, Message, Prompt, Request, Response
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
            failed.add(given.latest)
            yield from given.rest(failed_response(error))
            failed.check(error_line(error))


def _groups(model: Model, requests: Iterable[Request]) -> Iterable[Sequence[object]]:
    if isinstance(model, Grouped):
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
        found: list[Answered] = []
        outstanding = self.outstanding
        try:
            for answered in group:
                if type(answered) is tuple and len(answered) == 2 and id(answered[0]) in outstanding:
                    request, responses = answered
                    is_one = type(responses) is list and len(responses) == len(request.calls) == 1
                    if is_one and is_bare(responses[0]):  # as nearly all are: nothing else is to be checked
                        del outstanding[id(request)]
                        found.append(answered)
                        continue
                found.append(self._settled(answered))
        except ModelError:
            yield found
            raise
        yield found

    def _settled(self, answered: object) -> Answered:
        """The original request, with its responses."""
        if not isinstance(answered, tuple) or len(answered) != len(("request", "responses")):
            raise _breach("it gave " + printable(answered))
        request = self._find(answered[0])
        if request is None:
            raise _breach("it answered a request that it was not given, or one twice")
        return request, valid_responses(request, answered[1])

    def rest(self, response: Response) -> Iterator[Sequence[Answered]]:
        """Answer all outstanding requests with the same response."""
        while self.outstanding:
            _, request = self.outstanding.popitem()
            yield [(request, [response] * len(request.calls))]

    def _find(self, request: object) -> Request | None:
        """The original request, even if the model returns a copy."""
        found = self.outstanding.pop(id(request), None)
        if found is None and isinstance(request, Request):
            same = (one for one, asked in list(self.outstanding.items()) if asked.calls == request.calls)
            found = self.outstanding.pop(next(same, 0), None) or self._part(request.calls)
        return found

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


_TOGETHER = 4

_TEXTS = (
    "The bus was late again, and nobody told us why.",
    "Best soup I have had in years. The waiter remembered our names, and the bread came warm.",
    "The council will vote on the new swimming pool next Tuesday.",
    "I wanted to like this film. The music is lovely, the actors try hard, and still I looked at my "
    "watch every ten minutes, because nothing in it ever comes from anything else.",
    "Taxes are too high, and what do we get for them? Potholes.",
    "She said she would think about it.",
    "Our school needs smaller classes, not another committee that writes a report on smaller classes. "
    "My daughter sits with thirty-one others in a room made for twenty.",
    "Five stars for the view, one for the noise.",
)
_QUESTIONS = (
    "Is the opinion in this text positive or negative? Answer with one word.",
    "Does the writer approve? Answer only yes or no.",
)


@dataclass(frozen=True, slots=True)
class Noise:
    """How answers under one condition differ from those of a cold engine.

    Attributes:
        way: ``again``, ``reordered`` or ``together``.
        answers: The number of answers compared.
        other_text: How many have a different text.
        other_top: How many have a different most likely first token; None without log-probabilities.
        identical: How many have bitwise identical log-probabilities; None without.
        largest: The largest difference in a first token's log-probability; None without.
    """

    way: str
    answers: int
    other_text: int
    other_top: int | None = None
    identical: int | None = None
    largest: float | None = None


def engine_noise(model: Model, requests: Sequence[Request]) -> list[Noise]:
    """Measure a model's noise on some requests.

    Returns:
        A comparison each for ``again``, ``reordered`` and ``together``.
    """
    asked = [_greedy(request, model) for request in requests]
    model.prepare(_TOGETHER)
    cold = []
    for request in asked:
        model.close()
        cold += _ask(model, [request])
    twice = _ask(model, [request for request in asked for _ in range(2)])
    backwards = _ask(model, asked[::-1])[::-1]
    together = _ask(model, [_repeated(request, _TOGETHER) for request in asked])
    model.close()
    return [
        _compared("again", cold, twice[1::2]),
        _compared("reordered", cold, backwards),
        _compared("together", [response for response in cold for _ in range(_TOGETHER)], together),
    ]


def probes(prompts: int) -> list[Request]:
    """Requests for measuring a model without a study: short opinions with two questions each."""
    written = [f"{text}\n\n{question}" for text in _TEXTS for question in _QUESTIONS][:prompts]
    return [
        Request(
            model="",
            prompt=Prompt((Message("user", text),), text, ""),
            decoding=Decoding("greedy", max_tokens=4),
            choices=(),
            seed=0,
            calls=(Call(index.to_bytes(16, "big"), 0, index, 0),),
        )
        for index, text in enumerate(written)
    ]


def _greedy(request: Request, model: Model) -> Request:
    decoding = replace(
        request.decoding, temperature=0.0, logprobs=min(20, model.abilities.logprobs), constraint="none"
    )
    return request._replace(decoding=decoding, choices=(), calls=request.calls[:1])


def _repeated(request: Request, times: int) -> Request:
    call = request.calls[0]
    return request._replace(calls=tuple(call._replace(repeat=repeat) for repeat in range(times)))


def _ask(model: Model, requests: Sequence[Request]) -> list[Response]:
    """Responses in the order of the requests."""
    copies = [request._replace() for request in requests]  # the same request may occur twice
    places = {id(request): index for index, request in enumerate(copies)}
    answers = sorted(taken(model, copies), key=lambda answered: places[id(answered[0])])
    return [response for _, responses in answers for response in responses]


def _compared(way: str, cold: Sequence[Response], other: Sequence[Response]) -> Noise:
    pairs = list(zip(cold, other, strict=True))
    other_text = sum(response.text != two.text for response, two in pairs)
    tops = [
        (response.tokens[0].top, two.tokens[0].top)
        for response, two in pairs
        if response.tokens and two.tokens
    ]
    if not tops:
        return Noise(way, len(pairs), other_text)
    differences = [
        abs(before - after)
        for one, two in tops
        for token, before in one
        for other_token, after in two
        if token == other_token
    ]
    return Noise(
        way,
        len(pairs),
        other_text,
        other_top=sum(one[0][0] != two[0][0] for one, two in tops),
        identical=sum(one == two for one, two in tops),
        largest=max(differences, default=0.0),
    )
