"""The target on our own graph: one chat's keys and values, draft trees by an explicit mask."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.generation.sampling import RowSampler
from engine.protocol import HeadGroup, Sampling
from engine.runtime.capi.context import ContextOptions
from engine.runtime.capi.vocabulary import CVocabulary
from engine.runtime.graph import state
from engine.runtime.graph.cells import no_memory
from engine.runtime.graph.early_exit import Ahead, Lower, LowerPass, Upper
from engine.runtime.graph.layout import Layout, Seen
from engine.runtime.graph.model import GraphModel
from engine.runtime.graph.modes import make_kv
from engine.runtime.graph.passes import Pass, Passes, Processor
from engine.runtime.kv_mode import EXACT, KVMode
from engine.runtime.tree import NOTHING, Tree
from engine.stop import StopFlag


class GraphTarget:
    """Implements `engine.runtime.interface.Target`. Owns a KV cache and the passes on it; the model must outlive it.

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
        self._last: Pass | None = None
        self._rows: tuple[list[NDArray[np.float32]], int] | None = None  # of a pass in parts, and its first row
        self.passes = self._passes()
        self._size = 0
        self._tree, self._inputs_at = NOTHING, 0  # of the pass that `keep` follows
        self._ahead = Ahead()
        self._begun = False  # did the last pass's tokens go through the lower layers before?

    def _passes(self) -> Passes:
        most = min(self.options.n_batch, self.kv.n_ctx, self.kv.most or self.kv.n_ctx)
        try:
            return Passes(self.model, self.kv, self.processor, most, self.options.max_rows, Pass)
        except MemoryError as error:
            raise no_memory(self.kv.n_ctx) from error

    def _make_passes(self) -> None:
        """Anew, for a cache that has moved."""
        self._last = None
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
        return self.model.vocabulary

    @property
    def n_ctx(self) -> int:
        return self.kv.n_ctx

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
        return self._begun

    @property
    def most_inputs(self) -> int:
        return self.options.n_batch

    @property
    def most_drafted(self) -> int:
        return min(self.options.max_rows, self.kv.most or self.options.max_rows) - 1

    @property
    def can_drop(self) -> bool:
        return self.kv.can_drop

    def run(self, tokens: Sequence[int], rows: int = 1) -> None:
        n, most = len(tokens), self.kv.most or len(tokens)
        if n > most:
            self._run_in_parts(tokens, rows, most)
            return
        if self._ahead.begins(tokens):
            self._finish(tokens, rows)
        else:
            self._pass(tokens, range(self._size, self._size + n), np.tri(n, dtype=np.bool_), rows)

    def _run_in_parts(self, tokens: Sequence[int], rows: int, most: int) -> None:
        """As if it were one pass, of more tokens than the cache takes at once."""
        kept: list[NDArray[np.float32]] = []
        first = len(tokens) - rows
        for begin in range(0, len(tokens), most):
            part = tokens[begin : begin + most]
            wanted = min(len(part), max(0, begin + len(part) - first))
            self.run(part, max(1, wanted))
            kept += [self.logits(i).copy() for i in range(-wanted, 0)]
        self._rows = kept, first

    def _pass(self, tokens: Sequence[int], positions: Sequence[int], seen: Seen, rows: int) -> None:
        self._check(tokens, self._size, rows)
        self._ahead.forget()
        self._rows, self._begun = None, False
        try:
            if self.kv.begin(tokens, self._size):
                self._make_passes()
            self._last = self._open_passes().run(Pass, tokens, positions, seen, rows, self._size)
        except BaseException:
            if not self.kv.can_drop:  # some layers hold it already
                self._size = self.kv.drop_after(0, self._size)
            raise
        self._size += len(tokens)

    def _check(self, tokens: Sequence[int], behind: int, rows: int) -> None:
        """What ggml would abort the process for."""
        n = len(tokens)
        assert 0 < rows <= n <= self.most_inputs, (rows, n)
        assert behind + n <= self.n_ctx, (behind, n, self.n_ctx)
        assert min(tokens) >= 0, tokens
        assert max(tokens) < self.model.dimensions.vocabulary, tokens

    @property
    def exits(self) -> range:
        return range(1, self.model.dimensions.layers if self.options.kv_mode == EXACT else 1)

    def look_ahead(self, tokens: Sequence[int], layers: int) -> NDArray[np.float32]:
        assert layers in self.exits, (layers, self.exits)
        if layers != self._ahead.layers:
            self._ahead = Ahead(layers)
        return self._lower(tokens, logits=True).row(-1)

    def _lower(self, tokens: Sequence[int], logits: bool) -> LowerPass:
        """Tokens behind those looked ahead at."""
        ahead, behind = self._ahead, self._size + len(self._ahead.tokens)
        self._check(tokens, behind, 1)
        positions, seen = range(behind, behind + len(tokens)), np.tri(len(tokens), dtype=np.bool_)
        done = self._open_passes().run(Lower(ahead.layers, logits), tokens, positions, seen, 1, behind)
        ahead.add(tokens, done.states)
        return done

    def _finish(self, tokens: Sequence[int], rows: int) -> None:
        """A pass whose first tokens have been looked ahead at."""
        self._check(tokens, self._size, rows)
        ahead, n = self._ahead, len(tokens)
        self._rows, self._begun = None, True
        try:
            if rest := tokens[ahead.cut(tokens) :]:
                self._lower(rest, logits=False)
            positions, seen = range(self._size, self._size + n), np.tri(n, dtype=np.bool_)
            self._last = self._open_passes().run(Upper(ahead.layers), ahead.all, positions, seen, rows, self._size)
        finally:
            ahead.forget()
        self._size += n

    def run_tree(self, inputs: Sequence[int], tree: Tree) -> None:
        self._tree, self._inputs_at = tree, self._size
        if tree.is_line:
            self.run([*inputs, *tree.tokens], rows=1 + tree.size)
            return
        count, end = len(inputs), self._size + len(inputs)
        positions = [*range(self._size, end), *(end + depth for depth in tree.depths)]
        seen = np.tri(count + tree.size, dtype=np.bool_)
        for i in range(tree.size):
            seen[count + i, count:] = False
            seen[count + i, [count + node for node in tree.path(i)]] = True
        self._pass([*inputs, *tree.tokens], positions, seen, 1 + tree.size)

    def keep(self, count: int, path: Sequence[int] = ()) -> None:
        base = self._inputs_at + count
        if list(path) == list(range(len(path))):
            self.drop_after(base + len(path))
            return
        self.kv.keep(base, path)
        self._size = base + len(path)

    def logits(self, row: int) -> NDArray[np.float32]:
        if self._rows:
            kept, first = self._rows
            return kept[row - first if row >= 0 else row]
        assert self._last, "no pass has run"
        return self._last.row(row)

    def best_logits(self, row: int, _count: int, _apart: Sequence[int] = ()) -> NDArray[np.float32]:
        return self.logits(row)

    def drop_after(self, size: int) -> int:
        if size < self._size:
            self._ahead.forget()
            self._size = self.kv.drop_after(size, self._size)
        return self._size

    def sampler(self, sampling: Sampling, history: Sequence[int]) -> RowSampler:
        return RowSampler(self.best_logits, sampling, history)

    def grow(self, n_ctx: int) -> None:
        assert n_ctx >= self._size, (n_ctx, self._size)
        try:
            self.kv.grow(n_ctx, self._size)
        finally:
            self._make_passes()

    def set_aside(self) -> Callable[[], None]:
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

    @property
    def state_bytes(self) -> int:
        return self.kv.state_bytes(self._size)

    @property
    def head_groups(self) -> tuple[HeadGroup, ...]:
        return self.kv.head_groups(self._size)

    def save(self, path: Path, tokens: Sequence[int]) -> None:
        assert len(tokens) == self._size, (len(tokens), self._size)
        state.save_file(self.kv, path, tokens)

    def restore(self, path: Path) -> list[int]:
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
        self.passes.close()
        self.kv.close()
        self.processor.close()
