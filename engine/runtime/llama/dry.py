"""A model file's exact sizes, without room for it: llama.cpp loads it without allocating and logs what it would take.

llama.cpp has no C function for these sizes. A dry load reads header and vocabulary only (0.1 to 0.25 s), a dry context
takes some 4 ms. Sizes are logged in MiB with two decimals: exact to 5 KiB a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from engine.protocol import FlashAttention
from engine.runtime.capi.model import CDryModel, ModelFile, logged
from engine.runtime.llama.library import lib, log
from engine.runtime.llama.repack import HEAD, repacked_sizes
from engine.runtime.llama.runtime import Model, context_params
from engine.runtime.options import ContextOptions, goes_with
from engine.runtime.sizes import MAX_LOGITS, ContextSizes, KVType, WeightSizes

# Sliding windows and recurrent layers have caches of their own, a line each. An unallocated "KV buffer size" is 0.
KV = re.compile(r"llama_(?:kv_cache|memory_recurrent)\w*: size = +([\d.]+) MiB")
DSV4_STATE = re.compile(r"DSV4 .* state = .* size = +([\d.]+) MiB")
COMPUTE = re.compile(r"compute buffer size = +([\d.]+) MiB")
OUTPUT = re.compile(r"output buffer size = +([\d.]+) MiB")


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
        """See `engine.runtime.sizes.Sizes`."""
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
