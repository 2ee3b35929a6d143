"""Prior timings and speeds: estimates for a model that was never timed here, from a similar one on another computer.

The table (`assets/calibration/prior.json`) is made by `python -m benchmarks.prior`: a model in several quantisations,
timed with each library and with the kernels of several kinds of processors. The absolute seconds differ on other
computers, which the first real passes correct (`CostModel`, provisional). Decisions rest on ratios: a pass of eight
tokens against one of a single token, one library against the other. These ratios change far less between computers.

From the same timings follows the speed of a model that is not downloaded yet (`predict_speed`). Once the built-in model
was timed, the error of its own prediction corrects those of the others. A measured speed is always better;
`python -m benchmarks.prediction` compares both.
"""

from __future__ import annotations

import functools
import logging
import math
from collections import Counter
from dataclasses import dataclass, replace

import msgspec

from common.failures import Failure
from common.planning import DEFAULT_KV_TYPE, Computer, Estimate, KVType
from engine.costs.cost_model import CostModel, Timings
from engine.costs.profile import stored_profile
from engine.machine import default_threads, processor_kinds
from engine.protocol.requests import BackendName
from models.assets import asset
from models.header import Header
from models.shapes import KV_ELEMENT_BYTES, Shapes, WeightReads, shapes_of
from models.tensor_types import TENSOR_TYPES, TYPE_NUMBERS
from models.tensors import tensor_bytes

log = logging.getLogger("engine.costs")

FILE = "calibration/prior.json"
MOST_CORRECTION = 3.0  # times: a larger error of the prediction is a disturbed measurement
CONTEXT = 1000  # tokens of the chat for which decoding is predicted
LIBRARIES: tuple[BackendName, ...] = ("ik", "llama")
USUAL_TYPE = "Q4_K"


class PriorRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """Timings of one model with one library, from the shipped table.

    `kind`: of the processor. `weights`: number of the ggml type that most of the model's bytes have. `pass_bytes`:
    bytes of weights that a pass of one token reads; `kv_bytes`: bytes of keys and values per token. `made_on`: name of
    the processor that ran them; `bandwidth`: bytes per second that its computer reads from memory; `threads`: number of
    threads that computed. `derived`: the times are those of another quantisation of the model, times how much longer
    one thread's processor took (docs/how-it-decides.md).
    """

    library: BackendName
    kind: str
    weights: int
    pass_bytes: int
    kv_bytes: float
    timings: Timings
    made_on: str
    bandwidth: float
    threads: int = 2
    derived: bool = False


@dataclass(frozen=True, slots=True)
class ModelTraits:
    """Properties of a model that decide how long its passes take.

    `weights`: number of the ggml type of most weights. `reads`: bytes of weights that passes read. `kv_elements`:
    numbers in one token's keys and values of all layers. `attends_everywhere`: every layer has attention, none keeps a
    recurrent state.
    """

    weights: int
    reads: WeightReads
    kv_elements: int
    attends_everywhere: bool = True

    @property
    def pass_bytes(self) -> int:
        """Bytes of weights that a pass of one token reads, at least 1."""
        return max(1, round(self.reads.bytes(1)))

    @property
    def is_dense(self) -> bool:
        """Whether the model has attention in every layer and no experts, as the models of the table."""
        return self.attends_everywhere and not self.reads.experts

    @classmethod
    def of(cls, header: Header) -> ModelTraits | None:
        """Return the traits of the header's model, or None if the header does not tell them."""
        try:
            shapes = shapes_of(header)
        except Failure as failure:
            log.info("%s", failure)
            return None
        if not shapes.pass_bytes:
            return None
        kv_elements = sum(layer.kv_elements for layer in shapes.layers)
        return cls(main_weight_type(header), shapes.reads, kv_elements, shapes.kv_layers == len(shapes.layers))


def main_weight_type(header: Header) -> int:
    """Return the number of the ggml type that most bytes of the layers' weights have."""
    sizes: Counter[int] = Counter()
    for tensor in header.tensors:
        if tensor.name.startswith("blk."):
            sizes[tensor.type] += tensor_bytes(tensor)
    return max(sizes, key=sizes.__getitem__, default=0)


def prior_timings(header: Header, library: BackendName, kv_type: KVType = DEFAULT_KV_TYPE) -> Timings | None:
    """Return estimated timings of the model's passes on this computer, or None if the table has nothing similar.

    A mixture of experts reads more weights for eight tokens than for one (`WeightReads`). A layer with a recurrent
    state has no keys and values: nothing in the table is similar to it.
    """
    model = ModelTraits.of(header)
    return scaled_timings(model, library, kv_type, this_computer()) if model and model.attends_everywhere else None


def scaled_timings(model: ModelTraits, library: BackendName, kv_type: KVType, computer: Computer) -> Timings | None:
    """Return the most similar row's timings scaled to the model and the computer, or None if no row is for them."""
    known = ([row for row in prior_table() if (row.kind, row.library) == (kind, library)] for kind in computer.kinds)
    rows = next(filter(None, known), None)
    return scale_row(min(rows, key=lambda row: dissimilarity(row, model)), model, kv_type, computer) if rows else None


def this_computer() -> Computer:
    """Return this computer's speeds; the bandwidth is 0 if it was never measured without disturbance."""
    kinds, threads, profile = tuple(processor_kinds()), default_threads(), stored_profile()
    bandwidth = profile.read_bandwidth_bytes_per_s if profile and not profile.provisional else 0.0
    return Computer(kinds, bandwidth, threads)


def dissimilarity(row: PriorRow, model: ModelTraits) -> tuple[float, float]:
    """Return how much the model differs from the row's, to sort by: first in bits per weight, then in size."""
    bits = abs(math.log(bits_per_weight(row.weights) / bits_per_weight(model.weights)))
    return (0 if row.weights == model.weights else 1 + bits), abs(math.log(row.pass_bytes / model.pass_bytes))


def bits_per_weight(weights: int) -> float:
    """Return the bits per weight of a ggml type; 8 for an unknown type."""
    return TENSOR_TYPES[weights].bits if weights in TENSOR_TYPES else 8.0


def scale_row(row: PriorRow, model: ModelTraits, kv_type: KVType, computer: Computer) -> Timings:
    """Return the row's timings scaled to a model and to a computer.

    The time that a pass takes to read the weights scales with the memory's bandwidth; the rest of its time scales with
    the number of threads, because processors of one kind compute about as fast per core. An unknown speed counts as the
    row's. A pass of several tokens of a mixture reads more experts than one of a single token.
    """
    reading = row.bandwidth / computer.bandwidth if computer.bandwidth else 1.0
    computing = row.threads / computer.threads if computer.threads else 1.0
    weight_seconds = row.pass_bytes / row.bandwidth
    by = model.pass_bytes / row.pass_bytes

    def scaled(seconds: float, tokens: int) -> float:
        read = min(seconds, weight_seconds)
        more = model.reads.bytes(tokens) / model.pass_bytes
        return by * (read * reading * more + (seconds - read) * computing)

    old = row.timings
    low, high = min(old.pass_seconds), max(old.pass_seconds)
    deeper = reading * model.kv_elements * KV_ELEMENT_BYTES[kv_type] / max(1.0, row.kv_bytes)
    at_low = {k: scaled(seconds, k) for k, seconds in old.pass_seconds[low].items()}
    rise = {k: max(0.0, old.pass_seconds[high][k] - old.pass_seconds[low][k]) for k in at_low}
    at_high = {k: seconds + deeper * rise[k] for k, seconds in at_low.items()}
    depths = {low: at_low} | ({high: at_high} if high > low else {})
    return Timings(
        depths, by * computing * old.row_seconds, old.large_tokens, scaled(old.large_seconds, old.large_tokens)
    )


def scale_to_all_layers(part: Timings, shortened: Shapes, whole: Shapes) -> Timings:
    """Estimate timings of the whole model from those of the same model with some of its layers.

    Small passes scale with the weights that are read; prefill batches with the compute in the layers, because a prefill
    needs no logits.
    """
    by = whole.pass_bytes / shortened.pass_bytes
    computed = [sum(layer.flops for layer in shapes.layers) for shapes in (whole, shortened)]
    seconds = {depth: {k: by * s for k, s in times.items()} for depth, times in part.pass_seconds.items()}
    large = part.large_seconds * computed[0] / computed[1]
    return replace(part, pass_seconds=seconds, large_seconds=large)


@functools.cache
def prior_table() -> tuple[PriorRow, ...]:
    """Load the shipped table. Raises OSError and msgspec.DecodeError if the installation is damaged."""
    return msgspec.json.decode(asset(FILE).read_bytes(), type=tuple[PriorRow, ...])


# --- speeds ---


@dataclass(frozen=True, slots=True)
class Speed:
    """Tokens per second: `decode` without drafts in a chat of CONTEXT tokens, `prompt` for prefill."""

    decode: float
    prompt: float


def predict_speed(model: ModelTraits, kv_type: KVType, computer: Computer) -> Speed | None:
    """Return the model's speed with the faster library, or None if the table has no row for the computer."""
    by_library = (scaled_timings(model, library, kv_type, computer) for library in LIBRARIES)
    speeds = [speed_of(timings) for timings in by_library if timings]
    fastest = max(speeds, key=lambda speed: speed.decode, default=None)
    return fastest and Speed(fastest.decode * computer.decode_factor, fastest.prompt * computer.prompt_factor)


def speed_of(timings: Timings) -> Speed:
    """Return the speed that timings amount to."""
    return Speed(1 / CostModel(timings).pass_seconds(1, CONTEXT), timings.prompt_speed)


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
        if name.removesuffix(suffix) in TYPE_NUMBERS:
            return TYPE_NUMBERS[name.removesuffix(suffix)]
    return TYPE_NUMBERS[USUAL_TYPE]
