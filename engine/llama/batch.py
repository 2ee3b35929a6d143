"""A llama_batch: the tokens of one target pass with their positions. Owns and frees its arrays."""

from __future__ import annotations

from collections.abc import Sequence

from engine.llama.library import lib


class Batch:
    """Room for `capacity` tokens of sequence 0; filled anew for each pass."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.raw = lib.llama_batch_init(capacity, 0, 1)
        for i in range(capacity):
            self.raw.n_seq_id[i] = 1
            self.raw.seq_id[i][0] = 0

    def fill(self, tokens: Sequence[int], position: int, rows: int) -> None:
        """Tokens at `position`, `position` + 1, …; logits for the last `rows` of them."""
        count = len(tokens)
        assert 0 < count <= self.capacity, (count, self.capacity)
        raw = self.raw
        raw.n_tokens = count
        for i, token in enumerate(tokens):
            raw.token[i] = token
            raw.pos[i] = position + i
            raw.logits[i] = i >= count - rows

    def close(self) -> None:
        lib.llama_batch_free(self.raw)
