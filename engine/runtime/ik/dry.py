"""A model file's sizes on ik_llama.cpp, without its weights, from what the library logs.

A dry load reads header and vocabulary and reserves addresses for the weights, which it leaves untouched (0.1 to 0.3 s).
A dry context is a real one, its cache filled with zeros, so only the smallest are made (10 to 20 ms) and the rest is
worked out:

- keys and values: cells are alike in all layers, so two sizes tell them all;
- compute buffers: what 512 cells take, the mask of attention, a 16-bit number for each cell and token of a pass, and
  the nodes of the graph, which are not logged: 26 MiB, seen in the process's memory, the same for any model.
  The library shares memory between the two, so this is up to 5 MiB too much (512 tokens, 8,192 cells: 17.1 MiB for
  13.3 with SmolLM2-135M, 36.1 for 31.5 with Qwen2.5-1.5B), never too little. Without flash attention a layer's
  scores, 4 bytes for each cell, token and head, their mask, and two of a pass's vectors take the place of the rest once
  they are larger. Beside them what an output head takes that is read in two parts (3 MB with Qwen2.5-1.5B).
"""

from __future__ import annotations

import re

from engine.machine import give_back_memory
from engine.protocol import FlashAttention, KVType
from engine.runtime.capi.model import MIB, CDryModel, ModelFile, logged
from engine.runtime.contexts import (
    MAX_LOGITS,
    SMALLEST,
    STEP,
    ContextOptions,
    ContextSizes,
    WeightSizes,
    goes_with,
)
from engine.runtime.ik.library import lib, log
from engine.runtime.ik.runtime import IkModel, context_params, largest_pass, room_bytes
from models.shapes import shapes_of

WEIGHTS = re.compile(r"llm_load_tensors: .* buffer size = +([\d.]+) MiB")
KV = re.compile(r"KV buffer size = +([\d.]+) MiB")
COMPUTE = re.compile(r"compute buffer size = +([\d.]+) MiB")
MASK = 2  # bytes for a cell and a token
MASK_ROWS = 32  # without flash attention the mask has a multiple of so many, 4 bytes for a cell and a row
FLOAT = 4  # bytes
GRAPH = 26 * MIB


class IkDryModel(CDryModel):
    """Implements `DrySizes`. Raises Failure for a file that is no chat model, as loading it would."""

    def __init__(self, file: ModelFile, flash_attention: FlashAttention = "auto") -> None:
        with log.lines() as lines:
            super().__init__(IkModel(file, dry=True))
        self.flash_attention = flash_attention
        self.weights = weights(lines)
        self._contexts: dict[tuple[int, KVType, tuple[int, int]], tuple[int, int] | None] = {}

    def context(
        self, n_ctx: int, kv_type: KVType = "f16", n_batch: int = 512, max_logits: int = MAX_LOGITS
    ) -> ContextSizes | None:
        """See `engine.runtime.contexts.Sizes`."""
        if not goes_with(self.flash_attention, kv_type):
            return None
        n_batch = min(n_batch, largest_pass(self.header), n_ctx)
        passes = n_batch, min(max_logits, n_batch)
        less, more = (self._measured(cells, kv_type, passes) for cells in (STEP, SMALLEST))
        if less is None or more is None:
            return None
        cells = -(-n_ctx // STEP) * STEP
        kv = more[0] + (more[0] - less[0]) * (cells - SMALLEST) // (SMALLEST - STEP)
        mask = max(0, cells - SMALLEST) * n_batch * MASK
        compute = max(more[1] + mask, self._scores(cells, n_batch))
        return ContextSizes(kv, compute + GRAPH + room_bytes(self.header), self.n_vocab * 4)

    def _scores(self, cells: int, n_batch: int) -> int:
        """Bytes of a compute buffer that attention without flash attention fills; with it there is none."""
        if self.flash_attention != "off":
            return 0
        shapes = shapes_of(self.header)
        rows = n_batch * shapes.heads + -(-n_batch // MASK_ROWS) * MASK_ROWS
        return FLOAT * (rows * cells + 2 * n_batch * shapes.embedding)

    def _measured(self, cells: int, kv_type: KVType, passes: tuple[int, int]) -> tuple[int, int] | None:
        """Bytes of keys and values, and of compute buffers; None when the model cannot have such a cache. `passes`:
        tokens and rows of logits of the largest."""
        key = (cells, kv_type, passes)
        if key not in self._contexts:
            options = ContextOptions(cells, 1, *passes, kv_type, flash_attention=self.flash_attention)
            self._contexts[key] = self._measure(options)
        return self._contexts[key]

    def _measure(self, options: ContextOptions) -> tuple[int, int] | None:
        with log.lines() as lines:
            context = lib.llama_init_from_model(self.model.pointer, context_params(options))
        if not context:
            return None
        lib.llama_free(context)
        text = "\n".join(lines)
        if not COMPUTE.search(text) or not KV.search(text):
            raise RuntimeError(f"ik_llama.cpp no longer logs its buffer sizes as expected:\n{text}")
        return logged(KV, text), logged(COMPUTE, text)

    def close(self) -> None:
        """Close the file, and give its memory back to the system."""
        super().close()
        give_back_memory()


def weights(lines: list[str]) -> WeightSizes:
    """Of what a load logged: all weights, a head that shares the embeddings' once more. No copy is made of them."""
    size = logged(WEIGHTS, "\n".join(lines))
    if not size:
        raise RuntimeError("ik_llama.cpp no longer logs the weights' size as expected")
    return WeightSizes(file=size, repacked=size, plain=0, in_place=True)
