"""Models, contexts and runtimes of llama.cpp, quantising a file with it, and a file's exact sizes.

llama.cpp has no C function for sizes: it loads a model without allocating and logs what it would allocate. Such a dry
load reads header and vocabulary only (0.1 to 0.25 s); a dry context takes some 4 ms. Sizes are logged in MiB with two
decimals: exact to 5 KiB per line.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from common.failures import Failure
from common.planning import DEFAULT_KV_TYPE, KVType
from engine.devices.device import ON_PROCESSOR, Placement
from engine.protocol.requests import FlashAttention, Picture
from engine.runtime.capi.context import GGML_TYPES, Batch, CContext
from engine.runtime.capi.embedding import OWN_POOLING
from engine.runtime.capi.library import AbortCallback
from engine.runtime.capi.model import MIB, NO_POOLING, CDryModel, CModel, ModelFile, logged_bytes
from engine.runtime.capi.runtime import CLogits, CRuntime
from engine.runtime.capi.sequences import PARTIAL_ONLY, Positions, copy_state, restore_state
from engine.runtime.contexts import (
    MAX_LOGITS,
    PROMPT_PASS,
    ContextOptions,
    ContextSizes,
    OwnLayersSizes,
    ThreadCounts,
    WeightSizes,
    supports_kv_type,
)
from engine.runtime.interface import UNLIMITED, Checkpoint
from engine.runtime.llama.devices import layer_check, place_model
from engine.runtime.llama.library import lib, log, open_library, stop_check
from engine.runtime.llama.mtp import NextTokenLayers, layers_options, mtp_params, open_layers, states_bytes
from engine.runtime.llama.mtp import logger as mtp_log
from engine.runtime.llama.repack import HEAD, graph_bytes, repacked_sizes, tensor_bytes
from engine.runtime.llama.vision import Vision
from engine.stop import StopFlag, Stopped
from engine.tokenization.pictures import blocks
from models.header import Header
from models.own_drafter import usable_layers
from models.split import model_headers, whole_header
from models.tensors import is_expert

LOAD_READ, LOAD_MMAP = 0, 1  # llama_load_mode
ALIGNMENT = 32  # bytes: TENSOR_ALIGNMENT of ggml, which aborts the process if a mapping's first tensor is off it
# Sliding windows and recurrent layers have caches of their own, each with a line of its own. In a dry context the line
# "KV buffer size" says 0, because nothing was allocated.
KV = re.compile(r"llama_(?:kv_cache|memory_recurrent)\w*: size = +([\d.]+) MiB")
RECURRENT = re.compile(r"llama_memory_recurrent\w*: size = +([\d.]+) MiB")
WINDOWS = re.compile(
    r"creating +SWA KV cache, size = +(\d+) cells.*?llama_kv_cache\w*: size = +([\d.]+) MiB", re.DOTALL
)
DSV4_STATE = re.compile(r"DSV4 .* state = .* size = +([\d.]+) MiB")
COMPUTE = re.compile(r"compute buffer size = +([\d.]+) MiB")
OUTPUT = re.compile(r"output buffer size = +([\d.]+) MiB")
NODES = re.compile(r"max_nodes = (\d+)")


class Model(CModel):
    """A model that llama.cpp has loaded from `file`.

    - `progress`: gets the loaded fraction and returns False to stop loading, which raises Stopped.
    - `repack`: keep a copy of the weights in the order that this processor computes fastest (1.2 times as fast).
    - `mmap`: map the file instead of reading it, if its tensors are aligned for that; mapped weights stay resident
      beside their repacked copy, weights that were read do not.
    - `dry`: load header and vocabulary only; such a model cannot run.
    - `own_layers`: load the model's own layers that predict further tokens too; the file must hold them.
    - `placement`: the device that computes a part of it. Raises Failure if it is gone.
    """

    def __init__(  # noqa: PLR0913  # the parameters of the library, all but two of them with a default
        self,
        file: ModelFile,
        progress: Callable[[float], bool] = lambda _fraction: True,
        *,
        repack: bool = True,
        mmap: bool = True,
        dry: bool = False,
        own_layers: bool = False,
        placement: Placement = ON_PROCESSOR,
    ) -> None:
        parts = model_headers(file)
        self.placement = placement
        params = lib.llama_model_default_params()
        params.load_mtp = own_layers
        params.use_extra_bufts = repack
        params.load_mode = LOAD_MMAP if mmap and not dry and is_mappable(parts) else LOAD_READ
        params.no_alloc = dry
        devices = place_model(params, placement)
        super().__init__(lib, log, "llama.cpp", parts, params, progress)
        del devices  # the library has read the array

    @property
    def window(self) -> int:
        """Tokens up to which a cache can be truncated anywhere (`Runtime.window`)."""
        return (int(lib.llama_model_n_swa(self.pointer)) or UNLIMITED) if self.can_truncate else 0


def is_mappable(parts: Sequence[Header]) -> bool:
    """Return whether all tensors of a model's files are aligned as ggml needs them in a mapping."""
    return not any((part.data_offset + tensor.offset) % ALIGNMENT for part in parts for tensor in part.tensors)


class EmbeddingModel(Model):
    """An embedding model that llama.cpp has loaded."""

    embeds = True


def embedding_context(model: CModel, options: ContextOptions, stop: StopFlag) -> CContext:
    """Return a context that computes hidden states, or what the model's own pooling makes of them."""
    params = context_params(options)
    params.embeddings = True
    params.pooling_type = OWN_POOLING if model.embeds else NO_POOLING
    return CContext(lib, log, model, options, params, stop)


def quantise(source: Path, path: Path, file_type: int, threads: int) -> None:
    """Write a quantised copy of the model `source` to `path`. Raises Failure.

    `file_type` is llama.cpp's number for a kind of quantisation (llama_ftype).
    """
    params = open_library().llama_model_quantize_default_params()
    params.ftype, params.nthread = file_type, threads
    with log.errors() as errors:
        result = open_library().llama_model_quantize(str(source).encode(), str(path).encode(), ctypes.byref(params))
    if result:
        raise Failure("not_quantised.by_llama", "\n".join(errors), name=source.name)


FLASH_ATTENTION = {"auto": -1, "off": 0, "on": 1}

NEVER = AbortCallback()  # a null pointer


class Interrupt:
    """The stop check of a compute graph: ggml calls `function` with `address` after every node."""

    def __init__(self, stop: StopFlag) -> None:
        self.function = stop_check()
        self._bytes: Any = (ctypes.c_char * 2).from_buffer(stop.text)  # keeps the bytes in place
        self.address = ctypes.addressof(self._bytes)


class Context(CContext):
    """A context of llama.cpp whose passes `stop` interrupts.

    A short pass of a model that keeps one state for all tokens is not interrupted: the model would lose that state and
    have to read tokens again, only to stop that little sooner. `unified`: all sequences share the cells; otherwise each
    has its own part.
    """

    def __init__(self, model: CModel, options: ContextOptions, stop: StopFlag, *, unified: bool = True) -> None:
        self._finishes_steps = not model.can_truncate
        self._interrupt: Interrupt | None = Interrupt(stop)
        params = context_params(options)
        params.kv_unified = unified
        params.abort_callback = self._interrupt.function
        params.abort_callback_data = self._interrupt.address
        placement = model.placement if isinstance(model, Model) else ON_PROCESSOR
        self._device = placement.device is not None
        if placement.layers and (check := layer_check()):
            params.cb_eval, params.cb_eval_user_data = check, self._interrupt.address
        with log.lines() as lines:
            super().__init__(lib, log, model, options, params, stop)
        self.window = cache_window(model, lines)
        # Architectures that cannot roll back have the number set to 0 silently.
        self.rollback = int(lib.llama_n_rs_seq(self.pointer))

    def begin_block(self) -> None:
        if self._interrupt:
            lib.llama_set_abort_callback(self.pointer, self._interrupt.function, self._interrupt.address)
        super().begin_block()

    def decode(self, batch: Batch) -> None:
        if self._finishes_steps and self._interrupt:
            callback = NEVER if batch.raw.n_tokens <= 1 + self.rollback else self._interrupt.function
            lib.llama_set_abort_callback(self.pointer, callback, self._interrupt.address)
        super().decode(batch)
        if self._device:  # it computes while llama_decode has returned, and says nothing when it was interrupted
            lib.llama_synchronize(self.pointer)
            if self.stop.is_set() and batch.raw.n_tokens >= PROMPT_PASS:
                raise Stopped

    def close(self) -> None:
        super().close()
        self._interrupt = None


def context_params(options: ContextOptions) -> Any:
    """Return llama_context_params for `options`, the same for a real context and a dry one."""
    params = lib.llama_context_default_params()
    params.n_ctx = options.n_ctx
    params.n_batch = params.n_ubatch = options.n_batch
    params.n_outputs_max = options.max_logits
    params.n_threads, params.n_threads_batch = options.thread_counts.decode, options.thread_counts.prompt
    params.n_seq_max = options.sequences
    params.kv_unified = True
    params.n_rs_seq = options.rollback
    params.swa_full = False
    params.type_k = params.type_v = GGML_TYPES[options.kv_type]
    # Only flash attention can read quantised values.
    params.flash_attn_type = FLASH_ATTENTION[options.flash_attention if options.kv_type == "f16" else "on"]
    params.no_perf = True
    return params


class LlamaRuntime(CRuntime):
    """`CRuntime` on llama.cpp's contexts; implements `CheckpointRuntime` and `PredictingRuntime` too.

    Recurrent layers keep snapshots of their states after the last few tokens of a pass (`rollback`). The library can be
    wrong about them (ggml-org/llama.cpp#26695, #29117): it also goes back over whole passes and over passes of a single
    token, for which it has no snapshot. So this class goes back only within the last pass, over fewer tokens than it
    had, and only once.
    """

    def __init__(self, model: Model, options: ContextOptions, stop: StopFlag, folder: Path | None = None) -> None:
        self._newest_undoable = 0  # tokens of the last pass that recurrent layers can forget
        self.vision: Vision | None = None  # of a model with a projector
        self._lost = 0  # tokens whose ordinary keys and values are left after a pass that destroyed recurrent states
        self._layers: NextTokenLayers | None = None
        super().__init__(model, options, stop, folder)
        if options.own_layers:
            self._layers = open_layers(model, self.context, stop, context_params, folder)

    def open_context(self, options: ContextOptions) -> Context:
        return Context(self.model, options, self.stop)

    @property
    def window(self) -> int:
        return self._window

    @property
    def max_draft(self) -> int:
        if self.can_truncate:
            return self.max_logits - 1
        return min(self.max_logits - 1, self.context.rollback)

    def can_truncate_to(self, size: int) -> bool:
        if size in (0, self._size) or size > self._size:
            return size <= self._size
        if not self.can_truncate:
            return self._size - size <= self._newest_undoable
        if self.window == UNLIMITED:
            return True
        # The next token sees the tokens before it that lie in the window; the library keeps them without a gap.
        return self.context.first_cached <= max(0, self._positions.of(size) - self.window + 1)

    def _ensure_open(self) -> None:
        super()._ensure_open()
        if self._lost:
            self._clear()

    def _run_batch(self, n_tokens: int, n_logits: int) -> CLogits:
        self._newest_undoable = 0
        logits = super()._run_batch(n_tokens, n_logits)
        self._newest_undoable = 0 if self.can_truncate else min(n_tokens - 1, self.context.rollback)
        if self._layers:
            self._layers.record(self._positions.of(self._size - n_tokens), self.batch.raw.token[:n_tokens])
        return logits

    def _undo_failed_pass(self) -> None:
        if self.can_truncate:
            super()._undo_failed_pass()
        elif self.context.pass_began:  # recurrent states are destroyed, the keys and values of attention layers are not
            self._lost, self._size = self._size, 0

    def keep_path(self, count: int, path: Sequence[int] = ()) -> None:
        super().keep_path(count, path)
        self._truncate_layers(self._inputs_at)  # the states behind it are those of branches

    def _truncate_cache(self, size: int) -> None:
        super()._truncate_cache(size)
        self._newest_undoable = 0
        self._truncate_layers(self._size)

    def _clear(self) -> None:
        self._lost = self._newest_undoable = 0
        super()._clear()
        self._truncate_layers(0)

    def _truncate_layers(self, size: int) -> None:
        if self._layers:
            self._layers.truncate(self._positions.of(size))

    def _adopt_context(self, context: CContext) -> None:
        assert isinstance(context, Context), context
        self._window = context.window
        self._lost = self._newest_undoable = 0
        super()._adopt_context(context)

    # --- pictures ---

    @property
    def sees(self) -> bool:
        return self.vision is not None

    @property
    def encoder_work(self) -> tuple[float, int]:
        return (self.vision.seconds, self.vision.encoded) if self.vision else (0.0, 0)

    def release_encoder_if_short(self) -> None:
        if self.vision:
            self.vision.release_if_short()

    def resize(self, n_ctx: int) -> None:
        self.release_encoder_if_short()  # before the cache takes more
        super().resize(n_ctx)

    def picture_tokens(self, pictures: Sequence[Picture], exact: bool = True) -> list[list[int]]:
        assert self.vision
        return self.vision.tokens(pictures) if exact else self.vision.guessed_tokens(pictures)

    def encode_block(self, tokens: Sequence[int]) -> Iterator[float]:
        assert self.vision
        return self.vision.encode(tokens)

    def forward_block(self, tokens: Sequence[int]) -> None:
        assert self.vision
        (block,) = blocks(tokens)
        self._ensure_open()
        self._newest_undoable = 0
        try:
            self.context.begin_block()
            self.vision.decode(self.context, tokens, self._positions.of(self._size))
        except BaseException:
            self._undo_failed_pass()
            raise
        block = replace(block, start=self._size, end=self._size + len(tokens))
        self._positions = Positions((*self._positions.blocks, block))
        self._size += len(tokens)

    # --- checkpoints ---

    def checkpoint(self) -> Checkpoint:
        assert self._size
        return Checkpoint(self._size, copy_state(self.context, flags=PARTIAL_ONLY))

    def restore(self, checkpoint: Checkpoint) -> bool:
        if not self.context.is_open or checkpoint.size > (self._lost or self._size):
            return False
        position = self._positions.of(checkpoint.size)
        restored = restore_state(self.context, checkpoint.data, flags=PARTIAL_ONLY)
        if not restored or not self.sequences.truncate(position):
            self._clear()
            return False
        self._size, self._lost, self._newest_undoable = checkpoint.size, 0, 0
        self._positions = self._positions.cut(checkpoint.size)
        self._truncate_layers(self._size)
        return True

    # --- the model's own layers that predict further tokens ---

    @property
    def own_layers(self) -> bool:
        return self._layers is not None

    @property
    def can_predict(self) -> bool:
        return self._layers is not None and self._layers.end == self._positions.of(self._size)

    @property
    def unread(self) -> int:
        return self._layers.unread if self._layers else 0

    def read_along(self, on: bool) -> None:
        if self._layers:
            self._layers.reads_along = on

    def predict(self, tokens: Sequence[int]) -> CLogits:
        assert self._layers, "the model's own layers are not loaded"
        assert self.can_predict, (self._layers.end, self._size)
        return self._layers.predict(tokens)

    def use_threads(self, threads: ThreadCounts) -> None:
        super().use_threads(threads)
        if self._layers:
            self._layers.use_options(self.context.options)

    def _move_to_context(self, options: ContextOptions) -> None:
        size, layers = self._size, self._layers
        self._layers = None  # the chat only moves: what the layers have read of it stays
        try:
            super()._move_to_context(options)
        finally:
            self._layers = layers
            if layers and self.context.is_open:
                self._follow(layers, size)

    def _follow(self, layers: NextTokenLayers, size: int) -> None:
        """Let the layers follow the chat to the new context; go on without them if there is no memory for that."""
        if self._size < size:
            layers.truncate(0)
        try:
            layers.follow(self.context)
        except (Failure, OSError, MemoryError) as error:
            mtp_log.warning("the model's own layers draft no more: %s", error)
            layers.close()
            self._layers = None

    def close(self) -> None:
        if self.vision:
            self.vision.close()
        if self._layers:
            self._layers.close()
        super().close()


class DryModel(CDryModel):
    """Sizes by llama.cpp. Raises Failure for a file that is no chat model, as loading it would."""

    def __init__(self, file: ModelFile, flash_attention: FlashAttention = "auto") -> None:
        headers = model_headers(file)
        layers = usable_layers(headers)
        try:
            model = Model(headers, dry=True, own_layers=layers is not None)
        except Failure:
            if layers is None:
                raise
            layers, model = None, Model(headers, dry=True)
        super().__init__(model)
        self.flash_attention = flash_attention
        header = whole_header(self.model.parts)
        self._own_weights: WeightSizes | None = None
        size = 0
        if layers:
            size, own = layers.bytes, {tensor.name for tensor in layers.tensors}
            self._own_weights = self._weights(replace(header, tensors=layers.tensors), size)
            header = replace(header, tensors=tuple(tensor for tensor in header.tensors if tensor.name not in own))
        self.weights = self._weights(header, self.model.size_bytes - size)
        self._measured = cache(self._measure)

    def _weights(self, header: Header, file: int) -> WeightSizes:
        copies = repacked_sizes(header)
        tied = HEAD in copies and HEAD not in {tensor.name for tensor in header.tensors}
        # A tied head's copy replaces nothing: rows of its file tensor, the embedding, are still looked up.
        replaced = sum(copies.values()) - (copies[HEAD] if tied else 0)
        return WeightSizes(
            file=file,
            repacked=sum(copies.values()),
            plain=max(0, file - replaced),
            mixture=any(map(is_expert, header.tensors)),
            mappable=is_mappable(self.model.parts),
        )

    def context(
        self,
        n_ctx: int,
        kv_type: KVType = DEFAULT_KV_TYPE,
        n_batch: int = 512,
        max_logits: int = MAX_LOGITS,
        rollback: int = 0,
    ) -> ContextSizes | None:
        if not supports_kv_type(self.flash_attention, kv_type):
            return None
        options = ContextOptions(
            n_ctx, 1, n_batch, max_logits, kv_type, flash_attention=self.flash_attention, rollback=rollback
        )
        return self._measured(options)

    def own_layers(self, n_ctx: int, kv_type: KVType, n_batch: int) -> OwnLayersSizes | None:
        if self._own_weights is None or not supports_kv_type(self.flash_attention, kv_type):
            return None
        sizes = self._measured(layers_options(ContextOptions(n_ctx, 1, n_batch, kv_type=kv_type)))
        if sizes is None:
            return None
        cache = sizes.kv + sizes.compute + sizes.output + states_bytes(self.model, n_batch)
        return OwnLayersSizes(self._own_weights, cache)

    def _measure(self, options: ContextOptions) -> ContextSizes | None:
        params = context_params(options)
        if options.own_layers:
            params = mtp_params(params, None)
        with log.lines() as lines:
            context = lib.llama_init_from_model(self.model.pointer, params)
        if not context:
            return None
        rollback = int(lib.llama_n_rs_seq(context))
        lib.llama_free(context)
        return parse_sizes(lines, cache_window(self.model, lines), rollback)


def cache_window(model: CModel, lines: Iterable[str]) -> int:
    """Return the tokens up to which a cache can be truncated anywhere, from the lines logged while it was made.

    A header may name a window that no cache has: of exaone4 only the 64 layers of the largest model use it.
    """
    return model.window if model.window == 0 or WINDOWS.search("\n".join(lines)) else UNLIMITED


def context_graphs_bytes(nodes: int) -> int:
    """Return the bytes of a context's two graphs, of the last pass and of the largest one, with room for `nodes` each.

    That room is zero-filled, so it is resident (`llm_graph_result` in src/llama-graph.h): 1 to 3 MB with most models,
    17 MB where the nodes of gated delta nets are counted by the tokens of a pass, 69 MB with kimi-k3.
    """
    return 2 * (tensor_bytes() * nodes + graph_bytes(nodes))


def parse_sizes(lines: Iterable[str], window: int = UNLIMITED, rollback: int = 0) -> ContextSizes:
    """Return sizes in bytes from the lines that llama.cpp logs while it makes a context.

    `window` is the cache's (`cache_window`), `rollback` the context's. Raises RuntimeError if the lines lack the sizes,
    because the library's wording has changed.
    """
    text = "\n".join(lines)
    nodes = NODES.search(text)
    if not COMPUTE.search(text) or not nodes:
        raise RuntimeError(f"llama.cpp no longer logs its buffer sizes as expected:\n{text}")
    checkpoint = logged_bytes(RECURRENT, text) // (1 + rollback)
    for cells, size in WINDOWS.findall(text):
        checkpoint += int(float(size) * MIB * min(1.0, (window or UNLIMITED) / int(cells)))
    return ContextSizes(
        logged_bytes(KV, text) + logged_bytes(DSV4_STATE, text),
        logged_bytes(COMPUTE, text) + context_graphs_bytes(int(nodes[1])),
        logged_bytes(OUTPUT, text),
        checkpoint=max(1, checkpoint) if window < UNLIMITED else 0,  # the log rounds small sizes to 0
        rollback=rollback,
    )
