"""A model file's sizes on ik_llama.cpp, without its weights, from what the library logs.

A dry load reads header and vocabulary, and reserves addresses for the weights without touching them (0.1 to 0.3 s). A
dry context is a real one with its cache filled with zeros. So only the two smallest are made (10 to 20 ms each), and
the rest is computed:

- Keys and values: cells are alike in all layers, so two sizes determine all others.
- Compute buffers: the bytes of 512 cells, plus the attention mask, a 16-bit number for each cell and each token of a
  pass, plus the nodes of the graph. The nodes are not logged: 26 MiB, seen in the process's memory, for any model.
  The library shares memory between buffers and mask, so this is up to 5 MiB too much (512 tokens, 8,192 cells: 17.1 MiB
  for 13.3 with SmolLM2-135M, 36.1 for 31.5 with Qwen2.5-1.5B), never too little.
- Compute buffers without flash attention: a layer's scores (4 bytes for each cell, token and head), their mask and two
  of a pass's vectors take the place of the rest once they are larger.
- The bytes that an output head takes if it is read in two parts (3 MB with Qwen2.5-1.5B).
- The unpacked weights that each thread keeps while a prompt is read (0.9 MB with Qwen2.5-1.5B).
"""

from __future__ import annotations

import re
from functools import cache

from common.planning import DEFAULT_KV_TYPE, KVType
from engine.machine import default_threads, return_freed_memory
from engine.protocol.requests import FlashAttention
from engine.runtime.capi.model import MIB, CDryModel, ModelFile, logged_bytes
from engine.runtime.contexts import (
    CACHE_STEP,
    MAX_LOGITS,
    SMALLEST_CACHE,
    ContextOptions,
    ContextSizes,
    WeightSizes,
    supports_kv_type,
)
from engine.runtime.ik import needs
from engine.runtime.ik.library import lib, log
from engine.runtime.ik.runtime import (
    IkModel,
    context_params,
    kept_weight_bytes,
    largest_pass,
    output_head_bytes,
)
from models.shapes import shapes_of

WEIGHTS = re.compile(r"llm_load_tensors: .* buffer size = +([\d.]+) MiB")
KV = re.compile(r"KV buffer size = +([\d.]+) MiB")
COMPUTE = re.compile(r"compute buffer size = +([\d.]+) MiB")
MASK = 2  # bytes of the attention mask per cell and token
MASK_ROWS = 32  # without flash attention the mask's rows are a multiple of this, with 4 bytes per cell and row
FLOAT = 4  # bytes
GRAPH = 26 * MIB  # bytes of the graph's nodes, which the library does not log


class IkDryModel(CDryModel):
    """Sizes by ik_llama.cpp. Raises Failure for a file that is no chat model, as loading it would."""

    def __init__(self, file: ModelFile, flash_attention: FlashAttention = "auto") -> None:
        with log.lines() as lines:
            super().__init__(IkModel(file, dry=True))
        self.flash_attention = flash_attention
        self.weights = parse_weights(lines)
        self._measured = cache(self._measure)

    def context(
        self,
        n_ctx: int,
        kv_type: KVType = DEFAULT_KV_TYPE,
        n_batch: int = 512,
        max_logits: int = MAX_LOGITS,
        rollback: int = 0,  # noqa: ARG002
    ) -> ContextSizes | None:
        if not supports_kv_type(self.flash_attention, kv_type):
            return None
        n_batch = min(n_batch, largest_pass(self.header), n_ctx)
        passes = n_batch, min(max_logits, n_batch)
        small, large = (
            self._measured(ContextOptions(cells, 1, *passes, kv_type, flash_attention=self.flash_attention))
            for cells in (CACHE_STEP, SMALLEST_CACHE)
        )
        if small is None or large is None:
            return None
        cells = -(-n_ctx // CACHE_STEP) * CACHE_STEP
        kv = large[0] + (large[0] - small[0]) * (cells - SMALLEST_CACHE) // (SMALLEST_CACHE - CACHE_STEP)
        mask = max(0, cells - SMALLEST_CACHE) * n_batch * MASK
        compute = max(large[1] + mask, self._scores(cells, n_batch))
        own_code = output_head_bytes(self.header) + default_threads() * kept_weight_bytes(self.header)
        return ContextSizes(kv, compute + GRAPH + own_code, self.n_vocab * 4)

    def _scores(self, cells: int, n_batch: int) -> int:
        """Return the bytes that attention needs in a compute buffer without flash attention, 0 with flash attention."""
        if self.flash_attention != "off":
            return 0
        shapes = shapes_of(self.header)
        rows = n_batch * shapes.heads + -(-n_batch // MASK_ROWS) * MASK_ROWS
        return FLOAT * (rows * cells + 2 * n_batch * shapes.embedding)

    def _measure(self, options: ContextOptions) -> tuple[int, int] | None:
        """Return the bytes of keys and values and of compute buffers; None if the model cannot have such a cache."""
        if not needs.can_store(self.header, options.kv_type):
            return None
        with log.lines() as lines:
            context = lib.llama_init_from_model(self.model.pointer, context_params(options))
        if not context:
            return None
        lib.llama_free(context)
        text = "\n".join(lines)
        if not COMPUTE.search(text) or not KV.search(text):
            raise RuntimeError(f"ik_llama.cpp no longer logs its buffer sizes as expected:\n{text}")
        return logged_bytes(KV, text), logged_bytes(COMPUTE, text)

    def close(self) -> None:
        """Close the file and give its memory back to the system."""
        super().close()
        return_freed_memory()


def parse_weights(lines: list[str]) -> WeightSizes:
    """Return the sizes of the weights from the lines that a load logged; the library makes no copy of them.

    A head that shares the embeddings' weights is counted once more, as the library holds it twice. Raises RuntimeError
    if the lines lack the sizes.
    """
    size = logged_bytes(WEIGHTS, "\n".join(lines))
    if not size:
        raise RuntimeError("ik_llama.cpp no longer logs the weights' size as expected")
    return WeightSizes(file=size, repacked=size, plain=0, in_place=True)
