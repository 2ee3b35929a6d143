"""A context of ik_llama.cpp."""

from __future__ import annotations

from typing import Any

from engine.capi.batch import Batch
from engine.capi.context import GGML_TYPES, CContext, ContextOptions
from engine.capi.model import CModel
from engine.ik.library import lib, log
from engine.stop import StopFlag, Stopped


class IkContext(CContext):
    def __init__(self, model: CModel, options: ContextOptions, stop: StopFlag) -> None:
        super().__init__(lib, log, model, options, context_params(options), stop)

    def decode(self, batch: Batch) -> None:
        super().decode(batch)
        if self.stop.is_set():  # an aborted pass ends as if it were done, its logits are of no pass
            raise Stopped


def context_params(options: ContextOptions) -> Any:
    """llama_context_params for `options`.

    Sequences are not announced: an attention cache takes any, and n_seq_max is for how many rows of logits the library
    keeps a buffer at least, which it fills with zeros before each pass (16 rows of 152 k tokens: 10 MB)."""
    params = lib.llama_context_default_params()
    params.n_ctx = options.n_ctx
    params.n_batch = params.n_ubatch = options.n_batch
    params.worst_case_tokens = options.max_rows
    params.n_threads = params.n_threads_batch = options.threads
    params.type_k = params.type_v = GGML_TYPES[options.kv_type]
    return params
