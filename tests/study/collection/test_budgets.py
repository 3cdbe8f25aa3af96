"""A budget holds by every route that asks: it is never exceeded by more than the calls in flight."""

import json
import random
import threading
import time
from contextlib import suppress

import pytest
from tests.batches.farm import Behaviour, Farm
from tests.batches.openai_provider import OpenAIProvider, completion
from tests.batches.reaching import reaching
from tests.cli.commands import quaver as asked
from tests.models.provider_rig import chat, rigged
from tests.models.ray.chance_ray import ChanceRay

import quaver
from quaver.errors import QuaverError
from quaver.start.begun_check import Here
from quaver.study.session import Study
from quaver.watch.occasions import CanaryOptions
from quaver.watch.watching import watch

PRICE, CALL = "1000/1000", 0.12
"""US dollars a million tokens, and for a call without thinking: 20 tokens read, 100 written."""

IN_FLIGHT = 4
BUDGET = 5.0


class Bank:
    """A provider that adds up what it has answered; it thinks for so many tokens, and counts calls at a time.

    Attributes:
        paid: US dollars.
        dearest: What the dearest call cost.
        most: The most calls at a time.
    """

    def __init__(self, thought=0):
        self.paid = self.dearest = 0.0
        self.calls = self.most = self._now = 0
        self._thought, self._lock = thought, threading.Lock()

    def answer(self, body, path, n):
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
        time.sleep(0.002)
        said = json.dumps(body)
        if "number" not in said and "instruction" in said.lower():  # it is to be reworded
            text = f"Please say whether text {n} is positive or negative."
        else:
            text = '{"a": "pos", "b": "pos"}' if "json" in said else "pos"
        thought = self._thought and 1 + self._thought * (1 + n % 5) // 2
        limit = body.get("max_tokens", 10**9)
        reply = chat(body, text, thought=thought + 98)
        if thought + 100 > limit:
            reply = chat(body, "", "length", thought=limit - 2)
        self.take(reply[1]["usage"])
        with self._lock:
            self._now -= 1
        return reply

    def take(self, usage):
        cost = (usage["prompt_tokens"] + usage["completion_tokens"]) * 1000 / 1e6
        with self._lock:
            self.calls += 1
            self.paid, self.dearest = self.paid + cost, max(self.dearest, cost)


def table(folder, rows=90):
    folder.mkdir(parents=True, exist_ok=True)
    texts = "".join(f"{n},This is number {n}.\n" for n in range(rows))
    (folder / "texts.csv").write_text(f"id,text\n{texts}")
    return folder / "texts.csv"


def document(folder, url, **more):
    """A study of 180 calls, which cost 21.6 dollars, where 5 may be spent."""
    model = {"name": "m", "use": "openai_compatible", "model": "m", "base_url": url, "concurrency": IN_FLIGHT}
    return {
        "task": {"labels": ["pos", "neg"]},
        "items": {"source": str(table(folder)), "id": "id", "text": "{{ text }}"},
        "prompt": {"instruction": "Is it pos or neg?"},
        "models": [model | {"price": {"input": 1000, "output": 1000}}],
        "decoding": {"d": {"max_tokens": 128}},
        "repeats": 2,
        "measures": ["compliance"],
        "budget": {"money": BUDGET},
    } | more


def study(folder, url, functions=None, **more):
    return Study.open(document(folder, url, **more), folder=folder / "study", functions=functions)


def on_disk(folder, url, **more):
    """The same in a file."""
    path = folder / "study.yaml"
    path.write_text(json.dumps(document(folder, url, **more)))
    return path


def of_check(url):
    return {"model": "m", "base_url": url, "price": PRICE, "labels": ["pos", "neg"], "max_tokens": 128}


def checked(folder, url):
    quaver.check(table(folder), budget=BUDGET, **of_check(url))


def checked_twice(folder, url):
    """What an unfinished check has spent counts for the next one."""
    checked(folder, url)
    checked(folder, url)


def run(folder, url):
    study(folder, url).run()


def run_again(folder, url):
    for _ in range(3):
        with suppress(QuaverError):
            study(folder, url).run()


def piloted(folder, url):
    study(folder, url).plan(pilot=70)


def labelled(folder, url):
    """The check is made first, within the same budget."""
    given = of_check(url) | {"prompts": 1, "repeats": 1, "n": 12, "budget": BUDGET, "anyway": True}
    quaver.label(table(folder), **given)


def labelled_on(folder, url):
    """From a check that was begun without a budget."""
    given = of_check(url) | {"prompts": 2, "n": 40}
    made = quaver.study.checking.check_design.prepared_check(table(folder), **given)
    made.study.run(requests=1)
    quaver.label(folder / "texts.csv", check=folder / "texts-check", budget=BUDGET)


def started(folder, url):
    """As the pages of ``quaver start`` do it: a process of its own."""
    begun = Here(folder).begin(table(folder))
    begun.give(**of_check(url), budget=BUDGET)
    file = begun.prepared().file
    asked(folder, "run", str(file))


def gold(folder, url):
    """Drawing a sample asks nothing."""
    quaver.Study.open(on_disk(folder, url)).gold.draw(n=10)


def noted(folder, url):
    """The study and its version with a note share the budget."""
    few = {"source": "texts.csv", "id": "id", "text": "{{ text }}", "sample": 30}
    Study.open(on_disk(folder, url, repeats=1, items=few)).run()
    done = asked(folder, "compare", "study.yaml", "--note", "A date is neg.")
    assert "noted" in done.stdout + done.stderr, done


def watched(folder, url):
    path = on_disk(folder, url, budget={"money": BUDGET})
    for _ in range(3):
        with suppress(QuaverError):
            watch(Study.open(path), CanaryOptions(prompts=5, parts=3, first=6, whole=True))
    with suppress(QuaverError):
        Study.open(path).run()


def fields(folder, url):
    study(
        folder, url, task={"fields": {"a": {"labels": ["pos", "neg"]}, "b": {"labels": ["pos", "neg"]}}}
    ).run()


def reworded(folder, url):
    made = {"use": "paraphrases", "engine": "llm", "model": "m", "temperatures": [0.5, 1.0], "k": 12}
    study(folder, url, variants=[made]).run()


def followed(folder, url):
    study(folder, url, follow_ups=["verbal_decimal"]).run()


def on_ray(folder, url):
    with ChanceRay(2).entered():
        study(folder, url).run(where={"on": "ray"})


ROUTES = {
    one.__name__.replace("_", " "): one
    for one in (
        *(checked, checked_twice, run, run_again, piloted, labelled, labelled_on, started, gold, noted),
        *(watched, fields, reworded, followed, on_ray),
    )
}


ASKED_AS_ELSEWHERE = {"gold", "checked twice", "piloted", "labelled on", "started", "noted", "watched"}
"""Routes that ask as others do: a model that thinks is tried on those."""


@pytest.mark.parametrize(
    ("route", "thought"),
    [
        (route, thought)
        for route in ROUTES
        for thought in (0, 300)
        if not thought or route not in ASKED_AS_ELSEWHERE
    ],
)
def test_no_route_spends_more(route, thought, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bank, ended = Bank(thought), None
    with rigged(bank.answer) as provider:
        try:
            ROUTES[route](tmp_path, provider.url)
        except QuaverError as error:
            ended = error
    assert (bank.calls == 0) is (route == "gold"), ended
    most = max(IN_FLIGHT, bank.most) if thought else 1  # the length of what does not think is known
    assert bank.paid <= BUDGET + most * bank.dearest, (bank.calls, bank.most, bank.dearest)


def test_batches_spend_no_more(tmp_path, monkeypatch):
    bank, now = Bank(), [1_800_000_000.0]

    def answer(body):
        usage = {"prompt_tokens": 20, "completion_tokens": 100}
        bank.take(usage)
        return completion("pos") | {"usage": usage}

    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-provider-1")
    monkeypatch.setattr("time.time", lambda: now[0])
    farm = Farm(lambda: now[0], random.Random(1), Behaviour())
    model = {"name": "m", "use": "openai_compatible", "preset": "openai", "model": "m", "batch": True}
    model |= {"price": {"input": 2000, "output": 2000}}
    with reaching(OpenAIProvider(farm, answer)):
        for _ in range(5):
            study(tmp_path, "", models=[model]).run()
            now[0] += 43_200.0
    assert 0 < bank.paid <= BUDGET + CALL


@pytest.mark.parametrize("where", [{}, {"on": "ray"}])
def test_a_function_is_asked_no_more_often(where, tmp_path):
    texts = []

    def annotate(text, prompt):
        texts.append(text)
        return "pos"

    model = {"name": "m", "use": "function"}
    made = study(tmp_path, "", {"m": annotate}, models=[model], budget={"calls": 18})
    with ChanceRay(2).entered():
        assert made.run(where=where).ended == "calls"
    assert len(texts) == 18
