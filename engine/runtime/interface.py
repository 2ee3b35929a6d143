"""What the decode loop, sessions and drafters know of a model: tokens in, rows of logits out, keys and values kept.

Implemented in `engine.runtime.llama`, `ik` and `graph`, and by a small fake in the tests. What a library does with
cells, contexts, sequences or graphs stays behind it. What not every model can do, or what costs something, is a
capability of its own: ask `isinstance(runtime, TreeRuntime)`, `EarlyExitRuntime` or `RollbackRuntime`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from engine.protocol import HeadGroup
from engine.tokenization.tokens import Vocabulary

ROOT = -1  # stands for the newest token, which every draft follows
MOST_BRANCHES = 16  # that every target can verify at once


@dataclass(frozen=True, slots=True)
class Tree:
    """`parents[i]` is the index of token i's parent, ROOT if it follows the newest token; parents come first, and no
    parent has the same token twice below it."""

    tokens: tuple[int, ...] = ()
    parents: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if len(self.tokens) != len(self.parents):
            raise ValueError("a tree needs a parent for each token")
        if not all(ROOT <= parent < i for i, parent in enumerate(self.parents)):
            raise ValueError("a parent comes before its children")
        if len(set(zip(self.parents, self.tokens, strict=True))) < len(self.tokens):
            raise ValueError("the children of a token differ")

    @classmethod
    def line(cls, tokens: Sequence[int]) -> Self:
        """A tree without branches."""
        return cls(tuple(tokens), tuple(range(ROOT, len(tokens) - 1)))

    @classmethod
    def merged(cls, lines: Iterable[Sequence[int]]) -> Self:
        """All lines, what they have in common at their beginnings only once."""
        nodes: dict[tuple[int, int], int] = {}  # (parent, token) → index
        for line in lines:
            at = ROOT
            for token in line:
                at = nodes.setdefault((at, token), len(nodes))
        return cls(tuple(token for _, token in nodes), tuple(parent for parent, _ in nodes))

    @property
    def size(self) -> int:
        """How many tokens it has."""
        return len(self.tokens)

    @property
    def is_line(self) -> bool:
        """Does each token follow the one before it?"""
        return all(parent == i - 1 for i, parent in enumerate(self.parents))

    @property
    def depths(self) -> tuple[int, ...]:
        """For each token how many of the tree come before it on its line."""
        depths: list[int] = []
        for parent in self.parents:
            depths.append(depths[parent] + 1 if parent != ROOT else 0)
        return tuple(depths)

    @property
    def branches(self) -> tuple[tuple[int, ...], ...]:
        """The lines that the tree consists of, as indices: one for each token without children."""
        inner = set(self.parents)
        return tuple(self.path(i) for i in range(self.size) if i not in inner)

    def path(self, node: int) -> tuple[int, ...]:
        """The indices from the beginning to `node`."""
        path = []
        while node != ROOT:
            path.append(node)
            node = self.parents[node]
        return tuple(reversed(path))

    def child(self, parent: int, token: int) -> int | None:
        """The index of `token` below `parent`, if it is there."""
        for i in range(parent + 1, self.size):
            if self.parents[i] == parent and self.tokens[i] == token:
                return i
        return None

    def first(self, count: int) -> Self:
        """Its first `count` tokens, which are a tree too."""
        return type(self)(self.tokens[:count], self.parents[:count])


NOTHING = Tree()


Row = NDArray[np.float32]  # [n_vocab]: a logit for each token of the vocabulary
Tokens = NDArray[np.intp]

IN_BLOCK = 64  # logits; see `largest`


class Logits(Protocol):
    """The rows of logits of one pass, valid until the runtime's next pass or change of size.

    Rows are counted among those that the pass was asked for: row 0 follows the first token that has one, row -1 the
    pass's last token."""

    timing_unreliable: bool
    """Does this pass's time say nothing of other passes? It ran with fewer threads than usual, because other programs
    keep the processor busy, or some layers had run before (`EarlyExitRuntime`)."""

    def row(self, i: int = -1) -> Row:
        """Row `i`, shape [n_vocab]."""

    def top(self, k: int, i: int = -1) -> tuple[Tokens, Row]:
        """The `k` largest logits of row `i` (or all there are): token ids and values, both of shape [k].

        The largest comes first; of equal ones the lower token id."""


@runtime_checkable
class Runtime(Protocol):
    """A model with its KV cache for one sequence of tokens. Passes raise `engine.stop.Stopped` when that flag is set.

    After `Stopped` the cache holds `size` tokens: a prefix of what it held and was given."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The model's."""

    @property
    def n_ctx(self) -> int:
        """How many tokens the KV cache can hold."""

    @property
    def size(self) -> int:
        """How many tokens the KV cache holds."""

    @property
    def max_batch(self) -> int:
        """The most tokens of one pass."""

    @property
    def max_logits(self) -> int:
        """The most rows of logits of one pass."""

    @property
    def can_truncate(self) -> bool:
        """Can the newest tokens alone be forgotten? Recurrent models can only forget all."""

    @property
    def state_bytes(self) -> int:
        """About how many bytes `save` writes."""

    @property
    def head_groups(self) -> tuple[HeadGroup, ...]:
        """The KV cache by groups of heads, where not all keep every token."""

    def forward(self, tokens: Sequence[int], n_logits: int = 1, *, whole_rows: bool = False) -> Logits:
        """Append tokens in one pass; rows of logits for the last `n_logits` of them.

        `whole_rows`: more than the largest logits will be read. It changes no result, but kernels that would compute
        the others only when asked compute all at once. Raises Stopped; Failure or MemoryError where memory is short."""

    def truncate(self, size: int) -> int:
        """Forget all tokens from index `size` on; returns how many are left, fewer if not `can_truncate`."""

    def resize(self, n_ctx: int) -> None:
        """Move to a KV cache for `n_ctx` tokens, not fewer than `size`. Raises Failure where memory is short."""

    def save(self, path: Path, tokens: Sequence[int]) -> None:
        """Write the keys and values of all `size` tokens to a file. Raises Failure where the disk does not take it."""

    def load(self, path: Path) -> list[int]:
        """Replace the KV cache's content by a file's; returns its tokens. Raises Failure if the file does not fit.

        What `save` wrote must be there unchanged (`engine.kv.saved`); what stands behind it does not matter."""

    def close(self) -> None:
        """Free the KV cache; the runtime must not be used afterwards."""


@runtime_checkable
class TreeRuntime(Runtime, Protocol):
    """A runtime that verifies several continuations in one pass, if it `can_truncate`.

    The first tree may make it move to a cache that has room for branches: nobody else pays for that."""

    def forward_tree(self, inputs: Sequence[int], tree: Tree) -> Logits:
        """Append `inputs` and, behind the last of them, all branches of `tree` (MOST_BRANCHES at most) in one pass.

        Rows of logits: that of the last input, then those of the tree's tokens. `keep` must follow. Raises Stopped, and
        Failure where there is no memory for branches."""

    def keep(self, count: int, path: Sequence[int] = ()) -> None:
        """Of what `forward_tree` ran keep the first `count` inputs and, if these are all, the tokens of the tree on
        `path` (indices from its root on); forget all others. Rows stay valid."""


@runtime_checkable
class EarlyExitRuntime(Runtime, Protocol):
    """A runtime whose output head can be put behind one of its lower layers, where it says, less surely, what follows.

    Tokens that are looked ahead at are not kept. A pass that begins with them, in a line, takes what the lower layers
    made of them; any other pass, and every change of what is kept, forgets them."""

    @property
    def exits(self) -> range:
        """Numbers of layers that `look_ahead` can stop after; empty where keys and values are not kept in full."""

    def look_ahead(self, tokens: Sequence[int], layers: int) -> Logits:
        """Run tokens, behind those that are kept and those looked ahead at before, through so many layers alone.

        One row of logits, of the last of them. Raises Stopped, with no effect."""


@runtime_checkable
class RollbackRuntime(Runtime, Protocol):
    """A runtime whose whole content can be set aside for a moment."""

    def snapshot(self) -> Callable[[], None]:
        """Copy the KV cache's content (`state_bytes`); calling the result puts it back in place of what is there."""


class RowLogits:
    """`Logits` of `rows` that are computed in full: [n_logits, n_vocab], or as many arrays of [n_vocab].

    Whoever made them makes them forget the rows when these are no longer valid."""

    __slots__ = ("_rows", "timing_unreliable")

    def __init__(self, rows: Sequence[Row] | NDArray[np.float32], timing_unreliable: bool = False) -> None:
        self._rows = rows
        self.timing_unreliable = timing_unreliable

    def row(self, i: int = -1) -> Row:
        """See `Logits`."""
        return self._rows[i]

    def top(self, k: int, i: int = -1) -> tuple[Tokens, Row]:
        """See `Logits`."""
        return top_of(self._rows[i], k)

    def forget(self) -> None:
        """Whoever still asks gets an IndexError, not another pass's numbers."""
        self._rows = ()


def top_of(row: Row, k: int) -> tuple[Tokens, Row]:
    """The `k` largest logits of a row: token ids and values, largest first."""
    tokens = largest(row, k)
    return tokens, row[tokens]


def largest(row: Row, k: int) -> Tokens:
    """Ids of the `k` largest of a row, largest first, of equal ones the lower id first.

    The k-th largest of the blocks' maxima is no larger than the k-th largest logit. So only blocks whose maximum
    reaches it are looked into, which spares nine tenths of the time of a partition of the whole row."""
    if k == 1:
        return np.array([row.argmax()], np.intp)
    k = min(k, len(row))
    above = _not_below(row, k)
    if len(above) < k:  # some are no numbers
        above = np.arange(len(row))
    return above[np.argsort(-row[above], kind="stable")[:k]]


def _not_below(row: Row, k: int) -> Tokens:
    """Ids, in their order, of logits that are no smaller than some bound, which the `k` largest are not."""
    count = len(row) // IN_BLOCK
    if k >= count:
        bound = np.partition(row, len(row) - k)[len(row) - k]
        return np.flatnonzero(row >= bound)
    end = IN_BLOCK * count
    blocks = row[:end].reshape(IN_BLOCK, count)  # a block is a column: the maxima are then found side by side
    maxima = blocks.max(axis=0)
    bound = np.partition(maxima, count - k)[count - k]
    columns = np.flatnonzero(maxima >= bound)
    places, found = np.nonzero(blocks[:, columns] >= bound)
    return np.concatenate((np.sort(places * count + columns[found]), end + np.flatnonzero(row[end:] >= bound)))


def prefill(runtime: Runtime, tokens: Sequence[int]) -> Iterator[Logits]:
    """Append tokens in passes as large as they can be; yields each pass's logits, of its last token alone."""
    for begin in range(0, len(tokens), runtime.max_batch):
        yield runtime.forward(tokens[begin : begin + runtime.max_batch])
