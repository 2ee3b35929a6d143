"""A llama_context: the KV cache and compute buffers of one loaded model. Owns and frees them; knows no library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine.protocol import FlashAttention
from engine.runtime.capi.batch import SEQUENCE, Batch
from engine.runtime.capi.library import CLibrary, LibraryLog
from engine.runtime.capi.model import CModel
from engine.runtime.free_cores import free_cores
from engine.runtime.kv_mode import EXACT, KVMode
from engine.runtime.sizes import KVType
from engine.stop import StopFlag, Stopped
from models.failures import Failure

GGML_TYPES: dict[KVType, int] = {"f16": 1, "q4_0": 2, "q8_0": 8}
ABORTED, NO_MEMORY = 2, -2  # llama_decode's results
MOST_ROWS = 64


@dataclass(frozen=True, slots=True)
class ContextOptions:
    """n_ctx and n_batch in tokens; `max_rows`: most logits rows of one pass (each row is a vocabulary of floats).

    `kv_type`: how keys and values are stored; q8_0 takes 17/32 of f16, q4_0 takes 9/32 and hurts the keys. `sequences`
    share one cache: each takes the memory of a logits row and, in recurrent models, of a whole state; `apart`: they
    share no tokens, and each has its part of the cache (only llama.cpp's targets know it). `gives_way`: use
    fewer threads while other programs keep the cores busy. `kv_mode`: of our own graph. `flash_attention`: off
    needs f16."""

    n_ctx: int
    threads: int
    n_batch: int = 512
    max_rows: int = MOST_ROWS
    kv_type: KVType = "f16"
    sequences: int = 1
    apart: bool = False
    gives_way: bool = False
    kv_mode: KVMode = EXACT
    flash_attention: FlashAttention = "auto"

    def __post_init__(self) -> None:
        assert self.n_ctx > 0, self.n_ctx
        assert self.threads > 0, self.threads
        assert 0 < self.max_rows <= self.n_batch
        assert self.sequences > 0, self.sequences


class CContext:
    """`decode` runs one pass and raises Stopped when `stop` is set before it, or where the library can be interrupted,
    meanwhile. `params`: the library's for `options`."""

    def __init__(
        self, lib: CLibrary, log: LibraryLog, model: CModel, options: ContextOptions, params: Any, stop: StopFlag
    ) -> None:
        self.lib = lib
        self.options = options
        self.stop = stop
        with log.errors() as errors:
            self.pointer = lib.llama_init_from_model(model.pointer, params)
        if not self.pointer:
            sentence = f"There is not enough free memory for a context of {options.n_ctx:,} tokens. Try a smaller one."
            raise Failure("out_of_memory", sentence, "\n".join(errors))
        self.memory = lib.llama_get_memory(self.pointer)
        self.n_ctx: int = lib.llama_n_ctx(self.pointer)
        self.n_batch: int = lib.llama_n_batch(self.pointer)  # no more than the n_ctx that was asked for
        self.threads = options.threads  # of the next pass

    def decode(self, batch: Batch) -> None:
        if self.stop.is_set():
            raise Stopped
        if self.options.gives_way:
            self._use_threads(free_cores().threads(self.options.threads))
        result = self.lib.llama_decode(self.pointer, batch.raw)
        if result == ABORTED:
            raise Stopped
        if result == NO_MEMORY:
            raise MemoryError(f"llama_decode returned {result} for {batch.raw.n_tokens} tokens")
        if result != 0:
            raise RuntimeError(f"llama_decode returned {result} for {batch.raw.n_tokens} tokens")

    @property
    def is_open(self) -> bool:
        return bool(self.pointer)

    @property
    def held(self) -> int:
        """How many tokens of the chat the library says it holds."""
        return int(self.lib.llama_memory_seq_pos_max(self.memory, SEQUENCE)) + 1

    def _use_threads(self, threads: int) -> None:
        if threads != self.threads:
            self.threads = threads
            self.lib.llama_set_n_threads(self.pointer, threads, threads)

    def close(self) -> None:
        if self.pointer:
            self.lib.llama_free(self.pointer)
            self.pointer = self.memory = None
