"""Facts about a model, small enough to cache: read from its header, without the weights."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from common.sentences import Sentence
from models.header import Header
from models.own_drafter import only_drafts, own_layers, refusal
from models.tensor_types import FILE_TYPES, TENSOR_TYPES
from models.token_list import PADDING, read_token_list

ModelKind = Literal[
    "chat", "base", "diffusion", "drafter", "speech", "embedding", "adapter", "image", "vocabulary", "encoder"
]  # fmt: skip
KIND_SENTENCES: dict[ModelKind, Sentence] = {
    "base": Sentence.of("kind.base"),
    "diffusion": Sentence.of("kind.diffusion"),
    "drafter": Sentence.of("kind.drafter"),
    "speech": Sentence.of("kind.speech"),
    "embedding": Sentence.of("kind.embedding"),
    "adapter": Sentence.of("kind.adapter"),
    "image": Sentence.of("kind.image"),
    "vocabulary": Sentence.of("kind.vocabulary"),
    "encoder": Sentence.of("kind.encoder"),
}
TEMPLATE, TOKENIZER = "tokenizer.chat_template", "tokenizer.ggml.model"
SPECIAL = ("bos", "eos", "eot")
ENCODERS = {"t5", "t5encoder", "bert", "nomic-bert", "jina-bert-v2", "modern-bert"}
# Architectures that llama.cpp loads, but that no chat is possible with.
OTHER_KINDS: dict[str, ModelKind] = {
    **dict.fromkeys(("dream", "llada", "llada-moe", "rnd1"), "diffusion"),
    **dict.fromkeys(("dflash", "eagle3", "gemma4-assistant"), "drafter"),
    **dict.fromkeys(("pockettts", "qwen3tts", "wavtokenizer-dec"), "speech"),
}
SHOWN = 200  # characters of a text from a file


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts about a model from its header.

    Attributes:
        parameters: number of weights, counted from the tensors.
        quantisation: name like 'Q4_K_M'.
        n_ctx_train: context length in tokens that the model was trained for; 0 if the file does not say.
        vocabulary: digest, equal for two models whose tokens mean the same, whatever added ones follow them.
        special: token ids of beginning, end and end of turn; -1 if the file does not name one.
        own_drafter: that the model includes layers that draft its next tokens, or why they cannot be used; None if it
            was made without.
        tools: whether its chat template tells the model of tools, as those of models do that were trained with tools.
    """

    name: str
    architecture: str
    parameters: int
    quantisation: str
    n_ctx_train: int
    licence: str
    kind: ModelKind
    vocabulary: str = ""
    tokens: int = 0
    special: tuple[int, ...] = (-1, -1, -1)
    own_drafter: Sentence | None = None
    tools: bool = False

    @property
    def has_template(self) -> bool:
        return self.kind == "chat"

    @property
    def can_answer(self) -> bool:
        return self.kind in ("chat", "base")

    def can_draft_for(self, target: Facts) -> bool:
        """Return whether this is a smaller model with the same tokens as `target`.

        A draft model is accepted only after `models.vocabulary_match` has compared every token.
        """
        same = bool(self.vocabulary) and self.vocabulary == target.vocabulary
        agree = all(a == b or -1 in (a, b) for a, b in zip(self.special, target.special, strict=True))
        return same and agree and self.can_answer and self.parameters < target.parameters


def facts_of(headers: Sequence[Header]) -> Facts:
    """Return the facts of a model in one file or several; `headers` begins with its first part.

    Raises Failure if the vocabulary cannot be read.
    """
    first = headers[0]
    vocabulary, tokens = _vocabulary(first)
    return Facts(
        name=_printable_line(first.name),
        architecture=_printable_line(first.architecture),
        parameters=sum(header.parameters for header in headers),
        quantisation=_quantisation(headers),
        n_ctx_train=max(0, first.n_ctx_train),
        licence=_printable_line(str(first.metadata.get("general.license", ""))),
        kind=_kind(first),
        vocabulary=vocabulary,
        tokens=tokens,
        own_drafter=_own_drafter(headers),
        tools="tools" in str(first.metadata.get(TEMPLATE, "")),
        special=tuple(_number(first, f"tokenizer.ggml.{name}_token_id") for name in SPECIAL),
    )


def _own_drafter(headers: Sequence[Header]) -> Sentence | None:
    return refusal(headers) or (Sentence.of("own_drafter.included") if own_layers(headers) else None)


def _kind(header: Header) -> ModelKind:
    metadata, architecture = header.metadata, header.architecture
    if metadata.get("general.type") == "adapter":
        return "adapter"
    if metadata.get("general.type") == "mmproj" or architecture == "clip":
        return "image"
    if architecture in OTHER_KINDS:
        return OTHER_KINDS[architecture]
    if only_drafts(header):
        return "drafter"
    causal, pooling = metadata.get(f"{architecture}.attention.causal"), metadata.get(f"{architecture}.pooling_type", 0)
    if causal is False or pooling != 0:
        return "embedding"
    if architecture in ENCODERS:
        return "encoder"
    if not header.tensors:
        return "vocabulary"
    return "chat" if metadata.get(TEMPLATE) else "base"


def _quantisation(headers: Sequence[Header]) -> str:
    """Return the quantisation that the file states, otherwise the type of most weights."""
    number = _number(headers[0], "general.file_type")
    if number in FILE_TYPES:
        return FILE_TYPES[number]
    weights: Counter[int] = Counter()
    for header in headers:
        for tensor in header.tensors:
            weights[tensor.type] += tensor.offset >= 0 and _elements(tensor.shape)
    known = (TENSOR_TYPES[type].name for type, _ in weights.most_common() if type in TENSOR_TYPES)
    return next(known, "")


def _elements(shape: tuple[int, ...]) -> int:
    product = 1
    for size in shape:
        product *= size
    return product


def _vocabulary(header: Header) -> tuple[str, int]:
    """Return the digest of the tokens before added ones, and the number without padding; '' and 0 if there are none."""
    if not header.array_lengths.get("tokenizer.ggml.tokens"):
        return "", 0
    listed = read_token_list(header)
    count = len(listed.texts)
    while count and listed.kinds[count - 1 : count] == (PADDING,):
        count -= 1
    digest = hashlib.sha256(str(header.metadata.get(TOKENIZER, "")).encode())
    digest.update(b"\0".join(listed.texts[: listed.trained]))
    digest.update(repr(listed.kinds[: listed.trained]).encode())
    return digest.hexdigest()[:32], count


def _number(header: Header, key: str) -> int:
    value = header.metadata.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else -1


def _printable_line(text: str) -> str:
    """Return a file's text as one printable line: texts in files may hold anything."""
    return "".join(character if character.isprintable() else " " for character in text[:SHOWN]).strip()
