"""Validates a header before any library sees the file: C libraries end the process if a header contradicts itself.

Only headers that no library can load are refused. Missing values, and values that one library alone does not know, are
left to the libraries, which report them in their own words. The limits are llama.cpp's (src/llama-hparams.h), the rules
what it asserts for every architecture (`load_hparams` in src/llama-model.cpp).
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from common.failures import Failure
from models.header import Header, Scalar, read_header
from models.split import other_parts
from models.token_list import read_token_list

MOST_LAYERS, MOST_EXPERTS = 512, 1024
MOST_TRAINED = 1 << 27  # tokens; the longest known contexts have 10 million
MOST = (1 << 31) - 1  # libraries store counts in 32 bits, some of them signed

COUNTS = {  # least and largest value of the architecture's keys
    "block_count": (1, MOST_LAYERS),
    "nextn_predict_layers": (0, MOST_LAYERS),
    "context_length": (0, MOST_TRAINED),
    "embedding_length": (1, MOST),
    "feed_forward_length": (0, MOST),
    "expert_count": (0, MOST_EXPERTS),
    "expert_used_count": (0, MOST_EXPERTS),
    "expert_group_count": (0, MOST_EXPERTS),
    "expert_group_used_count": (0, MOST_EXPERTS),
    "attention.head_count": (0, MOST),
    "attention.head_count_kv": (0, MOST),
    "attention.key_length": (0, MOST),
    "attention.value_length": (0, MOST),
    "rope.dimension_count": (0, MOST),
    "vocab_size": (0, MOST),
}
PER_LAYER = ("feed_forward_length", "expert_used_count", "attention.head_count", "attention.head_count_kv")
EPSILONS = ("attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon")
SCALING, SCALINGS = "rope.scaling.type", ("none", "linear", "yarn", "longrope")
ONE_EXPERT_IS_NONE = ("hunyuan-dense", "hunyuan_vl")  # for these llama.cpp ignores an expert count of 1
TOKENS, PER_TOKEN = "tokenizer.ggml.tokens", ("tokenizer.ggml.scores", "tokenizer.ggml.token_type")
TEXTS = (TOKENS, "tokenizer.ggml.merges")
TOKENIZER, NO_TOKENIZER = "tokenizer.ggml.model", ("none", "no_vocab")


def checked_headers(path: Path) -> tuple[Header, ...]:
    """Read and validate the headers of all files of a model to chat with, the first file first.

    Raises Failure if one cannot be read or is invalid.
    """
    header = read_header(path)
    check_chat_header(header)
    return (header, *other_parts(header))


def check_chat_header(header: Header) -> None:
    """Raise Failure if the header is invalid, or its model has no vocabulary and cannot chat."""
    validate_header(header)
    if header.metadata.get(TOKENIZER) in NO_TOKENIZER:
        raise Failure("not_a_chat_model.no_vocabulary", name=header.file_name)


def validate_header(header: Header) -> None:
    """Raise Failure naming the first key with an impossible value."""
    own = _OwnKeys(header)
    for key, (least, most) in COUNTS.items():
        own.check(all(isinstance(n, int) and least <= n <= most for n in own.numbers(key)), key)
    own.check(own.length("block_count") is None, "block_count")
    for key in PER_LAYER:
        own.check(own.length(key) in (None, own.count("block_count")), key)
    own.check(own.count("nextn_predict_layers") <= own.count("block_count", MOST_LAYERS), "nextn_predict_layers")
    for key in EPSILONS:  # `>=` is also false for NaN
        own.check(all(n >= 0 for n in own.numbers(key)), key)
    own.check(header.metadata.get(own.name(SCALING), "linear") in SCALINGS, SCALING)
    _check_heads(own)
    _check_experts(own)
    _check_vocabulary(header)


class _OwnKeys:
    """The header's keys that begin with its architecture's name (`llama.…`), asked for without that prefix.

    True and false are not accepted as numbers.
    """

    def __init__(self, header: Header) -> None:
        self.header = header

    def name(self, key: str) -> str:
        return f"{self.header.architecture}.{key}"

    def numbers(self, key: str) -> tuple[float, ...]:
        """Return the key's number, or its list of one per layer; () if the key is missing.

        Raises Failure for other values.
        """
        name = self.name(key)
        values: tuple[Scalar, ...] = self.header.arrays.get(name, ())
        if name in self.header.metadata:
            values = (self.header.metadata[name],)
        numbers = tuple(value for value in values if isinstance(value, int | float) and not isinstance(value, bool))
        self.check(len(numbers) == max(len(values), self.length(key) or 0), key)
        return numbers

    def length(self, key: str) -> int | None:
        """Return the length of the key's list; None if it is no list."""
        return self.header.array_lengths.get(self.name(key))

    def count(self, key: str, default: int = 0) -> int:
        """Return the largest of the key's numbers, or the default if there are none."""
        return int(max(self.numbers(key), default=default))

    def check(self, fine: bool, key: str) -> None:
        if not fine:
            name = self.name(key)
            raise invalid_key_failure(self.header, name)


def _check_heads(own: _OwnKeys) -> None:
    """Check that the attention heads divide evenly among the KV heads."""
    kv, heads = own.numbers("attention.head_count_kv"), own.numbers("attention.head_count")
    layers = max(len(kv), len(heads))
    pairs = zip(*(counts * layers if len(counts) == 1 else counts for counts in (heads, kv)), strict=False)
    own.check(all(not k or h % k == 0 for h, k in pairs), "attention.head_count_kv")


def _check_experts(own: _OwnKeys) -> None:
    experts, used = own.count("expert_count"), own.count("expert_used_count")
    if experts <= 1 and own.header.architecture in ONE_EXPERT_IS_NONE:
        return
    own.check(used <= experts and (used > 0) == (experts > 0), "expert_used_count")
    groups, used_groups = own.count("expert_group_count"), own.count("expert_group_used_count")
    own.check(groups < max(1, experts), "expert_group_count")
    if groups > 1:
        own.check(experts % groups == 0, "expert_group_count")
        own.check(0 < used_groups < groups, "expert_group_used_count")


def _check_vocabulary(header: Header) -> None:
    """Check that every token has its score and type.

    RWKV's tokenizer also needs a token for each byte: if a longer token begins with a missing one, it loops for ever.
    """
    for key in (*TEXTS, *PER_TOKEN):
        if key in header.metadata or (key in TEXTS and key in header.arrays):  # not a list, or a list of numbers
            raise invalid_key_failure(header, key)
    tokens = header.array_lengths.get(TOKENS, 0)
    for key in PER_TOKEN:
        if header.array_lengths.get(key, tokens) < tokens:
            raise invalid_key_failure(header, key)
    if tokens and header.metadata.get(TOKENIZER) == "rwkv":
        single = {_byte(text) for text in read_token_list(header).texts}
        if not single.issuperset(bytes((byte,)) for byte in range(1, 256)):
            raise invalid_key_failure(header, TOKENS)


def _byte(text: bytes) -> bytes:
    """Return the byte that a token of RWKV's tokenizer stands for: the token itself, or its Python escape."""
    if len(text) == 4 and text.startswith(b"\\x"):
        with contextlib.suppress(ValueError):
            return bytes.fromhex(text[2:].decode())
    escaped = {b"\\t": b"\t", b"\\n": b"\n", b"\\r": b"\r"}
    return escaped.get(text, text.removeprefix(b"\\") or text)


def invalid_key_failure(header: Header, key: str) -> Failure:
    value = header.metadata.get(key, header.arrays.get(key, ())[:8])
    return Failure("bad_model.senseless", f"{key} = {value!r:.200}", name=header.file_name, key=key)
