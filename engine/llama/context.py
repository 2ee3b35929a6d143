"""A context of llama.cpp."""

from __future__ import annotations

from typing import Any

from engine.capi.context import GGML_TYPES, CContext, ContextOptions
from engine.capi.model import CModel
from engine.llama.library import lib, log
from engine.stop import StopFlag

FLASH_ATTENTION = {"auto": -1, "off": 0, "on": 1}


class Context(CContext):
    def __init__(self, model: CModel, options: ContextOptions, stop: StopFlag) -> None:
        super().__init__(lib, log, model, options, context_params(options), stop)


def context_params(options: ContextOptions) -> Any:
    """llama_context_params for `options`, the same for a real context and a dry one."""
    params = lib.llama_context_default_params()
    params.n_ctx = options.n_ctx
    params.n_batch = params.n_ubatch = options.n_batch
    params.n_outputs_max = options.max_rows
    params.n_threads = params.n_threads_batch = options.threads
    params.n_seq_max = options.sequences
    params.kv_unified = True
    params.type_k = params.type_v = GGML_TYPES[options.kv_type]
    # Quantised values can be read by flash attention only.
    params.flash_attn_type = FLASH_ATTENTION["auto" if options.kv_type == "f16" else "on"]
    params.no_perf = True
    return params
