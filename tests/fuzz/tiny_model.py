"""Small model file that the engine really loads, in parts that can be changed.

It has the default model's vocabulary and random weights. Format: ggml's docs/gguf.md; written by hand because much of
what is written is against the format.
"""

from __future__ import annotations

import functools
import math
import struct
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from models.default import default_model

SCALARS = {"u8": (0, "B"), "i8": (1, "b"), "u16": (2, "H"), "i16": (3, "h"), "u32": (4, "I"), "i32": (5, "i"),
           "f32": (6, "f"), "bool": (7, "B"), "u64": (10, "Q"), "i64": (11, "q"), "f64": (12, "d")}  # fmt: skip
SIZES = {number: struct.calcsize(letter) for number, letter in SCALARS.values()}
STRING, ARRAY = 8, 9
WIDTH, HEADS, KV_HEADS, FEED_FORWARD, LAYERS, CONTEXT = 64, 2, 1, 96, 2, 2048
SMALL = 1500  # tokens: all single bytes are among the first 300
HEADER_PREFIX = "llama."


@dataclass(frozen=True, slots=True)
class Entry:
    """Key with its value as stored in the file, after the number of its type."""

    key: bytes
    type: int
    value: bytes


@dataclass(frozen=True, slots=True)
class Tensor:
    """Tensor's description: `dims` as written, the fastest first; `n_dims` is the number that it claims."""

    name: bytes
    dims: tuple[int, ...]
    type: int
    offset: int
    n_dims: int

    def raw(self) -> bytes:
        dims = b"".join(_u64(size) for size in self.dims)
        return _string(self.name) + _u32(self.n_dims) + dims + _u32(self.type) + _u64(self.offset)


@dataclass(frozen=True, slots=True)
class Model:
    """Parts of a file; `n_keys` and `n_tensors` are the numbers that the header claims, None for the true ones."""

    entries: tuple[Entry, ...]
    tensors: tuple[Tensor, ...]
    data: bytes = field(repr=False)
    magic: bytes = b"GGUF"
    version: int = 3
    alignment: int = 32
    n_keys: int | None = None
    n_tensors: int | None = None

    def head(self) -> bytes:
        n_tensors = len(self.tensors) if self.n_tensors is None else self.n_tensors
        n_keys = len(self.entries) if self.n_keys is None else self.n_keys
        entries = b"".join(_string(e.key) + _u32(e.type) + e.value for e in self.entries)
        tensors = b"".join(tensor.raw() for tensor in self.tensors)
        return self.magic + _u32(self.version) + _u64(n_tensors) + _u64(n_keys) + entries + tensors

    def raw(self) -> bytes:
        head = self.head()
        return head + bytes(-len(head) % self.alignment) + self.data

    def with_value(self, key: str, value: Entry) -> Model:
        """Return the model with this entry, replacing the key's present one or after all others."""
        name = key.encode("utf-8", "surrogateescape")
        others = tuple(value if entry.key == name else entry for entry in self.entries)
        return replace(self, entries=others if value in others else (*others, value))


def scalar(key: str, kind: str, value: Any) -> Entry:
    """Build an entry with `value` as a number of this type, cut to the bits that fit."""
    name, (number, letter) = key.encode("utf-8", "surrogateescape"), SCALARS[kind]
    return Entry(name, number, pack(kind, letter, value))


def pack(kind: str, letter: str, value: Any) -> bytes:
    if letter in "fd":
        number = float(value)
        largest = 3.4e38 if letter == "f" else math.inf
        return struct.pack("<" + letter, math.copysign(math.inf, number) if abs(number) > largest else number)
    size = struct.calcsize(letter)
    whole = 0 if value != value or value in (math.inf, -math.inf) else int(value)
    return (whole & ((1 << 8 * size) - 1)).to_bytes(size, "little")


def text(key: str, value: str, length: int | None = None) -> Entry:
    """Build an entry with a text, which claims to have `length` bytes."""
    raw = value.encode("utf-8", "surrogateescape")
    return Entry(key.encode("utf-8", "surrogateescape"), STRING, _u64(len(raw) if length is None else length) + raw)


def array(key: str, kind: str, values: list[Any], length: int | None = None) -> Entry:
    """Build an entry with an array of numbers, or of texts if the kind is `text`."""
    name = key.encode("utf-8", "surrogateescape")
    count = _u64(len(values) if length is None else length)
    if kind == "text":
        return Entry(name, ARRAY, _u32(STRING) + count + b"".join(_string(str(value).encode()) for value in values))
    number, letter = SCALARS[kind]
    return Entry(name, ARRAY, _u32(number) + count + b"".join(pack(kind, letter, value) for value in values))


@functools.cache
def tiny(whole_vocabulary: bool = False) -> Model:
    """Build the model with all of the default model's tokens, or the first SMALL, which load ten times as fast."""
    given = default_entries()
    tokens, kinds, merges = (strings_of(given[b"tokenizer.ggml.tokens"]),
        given[b"tokenizer.ggml.token_type"].value[12:],
                             strings_of(given[b"tokenizer.ggml.merges"]))  # fmt: skip
    count = len(tokens) if whole_vocabulary else SMALL
    known = set(tokens[:count])
    shape = {"block_count": LAYERS, "context_length": CONTEXT, "embedding_length": WIDTH, "vocab_size": count,
             "feed_forward_length": FEED_FORWARD, "attention.head_count": HEADS, "attention.head_count_kv": KV_HEADS,
             "rope.dimension_count": WIDTH // HEADS}  # fmt: skip
    entries = [
        text("general.architecture", "llama"),
        text("general.name", "Tiny bird"),
        scalar("general.file_type", "u32", 1),
        *(scalar(HEADER_PREFIX + name, "u32", value) for name, value in shape.items()),
        scalar("llama.rope.freq_base", "f32", 10_000.0),
        scalar("llama.attention.layer_norm_rms_epsilon", "f32", 1e-5),
        Entry(b"tokenizer.ggml.tokens", ARRAY, _u32(STRING) + _u64(count) + b"".join(map(_string, tokens[:count]))),
        Entry(b"tokenizer.ggml.token_type", ARRAY, _u32(5) + _u64(count) + kinds[: 4 * count]),
        _merges([merge for merge in merges if merge.replace(b" ", b"") in known]),
        *(entry for key, entry in given.items() if key.startswith(b"tokenizer.") and entry.type != ARRAY),
    ]
    return Model(tuple(entries), *_weights(count))


def _merges(kept: list[bytes]) -> Entry:
    return Entry(b"tokenizer.ggml.merges", ARRAY, _u32(STRING) + _u64(len(kept)) + b"".join(map(_string, kept)))


def _weights(tokens: int) -> tuple[tuple[Tensor, ...], bytes]:
    keys = WIDTH // HEADS * KV_HEADS
    sizes: dict[str, tuple[int, ...]] = {"token_embd": (WIDTH, tokens), "output_norm": (WIDTH,)}
    for layer in range(LAYERS):
        sizes |= {f"blk.{layer}.{name}": dims for name, dims in {
            "attn_norm": (WIDTH,), "attn_q": (WIDTH, WIDTH), "attn_k": (WIDTH, keys), "attn_v": (WIDTH, keys),
            "attn_output": (WIDTH, WIDTH), "ffn_norm": (WIDTH,), "ffn_gate": (WIDTH, FEED_FORWARD),
            "ffn_up": (WIDTH, FEED_FORWARD), "ffn_down": (FEED_FORWARD, WIDTH),
        }.items()}  # fmt: skip
    dice, tensors, data = np.random.default_rng(1), [], b""
    for name, dims in sizes.items():
        matrix = len(dims) == 2
        values = dice.normal(size=math.prod(dims), scale=dims[0] ** -0.5 if matrix else 0.1) + (not matrix)
        data += bytes(-len(data) % 32)
        tensors.append(Tensor(f"{name}.weight".encode(), dims, 1 if matrix else 0, len(data), len(dims)))
        data += values.astype(np.float16 if matrix else np.float32).tobytes()
    return tuple(tensors), data


@functools.cache
def default_entries() -> dict[bytes, Entry]:
    """Return the default model's entries by key, in their order."""
    raw = default_model().read_bytes()[: 8 << 20]
    (count,), at, found = struct.unpack_from("<Q", raw, 16), 24, {}
    for _ in range(count):
        key, at = _take_string(raw, at)
        (kind,) = struct.unpack_from("<I", raw, at)
        end = _end(raw, at + 4, kind)
        found[key] = Entry(key, kind, raw[at + 4 : end])
        at = end
    return found


def strings_of(entry: Entry) -> list[bytes]:
    """Return the texts of an array that are really there, whatever number an earlier edit has written."""
    found: list[bytes] = []
    (count,), at = struct.unpack_from("<Q", entry.value, 4), 12
    while len(found) < count and at + 8 <= len(entry.value):
        text, at = _take_string(entry.value, at)
        found.append(text)
    return found


def _end(raw: bytes, at: int, kind: int) -> int:
    if kind == STRING:
        return _take_string(raw, at)[1]
    if kind != ARRAY:
        return at + SIZES[kind]
    inner, count = struct.unpack_from("<IQ", raw, at)
    at += 12
    if inner != STRING:
        return int(at + count * SIZES[inner])
    for _ in range(count):
        at = _take_string(raw, at)[1]
    return at


def _take_string(raw: bytes, at: int) -> tuple[bytes, int]:
    (length,) = struct.unpack_from("<Q", raw, at)
    return raw[at + 8 : at + 8 + length], at + 8 + length


def _string(value: bytes) -> bytes:
    return _u64(len(value)) + value


def _u32(value: int) -> bytes:
    return (value & 0xFFFFFFFF).to_bytes(4, "little")


def _u64(value: int) -> bytes:
    return (value & 0xFFFFFFFFFFFFFFFF).to_bytes(8, "little")
