"""What ik_llama.cpp runs: a model's file that it loaded, and the contexts that compute."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from engine.machine import give_back_memory
from engine.runtime.capi.context import GGML_TYPES, Batch, CContext
from engine.runtime.capi.library import AbortCallback
from engine.runtime.capi.model import CModel, ModelFile
from engine.runtime.capi.runtime import CLogits, CRuntime
from engine.runtime.contexts import ContextOptions
from engine.runtime.ik.library import lib, log, native, opened
from engine.runtime.ik.native import Native, OutputHead, StoppablePass
from engine.runtime.interface import Row, Tokens, Tree, top_of
from engine.stop import StopFlag, Stopped
from models.header import Header

PROMPT_PASS = 128  # tokens: larger ones read prompts no faster (1.5B model), and their buffers take more memory
# From 32 tokens on, rows of these types are first turned into Q8_1, whose kernel (`mul_mat_q8_1_r8_q8_2`) takes four
# blocks of 32 numbers at a time and leaves out what remains: rows of 576 numbers lose 64, and answers their sense.
LOSES_THE_REST = {3, 7}  # ggml_type: Q4_1, Q5_1
AT_A_TIME = 128  # numbers
MOST_WITHOUT = 31  # tokens of a pass that is right

HEAD = "output.weight"
EMBEDDING = "token_embd.weight"  # has the head's weights in a model that has no HEAD
Q6_K = 14  # ggml_type


def largest_pass(header: Header) -> int:
    """Tokens of the largest pass that is worth running and whose results can be trusted."""
    wrong = any(t.type in LOSES_THE_REST and len(t.shape) > 1 and t.shape[0] % AT_A_TIME for t in header.tensors)
    return min(PROMPT_PASS, MOST_WITHOUT) if wrong else PROMPT_PASS


def room_bytes(header: Header) -> int:
    """What an output head that is read in two parts takes beside its weights."""
    own, tensors = native(), {tensor.name: tensor for tensor in header.tensors}
    head = tensors.get(HEAD) or tensors.get(EMBEDDING)
    if own is None or own.products is None or head is None or head.type != Q6_K:
        return 0
    return int(own.code.output_head_room(*head.shape))


class IkModel(CModel):
    """Loads `file`; `progress` gets the loaded fraction and returns False to stop the loading (raises Stopped).

    `repack`: put the weights, in place, into the order this processor computes fastest; the file is read, not mapped.
    `rough`: rearrange the output head of a repacked model, so that a step need not read all of it (`OutputHead`).
    `mmap`: map the file where it is not repacked. `dry`: header and vocabulary only; such a model cannot run."""

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
        params.repack_tensors = repack and not dry  # what was not loaded would be, too
        params.use_mmap = mmap and not repack and not dry
        params.dry_run = dry
        self.head: OutputHead | None = None
        super().__init__(lib, log, "ik_llama.cpp", file, params, progress)
        weights = self._repacked_head(native()) if params.repack_tensors else None
        if rough:
            self.head = OutputHead.of(native(), weights, self.vocabulary.n_tokens)

    def _repacked_head(self, own: Native | None) -> int | None:
        """The output head's weights. Those that it shares with the embedding are the library's second copy of them,
        which only our native code repacks."""
        find = opened().functions.llama_get_model_tensor
        head: int | None = find(self.pointer, HEAD.encode())
        embedding = find(self.pointer, EMBEDDING.encode())
        return head if head or not own or not embedding else own.code.chickadee_tied_head(embedding)

    @property
    def n_params(self) -> int:
        """The library counts a head that shares the embeddings' weights twice."""
        return sum(math.prod(tensor.shape) for tensor in self.header.tensors)

    def close(self) -> None:
        """Free head and weights."""
        if self.head:
            self.head.close()
            self.head = None
        super().close()


SHORT = 0.08  # seconds: so long a stop may take
LATE = 0.05  # seconds
# Tokens with logits that buffers are reserved for, at least: they take about as much as the 128 of a prompt's pass,
# which have none. The buffers would grow with the first prompt otherwise, and the memory plan not know it.
LEAST_RESERVED = 16


class IkContext(CContext):
    """`stop` interrupts passes that take long."""

    def __init__(self, model: CModel, options: ContextOptions, stop: StopFlag) -> None:
        params, own = context_params(options), native()
        self._passes = StoppablePass(own, stop, params) if own else AbortedPass(stop)
        super().__init__(lib, log, model, options, params, stop)

    def decode(self, batch: Batch) -> None:
        """See `CContext`."""
        with self._passes.running(self.pointer, batch.raw.n_tokens):
            super().decode(batch)

    def close(self) -> None:
        """A cache that grew step by step to 8,192 tokens would leave 80 MiB of holes behind (SmolLM2-135M)."""
        if self.pointer:
            super().close()
            self._passes.close()
            give_back_memory()


class AbortedPass:
    """Where our native code does not stop passes: long ones by the library's abort callback.

    It is asked by the first thread after every node of the graph; the status that it causes may be read by another one
    that is late at the barrier before. That one would leave, and the first wait for it for ever (seen once in 50 to 900
    stops of a 135M model). So the answer comes when hardly a thread is so late any more."""

    def __init__(self, stop: StopFlag) -> None:
        self.stop = stop
        self._aborted = False
        self._callback = AbortCallback(self._is_to_abort)
        self._never = AbortCallback()  # a null pointer
        self._seconds: dict[int, float] = {}  # of the last pass, by its number of tokens

    def _is_to_abort(self, _data: object) -> bool:
        if self.stop.is_set() and not self._aborted:
            time.sleep(LATE)
            self._aborted = True
        return self._aborted

    @contextmanager
    def running(self, context: Any, tokens: int) -> Iterator[None]:
        """Around a pass. Raises Stopped.

        Short ones are not interrupted: to ask Python after every node, which all other threads wait for, costs half a
        millisecond and more, a tenth of a small model's step and 2 % of a 1.5B model's."""
        long = self._seconds.get(tokens, math.inf) > SHORT
        lib.llama_set_abort_callback(context, self._callback if long else self._never, None)
        self._aborted = False
        started = time.perf_counter()
        yield
        if self._aborted:  # such a pass ends as if it were done, its logits are of no pass
            raise Stopped
        self._seconds[tokens] = time.perf_counter() - started

    def close(self) -> None:
        """Nothing is left behind."""


def context_params(options: ContextOptions) -> Any:
    """llama_context_params for `options`.

    Sequences are not announced: an attention cache takes any, and n_seq_max is for how many rows of logits the library
    keeps a buffer at least (16 rows of 152 k tokens: 10 MB)."""
    params = lib.llama_context_default_params()
    params.n_ctx = options.n_ctx
    params.n_batch = params.n_ubatch = options.n_batch
    params.worst_case_tokens = max(options.max_logits, min(LEAST_RESERVED, options.n_batch))
    params.n_threads = params.n_threads_batch = options.threads
    params.type_k = params.type_v = GGML_TYPES[options.kv_type]
    params.flash_attn = options.flash_attention != "off"
    return params


class IkLogits(CLogits):
    """`Logits` of a pass that may have left them rough: those that are asked for are made exact."""

    def __init__(self, context: CContext, n_vocab: int, n_tokens: int, n_logits: int, head: OutputHead) -> None:
        super().__init__(context, n_vocab, n_tokens, n_logits)
        self._head = head

    def row(self, i: int = -1) -> Row:
        """See `Logits`."""
        return self._exact(i, 0)

    def top(self, k: int, i: int = -1) -> tuple[Tokens, Row]:
        """See `Logits`."""
        return top_of(self._exact(i, k), k)

    def _exact(self, i: int, count: int) -> Row:
        """Row `i`, its `count` largest logits (0: all) as of a whole pass; all others are smaller than these."""
        logits = self.as_computed(i)
        address, first = logits.ctypes.data, lib.llama_get_logits(self._context.pointer)
        self._head.finish((address - first) // logits.nbytes, address, count)
        return logits


class IkRuntime(CRuntime):
    """`CRuntime` on ik_llama.cpp's contexts, with the model's output head where that is read in two parts."""

    def __init__(self, model: IkModel, options: ContextOptions, stop: StopFlag, folder: Path | None = None) -> None:
        self.head = model.head
        n_batch = min(options.n_batch, largest_pass(model.header))
        options = replace(options, n_batch=n_batch, max_logits=min(options.max_logits, n_batch))
        super().__init__(model, options, stop, folder)

    def open_context(self, options: ContextOptions) -> IkContext:
        """See `CRuntime`."""
        return IkContext(self.model, options, self.stop)

    def forward(self, tokens: Sequence[int], n_logits: int = 1, *, whole_rows: bool = False) -> CLogits:
        """See `engine.runtime.interface.Runtime`."""
        self._may_be_rough(not whole_rows)
        return super().forward(tokens, n_logits)

    def forward_tree(self, inputs: Sequence[int], tree: Tree) -> CLogits:
        """See `engine.runtime.interface.TreeRuntime`."""
        self._may_be_rough(True)
        return super().forward_tree(inputs, tree)

    def _may_be_rough(self, on: bool) -> None:
        if self.head:
            self.head.may_be_rough(on)

    def _logits(self, n_tokens: int, n_logits: int) -> CLogits:
        if self.head is None:
            return super()._logits(n_tokens, n_logits)
        return IkLogits(self.context, self.vocabulary.n_tokens, n_tokens, n_logits, self.head)

    def snapshot(self) -> Callable[[], None]:
        """Putting back makes a new context: the old one keeps a buffer for the most rows it ever gave."""
        put_back = super().snapshot()

        def put_back_and_shrink() -> None:
            put_back()
            self.resize(self.n_ctx)

        return put_back_and_shrink
