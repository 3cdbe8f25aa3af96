"""Weights that transformers can load: a GGUF file, a folder, or a name on the Hugging Face hub."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from quaver.errors import Unavailable
from quaver.models.local.weights import BUNDLED, digest, find_weights

_HUB = re.compile(r"[\w.-]+(/[\w.-]+)?")
_FILES = ("*.safetensors", "*.bin", "*.json", "*.txt", "*.model", "*.jinja")


class Checkpoint:
    """The location of a model's weights.

    Args:
        model: A bundled model's name, the path of a GGUF file or of a folder, or a name on the hub.
        revision: Branch, tag or commit of a name on the hub.

    Raises:
        Unavailable: There is no such file or folder, and it cannot be a name on the hub.
    """

    def __init__(self, model: str, revision: str | None = None) -> None:
        self.name, self._revision = model, revision
        self._path = _path(model)

    @cached_property
    def commit(self) -> str | None:
        """The commit of a name on the hub: that of the local copy, otherwise the newest."""
        if self._path is not None:
            return None
        return _commit(self.name, self._revision)

    @cached_property
    def identity(self) -> str:
        """A hash of the weights, or their commit."""
        if self._path is None:
            return f"hub:{self.name}@{self.commit}"
        if self.packed:
            return f"sha256:{digest(self.packed)}"
        whole = hashlib.sha256()
        for path in sorted(path for pattern in _FILES for path in self._path.glob(pattern)):
            whole.update(f"{path.name} {digest(path)}\n".encode())
        return f"sha256:{whole.hexdigest()}"

    @property
    def packed(self) -> Path | None:
        """The file of a model that is a single one, in GGUF's format."""
        return self._path if self._path is not None and self._path.is_file() else None

    @property
    def source(self) -> Mapping[str, Any]:
        """Arguments for ``from_pretrained``."""
        if self._path is None:
            return {"pretrained_model_name_or_path": self.name, "revision": self.commit}
        if self.packed:
            return {"pretrained_model_name_or_path": str(self.packed.parent), "gguf_file": self.packed.name}
        return {"pretrained_model_name_or_path": str(self._path)}


def _path(model: str) -> Path | None:
    folder = Path(model).expanduser()
    if folder.is_dir():
        if (folder / "config.json").is_file():
            return folder
        raise Unavailable(
            "there is no model in this folder",
            where=str(folder),
            expected="config.json, weights and a tokenizer, as save_pretrained writes them",
        )
    if model in BUNDLED or model.lower().endswith(".gguf") or not _HUB.fullmatch(model):
        return find_weights(model)
    return None


def _commit(name: str, revision: str | None) -> str:
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled

    try:
        return Path(snapshot_download(name, revision=revision, local_files_only=True)).name
    except LocalEntryNotFoundError:
        pass
    try:
        return str(HfApi().model_info(name, revision=revision, timeout=20).sha)
    except (HfHubHTTPError, OfflineModeIsEnabled, OSError, RuntimeError) as error:
        raise Unavailable(
            f"there is no model {name!r}, here or on the hub",
            expected="a bundled model's name, a GGUF file, a folder, or a name on the Hugging Face hub",
            found=str(error).partition("\n")[0][:300],
            fix="check the name; without access to the hub, give the folder of a copy",
        ) from error
