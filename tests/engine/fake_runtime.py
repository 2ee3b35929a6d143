"""A tiny model for tests: its next token is a function of all tokens in its cache, so a wrong cache shows at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from common.failures import Failure
from engine.generation.sampling import Sampler
from engine.protocol.events import HeadGroup
from engine.protocol.requests import Sampling
from engine.runtime.interface import EMPTY_TREE, Row, RowLogits, Tree
from engine.stop import StopFlag, Stopped

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

    def snapshot(self) -> Callable[[], None]:
        copy = list(self.cache)

        def restore() -> None:
            self.cache = copy

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
