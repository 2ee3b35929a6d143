"""What ik_llama.cpp computes wrongly, read in its source and seen, with the way round. Knows headers only."""

from __future__ import annotations

from models.header import Header

# From 32 tokens on, rows of these types are first turned into Q8_1, whose kernel (`mul_mat_q8_1_r8_q8_2`) takes four
# blocks of 32 numbers at a time and leaves out what remains: rows of 576 numbers lose 64, and answers their sense.
LOSES_THE_REST = {3, 7}  # ggml_type: Q4_1, Q5_1
AT_A_TIME = 128  # numbers
MOST_WITHOUT = 31  # tokens of a pass that is right


def most_at_once(header: Header) -> int:
    """The most tokens of a pass whose results can be trusted."""
    wrong = any(t.type in LOSES_THE_REST and len(t.shape) > 1 and t.shape[0] % AT_A_TIME for t in header.tensors)
    return MOST_WITHOUT if wrong else 1 << 20
