"""Sequence ids of one context: the chat is SEQUENCE, the branches of a draft tree are others beside it for one pass.

All lie in one unified KV cache, where a token's cell carries the ids of every sequence it belongs to: what sequences
have in common is stored and computed once.
"""

from __future__ import annotations

from engine.runtime.capi.context import SEQUENCE, CContext
from engine.runtime.capi.state import State

ANY = -1
TO_END = -1


class Sequences:
    """`shared[i]`: tokens that sequence i has in common with the chat. They stay shared for the next tree: giving a
    32 k chat's cells another id takes some milliseconds, giving those that are new since the last tree none."""

    def __init__(self, context: CContext) -> None:
        self.context = context
        self.lib = context.lib
        *branches, self.spare = range(context.options.sequences)
        self.shared = [0] * len(branches)

    def share(self, count: int, size: int) -> None:
        """Make the first `count` sequences hold the chat's `size` tokens."""
        for sequence in range(1, count):
            if self.shared[sequence] < size:
                self.lib.llama_memory_seq_cp(self.context.memory, SEQUENCE, sequence, self.shared[sequence], TO_END)
                self.shared[sequence] = size

    def keep(self, branch: int, base: int, end: int, in_order: bool) -> None:
        """Of the cells from `base` on the chat goes on with those of sequence `branch` up to `end`.

        `in_order`: these follow each other without a gap."""
        memory = self.context.memory
        if branch != SEQUENCE:
            self.lib.llama_memory_seq_rm(memory, SEQUENCE, base, TO_END)
            self.lib.llama_memory_seq_cp(memory, branch, SEQUENCE, base, end)
        for sequence, shared in enumerate(self.shared):
            if sequence != SEQUENCE and shared:
                self.lib.llama_memory_seq_rm(memory, sequence, base, TO_END)
        self.truncate(end)
        self.shared = [min(shared, base) for shared in self.shared]
        if not in_order:
            self._close_gaps(base, end)

    def _close_gaps(self, base: int, end: int) -> None:
        """Move the chat's last cells to the first free ones.

        Later tokens would fill the gaps and attention would add in another order, which a quantised model amplifies to
        some hundredths of its logits' spread: enough to choose another token than plain decoding."""
        memory = self.context.memory
        self.lib.llama_memory_seq_cp(memory, SEQUENCE, self.spare, base, end)
        cells = State(self.context, self.spare)
        self.truncate(base)
        cells.put(self.context)
        self.lib.llama_memory_seq_cp(memory, self.spare, SEQUENCE, base, end)
        self.lib.llama_memory_seq_rm(memory, self.spare, base, TO_END)

    def truncate(self, size: int) -> bool:
        """Forget the cells from `size` on; False if the model cannot be cut."""
        which = ANY if self.shared else SEQUENCE
        self.shared = [min(shared, size) for shared in self.shared]
        return bool(self.lib.llama_memory_seq_rm(self.context.memory, which, size, TO_END))

    def clear(self) -> None:
        """Forget all tokens of all sequences."""
        self.lib.llama_memory_clear(self.context.memory, False)
        self.shared = [0] * len(self.shared)
