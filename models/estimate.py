"""What is known of a model that is not here yet: enough to say whether it would fit, and about how well."""

from __future__ import annotations

import bisect
import math

from common.planning import Estimate

BITS = {"F32": 32.0, "F16": 16.0, "BF16": 16.0, "Q8_0": 8.5, "Q6_K": 6.6, "Q5_K_M": 5.7, "Q4_K_M": 4.85, "Q4_0": 4.6}
USUAL_BITS = 4.85
USUAL_KV = 2048  # 8 heads of 128 for keys, as many for values: most models of the last years
USUAL_VOCABULARY = 152_000
# Layers and embedding length that models of so many parameters usually have.
USUAL = ((0.2e9, 30, 576), (0.45e9, 32, 960), (0.8e9, 24, 896), (2e9, 28, 1536), (3.5e9, 36, 2048), (6e9, 36, 2560),
         (9e9, 36, 4096), (20e9, 48, 5120), (40e9, 64, 5120), (math.inf, 80, 8192))  # fmt: skip


def guess(name: str, size: int, quantisation: str = "", parameters: int = 0, n_ctx_train: int = 0) -> Estimate:
    """From what the hub says of a file: its size and kind, and perhaps the model's parameters and context."""
    parameters = parameters or int(size * 8 / BITS.get(quantisation, USUAL_BITS))
    _, layers, embedding = USUAL[bisect.bisect_left([most for most, _, _ in USUAL], parameters)]
    return Estimate(
        name=name,
        size=size,
        layers=layers,
        kv_width=USUAL_KV,
        embedding=embedding,
        feed_forward=4 * embedding,
        vocabulary=USUAL_VOCABULARY,
        n_ctx_train=n_ctx_train,
        quantisation=quantisation,
        guessed=True,
    )
