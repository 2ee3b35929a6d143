"""What llama.cpp runs: a model's file that it loaded or quantised, the contexts that compute, and a file's exact sizes.

llama.cpp has no C function for sizes: it loads a model without allocating and logs what it would take. Such a dry load
reads header and vocabulary only (0.1 to 0.25 s), a dry context takes some 4 ms. Sizes are logged in MiB with two
decimals: exact to 5 KiB a line.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from common.failures import Failure
from engine.protocol import FlashAttention, KVType
from engine.runtime.capi.context import GGML_TYPES, Batch, CContext
from engine.runtime.capi.library import AbortCallback
from engine.runtime.capi.model import CDryModel, CModel, ModelFile, logged
from engine.runtime.capi.runtime import CRuntime
from engine.runtime.contexts import MAX_LOGITS, ContextOptions, ContextSizes, WeightSizes, goes_with
from engine.runtime.llama.library import is_stopped, lib, log, opened
from engine.runtime.llama.repack import HEAD, repacked_sizes
from engine.stop import StopFlag

LOAD_READ, LOAD_MMAP = 0, 1  # llama_load_mode
ALIGNMENT = 32  # bytes: TENSOR_ALIGNMENT of ggml, which aborts the process where a mapping's first tensor has another
# Sliding windows and recurrent layers have caches of their own, a line each. An unallocated "KV buffer size" is 0.
KV = re.compile(r"llama_(?:kv_cache|memory_recurrent)\w*: size = +([\d.]+) MiB")
DSV4_STATE = re.compile(r"DSV4 .* state = .* size = +([\d.]+) MiB")
COMPUTE = re.compile(r"compute buffer size = +([\d.]+) MiB")
OUTPUT = re.compile(r"output buffer size = +([\d.]+) MiB")


class Model(CModel):
    """Loads `file`; `progress` gets the loaded fraction and returns False to stop the loading (raises Stopped).

    `repack`: keep a copy of the weights in the order this processor computes fastest (1.2 times as fast). `mmap`: map
    the file instead of reading it; mapped weights stay resident beside their repacked copy, read ones do not. `dry`:
    header and vocabulary only; such a model cannot run.
    """

    def __init__(
        self,
        file: ModelFile,
        progress: Callable[[float], bool] = lambda _fraction: True,
        *,
        repack: bool = True,
        mmap: bool = True,
        dry: bool = False,
    ) -> None:
        params = lib.llama_model_default_params()
        params.n_gpu_layers = 0
        params.use_extra_bufts = repack
        params.load_mode = LOAD_MMAP if mmap and not dry else LOAD_READ
        params.no_alloc = dry
        super().__init__(lib, log, "llama.cpp", file, params, progress)

    def adapt(self, params: Any) -> None:
        """Some files keep their weights closer together than ggml wants them in a mapping."""
        for part in self.parts:
            if any((part.data_offset + tensor.offset) % ALIGNMENT for tensor in part.tensors):
                params.load_mode = LOAD_READ


def quantise(source: Path, path: Path, file_type: int, threads: int) -> None:
    """`file_type`: llama.cpp's number for a kind of quantisation (llama_ftype). Raises Failure."""
    params = opened().llama_model_quantize_default_params()
    params.ftype, params.nthread = file_type, threads
    with log.errors() as errors:
        result = opened().llama_model_quantize(str(source).encode(), str(path).encode(), ctypes.byref(params))
    if result:
        raise Failure("not_quantised.by_llama", "\n".join(errors), name=source.name)


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


class DryModel(CDryModel):
    """Implements `DrySizes`. Raises Failure for a file that is no chat model, as loading it would."""

    def __init__(self, file: ModelFile, flash_attention: FlashAttention = "auto") -> None:
        super().__init__(Model(file, dry=True))
        self.flash_attention = flash_attention
        self.weights = self._weights()
        self._contexts: dict[ContextOptions, ContextSizes | None] = {}

    def _weights(self) -> WeightSizes:
        copies = repacked_sizes(self.model.header)
        tied = HEAD in copies and HEAD not in {tensor.name for tensor in self.model.header.tensors}
        replaced = sum(copies.values()) - (copies[HEAD] if tied else 0)  # a tied head's file tensor is still looked up
        file = self.model.size_bytes
        return WeightSizes(file=file, repacked=sum(copies.values()), plain=max(0, file - replaced))

    def context(
        self, n_ctx: int, kv_type: KVType = "f16", n_batch: int = 512, max_logits: int = MAX_LOGITS
    ) -> ContextSizes | None:
        """See `engine.runtime.contexts.Sizes`."""
        if not goes_with(self.flash_attention, kv_type):
            return None
        options = ContextOptions(n_ctx, 1, n_batch, max_logits, kv_type, flash_attention=self.flash_attention)
        if options not in self._contexts:
            self._contexts[options] = self._measure(options)
        return self._contexts[options]

    def _measure(self, options: ContextOptions) -> ContextSizes | None:
        with log.lines() as lines:
            context = lib.llama_init_from_model(self.model.pointer, context_params(options))
        if not context:
            return None
        lib.llama_free(context)
        return parse(lines)


def parse(lines: Iterable[str]) -> ContextSizes:
    """Sizes in bytes from what llama.cpp logs while it makes a context."""
    text = "\n".join(lines)
    if not COMPUTE.search(text):
        raise RuntimeError(f"llama.cpp no longer logs its buffer sizes as expected:\n{text}")
    return ContextSizes(logged(KV, text) + logged(DSV4_STATE, text), logged(COMPUTE, text), logged(OUTPUT, text))
