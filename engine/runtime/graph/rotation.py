"""Rotary positions on arrays: keys that are stored for one position turned to another. Knows no cache."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.runtime.graph.dimensions import NORMAL, Dimensions

Keys = NDArray[np.float32]


class Rotation:
    """As ggml's rope_ext rotates; `factors` [head / 2] of Llama 3 slow some frequencies down."""

    def __init__(self, d: Dimensions, factors: NDArray[np.float32] | None = None) -> None:
        self.neighbours = d.rope_kind == NORMAL
        self.angles = d.rope_scale * d.rope_base ** (-np.arange(0, d.head, 2) / d.head)
        if factors is not None:
            self.angles = self.angles / factors

    def turned(self, keys: Keys, by: NDArray[np.float64]) -> Keys:
        """`keys` [n, heads, head], the i-th turned `by[i]` positions on."""
        angles = (by[:, None] * self.angles)[:, None, :]
        cos, sin = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
        half = keys.shape[-1] // 2
        parts = (slice(0, None, 2), slice(1, None, 2)) if self.neighbours else (slice(0, half), slice(half, None))
        a, b = (keys[..., part] for part in parts)
        result = np.empty_like(keys)
        result[..., parts[0]], result[..., parts[1]] = a * cos - b * sin, a * sin + b * cos
        return result
