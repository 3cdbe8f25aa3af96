"""Writes the bundled model as a folder that vLLM serves: its weights unpacked to float32.

    .venv-heavy/bin/python -m benchmarks.checkpoint FOLDER
    vllm serve FOLDER --served-model-name smollm2-135m-instruct --dtype float32 --max-model-len 2048

vLLM is installed apart, as it wants to have its own torch; a build for processors will do.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.local_engines import unpack

if __name__ == "__main__":
    unpack(Path(sys.argv[1]))
