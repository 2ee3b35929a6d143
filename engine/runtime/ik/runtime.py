"""Models, contexts and runtimes of ik_llama.cpp."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from engine.machine import return_freed_memory
from engine.runtime.capi.context import GGML_TYPES, Batch, CContext
from engine.runtime.capi.embedding import OWN_POOLING
from engine.runtime.capi.library import AbortCallback
from engine.runtime.capi.model import NO_POOLING, CModel, ModelFile
from engine.runtime.capi.runtime import CLogits, CRuntime
from engine.runtime.contexts import ContextOptions
from engine.runtime.ik.library import lib, log, native, open_library
from engine.runtime.ik.native import Native, OutputHead, StoppablePass
from engine.runtime.interface import Row, Tokens, Tree, top_logits
from engine.stop import StopFlag, Stopped
from models.header import Header

PROMPT_PASS = 128  # tokens: larger passes read prompts no faster (1.5B model), and their buffers take more memory
# From 32 tokens on, the library first converts rows of these types to Q8_1. The kernel of Q8_1 (`mul_mat_q8_1_r8_q8_2`)
# takes four blocks of 32 numbers at once and drops the remainder: rows of 576 numbers lose 64, and answers become
# nonsense.
DROPS_REMAINDER = {3, 7}  # ggml_type: Q4_1, Q5_1
NUMBERS_AT_ONCE = 128
MAX_EXACT_PASS = 31  # tokens of the largest pass with correct results for these types

HEAD = "output.weight"
EMBEDDING = "token_embd.weight"  # holds the head's weights if a file has no HEAD
Q6_K = 14  # ggml_type
UNPACKED = {12, 13, Q6_K}  # Q4_K, Q5_K and Q6_K: long passes unpack their weights once (native/long_passes.hpp)
UP = "ffn_up"  # in the names of the matrices that are multiplied in turns with a gate matrix


def largest_pass(header: Header) -> int:
    """Return the tokens of the largest pass that is worth running and gives correct results."""
    wrong = any(t.type in DROPS_REMAINDER and len(t.shape) > 1 and t.shape[0] % NUMBERS_AT_ONCE for t in header.tensors)
    return min(PROMPT_PASS, MAX_EXACT_PASS) if wrong else PROMPT_PASS


def output_head_bytes(header: Header) -> int:
    """Return the bytes that an output head takes beside its weights if it is read in two parts, 0 if it is not."""
    own_code, tensors = native(), {tensor.name: tensor for tensor in header.tensors}
    head = tensors.get(HEAD) or tensors.get(EMBEDDING)
    if own_code is None or own_code.products is None or head is None or head.type != Q6_K:
        return 0
    return int(own_code.code.output_head_room(*head.shape))


def kept_weight_bytes(header: Header) -> int:
    """Return the bytes of unpacked weights that each thread keeps while prompts are read, 0 without our products.

    A thread keeps 64 rows of the matrix it multiplies with; of up and gate matrices, which it takes in turns, of both.
    """
    own_code = native()
    if own_code is None or own_code.products is None:
        return 0
    rows = [tensor.shape[0] for tensor in header.tensors if tensor.type in UNPACKED]
    up_rows = [tensor.shape[0] for tensor in header.tensors if tensor.type in UNPACKED and UP in tensor.name]
    room = own_code.code.chickadee_products_room
    return int(room(max(rows, default=0)) + room(max(up_rows, default=0)))


class IkModel(CModel):
    """A model that ik_llama.cpp has loaded from `file`.

    - `progress`: gets the loaded fraction and returns False to stop loading, which raises Stopped.
    - `repack`: put the weights, in place, into the order that this processor computes fastest; the file is read, not
      mapped.
    - `rough`: rearrange the output head of a repacked model, so that a step need not read all of it (`OutputHead`).
    - `mmap`: map the file if it is not repacked.
    - `dry`: load header and vocabulary only; such a model cannot run.
    """

    def __init__(
        self,
        file: ModelFile,
        progress: Callable[[float], bool] = lambda _fraction: True,
        *,
        repack: bool = True,
        rough: bool = True,
        mmap: bool = False,
        dry: bool = False,
    ) -> None:
        params = lib.llama_model_default_params()
        params.n_gpu_layers = 0
        params.repack_tensors = repack and not dry  # otherwise the library would repack weights that it did not load
        params.use_mmap = mmap and not repack and not dry
        params.dry_run = dry
        self.head: OutputHead | None = None
        super().__init__(lib, log, "ik_llama.cpp", file, params, progress)
        weights = self._repacked_head(native()) if params.repack_tensors else None
        if rough:
            self.head = OutputHead.create(native(), weights, self.vocabulary.n_tokens)

    def _repacked_head(self, own_code: Native | None) -> int | None:
        """Return the output head's weights (a ggml_tensor), in the library's fastest order, or None.

        A head that shares its weights with the embedding is a second copy in the library, which only our native code
        repacks.
        """
        find_tensor = open_library().functions.llama_get_model_tensor
        head: int | None = find_tensor(self.pointer, HEAD.encode())
        embedding = find_tensor(self.pointer, EMBEDDING.encode())
        return head if head or not own_code or not embedding else own_code.code.chickadee_tied_head(embedding)

    @property
    def n_params(self) -> int:
        """Number of weights in the file; the library would count a head that shares the embeddings' weights twice."""
        return sum(math.prod(tensor.shape) for tensor in self.header.tensors)

    def close(self) -> None:
        """Free head and weights."""
        if self.head:
            self.head.close()
            self.head = None
        super().close()


class IkEmbeddingModel(IkModel):
    """An embedding model that ik_llama.cpp has loaded."""

    embeds = True


def embedding_context(model: CModel, options: ContextOptions, stop: StopFlag) -> CContext:
    """Return a context that computes hidden states, or what the model's own pooling makes of them."""
    most = options.n_batch if model.embeds else largest_pass(model.header)
    size = min(options.n_batch, most)
    params = context_params(replace(options, n_batch=size, max_logits=min(options.max_logits, size)))
    params.embeddings = True
    params.pooling_type = OWN_POOLING if model.embeds else NO_POOLING
    return CContext(lib, log, model, options, params, stop)


SHORT_PASS = 0.08  # seconds: a pass of at most this length is not interrupted, so a stop may take as long
BARRIER_SECONDS = 0.05  # after this time hardly any thread is still late at a barrier
# Buffers are reserved for at least this many tokens with logits, which take about as much as the 128 tokens of a
# prompt's pass, which have none. Otherwise the buffers would grow with the first prompt, unknown to the memory plan.
LEAST_RESERVED_ROWS = 16


class IkContext(CContext):
    """A context of ik_llama.cpp; `stop` interrupts passes that take long."""

    def __init__(self, model: CModel, options: ContextOptions, stop: StopFlag) -> None:
        params, own_code = context_params(options), native()
        self._passes = StoppablePass(own_code, stop, params) if own_code else AbortablePass(stop)
        super().__init__(lib, log, model, options, params, stop)

    def decode(self, batch: Batch) -> None:
        with self._passes.running(self.pointer, batch.raw.n_tokens):
            super().decode(batch)

    def close(self) -> None:
        """Free the context and give its memory back to the system.

        A cache that grew step by step to 8,192 tokens would leave 80 MiB of holes behind otherwise (SmolLM2-135M).
        """
        if self.pointer:
            super().close()
            self._passes.close()
            return_freed_memory()


class AbortablePass:
    """Passes that the library's own abort callback stops; used where our native code is missing.

    The first thread calls the callback after every node of the graph. Another thread that is late at the barrier before
    that node may read the abort status already; it would leave, and the first thread would wait for it for ever (seen
    once in 50 to 900 stops of a 135M model). So the callback sleeps before it answers: by then hardly any thread is
    that late. Short passes are not stopped at all.
    """

    def __init__(self, stop: StopFlag) -> None:
        self.stop = stop
        self._aborted = False
        self._callback = AbortCallback(self._should_abort)
        self._never = AbortCallback()  # a null pointer
        self._seconds: dict[int, float] = {}  # duration of the last pass with this number of tokens

    def _should_abort(self, _data: object) -> bool:
        if self.stop.is_set() and not self._aborted:
            time.sleep(BARRIER_SECONDS)
            self._aborted = True
        return self._aborted

    @contextmanager
    def running(self, context: Any, tokens: int) -> Iterator[None]:
        """Run the block, which computes a pass of `tokens` tokens, so that a long pass can be stopped. Raises Stopped.

        Short passes are not interrupted: calling Python after every node, while all other threads wait, costs half a
        millisecond and more: a tenth of a small model's step, 2 % of a 1.5B model's.
        """
        long = self._seconds.get(tokens, math.inf) > SHORT_PASS
        lib.llama_set_abort_callback(context, self._callback if long else self._never, None)
        self._aborted = False
        started = time.perf_counter()
        yield
        if self._aborted:  # llama_decode reports success, but the logits are meaningless
            raise Stopped
        self._seconds[tokens] = time.perf_counter() - started

    def close(self) -> None:
        """Do nothing; the counterpart in `StoppablePass` frees memory."""


def context_params(options: ContextOptions) -> Any:
    """Return llama_context_params for `options`.

    The number of sequences is not passed on: an attention cache takes any number, and n_seq_max is the number of rows
    of logits for which the library keeps a buffer at least (16 rows of 152 k tokens: 10 MB).
    """
    params = lib.llama_context_default_params()
    params.n_ctx = options.n_ctx
    params.n_batch = params.n_ubatch = options.n_batch
    params.worst_case_tokens = max(options.max_logits, min(LEAST_RESERVED_ROWS, options.n_batch))
    params.n_threads, params.n_threads_batch = options.thread_counts.decode, options.thread_counts.prompt
    params.type_k = params.type_v = GGML_TYPES[options.kv_type]
    params.flash_attn = options.flash_attention != "off"
    return params


class IkLogits(CLogits):
    """`Logits` of a pass that may have left them rough; reading them makes them exact."""

    def __init__(self, context: CContext, n_vocab: int, n_tokens: int, n_logits: int, head: OutputHead) -> None:
        super().__init__(context, n_vocab, n_tokens, n_logits)
        self._head = head

    def row(self, i: int = -1) -> Row:
        return self._exact(i, 0)

    def near_row(self, i: int = -1) -> Row:
        return self._exact(i, 1)

    def top(self, k: int, i: int = -1) -> tuple[Tokens, Row]:
        return top_logits(self._exact(i, k), k)

    def _exact(self, i: int, count: int) -> Row:
        """Return row `i` after making its `count` largest logits (0: all) exact; all others are smaller than these."""
        logits = self.raw_row(i)
        address, first = logits.ctypes.data, lib.llama_get_logits(self._context.pointer)
        self._head.finish((address - first) // logits.nbytes, address, count)
        return logits


class IkRuntime(CRuntime):
    """`CRuntime` on ik_llama.cpp's contexts, with the model's output head if that is read in two parts."""

    def __init__(self, model: IkModel, options: ContextOptions, stop: StopFlag, folder: Path | None = None) -> None:
        self.head = model.head
        n_batch = min(options.n_batch, largest_pass(model.header))
        options = replace(options, n_batch=n_batch, max_logits=min(options.max_logits, n_batch))
        super().__init__(model, options, stop, folder)

    def open_context(self, options: ContextOptions) -> IkContext:
        return IkContext(self.model, options, self.stop)

    def forward(self, tokens: Sequence[int], n_logits: int = 1, *, whole_rows: bool = False) -> CLogits:
        self._allow_rough(not whole_rows)
        return super().forward(tokens, n_logits)

    def forward_tree(self, inputs: Sequence[int], tree: Tree) -> CLogits:
        self._allow_rough(True)
        return super().forward_tree(inputs, tree)

    def _allow_rough(self, on: bool) -> None:
        if self.head:
            self.head.allow_rough(on)

    def _logits(self, n_tokens: int, n_logits: int) -> CLogits:
        if self.head is None:
            return super()._logits(n_tokens, n_logits)
        return IkLogits(self.context, self.vocabulary.n_tokens, n_tokens, n_logits, self.head)
