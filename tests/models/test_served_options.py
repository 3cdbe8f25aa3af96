"""What a study file may say of a server: no key, wherever and however it is written."""

import pytest

from quaver._secrets import Keys
from quaver.errors import SpecError
from quaver.models.openai_compatible import OpenAICompatible
from quaver.models.served.presets import PRESETS
from quaver.models.served.server_options import checked_body, checked_url, checked_variable

PLANTED = "Zq7hunterZq7hunter2"


@pytest.mark.parametrize(
    "body",
    [
        {"auth": {"token": PLANTED}},
        {"auth": PLANTED},
        {"extra": [{"deep": {"X-Api-Key": PLANTED}}]},
        {"extra_headers": {"Authorization": f"Basic {PLANTED}"}},
        {"headers": [{"name": "Authorization", "value": PLANTED}]},
        {"apiKey": PLANTED},
        {"client_secret": [PLANTED]},
        {"note": f"Bearer {PLANTED}"},
        {"note": f"sk-{PLANTED}"},
        {f"sk-{PLANTED}": 1},
    ],
)
def test_a_body_is_looked_at_in_its_depth(body):
    for make in (lambda: checked_body(body), lambda: OpenAICompatible(model="m", preset="vllm", body=body)):
        with pytest.raises(SpecError, match="looks like a key") as caught:
            make()
        assert PLANTED not in str(caught.value)


def test_fields_that_only_sound_like_keys_are_sent():
    body = {
        "max_tokens": 5,
        "prompt_cache_key": "a",
        "stop_token_ids": [1, 2],
        "return_tokens_as_token_ids": True,
        "token": None,
        "reasoning": {"effort": "low", "max_tokens": 10},
        "metadata": {"key": "value", "tokenizer": "sk_learn"},
    }
    assert checked_body(body) == body


@pytest.mark.parametrize(
    "url",
    [
        f"http://me:{PLANTED}@host/v1",
        f"http://{PLANTED}@host/v1",
        f"http://@host/{PLANTED}",
        f"me:{PLANTED}@host/v1",
        f"//me:{PLANTED}@host/v1",
        f"ftp://me:{PLANTED}@host/v1",
        f"http://host/v1?api_key={PLANTED}",
        f"http://host/v1#api_key={PLANTED}",
        f"http://host/v1#{PLANTED}",
        f"http://host/token={PLANTED}/v1",
        f"http://host/v1;api_key={PLANTED}",
        f"http://host/v1/sk-{PLANTED}",
        f"http://host/v1/%73k-{PLANTED}",
        f"http://sk-{PLANTED}.host/v1",
        f"http://[me:{PLANTED}@host/v1",
        f"http://host/key/{PLANTED}/v1",
        f"http://host/api_token/{PLANTED}",
        f"http://key-{PLANTED}.host/v1",
    ],
)
def test_an_address_holds_nothing_but_an_address(url):
    for make in (lambda: checked_url(url, None), lambda: OpenAICompatible(model="m", base_url=url)):
        with pytest.raises(SpecError) as caught:
            make()
        assert PLANTED not in str(caught.value)
        assert PLANTED not in repr(caught.value)


@pytest.mark.parametrize("part", ["kX9f2LmQ7vT4bN8sR1wZ", "bot123456:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"])
def test_a_part_that_nobody_made_up_is_no_part_of_an_address(part):
    with pytest.raises(SpecError) as caught:
        checked_url(f"https://host.example.org/{part}/v1", None)
    assert part not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:8000/v1",
        "https://x.openai.azure.com/openai/deployments/gpt-4o-mini-2024-07-18/v1",
        "https://host.example.org/v1/projects/project-12345/locations/us-central1/gpt4oMiniDeployment2024",
        "http://[::1]:8000/v1",
        "https://router.huggingface.co/hf-inference/models/org/model/v1",
        "https://gateway.ai.cloudflare.com/v1/0123456789abcdef0123456789abcdef/my-gateway/openai",
        "https://api.runpod.ai/v2/abc123def456/openai/v1",
        "https://key-vault-proxy.example.org/auth/v1",
        "https://key-performance-indicators.example.org/v1",
        *(preset.base_url for preset in PRESETS.values() if preset.base_url),
    ],
)
def test_addresses_that_people_have_are_taken(url):
    assert checked_url(url, None) == url.rstrip("/")


@pytest.mark.parametrize(
    "key", ["gsk_secret", "AKIA4QZ7PLANTED8X2Y9", "0123456789ABCDEF0123456789ABCDEF", f"sk-{PLANTED}", "a b"]
)
def test_a_key_in_the_place_of_its_name_is_not_repeated(key):
    with pytest.raises(SpecError, match="environment variable") as caught:
        checked_variable(key)
    assert key not in str(caught.value)
    names = [preset.key for preset in PRESETS.values() if preset.key]
    for name in [*names, "MY_OWN_GATE", "AZURE_OPENAI_API_KEY_2", "KEY4"]:
        assert checked_variable(name) == name


@pytest.mark.parametrize("option", ["version", "model"])
def test_a_key_in_the_place_of_a_version_is_not_repeated(option, monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", PLANTED)
    for key in (f"sk-{PLANTED}", f"v1 {PLANTED}"):
        with pytest.raises(SpecError, match="looks like a key") as caught:
            OpenAICompatible(**{"model": "m", "preset": "vllm", option: key})
        assert PLANTED not in str(caught.value)


@pytest.mark.parametrize("name", sorted({one.key for one in PRESETS.values() if one.key}))
def test_the_variable_of_every_preset_is_known_to_hold_a_key(name):
    assert Keys({name: "hunter2hunter"}).within("a hunter2hunter b") == name
