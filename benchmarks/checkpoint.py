"""Writes the bundled model as a folder that vLLM serves: its weights unpacked to float32.

    .venv-heavy/bin/python -m benchmarks.checkpoint FOLDER
    vllm serve FOLDER --served-model-name smollm2-135m-instruct --dtype float32 --max-model-len 2048

vLLM is installed apart, as it wants to have its own torch; a build for processors will do.
"""

from __future__ import annotations

import sys

from transformers import AutoModelForCausalLM, AutoTokenizer

from quaver.models.local.weights import find_weights


def unpack(folder: str) -> None:
    """Write weights, tokenizer and chat template."""
    packed = find_weights("smollm2-135m-instruct")
    source = {"pretrained_model_name_or_path": str(packed.parent), "gguf_file": packed.name}
    model = AutoModelForCausalLM.from_pretrained(**source, dtype="float32")
    # What was packed is unpacked now, which transformers does not take note of and so refuses to write.
    model.hf_quantizer, model.is_quantized = None, False
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(**source).save_pretrained(folder)


if __name__ == "__main__":
    unpack(sys.argv[1])
