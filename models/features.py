"""Which of our features work with a model, as far as its architecture and its kind of weights decide that."""

from __future__ import annotations

# llama.cpp's architectures with recurrent layers (llm_arch_is_recurrent and llm_arch_is_hybrid in src/llama-arch.cpp).
# Such a layer keeps one state for all tokens, from which single tokens cannot be removed.
RECURRENT = frozenset((
    "mamba", "mamba2", "rwkv6", "rwkv6qwen2", "rwkv7", "arwkv7", "jamba", "falcon-h1", "plamo2",
    "granitehybrid", "lfm2", "lfm2moe", "nemotron_h", "nemotron_h_moe", "qwen3next", "qwen35", "qwen35moe",
    "qwen4exp", "kimi-linear", "kimi-k3", "bailingmoe3", "glm5-next", "deepseek4", "minimax-01",
))  # fmt: skip
# Those of which llama.cpp can keep snapshots of the states, so that wrong drafts can be undone
# (llm_arch_supports_rs_rollback in src/llama-arch.cpp).
SNAPSHOTS = frozenset((
    "lfm2", "lfm2moe", "nemotron_h", "nemotron_h_moe", "qwen35", "qwen35moe", "qwen4exp", "kimi-k3", "bailingmoe3",
    "glm5-next", "deepseek4",
))  # fmt: skip
# The kinds of weights that our matrix products know, by the library in front of which they stand (docs/products.md).
PRODUCTS = {
    "ik": ("Q4_0", "Q4_K", "Q5_K", "Q6_K", "Q8_0", "IQ4_NL", "IQ4_XS"),
    "llama": ("Q1_0", "Q2_0", "TQ1_0", "TQ2_0"),
}


def can_be_drafted(architecture: str) -> bool:
    """Return whether wrong drafts can be undone; in recurrent layers only snapshots of their states allow that."""
    return architecture not in RECURRENT or architecture in SNAPSHOTS


def has_own_kernels(quantisation: str, library: str) -> bool:
    """Return whether our products compute these weights with the library, 'ik' or 'llama'."""
    return quantisation.upper().startswith(PRODUCTS.get(library, ()))
