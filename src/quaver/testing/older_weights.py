"""The embedded model for engines that are older than it is."""

from __future__ import annotations

import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from quaver.models.local.weights import find_weights

FOLDER = TemporaryDirectory(prefix="quaver-older-")


@lru_cache
def _older(name: str) -> Path:
    """A copy that says it splits texts as GPT-2 does, which differs in rare places alone."""
    path = Path(FOLDER.name) / f"{name}.gguf"
    script = [sys.executable, "-m", "gguf.scripts.gguf_new_metadata", "--force", "--pre-tokenizer", "gpt-2"]
    weights = str(find_weights("smollm2-135m-instruct"))
    subprocess.run([*script, "--general-name", name, weights, str(path)], check=True, capture_output=True)
    return path


def older_smollm2() -> dict[str, Any]:
    """Options of an engine that loads the copy."""
    return {"model": str(_older("one")), "context": 256}


def another_older() -> dict[str, Any]:
    """Options of the same with other bytes in the file."""
    return {"model": str(_older("other")), "context": 256}
