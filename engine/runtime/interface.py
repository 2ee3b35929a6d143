"""The model as decode loop, sessions and drafters know it: tokens in, rows of logits out, keys and values kept.

`engine.runtime.llama`, `ik` and `graph` implement the protocols, and so does a small fake in the tests; what `Runtime`
returns itself is right for a cache that keeps every token. A library's cells, contexts, sequences and graphs stay
behind them. What only some models can do, or what costs something, is a capability of its own: test for it with
`isinstance(runtime, TreeRuntime)`, `EarlyExitRuntime`, `PredictingRuntime`, `RollbackRuntime` or `CheckpointRuntime`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from engine.protocol.events import HeadGroup
from engine.protocol.requests import Picture
from engine.runtime.contexts import ThreadCounts
from engine.tokenization.tokens import Vocabulary

UNLIMITED = 1 << 30  # tokens: the window of a cache in which every layer keeps all tokens
ROOT = -1  # index of the newest token, which every draft follows
MOST_BRANCHES = 16  # branches that every target can verify in one pass
MOST_IN_RAM = 8 << 20  # bytes: less than the compute buffers of any model, which a new context has not touched yet


@dataclass(frozen=True, slots=True)
class Tree:
    """Drafts that share their beginnings, as nodes with a token and a parent each.

    `parents[i]` is the index of token i's parent, or ROOT if token i follows the newest token. Parents come before
    their children, and the children of one parent are different tokens. Raises ValueError otherwise.
    """

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
        """Build a tree without branches."""
        return cls(tuple(tokens), tuple(range(ROOT, len(tokens) - 1)))

    @classmethod
    def merged(cls, lines: Iterable[Sequence[int]]) -> Self:
        """Build a tree of all lines; lines that begin alike share the nodes of their common beginning."""
        nodes: dict[tuple[int, int], int] = {}  # (parent, token) → index
        for line in lines:
            at = ROOT
            for token in line:
                at = nodes.setdefault((at, token), len(nodes))
        return cls(tuple(token for _, token in nodes), tuple(parent for parent, _ in nodes))

    @property
    def size(self) -> int:
        """Number of tokens in the tree."""
        return len(self.tokens)

    @property
    def is_line(self) -> bool:
        """Whether each token follows the one before it."""
        return all(parent == i - 1 for i, parent in enumerate(self.parents))

    @property
    def depths(self) -> tuple[int, ...]:
        """Number of the tree's tokens before each token on its line."""
        depths: list[int] = []
        for parent in self.parents:
            depths.append(depths[parent] + 1 if parent != ROOT else 0)
        return tuple(depths)

    @property
    def branches(self) -> tuple[tuple[int, ...], ...]:
        """Lines of node indices from the root to each token without children, one line per such token."""
        inner = set(self.parents)
        return tuple(self.path(i) for i in range(self.size) if i not in inner)

    def path(self, node: int) -> tuple[int, ...]:
        """Return the node indices from the beginning of the tree to `node`, both included."""
        path = []
        while node != ROOT:
            path.append(node)
            node = self.parents[node]
        return tuple(reversed(path))

    def child(self, parent: int, token: int) -> int | None:
        """Return the index of the child of `parent` that is `token`, or None."""
        for i in range(parent + 1, self.size):
            if self.parents[i] == parent and self.tokens[i] == token:
                return i
        return None

    def first(self, count: int) -> Self:
        """Return the tree of the first `count` tokens."""
        return type(self)(self.tokens[:count], self.parents[:count])


EMPTY_TREE = Tree()


Row = NDArray[np.float32]  # [n_vocab]: a logit for each token of the vocabulary
Tokens = NDArray[np.intp]

BLOCK_SIZE = 64  # logits per block that `top_tokens` compares by their maximum


class Logits(Protocol):
    """The rows of logits of one pass, valid until the runtime's next pass or change of size.

    Rows are counted among those that the pass was asked for: row 0 follows the first token that has one, row -1 the
    pass's last token.
    """

    timing_unreliable: bool
    """Whether this pass's time must not be compared with other passes.

    Such a pass ran with fewer threads than usual, because other programs keep the processor busy, or some of its layers
    had run before (`EarlyExitRuntime`)."""

    def row(self, i: int = -1) -> Row:
        """Return row `i`, shape [n_vocab]."""

    def near_row(self, i: int = -1) -> Row:
        """Return row `i`, shape [n_vocab], with its largest logit exact and the others near enough for their sum."""

    def top(self, k: int, i: int = -1) -> tuple[Tokens, Row]:
        """Return token ids and values of the `k` largest logits of row `i`.

        Both have the shape [k], or [n_vocab] if that is smaller. The largest comes first; of equal logits the lower
        token id comes first.
        """


@runtime_checkable
class Runtime(Protocol):
    """A model with its KV cache for one sequence of tokens.

    Passes raise `engine.stop.Stopped` when the stop flag is set. The cache then holds `size` tokens: a prefix of its
    former content and the pass's tokens, one after the other.
    """

    @property
    def vocabulary(self) -> Vocabulary:
        """The model's vocabulary."""

    @property
    def n_ctx(self) -> int:
        """Tokens that the KV cache can hold."""

    @property
    def size(self) -> int:
        """Tokens that the KV cache holds."""

    @property
    def max_batch(self) -> int:
        """Maximum number of tokens in one pass."""

    @property
    def max_logits(self) -> int:
        """Maximum number of rows of logits in one pass."""

    @property
    def can_truncate(self) -> bool:
        """Whether the last pass can be forgotten as a whole; recurrent layers keep one state for all tokens."""

    @property
    def window(self) -> int:
        """Tokens up to which a cache can be truncated anywhere.

        In a longer cache, sliding windows have forgotten tokens that a truncated cache would need. 0 for recurrent
        layers, UNLIMITED where every layer keeps all tokens.
        """
        return UNLIMITED if self.can_truncate else 0

    @property
    def max_draft(self) -> int:
        """Maximum number of tokens behind the first one of a pass that can be forgotten after it: the longest draft."""
        return self.max_logits - 1 if self.can_truncate else 0

    def can_truncate_to(self, size: int) -> bool:
        """Return whether the cache can be truncated to exactly `size` tokens now."""
        return size in (0, self.size) or (self.can_truncate and size < self.size)

    @property
    def state_bytes(self) -> int:
        """Approximate number of bytes that `save` writes."""

    @property
    def head_groups(self) -> tuple[HeadGroup, ...]:
        """The KV cache by groups of heads; empty where all heads keep every token."""
        return ()

    def forward(self, tokens: Sequence[int], n_logits: int = 1, *, whole_rows: bool = False) -> Logits:
        """Append tokens in one pass and return rows of logits for the last `n_logits` of them.

        `whole_rows`: whole rows will be read, not only the largest logits. A library that otherwise computes the small
        logits when they are read then computes all of them in the pass; the results are the same. Raises Stopped;
        Failure or MemoryError where memory is short.
        """

    def truncate(self, size: int) -> int:
        """Forget all tokens from index `size` on and return how many are left: `size`, or 0.

        None are left if not `can_truncate_to(size)`.
        """

    def resize(self, n_ctx: int) -> None:
        """Move to a KV cache for `n_ctx` tokens, not fewer than `size`. Raises Failure where memory is short."""

    def save(self, path: Path, tokens: Sequence[int]) -> None:
        """Write the keys and values of all `size` tokens to a file. Raises Failure if the disk does not take it."""

    def load(self, path: Path) -> list[int]:
        """Replace the KV cache's content by a file's and return its tokens. Raises Failure if the file does not fit.

        The bytes that `save` wrote must be unchanged (`engine.kv.saved` checks them); bytes behind them do no harm.
        """

    def close(self) -> None:
        """Free the KV cache; the runtime must not be used afterwards."""


@runtime_checkable
class TreeRuntime(Runtime, Protocol):
    """A runtime that verifies several continuations in one pass, if its `window` is UNLIMITED.

    The first tree may move the content to a cache with room for branches, so that only runtimes that verify trees pay
    for that memory.
    """

    def forward_tree(self, inputs: Sequence[int], tree: Tree) -> Logits:
        """Append `inputs` and, behind the last input, all branches of `tree` (at most MOST_BRANCHES) in one pass.

        Returns rows of logits: that of the last input, then those of the tree's tokens. `keep_path` must follow. Raises
        Stopped, and Failure where there is no memory for branches.
        """

    def keep_path(self, count: int, path: Sequence[int] = ()) -> None:
        """Keep the first `count` inputs of the last `forward_tree` and the tree's tokens on `path`; forget all others.

        `path` lists node indices from the tree's root on; it must be empty unless all inputs are kept. Rows stay valid.
        """


@runtime_checkable
class EarlyExitRuntime(Runtime, Protocol):
    """A runtime that can put its output head behind a lower layer, which predicts the next token less surely.

    Tokens that are looked ahead at are not kept. A pass that begins with these tokens, in a line, reuses what the lower
    layers computed for them; any other pass, and every change of what is kept, forgets them.
    """

    @property
    def exits(self) -> range:
        """Numbers of layers that `look_ahead` can stop after; empty where keys and values are not kept in full."""

    def look_ahead(self, tokens: Sequence[int], layers: int) -> Logits:
        """Run tokens through the first `layers` layers alone, behind the kept tokens and those looked ahead at before.

        Returns one row of logits, for the last token. Raises Stopped, without any effect.
        """


@runtime_checkable
class PredictingRuntime(Runtime, Protocol):
    """A runtime whose model may bring layers of its own that predict further tokens (MTP).

    They read the chat when they are asked, and forget what they predicted when another pass runs.
    """

    @property
    def own_layers(self) -> bool:
        """Whether the model's own layers are loaded."""

    @property
    def can_predict(self) -> bool:
        """Whether `predict` can run now: the layers know the states of all cached tokens, or there are none."""

    @property
    def unread(self) -> int:
        """Cached tokens that the layers must read before the next prediction."""

    def read_along(self, on: bool) -> None:
        """Let the layers read all tokens from now on, or only the newest ones of each long prompt."""

    def predict(self, tokens: Sequence[int]) -> Logits:
        """Return one row of logits of what follows `tokens`, which are behind the cached ones and are not kept.

        The first one is the newest token; each other one was predicted by the call before, which had all tokens but
        this last one. Raises Stopped.
        """


@runtime_checkable
class RollbackRuntime(Runtime, Protocol):
    """A runtime whose whole content can be copied and restored later."""

    def snapshot(self, most_in_ram: int = MOST_IN_RAM) -> Callable[[], None]:
        """Copy the KV cache's content (`state_bytes`) and return a function that restores it.

        Restoring replaces what the cache holds by then. A copy of more than `most_in_ram` bytes waits in a private
        file, if one can be written; the first restore deletes it, and a second one raises an error and leaves the cache
        empty. A copy in RAM can be restored any number of times. Raises MemoryError.
        """


@runtime_checkable
class ThreadedRuntime(Runtime, Protocol):
    """A runtime whose numbers of threads can change between two passes."""

    @property
    def thread_counts(self) -> ThreadCounts:
        """Numbers of threads in use; fewer compute while other programs keep cores busy."""

    def use_threads(self, threads: ThreadCounts) -> None:
        """Use these numbers of threads from the next pass on."""


NO_THREADS = ThreadCounts(0, 0)


def thread_counts_of(runtime: Runtime) -> ThreadCounts:
    """Return the runtime's numbers of threads; zeros for one whose numbers are fixed."""
    return runtime.thread_counts if isinstance(runtime, ThreadedRuntime) else NO_THREADS


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A copy of what a cache with `size` tokens cannot be truncated back to: recurrent states and sliding windows.

    `data` is in the library's own format; only a runtime of the same model and library can restore it.
    """

    size: int
    data: bytes | bytearray | memoryview

    @property
    def bytes(self) -> int:
        """Bytes that the copy takes."""
        return len(self.data)


@runtime_checkable
class CheckpointRuntime(Runtime, Protocol):
    """A runtime that can go back to an earlier size of its present content where `truncate` cannot."""

    def checkpoint(self) -> Checkpoint:
        """Copy what is needed to come back to the present size, which must not be 0. Raises MemoryError."""

    def restore(self, checkpoint: Checkpoint) -> bool:
        """Go back to the checkpoint's size; return False if its tokens' other keys and values are gone.

        The cache must hold, or have held before a failed pass, the tokens that it held when the checkpoint was made,
        and may hold others behind them. The checkpoint stays valid. After False the cache is as before, or empty.
        """


@runtime_checkable
class PictureRuntime(Runtime, Protocol):
    """A runtime of a model that can see. Negative tokens stand for pictures (`engine.tokenization.pictures`)."""

    @property
    def sees(self) -> bool:
        """Whether the model has a projector. Without one the other methods must not be called."""

    @property
    def encoder_work(self) -> tuple[float, int]:
        """Seconds for which pictures were encoded since the model was loaded, and tokens that were made of them."""

    def release_encoder_if_short(self) -> None:
        """Free the projector if little memory is available; the next picture loads it again."""

    def picture_tokens(self, pictures: Sequence[Picture], exact: bool = True) -> list[list[int]]:
        """Return the tokens that stand for each of a prompt's pictures; only these can be encoded from now on.

        The projector is loaded if it must be. Unless `exact`, about as many tokens are returned in place of that, for
        counting, and nothing else changes; any thread may then call this. Raises Stopped, and Failure without memory
        for the projector.
        """

    def encode_block(self, tokens: Sequence[int]) -> Iterator[float]:
        """Compute the embeddings of one block of a picture; yield the fraction that is done now and then.

        Raises Stopped, and Failure for a picture that cannot be read or without memory for the projector.
        """

    def forward_block(self, tokens: Sequence[int]) -> None:
        """Append one block, which was encoded, in passes of its own. Raises Stopped, Failure and MemoryError."""


class RowLogits:
    """`Logits` over `rows` that are computed in full: one array [n_logits, n_vocab], or one array [n_vocab] per row.

    The runtime that made the object calls `invalidate` when the rows are no longer valid.
    """

    __slots__ = ("_rows", "timing_unreliable")

    def __init__(self, rows: Sequence[Row] | NDArray[np.float32], timing_unreliable: bool = False) -> None:
        self._rows = rows
        self.timing_unreliable = timing_unreliable

    def row(self, i: int = -1) -> Row:
        return self._rows[i]

    def near_row(self, i: int = -1) -> Row:
        return self._rows[i]

    def top(self, k: int, i: int = -1) -> tuple[Tokens, Row]:
        return top_logits(self._rows[i], k)

    def invalidate(self) -> None:
        """Drop the rows, so that later reads raise IndexError instead of returning another pass's numbers."""
        self._rows = ()


def top_logits(row: Row, k: int) -> tuple[Tokens, Row]:
    """Return token ids and values of the `k` largest logits of a row, largest first."""
    tokens = top_tokens(row, k)
    return tokens, row[tokens]


def top_tokens(row: Row, k: int) -> Tokens:
    """Return the ids of the `k` largest logits of a row, largest first; of equal logits the lower id comes first.

    The k-th largest of the blocks' maxima is no larger than the k-th largest logit. So only blocks whose maximum
    reaches that bound are searched, which saves nine tenths of the time of partitioning the whole row.
    """
    if k == 1:
        return np.array([row.argmax()], np.intp)
    k = min(k, len(row))
    ids = _candidates(row, k)
    if len(ids) < k:  # the row holds NaNs
        ids = np.arange(len(row))
    return ids[np.argsort(-row[ids], kind="stable")[:k]]


def _candidates(row: Row, k: int) -> Tokens:
    """Return, in ascending order, ids of logits that reach a lower bound of the `k` largest: at least the `k` largest.

    Fewer than `k` are returned if the row holds NaNs.
    """
    count = len(row) // BLOCK_SIZE
    if k >= count:
        bound = np.partition(row, len(row) - k)[len(row) - k]
        return np.flatnonzero(row >= bound)
    end = BLOCK_SIZE * count
    blocks = row[:end].reshape(BLOCK_SIZE, count)  # a block is a column, so that numpy finds the maxima side by side
    maxima = blocks.max(axis=0)
    bound = np.partition(maxima, count - k)[count - k]
    columns = np.flatnonzero(maxima >= bound)
    places, chosen = np.nonzero(blocks[:, columns] >= bound)
    return np.concatenate((np.sort(places * count + columns[chosen]), end + np.flatnonzero(row[end:] >= bound)))


def prefill(runtime: Runtime, tokens: Sequence[int]) -> Iterator[Logits]:
    """Append tokens in the largest possible passes; yield the logits of each pass, one row for its last token."""
    for begin in range(0, len(tokens), runtime.max_batch):
        yield runtime.forward(tokens[begin : begin + runtime.max_batch])
