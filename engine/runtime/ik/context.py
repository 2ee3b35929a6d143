"""A context of ik_llama.cpp."""

from __future__ import annotations

import math
import time
from typing import Any

from engine.runtime.capi.context import GGML_TYPES, Batch, CContext, trim
from engine.runtime.capi.model import CModel
from engine.runtime.ik.library import abort_callback, lib, log
from engine.runtime.ik.stragglers import wait_for_stragglers
from engine.runtime.ik.unfilled import UNFILLED
from engine.runtime.options import ContextOptions
from engine.stop import StopFlag, Stopped

SHORT = 0.08  # seconds: so long a stop may take
# Tokens with logits that buffers are reserved for, at least: they take about as much as the 128 of a prompt's pass,
# which have none. The buffers would grow with the first prompt otherwise, and the memory plan not know it.
LEAST_RESERVED = 16
NEVER = abort_callback()  # a null pointer


class IkContext(CContext):
    """`stop` interrupts passes that take long.

    The library's abort callback is asked by the first thread after every node of the graph; the status that it causes
    may be read by another one that is late at the barrier before. That one would leave, and the first wait for it for
    ever (seen once in 50 to 900 stops of a 135M model). So the answer is yes only when no thread is late any more."""

    def __init__(self, model: CModel, options: ContextOptions, stop: StopFlag) -> None:
        super().__init__(lib, log, model, options, context_params(options), stop)
        self._aborted = False
        self._callback = abort_callback(self._is_to_abort)
        self._seconds: dict[int, float] = {}  # of the last pass, by its number of tokens

    def _is_to_abort(self, _data: object) -> bool:
        if self.stop.is_set() and not self._aborted:
            wait_for_stragglers()
            self._aborted = True
        return self._aborted

    def decode(self, batch: Batch) -> None:
        """Short passes are not interrupted: to ask Python after every node, which all other threads wait for, costs
        half a millisecond and more, a tenth of a small model's step and 2 % of a 1.5B model's."""
        tokens = batch.raw.n_tokens
        long = self._seconds.get(tokens, math.inf) > SHORT
        lib.llama_set_abort_callback(self.pointer, self._callback if long else NEVER, None)
        self._aborted = False
        started = time.perf_counter()
        with UNFILLED:
            super().decode(batch)
        if self._aborted:  # such a pass ends as if it were done, its logits are of no pass
            raise Stopped
        self._seconds[tokens] = time.perf_counter() - started

    def close(self) -> None:
        """A cache that grew step by step to 8,192 tokens would leave 80 MiB of holes behind (SmolLM2-135M)."""
        super().close()
        trim()


def context_params(options: ContextOptions) -> Any:
    """llama_context_params for `options`.

    Sequences are not announced: an attention cache takes any, and n_seq_max is for how many rows of logits the library
    keeps a buffer at least (16 rows of 152 k tokens: 10 MB)."""
    params = lib.llama_context_default_params()
    params.n_ctx = options.n_ctx
    params.n_batch = params.n_ubatch = options.n_batch
    params.worst_case_tokens = max(options.max_logits, min(LEAST_RESERVED, options.n_batch))
    params.n_threads = params.n_threads_batch = options.threads
    params.type_k = params.type_v = GGML_TYPES[options.kv_type]
    params.flash_attn = options.flash_attention != "off"
    return params
