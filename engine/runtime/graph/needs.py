"""Can our own graph compute this model? Asked of its header alone: no library is loaded."""

from __future__ import annotations

import re

from models.header import Header

ARCHITECTURES = ("llama", "qwen2", "qwen3")

# ggml_type: those that the CPU multiplies with. Q8_1 and Q8_K (9, 15) are for activations only.
TYPES = {0, 1, 2, 3, 6, 7, 8, *range(10, 15), *range(16, 24), 29, 30, 34, 35, 39}
F32 = 0

PARTS = "attn_q attn_k attn_v attn_output ffn_gate ffn_up ffn_down attn_norm ffn_norm attn_q_norm attn_k_norm"
KNOWN = re.compile(
    rf"(token_embd|output_norm|output|rope_freqs|blk\.\d+\.({PARTS.replace(' ', '|')}))\.weight"
    r"|(output|blk\.\d+\.(attn_q|attn_k|attn_v|attn_output|ffn_gate|ffn_up|ffn_down))\.bias"
)
SCALINGS = ("none", "linear")


def refusal(header: Header) -> str:
    """The sentence that says why not; empty if it can."""
    reason = _reason(header)
    return f"Chickadee's own graph cannot compute this model: {reason}. llama.cpp can." if reason else ""


def _reason(header: Header) -> str:
    name, metadata = header.architecture, header.metadata
    if name not in ARCHITECTURES:
        return f"it does not know the architecture “{name}”"
    strange = next((tensor.name for tensor in header.tensors if not KNOWN.fullmatch(tensor.name)), "")
    if metadata.get(f"{name}.expert_count") or strange:
        return f"it knows no weights called “{strange}”" if strange else "it knows no mixture of experts"
    if any(tensor.type not in TYPES for tensor in header.tensors):
        return "it does not know how its weights are quantised"
    if any(len(tensor.shape) == 1 and tensor.type != F32 for tensor in header.tensors):
        return "its norms or biases are quantised"
    scaling = metadata.get(f"{name}.rope.scaling.type", "linear")
    if scaling not in SCALINGS:
        return f"it does not know the scaling “{scaling}” of positions"
    return ""
