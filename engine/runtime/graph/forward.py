"""The forward pass of a Llama, Qwen2 or Qwen3 model as a ggml graph: from token ids to logits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from engine.runtime.graph.dimensions import Dimensions
from engine.runtime.graph.ggml import Graph
from engine.runtime.graph.weights import Weights

Attention = Callable[[int, Any, Any, Any, Callable[[Any], Any]], Any]  # (layer, q, k, v, rotate) → values by head


@dataclass(frozen=True, slots=True)
class Forward:
    """Of n tokens at `positions` [n]. `attention` keeps each layer's keys and values and attends to those of before.

    `layers` may begin and end anywhere: what goes through them, the hidden state, is [embedding, n]."""

    g: Graph
    d: Dimensions
    weights: Weights
    positions: Any
    n: int
    attention: Attention

    def embed(self, tokens: Any) -> Any:
        return self.g.get_rows(self.weights.find("token_embd.weight"), tokens)

    def layer(self, layer: int, x: Any, rows: Any = None) -> Any:
        """`rows`: the only tokens that are wanted of its result."""
        g, name = self.g, f"blk.{layer}."
        h = self._norm(f"{name}attn_norm", x)
        q = self._rotate(self._heads(f"{name}attn_q", h, self.d.heads))
        k = self._heads(f"{name}attn_k", h, self.d.kv_heads)
        v = self._heads(f"{name}attn_v", h, self.d.kv_heads)
        a = g.reshape_2d(self.attention(layer, q, k, v, self._rotate), self.d.head * self.d.heads, self.n)
        a = self._linear(f"{name}attn_output", a)
        if rows is not None:
            a, x = g.get_rows(a, rows), g.get_rows(x, rows)
        x = g.add(a, x)
        h = self._norm(f"{name}ffn_norm", x)
        up = self._linear(f"{name}ffn_up", h)
        h = g.swiglu_split(self._linear(f"{name}ffn_gate", h), up)
        return g.add(self._linear(f"{name}ffn_down", h), x)

    def through(self, x: Any, first: int, end: int) -> Any:
        """Layers from `first` up to `end`."""
        for layer in range(first, end):
            x = self.layer(layer, x)
        return x

    def rest(self, x: Any, first: int, rows: Any) -> Any:
        """Layers from `first` on and the head; what no logits are wanted of ends in the last layer."""
        last = self.d.layers - 1
        return self.logits(self.layer(last, self.through(x, first, last), rows))

    def logits(self, x: Any) -> Any:
        return self._linear("output", self._norm("output_norm", x))

    def _linear(self, name: str, x: Any) -> Any:
        y, bias = self.g.mul_mat(self.weights.find(f"{name}.weight"), x), self.weights.find(f"{name}.bias")
        return self.g.add(y, bias) if bias else y

    def _norm(self, name: str, x: Any) -> Any:
        return self.g.mul(self.g.rms_norm(x, self.d.epsilon), self.weights.find(f"{name}.weight"))

    def _heads(self, name: str, x: Any, count: int) -> Any:
        """[head, count, n]; Qwen3 norms queries and keys."""
        y = self.g.reshape_3d(self._linear(name, x), self.d.head, count, self.n)
        return self._norm(f"{name}_norm", y) if self.weights.find(f"{name}_norm.weight") else y

    def _rotate(self, y: Any) -> Any:
        d, factors = self.d, self.weights.find("rope_freqs.weight")
        scaling = (d.rope_base, d.rope_scale, 0.0, 1.0, 32.0, 1.0)
        return self.g.rope_ext(y, self.positions, factors, d.head, d.rope_kind, d.n_ctx_train, *scaling)
