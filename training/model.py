"""Forward pass of a Llama or Qwen2 model in PyTorch, with the weights of a GGUF file under their names there."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from engine.runtime.graph.dimensions import NEOX, Dimensions

FACTORS = "rope_freqs.weight"


class Decoder(nn.Module):
    """Model whose `weights` are all parameters but the rotation factors; a tied head is the embedding itself."""

    def __init__(self, d: Dimensions, weights: Mapping[str, NDArray[np.float32]]) -> None:
        super().__init__()
        self.d = d
        factors = weights.get(FACTORS)
        exponents = torch.arange(0, d.head, 2, dtype=torch.float64) / d.head
        angles = d.rope_scale / d.rope_base**exponents
        self.angles = angles if factors is None else angles / torch.tensor(factors.tolist(), dtype=torch.float64)
        self.weights = nn.ParameterDict(
            {_key(name): nn.Parameter(torch.from_numpy(np.array(w))) for name, w in weights.items() if name != FACTORS}
        )
        self.replacements: Mapping[str, Tensor] = {}  # used instead of these weights (`training.rounding`)

    def find(self, name: str) -> Tensor | None:
        key = _key(name)
        replacement: Tensor | None = self.replacements.get(key)
        return self.weights.get(key) if replacement is None else replacement

    def _get(self, name: str) -> Tensor:
        tensor = self.find(name)
        assert tensor is not None, name
        return tensor

    def shorten(self) -> None:
        """Convert matrices to bfloat16; norms stay in float32, as their input does."""
        for parameter in self.weights.values():
            if parameter.dim() > 1:
                parameter.data = parameter.data.bfloat16()

    def arrays(self) -> dict[str, NDArray[np.float32]]:
        """Return the parameters by their names in the file."""
        return {name_of(key): parameter.detach().cpu().numpy() for key, parameter in self.weights.items()}

    def forward(self, tokens: Tensor, layer: int, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logits after `layer` layers and after all, both [rows, vocabulary].

        `tokens` is [chats, n]; `rows` are indices into all chats laid end to end.
        """
        middle, last = self.states(tokens, layer, rows)
        return functional.linear(middle, self.head()), functional.linear(last, self.head())

    def states(self, tokens: Tensor, layer: int, rows: Tensor, *, above: bool = True) -> tuple[Tensor, Tensor]:
        """Return the inputs of the head after `layer` layers and after all, both [rows, embedding].

        The first is [0, embedding] for layer 0, the second without the layers `above`.
        """
        rotation = self._rotation(tokens.shape[1])
        # The residual stream stays in float32 if the weights are bfloat16.
        x = functional.embedding(tokens, self._get("token_embd.weight")).float()
        middle = x.flatten(0, 1)[:0]
        for i in range(self.d.layers if above else layer):
            x = self._layer(i, x, rotation)
            if i + 1 == layer:
                middle = x.flatten(0, 1)[rows]
        last = x.flatten(0, 1)[rows if above else rows[:0]]
        return self._norm("output_norm", middle), self._norm("output_norm", last)

    def _rotation(self, n: int) -> tuple[Tensor, Tensor]:
        """Return cosines and sines of the rotation, [n, head / 2]."""
        angles = torch.arange(n, dtype=torch.float64)[:, None] * self.angles[None, :]
        return angles.cos().float(), angles.sin().float()

    def _layer(self, i: int, x: Tensor, rotation: tuple[Tensor, Tensor]) -> Tensor:
        d, name, (chats, n, _) = self.d, f"blk.{i}.", x.shape
        h = self._norm(f"{name}attn_norm", x)
        q = self._rotate(self._linear(f"{name}attn_q", h).view(chats, n, d.heads, d.head), rotation)
        k = self._rotate(self._linear(f"{name}attn_k", h).view(chats, n, d.kv_heads, d.head), rotation)
        v = self._linear(f"{name}attn_v", h).view(chats, n, d.kv_heads, d.head)
        k, v = (y.repeat_interleave(d.queries, dim=2) for y in (k, v))
        q, k, v = (y.transpose(1, 2) for y in (q, k, v))
        a = functional.scaled_dot_product_attention(q, k, v, is_causal=True, scale=d.scale)
        x = x + self._linear(f"{name}attn_output", a.transpose(1, 2).reshape(chats, n, d.heads * d.head))
        h = self._norm(f"{name}ffn_norm", x)
        h = functional.silu(self._linear(f"{name}ffn_gate", h)) * self._linear(f"{name}ffn_up", h)
        return x + self._linear(f"{name}ffn_down", h)

    def _rotate(self, y: Tensor, rotation: tuple[Tensor, Tensor]) -> Tensor:
        """Rotate pairs of a head's numbers by their position's angle.

        A pair is two neighbours, or two numbers half a head apart (`engine.runtime.graph.dimensions`).
        """
        cos, sin = (part[:, None, :] for part in rotation)
        if self.d.rope_kind == NEOX:
            a, b = y.chunk(2, dim=-1)
            return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)
        a, b = y[..., 0::2], y[..., 1::2]
        return torch.stack((a * cos - b * sin, b * cos + a * sin), dim=-1).flatten(-2)

    def head(self) -> Tensor:
        """Return the output matrix [vocabulary, embedding]; a tied head is the embedding."""
        output = self.find("output.weight")
        return self._get("token_embd.weight") if output is None else output

    def _linear(self, name: str, x: Tensor) -> Tensor:
        return functional.linear(x, self._get(f"{name}.weight"), self.find(f"{name}.bias"))

    def _norm(self, name: str, x: Tensor) -> Tensor:
        return functional.rms_norm(x, (x.shape[-1],), self._get(f"{name}.weight"), self.d.epsilon)


def is_upper(name: str, layer: int, tied: bool) -> bool:
    """Return whether this weight lies above the first `layer` layers; a tied head is the embedding."""
    if name.startswith("blk."):
        return int(name.split(".")[1]) >= layer
    return is_head(name, tied)


def is_head(name: str, tied: bool) -> bool:
    """Return whether the weight is the output head, the norm before it, or an embedding that is the head."""
    return name.startswith("output") or (tied and name.startswith("token_embd"))


def _key(name: str) -> str:
    """Convert a tensor's name to a parameter's, which may have no dots."""
    return name.replace(".", "/")


def name_of(key: str) -> str:
    """Convert a parameter's name to the tensor's name in the file."""
    return key.replace("/", ".")
