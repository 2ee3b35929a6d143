"""A context of llama.cpp."""

from __future__ import annotations

import ctypes
from typing import Any

from engine.runtime.capi.batch import Batch
from engine.runtime.capi.context import GGML_TYPES, CContext, ContextOptions
from engine.runtime.capi.library import AbortCallback
from engine.runtime.capi.model import CModel
from engine.runtime.llama.library import is_stopped, lib, log
from engine.stop import StopFlag

FLASH_ATTENTION = {"auto": -1, "off": 0, "on": 1}

NEVER = AbortCallback()  # a null pointer


class Context(CContext):
    """`stop` interrupts it within a pass.

    But not in a step of a model that keeps one state for all tokens: all that it has read would be lost to stop so
    much sooner, and the chat be read again."""

    def __init__(self, model: CModel, options: ContextOptions, stop: StopFlag) -> None:
        self._keeps_steps = not model.can_drop
        self._flag: Any = (ctypes.c_char * 2).from_buffer(stop.text)  # keeps the bytes in place
        params = context_params(options)
        params.abort_callback = is_stopped()
        params.abort_callback_data = ctypes.addressof(self._flag)
        super().__init__(lib, log, model, options, params, stop)

    def decode(self, batch: Batch) -> None:
        if self._keeps_steps:
            ask = NEVER if batch.raw.n_tokens == 1 else is_stopped()
            lib.llama_set_abort_callback(self.pointer, ask, ctypes.addressof(self._flag))
        super().decode(batch)

    def close(self) -> None:
        super().close()
        self._flag = None


def context_params(options: ContextOptions) -> Any:
    """llama_context_params for `options`, the same for a real context and a dry one."""
    params = lib.llama_context_default_params()
    params.n_ctx = options.n_ctx
    params.n_batch = params.n_ubatch = options.n_batch
    params.n_outputs_max = options.max_rows
    params.n_threads = params.n_threads_batch = options.threads
    params.n_seq_max = options.sequences
    params.kv_unified = not options.apart
    params.type_k = params.type_v = GGML_TYPES[options.kv_type]
    # Quantised values can be read by flash attention only.
    params.flash_attn_type = FLASH_ATTENTION[options.flash_attention if options.kv_type == "f16" else "on"]
    params.no_perf = True
    return params
