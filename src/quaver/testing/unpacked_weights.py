"""The embedded model as a folder, for engines that read no GGUF file: its weights unpacked to float32."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from quaver.models.local.weights import find_weights


@cache
def _folder() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="quaver-unpacked-")


def unpacked_smollm2() -> Path:
    """The folder, made when it is first asked for and removed at the end of the process."""
    folder = Path(_folder().name)
    if not (folder / "config.json").is_file():
        unpack(folder)
    return folder


def unpack(folder: Path) -> None:
    """Write weights, tokenizer and chat template."""
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()
    packed = find_weights("smollm2-135m-instruct")
    source = {"pretrained_model_name_or_path": str(packed.parent), "gguf_file": packed.name}
    model = AutoModelForCausalLM.from_pretrained(**source, dtype="float32")
    # What was packed is unpacked now, which transformers does not take note of and so refuses to write.
    model.hf_quantizer, model.is_quantized = None, False
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(**source).save_pretrained(folder)
