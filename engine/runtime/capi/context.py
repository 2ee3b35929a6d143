"""A llama_context and what runs in it: KV cache and compute buffers of one loaded model, and the batch of a pass.

Threads that compute one graph meet at a barrier after each of its nodes, hundreds of times a token. If one of them
shares its core with another program, all wait at the barrier for whole time slices: two threads on two cores that other
programs keep busy write 2.5 tokens a second where a single thread writes 30 (SmolLM2-135M). So a pass uses no more
threads than there are free cores (`FreeCores`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import psutil

from common.failures import Failure
from common.planning import KVType
from engine.runtime.capi.library import CLibrary, LibraryLog
from engine.runtime.capi.model import CModel
from engine.runtime.contexts import ContextOptions
from engine.runtime.interface import Tree
from engine.stop import StopFlag, Stopped

EVERY_SECONDS = 0.25  # between two measurements
# Of the measurement behind a pause, five of Linux's ticks on each core. A short prompt takes two threads 1.1 to 2.0 s
# on two busy cores, and one thread 0.02 to 0.17 s.
GLANCE_SECONDS = 0.05
FREE_CORE_SHARE = 0.65  # free share of a core that is worth a thread; the window and the desktop always take some


def idle_seconds() -> float:
    """Return the seconds for which cores were idle since the computer started, summed over all cores."""
    times = psutil.cpu_times()
    return float(times.idle + getattr(times, "iowait", 0.0))


def others_may_run() -> bool:
    """Return whether another thread than the calling one runs at this moment; True if the system cannot tell.

    Linux states the number of threads that run or wait for a core, for the whole computer.
    """
    try:
        running = Path("/proc/loadavg").read_text().split()[3].partition("/")[0]
        return int(running) > 1
    except (OSError, IndexError, ValueError):
        return True


class FreeCores:
    """Meter of the cores that are idle or used by this process while it computes.

    The load before a pause says nothing about the load after it: other programs, or our own work in idle time, may have
    ended. So a measurement never spans a pause; if others run now, the first pass behind one is preceded by a glance of
    its own. The clocks return seconds; tests replace them, `sleep` and `others_may_run`.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        own_clock: Callable[[], float] = time.process_time,
        idle_clock: Callable[[], float] = idle_seconds,
        sleep: Callable[[float], None] = time.sleep,
        others_may_run: Callable[[], bool] = others_may_run,
    ) -> None:
        self._clocks, self._sleep = (clock, own_clock, idle_clock), sleep
        self._others_may_run = others_may_run
        self._free = float("inf")
        self._restart()
        self._last_end = self._at

    def threads(self, most: int) -> int:
        """Return how many of `most` threads the next pass should use: at least one."""
        now = self._clocks[0]()
        if now - self._last_end >= EVERY_SECONDS:
            self._restart()
            self._free = float("inf")
            if self._others_may_run():
                self._sleep(GLANCE_SECONDS)
                self._measure()
        elif now - self._at >= EVERY_SECONDS:
            self._measure()
        return most if self._free >= most else max(1, min(most, int(self._free + 1 - FREE_CORE_SHARE)))

    def pass_ended(self) -> None:
        """Note that a pass has ended: until the next one the process pauses."""
        self._last_end = self._clocks[0]()

    def _measure(self) -> None:
        at, own, idle = self._at, self._own, self._idle
        self._restart()
        self._free = (self._own - own + self._idle - idle) / (self._at - at)

    def _restart(self) -> None:
        self._at, self._own, self._idle = (clock() for clock in self._clocks)


@cache
def free_cores() -> FreeCores:
    """Return this process's `FreeCores`, which begins to measure at the first call."""
    return FreeCores()


SEQUENCE = 0  # id of the chat's sequence


class Batch:
    """Arrays for a pass of up to `capacity` tokens, each in up to `sequences` sequences; refilled for each pass."""

    def __init__(self, lib: CLibrary, capacity: int, sequences: int = 1) -> None:
        self.lib = lib
        self.capacity = capacity
        self.sequences = sequences
        self.raw = lib.llama_batch_init(capacity, 0, sequences)

    def fill(self, tokens: Sequence[int], position: int, rows: int) -> None:
        """Fill in tokens of the chat at `position`, `position` + 1, …, with logits for the last `rows` of them."""
        chat = (SEQUENCE,)
        self.start(len(tokens))
        for i, token in enumerate(tokens):
            self.set_token(i, token, position + i, chat, i >= len(tokens) - rows)

    def fill_tree(self, inputs: Sequence[int], tree: Tree, position: int) -> None:
        """Fill in inputs from `position` on and a tree behind the last input, with branch i as sequence i.

        The last input and all tokens of the tree get logits.
        """
        branches = tree.branches
        sequences = [[s for s, branch in enumerate(branches) if i in branch] for i in range(tree.size)]
        self.start(len(inputs) + tree.size)
        all_sequences, count = range(len(branches)), len(inputs)
        for i, token in enumerate(inputs):
            self.set_token(i, token, position + i, all_sequences, i == count - 1)
        for i, depth in enumerate(tree.depths):
            self.set_token(count + i, tree.tokens[i], position + count + depth, sequences[i], True)

    def start(self, count: int) -> None:
        """Begin a pass of `count` tokens; `set_token` must then fill in each of them."""
        assert 0 < count <= self.capacity, (count, self.capacity)
        self.raw.n_tokens = count

    def set_token(self, i: int, token: int, position: int, sequences: Sequence[int], with_logits: bool) -> None:
        """Fill in the i-th token of the pass; it gets a row of logits if `with_logits`."""
        raw = self.raw
        raw.token[i] = token
        raw.pos[i] = position
        raw.logits[i] = with_logits
        raw.n_seq_id[i] = len(sequences)
        for j, sequence in enumerate(sequences):
            raw.seq_id[i][j] = sequence

    def close(self) -> None:
        """Free the arrays."""
        if self.raw is not None:
            self.lib.llama_batch_free(self.raw)
            self.raw = None


GGML_TYPES: dict[KVType, int] = {"f16": 1, "q4_0": 2, "q8_0": 8}
ABORTED, NO_MEMORY = 2, -2  # results of llama_decode


class CContext:
    """A llama_context; `params` are the library's parameters for `options`. Raises Failure where memory is short."""

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
        self.n_batch: int = lib.llama_n_batch(self.pointer)  # at most the n_ctx that was asked for
        self.threads = 0  # of the last pass; 0 before the first one
        self.logits: object | None = None  # the logits of the last pass, which the next one invalidates
        self.rollback = 0  # tokens of a pass that recurrent layers can forget
        self.pass_began = False  # whether the last `decode` got as far as the library

    def decode(self, batch: Batch) -> None:
        """Run the tokens of `batch` in one pass.

        Raises Stopped if `stop` is set before the pass, or during the pass where the library can be interrupted;
        MemoryError; and RuntimeError if the library refuses the batch.
        """
        self._begin(self.options.thread_counts.of(batch.raw.n_tokens), self.options.gives_way)
        result = self.lib.llama_decode(self.pointer, batch.raw)
        free_cores().pass_ended()
        if result == ABORTED:
            raise Stopped
        if result == NO_MEMORY:
            raise MemoryError(f"llama_decode returned {result} for {batch.raw.n_tokens} tokens")
        if result != 0:
            raise RuntimeError(f"llama_decode returned {result} for {batch.raw.n_tokens} tokens")

    def begin_block(self) -> None:
        """Begin passes that another library runs, such as those of a picture's embeddings. Raises Stopped."""
        self._begin(self.options.thread_counts.prompt, gives_way=False)

    @property
    def is_open(self) -> bool:
        """Whether the library still holds the context."""
        return bool(self.pointer)

    @property
    def first_cached(self) -> int:
        """Index of the first of the chat's tokens that all layers of the library's cache still hold; -1 if empty."""
        return int(self.lib.llama_memory_seq_pos_min(self.memory, SEQUENCE))

    def _begin(self, threads: int, gives_way: bool) -> None:
        """Begin a pass with this number of threads, whatever its size, or with fewer if it `gives_way`. Raises Stopped.

        The library takes a pass of two tokens for a prompt's already, so both of its numbers are set.
        """
        self.logits, self.pass_began = None, False
        if self.stop.is_set():
            raise Stopped
        self.pass_began = True
        if gives_way:
            threads = free_cores().threads(threads)
        if threads != self.threads:
            self.threads = threads
            self.lib.llama_set_n_threads(self.pointer, threads, threads)

    def close(self) -> None:
        """Free the context and invalidate the logits of its last pass."""
        self.logits = None
        if self.pointer:
            self.lib.llama_free(self.pointer)
            self.pointer = self.memory = None
