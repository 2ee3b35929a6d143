"""Drafters that models bring along: layers of their own that predict further tokens (MTP), and files made for them.

Only headers are read. An architecture counts as usable if the pinned llama.cpp has a graph for its layers
(`LLM_GRAPH_TYPE_DECODER_MTP` in src/models/*.cpp) and tiny models of it draft in our tests. No function of the library
tells: where a graph or a tensor is missing, it aborts the process. Drafts of qwen3next could not be taken back.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from common.failures import Failure
from common.paths import display_name
from common.sentences import Sentence
from models.header import Header, read_header
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
# Architectures of drafters in files of their own, and the key that says how wide their target's hidden states are.
TARGET_WIDTH = {
    "eagle3": "target_hidden_size",
    "dflash": "target_hidden_size",
    "gemma4-assistant": "embedding_length_out",
}
DRAFTER_NAME = re.compile(r"eagle|assistant|draft|dflash|mtp", re.IGNORECASE)
MOST_CANDIDATES = 20  # files in one folder that are read
BLOCK = re.compile(r"blk\.(\d{1,4})\.")
MOST_LAYERS = 512


@dataclass(frozen=True, slots=True)
class OwnLayers:
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


def own_layers(headers: Sequence[Header]) -> OwnLayers | None:
    """Return the layers that the header of a model's first file names; None if it names none."""
    first = headers[0]
    count, blocks = (_number(first, key) for key in (LAYERS_KEY, "block_count"))
    if not 0 < count < blocks <= MOST_LAYERS:  # a drafter's own file consists of such layers alone
        return None
    start = blocks - count
    tensors = [t for header in headers for t in header.tensors if (m := BLOCK.match(t.name)) and int(m[1]) >= start]
    return OwnLayers(start, count, tuple(tensors))


def refusal(headers: Sequence[Header]) -> Sentence | None:
    """Return why the layers that the header names cannot draft with llama.cpp; None if they can or there are none."""
    found, architecture = own_layers(headers), headers[0].architecture
    if found is None:
        return None
    if not found.complete:
        return Sentence.of("own_drafter.left_out")
    if architecture not in USABLE or (found.count > 1 and not USABLE[architecture]):
        return Sentence.of("own_drafter.unknown", architecture=architecture)
    return None


def usable_layers(headers: Sequence[Header]) -> OwnLayers | None:
    """Return the model's own layers if they can draft with llama.cpp, else None."""
    return own_layers(headers) if refusal(headers) is None else None


def only_drafts(header: Header) -> bool:
    """Return whether the file holds nothing but a model's own layers, as files for other programs' `-md` do."""
    found = own_layers((header,))
    return found is not None and found.complete and len(found.tensors) == sum("blk." in t.name for t in header.tensors)


def drafter_beside(model: Path, header: Header | None = None) -> Path | None:
    """Return a file in the model's folder that is named as a drafter and was made for models of this shape, or None.

    `header`: the model's, if it was read already. A file that cannot be read counts as missing: it may be another
    model's.
    """
    files: list[Path] = []
    with suppress(OSError):
        files = sorted(path for path in model.absolute().parent.iterdir() if path.suffix.lower() == ".gguf")
    for path in [path for path in files if DRAFTER_NAME.search(path.name) and path.name != model.name][
        :MOST_CANDIDATES
    ]:
        with suppress(Failure):
            if was_made_for(read_header(path), header or read_header(model)):
                return path
    return None


def drafter_sentence(model: Path, own: Sentence | None) -> Sentence | None:
    """Return what a card says of the drafter that was made for a model; None if there is none.

    `own`: what the facts of the model's file say of layers of its own; without it a file beside the model counts.
    """
    if own:
        return own
    beside = drafter_beside(model)
    return Sentence.of("own_drafter.beside", name=display_name(beside)) if beside else None


def was_made_for(drafter: Header, model: Header) -> bool:
    """Return whether a drafter's shape fits the model's."""
    width, layers = _number(model, "embedding_length"), _number(model, "block_count")
    architecture = drafter.architecture
    if architecture not in TARGET_WIDTH:
        same = architecture == model.architecture and _number(drafter, "embedding_length") == width
        return same and only_drafts(drafter)
    if architecture == "gemma4-assistant" and model.architecture != "gemma4":
        return False
    read = drafter.arrays.get(f"{architecture}.target_layers", ())
    return 0 < width == _number(drafter, TARGET_WIDTH[architecture]) and all(0 <= layer <= layers for layer in read)


def _number(header: Header, key: str) -> int:
    value = header.metadata.get(f"{header.architecture}.{key}", 0)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
