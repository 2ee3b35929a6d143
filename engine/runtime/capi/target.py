"""A target on llama.cpp's C API: one context with the chat and the branches of a draft. Knows no library.

Implements `engine.runtime.interface.Target` but for what its subclasses add: where contexts and samplers come from.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.protocol import HeadGroup, Sampling
from engine.runtime.capi import move, state
from engine.runtime.capi.batch import Batch
from engine.runtime.capi.context import CContext, ContextOptions
from engine.runtime.capi.model import CModel
from engine.runtime.capi.sequences import Sequences
from engine.runtime.capi.vocabulary import CVocabulary
from engine.runtime.interface import Sampler
from engine.runtime.tree import MOST_BRANCHES, NOTHING, Tree
from engine.stop import StopFlag
from models.failures import Failure


class CTarget(ABC):
    """Owns a Context and a Batch; the model must outlive it. A large cache that moves does it through `folder`."""

    def __init__(self, model: CModel, options: ContextOptions, stop: StopFlag, folder: Path | None = None) -> None:
        self.folder = folder
        self.model = model
        self.stop = stop
        options = replace(options, sequences=MOST_BRANCHES + 1 if model.can_drop else 1)
        self._use(self.open_context(options))
        self.batch = Batch(self.context.lib, options.n_batch, options.sequences)
        self._size = 0
        self._tree, self._inputs_at = NOTHING, 0  # of the pass that `keep` follows

    @abstractmethod
    def open_context(self, options: ContextOptions) -> CContext:
        """A new context of the model that `stop` stops. Raises Failure."""

    @abstractmethod
    def sampler(self, sampling: Sampling, history: Sequence[int]) -> Sampler: ...

    def _use(self, context: CContext) -> None:
        self.context = context
        self.sequences = Sequences(context)

    @property
    def vocabulary(self) -> CVocabulary:
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
            part = tokens[done : done + self.most_inputs]
            self.run(part)
            done += len(part)
            yield done

    @property
    def was_odd(self) -> bool:
        return self.context.threads < self.context.options.threads

    @property
    def most_inputs(self) -> int:
        return min(self.batch.capacity, self.context.n_batch)

    @property
    def most_drafted(self) -> int:
        return self.context.options.max_rows - 1

    @property
    def can_drop(self) -> bool:
        return self.model.can_drop

    def run(self, tokens: Sequence[int], rows: int = 1) -> None:
        self.batch.fill(tokens, self._size, rows)
        self._be_open()
        self._pass(len(tokens))

    def _pass(self, count: int) -> None:
        """Run the batch, which was filled with `count` tokens."""
        try:
            self.context.decode(self.batch)
        except BaseException:
            self._take_back()
            raise
        self._size += count

    def _take_back(self) -> None:
        """After a pass that was stopped or failed, which may leave the cells of finished parts behind.

        A model that keeps one state for all tokens has changed it by then, unless the pass did not even begin."""
        if self.can_drop or self.context.held != self._size:
            self._cut(self._size)

    def _cut(self, size: int) -> None:
        """Let the library hold the chat's first `size` tokens; none where nothing can be cut off, only forgotten."""
        if size and self.can_drop and self.sequences.drop_after(size):
            self._size = size
        else:
            self._forget()

    def _forget(self) -> None:
        self._size = 0
        if self.context.is_open:
            self.sequences.clear()

    def _be_open(self) -> None:
        """A move may have left no context, because there was memory for none: try again. Raises Failure."""
        if not self.context.is_open:
            self._use(self.open_context(self.context.options))

    def run_tree(self, inputs: Sequence[int], tree: Tree) -> None:
        self._tree, self._inputs_at = tree, self._size
        if tree.is_line:  # no more than a longer pass
            self.run([*inputs, *tree.tokens], rows=1 + tree.size)
            return
        self.batch.fill_tree(inputs, tree, self._size)
        self._be_open()
        self.sequences.share(len(tree.branches), self._size)
        self._pass(len(inputs) + tree.size)

    def keep(self, count: int, path: Sequence[int] = ()) -> None:
        base = self._inputs_at + count
        if self._tree.is_line:
            self.drop_after(base + len(path))
            return
        branch = next(i for i, nodes in enumerate(self._tree.branches) if nodes[: len(path)] == tuple(path))
        in_order = list(path) == list(range(len(path)))
        try:
            self.sequences.keep(branch, base, base + len(path), in_order)
        except BaseException:
            self._forget()
            raise
        self._size = base + len(path)

    def logits(self, row: int) -> NDArray[np.float32]:
        pointer = self.context.lib.llama_get_logits_ith(self.context.pointer, row)
        return np.ctypeslib.as_array(pointer, (self.vocabulary.n_tokens,))

    def best_logits(self, row: int, _count: int, _apart: Sequence[int] = ()) -> NDArray[np.float32]:
        return self.logits(row)

    def drop_after(self, size: int) -> int:
        if size < self._size or not size:  # who wants to begin anew gets that, whatever the size was believed to be
            self._cut(size)
        return self._size

    def grow(self, n_ctx: int) -> None:
        """Raises Failure where memory is short; the cache is then as it was, or empty if there is none for that."""
        assert n_ctx >= self._size, (n_ctx, self._size)
        size, saved = self._size, move.take(self.context, self.folder) if self._size else None
        before = self.context.options
        self.context.close()  # before the new one is made: never both at once in memory
        self._size = 0
        try:
            try:
                self._use(self.open_context(replace(before, n_ctx=n_ctx)))
            except Failure:
                self._use(self.open_context(before))
                raise
            finally:
                if self.context.is_open:
                    self._put(saved, size)
        finally:
            if saved:
                saved.discard()

    def set_aside(self) -> Callable[[], None]:
        size, saved = self._size, move.take(self.context, self.folder) if self._size else None

        def put_back() -> None:
            self._be_open()
            self._put(saved, size)

        return put_back

    def _put(self, saved: move.Moved | None, size: int) -> None:
        """Replace the content by what was taken out, which are `size` tokens."""
        self._forget()
        if saved:
            try:
                saved.put(self.context)
            except BaseException:
                self._forget()
                raise
            self._size = size

    @property
    def state_bytes(self) -> int:
        return state.size_bytes(self.context) if self.context.is_open else 0

    @property
    def head_groups(self) -> tuple[HeadGroup, ...]:
        return ()

    def save(self, path: Path, tokens: Sequence[int]) -> None:
        assert len(tokens) == self._size, (len(tokens), self._size)
        state.save_file(self.context, path, tokens)

    def restore(self, path: Path) -> list[int]:
        self._be_open()
        self._forget()
        try:
            tokens = state.load_file(self.context, path)
        except BaseException:
            self._forget()  # the library may have taken some of it
            raise
        self._size = len(tokens)
        return tokens

    def close(self) -> None:
        self.context.close()
        self.batch.close()
