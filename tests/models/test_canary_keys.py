"""A key goes to its provider's address, or to one that was named for it, and to nobody else."""

import json
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from quaver.core.batch import Gone, NotNow
from quaver.core.conversation import finished
from quaver.core.model import Needs
from quaver.errors import QuaverError
from quaver.models.anthropic import Anthropic
from quaver.models.openai_compatible import OpenAICompatible
from quaver.models.served.presets import PRESETS
from quaver.start.model_search import found_models, models_at, take_key
from quaver.testing.requests import request

CANARY = "sk-canary-7Hq2-{}-9Xw4"
KEYS = {preset.key: CANARY.format(name) for name, preset in PRESETS.items() if preset.key}
ADDRESSES = ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "OLLAMA_HOST", "AZURE_OPENAI_ENDPOINT")
SERVICES = [name for name, preset in PRESETS.items() if preset.needs_key]
QUICK = {"retries": 0, "patience": 0.1, "timeout": 5}


class Recorder:
    """A server that keeps everything that it is sent, and may send elsewhere."""

    def __init__(self, host, to=""):
        self.seen = seen = []

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_): ...

            def do_GET(self):
                self.do_POST()

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                seen.append(f"{self.path} {self.headers} {body.decode()}")
                choice = {"index": 0, "message": {"content": "yes"}, "finish_reason": "stop"}
                content = json.dumps({"choices": [choice], "data": [{"id": "m"}], "version": "1"}).encode()
                self.send_response(307 if to else 200)
                if to:
                    self.send_header("location", f"{to}/stolen")
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        self._server = ThreadingHTTPServer((host, 0), Handler)
        self.url = f"http://{host}:{self._server.server_port}/v1"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture(scope="module")
def foreign():
    """Another machine, as far as addresses go."""
    try:
        made = Recorder("127.0.0.2")
    except OSError:
        pytest.skip("this system has one loopback address")
    yield made
    made.close()


def ask(make):
    """Build a model, try its server, ask it once, and look at its batches; what is refused sends nothing."""

    def looked(model):
        service = model.batches()
        return service and service.look("b")

    for act in (lambda model: model.probe(Needs()), lambda model: list(model.answer([request()])), looked):
        with suppress(QuaverError, NotNow, Gone):
            act(make())


def at(use=OpenAICompatible, **options):
    """A model whose address stands in the study file."""
    return lambda url, patch: ask(lambda: use(model="m", base_url=url, **QUICK, **options))


def named_for_another(variable, preset):
    """The environment names the address for another provider's key."""

    def place(url, patch):
        patch.setenv(variable, url)
        ask(lambda: OpenAICompatible(model="m", preset=preset, base_url=url, **QUICK))

    return place


def sent_on(preset, **options):
    """The key's own address sends elsewhere."""

    def place(url, patch):
        own = Recorder("127.0.0.1", to=url)
        variable = PRESETS[preset].key or "OPENAI_API_KEY"
        ask(lambda: OpenAICompatible(model="m", base_url=own.url, key=variable, **QUICK, **options))
        own.close()
        assert any(KEYS[variable] in one for one in own.seen), "its own address is sent the key"

    return place


def looked_for(url, patch):
    """`quaver start` looks for models."""
    patch.setenv("OPENAI_BASE_URL", url)
    found_models()
    finished(models_at(url))


def typed_for_one(url, patch):
    """A key that was typed for an address is none of a provider, nor of another address."""
    take_key("an address", CANARY.format("typed"), url="https://lab.example/v1", keep=False)
    ask(lambda: OpenAICompatible(model="m", base_url=url, **QUICK))
    ask(lambda: OpenAICompatible(model="m", preset="openai", base_url=url, **QUICK))
    patch.delenv("QUAVER_KEY_LAB_EXAMPLE")


PLACES = {
    **{f"address of {name}": at(preset=name) for name in PRESETS},
    **{f"address of {name}, sent on": sent_on(name) for name in PRESETS},
    **{f"{one} for {name}": named_for_another(one, name) for one in ADDRESSES for name in SERVICES[3:8]},
    **{f"{name} in batches": at(preset=name, supports={"batch": True}) for name in SERVICES[:3]},
    **{f"api {api}": at(preset="openai", api=api) for api in ("responses", "gemini")},
    **{f"api {api}, sent on": sent_on("openai", api=api) for api in ("responses", "gemini")},
    "gemini's own api": at(preset="gemini", api="gemini"),
    "Azure by its version": lambda url, patch: at(preset="azure")(f"{url}?api-version=2024-10-21", patch),
    "a Claude model": at(Anthropic),
    "a Claude model that thinks": at(Anthropic, thinking=1024),
    "no provider": at(),
    "looking for models": looked_for,
    "a key typed for one address": typed_for_one,
}


def test_there_are_sixty_placements():
    assert len(PLACES) >= 60


@pytest.mark.parametrize("place", PLACES)
def test_no_key_reaches_a_foreign_origin(place, foreign, monkeypatch):
    for variable, key in KEYS.items():
        monkeypatch.setenv(variable, key)
    for variable in ADDRESSES:
        monkeypatch.delenv(variable, raising=False)
    foreign.seen.clear()
    PLACES[place](foreign.url, monkeypatch)
    assert not [one for one in foreign.seen if "sk-canary" in one]


def test_an_address_that_is_named_for_a_key_is_sent_it(foreign, monkeypatch):
    """What the test above looks for is found where a user agrees to it."""
    monkeypatch.setenv("OPENAI_API_KEY", KEYS["OPENAI_API_KEY"])
    foreign.seen.clear()
    agreed = {"key": "OPENAI_API_KEY", "unencrypted": True}
    ask(lambda: OpenAICompatible(model="m", base_url=foreign.url, **agreed, **QUICK))
    assert any(KEYS["OPENAI_API_KEY"] in one for one in foreign.seen)
