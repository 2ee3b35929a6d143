"""Estimate of a model that is not on this computer, good enough to say whether it would fit into memory."""

from __future__ import annotations

import bisect
import math

from common.planning import Estimate

BITS = {"F32": 32.0, "F16": 16.0, "BF16": 16.0, "Q8_0": 8.5, "Q6_K": 6.6, "Q5_K_M": 5.7, "Q4_K_M": 4.85, "Q4_0": 4.6}
USUAL_BITS = 4.85
USUAL_KV = 2048  # 8 heads of 128 for keys, as many for values: most models of the last years
USUAL_VOCABULARY = 152_000
# (most parameters, usual number of layers, usual embedding length)
USUAL = ((0.2e9, 30, 576), (0.45e9, 32, 960), (0.8e9, 24, 896), (2e9, 28, 1536), (3.5e9, 36, 2048), (6e9, 36, 2560),
         (9e9, 36, 4096), (20e9, 48, 5120), (40e9, 64, 5120), (math.inf, 80, 8192))  # fmt: skip


def guess_estimate(name: str, size: int, quantisation: str = "", parameters: int = 0, n_ctx_train: int = 0) -> Estimate:
    """Estimate a model's shapes from what the hub says of its file.

    The hub gives size and quantisation, and perhaps the number of parameters and the context; a `parameters` of 0 is
    computed from the size.
    """
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
