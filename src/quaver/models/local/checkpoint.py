"""Weights that transformers can load: a GGUF file, a folder, or a name on the Hugging Face hub."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import Any

from jinja2 import TemplateError

from quaver.core.records import Message
from quaver.errors import ModelError, QuaverError, Unavailable
from quaver.models._defaults import turns
from quaver.models.local.causal import pytorch
from quaver.models.local.extras import unfit_library
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


_TURN_ENDS = ("<|im_end|>", "<end_of_turn>", "<|eot_id|>", "<|end|>", "<|endoftext|>", "<|end_of_text|>")
"""Tokens that end a turn; a GGUF file names only the one that ends a text."""


def load_tokenizer(checkpoint: Checkpoint) -> Any:
    """Load a model's tokenizer.

    Raises:
        ModelError: It cannot be loaded.
    """
    pytorch()
    from transformers import AutoTokenizer

    with _loading(checkpoint.name):
        return AutoTokenizer.from_pretrained(**checkpoint.source)


def load_network(checkpoint: Checkpoint, dtype: str, device: str) -> Any:
    """Load a model's weights onto a device.

    Raises:
        ModelError: They cannot be loaded.
    """
    torch = pytorch()
    from transformers import AutoModelForCausalLM

    with _loading(checkpoint.name):
        network = AutoModelForCausalLM.from_pretrained(**checkpoint.source, dtype=getattr(torch, dtype))
        return network.to(device).eval()


def ends_of(network: Any, tokenizer: Any) -> list[int]:
    """The tokens that end an answer: those that the model names, and those of common chat formats."""
    named = network.generation_config.eos_token_id
    ends = {tokenizer.eos_token_id, *(named if isinstance(named, list) else [named])}
    known = tokenizer.get_vocab()
    ends |= {known.get(end) for end in _TURN_ENDS}
    return sorted(end for end in ends if end is not None)


def chat_text(tokenizer: Any, messages: Sequence[Message], name: str) -> str:
    """A prompt as one text, by the model's chat template.

    Raises:
        ModelError: The model has no template, or the template does not take these messages.
    """
    if not tokenizer.chat_template:
        raise ModelError(
            f"{name} has no chat template",
            expected="a model that was tuned to chat",
            fix="ask a base model in plain text: `frame: plain` under prompt",
        )
    said = turns(messages)
    goes_on = said[-1]["role"] == "assistant"
    try:
        text: str = tokenizer.apply_chat_template(
            said, tokenize=False, add_generation_prompt=not goes_on, continue_final_message=goes_on
        )
    except (TemplateError, ValueError) as error:
        raise ModelError(
            f"the chat template of {name} does not take these messages",
            expected=", ".join(turn["role"] for turn in said),
            found=str(error)[:300],
            fix="move the system message into the instruction",
        ) from error
    return text


@contextmanager
def _loading(name: str) -> Iterator[None]:
    """Silence transformers while it loads, and translate its failures."""
    from transformers.utils import logging

    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with redirect_stderr(StringIO()):  # for a progress bar that nothing else turns off
            yield
    except QuaverError:
        raise
    except Exception as error:  # damaged checkpoints fail in many ways
        raise ModelError(
            f"transformers cannot load {name}",
            expected="a causal language model with its tokenizer, and memory for it",
            found=f"{type(error).__name__}: {error}"[:300],
            fix=unfit_library(error),
        ) from error
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
