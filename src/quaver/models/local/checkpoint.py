"""Weights that transformers can load: a GGUF file, a folder, or a name on the Hugging Face hub."""

from __future__ import annotations

import copy
import hashlib
import inspect
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass, replace
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from jinja2 import TemplateError

from quaver.core.records import Decoding, Message
from quaver.errors import ModelError, QuaverError, Unavailable
from quaver.models._defaults import plain_text, turns
from quaver.models.local.extras import unfit_library
from quaver.models.local.weights import BUNDLED, digest, find_weights

Floats = npt.NDArray[np.float64]


def log_probabilities(logits: npt.NDArray[np.floating]) -> Floats:
    """The natural logarithm of the softmax over the last axis, in double precision.

    >>> log_probabilities(np.array([0.0, 0.0])).round(4)
    array([-0.6931, -0.6931])
    """
    exact = logits.astype(np.float64)
    exact -= exact.max(axis=-1, keepdims=True)
    exact -= np.log(np.exp(exact).sum(axis=-1, keepdims=True))
    return exact


def likeliest(logprobs: Floats, count: int) -> list[int]:
    """The positions of the ``count`` largest values, largest first; ties in order.

    >>> likeliest(np.array([0.1, 0.5, 0.2, 0.5]), 3)
    [1, 3, 2]
    """
    if count >= len(logprobs):
        found = np.arange(len(logprobs))
    else:
        least = np.partition(logprobs, -count)[-count]
        found = np.flatnonzero(logprobs >= least)
    return [int(place) for place in found[np.argsort(-logprobs[found], kind="stable")][:count]]


def choose(
    logits: npt.NDArray[np.floating], decoding: Decoding, uniform: float, seen: Collection[int] = ()
) -> int:
    """The next token.

    >>> choose(np.array([0.0, 2.0, 1.0]), Decoding("d", temperature=1.0, top_k=2), uniform=0.9)
    2
    """
    scores = logits.astype(np.float64)
    if decoding.repeat_penalty != 1 and seen:
        places = np.fromiter(set(seen), dtype=np.int64)
        scores[places] *= np.where(scores[places] > 0, 1 / decoding.repeat_penalty, decoding.repeat_penalty)
    if decoding.temperature == 0:
        return int(scores.argmax())
    left = _left(scores, decoding)
    masses = np.exp(log_probabilities(scores[left] / decoding.temperature))
    index = int(np.searchsorted(masses.cumsum(), uniform * masses.sum(), side="right"))
    return int(left[min(index, len(left) - 1)])


def _left(scores: Floats, decoding: Decoding) -> npt.NDArray[np.int64]:
    """The ids of the tokens that survive all cuts."""
    if not decoding.top_k and decoding.top_p >= 1 and not decoding.min_p:
        return np.arange(len(scores))
    order = np.array(likeliest(scores, decoding.top_k or len(scores)))
    masses = np.exp(log_probabilities(scores[order]))
    kept = len(order)
    if decoding.top_p < 1:
        kept = int(np.searchsorted(masses.cumsum(), decoding.top_p, side="left")) + 1
    if decoding.min_p:
        kept = min(kept, int((masses >= decoding.min_p * masses[0]).sum()))
    return np.sort(order[: max(1, kept)])


def pytorch() -> Any:
    """PyTorch, with threads that sleep while they wait for each other.

    By default they spin; if another process uses one of the cores, every step then waits for a time slice,
    and on two busy cores the model is five times slower. Takes effect on the first import.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    import torch

    return torch


@dataclass(frozen=True)
class Read:
    """The state after reading, one row per text.

    Attributes:
        cache: The model's keys and values.
        mask: Tensor of rows × tokens: 1 where there is a token, 0 for padding.
        logits: Rows × vocabulary, for the next token.
    """

    cache: Any
    mask: Any
    logits: npt.NDArray[np.floating]


class Causal:
    """A loaded model.

    Args:
        network: A causal language model of transformers.

    Raises:
        ModelError: Its architecture has no cache of keys and values.
    """

    def __init__(self, network: Any) -> None:
        self._network = network
        self._takes = set(inspect.signature(network.forward).parameters)
        if "past_key_values" not in self._takes:
            raise ModelError(
                "this architecture is not supported",
                expected="a decoder that keeps keys and values",
                found=type(network).__name__,
            )

    def read(self, texts: Sequence[Sequence[int]]) -> Read:
        """Read texts (lists of tokens) as a batch."""
        torch = pytorch()

        width = max(len(text) for text in texts)
        tokens = torch.zeros((len(texts), width), dtype=torch.long)
        mask = torch.zeros_like(tokens)
        for row, text in enumerate(texts):
            tokens[row, width - len(text) :] = torch.tensor(text)
            mask[row, width - len(text) :] = 1
        cache, logits = self._forward(tokens, mask, None)
        return Read(cache, mask, logits[:, 0])

    def go_on(self, read: Read, tokens: Sequence[int]) -> Read:
        """Read one more token in each row. The cache of ``read`` is consumed."""
        torch = pytorch()

        new = torch.tensor(tokens).unsqueeze(1)
        mask = torch.cat([read.mask, torch.ones_like(new)], dim=1)
        cache, logits = self._forward(new, mask, read.cache)
        return Read(cache, mask, logits[:, 0])

    def keep(self, read: Read, rows: Sequence[int]) -> Read:
        """Select rows, in this order and possibly repeated. The cache of ``read`` is consumed."""
        torch = pytorch()

        places = torch.tensor(rows)
        if list(rows) != list(range(len(read.mask))):
            read.cache.batch_select_indices(places.to(self._network.device))
        return Read(read.cache, read.mask[places], read.logits[list(rows)])

    def take(self, read: Read, rows: Sequence[int]) -> Read:
        """Like ``keep``, but ``read`` remains usable."""
        return self.keep(replace(read, cache=copy.deepcopy(read.cache)), rows)

    def likelihoods(self, read: Read, texts: Sequence[Sequence[int]], ends: Sequence[int] = ()) -> Floats:
        """The log-likelihood of each text (a list of tokens) after a single row.

        Returns:
            The sum of each text's token log-probabilities.
        """
        first = log_probabilities(read.logits[0])
        result = np.array([first[text[0]] for text in texts])
        before = [text if ends else text[:-1] for text in texts]
        width = max(len(text) for text in before)
        if not width:
            return result
        after = log_probabilities(self._after(read, before, width))
        for row, text in enumerate(texts):
            result[row] += sum(after[row, index, token] for index, token in enumerate(text[1:]))
            if ends:
                result[row] += np.logaddexp.reduce(after[row, len(text) - 1, list(ends)])
        return result

    def _after(self, read: Read, texts: Sequence[Sequence[int]], width: int) -> npt.NDArray[np.floating]:
        """The logits after every token of texts that follow the one row, padded on the right."""
        torch = pytorch()

        tokens = torch.zeros((len(texts), width), dtype=torch.long)
        new = torch.zeros_like(tokens)
        for row, text in enumerate(texts):
            tokens[row, : len(text)] = torch.tensor(text)
            new[row, : len(text)] = 1
        several = self.take(read, [0] * len(texts))
        _, logits = self._forward(tokens, torch.cat([several.mask, new], dim=1), several.cache, keep=width)
        return logits

    def _forward(
        self, tokens: Any, mask: Any, cache: Any, keep: int = 1
    ) -> tuple[Any, npt.NDArray[np.floating]]:
        """The cache, and the logits after the last ``keep`` tokens: rows × tokens × vocabulary."""
        torch = pytorch()

        device = self._network.device
        places = (mask.cumsum(dim=1) - 1).clamp(min=0)[:, -tokens.shape[1] :]
        given = {"position_ids": places.to(device), "logits_to_keep": keep}
        with torch.no_grad():
            out = self._network(
                input_ids=tokens.to(device),
                attention_mask=mask.to(device),
                past_key_values=cache,
                use_cache=True,
                **{name: value for name, value in given.items() if name in self._takes},
            )
        return out.past_key_values, out.logits[:, -keep:].float().cpu().numpy()


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

    @cached_property
    def tokenizer(self) -> Any:
        """The model's tokenizer."""
        pytorch()
        from transformers import AutoTokenizer

        with _loading(self.name):
            return AutoTokenizer.from_pretrained(**self.source)

    def tokens(self, messages: Sequence[Message]) -> list[int]:
        """A prompt as tokens, as servers of such a model tokenize it."""
        plain = plain_text(messages)
        text = chat_text(self.tokenizer, messages, self.name) if plain is None else plain
        tokens: list[int] = self.tokenizer(text, add_special_tokens=plain is not None)["input_ids"]
        return tokens

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


def load_network(checkpoint: Checkpoint, dtype: str, device: str) -> Any:
    """Load a model's weights onto a device."""
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
    """A prompt as one text, by the model's chat template."""
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
