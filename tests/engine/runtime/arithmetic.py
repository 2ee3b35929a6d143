"""Arithmetic of the processor that numpy lacks."""

from __future__ import annotations

import numpy as np


def fused_multiply_add(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Return a·b + c of float32, rounded once.

    The sum is first rounded as float64, to an odd last bit if it is not exact (Boldo and Melquiond, 2008).
    """
    product, c = a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)
    total = product + c
    product_part = total - c
    rest = (product - product_part) + (c - (total - product_part))
    even = (total.view(np.int64) & 1) == 0
    rounded: np.ndarray = np.where((rest != 0) & even, np.nextafter(total, np.copysign(np.inf, rest)), total)
    return rounded.astype(np.float32)
