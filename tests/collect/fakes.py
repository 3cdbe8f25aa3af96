"""Models that answer at once, and fail where a test wants them to."""

from quaver.collect.run.driver import Progress, collect
from quaver.collect.run.progress import Budget
from quaver.collect.store.response_store import Store
from quaver.core.calls import Call, Message, Prompt, Request, Response
from quaver.core.model import Abilities
from quaver.core.records import Condition, Decoding

CAPS = ("calls", "tokens", "money", "seconds", "spent", "prices")


class Fake:
    """Answers every call with ``answer(request, call)``; counts what it was asked."""

    abilities = Abilities()

    def __init__(self, answer):
        self._answer = answer
        self.asked = []

    def identity(self):
        return "fake"

    def provenance(self):
        return {"engine": "fake"}

    def prepare(self, repeats): ...

    def answer(self, requests):
        for request in requests:
            self.asked += [call.key for call in request.calls]
            yield request, [self._answer(request, call) for call in request.calls]

    def count_tokens(self, prompts):
        return None

    def close(self): ...


def echo(request, call):
    return Response(
        f"{call.item}.{call.repeat}", prompt_tokens=10, cached_tokens=4, completion_tokens=1, latency=0.5
    )


def fake(answer=echo):
    return Fake(answer)


def key(item, repeat=0, condition=0):
    return b"%5d%5d%6d" % (condition, item, repeat)


def request(item, repeats=(0,), condition=0, text=None):
    message = Message("user", text if text is not None else f"text {item}")
    calls = tuple(Call(key(item, repeat, condition), condition, item, repeat) for repeat in repeats)
    return Request(
        "m", Prompt((message,), message.content, "?"), Decoding("greedy"), (), 100 + repeats[0], calls
    )


def opened(folder, items=3, repeats=1, fingerprint="f"):
    """A store whose study has ``items`` items and one condition."""
    store = Store(folder / "responses.db")
    calls = [call for item in range(items) for call in request(item, range(repeats)).calls]
    conditions = [Condition("m", "v", "greedy", repeats)]
    store.calls.place(fingerprint, conditions, [str(i) for i in range(items)], calls)
    return store


def run(store, model, requests, **limits):
    """Collect with one model."""
    total = limits.pop("total", 0)
    caps = {name: limits.pop(name) for name in CAPS if name in limits}
    budget = Budget(**caps)
    return collect({"m": iter(requests)}, {"m": model}, store, Progress(total, 0), budget=budget, **limits)


def answers(store):
    """Everything that is stored and belongs to the study, by place."""
    return {(c, i, r): response for rows in store.read() for c, i, r, response, _ in rows}


def counted(store):
    """How many calls are answered, how many of the answers are errors, and how many belong to no call."""
    return store.calls.answered(), store.calls.errors(), store.calls.unplaced()
