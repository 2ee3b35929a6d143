"""A model that runs on our own graph: one chat's keys and values, draft trees by an explicit mask."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from engine.protocol import HeadGroup
from engine.runtime.capi.vocabulary import CVocabulary
from engine.runtime.contexts import EXACT, ContextOptions, KVMode
from engine.runtime.graph import state
from engine.runtime.graph.early_exit import Ahead, Lower, LowerPass, Upper
from engine.runtime.graph.layout import Layout, Seen, no_memory
from engine.runtime.graph.model import GraphModel
from engine.runtime.graph.modes import make_kv
from engine.runtime.graph.passes import Pass, Passes, Processor
from engine.runtime.interface import Row, RowLogits, Tree
from engine.stop import StopFlag


class GraphRuntime:
    """Implements `TreeRuntime`, `EarlyExitRuntime` and `RollbackRuntime` of `engine.runtime.interface`.

    Owns a KV cache and the passes on it; the model must outlive it.

    What is large is set aside in `folder`."""

    def __init__(
        self,
        model: GraphModel,
        options: ContextOptions,
        stop: StopFlag,
        folder: Path | None = None,
        open_kv: Callable[[GraphModel, int, KVMode], Layout] = make_kv,
    ) -> None:
        """`open_kv` makes the KV cache. Raises Failure."""
        assert options.kv_type == "f16", options
        self.model, self.options, self.stop, self.folder = model, options, stop, folder
        self.processor = Processor(options.threads, options.gives_way, stop)
        self.kv = open_kv(model, options.n_ctx, options.kv_mode)
        self._last: RowLogits | None = None
        self.passes = self._passes()
        self._size = 0
        self._inputs_at = 0  # tokens before the pass that `keep` follows
        self._ahead = Ahead()

    def _passes(self) -> Passes:
        most = min(self.options.n_batch, self.kv.n_ctx, self.kv.most or self.kv.n_ctx)
        try:
            return Passes(self.model, self.kv, self.processor, most, self.options.max_logits, Pass)
        except MemoryError as error:
            raise no_memory(self.kv.n_ctx) from error

    def _make_passes(self) -> None:
        """Anew, for a cache that has moved."""
        self._forget_logits()
        self._ahead.forget()
        self.passes.close()
        self.passes = self._passes()

    def _open_passes(self) -> Passes:
        """There may have been no memory for them when the cache moved: try again. Raises Failure."""
        if not self.passes.is_open:
            self.passes = self._passes()
        return self.passes

    @property
    def vocabulary(self) -> CVocabulary:
        """The model's."""
        return self.model.vocabulary

    @property
    def n_ctx(self) -> int:
        """Tokens that the cache can hold."""
        return self.kv.n_ctx

    @property
    def size(self) -> int:
        """Tokens that the cache holds."""
        return self._size

    @property
    def max_batch(self) -> int:
        """Tokens of the largest pass."""
        return self.options.n_batch

    @property
    def max_logits(self) -> int:
        """Rows of logits that a pass can have."""
        return min(self.options.max_logits, self.kv.most or self.options.max_logits)

    @property
    def can_truncate(self) -> bool:
        """False where what was merged or forgotten cannot be brought back."""
        return self.kv.can_truncate

    @property
    def state_bytes(self) -> int:
        """Bytes of the keys and values that are held."""
        return self.kv.state_bytes(self._size)

    @property
    def head_groups(self) -> tuple[HeadGroup, ...]:
        """Empty where all heads keep every token."""
        return self.kv.head_groups(self._size)

    # --- passes ---

    def forward(self, tokens: Sequence[int], n_logits: int = 1, *, whole_rows: bool = False) -> RowLogits:  # noqa: ARG002
        """See `engine.runtime.interface.Runtime`."""
        n, most = len(tokens), self.kv.most or len(tokens)
        if n > most:
            return self._forward_in_parts(tokens, n_logits, most)
        if self._ahead.begins(tokens):
            return self._finish(tokens, n_logits)
        return self._pass(tokens, range(self._size, self._size + n), np.tri(n, dtype=np.bool_), n_logits)

    def _forward_in_parts(self, tokens: Sequence[int], n_logits: int, most: int) -> RowLogits:
        """As if it were one pass, of more tokens than the cache takes at once."""
        kept: list[Row] = []
        first, unreliable = len(tokens) - n_logits, False
        for begin in range(0, len(tokens), most):
            part = tokens[begin : begin + most]
            wanted = min(len(part), max(0, begin + len(part) - first))
            logits = self.forward(part, max(1, wanted))
            unreliable |= logits.timing_unreliable
            kept += [logits.row(i).copy() for i in range(-wanted, 0)]
        return RowLogits(kept, unreliable)

    def _pass(self, tokens: Sequence[int], positions: Sequence[int], seen: Seen, n_logits: int) -> RowLogits:
        self._check(tokens, self._size, n_logits)
        self._ahead.forget()
        self._forget_logits()
        try:
            if self.kv.begin(tokens, self._size):
                self._make_passes()
            done = self._open_passes().run(Pass, tokens, positions, seen, n_logits, self._size)
        except BaseException:
            if not self.kv.can_truncate:  # some layers hold it already
                self._size = self.kv.drop_after(0, self._size)
            raise
        self._size += len(tokens)
        return self._logits_of(done)

    def _logits_of(self, done: Pass, begun: bool = False) -> RowLogits:
        """`begun`: some of its tokens had gone through the lower layers before."""
        self._last = RowLogits(done.logits, begun or self.processor.gave_way)
        return self._last

    def _forget_logits(self) -> None:
        if self._last:
            self._last.forget()
            self._last = None

    def _check(self, tokens: Sequence[int], behind: int, rows: int) -> None:
        """What ggml would abort the process for."""
        n = len(tokens)
        assert 0 < rows <= n <= self.max_batch, (rows, n)
        assert behind + n <= self.n_ctx, (behind, n, self.n_ctx)
        assert min(tokens) >= 0, tokens
        assert max(tokens) < self.model.dimensions.vocabulary, tokens

    # --- early exits ---

    @property
    def exits(self) -> range:
        """Numbers of layers that can be stopped after."""
        return range(1, self.model.dimensions.layers if self.options.kv_mode == EXACT else 1)

    def look_ahead(self, tokens: Sequence[int], layers: int) -> RowLogits:
        """See `engine.runtime.interface.EarlyExitRuntime`."""
        assert layers in self.exits, (layers, self.exits)
        if layers != self._ahead.layers:
            self._ahead = Ahead(layers)
        self._forget_logits()
        return self._logits_of(self._lower(tokens, logits=True))

    def _lower(self, tokens: Sequence[int], logits: bool) -> LowerPass:
        """Tokens behind those looked ahead at."""
        ahead, behind = self._ahead, self._size + len(self._ahead.tokens)
        self._check(tokens, behind, 1)
        positions, seen = range(behind, behind + len(tokens)), np.tri(len(tokens), dtype=np.bool_)
        done = self._open_passes().run(Lower(ahead.layers, logits), tokens, positions, seen, 1, behind)
        ahead.add(tokens, done.states)
        return done

    def _finish(self, tokens: Sequence[int], rows: int) -> RowLogits:
        """A pass whose first tokens have been looked ahead at."""
        self._check(tokens, self._size, rows)
        ahead, n = self._ahead, len(tokens)
        self._forget_logits()
        try:
            if rest := tokens[ahead.cut(tokens) :]:
                self._lower(rest, logits=False)
            positions, seen = range(self._size, self._size + n), np.tri(n, dtype=np.bool_)
            done = self._open_passes().run(Upper(ahead.layers), ahead.all, positions, seen, rows, self._size)
        finally:
            ahead.forget()
        self._size += n
        return self._logits_of(done, begun=True)

    # --- trees ---

    def forward_tree(self, inputs: Sequence[int], tree: Tree) -> RowLogits:
        """See `engine.runtime.interface.TreeRuntime`."""
        self._inputs_at = self._size
        count, end = len(inputs), self._size + len(inputs)
        positions = [*range(self._size, end), *(end + depth for depth in tree.depths)]
        seen = np.tri(count + tree.size, dtype=np.bool_)
        for i in range(tree.size):
            seen[count + i, count:] = False
            seen[count + i, [count + node for node in tree.path(i)]] = True
        return self._pass([*inputs, *tree.tokens], positions, seen, 1 + tree.size)

    def keep(self, count: int, path: Sequence[int] = ()) -> None:
        """See `engine.runtime.interface.TreeRuntime`."""
        base = self._inputs_at + count
        if list(path) == list(range(len(path))):
            self.truncate(base + len(path))
            return
        self.kv.keep(base, path)
        self._size = base + len(path)

    # --- what is kept ---

    def truncate(self, size: int) -> int:
        """See `engine.runtime.interface.Runtime`."""
        if size < self._size:
            self._ahead.forget()
            self._size = self.kv.drop_after(size, self._size)
        return self._size

    def resize(self, n_ctx: int) -> None:
        """See `engine.runtime.interface.Runtime`."""
        assert n_ctx >= self._size, (n_ctx, self._size)
        try:
            self.kv.grow(n_ctx, self._size)
        finally:
            self._make_passes()

    def snapshot(self) -> Callable[[], None]:
        """See `engine.runtime.interface.RollbackRuntime`."""
        size, kept = self._size, state.Aside(self.kv, self._size, self.folder)

        def put_back() -> None:
            self._size = self.kv.drop_after(0, self._size)
            try:
                kept.put(self.kv)
            except BaseException:
                self.kv.drop_after(0, 0)
                raise
            finally:
                self._make_passes()
            self._size = size

        return put_back

    def save(self, path: Path, tokens: Sequence[int]) -> None:
        """See `engine.runtime.interface.Runtime`."""
        assert len(tokens) == self._size, (len(tokens), self._size)
        state.save_file(self.kv, path, tokens)

    def load(self, path: Path) -> list[int]:
        """See `engine.runtime.interface.Runtime`."""
        self._size = 0
        try:
            tokens = state.load_file(self.kv, path)
        except BaseException:
            self.kv.drop_after(0, 0)
            raise
        finally:
            self._make_passes()  # the cache may have moved
        self._size = len(tokens)
        return tokens

    def close(self) -> None:
        """Free cache, passes and threads."""
        self.passes.close()
        self.kv.close()
        self.processor.close()
