"""The forward pass of a Llama, Qwen2 or Qwen3 model as a ggml graph: from token ids to logits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from engine.graph.dimensions import Dimensions
from engine.graph.ggml import I32, Graph
from engine.graph.weights import Weights

Attention = Callable[[int, Any, Any, Any, Callable[[Any], Any]], Any]  # (layer, q, k, v, rotate) → values by head


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a pass is told of its n tokens: ids [n], positions [n], and which of them need logits [rows]."""

    tokens: Any
    positions: Any
    rows: Any


def inputs_of(g: Graph, n: int, rows: int) -> Inputs:
    return Inputs(g.input(I32, n), g.input(I32, n), g.input(I32, rows))


def forward(g: Graph, d: Dimensions, weights: Weights, inputs: Inputs, n: int, attention: Attention) -> Any:
    """Logits, [vocabulary, rows]. `attention` keeps each layer's keys and values and attends to those of before."""

    def linear(name: str, x: Any) -> Any:
        y, bias = g.mul_mat(weights.find(f"{name}.weight"), x), weights.find(f"{name}.bias")
        return g.add(y, bias) if bias else y

    def norm(name: str, x: Any) -> Any:
        return g.mul(g.rms_norm(x, d.epsilon), weights.find(f"{name}.weight"))

    def heads(name: str, x: Any, count: int) -> Any:
        """[head, count, n]; Qwen3 norms queries and keys."""
        y = g.reshape_3d(linear(name, x), d.head, count, n)
        return norm(f"{name}_norm", y) if weights.find(f"{name}_norm.weight") else y

    def rotate(y: Any) -> Any:
        factors, scaling = weights.find("rope_freqs.weight"), (d.rope_base, d.rope_scale, 0.0, 1.0, 32.0, 1.0)
        return g.rope_ext(y, inputs.positions, factors, d.head, d.rope_kind, d.n_ctx_train, *scaling)

    x = g.get_rows(weights.find("token_embd.weight"), inputs.tokens)
    for layer in range(d.layers):
        name = f"blk.{layer}."
        h = norm(f"{name}attn_norm", x)
        q = rotate(heads(f"{name}attn_q", h, d.heads))
        k = heads(f"{name}attn_k", h, d.kv_heads)
        v = heads(f"{name}attn_v", h, d.kv_heads)
        a = g.reshape_2d(attention(layer, q, k, v, rotate), d.head * d.heads, n)
        a = linear(f"{name}attn_output", a)
        if layer == d.layers - 1:  # what no logits are wanted of ends here
            a, x = g.get_rows(a, inputs.rows), g.get_rows(x, inputs.rows)
        x = g.add(a, x)
        h = norm(f"{name}ffn_norm", x)
        up = linear(f"{name}ffn_up", h)
        h = g.swiglu_split(linear(f"{name}ffn_gate", h), up)
        x = g.add(linear(f"{name}ffn_down", h), x)
    return linear("output", norm("output_norm", x))
