"""The target on llama.cpp."""

from __future__ import annotations

from collections.abc import Sequence

from engine.protocol import Sampling
from engine.runtime.capi.context import ContextOptions
from engine.runtime.capi.target import CTarget
from engine.runtime.llama.context import Context
from engine.runtime.llama.sampler import LlamaSampler


class LlamaTarget(CTarget):
    def open_context(self, options: ContextOptions) -> Context:
        return Context(self.model, options, self.stop)

    def sampler(self, sampling: Sampling, history: Sequence[int]) -> LlamaSampler:
        return LlamaSampler(lambda: self.context, self.vocabulary.n_tokens, sampling, history)
