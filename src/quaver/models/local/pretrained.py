"""Tokenizers and networks that transformers loads, their failures as Quaver's errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from io import StringIO
from typing import Any

from jinja2 import TemplateError

from quaver.core.records import Message
from quaver.errors import ModelError, QuaverError
from quaver.models._prompts import turns
from quaver.models.local.causal import pytorch
from quaver.models.local.checkpoint import Checkpoint
from quaver.models.local.extras import unfit_library

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
