"""An engine that makes noise on purpose, in one way at a time, and what is said of it."""

from __future__ import annotations

import pytest
from tests.collect.fakes import Fake

from quaver.collect.run.engine_noise import Noise, engine_noise, probes
from quaver.core.model import Abilities
from quaver.core.records import Call, Request, Response, Token


class Noisy(Fake):
    """Remembers what it was asked since it was started, as an engine with a cache does."""

    abilities = Abilities(logprobs=5)

    def __init__(self, *, cached: float = 0.0, reordered: float = 0.0, together: float = 0.0) -> None:
        super().__init__(self._noisy)
        self._shifts = {"cached": cached, "reordered": reordered, "together": together}
        self._seen: list[bytes] = []

    def close(self) -> None:
        self._seen = []

    def _noisy(self, request: Request, call: Call) -> Response:
        key = request.calls[0].key
        shift = self._shifts["cached"] if key in self._seen else 0.0
        if self._seen and key < self._seen[-1]:
            shift += self._shifts["reordered"]
        if len(request.calls) > 1:
            shift += self._shifts["together"]
        self._seen.append(key)
        top = sorted([("yes", -0.5 - shift), ("no", -0.9)], key=lambda pair: -pair[1])
        text, logprob = top[0]
        return Response(text, tokens=(Token(text, logprob, tuple(top)),))


def measured(model: Fake) -> dict[str, Noise]:
    return {row.way: row for row in engine_noise(model, probes(5))}


def test_a_quiet_engine_makes_none() -> None:
    for row in measured(Noisy()).values():
        assert (row.other_text, row.other_top, row.largest) == (0, 0, 0.0)
        assert row.identical == row.answers


def test_a_cache_that_rounds_otherwise_is_found() -> None:
    found = measured(Noisy(cached=0.1))
    again = found["again"]
    assert (again.answers, again.other_text, again.other_top, again.identical) == (5, 0, 0, 0)
    assert again.largest == pytest.approx(0.1)


def test_another_order_that_turns_answers_over_is_found() -> None:
    row = measured(Noisy(reordered=1.0))["reordered"]
    # All but the first of the reversed order come after one that they stand before.
    assert (row.answers, row.other_text, row.other_top, row.identical) == (5, 4, 4, 1)


def test_asking_several_at_a_time_is_compared_answer_by_answer() -> None:
    row = measured(Noisy(together=1.0))["together"]
    assert (row.answers, row.other_text, row.identical) == (20, 20, 0)


def test_without_log_probabilities_texts_are_compared() -> None:
    times: dict[bytes, int] = {}

    def forgetful(request: Request, call: Call) -> Response:
        times[request.calls[0].key] = times.get(request.calls[0].key, 0) + 1
        return Response("yes" if times[request.calls[0].key] == 1 else "no")

    row = measured(Fake(forgetful))["again"]
    assert (row.answers, row.other_text) == (5, 5)
    assert row.other_top is row.identical is row.largest is None


def test_probes_are_different_prompts() -> None:
    prompts = [request.prompt.messages for request in probes(16)]
    assert len(set(prompts)) == 16
