"""``provider/model`` in place of an engine and its options."""

import pytest

from quaver.core import registry
from quaver.design.spec.models_spec import _PRESETS, model_of_name
from quaver.design.spec.study_file import read_study
from quaver.errors import SpecError, UnknownName
from quaver.models.served.presets import PRESETS

_STUDY = {
    "task": {"labels": ["yes", "no"]},
    "items": {"source": "items.csv", "text": "{{ text }}"},
    "prompt": {"instruction": "Is it?"},
}


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("openai/gpt-4o-mini", ("gpt-4o-mini", "openai_compatible", "openai", "gpt-4o-mini")),
        ("google/gemini-2.5-flash", ("gemini-2.5-flash", "openai_compatible", "gemini", "gemini-2.5-flash")),
        ("anthropic/claude-haiku-4-5", ("claude-haiku-4-5", "anthropic", None, "claude-haiku-4-5")),
        ("ollama/llama3.2:1b", ("llama3.2:1b", "openai_compatible", "ollama", "llama3.2:1b")),
        ("openrouter/meta/llama-3", ("llama-3", "openai_compatible", "openrouter", "meta/llama-3")),
        ("llamacpp/models/a.gguf", ("a", "llamacpp", None, "models/a.gguf")),
        ("/data/A.GGUF", ("A", "llamacpp", None, "/data/A.GGUF")),
        ("smollm2-135m-instruct", ("smollm2-135m-instruct", "llamacpp", None, "smollm2-135m-instruct")),
    ],
)
def test_a_string_names_engine_and_model(text, made):
    found = model_of_name(text)
    assert (found["name"], found["use"], found.get("preset"), found["model"]) == made


@pytest.mark.parametrize("name", sorted({*registry.names("models")} - {"function", "openai_compatible"}))
def test_every_registered_model_that_takes_a_name_is_named_by_its_own(name):
    """A package's too, with nothing to add here."""
    assert model_of_name(f"{name}/some/thing") == {"name": "thing", "use": name, "model": "some/thing"}


def test_every_provider_is_a_preset():
    """Anthropic's models are asked by its own protocol."""
    assert {*_PRESETS.values(), "anthropic"} == set(PRESETS)


@pytest.mark.parametrize("model", ["gpt-5-mini", "o3", "gpt-4o", "claude-opus-9"])
def test_no_name_decides_what_is_sent(model):
    assert model_of_name(f"openai/{model}").keys() == {"name", "use", "preset", "model"}


@pytest.mark.parametrize(
    "text", ["opnai/gpt-4o", "openai/", "mymodels/thing", "function/a", "openai_compatible/a"]
)
def test_an_unknown_provider_is_an_error_that_lists_the_known(text):
    with pytest.raises(UnknownName) as caught:
        model_of_name(text, where="--model")
    assert caught.value.where == "--model"
    assert "ollama" in str(caught.value.expected)
    assert "PROVIDER/MODEL" in str(caught.value.fix)


def test_a_study_file_takes_the_string():
    spec, _ = read_study(_STUDY | {"models": ["openai/gpt-4o-mini", "ollama/llama3.2"]})
    assert [one.name for one in spec.models] == ["gpt-4o-mini", "llama3.2"]
    assert spec.models[1].options == {"preset": "ollama", "model": "llama3.2"}
    with pytest.raises(SpecError) as caught:
        read_study(_STUDY | {"models": ["opnai/gpt-4o"]})
    assert caught.value.where == "models[0]"
