"""A model file loaded through the C API: weights and vocabulary, without a KV cache. Owns and frees the llama_model."""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

from common.failures import Failure
from common.paths import display_name
from common.planning import DEFAULT_KV_TYPE, KVType
from engine.runtime.capi.library import CLibrary, LibraryLog
from engine.runtime.capi.vocabulary import CVocabulary
from engine.runtime.contexts import MAX_LOGITS, ContextSizes, OwnLayersSizes, WeightSizes
from engine.runtime.interface import UNLIMITED
from engine.stop import Stopped
from models.facts import KIND_SENTENCES, OTHER_KINDS
from models.header import Header
from models.split import model_headers
from models.validation import validate_header

# A causal language model does not pool: see `[arch].attention.causal` and `[arch].pooling_type` in ggml's docs/gguf.md.
NO_POOLING, RANK = 0, 4
POOLINGS = range(RANK)  # those of embedding models; a model with RANK says only how well two texts match
ModelFile = Path | tuple[Header, ...]
MOST_CTX = 1 << 24  # tokens; the longest that models are trained for is 10 million


class CModel:
    """A model loaded with the library's `params`; `name` is how users know the library.

    `file` is the model's path, or the headers of all its files if they were read already. `progress` gets the loaded
    fraction and returns False to stop loading, which raises Stopped. Raises Failure for a file that cannot be loaded or
    is no chat model.
    """

    embeds = False  # whether it is an embedding model in place of a chat model

    def __init__(
        self, lib: CLibrary, log: LibraryLog, name: str, file: ModelFile, params: Any, progress: Callable[[float], bool]
    ) -> None:
        self.lib = lib
        self.parts = model_headers(file)
        self.header = self.parts[0]
        self.path = self.header.path
        refuse_other_kinds(self.header, self.embeds)
        validate_header(self.header)
        stopped = False

        def on_progress(fraction: float, _user_data: Any) -> bool:
            nonlocal stopped
            stopped = not progress(fraction)
            return not stopped

        params.progress_callback = lib.llama_progress_callback(on_progress)
        with log.errors() as errors:
            self.pointer = lib.llama_model_load_from_file(os.fsencode(self.path), params)
        if stopped:
            self.close()
            raise Stopped
        if not self.pointer:
            raise load_failure(self.path, errors, name)
        # Whether tokens can be removed from the cache; recurrent layers keep one state for all tokens.
        self.can_truncate = not (lib.llama_model_is_recurrent(self.pointer) or lib.llama_model_is_hybrid(self.pointer))
        self.vocabulary = CVocabulary(lib, lib.llama_model_get_vocab(self.pointer))
        if lib.llama_model_has_encoder(self.pointer) or not lib.llama_model_has_decoder(self.pointer):
            self.close()
            raise Failure("not_a_chat_model.encoder", name=self.path.name)

    @property
    def n_ctx_train(self) -> int:
        """Tokens of context that the model was trained for.

        At most MOST_CTX, whatever the file claims, because a memory plan tries a context of this size.
        """
        return min(MOST_CTX, int(self.lib.llama_model_n_ctx_train(self.pointer)))

    @property
    def n_params(self) -> int:
        """Number of weights."""
        return int(self.lib.llama_model_n_params(self.pointer))

    @property
    def size_bytes(self) -> int:
        """Bytes of all tensors together."""
        return int(self.lib.llama_model_size(self.pointer))

    @property
    def window(self) -> int:
        """Tokens up to which a cache can be truncated anywhere (`Runtime.window`)."""
        return UNLIMITED if self.can_truncate else 0

    @property
    def template(self) -> str:
        """The model's own Jinja chat template, empty if it has none."""
        raw = self.lib.llama_model_chat_template(self.pointer, None)
        return raw.decode(errors="replace") if raw else ""

    def close(self) -> None:
        """Free the model; contexts made from it must be closed before."""
        if self.pointer:
            self.lib.llama_model_free(self.pointer)
            self.pointer = None


def refuse_other_kinds(header: Header, embeds: bool = False) -> None:
    """Raise Failure if a GGUF file holds something other than a chat model, or than an embedding model if `embeds`."""
    name, metadata = display_name(header.path), header.metadata
    if metadata.get("general.type") == "adapter":
        raise Failure("not_a_chat_model.adapter", name=name)
    if metadata.get("general.type") == "mmproj" or header.architecture == "clip":
        raise Failure("not_a_chat_model.image", name=name)
    arch = header.architecture
    if arch in OTHER_KINDS:
        raise Failure("not_a_chat_model.kind", name=name, kind=KIND_SENTENCES[OTHER_KINDS[arch]])
    pooling = metadata.get(f"{arch}.pooling_type", NO_POOLING)
    if embeds and pooling not in POOLINGS:
        raise Failure("bad_model.no_embedding", name=name)
    if not embeds and (metadata.get(f"{arch}.attention.causal") is False or pooling != NO_POOLING):
        raise Failure("not_a_chat_model.embedding", name=name)


# What the libraries' logs say about a file that they refuse, and which sentence tells it with the pattern's groups.
REASONS = (
    (r"unknown model architecture: '(?P<architecture>[^']*)", "unknown_architecture.of_model"),
    (r"unknown (pre-tokenizer type|tokenizer): '(?P<tokenizer>[^']*)", "unknown_architecture.tokenizer"),
    (r"not within the file bounds|corrupted or incomplete", "bad_model.incomplete"),
    (r"unable to allocate|failed to allocate", "out_of_memory.model"),
    (r"key not found in model: (?P<key>\S+)", "bad_model.lacks_key"),
    (r"cannot find (?P<key>tokenizer \w+) in model", "bad_model.lacks_key"),
    (r"key (?P<key>\S+) has wrong", "bad_model.senseless"),
    (r"invalid gguf type for (?P<key>\S+)", "bad_model.senseless"),
    (r"tensor '(?P<tensor>[^']*)' (not found|has wrong)", "bad_model.other_tensors"),
)


def load_failure(path: Path, errors: Sequence[str], name: str) -> Failure:
    """Return the failure for a model that did not load, worded from the library's log where the reason is known.

    The library gives the reason only in its log.
    """
    detail = "\n".join(errors)
    for pattern, id in REASONS:
        if match := re.search(pattern, detail):
            groups = {group: display_name(text) for group, text in match.groupdict().items()}
            return Failure(id, detail, name=path.name, library=name, **groups)
    return Failure("bad_model.not_accepted", detail, name=path.name, library=name)


# --- a model opened only for its sizes ---


MIB = 1 << 20


class CDryModel(ABC):
    """The sizes (`engine.runtime.contexts.Sizes`) of a model that is open without memory for its weights."""

    weights: WeightSizes

    def __init__(self, model: CModel) -> None:
        self.model, self.header = model, model.header
        self.can_truncate = model.can_truncate
        self.n_ctx_train = model.n_ctx_train
        self.n_vocab = model.vocabulary.n_tokens

    @abstractmethod
    def context(
        self,
        n_ctx: int,
        kv_type: KVType = DEFAULT_KV_TYPE,
        n_batch: int = 512,
        max_logits: int = MAX_LOGITS,
        rollback: int = 0,
    ) -> ContextSizes | None:
        """Return what `Sizes.context` returns."""

    def own_layers(self, n_ctx: int, kv_type: KVType, n_batch: int) -> OwnLayersSizes | None:  # noqa: ARG002
        return None

    def close(self) -> None:
        """Close the file."""
        self.model.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, value: object, trace: object) -> None:
        self.close()


def logged_bytes(pattern: re.Pattern[str], text: str) -> int:
    """Return the sum in bytes of all sizes in MiB that a pattern finds in a log."""
    return round(sum(float(size) for size in pattern.findall(text)) * MIB)
