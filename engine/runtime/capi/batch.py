"""A llama_batch: the tokens of one target pass with their positions. Owns and frees its arrays."""

from __future__ import annotations

from collections.abc import Sequence

from engine.runtime.capi.library import CLibrary
from engine.runtime.tree import Tree

SEQUENCE = 0  # the chat's


class Batch:
    """Room for `capacity` tokens, each in up to `sequences` sequences; filled anew for each pass."""

    def __init__(self, lib: CLibrary, capacity: int, sequences: int = 1) -> None:
        self.lib = lib
        self.capacity = capacity
        self.sequences = sequences
        self.raw = lib.llama_batch_init(capacity, 0, sequences)

    def fill(self, tokens: Sequence[int], position: int, rows: int) -> None:
        """Tokens of the chat at `position`, `position` + 1, …; logits for the last `rows` of them."""
        chat = (SEQUENCE,)
        self._begin(len(tokens))
        for i, token in enumerate(tokens):
            self._put(i, token, position + i, chat, i >= len(tokens) - rows)

    def fill_tree(self, inputs: Sequence[int], tree: Tree, position: int) -> None:
        """Inputs from `position` on and a tree behind the last one; branch i is sequence i. Logits for all these."""
        branches = tree.branches
        through = [[s for s, branch in enumerate(branches) if i in branch] for i in range(tree.size)]
        self._begin(len(inputs) + tree.size)
        every, count = range(len(branches)), len(inputs)
        for i, token in enumerate(inputs):
            self._put(i, token, position + i, every, i == count - 1)
        for i, depth in enumerate(tree.depths):
            self._put(count + i, tree.tokens[i], position + count + depth, through[i], True)

    def fill_chats(self, parts: Sequence[tuple[int, Sequence[int], int]]) -> None:
        """Of several chats the sequence of each, its tokens and the position of their first. Logits for each last."""
        self._begin(sum(len(tokens) for _sequence, tokens, _position in parts))
        count = 0
        for sequence, tokens, position in parts:
            for i, token in enumerate(tokens):
                self._put(count, token, position + i, (sequence,), i == len(tokens) - 1)
                count += 1

    def _begin(self, count: int) -> None:
        assert 0 < count <= self.capacity, (count, self.capacity)
        self.raw.n_tokens = count

    def _put(self, i: int, token: int, position: int, sequences: Sequence[int], wanted: bool) -> None:
        raw = self.raw
        raw.token[i] = token
        raw.pos[i] = position
        raw.logits[i] = wanted
        raw.n_seq_id[i] = len(sequences)
        for j, sequence in enumerate(sequences):
            raw.seq_id[i][j] = sequence

    def close(self) -> None:
        if self.raw is not None:
            self.lib.llama_batch_free(self.raw)
            self.raw = None
