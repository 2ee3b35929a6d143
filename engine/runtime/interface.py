"""The one interface that the decode loop, sessions and drafters know of a model: tokens in, logits rows out, KV kept.

Implemented by `engine.runtime.llama`, `ik` and `graph`, and by a small fake in the tests. What a backend does with
cells, contexts, sequences or graphs stays behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol, TypeGuard

import numpy as np
from numpy.typing import NDArray

from engine.protocol import HeadGroup, Sampling
from engine.runtime.tree import Tree
from engine.tokenization.tokens import Vocabulary


class Sampler(Protocol):
    """Chooses tokens from logits rows, one after the other, and remembers what it chose (penalties, random state)."""

    def sample(self, row: int) -> int:
        """The next token, from row `row` of the last pass (-1: its last row). Rows are taken in order."""

    def close(self) -> None: ...


class Target(Protocol):
    """A model with its KV cache for one sequence of tokens. Raises `engine.stop.Stopped` when the stop flag is set.

    After `Stopped` the cache holds `size` tokens: a prefix of what it held and was given.
    """

    @property
    def vocabulary(self) -> Vocabulary: ...

    @property
    def n_ctx(self) -> int:
        """How many tokens the KV cache can hold."""

    @property
    def size(self) -> int:
        """How many tokens the KV cache holds."""

    def prefill(self, tokens: Sequence[int]) -> Iterator[int]:
        """Append tokens in large passes; yields after each how many are done. Row -1 is then the last one's logits."""

    @property
    def was_odd(self) -> bool:
        """Does the last pass's time say nothing of other passes? It ran with fewer threads than usual, because other
        programs keep the processor busy, or some layers had run before (`EarlyExit`)."""

    @property
    def most_inputs(self) -> int:
        """The most tokens that `run` takes at once."""

    @property
    def can_drop(self) -> bool:
        """Can single tokens be forgotten (`drop_after`)? Recurrent models can only forget all."""

    def run(self, tokens: Sequence[int], rows: int = 1) -> None:
        """Append tokens in one pass. Row i is then the logits that follow tokens[i], for the last `rows` tokens; it
        stays valid until the next pass, also when tokens are dropped."""

    @property
    def most_drafted(self) -> int:
        """The most tokens of a tree that `run_tree` takes."""

    def run_tree(self, inputs: Sequence[int], tree: Tree) -> None:
        """Append `inputs` and, behind the last of them, all branches of a tree (MOST_BRANCHES at most) in one pass.

        Rows are counted as if the tree's tokens followed the inputs in their order; those of the last input and of the
        tree are logits. `keep` must follow. Only an empty tree where tokens cannot be dropped."""

    def keep(self, count: int, path: Sequence[int] = ()) -> None:
        """Of what `run_tree` ran keep the first `count` inputs and, if these are all, the tokens of the tree on `path`
        (indices from its beginning on); forget all others. Rows stay valid."""

    def logits(self, row: int) -> NDArray[np.float32]:
        """Row `row` of the last pass (-1: its last row), shape [vocabulary size]; valid until the next pass."""

    def best_logits(self, row: int, count: int, apart: Sequence[int] = (), /) -> NDArray[np.float32]:
        """As `logits`, but only the `count` largest (0: all) need be the model's, not counting those of the tokens
        `apart`, and whatever is larger; all others may be rough, and are smaller than these."""

    def drop_after(self, size: int) -> int:
        """Forget all tokens from index `size` on; returns how many are left (fewer where a model cannot be cut)."""

    def sampler(self, sampling: Sampling, history: Sequence[int]) -> Sampler:
        """A new sampler on this target's rows; `history` are the tokens that penalties look back on."""

    def grow(self, n_ctx: int) -> None:
        """Move to a KV cache for `n_ctx` tokens (or fewer than now, but not fewer than `size`)."""

    def set_aside(self) -> Callable[[], None]:
        """Copy the KV cache's content (`state_bytes`); calling the result puts it back in place of what is there."""

    @property
    def state_bytes(self) -> int:
        """About how many bytes `save` writes."""

    @property
    def head_groups(self) -> tuple[HeadGroup, ...]:
        """The KV cache by groups of heads, where not all keep every token."""

    def save(self, path: Path, tokens: Sequence[int]) -> None:
        """Write the keys and values of all `size` tokens to a file."""

    def restore(self, path: Path) -> list[int]:
        """Replace the KV cache's content by a file's; returns its tokens. Raises Failure if the file does not fit.

        What `save` wrote must be there unchanged (`engine.kv.sealed`); what stands behind it does not matter."""

    def close(self) -> None:
        """Free the KV cache; the target must not be used afterwards."""


class EarlyExit(Target, Protocol):
    """A target whose output head can be put behind one of its lower layers, where it says, less surely, what follows.

    Tokens that are looked ahead at are not kept. A pass that begins with them, in a line, takes what the lower layers
    made of them; any other pass, and every change of what is kept, forgets them."""

    @property
    def exits(self) -> range:
        """Numbers of layers that `look_ahead` can stop after; empty where keys and values are not kept in full."""

    def look_ahead(self, tokens: Sequence[int], layers: int) -> NDArray[np.float32]:
        """Run tokens, behind those that are kept and those looked ahead at before, through so many layers alone.

        Returns the logits that follow the last of them, shape [vocabulary size]; valid until the next pass. Raises
        Stopped, with no effect."""


def can_exit(target: Target) -> TypeGuard[EarlyExit]:
    return hasattr(target, "look_ahead")
