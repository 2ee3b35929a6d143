"""Headers of tiny models: the sizes of each architecture, small, but with all of its parts.

Keys are those of the GGUF header without the architecture's name; `architecture` is that name.
"""

from __future__ import annotations

from typing import Any

CONTEXT = 8192
WIDTH = 128
HEADS = 4
FEED_FORWARD = 192
WINDOW = 128  # tokens: shorter than the chats of the trials

COMMON = {
    "context_length": CONTEXT,
    "embedding_length": WIDTH,
    "feed_forward_length": FEED_FORWARD,
    "attention.head_count": HEADS,
    "attention.head_count_kv": 2,
    "attention.key_length": WIDTH // HEADS,
    "attention.value_length": WIDTH // HEADS,
    "attention.layer_norm_rms_epsilon": 1e-5,
    "rope.dimension_count": WIDTH // HEADS,
    "rope.freq_base": 10_000.0,
}
EXPERTS = {"expert_count": 4, "expert_used_count": 2, "expert_feed_forward_length": FEED_FORWARD}
DELTA_NET = {
    "full_attention_interval": 2,
    "rope.dimension_sections": [4, 4, 4, 4],
    "ssm.conv_kernel": 4,
    "ssm.state_size": 32,
    "ssm.group_count": 2,
    "ssm.time_step_rank": 4,
    "ssm.inner_size": 128,
}
MAMBA2 = {
    "ssm.conv_kernel": 4,
    "ssm.state_size": 16,
    "ssm.group_count": 1,
    "ssm.time_step_rank": 4,
    "ssm.inner_size": 256,
}
CONVOLUTION = {"shortconv.l_cache": 3, "attention.head_count_kv": [0, HEADS, 0, HEADS]}
LATENT = 32  # numbers that multi-head latent attention keeps of a token, beside as many with its position


def _shape(architecture: str, layers: int, more: dict[str, Any] | None = None, **others: Any) -> dict[str, Any]:
    return COMMON | {"architecture": architecture, "block_count": layers} | (more or {}) | others


def _windows(full_every: int) -> dict[str, int]:
    return {"attention.sliding_window": WINDOW, "attention.sliding_window_pattern": full_every}


SHAPES: dict[str, dict[str, Any]] = {
    "qwen3": _shape("qwen3", 2),
    "qwen35": _shape("qwen35", 4, DELTA_NET),
    "qwen35moe": _shape("qwen35moe", 4, DELTA_NET | EXPERTS, expert_shared_feed_forward_length=64),
    "lfm2": _shape("lfm2", 4, CONVOLUTION),
    "lfm2moe": _shape("lfm2moe", 4, CONVOLUTION | EXPERTS, leading_dense_block_count=1, expert_gating_func=2),
    "granitehybrid": _shape("granitehybrid", 4, MAMBA2 | {"attention.head_count_kv": [0, 2, 0, 2]}),
    "falcon-h1": _shape("falcon-h1", 4, MAMBA2),
    "mamba2": _shape("mamba2", 4, MAMBA2 | {"attention.head_count": 0, "attention.head_count_kv": 0}),
    "gemma3": _shape("gemma3", 6, _windows(3)),
    "gemma4": _shape(
        "gemma4",
        6,
        {
            "attention.sliding_window": WINDOW,
            "attention.sliding_window_pattern": [True, True, True, False, True, False],
            "attention.key_length_swa": WIDTH // HEADS,
            "attention.value_length_swa": WIDTH // HEADS,
            "attention.shared_kv_layers": 2,
            "embedding_length_per_layer_input": 32,
            "rope.dimension_count_swa": WIDTH // HEADS,
        },
    ),
    "gpt-oss": _shape("gpt-oss", 4, EXPERTS | _windows(2)),
    "qwen3moe": _shape("qwen3moe", 2, EXPERTS),
    "olmoe": _shape("olmoe", 2, EXPERTS | {"attention.head_count_kv": HEADS}),
    "deepseek2": _shape(
        "deepseek2",
        3,
        EXPERTS
        | {
            "attention.head_count_kv": 1,
            "attention.key_length": 2 * LATENT,
            "attention.value_length": LATENT,
            "attention.key_length_mla": 2 * LATENT,
            "attention.value_length_mla": LATENT,
            "attention.kv_lora_rank": LATENT,
            "attention.q_lora_rank": LATENT,
            "rope.dimension_count": LATENT,
        },
        leading_dense_block_count=1,
        expert_shared_count=1,
    ),
}

# Models that bring layers of their own to predict further tokens (MTP): the last of the blocks.
OWN_LAYERS: dict[str, dict[str, Any]] = {
    "qwen35-mtp": SHAPES["qwen35"] | {"block_count": 5, "nextn_predict_layers": 1},
    "qwen35moe-mtp": SHAPES["qwen35moe"] | {"block_count": 5, "nextn_predict_layers": 1},
    "deepseek2-mtp": SHAPES["deepseek2"] | {"block_count": 4, "nextn_predict_layers": 1},
    "glm4moe-mtp": _shape(
        "glm4moe", 4, EXPERTS, nextn_predict_layers=1, leading_dense_block_count=1, expert_shared_count=1
    ),
    "step35-mtp": _shape(
        "step35",
        6,
        EXPERTS | {"attention.sliding_window": WINDOW, "attention.sliding_window_pattern": [0, 1, 1, 1, 1, 1]},
        nextn_predict_layers=2,
        leading_dense_block_count=1,
        expert_shared_count=1,
        expert_shared_feed_forward_length=64,
        expert_gating_func=2,
    ),
}
