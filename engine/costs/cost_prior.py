"""Prior timings: estimates for a model that was never timed here, from a similar model on another computer.

The table (`assets/calibration/prior.json`) is made by `python -m benchmarks.prior`: a model in several quantisations,
timed with each library and with the kernels of several kinds of processors. The absolute seconds differ on other
computers, which the first real passes correct (`CostModel`, provisional). Decisions rest on ratios: a pass of eight
tokens against one of a single token, one library against the other. These ratios change far less between computers.
"""

from __future__ import annotations

import functools
import logging
import math
from collections import Counter
from dataclasses import dataclass, replace

import msgspec

from common.failures import Failure
from engine.costs.cost_model import Timings
from engine.costs.profile import stored_profile
from engine.machine import processor_kinds
from engine.protocol import BackendName
from models.assets import asset
from models.header import Header
from models.shapes import KVType, Shapes, shapes_of
from models.tensors import quant_sizes, tensor_bytes

log = logging.getLogger("engine.costs")

FILE = "calibration/prior.json"


class PriorRow(msgspec.Struct, frozen=True):
    """Timings of one model with one library, from the shipped table.

    `kind`: of the processor. `weights`: number of the ggml type that most of the model's bytes have. `pass_bytes`:
    bytes of weights that a pass of one token reads; `kv_bytes`: bytes of keys and values per token. `made_on`: name of
    the processor that ran them; `bandwidth`: bytes per second that its computer reads from memory.
    """

    library: BackendName
    kind: str
    weights: int
    pass_bytes: int
    kv_bytes: float
    timings: Timings
    made_on: str
    bandwidth: float


@dataclass(frozen=True, slots=True)
class ModelTraits:
    """Properties of a model by which similar timings are found: ggml type of most weights, and shapes."""

    weights: int
    shapes: Shapes

    @classmethod
    def of(cls, header: Header) -> ModelTraits | None:
        """Return the properties of the header's model; None if the header lacks some, or no row can be similar.

        The rows are of dense models with attention in every layer. Mixture-of-experts models read more weights for
        eight tokens than for one, and layers with a recurrent state have no keys and values.
        """
        try:
            shapes = shapes_of(header)
        except Failure as failure:
            log.info("%s", failure)
            return None
        is_plain = shapes.experts == 1 and shapes.kv_layers == len(shapes.layers)
        return cls(main_weight_type(header), shapes) if is_plain and shapes.pass_bytes else None


def main_weight_type(header: Header) -> int:
    """Return the number of the ggml type that most bytes of the layers' weights have."""
    sizes: Counter[int] = Counter()
    for tensor in header.tensors:
        if tensor.name.startswith("blk."):
            sizes[tensor.type] += tensor_bytes(tensor)
    return max(sizes, key=sizes.__getitem__, default=0)


def prior_timings(header: Header, library: BackendName, kv_type: KVType = "f16") -> Timings | None:
    """Return estimated timings of the model's passes on this computer, or None if the table has nothing similar."""
    model = ModelTraits.of(header)
    known = ([row for row in prior_table() if (row.kind, row.library) == (kind, library)] for kind in processor_kinds())
    rows = next(filter(None, known), None)
    if model is None or rows is None:
        return None
    row = min(rows, key=lambda row: dissimilarity(row, model))
    profile = stored_profile()
    speed = row.bandwidth / profile.read_bandwidth_bytes_per_s if profile and not profile.provisional else 1.0
    return scale_row(row, model.shapes, kv_type, speed)


def dissimilarity(row: PriorRow, model: ModelTraits) -> tuple[float, float]:
    """Return how much the model differs from the row's, to sort by: first in bits per weight, then in size."""
    bits = abs(math.log(bits_per_weight(row.weights) / bits_per_weight(model.weights)))
    return (0 if row.weights == model.weights else 1 + bits), abs(math.log(row.pass_bytes / model.shapes.pass_bytes))


def bits_per_weight(weights: int) -> float:
    """Return the bits per weight of a ggml type; 8 for an unknown type."""
    block, size = quant_sizes().get(weights, (1, 1))
    return 8 * size / block


def scale_row(row: PriorRow, shapes: Shapes, kv_type: KVType, speed: float) -> Timings:
    """Return the row's timings scaled to a model of these shapes, on a computer that takes `speed` times as long."""
    old, by = row.timings, speed * shapes.pass_bytes / row.pass_bytes
    low, high = min(old.pass_seconds), max(old.pass_seconds)
    deeper = speed * shapes.kv_bytes_per_token(kv_type) / max(1.0, row.kv_bytes)
    at_low = {k: by * seconds for k, seconds in old.pass_seconds[low].items()}
    rise = {k: max(0.0, old.pass_seconds[high][k] - old.pass_seconds[low][k]) for k in at_low}
    at_high = {k: seconds + deeper * rise[k] for k, seconds in at_low.items()}
    depths = {low: at_low} | ({high: at_high} if high > low else {})
    return Timings(depths, by * old.row_seconds, old.large_tokens, by * old.large_seconds)


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
