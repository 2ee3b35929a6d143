"""A context of ik_llama.cpp."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from engine.runtime.capi.batch import Batch
from engine.runtime.capi.context import GGML_TYPES, CContext, ContextOptions
from engine.runtime.capi.library import AbortCallback, trim
from engine.runtime.capi.model import CModel
from engine.runtime.ik.library import lib, log, native
from engine.runtime.ik.native import StoppablePass
from engine.stop import StopFlag, Stopped

SHORT = 0.08  # seconds: so long a stop may take
LATE = 0.05  # seconds


class IkContext(CContext):
    """`stop` interrupts passes that take long."""

    def __init__(self, model: CModel, options: ContextOptions, stop: StopFlag) -> None:
        params, own = context_params(options), native()
        self._passes = StoppablePass(own, stop, params) if own else AbortedPass(stop)
        super().__init__(lib, log, model, options, params, stop)

    def decode(self, batch: Batch) -> None:
        """See `CContext`."""
        with self._passes.running(self.pointer, batch.raw.n_tokens):
            super().decode(batch)

    def close(self) -> None:
        """A cache that grew step by step to 8,192 tokens would leave 80 MiB of holes behind (SmolLM2-135M)."""
        if self.pointer:
            super().close()
            self._passes.close()
            trim()


class AbortedPass:
    """Where our native code does not stop passes: long ones by the library's abort callback.

    It is asked by the first thread after every node of the graph; the status that it causes may be read by another one
    that is late at the barrier before. That one would leave, and the first wait for it for ever (seen once in 50 to 900
    stops of a 135M model). So the answer comes when hardly a thread is so late any more."""

    def __init__(self, stop: StopFlag) -> None:
        self.stop = stop
        self._aborted = False
        self._callback = AbortCallback(self._is_to_abort)
        self._never = AbortCallback()  # a null pointer
        self._seconds: dict[int, float] = {}  # of the last pass, by its number of tokens

    def _is_to_abort(self, _data: object) -> bool:
        if self.stop.is_set() and not self._aborted:
            time.sleep(LATE)
            self._aborted = True
        return self._aborted

    @contextmanager
    def running(self, context: Any, tokens: int) -> Iterator[None]:
        """Around a pass. Raises Stopped.

        Short ones are not interrupted: to ask Python after every node, which all other threads wait for, costs half a
        millisecond and more, a tenth of a small model's step and 2 % of a 1.5B model's."""
        long = self._seconds.get(tokens, math.inf) > SHORT
        lib.llama_set_abort_callback(context, self._callback if long else self._never, None)
        self._aborted = False
        started = time.perf_counter()
        yield
        if self._aborted:  # such a pass ends as if it were done, its logits are of no pass
            raise Stopped
        self._seconds[tokens] = time.perf_counter() - started

    def close(self) -> None:
        """Nothing is left behind."""


def context_params(options: ContextOptions) -> Any:
    """llama_context_params for `options`.

    Sequences are not announced: an attention cache takes any, and n_seq_max is for how many rows of logits the library
    keeps a buffer at least (16 rows of 152 k tokens: 10 MB)."""
    params = lib.llama_context_default_params()
    params.n_ctx = options.n_ctx
    params.n_batch = params.n_ubatch = options.n_batch
    params.worst_case_tokens = options.max_rows
    params.n_threads = params.n_threads_batch = options.threads
    params.type_k = params.type_v = GGML_TYPES[options.kv_type]
    params.flash_attn = options.flash_attention != "off"
    return params
