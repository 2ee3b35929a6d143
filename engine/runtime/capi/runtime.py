"""A model that runs on llama.cpp's C API: one context with the chat and, once a tree is asked for, its branches.

`CRuntime` implements `TreeRuntime` and `RollbackRuntime` but for where contexts come from, which its subclasses add.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from common.failures import Failure
from engine.protocol import HeadGroup
from engine.runtime.capi import state
from engine.runtime.capi.context import Batch, CContext
from engine.runtime.capi.model import CModel
from engine.runtime.capi.state import Sequences
from engine.runtime.capi.vocabulary import CVocabulary
from engine.runtime.contexts import ContextOptions
from engine.runtime.interface import MOST_BRANCHES, NOTHING, Row, Tokens, Tree, top_of
from engine.stop import StopFlag


class CLogits:
    """`Logits` of the last `n_logits` of the pass's `n_tokens`, where the context keeps them."""

    def __init__(self, context: CContext, n_vocab: int, n_tokens: int, n_logits: int) -> None:
        self._context, self._n_vocab = context, n_vocab
        self._n_tokens, self._first = n_tokens, n_tokens - n_logits
        self.timing_unreliable = context.threads < context.options.threads
        context.logits = self

    def row(self, i: int = -1) -> Row:
        """See `engine.runtime.interface.Logits`."""
        return self.as_computed(i)

    def top(self, k: int, i: int = -1) -> tuple[Tokens, Row]:
        """See `engine.runtime.interface.Logits`."""
        return top_of(self.row(i), k)

    def as_computed(self, i: int) -> Row:
        """Row `i` as the pass left it."""
        assert self._context.logits is self, "another pass has run, or the context is closed"
        token = self._first + i if i >= 0 else self._n_tokens + i
        pointer = self._context.lib.llama_get_logits_ith(self._context.pointer, token)
        return np.ctypeslib.as_array(pointer, (self._n_vocab,))


class CRuntime(ABC):
    """Owns a context and a batch; the model must outlive it. A large cache that moves does it through `folder`."""

    def __init__(self, model: CModel, options: ContextOptions, stop: StopFlag, folder: Path | None = None) -> None:
        """Raises Failure where memory is short."""
        self.folder = folder
        self.model = model
        self.stop = stop
        self._use(self.open_context(options))
        self.batch = Batch(self.context.lib, options.n_batch, options.sequences)
        self._size = 0
        self._tree, self._inputs_at = NOTHING, 0  # of the pass that `keep` follows

    @abstractmethod
    def open_context(self, options: ContextOptions) -> CContext:
        """A new context of the model that `stop` stops. Raises Failure."""

    def _use(self, context: CContext) -> None:
        self.context = context
        self.sequences = Sequences(context)

    @property
    def vocabulary(self) -> CVocabulary:
        """The model's."""
        return self.model.vocabulary

    @property
    def n_ctx(self) -> int:
        """Tokens that the cache can hold."""
        return self.context.n_ctx

    @property
    def size(self) -> int:
        """Tokens that the cache holds."""
        return self._size

    @property
    def max_batch(self) -> int:
        """Tokens of the largest pass."""
        return min(self.batch.capacity, self.context.n_batch)

    @property
    def max_logits(self) -> int:
        """Rows of logits that a pass can have."""
        return self.context.options.max_logits

    @property
    def can_truncate(self) -> bool:
        """False for models with a state for all tokens."""
        return self.model.can_truncate

    @property
    def state_bytes(self) -> int:
        """Bytes of the chat's keys and values."""
        return state.size_bytes(self.context) if self.context.is_open else 0

    @property
    def head_groups(self) -> tuple[HeadGroup, ...]:
        """All heads keep every token."""
        return ()

    # --- passes ---

    def forward(self, tokens: Sequence[int], n_logits: int = 1, *, whole_rows: bool = False) -> CLogits:  # noqa: ARG002
        """See `engine.runtime.interface.Runtime`."""
        assert 0 < n_logits <= min(len(tokens), self.max_logits), (n_logits, len(tokens))
        self.batch.fill(tokens, self._size, n_logits)
        self._be_open()
        return self._pass(len(tokens), n_logits)

    def _pass(self, n_tokens: int, n_logits: int) -> CLogits:
        """Run the batch, which was filled with `n_tokens` tokens."""
        try:
            self.context.decode(self.batch)
        except BaseException:
            self._take_back()
            raise
        self._size += n_tokens
        return self._logits(n_tokens, n_logits)

    def _logits(self, n_tokens: int, n_logits: int) -> CLogits:
        return CLogits(self.context, self.vocabulary.n_tokens, n_tokens, n_logits)

    def _take_back(self) -> None:
        """After a pass that was stopped or failed, which may leave the cells of finished parts behind.

        A model that keeps one state for all tokens has changed it by then, unless the pass did not even begin."""
        if self.can_truncate or self.context.held != self._size:
            self._cut(self._size)

    # --- trees ---

    def forward_tree(self, inputs: Sequence[int], tree: Tree) -> CLogits:
        """See `engine.runtime.interface.TreeRuntime`."""
        assert 0 < tree.size < self.max_logits, tree.size
        assert self.can_truncate
        self._be_open()
        self._have_branches()
        self._tree, self._inputs_at = tree, self._size
        self.batch.fill_tree(inputs, tree, self._size)
        self.sequences.share(len(tree.branches), self._size)
        return self._pass(len(inputs) + tree.size, 1 + tree.size)

    def _have_branches(self) -> None:
        """Move to a context with room for branches: a sliding window has as many times the cells. Raises Failure."""
        wanted = MOST_BRANCHES + 1
        if self.context.options.sequences < wanted:
            self._move(replace(self.context.options, sequences=wanted))
            self.batch.close()
            self.batch = Batch(self.context.lib, self.context.options.n_batch, wanted)

    def keep(self, count: int, path: Sequence[int] = ()) -> None:
        """See `engine.runtime.interface.TreeRuntime`."""
        base = self._inputs_at + count
        branch = next(i for i, nodes in enumerate(self._tree.branches) if nodes[: len(path)] == tuple(path))
        in_order = list(path) == list(range(len(path)))
        try:
            self.sequences.keep(branch, base, base + len(path), in_order)
        except BaseException:
            self._forget()
            raise
        self._size = base + len(path)

    # --- what is kept ---

    def truncate(self, size: int) -> int:
        """See `engine.runtime.interface.Runtime`."""
        if size < self._size or not size:  # who wants to begin anew gets that, whatever the size was believed to be
            self._cut(size)
        return self._size

    def _cut(self, size: int) -> None:
        """Let the library hold the chat's first `size` tokens; none where nothing can be cut off, only forgotten."""
        if size and self.can_truncate and self.sequences.truncate(size):
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

    def resize(self, n_ctx: int) -> None:
        """Raises Failure where memory is short; the cache is then as it was, or empty if there is none for that."""
        assert n_ctx >= self._size, (n_ctx, self._size)
        self._move(replace(self.context.options, n_ctx=n_ctx))

    def _move(self, options: ContextOptions) -> None:
        """To a new context. Raises Failure as `resize` does."""
        size, saved = self._size, state.take(self.context, self.folder) if self._size else None
        before = self.context.options
        self.context.close()  # before the new one is made: never both at once in memory
        self._size = 0
        try:
            try:
                self._use(self.open_context(options))
            except Failure:
                self._use(self.open_context(before))
                raise
            finally:
                if self.context.is_open:
                    self._put(saved, size)
        finally:
            if saved:
                saved.discard()

    def snapshot(self) -> Callable[[], None]:
        """See `engine.runtime.interface.RollbackRuntime`."""
        size, saved = self._size, state.take(self.context, self.folder) if self._size else None

        def put_back() -> None:
            self._be_open()
            self._put(saved, size)

        return put_back

    def _put(self, saved: state.Moved | None, size: int) -> None:
        """Replace the content by what was taken out, which are `size` tokens."""
        self._forget()
        if saved:
            try:
                saved.put(self.context)
            except BaseException:
                self._forget()
                raise
            self._size = size

    def save(self, path: Path, tokens: Sequence[int]) -> None:
        """See `engine.runtime.interface.Runtime`."""
        assert len(tokens) == self._size, (len(tokens), self._size)
        state.save_file(self.context, path, tokens)

    def load(self, path: Path) -> list[int]:
        """See `engine.runtime.interface.Runtime`."""
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
        """Free context and batch."""
        self.context.close()
        self.batch.close()
