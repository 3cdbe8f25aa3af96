"""Models that answer at once, and fail where a test wants them to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from quaver.collect.run.driver import Outcome, Progress, collect
from quaver.collect.run.progress import Budget
from quaver.collect.store.response_store import Store
from quaver.core.model import Abilities, Answered
from quaver.core.records import Call, Condition, Decoding, Message, Prompt, Request, Response

CAPS = ("calls", "tokens", "money", "seconds", "spent", "prices")


class Fake:
    """Answers every call with ``answer(request, call)``; counts what it was asked."""

    abilities = Abilities()

    def __init__(self, answer: Callable[[Request, Call], Response]) -> None:
        self._answer = answer
        self.asked: list[bytes] = []

    def identity(self) -> str:
        return "fake"

    def provenance(self) -> Mapping[str, Any]:
        return {"engine": "fake"}

    def prepare(self, repeats: int) -> None: ...

    def answer(self, requests: Iterable[Request]) -> Iterator[Answered]:
        for request in requests:
            self.asked += [call.key for call in request.calls]
            yield request, [self._answer(request, call) for call in request.calls]

    def count_tokens(self, prompts: Sequence[Sequence[Message]]) -> list[int] | None:
        return None

    def close(self) -> None: ...


def echo(request: Request, call: Call) -> Response:
    return Response(
        f"{call.item}.{call.repeat}", prompt_tokens=10, cached_tokens=4, completion_tokens=1, latency=0.5
    )


def fake(answer: Callable[[Request, Call], Response] = echo) -> Fake:
    return Fake(answer)


def key(item: int, repeat: int = 0, condition: int = 0) -> bytes:
    return b"%5d%5d%6d" % (condition, item, repeat)


def request(item: int, repeats: Sequence[int] = (0,), condition: int = 0, text: str | None = None) -> Request:
    message = Message("user", text if text is not None else f"text {item}")
    calls = tuple(Call(key(item, repeat, condition), condition, item, repeat) for repeat in repeats)
    return Request(
        "m", Prompt((message,), message.content, "?"), Decoding("greedy"), (), 100 + repeats[0], calls
    )


def opened(folder: Path, items: int = 3, repeats: int = 1, fingerprint: str = "f") -> Store:
    """A store whose study has ``items`` items and one condition."""
    store = Store(folder / "responses.db")
    calls = [call for item in range(items) for call in request(item, range(repeats)).calls]
    conditions = [Condition("m", "v", "greedy", repeats)]
    store.calls.place(fingerprint, conditions, [str(i) for i in range(items)], calls)
    return store


def run(store: Store, model: Fake, requests: Iterable[Request], **limits: Any) -> Outcome:
    """Collect with one model."""
    total = limits.pop("total", 0)
    caps = {name: limits.pop(name) for name in CAPS if name in limits}
    budget = Budget(**caps)
    return collect({"m": iter(requests)}, {"m": model}, store, Progress(total, 0), budget=budget, **limits)


def answers(store: Store) -> dict[tuple[int, int, int], Response]:
    """Everything that is stored and belongs to the study, by place."""
    return {(c, i, r): response for rows in store.read() for c, i, r, response, _ in rows}
