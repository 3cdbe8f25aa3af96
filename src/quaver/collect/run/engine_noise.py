"""The engine's own noise: how answers vary when nothing about the prompt changes.

The same greedy calls are made cold (right after a start), again at once (from the cache), in another order,
and several at a time. Differences between these do not come from the prompt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from quaver.collect.run.model_answers import taken
from quaver.core.model import Model
from quaver.core.records import Call, Decoding, Message, Prompt, Request, Response

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

    Args:
        model: The model; it is restarted many times.
        requests: Requests with different prompts; each is sent greedily, whatever its decoding.

    Returns:
        A comparison each for ``again``, ``reordered`` and ``together``.

    Raises:
        ModelError: The model cannot be used.
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
        _compared("together", [one for one in cold for _ in range(_TOGETHER)], together),
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
    other_text = sum(one.text != two.text for one, two in pairs)
    tops = [(one.tokens[0].top, two.tokens[0].top) for one, two in pairs if one.tokens and two.tokens]
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
