"""A runtime on our own graph: one chat's keys and values, and draft trees verified with an explicit mask."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

import numpy as np

from engine.protocol.events import HeadGroup
from engine.runtime.capi.vocabulary import CVocabulary
from engine.runtime.contexts import EXACT, ContextOptions, KVMode
from engine.runtime.graph import kv_storage
from engine.runtime.graph.early_exit import LookAhead
from engine.runtime.graph.kv_layout import KVLayout, Seen, out_of_memory
from engine.runtime.graph.model import GraphModel
from engine.runtime.graph.modes import make_kv
from engine.runtime.graph.passes import GraphPass, Inputs, LayerRange, PassRunner, Processor
from engine.runtime.interface import MOST_IN_RAM, Row, RowLogits, Runtime, Tree
from engine.stop import StopFlag


class GraphRuntime(Runtime):
    """A model on our own graph with its KV cache and its passes; the model must outlive it.

    Implements `TreeRuntime`, `EarlyExitRuntime` and `RollbackRuntime` of `engine.runtime.interface`. Snapshots that are
    too large for RAM are written to `folder`.
    """

    def __init__(
        self,
        model: GraphModel,
        options: ContextOptions,
        stop: StopFlag,
        folder: Path | None = None,
        open_kv: Callable[[GraphModel, int, KVMode], KVLayout] = make_kv,
    ) -> None:
        """Allocate the KV cache, which `open_kv` opens, and the memory for passes. Raises Failure."""
        assert options.kv_type == "f16", options
        self.model, self.options, self.stop, self.folder = model, options, stop, folder
        self._last: RowLogits | None = None
        with ExitStack() as opened:
            self.processor = opened.enter_context(closing(Processor(options.threads, options.gives_way, stop)))
            self.kv = opened.enter_context(closing(open_kv(model, options.n_ctx, options.kv_mode)))
            self.pass_runner = self._create_pass_runner()
            opened.pop_all()
        self._size = 0
        self._tree_start = 0  # cached tokens before the last tree's pass
        self._look_ahead = LookAhead()

    def _create_pass_runner(self) -> PassRunner:
        most = min(self.options.n_batch, self.kv.n_ctx, self.kv.max_pass_tokens or self.kv.n_ctx)
        try:
            return PassRunner(self.model, self.kv, self.processor, most, self.options.max_logits, GraphPass)
        except MemoryError as error:
            raise out_of_memory(self.kv.n_ctx) from error

    def _rebuild_passes(self) -> None:
        """Rebuild the compute graphs after the KV cache was reallocated."""
        self._forget_logits()
        self._look_ahead.clear()
        self.pass_runner.close()
        self.pass_runner = self._create_pass_runner()

    def _open_pass_runner(self) -> PassRunner:
        """Return the passes; retry to allocate them if memory was short after the last reallocation. Raises Failure."""
        if not self.pass_runner.is_open:
            self.pass_runner = self._create_pass_runner()
        return self.pass_runner

    @property
    def vocabulary(self) -> CVocabulary:
        return self.model.vocabulary

    @property
    def n_ctx(self) -> int:
        return self.kv.n_ctx

    @property
    def size(self) -> int:
        return self._size

    @property
    def max_batch(self) -> int:
        return self.options.n_batch

    @property
    def max_logits(self) -> int:
        return min(self.options.max_logits, self.kv.max_pass_tokens or self.options.max_logits)

    @property
    def can_truncate(self) -> bool:
        return self.kv.can_truncate

    @property
    def state_bytes(self) -> int:
        return self.kv.state_bytes(self._size)

    @property
    def head_groups(self) -> tuple[HeadGroup, ...]:
        return self.kv.head_groups(self._size)

    # --- passes ---

    def forward(self, tokens: Sequence[int], n_logits: int = 1, *, whole_rows: bool = False) -> RowLogits:  # noqa: ARG002
        """Append tokens and return their last `n_logits` rows.

        The pass is split if the cache takes fewer tokens at once, and finished in the upper layers if `look_ahead`
        began it.
        """
        n, most = len(tokens), self.kv.max_pass_tokens or len(tokens)
        if n > most:
            return self._forward_in_parts(tokens, n_logits, most)
        if self._look_ahead.covers_first_of(tokens):
            return self._finish_look_ahead(tokens, n_logits)
        return self._pass(tokens, range(self._size, self._size + n), np.tri(n, dtype=np.bool_), n_logits)

    def _forward_in_parts(self, tokens: Sequence[int], n_logits: int, most: int) -> RowLogits:
        """Run tokens in passes of at most `most` tokens each; return the rows of one pass over all of them."""
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
        self._look_ahead.clear()
        self._forget_logits()
        try:
            if self.kv.begin_pass(tokens, self._size):
                self._rebuild_passes()
            done = self._open_pass_runner().run(GraphPass, tokens, positions, seen, n_logits, self._size)
        except BaseException:
            if not self.kv.can_truncate:  # some layers may hold the new tokens already
                self._size = self.kv.drop_after(0)
            raise
        self._size += len(tokens)
        return self._logits_of(done)

    def _logits_of(self, done: GraphPass, begun: bool = False) -> RowLogits:
        """Return the pass's logits; `begun` says that some of its tokens had passed the lower layers before."""
        self._last = RowLogits(done.logits, begun or self.processor.gave_way)
        return self._last

    def _forget_logits(self) -> None:
        if self._last:
            self._last.invalidate()
            self._last = None

    def _check(self, tokens: Sequence[int], behind: int, rows: int) -> None:
        """Assert what ggml would abort the process for: room, number of rows, and token ids."""
        n = len(tokens)
        assert 0 < rows <= n <= self.max_batch, (rows, n)
        assert behind + n <= self.n_ctx, (behind, n, self.n_ctx)
        assert min(tokens) >= 0, tokens
        assert max(tokens) < self.model.dimensions.vocabulary, tokens

    # --- early exits ---

    @property
    def exits(self) -> range:
        """Numbers of layers after which a pass can stop; empty if not all keys and values are kept."""
        return range(1, self.model.dimensions.layers if self.options.kv_mode == EXACT else 1)

    def look_ahead(self, tokens: Sequence[int], layers: int) -> RowLogits:
        assert layers in self.exits, (layers, self.exits)
        if layers != self._look_ahead.layers:
            self._look_ahead = LookAhead(layers)
        self._forget_logits()
        return self._logits_of(self._run_lower(tokens, logits=True))

    def _run_lower(self, tokens: Sequence[int], logits: bool) -> GraphPass:
        """Run tokens through the lower layers, behind those looked ahead at before."""
        ahead, behind = self._look_ahead, self._size + len(self._look_ahead.tokens)
        self._check(tokens, behind, 1)
        done = self._run_in_line(LayerRange(0, ahead.layers, logits), tokens, 1, behind)
        ahead.add(tokens, done.states)
        return done

    def _run_in_line(self, layers: LayerRange, inputs: Inputs, rows: int, behind: int) -> GraphPass:
        """Run some layers for inputs that follow each other behind the first `behind` tokens."""
        n = len(inputs)
        positions, seen = range(behind, behind + n), np.tri(n, dtype=np.bool_)
        return self._open_pass_runner().run(layers, inputs, positions, seen, rows, behind)

    def _finish_look_ahead(self, tokens: Sequence[int], rows: int) -> RowLogits:
        """Run a pass whose first tokens were looked ahead at.

        The lower layers run for the other tokens only, the upper layers for all.
        """
        self._check(tokens, self._size, rows)
        ahead = self._look_ahead
        self._forget_logits()
        try:
            if rest := tokens[ahead.keep_common(tokens) :]:
                self._run_lower(rest, logits=False)
            done = self._run_in_line(LayerRange(ahead.layers), ahead.states, rows, self._size)
        finally:
            ahead.clear()
        self._size += len(tokens)
        return self._logits_of(done, begun=True)

    # --- trees ---

    def forward_tree(self, inputs: Sequence[int], tree: Tree) -> RowLogits:
        self._tree_start = self._size
        count, end = len(inputs), self._size + len(inputs)
        positions = [*range(self._size, end), *(end + depth for depth in tree.depths)]
        seen = np.tri(count + tree.size, dtype=np.bool_)
        for i in range(tree.size):
            seen[count + i, count:] = False
            seen[count + i, [count + node for node in tree.path(i)]] = True
        return self._pass([*inputs, *tree.tokens], positions, seen, 1 + tree.size)

    def keep_path(self, count: int, path: Sequence[int] = ()) -> None:
        base = self._tree_start + count
        if list(path) == list(range(len(path))):
            self.truncate(base + len(path))
            return
        self.kv.keep_nodes(base, path)
        self._size = base + len(path)

    # --- cached tokens ---

    def truncate(self, size: int) -> int:
        if size < self._size:
            self._look_ahead.clear()
            self._size = self.kv.drop_after(size)
        return self._size

    def resize(self, n_ctx: int) -> None:
        assert n_ctx >= self._size, (n_ctx, self._size)
        try:
            self.kv.resize(n_ctx, self._size)
        finally:
            self._rebuild_passes()

    def snapshot(self, most_in_ram: int = MOST_IN_RAM) -> Callable[[], None]:
        size, restore_kv = self._size, kv_storage.copy_kv(self.kv, self._size, self.folder, most_in_ram)

        def restore() -> None:
            self._size = self.kv.drop_after(0)
            try:
                restore_kv(self.kv)
            except BaseException:
                self.kv.drop_after(0)
                raise
            finally:
                self._rebuild_passes()
            self._size = size

        return restore

    def save(self, path: Path, tokens: Sequence[int]) -> None:
        assert len(tokens) == self._size, (len(tokens), self._size)
        kv_storage.save_kv(self.kv, path, tokens)

    def load(self, path: Path) -> list[int]:
        self._size = 0
        try:
            tokens = kv_storage.load_kv(self.kv, path)
        except BaseException:
            self.kv.drop_after(0)
            raise
        finally:
            self._rebuild_passes()  # the cache may have been reallocated
        self._size = len(tokens)
        return tokens

    def close(self) -> None:
        """Free the cache and the passes; end the threads."""
        self.pass_runner.close()
        self.kv.close()
        self.processor.close()
