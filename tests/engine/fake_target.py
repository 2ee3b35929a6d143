"""A tiny model for tests: its next token is a function of all tokens in its cache, so a wrong cache shows at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.protocol import HeadGroup, Sampling
from engine.runtime.tree import NOTHING, Tree
from engine.stop import StopFlag, Stopped
from models.failures import Failure

END = 256  # tokens 0 to 255 are bytes


def letters(tokens: Sequence[int]) -> int:
    """A lower-case letter that depends on every token before it and on their order."""
    value = 7
    for token in tokens:
        value = (value * 31 + token + 1) % 1_000_003
    return 97 + value % 26


def script(text: bytes, after: int) -> Callable[[Sequence[int]], int]:
    """A model that says `text` after a prompt of `after` tokens, and then ends."""
    return lambda tokens: text[len(tokens) - after] if 0 <= len(tokens) - after < len(text) else END


class FakeVocabulary:
    def tokenize(self, text: str, special: bool) -> list[int]:
        return list(text.encode())

    def piece(self, token: int) -> bytes:
        return bytes([token]) if token < END else b""

    def is_end(self, token: int) -> bool:
        return token == END


class FakeSampler:
    def __init__(self, target: FakeTarget) -> None:
        self.target = target
        self.closed = False

    def sample(self, row: int) -> int:
        return self.target.rows[row]

    def close(self) -> None:
        self.closed = True


class FakeTarget:
    def __init__(self, choose: Callable[[Sequence[int]], int] = letters, n_ctx: int = 512, part: int = 8) -> None:
        self.choose = choose
        self.vocabulary = FakeVocabulary()
        self.n_ctx = n_ctx
        self.part = part
        self.cache: list[int] = []
        self.rows: list[int] = []
        self.passes: list[int] = []
        self.stop = StopFlag()
        self.can_drop = True
        self.was_odd = False
        self.most_inputs = 64
        self.most_drafted = 48
        self.tree, self.inputs_at = NOTHING, 0

    @property
    def size(self) -> int:
        return len(self.cache)

    def prefill(self, tokens: Sequence[int]) -> Iterator[int]:
        for at in range(0, len(tokens), self.part):
            self.run(tokens[at : at + self.part])
            yield min(at + self.part, len(tokens))

    def run(self, tokens: Sequence[int], rows: int = 1) -> None:
        if self.stop.is_set():
            raise Stopped
        assert len(self.cache) + len(tokens) <= self.n_ctx
        self.passes.append(len(tokens))
        self.rows = []
        for token in tokens:
            self.cache.append(token)
            self.rows.append(self.choose(self.cache))

    def run_tree(self, inputs: Sequence[int], tree: Tree) -> None:
        assert tree.size <= self.most_drafted
        assert self.can_drop or not tree.size
        self.tree, self.inputs_at = tree, self.size
        if tree.is_line:
            self.run([*inputs, *tree.tokens], rows=1 + tree.size)
            return
        assert self.size + len(inputs) + tree.size <= self.n_ctx
        self.run(inputs)
        self.passes[-1] += tree.size
        for i in range(tree.size):
            self.rows.append(self.choose([*self.cache, *(tree.tokens[j] for j in tree.path(i))]))

    def keep(self, count: int, path: Sequence[int] = ()) -> None:
        del self.cache[self.inputs_at + count + (len(path) if self.tree.is_line else 0) :]
        if not self.tree.is_line:
            self.cache.extend(self.tree.tokens[i] for i in path)

    def logits(self, row: int) -> NDArray[np.float32]:
        logits = np.zeros(257, np.float32)
        logits[self.rows[row]] = 1
        return logits

    def best_logits(self, row: int, _count: int, _apart: Sequence[int] = ()) -> NDArray[np.float32]:
        return self.logits(row)

    def drop_after(self, size: int) -> int:
        if size < len(self.cache):
            del self.cache[size if self.can_drop else 0 :]
        return len(self.cache)

    def sampler(self, sampling: Sampling, history: Sequence[int]) -> FakeSampler:
        return FakeSampler(self)

    def grow(self, n_ctx: int) -> None:
        assert n_ctx >= len(self.cache)
        self.n_ctx = n_ctx

    def set_aside(self) -> Callable[[], None]:
        copy = list(self.cache)

        def put_back() -> None:
            self.cache = copy

        return put_back

    @property
    def state_bytes(self) -> int:
        return len(self.cache)

    @property
    def head_groups(self) -> tuple[HeadGroup, ...]:
        return ()

    def save(self, path: Path, tokens: Sequence[int]) -> None:
        path.write_bytes(len(tokens).to_bytes(4) + bytes(tokens))

    def restore(self, path: Path) -> list[int]:
        if not path.exists():
            raise Failure("cache_unusable", "no file")
        content = path.read_bytes()
        self.cache = list(content[4 : 4 + int.from_bytes(content[:4])])
        return list(self.cache)

    def close(self) -> None:
        self.cache = []
