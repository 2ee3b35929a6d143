"""Predicted speed of a model that never ran here, also of one that is not downloaded yet.

The passes of the most similar model in the prior table are scaled by the bytes that a token reads and by the computer's
measured speeds (`engine.costs.cost_prior`). Of a mixture of experts only the experts in use are read. Once the built-in
model was timed, the error of its own prediction corrects those of the others. A measured speed is always better;
`python -m benchmarks.prediction` compares both.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from common.planning import Computer, Estimate
from engine.costs.cost_model import CostModel, Timings
from engine.costs.cost_prior import ModelTraits, scaled_timings
from engine.protocol.requests import BackendName
from models.shapes import KVType, WeightReads

MOST_CORRECTION = 3.0  # times: a larger error of the prediction is a disturbed measurement
CONTEXT = 1000  # tokens of the chat for which decoding is predicted
LIBRARIES: tuple[BackendName, ...] = ("ik", "llama")
# ggml's numbers of the weight types that make up most of a file of this quantisation.
WEIGHT_TYPES = {
    "F32": 0, "F16": 1, "Q4_0": 2, "Q4_1": 3, "Q5_0": 6, "Q5_1": 7, "Q8_0": 8, "Q2_K": 10, "Q3_K": 11, "Q4_K": 12,
    "Q5_K": 13, "Q6_K": 14, "IQ4_NL": 20, "IQ4_XS": 23, "BF16": 30, "MXFP4": 39,
}  # fmt: skip
USUAL_TYPE = "Q4_K"


@dataclass(frozen=True, slots=True)
class Speed:
    """Tokens per second: `decode` without drafts in a chat of CONTEXT tokens, `prompt` for prefill."""

    decode: float
    prompt: float


def predict_speed(model: ModelTraits, kv_type: KVType, computer: Computer) -> Speed | None:
    """Return the model's speed with the faster library, or None if the table has no row for the computer."""
    found = [scaled_timings(model, library, kv_type, computer) for library in LIBRARIES]
    speeds = [speed_of(timings) for timings in found if timings]
    fastest = max(speeds, key=lambda speed: speed.decode, default=None)
    return fastest and Speed(fastest.decode * computer.decode_factor, fastest.prompt * computer.prompt_factor)


def speed_of(timings: Timings) -> Speed:
    """Return the speed that timings amount to."""
    return Speed(1 / CostModel(timings).pass_seconds(1, CONTEXT), timings.large_tokens / timings.large_seconds)


def corrected(computer: Computer, predicted: Speed, measured: Speed) -> Computer:
    """Return the computer with the factors by which a model was faster than predicted for it."""
    decode, prompt = measured.decode / predicted.decode, measured.prompt / predicted.prompt
    return msgspec.structs.replace(computer, decode_factor=_sane(decode), prompt_factor=_sane(prompt))


def _sane(factor: float) -> float:
    return min(MOST_CORRECTION, max(1 / MOST_CORRECTION, factor))


def traits_of_estimate(model: Estimate) -> ModelTraits:
    """Return the traits of a model of which only sizes are known.

    The embedding table counts as read, because small models use it as their output head, too.
    """
    seen = min(CONTEXT, model.window) / CONTEXT
    kv_elements = round(model.kv_numbers(1, 0) + seen * (model.kv_numbers(1, 1) - model.kv_numbers(1, 0)))
    everywhere = model.kv_layers in (0, model.layers)
    return ModelTraits(weight_type(model.quantisation), reads_of_estimate(model), kv_elements, everywhere)


def reads_of_estimate(model: Estimate) -> WeightReads:
    """Return the bytes that passes read of a model of which only the active share of its weights is known.

    What a token of a mixture leaves unread are the experts that it does not use; in other models it is a table of
    which every token reads one row (Gemma's embeddings of each layer).
    """
    share = model.used_experts / model.experts if model.experts else 1.0
    if share >= 1:
        return WeightReads(model.size * model.active_share)
    experts = min(model.size, model.size * (1 - model.active_share) / (1 - share))
    return WeightReads(model.size - experts, experts, share)


def weight_type(quantisation: str) -> int:
    """Return the ggml type of most weights in a file of the quantisation, such as Q4_K for 'Q4_K_M'."""
    name = quantisation.upper()
    for suffix in ("", "_S", "_M", "_L", "_XL", "_MOE"):
        if name.removesuffix(suffix) in WEIGHT_TYPES:
            return WEIGHT_TYPES[name.removesuffix(suffix)]
    return WEIGHT_TYPES[USUAL_TYPE]
