"""Layers of a model that predict further tokens (MTP, multi-token prediction), which draft for the model itself.

Only headers are read. An architecture counts as usable if the pinned llama.cpp has a graph for its layers
(`LLM_GRAPH_TYPE_DECODER_MTP` in src/models/*.cpp) and tiny models of it draft in our tests. No function of the library
tells: where a graph or a tensor is missing, it aborts the process. Drafts of qwen3next could not be taken back.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from common.sentences import Sentence
from models.header import Header
from models.tensors import TensorInfo, tensor_bytes

LAYERS_KEY = "nextn_predict_layers"
# Usable architectures, and whether llama.cpp accepts more than one of the layers; only the first one drafts.
USABLE = {
    "deepseek2": False,
    "glm4moe": False,
    "qwen35": False,
    "qwen35moe": False,
    "step35": True,
}
NEEDED = ("eh_proj", "enorm", "hnorm")  # tensors without which llama.cpp aborts
BLOCK = re.compile(r"blk\.(\d{1,4})\.")
MOST_LAYERS = 512


@dataclass(frozen=True, slots=True)
class MtpLayers:
    """Layers of a model that predict further tokens.

    `first`: index of the first one; `count`: their number by the header; `tensors`: those that the files hold.
    """

    first: int
    count: int
    tensors: tuple[TensorInfo, ...]

    @property
    def bytes(self) -> int:
        """Bytes of the layers in the files."""
        return sum(map(tensor_bytes, self.tensors))

    @property
    def complete(self) -> bool:
        """Whether the files hold the layers; many leave them out and only name them in the header."""
        names = {tensor.name for tensor in self.tensors}
        return all(f"blk.{self.first}.nextn.{name}.weight" in names for name in NEEDED)


def own_layers(headers: Sequence[Header]) -> MtpLayers | None:
    """Return the layers that the header of a model's first file names; None if it names none."""
    first = headers[0]
    count, blocks = (_number(first, key) for key in (LAYERS_KEY, "block_count"))
    if not 0 < count < blocks <= MOST_LAYERS:  # a drafter's own file consists of such layers alone
        return None
    start = blocks - count
    tensors = [t for header in headers for t in header.tensors if (m := BLOCK.match(t.name)) and int(m[1]) >= start]
    return MtpLayers(start, count, tuple(tensors))


def refusal(headers: Sequence[Header]) -> Sentence | None:
    """Return why the layers that the header names cannot draft with llama.cpp; None if they can or there are none."""
    layers, architecture = own_layers(headers), headers[0].architecture
    if layers is None:
        return None
    if not layers.complete:
        return Sentence.of("own_drafter.left_out")
    if architecture not in USABLE or (layers.count > 1 and not USABLE[architecture]):
        return Sentence.of("own_drafter.unknown", architecture=architecture)
    return None


def usable_layers(headers: Sequence[Header]) -> MtpLayers | None:
    """Return the model's own layers if they can draft with llama.cpp, else None."""
    return own_layers(headers) if refusal(headers) is None else None


def only_drafts(header: Header) -> bool:
    """Return whether the file holds nothing but a model's own layers, as files for other programs' `-md` do."""
    layers = own_layers((header,))
    if layers is None or not layers.complete:
        return False
    return len(layers.tensors) == sum("blk." in tensor.name for tensor in header.tensors)


def _number(header: Header, key: str) -> int:
    value = header.metadata.get(f"{header.architecture}.{key}", 0)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
