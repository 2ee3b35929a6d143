"""What passes cost before any was timed here: what they cost on another computer, of a model with like weights.

The table (`assets/calibration/prior.json`) is made by `python -m benchmarks.prior`: a model in several quantisations,
timed with each library and with the kernels of several kinds of processors. Seconds are of little use elsewhere, which
the first real passes put right (`CostModel`, provisional). What decisions rest on is how passes compare: of eight
tokens with those of one, of one library with those of the other. That changes far less from computer to computer.
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
from engine.costs.profile import kept_profile
from engine.machine import processor_kinds
from engine.protocol import BackendName
from models.assets import asset
from models.header import Header
from models.shapes import KVType, Shapes, shapes_of
from models.tensors import quant_sizes, tensor_bytes

log = logging.getLogger("engine.costs")

FILE = "calibration/prior.json"


class Row(msgspec.Struct, frozen=True):
    """Passes of one model with one library. `kind`: of the processor; `weights`: number of the ggml type that most of
    the model's bytes are of; `pass_bytes`, `kv_bytes`: weights that a token reads, keys and values that it leaves;
    `made_on`, `bandwidth`: the processor, and bytes per second that the computer reads on which they were timed."""

    library: BackendName
    kind: str
    weights: int
    pass_bytes: int
    kv_bytes: float
    timings: Timings
    made_on: str
    bandwidth: float


@dataclass(frozen=True, slots=True)
class Likeness:
    """What of a model tells whose passes cost alike."""

    weights: int
    shapes: Shapes

    @classmethod
    def of(cls, header: Header) -> Likeness | None:
        """None where the header does not say enough, and where a pass of eight tokens is not eight passes read at once:
        for experts, of which it touches more, and for layers that keep a state instead of keys and values."""
        try:
            shapes = shapes_of(header)
        except Failure as failure:
            log.info("%s", failure)
            return None
        is_plain = shapes.experts == 1 and shapes.kv_layers == len(shapes.layers)
        return cls(main_type(header), shapes) if is_plain and shapes.pass_bytes else None


def main_type(header: Header) -> int:
    """Number of the ggml type that most bytes of the layers' weights are of."""
    sizes: Counter[int] = Counter()
    for tensor in header.tensors:
        if tensor.name.startswith("blk."):
            sizes[tensor.type] += tensor_bytes(tensor)
    return max(sizes, key=sizes.__getitem__, default=0)


def prior(header: Header, library: BackendName, kv_type: KVType = "f16") -> Timings | None:
    """About what passes of the model cost here; None where nothing is known that is like it."""
    model = Likeness.of(header)
    known = ([row for row in table() if (row.kind, row.library) == (kind, library)] for kind in processor_kinds())
    rows = next(filter(None, known), None)
    if model is None or rows is None:
        return None
    row = min(rows, key=lambda row: unlikeness(row, model))
    profile = kept_profile()
    speed = row.bandwidth / profile.read_bandwidth_bytes_per_s if profile and not profile.provisional else 1.0
    return scaled(row, model.shapes, kv_type, speed)


def unlikeness(row: Row, model: Likeness) -> tuple[float, float]:
    """How far the model is from the row's: first in bits for a weight, then in size."""
    bits = abs(math.log(bits_of(row.weights) / bits_of(model.weights)))
    return (0 if row.weights == model.weights else 1 + bits), abs(math.log(row.pass_bytes / model.shapes.pass_bytes))


def bits_of(weights: int) -> float:
    """Bits that a weight of this ggml type takes; as many as a byte has for a type that nobody knows."""
    block, size = quant_sizes().get(weights, (1, 1))
    return 8 * size / block


def scaled(row: Row, shapes: Shapes, kv_type: KVType, speed: float) -> Timings:
    """The row's timings for a model of these shapes, on a computer that takes `speed` times as long."""
    old, by = row.timings, speed * shapes.pass_bytes / row.pass_bytes
    low, high = min(old.pass_seconds), max(old.pass_seconds)
    deeper = speed * shapes.kv_bytes_per_token(kv_type) / max(1.0, row.kv_bytes)
    at_low = {k: by * seconds for k, seconds in old.pass_seconds[low].items()}
    rise = {k: max(0.0, old.pass_seconds[high][k] - old.pass_seconds[low][k]) for k in at_low}
    at_high = {k: seconds + deeper * rise[k] for k, seconds in at_low.items()}
    depths = {low: at_low} | ({high: at_high} if high > low else {})
    return Timings(depths, by * old.row_seconds, old.large_tokens, by * old.large_seconds)


def of_all_layers(part: Timings, shortened: Shapes, whole: Shapes) -> Timings:
    """What passes of the whole model cost, by those of the model with some of its layers: prompts in proportion to what
    is computed in the layers, for that needs no logits, and small passes to the weights that are read."""
    by = whole.pass_bytes / shortened.pass_bytes
    computed = [sum(layer.flops for layer in shapes.layers) for shapes in (whole, shortened)]
    seconds = {depth: {k: by * s for k, s in times.items()} for depth, times in part.pass_seconds.items()}
    large = part.large_seconds * computed[0] / computed[1]
    return replace(part, pass_seconds=seconds, large_seconds=large)


@functools.cache
def table() -> tuple[Row, ...]:
    """The one that comes with Chickadee. Raises OSError and msgspec.DecodeError where the installation is damaged."""
    return msgspec.json.decode(asset(FILE).read_bytes(), type=tuple[Row, ...])
