"""A model that runs on ik_llama.cpp."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from engine.runtime.capi.context import CContext
from engine.runtime.capi.runtime import CLogits, CRuntime
from engine.runtime.ik.context import IkContext
from engine.runtime.ik.library import lib
from engine.runtime.ik.model import IkModel, largest_pass
from engine.runtime.ik.output_head import OutputHead
from engine.runtime.interface import Row, Tokens, Tree, top_of
from engine.runtime.options import ContextOptions
from engine.stop import StopFlag


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
