"""A model that runs on llama.cpp: its context and what passes do with it."""

from __future__ import annotations

import ctypes
from typing import Any

from engine.runtime.capi.context import GGML_TYPES, Batch, CContext
from engine.runtime.capi.library import AbortCallback
from engine.runtime.capi.model import CModel
from engine.runtime.capi.runtime import CRuntime
from engine.runtime.llama.library import is_stopped, lib, log
from engine.runtime.options import ContextOptions
from engine.stop import StopFlag

FLASH_ATTENTION = {"auto": -1, "off": 0, "on": 1}

NEVER = AbortCallback()  # a null pointer


class Interrupt:
    """What ggml is to ask after every node of a compute graph: `function`, of what is at `address`."""

    def __init__(self, stop: StopFlag) -> None:
        self.function = is_stopped()
        self._bytes: Any = (ctypes.c_char * 2).from_buffer(stop.text)  # keeps them in place
        self.address = ctypes.addressof(self._bytes)


class Context(CContext):
    """`stop` interrupts it within a pass.

    But not in a step of a model that keeps one state for all tokens: all that it has read would be lost to stop so
    much sooner, and the chat be read again. `unified`: all sequences share the cells; else each has its part."""

    def __init__(self, model: CModel, options: ContextOptions, stop: StopFlag, *, unified: bool = True) -> None:
        self._keeps_steps = not model.can_truncate
        self._interrupt: Interrupt | None = Interrupt(stop)
        params = context_params(options)
        params.kv_unified = unified
        params.abort_callback = self._interrupt.function
        params.abort_callback_data = self._interrupt.address
        super().__init__(lib, log, model, options, params, stop)

    def decode(self, batch: Batch) -> None:
        """See `CContext`."""
        if self._keeps_steps and self._interrupt:
            ask = NEVER if batch.raw.n_tokens == 1 else self._interrupt.function
            lib.llama_set_abort_callback(self.pointer, ask, self._interrupt.address)
        super().decode(batch)

    def close(self) -> None:
        """See `CContext`."""
        super().close()
        self._interrupt = None


def context_params(options: ContextOptions) -> Any:
    """llama_context_params for `options`, the same for a real context and a dry one."""
    params = lib.llama_context_default_params()
    params.n_ctx = options.n_ctx
    params.n_batch = params.n_ubatch = options.n_batch
    params.n_outputs_max = options.max_logits
    params.n_threads = params.n_threads_batch = options.threads
    params.n_seq_max = options.sequences
    params.kv_unified = True
    params.type_k = params.type_v = GGML_TYPES[options.kv_type]
    # Quantised values can be read by flash attention only.
    params.flash_attn_type = FLASH_ATTENTION[options.flash_attention if options.kv_type == "f16" else "on"]
    params.no_perf = True
    return params


class LlamaRuntime(CRuntime):
    """`CRuntime` on llama.cpp's contexts."""

    def open_context(self, options: ContextOptions) -> Context:
        """See `CRuntime`."""
        return Context(self.model, options, self.stop)
