"""The providers of batches, a clock, and a study that is asked in batches."""

import random
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from tests.batches.anthropic_provider import AnthropicProvider, message
from tests.batches.farm import Behaviour, Farm
from tests.batches.gemini_provider import GeminiProvider, content
from tests.batches.openai_provider import OpenAIProvider, completion
from tests.batches.reaching import reaching

from quaver.study.session import Study

__all__ = ["CASES", "Case", "Clock", "World", "document", "world"]

START = 1_800_000_000.0


class Clock:
    """A clock that only moves when somebody waits."""

    def __init__(self, now=START):
        self.now = now

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


@dataclass(frozen=True)
class Case:
    """One provider.

    Attributes:
        model: The model in the study file.
        variable: Where its key is.
        key: The key.
        provider: Makes it.
        text_of: The last message in a request's body.
        hours: After how many hours its provider gives up.
        keeps: Whether a batch that ended early keeps what it had answered.
    """

    model: Mapping[str, Any]
    variable: str
    key: str
    provider: Callable[[Farm, Callable[[str], str]], Any]
    text_of: Callable[[Mapping[str, Any]], str]
    hours: int = 24
    keeps: bool = True


def _chat_text(body):
    return str(body["messages"][-1]["content"])


def _gemini_text(body):
    return str(body["contents"][-1]["parts"][-1]["text"])


CASES = {
    "openai": Case(
        {"name": "m", "use": "openai_compatible", "preset": "openai", "model": "gpt-4o-mini"},
        "OPENAI_API_KEY",
        "sk-test-provider-1",
        lambda farm, say: OpenAIProvider(farm, lambda body: completion(say(_chat_text(body)))),
        _chat_text,
    ),
    "anthropic": Case(
        {"name": "m", "use": "anthropic", "model": "claude-haiku-4-5"},
        "ANTHROPIC_API_KEY",
        "sk-ant-test-1",
        lambda farm, say: AnthropicProvider(farm, lambda body: message(say(_chat_text(body)))),
        _chat_text,
    ),
    "gemini": Case(
        {
            "name": "m",
            "use": "openai_compatible",
            "preset": "gemini",
            "api": "gemini",
            "model": "gemini-2.5-flash",
        },
        "GEMINI_API_KEY",
        "AIza-test-1",
        lambda farm, say: GeminiProvider(farm, lambda body: content(say(_gemini_text(body)))),
        _gemini_text,
        hours=48,
        keeps=False,
    ),
}


def document(model, **more):
    """A study of six items, asked twice about each."""
    return {
        "name": "s",
        "task": {"labels": ["yes", "no"]},
        "items": {
            "source": [{"id": f"i{k}", "text": f"Text {k}"} for k in range(6)],
            "id": "id",
            "text": "{{ text }}",
        },
        "prompt": {"instruction": "Is it?"},
        "models": [dict(model)],
        "repeats": 2,
        "evaluators": ["first_label"],
        **more,
    }


class World:
    """A study's folder, a provider of batches, and what goes wrong between them.

    Attributes:
        clock: The time.
        farm: What happens behind the API.
        provider: The API.
        wire: What a test does to a request on its way; returns a reply, or None to let it through.
        seen: Method and path of every request that reached the provider.
    """

    def __init__(self, name, folder, **behaviour):
        self.case, self.folder = CASES[name], folder
        self.clock = Clock()
        self.farm = Farm(
            self.clock,
            random.Random(1),
            Behaviour(**behaviour),
            permanent=lambda body: "Text 4" in self.case.text_of(body) and self.refuses,
        )
        self.refuses = False
        self.provider = self.case.provider(self.farm, self.say)
        self.wire = lambda request: None
        self.seen = []

    def say(self, text):
        """What the model answers."""
        return "yes" if "Text 3" in text else "no"

    def __call__(self, request):
        self.seen.append((request.method, request.path))
        early = self.wire(request)
        return self.provider(request) if early is None else early

    def study(self, **more):
        """The study, opened as a new process does."""
        return Study.open(document({**self.case.model, "batch": True}, **more), folder=self.folder)

    def run(self, **options):
        """One run of it."""
        return self.study().run(**options)

    def to_the_end(self, most=20, **options):
        """Runs of it, half a day apart, until it is finished."""
        for _ in range(most):
            outcome = self.run(**options)
            if outcome.ended != "batches":
                return outcome
            self.clock.now += 43_200.0
        raise AssertionError("it does not come to an end")

    @property
    def paid(self):
        """How often each call was answered and billed."""
        return sorted(self.farm.billed.values())


@contextmanager
def world(name, folder, **behaviour):
    """A world, entered."""
    one = World(name, folder, **behaviour)
    with ExitStack() as stack:
        stack.enter_context(patch.object(time, "time", one.clock))
        stack.enter_context(patch.object(time, "sleep", one.clock.sleep))
        stack.enter_context(patch.dict("os.environ", {one.case.variable: one.case.key}))
        stack.enter_context(reaching(one))
        yield one
