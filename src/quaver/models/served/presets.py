"""The servers that ``openai_compatible`` knows by name, with their addresses and features.

A preset lists what its server is documented to honour. Before a study relies on a feature, a probe tests it
(``served.probe``), so that an outdated preset is noticed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

from quaver.core.model import Abilities

Choice = Literal["structured_outputs", "grammar", "regex", "json_schema", "none"]
"""How a server is restricted to one of several answers.

``structured_outputs`` is vLLM's ``{"choice": [...]}``, ``grammar`` llama.cpp's GBNF, ``regex`` SGLang's, and
``json_schema`` a schema with one key whose values are the answers.
"""

_ALL = {"top_p": "top_p", "top_k": "top_k", "min_p": "min_p", "stop": "stop"}
_FEW = {"top_p": "top_p", "stop": "stop"}
_COMPLETION = "max_completion_tokens"


@dataclass(frozen=True, slots=True)
class Preset:
    """A kind of server.

    Attributes:
        base_url: Its address, up to and including ``/v1``; empty if the study must give it.
        key: The environment variable that holds its key; empty if it takes none.
        needs_key: Whether it refuses to answer without a key.
        logprobs: Maximum number of log-probabilities per position.
        choice: How it is restricted to a choice.
        schema: Whether it can be restricted to a JSON schema.
        seed: The field for a seed; empty if it takes none.
        plain: Whether it completes a text without a chat template.
        continues: How it continues an assistant's last message: ``flag`` with vLLM's flag, ``always`` by
            itself; empty if it cannot.
        options: The options of a decoding that it honours, and the names of their fields.
        length: The field for the maximum length.
        top_k_off: The value of ``top_k`` that keeps all tokens.
        body: Fields that every request to it carries.
        batch: Whether it has OpenAI's Batch API.
        version: The path, from its root, and the key in the reply that give its version.
        local: Whether it usually runs on your own machine, for free.
        start: The command that starts it.
        effort: How much its model should think before it answers, in the provider's words; empty for its own
            default. This and what follows is what a study file says of every request.
        thinking: Tokens for thinking, ``adaptive``, or 0 where nothing is said of it.
        cache: Whether prompts are marked for Anthropic's cache.
    """

    base_url: str
    key: str = ""
    needs_key: bool = False
    logprobs: int = 0
    choice: Choice = "none"
    schema: bool = False
    seed: str = ""
    plain: bool = False
    continues: Literal["", "flag", "always"] = ""
    options: Mapping[str, str] = field(default_factory=lambda: _FEW)
    length: str = "max_tokens"
    top_k_off: int = 0
    body: Mapping[str, object] = field(default_factory=dict)
    batch: bool = False
    version: tuple[str, str] | None = None
    local: bool = False
    start: str = ""
    effort: str = ""
    thinking: int | str = 0
    cache: bool = False

    def abilities(self) -> Abilities:
        """What a study may ask of it."""
        return Abilities(
            logprobs=self.logprobs,
            constraint=self.choice != "none",
            seed=bool(self.seed),
            system=True,
            decoding=frozenset(self.options),
            continues=bool(self.continues),
            local=self.local,
            plain=self.plain,
            schema=self.schema,
        )


_OWN = _ALL | {"repeat_penalty": "repetition_penalty"}

_service = partial(Preset, needs_key=True, choice="json_schema", schema=True)
_local = partial(Preset, local=True)

_OPENAI = _service(
    "https://api.openai.com/v1",
    "OPENAI_API_KEY",
    logprobs=20,
    seed="seed",
    length=_COMPLETION,
    batch=True,
)

ANY = Preset("", key="", options={})
"""A server of which nothing is known except that it speaks the protocol."""

PRESETS: Mapping[str, Preset] = {
    "openai": _OPENAI,
    "azure": replace(_OPENAI, base_url="", key="AZURE_OPENAI_API_KEY", batch=False),
    "anthropic": Preset("https://api.anthropic.com/v1", "ANTHROPIC_API_KEY", needs_key=True),
    "gemini": _service(
        "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"
    ),
    "mistral": _service("https://api.mistral.ai/v1", "MISTRAL_API_KEY", seed="random_seed"),
    "deepseek": Preset("https://api.deepseek.com", "DEEPSEEK_API_KEY", needs_key=True, logprobs=20),
    "groq": _service("https://api.groq.com/openai/v1", "GROQ_API_KEY", seed="seed", length=_COMPLETION),
    "together": _service(
        "https://api.together.xyz/v1", "TOGETHER_API_KEY", seed="seed", plain=True, options=_OWN
    ),
    "openrouter": _service(
        "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", logprobs=20, seed="seed", options=_OWN,
        body={"provider": {"require_parameters": True}},
    ),
    "vllm": _local(
        "http://localhost:8000/v1", "VLLM_API_KEY", logprobs=20, choice="structured_outputs", schema=True,
        seed="seed", plain=True, continues="flag", options=_OWN, version=("/version", "version"),
        start="vllm serve MODEL"
    ),
    "sglang": _local(
        "http://localhost:30000/v1", "SGLANG_API_KEY", logprobs=20, choice="regex", schema=True,
        plain=True, continues="flag", options=_OWN, top_k_off=-1, version=("/get_server_info", "version"),
        start="python -m sglang.launch_server --model-path MODEL"
    ),
    "ollama": _local(
        "http://localhost:11434/v1", "OLLAMA_API_KEY", logprobs=20, choice="json_schema", schema=True,
        seed="seed", plain=True, version=("/api/version", "version"), start="ollama serve",
    ),
    "llamacpp_server": _local(
        "http://localhost:8080/v1", "LLAMA_API_KEY", logprobs=500, choice="grammar", schema=True, seed="seed",
        plain=True, continues="always", options=_ALL | {"repeat_penalty": "repeat_penalty"},
        version=("/props", "build_info"), start="llama-server -m MODEL.gguf --jinja"
    ),
    "lm_studio": _local(
        "http://localhost:1234/v1", "LM_API_TOKEN", choice="json_schema", schema=True, seed="seed",
        plain=True, start="lms server start",
        options={"top_p": "top_p", "top_k": "top_k", "stop": "stop", "repeat_penalty": "repeat_penalty"},
    ),
    "gpt4all_server": _local(
        "http://localhost:4891/v1", options={"top_p": "top_p", "min_p": "min_p"},
        start="GPT4All, Settings, Application, Advanced: Enable Local API Server",
    ),
}  # fmt: skip
"""The presets by name."""
