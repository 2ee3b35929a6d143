"""Projectors: the second file of a model that sees, which turns pictures into embeddings for it.

llama.cpp calls such a file `mmproj`. It lies beside the model's file. Its header is checked here before libmtmd, which
aborts the process on contradictions, opens the file.
"""

from __future__ import annotations

import logging
import math
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from common.failures import Failure
from models.header import Header, read_header
from models.split import part_names

log = logging.getLogger("models.projector")
_listed: dict[Path, list[Path]] = {}

# Words of file names that say nothing about whose file it is.
COMMON_WORDS = {
    "mmproj", "model", "gguf", "f16", "f32", "bf16", "fp16", "q8", "q6", "q5", "q4", "q3", "q2", "0", "1", "k", "m",
    "s", "xl", "l", "it", "instruct", "chat", "vl", "vision", "ud", "iq4", "xs", "nl",
}  # fmt: skip
MOST_CANDIDATES = 20  # projectors in one folder that are read: a folder of all models may hold one for each
# Tensors whose outermost dimension is the width of the embeddings (`clip_n_mmproj_embd` in tools/mtmd/clip.cpp). The
# first one that a file has is the last one of its projector.
OUTPUTS = (
    "mm.model.mlp.3.weight", "mm.model.mlp.2.weight", "mm.4.weight", "mm.3.weight", "mm.2.weight", "mm.model.fc.weight",
    "mm.input_projection.weight", "mm.down.weight", "resampler.proj.weight", "mm.1.weight",
)  # fmt: skip
# Projectors that stack the features of several layers: each picture token has a multiple of the model's width.
STACKED = ("qwen3vl_merger", "granite4_vision")
# Projectors whose pictures keep their shape and cost a token for each square of this many patches' side.
DYNAMIC = {
    "qwen2vl_merger", "qwen2.5vl_merger", "qwen3vl_merger", "pixtral", "lightonocr", "kimivl", "glm4v", "paddleocr",
    "gemma4v", "gemma4uv", "dots_ocr", "exaone4_5", "mimovl",
}  # fmt: skip
TILED = {"idefics3", "lfm2", "internvl", "llama4", "resampler", "minicpmv4_6", "step3vl"}
MOST_SIDE = 16_384  # pixels or patches: larger numbers in a header make no sense
USUAL_MERGE = {"qwen2vl_merger": 2, "qwen2.5vl_merger": 2, "qwen3vl_merger": 2, "gemma4v": 3, "kimivl": 2, "glm4v": 2}


@dataclass(frozen=True, slots=True)
class Projector:
    """A projector's file and what its header says.

    `type`: llama.cpp's name for the kind of projector. `width`: numbers in a picture token's embedding. `image_size`,
    `patch_size`: pixels of a side. `merge`: patches of a side that become one token. `layers`: of the encoder.
    """

    path: Path
    type: str
    width: int
    image_size: int
    patch_size: int
    merge: int
    layers: int
    embedding: int
    file_bytes: int

    @property
    def is_dynamic(self) -> bool:
        """Whether a larger picture has more tokens, one for each square of some pixels."""
        return self.type in DYNAMIC

    @property
    def is_tiled(self) -> bool:
        """Whether a larger picture is cut into tiles, each with the tokens of a small picture."""
        return self.type in TILED

    def tokens_of(self, width: int, height: int) -> int:
        """Estimate the tokens of a picture of so many pixels; exact numbers come from the loaded projector."""
        side = self.patch_size * self.merge
        if self.is_dynamic:
            return max(1, round(width / side)) * max(1, round(height / side))
        return max(1, self.image_size // side) ** 2 * (tiles_of(width, height, self.image_size) if self.is_tiled else 1)

    @property
    def compute_bytes(self) -> int:
        """Estimated bytes of the encoder's buffers for its largest usual picture.

        A layer's vectors: queries, keys, values, scores' output and twice the feed-forward's four widths, in f32.
        """
        patches = (max(self.image_size, 768 if self.is_dynamic else 0) // self.patch_size) ** 2
        return patches * self.embedding * 4 * 12

    @property
    def memory_bytes(self) -> int:
        """Bytes that the loaded projector takes while it encodes."""
        return self.file_bytes + self.compute_bytes


def tiles_of(width: int, height: int, side: int) -> int:
    """Estimate into how many tiles of `side` pixels a picture is cut, with the small one of the whole that goes along.

    Kinds of projectors differ: some scale a picture first.
    """
    tiles = math.ceil(width / side) * math.ceil(height / side)
    return tiles + 1 if tiles > 1 else 1


def find_projector(model: Header) -> Projector | None:
    """Return the projector beside the model's file that fits it, the one with the most similar name first, or None.

    A file that cannot be read or does not fit counts as missing: it may be another model's.
    """
    for path in projector_files(model.path):
        try:
            return read_projector(path, model)
        except Failure as failure:
            log.info("%s", failure.log_text)
    return None


def projector_files(model: Path) -> list[Path]:
    """Return the projectors' files in the model's folder that may belong to it, the most similar name first.

    A name such as mmproj-F16.gguf, which has no word of the model's name, counts only beside a single model, in
    whatever precisions: the widths of many models are equal, and a wrong projector gives nonsense without any error.
    """
    files = _files_beside(model)
    projectors = [path for path in files if is_projector_name(path.name)]
    models = {frozenset(name_words(path.name)) for path in files if path not in projectors}
    words = name_words(model.name)

    def common(path: Path) -> int:
        return len(words & name_words(path.name))

    fitting = [path for path in projectors if common(path) or len(models) <= 1]
    return sorted(fitting, key=lambda path: (-common(path), path.name))[:MOST_CANDIDATES]


def _files_beside(model: Path) -> list[Path]:
    """Return the GGUF files in the model's folder that are not hidden, or those when it could last be listed.

    A process that may read single files only lists their folders before it gives up its rights.
    """
    folder = model.absolute().parent
    with suppress(OSError):
        _listed[folder] = [path for path in folder.iterdir() if path.match("[!.]*") and path.suffix.lower() == ".gguf"]
    return _listed.get(folder, [])


def is_projector_name(name: str) -> bool:
    """Return whether a file is named as projectors are."""
    return name.lower().endswith(".gguf") and "mmproj" in name.lower()


def own_projectors(model: Path) -> list[Path]:
    """Return the projectors in the model's folder that belong to no other model there."""
    others = {part_names(path.name)[0] for path in _files_beside(model)} - {part_names(model.name)[0]}
    shared = {path for name in others if not is_projector_name(name) for path in projector_files(model.with_name(name))}
    return [path for path in projector_files(model) if path not in shared]


def name_words(name: str) -> set[str]:
    """Return the words of a file's name that tell which model it belongs to."""
    stem = re.sub(r"-\d{5}-of-\d{5}$", "", name.lower().removesuffix(".gguf"))
    return {word for word in re.split(r"[^a-z0-9.]+", stem) if word not in COMMON_WORDS} - {""}


def read_projector(path: Path, model: Header) -> Projector:
    """Return the projector in the file at `path`, checked against the model's header. Raises Failure."""
    header = read_header(path)
    name = header.file_name
    if header.architecture != "clip" or header.metadata.get("clip.has_vision_encoder") is not True:
        raise Failure("not_a_projector.other_file", name=name)
    projector = _from_header(header)
    width = model.metadata.get(f"{model.architecture}.embedding_length", 0)
    factor = projector.width // width if isinstance(width, int) and width > 0 else 0
    fits = factor * width == projector.width if projector.type in STACKED and factor else projector.width == width
    if not fits:
        raise Failure("bad_projector.width", name=name, model=model.file_name)
    return projector


def _from_header(header: Header) -> Projector:
    def number(key: str, default: int = 0) -> int:
        value = header.metadata.get(f"clip.vision.{key}", default)
        if not isinstance(value, int) or not 0 <= value <= MOST_SIDE * 16:
            raise Failure("bad_projector.senseless", name=header.file_name, key=f"clip.vision.{key}")
        return value

    kind = str(header.metadata.get("clip.vision.projector_type") or header.metadata.get("clip.projector_type", "mlp"))
    shapes = {tensor.name: tensor.shape for tensor in header.tensors}
    output = next((shapes[name] for name in OUTPUTS if name in shapes), ())
    size, patch = number("image_size"), number("patch_size")
    if not (0 < patch <= size <= MOST_SIDE) or not number("block_count") or not number("embedding_length"):
        raise Failure("bad_projector.senseless", name=header.file_name, key="clip.vision.image_size")
    merge = number("spatial_merge_size") or number("projector.scale_factor") or USUAL_MERGE.get(kind, 1)
    # Gemma 3 stores the projection transposed, and pools the patches of a picture to 16 × 16 tokens.
    if kind in ("gemma3", "gemma3nv"):
        merge = max(1, size // patch // 16)
        width = output[0] if output else 0
    else:
        width = output[-1] if output else number("projection_dim")
    if kind in STACKED:
        width *= 1 + len({name for name in shapes if re.fullmatch(r"v\.deepstack\.\d+\.fc2\.weight", name)})
    return Projector(
        header.path,
        kind,
        width,
        size,
        patch,
        merge,
        number("block_count"),
        number("embedding_length"),
        header.file_bytes,
    )
