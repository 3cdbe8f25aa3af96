"""``provider/model``: one string for a model, as other tools write it, in place of its engine and options."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from quaver.errors import UnknownName

_PRESETS: Final[Mapping[str, str]] = {
    "openai": "openai",
    "azure": "azure",
    "anthropic": "anthropic",
    "google": "gemini",
    "gemini": "gemini",
    "mistral": "mistral",
    "deepseek": "deepseek",
    "groq": "groq",
    "together": "together",
    "together_ai": "together",
    "openrouter": "openrouter",
    "ollama": "ollama",
    "ollama_chat": "ollama",
    "vllm": "vllm",
    "hosted_vllm": "vllm",
    "sglang": "sglang",
    "lm_studio": "lm_studio",
    "llamacpp_server": "llamacpp_server",
    "gpt4all_server": "gpt4all_server",
}
"""The preset of ``openai_compatible`` by the provider's name here and in other tools."""

_ENGINES: Final[Mapping[str, str]] = {
    "llamacpp": "llamacpp",
    "hf": "transformers",
    "transformers": "transformers",
    "gpt4all": "gpt4all",
    "inspect": "inspect",
}
"""The engine that loads the model itself, or that knows more providers."""

PROVIDERS: Final = (*_PRESETS, *_ENGINES)
"""What may stand before the first slash."""

_REFUSES_TEMPERATURE = re.compile(r"gpt-5(?!.*chat)|o\d")
"""OpenAI's reasoning models, by the beginning of their names."""


def model_of_name(text: str, where: str = "model") -> dict[str, Any]:
    """What would stand in a study file for a model that is written as one string.

    Args:
        text: ``provider/model``, the path of a GGUF file, or the name of the bundled model.
        where: Where the string stands, for the error.

    Returns:
        The model's name in the study, its engine and the engine's options.

    Raises:
        UnknownName: There is no such provider.

    >>> model_of_name("ollama/llama3.2")
    {'name': 'llama3.2', 'use': 'openai_compatible', 'preset': 'ollama', 'model': 'llama3.2'}
    >>> model_of_name("models/mine.gguf")
    {'name': 'mine', 'use': 'llamacpp', 'model': 'models/mine.gguf'}
    """
    provider, slash, model = text.partition("/")
    if slash and model and provider in _ENGINES:
        return {"name": _short(model), "use": _ENGINES[provider], "model": model}
    if (text and not slash) or text.lower().endswith(".gguf"):
        return {"name": _short(text), "use": "llamacpp", "model": text}
    if not model or provider not in _PRESETS:
        raise UnknownName(
            "provider",
            provider,
            PROVIDERS,
            where=where,
            fix="write PROVIDER/MODEL, such as openai/gpt-5-mini",
        )
    body = {"body": {"temperature": None}} if _REFUSES_TEMPERATURE.match(_short(model)) else {}
    preset = {"use": "openai_compatible", "preset": _PRESETS[provider]}
    return {"name": _short(model), **preset, "model": model, **body}


def _short(model: str) -> str:
    """The part of a model's name that tells it apart from others in a table."""
    name = model.rstrip("/").rpartition("/")[2]
    return name[: -len(".gguf")] if name.lower().endswith(".gguf") else name
