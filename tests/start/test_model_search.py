"""Models that can be asked are found by looking; keys are named and never shown."""

import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from tests.local_engines import JsonServer

from quaver.core.conversation import finished
from quaver.errors import QuaverError
from quaver.models.served.presets import PRESETS
from quaver.start import model_search
from quaver.start.model_search import (
    check_encrypted,
    found_models,
    keys_held,
    models_at,
    take_kept_keys,
    take_key,
)

SECRET = "sk-planted-4bX9-4bX9-4bX9"


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch):
    for preset in PRESETS.values():
        if preset.key:
            monkeypatch.delenv(preset.key, raising=False)


def test_ollama_is_found_with_its_models(monkeypatch):
    models = {"data": [{"id": "llama3.2:latest"}, {"id": "qwen3:4b"}]}
    server = JsonServer(lambda path, _: {"version": "0.9.1"} if path == "/api/version" else models)
    monkeypatch.setenv("OLLAMA_HOST", server.url)
    found = [one for one in found_models() if one.where.startswith("ollama")]
    server.close()
    assert [(one.model, one.base_url, one.free) for one in found] == [
        ("ollama/llama3.2:latest", None, True),
        ("ollama/qwen3:4b", None, True),
    ]


def test_a_server_that_the_environment_names_is_found_at_its_address(monkeypatch):
    server = JsonServer(lambda path, _: {"data": [{"id": "tiny"}]})
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    found = [one for one in found_models() if one.base_url]
    server.close()
    assert [(one.model, one.base_url, one.free) for one in found] == [("tiny", f"{server.url}/v1", False)]


def test_a_key_for_an_address_is_no_providers(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-another-0123456789abcdef")
    variable = take_key("an address", SECRET, url="https://models.lab.example/v1", keep=False)
    assert (variable, os.environ[variable]) == ("QUAVER_KEY_MODELS_LAB_EXAMPLE", SECRET)
    assert os.environ["OPENAI_API_KEY"] == "sk-another-0123456789abcdef"
    monkeypatch.delenv(variable)


def test_plain_http_to_another_machine_is_asked_about():
    with pytest.raises(QuaverError, match="unencrypted"):
        check_encrypted("http://models.lab.example/v1", agreed=False)
    check_encrypted("http://127.0.0.1:8000/v1", agreed=False)
    check_encrypted("http://models.lab.example/v1", agreed=True)


def test_a_key_is_named_and_never_shown(monkeypatch):
    monkeypatch.setenv("MISTRAL_API_KEY", SECRET)
    assert keys_held() == {"mistral": "MISTRAL_API_KEY"}
    found = found_models()
    assert any("MISTRAL_API_KEY" in one.where for one in found)
    assert SECRET not in repr(found)


@pytest.mark.parametrize(
    "reply", [[], {"data": 3}, {"data": [{"name": "x"}]}, {"models": []}, "text", None, {"data": [7]}]
)
def test_what_a_strange_server_says_is_no_model(reply):
    server = JsonServer(lambda path, _: reply)
    found = finished(models_at(server.url))
    server.close()
    assert found == []


def test_a_list_without_end_is_none():
    server = JsonServer(lambda path, _: {"data": [{"id": "x" * (9 << 20)}]})
    found = finished(models_at(server.url))
    server.close()
    assert found == []


def test_a_key_is_not_taken_along_to_where_a_server_sends():
    asked = []
    other = JsonServer(lambda path, _: asked.append(path) or {"data": [{"id": "x"}]})

    class Sends(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(302)
            self.send_header("Location", f"{other.url}/models")
            self.end_headers()

    with ThreadingHTTPServer(("127.0.0.1", 0), Sends) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        found = finished(models_at(f"http://127.0.0.1:{server.server_port}", SECRET))
        server.shutdown()
    other.close()
    assert (found, asked) == ([], [])


def test_a_server_that_is_not_there_has_no_models():
    assert finished(models_at("http://127.0.0.1:9")) == []


class _Ring:
    def __init__(self):
        self.kept = {}

    def set_password(self, service, name, value):
        self.kept[name] = value

    def get_password(self, service, name):
        return self.kept.get(name)


def test_a_key_is_held_for_the_session_and_kept_where_that_is_wished(monkeypatch):
    keyring = pytest.importorskip("keyring")
    ring = _Ring()
    monkeypatch.setattr(keyring, "set_password", ring.set_password)
    monkeypatch.setattr(keyring, "get_password", ring.get_password)
    monkeypatch.setenv("GROQ_API_KEY", "")
    monkeypatch.setenv("OPENAI_API_KEY", "")
    assert take_key("groq", f" {SECRET}\n", keep=False) == "GROQ_API_KEY"
    assert (os.environ["GROQ_API_KEY"], ring.kept) == (SECRET, {})
    take_key("openai", SECRET, keep=True)
    assert ring.kept == {"OPENAI_API_KEY": SECRET}
    monkeypatch.setenv("OPENAI_API_KEY", "")
    take_kept_keys()
    assert os.environ["OPENAI_API_KEY"] == SECRET


def test_a_keyring_that_refuses_is_an_error_without_the_key(monkeypatch):
    keyring = pytest.importorskip("keyring")

    def refuse(*given):
        raise RuntimeError(json.dumps(given))

    monkeypatch.setattr(keyring, "set_password", refuse)
    monkeypatch.setenv("GROQ_API_KEY", "")
    with pytest.raises(QuaverError) as caught:
        take_key("groq", SECRET, keep=True)
    assert SECRET not in str(caught.value)
    assert os.environ["GROQ_API_KEY"] == SECRET


def test_an_empty_key_is_refused():
    with pytest.raises(QuaverError):
        take_key("openai", "  ", keep=False)


def test_every_search_ends_soon():
    assert model_search._SECONDS < 1
