"""llama.cpp's HTTP server with the bundled model, started once for all tests that ask it."""

from __future__ import annotations

from functools import cache
from typing import Any

from quaver.models.local.cores import cores, spin_briefly
from quaver.models.local.weights import find_weights

NAME = "smollm2-135m-instruct"
CONTEXT = 256
SLOTS = 4


def started(*, context: int = CONTEXT, slots: int = SLOTS) -> Any:
    """A server of one's own; it ends when it is let go of."""
    spin_briefly()
    import xllamacpp

    flash = xllamacpp.llama_flash_attn_type
    params = xllamacpp.CommonParams()
    params.model.path = str(find_weights(NAME))
    params.n_parallel, params.n_ctx = slots, context * slots
    params.flash_attn_type = flash.LLAMA_FLASH_ATTN_TYPE_DISABLED
    params.kv_unified = False
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = cores() or -1
    params.warmup = False
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = cores() or -1
    params.verbosity = -1
    return xllamacpp.Server(params)


@cache
def _shared() -> Any:
    return started()


def base_url() -> str:
    """The address of the server that the tests share."""
    return f"{_shared().listening_address}/v1"
