"""A context of ik_llama.cpp."""

from __future__ import annotations

from typing import Any

from engine.capi.context import GGML_TYPES, CContext, ContextOptions
from engine.capi.model import CModel
from engine.capi.trim import trim
from engine.ik.library import lib, log
from engine.stop import StopFlag


class IkContext(CContext):
    """It must not be interrupted within a pass. The library's abort callback writes a status that a thread may read one
    node too early, if it was late at the barrier before; it then leaves, and the others wait for it for ever (seen once
    in 50 to 900 stops of a 135M model, the oftener the sooner threads sleep)."""

    def __init__(self, model: CModel, options: ContextOptions, stop: StopFlag) -> None:
        super().__init__(lib, log, model, options, context_params(options), stop)

    def close(self) -> None:
        """A cache that grew step by step to 8,192 tokens would leave 80 MiB of holes behind (SmolLM2-135M)."""
        super().close()
        trim()


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
