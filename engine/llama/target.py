"""The target on llama.cpp: one context, sequence 0. Implements `engine.target.Target`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.llama import move, state
from engine.llama.batch import Batch
from engine.llama.context import Context, ContextOptions
from engine.llama.library import lib
from engine.llama.model import Model
from engine.llama.sampler import LlamaSampler
from engine.llama.vocabulary import LlamaVocabulary
from engine.protocol import Sampling
from engine.stop import StopFlag
from models.failures import Failure

SEQUENCE = state.SEQUENCE


class LlamaTarget:
    """Owns a Context and a Batch; the model must outlive it. A large cache that moves does it through `folder`."""

    def __init__(self, model: Model, options: ContextOptions, stop: StopFlag, folder: Path | None = None) -> None:
        self.folder = folder
        self.model = model
        self.stop = stop
        self.context = Context(model, options, stop)
        self.batch = Batch(options.n_batch)
        self._size = 0

    @property
    def vocabulary(self) -> LlamaVocabulary:
        return self.model.vocabulary

    @property
    def n_ctx(self) -> int:
        return self.context.n_ctx

    @property
    def size(self) -> int:
        return self._size

    def prefill(self, tokens: Sequence[int]) -> Iterator[int]:
        done = 0
        while done < len(tokens):
            part = tokens[done : done + self.batch.capacity]
            self._pass(part, rows=1)
            done += len(part)
            yield done

    @property
    def most_inputs(self) -> int:
        return self.batch.capacity

    @property
    def can_drop(self) -> bool:
        return self.model.can_drop

    def run(self, tokens: Sequence[int], rows: int = 1) -> None:
        self._pass(tokens, rows)

    def _pass(self, tokens: Sequence[int], rows: int) -> None:
        self.batch.fill(tokens, self._size, rows)
        try:
            self.context.decode(self.batch)
        except BaseException:
            # A pass that was stopped may leave the cells of finished parts behind.
            lib.llama_memory_seq_rm(self.context.memory, SEQUENCE, self._size, -1)
            raise
        self._size += len(tokens)

    def logits(self, row: int) -> NDArray[np.float32]:
        pointer = lib.llama_get_logits_ith(self.context.pointer, row)
        return np.ctypeslib.as_array(pointer, (self.vocabulary.n_tokens,))

    def drop_after(self, size: int) -> int:
        if size < self._size:
            if lib.llama_memory_seq_rm(self.context.memory, SEQUENCE, size, -1):
                self._size = size
            else:  # recurrent models keep one state for all tokens: nothing can be cut off, only forgotten
                lib.llama_memory_clear(self.context.memory, False)
                self._size = 0
        return self._size

    def sampler(self, sampling: Sampling, history: Sequence[int]) -> LlamaSampler:
        return LlamaSampler(lambda: self.context, self.vocabulary.n_tokens, sampling, history)

    def grow(self, n_ctx: int) -> None:
        assert n_ctx >= self._size, (n_ctx, self._size)
        saved = move.take(self.context, self.folder) if self._size else None
        before = self.context.options
        self.context.close()  # before the new one is made: never both at once in memory
        try:
            self.context = Context(self.model, replace(before, n_ctx=n_ctx), self.stop)
        except Failure:
            self.context = Context(self.model, before, self.stop)
            raise
        finally:
            if saved:
                saved.put(self.context)

    def set_aside(self) -> Callable[[], None]:
        size = self._size
        saved = move.take(self.context, self.folder) if size else None

        def put_back() -> None:
            lib.llama_memory_clear(self.context.memory, False)
            if saved:
                saved.put(self.context)
            self._size = size

        return put_back

    @property
    def state_bytes(self) -> int:
        return state.size_bytes(self.context)

    def save(self, path: Path, tokens: Sequence[int]) -> None:
        assert len(tokens) == self._size, (len(tokens), self._size)
        state.save_file(self.context, path, tokens)

    def restore(self, path: Path) -> list[int]:
        lib.llama_memory_clear(self.context.memory, False)
        self._size = 0
        tokens = state.load_file(self.context, path)
        self._size = len(tokens)
        return tokens

    def close(self) -> None:
        self.context.close()
        self.batch.close()
