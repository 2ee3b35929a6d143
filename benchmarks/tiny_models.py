"""Tiny model files of any architecture that llama.cpp knows: random weights, and a real vocabulary and chat template.

    python -m benchmarks.tiny_models qwen35 lfm2 gemma3 --folder F [--seed N]

A model is described by its header alone. llama.cpp itself tells which tensors such a model has and how large they are
(`llama_model_init_from_user`), so no compiler is needed, and what is written is what its loader accepts.

The vocabulary is the beginning of the default model's: control tokens and single bytes, one token for each character.
Only printable ASCII is ever answered, so an answer's text has the same tokens when the chat goes on, as it has with a
real model.
"""

from __future__ import annotations

import argparse
import ctypes
import re
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from numpy.typing import NDArray

from benchmarks.tiny_shapes import OWN_LAYERS, SHAPES
from engine.runtime.llama.library import ggml, log, open_library
from models.default import default_model
from models.header import read_header
from models.token_list import PADDING, read_token_list

TOKENS = 252  # control tokens and single bytes
PLAIN_KEYS = ("xielu.", "tokenizer.")  # beginnings of keys that stand without the architecture's name in a file, too
ANSWERED = range(17, 111)  # tokens that are printable ASCII

# Attention looks at single tokens, and layers weigh more than the newest token: otherwise random weights average all
# that was read, and an answer does not tell whether an old token was kept.
STRONGER = {
    r"attn_q(_norm|_b)?\.weight": 8.0,
    r"attn_qkv\.weight": 3.0,
    r"attn_output": 3.0,
    r"ssm_d$": 0.1,
    r"ffn_down": 0.05,
    r"conv\.out_proj": 0.2,
    r"token_embd": 0.01,
    r"\.bias$": 0.1,
}
UNSCALED = {"gemma3n", "gemma4"}  # do not divide scores by the root of a head's length: queries must be weaker
# Optional tensors that no file of the architecture has; with them llama.cpp computes another one, and crashes.
NOT_IN_FILES = {"rwkv6qwen2": ("time_mix_first.weight",)}
SLOW_TO_FAST = (-7, 0)  # logarithms of how fast the states of a recurrent layer fade, in nats a token

Header = Mapping[str, Any]
Weights = NDArray[np.float32]


class GgmlTensor(ctypes.Structure):
    """The first fields of `ggml_tensor`, as ggml.h declares it."""

    _fields_ = (("type", ctypes.c_int), ("buffer", ctypes.c_void_p), ("ne", ctypes.c_int64 * 4))


class GgufParams(ctypes.Structure):
    """`gguf_init_params`, as gguf.h declares it."""

    _fields_ = (("no_alloc", ctypes.c_bool), ("context", ctypes.c_void_p))


class NoSuchModel(Exception):
    """Refusal of llama.cpp to make a model of a header."""


@dataclass(frozen=True, slots=True)
class Words:
    """A vocabulary as GGUF stores it; `others` are the tokenizer's remaining keys, the chat template among them."""

    texts: tuple[bytes, ...]
    kinds: tuple[int, ...]
    others: Header


def write_tiny_model(
    path: Path,
    header: Header,
    seed: int = 1,
    change: Callable[[dict[str, Weights]], None] = lambda _weights: None,
    make: Callable[[str, tuple[int, ...], int], Weights] | None = None,
) -> Path:
    """Write a model of this header, whose keys stand without the architecture's name, and return its path.

    `change` may change the weights, which it gets by name; `make` replaces `random_weights`. Raises NoSuchModel if
    llama.cpp refuses the header; some headers make it abort the process.
    """
    words = first_words(header.get("vocab_size", TOKENS))
    header = dict(header) | {"vocab_size": len(words.texts)}
    sizes = tensor_sizes(header, words)
    left_out = NOT_IN_FILES.get(header["architecture"], ())
    written = [name for name in sizes if not is_scale(name, sizes) and not name.endswith(left_out)]
    weights = {name: (make or random_weights)(name, sizes[name], seed) for name in written}
    if header["architecture"] in UNSCALED:
        for name in weights:
            weights[name] *= np.float32(0.05 if "attn_q_norm" in name else 1)
    head = weights["output.weight" if "output.weight" in weights else "token_embd.weight"]
    head[[i for i in range(len(head)) if i not in ANSWERED]] = 0
    change(weights)
    _write(path, header, words, weights)
    return path


def tensor_sizes(header: Header, words: Words) -> dict[str, tuple[int, ...]]:
    """Return the sizes of all tensors of such a model by their names, the slowest dimension first."""
    shapes: dict[str, tuple[int, ...]] = {}

    def note(address: int, _data: object) -> None:
        tensor = GgmlTensor.from_address(address)
        count = ggml("ggml_n_dims", ctypes.c_int, ctypes.c_void_p)(address)
        name = ggml("ggml_get_name", ctypes.c_char_p, ctypes.c_void_p)(address).decode()
        shapes[name] = tuple(int(size) for size in tensor.ne[:count])[::-1]

    lib = open_library()
    params = lib.llama_model_default_params()
    params.n_gpu_layers = 0
    params.load_mtp = True
    callback = lib.llama_model_set_tensor_data_t(note)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "header.gguf"
        _write(file, header, words, {})
        read = ggml("gguf_init_from_file", ctypes.c_void_p, ctypes.c_char_p, GgufParams)
        metadata = read(str(file).encode(), GgufParams(True, None))
    with log.errors() as errors:
        model = lib.llama_model_init_from_user(metadata, callback, None, params)
    ggml("gguf_free", None, ctypes.c_void_p)(metadata)
    if not model:
        raise NoSuchModel(errors[0] if errors else "no reason given")
    lib.llama_model_free(model)
    return shapes


def is_scale(name: str, sizes: Mapping[str, object]) -> bool:
    """Return whether the tensor scales another one, as only files with 4-bit floats need it, though llama.cpp asks."""
    stem, _, end = name.rpartition(".")
    return end in ("scale", "input_scale") and f"{stem}.weight" in sizes and not stem.endswith("ffn_gate_inp")


def random_weights(name: str, sizes: tuple[int, ...], seed: int) -> Weights:
    """Return random weights that keep the numbers in a model at about 1, whatever its width."""
    dice = np.random.default_rng([seed, *name.encode()])
    data = dice.normal(size=sizes, scale=sizes[-1] ** -0.5 if len(sizes) > 1 else 0.1)
    if "norm" in name and name.endswith("weight"):
        data += 1
    elif name.endswith("ssm_a"):
        data = -np.exp(dice.uniform(*SLOW_TO_FAST, size=sizes))
    factor = next((factor for pattern, factor in STRONGER.items() if re.search(pattern, name)), 1.0)
    return (factor * data).astype(np.float32)


def _write(path: Path, header: Header, words: Words, weights: Mapping[str, Any]) -> None:
    architecture = header["architecture"]
    writer = gguf.GGUFWriter(path, architecture)
    for key, value in header.items():
        if key != "architecture":
            _add(writer, key if key.startswith(PLAIN_KEYS) else f"{architecture}.{key}", value)
    for key, value in words.others.items():
        _add(writer, key, value)
    writer.add_token_list(words.texts)
    writer.add_token_types(words.kinds)
    writer.add_token_merges(["Ā Ā"])  # a list must not be empty: two zero bytes never follow each other
    for name, data in weights.items():
        writer.add_tensor(name, data)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add(writer: gguf.GGUFWriter, key: str, value: Any) -> None:
    if isinstance(value, bool):
        writer.add_bool(key, value)
    elif isinstance(value, int):
        writer.add_uint32(key, value)
    elif isinstance(value, float):
        writer.add_float32(key, value)
    elif isinstance(value, str):
        writer.add_string(key, value)
    elif isinstance(value, np.ndarray):
        writer.add_key_value(key, value.tolist(), gguf.GGUFValueType.ARRAY, gguf.GGUFValueType.UINT64)
    elif value:  # GGUF has no empty lists
        writer.add_array(key, list(value))


def first_words(count: int) -> Words:
    """Return the default model's first tokens, padded to `count`, and its chat template."""
    header = read_header(default_model())
    whole = read_token_list(header)
    padding = tuple(f"<padding{i}>".encode() for i in range(count - TOKENS))
    return Words(
        whole.texts[:TOKENS] + padding,
        whole.kinds[:TOKENS] + (PADDING,) * len(padding),
        {key: value for key, value in header.metadata.items() if key.startswith("tokenizer.")},
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tiny_models", description=__doc__.splitlines()[0])
    shapes = SHAPES | OWN_LAYERS
    parser.add_argument("names", nargs="+", choices=sorted(shapes), metavar="NAME", help=", ".join(sorted(shapes)))
    parser.add_argument("--folder", type=Path, required=True, help="where the files are written")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in options.names:
        path = write_tiny_model(options.folder / f"{name}-{options.seed}.gguf", shapes[name], options.seed)
        print(f"{path}  {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
