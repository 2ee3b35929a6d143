"""The sequences of a context: the chat, and the branches of a draft tree, which share the chat's cells.

All sequences lie in one unified KV cache, where a token's cell carries the ids of every sequence it belongs to. So what
sequences have in common is stored and computed once. The chat is SEQUENCE; the branches are other sequences beside it
for one pass.
"""

from __future__ import annotations

from engine.runtime.capi.context import SEQUENCE, CContext
from engine.runtime.capi.sequence_state import SequenceState

ANY = -1
TO_END = -1


class Sequences:
    """The chat's and the branches' sequences of one context.

    `shared[i]` is the number of tokens that sequence i has in common with the chat. They stay shared for the next tree:
    giving the cells of a 32 k chat another id takes some milliseconds, while the few cells added since the last tree
    take next to no time.
    """

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

    def keep_branch(self, branch: int, base: int, end: int, in_order: bool) -> None:
        """Continue the chat with sequence `branch`: replace its cells from `base` on by the branch's cells up to `end`.

        `in_order`: the branch's cells follow each other without a gap.
        """
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
        """Move the chat's cells from `base` to `end` to the first free ones.

        Later tokens would fill the gaps, and attention would add the cells in another order. A quantised model
        amplifies that to some hundredths of its logits' spread: enough to choose another token than plain decoding.
        """
        memory = self.context.memory
        self.lib.llama_memory_seq_cp(memory, SEQUENCE, self.spare, base, end)
        cells = SequenceState(self.context, self.spare)
        self.truncate(base)
        cells.restore_into(self.context)
        self.lib.llama_memory_seq_cp(memory, self.spare, SEQUENCE, base, end)
        self.lib.llama_memory_seq_rm(memory, self.spare, base, TO_END)

    def truncate(self, size: int) -> bool:
        """Forget the cells from `size` on; return False if the model's cache cannot be cut."""
        which = ANY if self.shared else SEQUENCE
        self.shared = [min(shared, size) for shared in self.shared]
        return bool(self.lib.llama_memory_seq_rm(self.context.memory, which, size, TO_END))

    def clear(self) -> None:
        """Forget all tokens of all sequences."""
        self.lib.llama_memory_clear(self.context.memory, False)
        self.shared = [0] * len(self.shared)
