"""A llama_context and what runs in it: the KV cache and compute buffers of one loaded model, and the batch of a pass.

Threads that compute one graph meet at a barrier after each of its nodes, hundreds of times a token. Where one of them
shares its core with another program, all wait there for whole time slices: two threads on two cores that others keep
busy write 2.5 tokens a second where a single thread writes 30 (SmolLM2-135M). So no more threads are used than there
are cores for (`FreeCores`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import psutil

from common.failures import Failure
from engine.protocol import KVType
from engine.runtime.capi.library import CLibrary, LibraryLog
from engine.runtime.capi.model import CModel
from engine.runtime.contexts import ContextOptions
from engine.runtime.interface import Tree
from engine.stop import StopFlag, Stopped

EVERY_SECONDS = 0.25
ENOUGH = 0.65  # of a core that is free for one more thread; the window and the desktop take some all the time


def idle_seconds() -> float:
    """Processor time that nobody used since the computer started, all cores together."""
    times = psutil.cpu_times()
    return float(times.idle + getattr(times, "iowait", 0.0))


class FreeCores:
    """Cores that are idle or used by this process, since the last look. Clocks give seconds; all can be replaced."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        own_clock: Callable[[], float] = time.process_time,
        idle_clock: Callable[[], float] = idle_seconds,
    ) -> None:
        self._clocks = clock, own_clock, idle_clock
        self._at, self._own, self._idle = clock(), own_clock(), idle_clock()
        self._free = float("inf")

    def threads(self, most: int) -> int:
        """How many of `most` threads to use for the next pass: one at least."""
        clock, own_clock, idle_clock = self._clocks
        now = clock()
        if now - self._at >= EVERY_SECONDS:
            own, idle = own_clock(), idle_clock()
            self._free = (own - self._own + idle - self._idle) / (now - self._at)
            self._at, self._own, self._idle = now, own, idle
        return most if self._free >= most else max(1, min(most, int(self._free + 1 - ENOUGH)))


@cache
def free_cores() -> FreeCores:
    """This process's; it looks for the first time when it is first asked for."""
    return FreeCores()


SEQUENCE = 0  # the chat's


class Batch:
    """Room for `capacity` tokens, each in up to `sequences` sequences; filled anew for each pass."""

    def __init__(self, lib: CLibrary, capacity: int, sequences: int = 1) -> None:
        self.lib = lib
        self.capacity = capacity
        self.sequences = sequences
        self.raw = lib.llama_batch_init(capacity, 0, sequences)

    def fill(self, tokens: Sequence[int], position: int, rows: int) -> None:
        """Tokens of the chat at `position`, `position` + 1, …; logits for the last `rows` of them."""
        chat = (SEQUENCE,)
        self.begin(len(tokens))
        for i, token in enumerate(tokens):
            self.put(i, token, position + i, chat, i >= len(tokens) - rows)

    def fill_tree(self, inputs: Sequence[int], tree: Tree, position: int) -> None:
        """Inputs from `position` on and a tree behind the last one; branch i is sequence i. Logits for all these."""
        branches = tree.branches
        through = [[s for s, branch in enumerate(branches) if i in branch] for i in range(tree.size)]
        self.begin(len(inputs) + tree.size)
        every, count = range(len(branches)), len(inputs)
        for i, token in enumerate(inputs):
            self.put(i, token, position + i, every, i == count - 1)
        for i, depth in enumerate(tree.depths):
            self.put(count + i, tree.tokens[i], position + count + depth, through[i], True)

    def begin(self, count: int) -> None:
        """A pass of `count` tokens, which `put` fills in."""
        assert 0 < count <= self.capacity, (count, self.capacity)
        self.raw.n_tokens = count

    def put(self, i: int, token: int, position: int, sequences: Sequence[int], wanted: bool) -> None:
        """The i-th token of the pass; `wanted`: with logits."""
        raw = self.raw
        raw.token[i] = token
        raw.pos[i] = position
        raw.logits[i] = wanted
        raw.n_seq_id[i] = len(sequences)
        for j, sequence in enumerate(sequences):
            raw.seq_id[i][j] = sequence

    def close(self) -> None:
        """Free the arrays."""
        if self.raw is not None:
            self.lib.llama_batch_free(self.raw)
            self.raw = None


GGML_TYPES: dict[KVType, int] = {"f16": 1, "q4_0": 2, "q8_0": 8}
ABORTED, NO_MEMORY = 2, -2  # llama_decode's results


class CContext:
    """`decode` runs one pass and raises Stopped when `stop` is set before it, or where the library can be interrupted,
    meanwhile. `params`: the library's for `options`."""

    def __init__(
        self, lib: CLibrary, log: LibraryLog, model: CModel, options: ContextOptions, params: Any, stop: StopFlag
    ) -> None:
        self.lib = lib
        self.options = options
        self.stop = stop
        with log.errors() as errors:
            self.pointer = lib.llama_init_from_model(model.pointer, params)
        if not self.pointer:
            raise Failure("out_of_memory.context", "\n".join(errors), n_ctx=options.n_ctx)
        self.memory = lib.llama_get_memory(self.pointer)
        self.n_ctx: int = lib.llama_n_ctx(self.pointer)
        self.n_batch: int = lib.llama_n_batch(self.pointer)  # no more than the n_ctx that was asked for
        self.threads = options.threads  # of the next pass
        self.logits: object | None = None  # of the last pass

    def decode(self, batch: Batch) -> None:
        """Run the tokens of `batch` in one pass. Raises Stopped, MemoryError, and RuntimeError where it is refused."""
        self.logits = None
        if self.stop.is_set():
            raise Stopped
        if self.options.gives_way:
            self._use_threads(free_cores().threads(self.options.threads))
        result = self.lib.llama_decode(self.pointer, batch.raw)
        if result == ABORTED:
            raise Stopped
        if result == NO_MEMORY:
            raise MemoryError(f"llama_decode returned {result} for {batch.raw.n_tokens} tokens")
        if result != 0:
            raise RuntimeError(f"llama_decode returned {result} for {batch.raw.n_tokens} tokens")

    @property
    def is_open(self) -> bool:
        """Does the library still hold it?"""
        return bool(self.pointer)

    @property
    def held(self) -> int:
        """How many tokens of the chat the library says it holds."""
        return int(self.lib.llama_memory_seq_pos_max(self.memory, SEQUENCE)) + 1

    def _use_threads(self, threads: int) -> None:
        if threads != self.threads:
            self.threads = threads
            self.lib.llama_set_n_threads(self.pointer, threads, threads)

    def close(self) -> None:
        """Free it; what it had computed is then of no use."""
        self.logits = None
        if self.pointer:
            self.lib.llama_free(self.pointer)
            self.pointer = self.memory = None
