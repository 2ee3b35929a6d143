"""llama.cpp's sampler chain on the rows of one context. Owns and frees the chain."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from engine.generation.sampling import penalised, seed_of
from engine.protocol import Sampling
from engine.runtime.capi.context import CContext
from engine.runtime.llama.library import opened


class LlamaSampler:
    """A `Sampler`: penalties, top-k, top-p, min-p, temperature, random choice, in this order."""

    def __init__(
        self, context: Callable[[], CContext], n_vocab: int, sampling: Sampling, history: Sequence[int]
    ) -> None:
        self.context = context  # asked anew for each token: a growing cache is a new context
        self.n_vocab = n_vocab
        self.greedy = sampling.temperature == 0 and not penalised(sampling)
        self.chain = opened().llama_sampler_chain_init(opened().llama_sampler_chain_default_params())
        for part in chain_parts(sampling, n_vocab):
            opened().llama_sampler_chain_add(self.chain, part)
        for token in history[-sampling.repeat_last_n :] if sampling.repeat_last_n else ():
            opened().llama_sampler_accept(self.chain, token)

    def sample(self, row: int) -> int:
        pointer = self.context().pointer
        if self.greedy:  # the same choice as the chain's, which first writes 12 bytes for each token of the vocabulary
            logits = opened().llama_get_logits_ith(pointer, row)
            return int(np.ctypeslib.as_array(logits, (self.n_vocab,)).argmax())
        return int(opened().llama_sampler_sample(self.chain, pointer, row))

    def close(self) -> None:
        if self.chain:
            opened().llama_sampler_free(self.chain)
            self.chain = None


def chain_parts(sampling: Sampling, n_vocab: int) -> list[object]:
    parts = []
    if penalised(sampling):
        penalties = (n_vocab, sampling.repeat_last_n, sampling.repeat_penalty, 0.0, 0.0)
        parts.append(opened().llama_sampler_init_penalties(*penalties))
    if sampling.temperature == 0:
        return [*parts, opened().llama_sampler_init_greedy()]
    if sampling.top_k:
        parts.append(opened().llama_sampler_init_top_k(sampling.top_k))
    if sampling.top_p < 1:
        parts.append(opened().llama_sampler_init_top_p(sampling.top_p, 1))
    if sampling.min_p > 0:
        parts.append(opened().llama_sampler_init_min_p(sampling.min_p, 1))
    parts.append(opened().llama_sampler_init_temp(sampling.temperature))
    return [*parts, opened().llama_sampler_init_dist(seed_of(sampling))]
