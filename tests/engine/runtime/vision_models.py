"""Small projectors with random weights, one with a known output, and models that see by them.

All have the default model's vocabulary. Families: llava's, a plain CLIP with a projection of two layers; Qwen's, whose
pictures keep their shape and whose model has M-RoPE; Gemma's, whose pictures attend to themselves in both directions.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import gguf
import numpy as np

from engine.protocol.requests import Picture
from models.default import default_model
from models.header import read_header
from tests.engine.runtime.hybrid import copy_words

WIDTH = 576  # of the default model's embeddings
ENCODER, HEADS, FEED_FORWARD, LAYERS = 64, 4, 128, 3
PATCH, SIDE = 16, 64  # pixels: 4 × 4 patches
COLOURS = (" red", " green", " blue")

Weights = dict[str, np.ndarray]


def write_projector(path: Path, kind: str = "mlp", width: int = WIDTH, seed: int = 1) -> Path:
    """Write a projector of llava's ("mlp"), Qwen's ("qwen2vl_merger") or Gemma's ("gemma3") kind."""
    dice = np.random.default_rng(seed)

    def random(*shape: int) -> np.ndarray:
        return dice.normal(size=shape, scale=shape[-1] ** -0.5).astype(np.float32)

    weights = _layers(random)
    if kind == "mlp":
        weights |= _patches(random) | _two_layers(random(width, ENCODER), random(width, width))
    elif kind == "gemma3":
        weights |= _patches(random) | {"v.post_ln.weight": random(ENCODER), "v.post_ln.bias": random(ENCODER)}
        weights |= {"mm.input_projection.weight": random(ENCODER, width), "mm.soft_emb_norm.weight": random(ENCODER)}
    else:
        weights |= {f"v.patch_embd.weight{end}": random(ENCODER, 3, PATCH, PATCH) for end in ("", ".1")}
        weights |= {"v.post_ln.weight": random(ENCODER), "v.post_ln.bias": random(ENCODER)}
        weights |= _two_layers(random(4 * ENCODER, 4 * ENCODER), random(width, 4 * ENCODER))
    return _write(path, kind, weights, width)


def write_crashing_projector(path: Path) -> Path:
    """Write a projector that loads and then ends the process: its first product does not fit the encoder's output."""
    dice = np.random.default_rng(1)

    def random(*shape: int) -> np.ndarray:
        return dice.normal(size=shape, scale=shape[-1] ** -0.5).astype(np.float32)

    last = _two_layers(random(WIDTH, ENCODER + 32), random(WIDTH, WIDTH))
    return _write(path, "mlp", _layers(random) | _patches(random) | last, WIDTH)


def write_colour_projector(path: Path) -> Path:
    """Write a llava projector whose embedding of a patch is red · E(" red") + green · E(" green") + blue · E(" blue").

    E are the default model's own embeddings and the colours lie between 0 and 1. So a red picture must have the same
    effect as the word red, once for each patch. With a single layer llava's encoder runs none of its layers.
    """
    first, second = np.zeros((8, ENCODER), np.float32), np.zeros((WIDTH, 8), np.float32)
    kernel = np.zeros((ENCODER, 3, PATCH, PATCH), np.float32)
    for channel, embedding in enumerate(word_embeddings(COLOURS)):
        kernel[channel, channel] = 1 / PATCH**2
        first[channel, channel] = 100.0  # far to the right, where GELU changes nothing
        second[:, channel] = embedding / 100.0
    weights = _layers(lambda *shape: np.zeros(shape, np.float32), layers=1)
    weights |= _patches(lambda *shape: np.zeros(shape, np.float32)) | {"v.patch_embd.weight": kernel}
    return _write(path, "mlp", weights | _two_layers(first, second), WIDTH, mean=0.0, layers=1)


def word_embeddings(words: Sequence[str]) -> list[np.ndarray]:
    """Return the default model's embeddings of words that are one token each."""
    reader = gguf.GGUFReader(default_model())
    tensor = next(tensor for tensor in reader.tensors if tensor.name == "token_embd.weight")
    rows = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
    return [rows[token] for token in word_tokens(words)]


def word_tokens(words: Sequence[str]) -> list[int]:
    from models.token_list import read_token_list

    texts = read_token_list(read_header(default_model())).texts
    return [texts.index(word.replace(" ", "Ġ").encode()) for word in words]


def _layers(random, layers: int = LAYERS) -> Weights:
    shapes: Mapping[str, tuple[int, ...]] = {
        "attn_q": (ENCODER, ENCODER), "attn_k": (ENCODER, ENCODER), "attn_v": (ENCODER, ENCODER),
        "attn_out": (ENCODER, ENCODER), "ln1": (ENCODER,), "ln2": (ENCODER,),
        "ffn_up": (FEED_FORWARD, ENCODER), "ffn_down": (ENCODER, FEED_FORWARD),
    }  # fmt: skip
    found: Weights = {}
    for layer in range(layers):
        for name, shape in shapes.items():
            found[f"v.blk.{layer}.{name}.weight"] = random(*shape)
            found[f"v.blk.{layer}.{name}.bias"] = random(shape[0])
    return found


def _patches(random) -> Weights:
    return {
        "v.patch_embd.weight": random(ENCODER, 3, PATCH, PATCH),
        "v.patch_embd.bias": random(ENCODER),
        "v.position_embd.weight": random((SIDE // PATCH) ** 2, ENCODER),
    }


def _two_layers(first: np.ndarray, second: np.ndarray) -> Weights:
    return {
        "mm.0.weight": first,
        "mm.0.bias": np.zeros(len(first), np.float32),
        "mm.2.weight": second,
        "mm.2.bias": np.zeros(len(second), np.float32),
    }


def _write(path: Path, kind: str, weights: Weights, width: int, mean: float = 0.5, layers: int = LAYERS) -> Path:
    writer = gguf.GGUFWriter(path, "clip")
    writer.add_string("general.type", "mmproj")
    writer.add_bool("clip.has_vision_encoder", True)
    writer.add_string("clip.projector_type", kind)
    writer.add_bool("clip.use_gelu", True)
    numbers = {
        "image_size": SIDE, "patch_size": PATCH, "embedding_length": ENCODER, "feed_forward_length": FEED_FORWARD,
        "block_count": layers, "projection_dim": width, "attention.head_count": HEADS,
    }  # fmt: skip
    if kind == "gemma3":
        numbers["projector.scale_factor"] = 1
    for key, value in numbers.items():
        writer.add_uint32(f"clip.vision.{key}", value)
    writer.add_float32("clip.vision.attention.layer_norm_epsilon", 1e-6)
    writer.add_array("clip.vision.image_mean", [mean] * 3)
    writer.add_array("clip.vision.image_std", [mean or 1.0] * 3)
    for name, data in weights.items():
        writer.add_tensor(name, data)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def write_mrope_model(path: Path, seed: int = 1) -> Path:
    """Write a small random language model of Qwen2-VL's architecture, with M-RoPE."""
    writer, dice = gguf.GGUFWriter(path, "qwen2vl"), np.random.default_rng(seed)
    vocabulary, width, heads, feed_forward = copy_words(writer), 128, 4, 192
    writer.add_context_length(4096)
    writer.add_embedding_length(width)
    writer.add_block_count(2)
    writer.add_feed_forward_length(feed_forward)
    writer.add_head_count(heads)
    writer.add_head_count_kv(heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_sections([4, 6, 6, 0])
    writer.add_vocab_size(vocabulary)
    shapes: dict[str, tuple[int, ...]] = {"token_embd.weight": (vocabulary, width), "output_norm.weight": (width,)}
    for layer in range(2):
        names = dict.fromkeys(("attn_q", "attn_k", "attn_v", "attn_output"), (width, width)) | {
            "ffn_gate": (feed_forward, width), "ffn_up": (feed_forward, width), "ffn_down": (width, feed_forward),
            "attn_norm": (width,), "ffn_norm": (width,),
        }  # fmt: skip
        shapes |= {f"blk.{layer}.{name}.weight": shape for name, shape in names.items()}
        shapes |= {f"blk.{layer}.{name}.bias": (width,) for name in ("attn_q", "attn_k", "attn_v")}
    for name, shape in shapes.items():
        data = dice.normal(size=shape, scale=shape[-1] ** -0.5).astype(np.float32)
        if name.endswith("norm.weight"):
            data = (1 + data).astype(np.float32)
        if "attn_q" in name or "attn_k" in name:
            data *= 4  # attention that looks at single tokens, so that positions matter
        writer.add_tensor(name, data.astype(np.float16) if name.startswith("token_embd") else data)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


# --- pictures ---


def png(pixels: np.ndarray) -> bytes:
    """Return the PNG file of an array [height, width, 3] of bytes."""
    height, width, _ = pixels.shape
    lines = b"".join(b"\0" + line.tobytes() for line in pixels.astype(np.uint8))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


def picture_of(pixels: np.ndarray) -> Picture:
    data = png(pixels)
    return Picture(hashlib.sha256(data).hexdigest(), pixels.shape[1], pixels.shape[0], data=data)


def plain(colour: Sequence[int], width: int = SIDE, height: int = SIDE) -> np.ndarray:
    return np.broadcast_to(np.array(colour, np.uint8), (height, width, 3))


def noise(width: int = SIDE, height: int = SIDE, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)
