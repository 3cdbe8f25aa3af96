"""Labels behind a server: at the address that the environment has, in batches, within one budget."""

import csv
import random
import re
from contextlib import ExitStack

import pytest
from tests.batches.anthropic_provider import AnthropicProvider, message
from tests.batches.farm import Behaviour, Farm
from tests.batches.openai_provider import OpenAIProvider, completion
from tests.batches.reaching import reaching
from tests.local_engines import JsonServer

import quaver
from quaver.errors import QuaverError, StoreError

LABELS = ("favor", "against", "none")
KEYS = {"openai": "sk-test-provider-1", "anthropic": "sk-ant-test-1"}


def truth(prompt):
    """The label between the marks; one prompt reads one text in ten differently."""
    found, number = re.search("@(.*?)@", prompt), re.search(r"Text (\d+)", prompt)
    assert number is not None
    if int(number[1]) % 10 == 3 and "Choose" in prompt:
        return next(label for label in LABELS if label != found[1])
    return found[1]


def asked(body):
    """All messages of a request."""
    parts = [one["content"] for one in body["messages"]]
    return "\n".join(
        part if isinstance(part, str) else "".join(one["text"] for one in part) for part in parts
    )


@pytest.fixture
def texts(tmp_path, monkeypatch):
    """A hundred and twenty texts, thirty of them labelled by hand."""
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    draw = random.Random(2)
    rows = []
    for n in range(120):
        label = draw.choice(LABELS)
        rows.append((f"k{n}", f"Text {n}, tone @{label}@", label if n % 4 == 0 else ""))
    path = tmp_path / "texts.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("id", "tweet", "stance"), *rows])
    return path


@pytest.fixture
def server():
    """A server of OpenAI's and of Anthropic's protocol, and the paths at which it was asked."""
    paths = []

    def reply(path, body):
        if body is None:
            return {"data": [{"id": "m"}], "version": "1"}
        paths.append(path)
        made = message if path.endswith("/messages") else completion
        return made(truth(asked(body)))

    with ExitStack() as stack:
        one = JsonServer(reply)
        stack.callback(one.close)
        yield one.url, paths


def labelled(path, **options):
    return quaver.label(path, **{"gold": "stance", "prompts": 2, "n": 40, "repeats": 1, **options})


@pytest.mark.parametrize(
    ("variable", "address", "model", "path"),
    [
        ("OPENAI_BASE_URL", "{}/v1", "openai/gpt-5-mini", "/v1/chat/completions"),
        ("ANTHROPIC_BASE_URL", "{}", "anthropic/claude-haiku-4-5", "/v1/messages"),
        ("OLLAMA_HOST", "{}", "ollama/llama3.2", "/v1/chat/completions"),
        ("", "{}/v1", "my-model", "/v1/chat/completions"),
    ],
)
def test_labels_come_from_the_server_that_the_environment_or_an_option_names(
    texts, server, variable, address, model, path, monkeypatch
):
    url, paths = server
    given = {"model": model, "yes": True}
    if variable:
        host = url.removeprefix("http://") if variable == "OLLAMA_HOST" else url
        monkeypatch.setenv(variable, address.format(host))
    else:
        given["base_url"] = address.format(url)
    found = labelled(texts, votes=1, **given)
    assert found.table["label"].null_count() == 0
    assert {*paths} == {path}


@pytest.mark.parametrize(("provider", "model"), [("openai", "gpt-5-mini"), ("anthropic", "claude-haiku-4-5")])
def test_all_texts_can_be_asked_in_batches(texts, server, provider, model, monkeypatch):
    """By the name that `--model` takes, from the check to the labels."""
    now = [1_800_000_000.0]
    farm = Farm(lambda: now[0], random.Random(1), Behaviour())
    made = (
        OpenAIProvider(farm, lambda body: completion(truth(asked(body))))
        if provider == "openai"
        else AnthropicProvider(farm, lambda body: message(truth(asked(body))))
    )
    monkeypatch.setenv(f"{provider.upper()}_API_KEY", KEYS[provider])
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server[0]}/v1")  # where its models are listed
    monkeypatch.setattr("time.time", lambda: now[0])
    with reaching(made):
        for _ in range(2):  # the check, and then all texts
            with pytest.raises(StoreError, match="out in batches"):
                labelled(texts, model=f"{provider}/{model}", votes=1, batch=True, yes=True)
            now[0] += 43_200.0
        found = labelled(texts, model=f"{provider}/{model}", votes=1, batch=True, yes=True)
    assert found.table["label"].null_count() == 0
    assert [len(job.lines) for job in farm.jobs] == [116, 62]
    assert {*farm.billed.values()} == {1}
    assert server[1] == []


def test_one_budget_is_kept_over_the_check_and_all_texts(texts, server):
    """A token costs a cent here, and an answer 21."""
    url, paths = server
    model = {"model": "m", "base_url": f"{url}/v1", "price": "10000/10000"}
    quaver.check(texts, gold="stance", prompts=2, n=40, repeats=1, yes=True, **model)
    first = len(paths)
    of_check = 0.21 * first
    with pytest.raises(StoreError, match="budget"):
        quaver.label(texts, check="texts-check", votes=2, budget=of_check + 0.21 * 30)
    assert 0 < len(paths) - first <= 30, "what the check cost counts"
    with pytest.raises(QuaverError, match="budget"):
        quaver.label(texts, check="texts-check", votes=2, budget=of_check / 2)
    assert len(paths) - first <= 30, "nothing is left of it"
    found = quaver.label(texts, check="texts-check", votes=2, budget=of_check + 0.21 * 200)
    assert found.table["label"].null_count() == 0
    assert len(paths) == 240
