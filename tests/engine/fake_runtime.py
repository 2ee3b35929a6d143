"""A tiny model for tests: its next token is a function of all tokens in its cache, so a wrong cache shows at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from common.failures import Failure
from engine.generation.sampling import Sampler
from engine.protocol.events import HeadGroup
from engine.protocol.requests import Sampling
from engine.runtime.interface import EMPTY_TREE, UNLIMITED, Checkpoint, Row, RowLogits, Tree
from engine.stop import StopFlag, Stopped
from engine.tokenization.tokens import InfillTokens

END = 256  # tokens 0 to 255 are bytes
MAX_DRAFTED = 48


def letters(tokens: Sequence[int]) -> int:
    """Return a lower-case letter that depends on every token before it and on their order."""
    value = 7
    for token in tokens:
        value = (value * 31 + token + 1) % 1_000_003
    return 97 + value % 26


def script(text: bytes, after: int) -> Callable[[Sequence[int]], int]:
    """Return a model's choices that spell `text` after a prompt of `after` tokens, and then end the answer."""
    return lambda tokens: text[len(tokens) - after] if 0 <= len(tokens) - after < len(text) else END


def greedy() -> Sampler:
    """Return a sampler that takes the model's likeliest token."""
    return Sampler(Sampling(temperature=0, repeat_penalty=1))


class FakeVocabulary:
    n_tokens = END + 1
    adds_bos, bos_text, eos_text = False, "", ""
    infill_tokens: InfillTokens | None = None

    def all_pieces(self) -> Iterator[bytes]:
        return map(self.piece, range(self.n_tokens))

    def is_control(self, token: int) -> bool:
        return token == END

    def text(self, token: int) -> str:
        return self.piece(token).decode(errors="replace")

    def tokenize_pieces(self, text: str, special: bool, add_bos: bool = False) -> Iterator[list[int]]:
        yield self.tokenize(text, special)

    def token_counts(self, text: str) -> Iterator[int]:
        yield len(text.encode())

    def tokenize(self, text: str, special: bool) -> list[int]:
        return list(text.encode())

    def piece(self, token: int) -> bytes:
        return bytes([token]) if token < END else b""

    def is_end(self, token: int) -> bool:
        return token == END


class FakeRuntime:
    """A runtime whose rows of logits are zero except for the next token."""

    def __init__(self, choose: Callable[[Sequence[int]], int] = letters, n_ctx: int = 512, max_batch: int = 64) -> None:
        self.choose = choose
        self.vocabulary = FakeVocabulary()
        self.n_ctx = n_ctx
        self.cache: list[int] = []
        self.passes: list[int] = []
        self.stop = StopFlag()
        self.can_truncate = True
        self.max_batch = max_batch
        self.max_logits = 1 + MAX_DRAFTED
        self.tree, self.inputs_at = EMPTY_TREE, 0

    @property
    def sure(self) -> float:
        """Logit of the next token."""
        return 1.0

    @property
    def size(self) -> int:
        return len(self.cache)

    @property
    def window(self) -> int:
        return UNLIMITED if self.can_truncate else 0

    @property
    def max_draft(self) -> int:
        return MAX_DRAFTED if self.can_truncate else 0

    def can_truncate_to(self, size: int) -> bool:
        return size in (0, self.size) or (self.can_truncate and size < self.size)

    def forward(self, tokens: Sequence[int], n_logits: int = 1, *, whole_rows: bool = False) -> RowLogits:
        assert 0 < n_logits <= min(len(tokens), self.max_logits)
        return self.logits_of(self._run(tokens)[-n_logits:])

    def _run(self, tokens: Sequence[int]) -> list[int]:
        """Append the tokens to the cache and return the next token after each of them."""
        if self.stop.is_set():
            raise Stopped
        assert 0 < len(tokens) <= self.max_batch
        assert len(self.cache) + len(tokens) <= self.n_ctx
        self.passes.append(len(tokens))
        next_tokens = []
        for token in tokens:
            self.cache.append(token)
            next_tokens.append(self.choose(self.cache))
        return next_tokens

    def logits_of(self, next_tokens: Sequence[int]) -> RowLogits:
        rows: list[Row] = [np.zeros(END + 1, np.float32) for _ in next_tokens]
        for row, token in zip(rows, next_tokens, strict=True):
            row[token] = self.sure
        return RowLogits(rows)

    def forward_tree(self, inputs: Sequence[int], tree: Tree) -> RowLogits:
        assert 0 < tree.size < self.max_logits
        assert self.can_truncate
        self.tree, self.inputs_at = tree, self.size
        assert self.size + len(inputs) + tree.size <= self.n_ctx
        next_tokens = self._run(inputs)[-1:]
        self.passes[-1] += tree.size
        for i in range(tree.size):
            next_tokens.append(self.choose([*self.cache, *(tree.tokens[j] for j in tree.path(i))]))
        return self.logits_of(next_tokens)

    def keep_path(self, count: int, path: Sequence[int] = ()) -> None:
        del self.cache[self.inputs_at + count :]
        self.cache.extend(self.tree.tokens[i] for i in path)

    def truncate(self, size: int) -> int:
        if size < len(self.cache):
            del self.cache[size if self.can_truncate else 0 :]
        return len(self.cache)

    def resize(self, n_ctx: int) -> None:
        assert n_ctx >= len(self.cache)
        self.n_ctx = n_ctx

    def snapshot(self, most_in_ram: int = 1 << 30) -> Callable[[], None]:
        copies = [list(self.cache)]

        def restore() -> None:
            self.cache = list(copies[0] if len(copies[0]) <= most_in_ram else copies.pop())

        return restore

    @property
    def state_bytes(self) -> int:
        return len(self.cache)

    @property
    def head_groups(self) -> tuple[HeadGroup, ...]:
        return ()

    def save(self, path: Path, tokens: Sequence[int]) -> None:
        path.write_bytes(len(tokens).to_bytes(4) + bytes(tokens))

    def load(self, path: Path) -> list[int]:
        if not path.exists():
            raise Failure("cache_unusable.tokens")
        content = path.read_bytes()
        self.cache = list(content[4 : 4 + int.from_bytes(content[:4])])
        return list(self.cache)

    def close(self) -> None:
        self.cache = []


class FakeRecurrent(FakeRuntime):
    """A runtime with a single state for all tokens: a stopped pass destroys it, and checkpoints restore it.

    After a pass it forgets at most `rollback` tokens, fewer than the pass had, and only once.
    """

    def __init__(self, *arguments: Any, rollback: int = 0, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.can_truncate = False
        self.rollback = rollback
        self._undoable = 0
        self.left: list[int] = []  # tokens whose ordinary keys and values are left after a failed pass
        self.fails_after: int | None = None  # tokens of passes until one fails

    @property
    def max_draft(self) -> int:
        return self.rollback

    def can_truncate_to(self, size: int) -> bool:
        return size in (0, self.size) or (size < self.size and self.size - size <= self._undoable)

    def _run(self, tokens: Sequence[int]) -> list[int]:
        if not self.stop.is_set():
            self.left = []
        if self.fails_after is not None:
            self.fails_after -= len(tokens)
            if self.fails_after < 0:
                self.left, self.cache, self.fails_after = self.cache, [], None
                raise Stopped
        found = super()._run(tokens)
        self._undoable = min(self.rollback, len(tokens) - 1)
        return found

    def truncate(self, size: int) -> int:
        self.left = []
        if size < self.size:
            del self.cache[size if self.can_truncate_to(size) else 0 :]
            self._undoable = 0
        return self.size

    def checkpoint(self) -> Checkpoint:
        assert self.cache
        return Checkpoint(self.size, bytes(f"{self.cache}", "ascii"))

    def restore(self, checkpoint: Checkpoint) -> bool:
        held = self.left or self.cache
        if checkpoint.size > len(held):
            return False
        assert bytes(f"{held[: checkpoint.size]}", "ascii") == checkpoint.data, "the checkpoint is of other tokens"
        self.cache, self.left, self._undoable = held[: checkpoint.size], [], 0
        return True
