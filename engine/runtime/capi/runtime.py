"""A model that runs on llama.cpp's C API: one context with the chat and, from the first tree on, its branches.

`CRuntime` implements `TreeRuntime` and `RollbackRuntime`; its subclasses add where contexts come from.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from common.failures import Failure
from engine.runtime.capi.context import Batch, CContext
from engine.runtime.capi.model import CModel
from engine.runtime.capi.sequences import (
    Positions,
    Restore,
    Sequences,
    copy_sequence,
    load_file,
    save_file,
    state_bytes,
)
from engine.runtime.capi.vocabulary import CVocabulary
from engine.runtime.contexts import ContextOptions, ThreadCounts
from engine.runtime.interface import (
    EMPTY_TREE,
    MOST_BRANCHES,
    MOST_IN_RAM,
    UNLIMITED,
    Row,
    Runtime,
    Tokens,
    Tree,
    top_logits,
)
from engine.stop import StopFlag
from engine.tokenization.pictures import blocks


class CLogits:
    """`Logits` of the last `n_logits` of a pass's `n_tokens` tokens, read from where the context keeps them."""

    def __init__(self, context: CContext, n_vocab: int, n_tokens: int, n_logits: int) -> None:
        self._context, self._n_vocab = context, n_vocab
        self._n_tokens, self._first = n_tokens, n_tokens - n_logits
        self.timing_unreliable = context.threads < context.options.thread_counts.of(n_tokens)
        context.logits = self

    def row(self, i: int = -1) -> Row:
        return self.raw_row(i)

    def near_row(self, i: int = -1) -> Row:
        return self.raw_row(i)

    def top(self, k: int, i: int = -1) -> tuple[Tokens, Row]:
        return top_logits(self.row(i), k)

    def raw_row(self, i: int) -> Row:
        """Return row `i` as the pass left it in the library's buffer."""
        assert self._context.logits is self, "another pass has run, or the context is closed"
        token = self._first + i if i >= 0 else self._n_tokens + i
        pointer = self._context.lib.llama_get_logits_ith(self._context.pointer, token)
        return np.ctypeslib.as_array(pointer, (self._n_vocab,))


class CRuntime(Runtime, ABC):
    """Owner of a context and a batch; the model must outlive it.

    A large cache that moves to another context waits in a file of `folder`.
    """

    def __init__(self, model: CModel, options: ContextOptions, stop: StopFlag, folder: Path | None = None) -> None:
        """Raise Failure where memory is short."""
        self.folder = folder
        self.model = model
        self.stop = stop
        self._adopt_context(self.open_context(options))
        self.batch = Batch(self.context.lib, options.n_batch, options.sequences)
        self._size = 0
        self._positions = Positions()
        self._tree, self._inputs_at = EMPTY_TREE, 0  # of the pass that `keep_path` will refer to

    @abstractmethod
    def open_context(self, options: ContextOptions) -> CContext:
        """Return a new context of the model, whose passes `stop` interrupts. Raises Failure."""

    def _adopt_context(self, context: CContext) -> None:
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

    @property
    def max_batch(self) -> int:
        return min(self.batch.capacity, self.context.n_batch)

    @property
    def max_logits(self) -> int:
        return self.context.options.max_logits

    @property
    def can_truncate(self) -> bool:
        return self.model.can_truncate

    @property
    def state_bytes(self) -> int:
        """Bytes of the chat's keys and values as a copy or a file takes them."""
        return state_bytes(self.context) if self.context.is_open else 0

    @property
    def thread_counts(self) -> ThreadCounts:
        return self.context.options.thread_counts

    def use_threads(self, threads: ThreadCounts) -> None:
        self.context.options = replace(self.context.options, threads=threads.decode, prompt_threads=threads.prompt)

    # --- passes ---

    def forward(self, tokens: Sequence[int], n_logits: int = 1, *, whole_rows: bool = False) -> CLogits:  # noqa: ARG002
        assert 0 < n_logits <= min(len(tokens), self.max_logits), (n_logits, len(tokens))
        self.batch.fill(tokens, self._positions.of(self._size), n_logits)
        self._ensure_open()
        return self._run_batch(len(tokens), n_logits)

    def _run_batch(self, n_tokens: int, n_logits: int) -> CLogits:
        """Run the batch, which was filled with `n_tokens` tokens, and return its logits."""
        try:
            self.context.decode(self.batch)
        except BaseException:
            self._undo_failed_pass()
            raise
        self._size += n_tokens
        return self._logits(n_tokens, n_logits)

    def _logits(self, n_tokens: int, n_logits: int) -> CLogits:
        return CLogits(self.context, self.vocabulary.n_tokens, n_tokens, n_logits)

    def _undo_failed_pass(self) -> None:
        """Remove the cells that a stopped or failed pass left behind."""
        self._truncate_cache(self._size)

    # --- trees ---

    def forward_tree(self, inputs: Sequence[int], tree: Tree) -> CLogits:
        assert 0 < tree.size < self.max_logits, tree.size
        assert self.window == UNLIMITED, "windows and recurrent layers cannot go back behind a tree"
        self._ensure_open()
        self._ensure_branches()
        self._tree, self._inputs_at = tree, self._size
        position = self._positions.of(self._size)
        self.batch.fill_tree(inputs, tree, position)
        self.sequences.share(len(tree.branches), position)
        return self._run_batch(len(inputs) + tree.size, 1 + tree.size)

    def _ensure_branches(self) -> None:
        """Move to a context with room for branches if this one has none. Raises Failure.

        Only a runtime that verifies trees pays for them: a sliding window takes that many times the cells.
        """
        sequences = MOST_BRANCHES + 1
        if self.context.options.sequences < sequences:
            self._move_to_context(replace(self.context.options, sequences=sequences))
            self.batch.close()
            self.batch = Batch(self.context.lib, self.context.options.n_batch, sequences)

    def keep_path(self, count: int, path: Sequence[int] = ()) -> None:
        base = self._positions.of(self._inputs_at) + count
        branch = next(i for i, nodes in enumerate(self._tree.branches) if nodes[: len(path)] == tuple(path))
        in_order = list(path) == list(range(len(path)))
        try:
            self.sequences.keep_branch(branch, base, base + len(path), in_order)
        except BaseException:
            self._clear()
            raise
        self._size = self._inputs_at + count + len(path)

    # --- what is kept ---

    def truncate(self, size: int) -> int:
        if size < self._size or not size:  # 0 always clears the library's cache, even if we believe it to be empty
            self._truncate_cache(size)
        return self._size

    def _truncate_cache(self, size: int) -> None:
        """Cut the library's cache to the chat's first `size` tokens, or clear it if it cannot be cut there."""
        if size and self.can_truncate_to(size) and self.sequences.truncate(self._positions.of(size)):
            self._size = size
            self._positions = self._positions.cut(size)
        else:
            self._clear()

    def _clear(self) -> None:
        self._size = 0
        self._positions = Positions()
        if self.context.is_open:
            self.sequences.clear()

    def _ensure_open(self) -> None:
        """Open a context if a move left none for lack of memory. Raises Failure."""
        if not self.context.is_open:
            self._adopt_context(self.open_context(self.context.options))

    def resize(self, n_ctx: int) -> None:
        """Move to a KV cache for `n_ctx` tokens, not fewer than `size`. Raises Failure where memory is short.

        The old cache is then restored, or empty if there is no memory for it either.
        """
        assert n_ctx >= self._size, (n_ctx, self._size)
        self._move_to_context(replace(self.context.options, n_ctx=n_ctx))

    def _move_to_context(self, options: ContextOptions) -> None:
        """Move the chat to a new context with `options`. Raises Failure as `resize` does."""
        size, copy = self._size, copy_sequence(self.context, self.folder, MOST_IN_RAM) if self._size else None
        positions = self._positions
        old_options = self.context.options
        self.context.close()  # before the new context is made, so that memory never holds both
        self._size = 0
        try:
            self._adopt_context(self.open_context(options))
        except Failure:
            self._adopt_context(self.open_context(old_options))
            raise
        finally:
            if self.context.is_open:
                self._restore(copy, size, positions)

    def snapshot(self, most_in_ram: int = MOST_IN_RAM) -> Callable[[], None]:
        size, copy = self._size, copy_sequence(self.context, self.folder, most_in_ram) if self._size else None
        positions = self._positions

        def restore() -> None:
            self._ensure_open()
            self._restore(copy, size, positions)

        return restore

    def _restore(self, copy: Restore | None, size: int, positions: Positions) -> None:
        """Replace the content by a copy of `size` tokens at `positions`; an empty cache has no copy."""
        self._clear()
        if copy:
            try:
                copy(self.context)
            except BaseException:
                self._clear()
                raise
            self._size, self._positions = size, positions

    def save(self, path: Path, tokens: Sequence[int]) -> None:
        assert len(tokens) == self._size, (len(tokens), self._size)
        save_file(self.context, path, tokens)

    def load(self, path: Path) -> list[int]:
        self._ensure_open()
        self._clear()
        try:
            tokens = load_file(self.context, path)
        except BaseException:
            self._clear()  # the library may have read a part of the file
            raise
        self._size, self._positions = len(tokens), Positions(tuple(blocks(tokens)))
        return tokens

    def close(self) -> None:
        """Free context and batch."""
        self.context.close()
        self.batch.close()
