"""Prior timings and speeds: estimates for a model that was never timed here, from a similar one on another computer.

The table (`assets/calibration/prior.json`) is made by `python -m benchmarks.prior`: a model in several quantisations,
timed with each library and with the kernels of several kinds of processors. The absolute seconds differ on other
computers, which the first real passes correct (`CostModel`, provisional). Decisions rest on ratios: a pass of eight
tokens against one of a single token, one library against the other. These ratios change far less between computers.

A model's weights are of several types, each of which has a speed of its own: a pass takes the sum of what its parts
take, and each part is scaled from a row of its type (`WeightPart`). Prompts need no output head but for their last
token.

From the same timings follows the speed of a model that is not downloaded yet (`predict_speed`). Once the built-in model
was timed, the error of its own prediction corrects those of the others. A measured speed is always better;
`python -m benchmarks.prediction` compares both.
"""

from __future__ import annotations

import functools
import logging
import math
from collections import Counter
from collections.abc import Sequence
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
from models.tensors import is_expert, tensor_bytes

log = logging.getLogger("engine.costs")

FILE = "calibration/prior.json"
MOST_CORRECTION = 3.0  # times: a larger error of the prediction is a disturbed measurement
CONTEXT = 1000  # tokens of the chat for which decoding is predicted
EIGHT_LANES = ("avx512_vnni", "avx_vnni", "avx2")  # kinds whose kernels differ little for types without own ones
# Of one token of a prompt in one layer, on two threads of the table's computer: attention, norms and whatever is no
# product. So much longer the built-in model's prompts take than its weights do at the speed of a large model.
LAYER_SECONDS, LAYER_THREADS = 22e-6, 2
LIBRARIES: tuple[BackendName, ...] = ("ik", "llama")
USUAL_TYPE = "Q4_K"


class PriorRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """Timings of one model with one library, from the shipped table.

    `kind`: of the processor. `weights`: number of the ggml type that most of the model's bytes have. `pass_bytes`:
    bytes of weights that a pass of one token reads, `head_bytes` of them in the output head; `kv_bytes`: bytes of keys
    and values per token. `made_on`: name of the processor that ran them; `bandwidth`: bytes per second that its
    computer reads from memory; `threads`: number of threads that computed. `derived`: the times are those of another
    quantisation of the model, times how much longer one thread's processor took (docs/how-it-decides.md). `product`:
    operations per second of the product that the profile times; 0 if it was not timed there. `layers`: their number.
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
    head_bytes: int = 0
    product: float = 0.0
    layers: int = 0

    @property
    def parts(self) -> tuple[WeightPart, ...]:
        """The parts of the row's own model, all of them of its main type."""
        layers = WeightPart(self.weights, WeightReads(self.pass_bytes - self.head_bytes))
        return layers, WeightPart(self.weights, WeightReads(self.head_bytes), is_head=True)


@dataclass(frozen=True, slots=True)
class WeightPart:
    """Weights of one ggml type `type`, in a model's layers or in its output head, and the bytes that passes read."""

    type: int
    reads: WeightReads
    is_head: bool = False


@dataclass(frozen=True, slots=True)
class ModelTraits:
    """Properties of a model that decide how long its passes take.

    `parts`: its weights by type. `kv_elements`: numbers in one token's keys and values of all layers. `layers`: their
    number. `attends_everywhere`: every layer has attention, none keeps a recurrent state.
    """

    parts: tuple[WeightPart, ...]
    kv_elements: int
    layers: int = 0
    attends_everywhere: bool = True

    @property
    def reads(self) -> WeightReads:
        """Bytes of weights that passes read."""
        shares = [part.reads.share for part in self.parts if part.reads.experts]
        always, experts = (sum(getattr(part.reads, name) for part in self.parts) for name in ("always", "experts"))
        return WeightReads(always, experts, shares[0] if shares else 1.0)

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
        layers = len(shapes.layers)
        return cls(parts_of(header, shapes), kv_elements, layers, shapes.kv_layers == layers)


def parts_of(header: Header, shapes: Shapes) -> tuple[WeightPart, ...]:
    """Return the model's weights by type; what is left of the shapes' bytes is in the type of most weights."""
    always, experts = Counter[int](), Counter[int]()
    for tensor in header.tensors:
        if tensor.name.startswith("blk."):
            (experts if is_expert(tensor) else always)[tensor.type] += tensor_bytes(tensor)
    share = shapes.reads.share
    layers = [WeightPart(type, WeightReads(always[type], experts[type], share)) for type in sorted({*always, *experts})]
    by_name = {tensor.name: tensor for tensor in header.tensors}
    head = by_name.get("output.weight") or by_name.get("token_embd.weight")
    head_type = head.type if head else main_weight_type(header)
    return *layers, WeightPart(head_type, WeightReads(shapes.output.pass_bytes), is_head=True)


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
    """Return the timings of the rows most similar to the model's parts, or None if no row is for the computer."""
    known = [[row for row in prior_table() if (row.kind, row.library) == (kind, library)] for kind in computer.kinds]
    groups = [rows for rows in known if rows]
    if not groups:
        return None
    chosen = [(most_similar(groups, part, model.pass_bytes), part) for part in model.parts]
    return scale_rows(chosen, model, kv_type, computer)


def most_similar(groups: Sequence[Sequence[PriorRow]], part: WeightPart, pass_bytes: int) -> PriorRow:
    """Return the row to scale for this part of a model that reads `pass_bytes` for a token.

    `groups` are the rows of each kind of processor, the best kind first. A library has no kernels of its own for some
    types and the newer instructions: then the older kind's row is right. Only if no kind has the type, one with about
    as many bits per weight takes its place.
    """

    def difference(row: PriorRow) -> tuple[float, float]:
        bits = abs(math.log(bits_per_weight(row.weights) / bits_per_weight(part.type)))
        return (0 if row.weights == part.type else 1 + bits), abs(math.log(row.pass_bytes / pass_bytes))

    usable = [rows for rows in groups if rows[0].kind in EIGHT_LANES] or groups[:1]
    same = next((rows for rows in usable if any(row.weights == part.type for row in rows)), usable[0])
    return min(same, key=difference)


def this_computer() -> Computer:
    """Return this computer's speeds; those that were never measured without disturbance are 0."""
    kinds, threads, profile = tuple(processor_kinds()), default_threads(), stored_profile()
    if profile is None or profile.provisional:
        return Computer(kinds, threads=threads)
    return Computer(kinds, profile.read_bandwidth_bytes_per_s, threads, product=profile.product_flops_per_s)


def bits_per_weight(weights: int) -> float:
    """Return the bits per weight of a ggml type; 8 for an unknown type."""
    return TENSOR_TYPES[weights].bits if weights in TENSOR_TYPES else 8.0


def scale_rows(
    parts: Sequence[tuple[PriorRow, WeightPart]], model: ModelTraits, kv_type: KVType, computer: Computer
) -> Timings:
    """Return the sum of the parts' timings, each scaled from its row to its weights and to a computer.

    What more tokens in the KV cache add is scaled from the row of the largest part.
    """
    main, _ = max(parts, key=lambda each: each[1].reads.bytes(1))
    old, low, high = main.timings, min(main.timings.pass_seconds), max(main.timings.pass_seconds)
    ks = sorted(set.intersection(*(set(row.timings.shallow) for row, _ in parts)))
    at_low = {k: sum(part_seconds(row, part, k, row.timings.shallow[k], computer) for row, part in parts) for k in ks}
    reading = main.bandwidth / computer.bandwidth if computer.bandwidth else 1.0
    deeper = reading * model.kv_elements * KV_ELEMENT_BYTES[kv_type] / max(1.0, main.kv_bytes)
    rise = {k: max(0.0, old.pass_seconds[high][k] - old.pass_seconds[low][k]) for k in ks}
    at_high = {k: seconds + deeper * rise[k] for k, seconds in at_low.items()}
    depths = {low: at_low} | ({high: at_high} if high > low else {})
    large = sum(prompt_seconds(row, part, old.large_tokens, computer) for row, part in parts)
    large += model.layers * layer_seconds(main) * old.large_tokens * computing(main, computer)
    rows = sum(row.timings.row_seconds * part_share(row, part) * computing(row, computer) for row, part in parts)
    return Timings(depths, rows, old.large_tokens, large)


def part_seconds(row: PriorRow, part: WeightPart, tokens: int, seconds: float, computer: Computer) -> float:
    """Return how long a pass takes for a part, where the pass of the row's model took `seconds`.

    The time that a pass takes to read the weights scales with the memory's bandwidth, the rest with the speed of
    arithmetic (`computing`). An unknown speed counts as the
    row's. A pass of several tokens of a mixture reads more experts than one of a single token.
    """
    reading = row.bandwidth / computer.bandwidth if computer.bandwidth else 1.0
    read = min(seconds, row.pass_bytes / row.bandwidth)
    more = part.reads.bytes(tokens) / max(1.0, part.reads.bytes(1))
    return part_share(row, part) * (read * reading * more + (seconds - read) * computing(row, computer))


def part_share(row: PriorRow, part: WeightPart) -> float:
    """Return the bytes that a token reads of the part, as a share of those that it reads of the row's model."""
    return part.reads.bytes(1) / row.pass_bytes


def prompt_seconds(row: PriorRow, part: WeightPart, tokens: int, computer: Computer) -> float:
    """Return the part's share of the seconds of a prompt's pass, which computes no output head."""
    if part.is_head:
        return 0.0
    old = row.timings
    layers = row.pass_bytes / max(1, row.pass_bytes - row.head_bytes)
    seconds = (old.large_seconds / old.large_tokens - row.layers * layer_seconds(row)) * tokens
    return layers * part_seconds(row, part, tokens, seconds, computer)


def layer_seconds(row: PriorRow) -> float:
    """Return the seconds of one token of a prompt in one layer beside the products, on the row's computer."""
    return LAYER_SECONDS * LAYER_THREADS / row.threads


def computing(row: PriorRow, computer: Computer) -> float:
    """Return how many times longer the computer takes for arithmetic than the row's.

    A product was timed on both if they compute with the same kernels; otherwise the number of threads tells.
    """
    if row.product and computer.product and row.kind == computer.kinds[0]:
        return row.product / computer.product
    return row.threads / computer.threads if computer.threads else 1.0


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
    type, reads = weight_type(model.quantisation), reads_of_estimate(model)
    head = min(reads.always / 2, model.vocabulary * model.embedding * bits_per_weight(type) / 8)
    layers = WeightPart(type, WeightReads(reads.always - head, reads.experts, reads.share))
    parts = layers, WeightPart(type, WeightReads(head), is_head=True)
    return ModelTraits(parts, kv_elements, model.layers, everywhere)


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
