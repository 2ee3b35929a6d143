"""Tiny models whose own layers foretell a known share of their tokens, as trained layers do and random ones do not.

The model's next token depends on the newest one alone, because its layers add nothing. Its own layers for further
tokens compute the same from the token that they read, unless their embedding of that token was exchanged.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.tiny_models import ANSWERED, Weights, write_tiny_model
from benchmarks.tiny_shapes import OWN_LAYERS, WIDTH

ADDS = ("attn_output.weight", "ffn_down.weight", "ffn_down_exps.weight", "ffn_down_shexp.weight", "ssm_out.weight")


def write_foretelling(path: Path, name: str, right: float = 1.0) -> Path:
    """Write a model of `OWN_LAYERS` whose own layers are right about the share `right` of its answers' tokens."""
    shape = OWN_LAYERS[name]
    block = f"blk.{shape['block_count'] - shape['nextn_predict_layers']}"

    def change(weights: dict[str, Weights]) -> None:
        for tensor in weights:
            if tensor.endswith(ADDS):
                weights[tensor][:] = 0
        for norm in ("output_norm", f"{block}.nextn.enorm", f"{block}.nextn.shared_head_norm"):
            weights[f"{norm}.weight"][:] = 1
        weights[f"{block}.nextn.eh_proj.weight"][:] = np.eye(WIDTH, 2 * WIDTH)  # embedding first, then the state
        weights[f"{block}.nextn.shared_head_head.weight"][:] = weights["output.weight"]
        known = weights["token_embd.weight"].copy()
        for token in ANSWERED[: round((1 - right) * len(ANSWERED))]:
            known[token] = -known[token]
        weights[f"{block}.nextn.embed_tokens.weight"][:] = known

    return write_tiny_model(path, shape, change=change)
